import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from benchmark_utils.analysis import triage
from benchmark_utils.analysis.gain import sample_gain
from benchmark_utils.analysis.triage import agreement_of_halves, runs, triage_notes, triage_table


def results(omegas, deltas, outer=None, datasets=("one",)):
    """Result frame of learners' ω after each split, and their deltas: dicts of arrays (S, K)."""
    rows = []
    for dataset in datasets:
        for learner, delta in deltas.items():
            for seed, of_splits in enumerate(delta):
                for k, value in enumerate(of_splits):
                    rows.append({
                        "dataset_name": dataset, "objective_name": "Score trust",
                        "solver_name": learner, "idx_rep": seed, "p_obj_procedure": "mccv",
                        "p_solver_tuning": "default", "p_solver_search": "random",
                        "p_solver_n_configs": 30, "objective_split": k, "objective_budget": 1,
                        "objective_delta": value, "objective_n_test": 10,
                        "objective_redundancy": omegas[learner][seed][k],
                        "objective_outer_deltas":
                            list(outer[learner][seed]) if outer and k == 0 else None,
                    })
    return pd.DataFrame(rows)


@pytest.fixture
def measured():
    """Four learners, 8 seeds, 20 splits whose errors are more and more the same."""
    rng = np.random.default_rng(0)
    omegas, deltas, outer = {}, {}, {}
    for share in (0.0, 0.3, 0.6, 0.9):
        name = f"learner{share}"
        common = rng.standard_normal((8, 1))
        deltas[name] = np.sqrt(share) * common + np.sqrt(1 - share) * rng.standard_normal((8, 20))
        outer[name] = rng.standard_normal((8, 50))
        omegas[name] = np.full((8, 20), share / 5) + 0.01 * rng.random((8, 20))
    return omegas, deltas, outer


class TestRuns:
    def test_gains_are_the_exact_ones_of_each_configuration(self, measured):
        omegas, deltas, outer = measured
        made = runs(results(omegas, deltas, outer))
        assert len(made) == 4 * 8 and "gain_200" not in made
        for i, name in enumerate(deltas):
            expected = sample_gain(deltas[name], outer[name], 10, np.random.default_rng(0)).gain[19]
            part = made[made["configuration"] == i]
            assert part["gain_20"].tolist() == [expected] * 8
            for k in (2, 3, 5):
                assert part[f"omega_{k}"].tolist() == omegas[name][:, k - 1].tolist()

    def test_data_sets_are_configurations_of_their_own(self, measured):
        assert runs(results(*measured, datasets=("one", "two")))["configuration"].nunique() == 8

    def test_without_a_benchmarking_set_there_are_none(self, measured):
        omegas, deltas, _ = measured
        frame = results(omegas, deltas)
        assert runs(frame).empty and triage_table(frame).empty and triage_notes(frame) == []

    def test_with_fewer_than_20_splits_there_are_none(self, measured):
        omegas, deltas, outer = measured
        frame = results(omegas, {name: delta[:, :19] for name, delta in deltas.items()}, outer)
        assert triage_table(frame).empty

    def test_a_configuration_with_a_seed_that_stopped_earlier_has_no_gain(self, measured):
        omegas, deltas, outer = measured
        frame = results(omegas, deltas, outer)
        stopped = (frame["solver_name"] == "learner0.3") & (frame["idx_rep"] == 5)
        made = runs(frame[~(stopped & (frame["objective_split"] >= 12))])
        expected = runs(frame)
        kept = expected[expected["configuration"] != 1]
        assert made["gain_20"].tolist() == kept["gain_20"].tolist()


class TestAgreementOfHalves:
    @pytest.fixture
    def many(self):
        """many(spread): learners whose splits share 0.4 ± spread of their errors' variance."""
        def make(spread, n_seeds=20, n_learners=100):
            rng = np.random.default_rng(0)
            omegas, deltas, outer = {}, {}, {}
            for i, share in enumerate(np.linspace(0.4 - spread, 0.4 + spread, n_learners)):
                common = rng.standard_normal((n_seeds, 1))
                own = rng.standard_normal((n_seeds, 20))
                deltas[f"{i}"] = np.sqrt(share) * common + np.sqrt(1 - share) * own
                outer[f"{i}"] = rng.standard_normal((n_seeds, 50))
                omegas[f"{i}"] = np.zeros((n_seeds, 20))
            return deltas, outer, results(omegas, deltas, outer)

        return make

    def test_by_hand(self, many):
        deltas, outer, frame = many(0.3, n_learners=20)
        expected = []
        for halving in range(20):
            order = np.random.default_rng(halving).permutation(20)
            gains = np.array([
                [sample_gain(deltas[name][half], outer[name][half], 10, np.random.default_rng(0),
                             n_resamples=1, n_splits=[20]).gain[0]
                 for half in (order[:10], order[10:])]
                for name in deltas
            ])
            expected.append(spearmanr(*gains.T)[0])
        assert agreement_of_halves(frame, 20) == pytest.approx(np.mean(expected))

    def test_between_chance_and_certainty(self, many):
        chance, some, most = (
            agreement_of_halves(many(spread)[2], 20) for spread in (0, 0.2, 0.4)
        )
        assert abs(chance) < 0.2 < some < most < 1

    def test_is_none_with_little(self, many):
        assert agreement_of_halves(many(0.2, n_seeds=3)[2], 20) is None
        assert agreement_of_halves(many(0.2, n_learners=2)[2], 20) is None
        assert agreement_of_halves(many(0.2, n_learners=3)[2], 200) is None

    def test_is_said(self, many):
        frame = many(0.2, n_learners=20)[2]
        assert triage_notes(frame)[2:] == [
            "rank correlation of the G_20 of one half of the seeds with those of the other: "
            f"{agreement_of_halves(frame, 20):.2f}; near 0, gains differ by chance, and no ω can "
            "tell them"
        ]


class TestTable:
    @pytest.fixture
    def frame(self, measured, monkeypatch):
        """frame(gains, omegas): runs of two seeds whose gains and ω_3 are given."""
        def make(gains, omegas):
            made = pd.DataFrame({
                "configuration": range(len(gains)), "omega_2": np.nan, "omega_3": omegas,
                "omega_5": omegas, "gain_20": gains,
            })
            monkeypatch.setattr(triage, "runs", lambda results: made)
            return pd.DataFrame()

        return make

    def test_by_hand(self, frame):
        # Thirds by ω: gains (16, 12), (4, 11), (2, 3).
        table = triage_table(frame([2, 12, 4, 16, 11, 3], [0.9, 0.2, 0.3, 0.1, 0.4, 0.8]))
        assert table["splits"].tolist() == [3, 5] and (table["gain"] == "G_20").all()
        row = table.iloc[0]
        assert row["runs"] == 6
        assert row[[f"G {part}" for part in ("low", "mid", "high")]].tolist() == [
            14, 7.5, 2.5
        ]
        assert row[[f"P {part}" for part in ("low", "mid", "high")]].tolist() == [
            1, 0.5, 0
        ]
        # Ranks of ω 6 2 3 1 4 5, of the gain 1 5 3 6 4 2: Σd² = 25+9+0+25+0+9 = 68.
        assert row["rank corr."] == pytest.approx(1 - 6 * 68 / (6 * 35))
        logs = np.log([2, 12, 4, 16, 11, 3])
        assert row["log corr."] == pytest.approx(
            np.corrcoef([0.9, 0.2, 0.3, 0.1, 0.4, 0.8], logs)[0, 1]
        )

    def test_runs_without_redundancy_are_left_out(self, frame):
        table = triage_table(frame([2, 12, 4, 16], [0.9, np.nan, 0.3, 0.1]))
        assert table["runs"].tolist() == [3, 3]

    def test_equal_gains_have_no_correlation(self, frame):
        table = triage_table(frame([5, 5, 5], [0.1, 0.2, 0.3]))
        assert table["rank corr."].isna().all()
        assert (table["G high"] == 5).all()

    def test_of_results(self, measured):
        table = triage_table(results(*measured))
        assert (table["rank corr."] < -0.5).all()
        assert (table["G low"] > table["G high"]).all()
        assert triage_notes(results(*measured))[0].startswith("single runs of 4 configurations")
