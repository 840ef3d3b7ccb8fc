import math
import re

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmark_utils.analysis.advice import advice_notes, advice_table, splits_worth_making
from benchmark_utils.redundancy import predicted_gain

AT = ("own", "as configured")


def results(scores, omegas=None, n_test=20, n_train=80, procedure="mccv"):
    """Result frame of learners' scores, dict of lists (one seed) or lists of lists (seeds)."""
    rows = []
    for learner, of_seeds in scores.items():
        of_seeds = of_seeds if isinstance(of_seeds[0], list) else [of_seeds]
        for seed, of_splits in enumerate(of_seeds):
            for k, score in enumerate(of_splits):
                rows.append({
                    "dataset_name": "own", "objective_name": "Score trust",
                    "solver_name": learner, "idx_rep": seed, "p_obj_procedure": procedure,
                    "p_solver_tuning": "default", "p_solver_search": "random",
                    "p_solver_n_configs": 30,
                    "objective_split": k, "objective_budget": 1, "objective_score_test": score,
                    "objective_score_bench": np.nan, "objective_n_bench": 0,
                    "objective_status": "failed" if math.isnan(score) else "ok",
                    "objective_redundancy": omegas[learner][k] if omegas and k else np.nan,
                    "objective_n_test": n_test, "objective_n_train": n_train,
                    "objective_n_study": n_test + n_train,
                })
    return pd.DataFrame(rows)


class TestSplitsWorthMaking:
    def test_by_hand(self):
        # ω = 0.2: G_200 = 200/40.8 = 4.90, 1.2 · G_K ≥ 4.90 from G_K = K/(0.8 + 0.2 K) ≥ 4.085,
        # K ≥ 3.268/(1 − 0.817) = 17.9.
        assert splits_worth_making(0.2, 0.2) == 18

    @pytest.mark.parametrize("procedure", ["mccv", "repeated_kfold"])
    @pytest.mark.parametrize("omega", [0.0, 0.03, 0.1, 0.19])
    def test_is_the_first_from_which_little_is_to_be_had(self, procedure, omega):
        K = splits_worth_making(omega, 0.2, procedure)
        promised = [predicted_gain(omega, n, 0.2, procedure) for n in (K - 1, K, 200)]
        assert promised[2] <= 1.2 * promised[1] and promised[2] > 1.2 * promised[0]

    def test_unknown_redundancy(self):
        assert splits_worth_making(math.nan, 0.2) is None


class TestTable:
    SCORES = {"ridge": [0.80, 0.84, 0.88, 0.84], "svm": [0.70, 0.74, 0.72, 0.76]}
    OMEGAS = {"ridge": [0, 0.05, 0.1, 0.2], "svm": [0, 0.05, 0.02, 0.0]}

    def test_by_hand(self):
        table = advice_table(results(self.SCORES, self.OMEGAS), *AT).set_index("learner")
        ridge = table.loc["ridge"]
        assert ridge["score"] == pytest.approx(0.84)
        # s² = (0.04² + 0.04²)/3, half width t(3)·s·√(1/4 + 20/80)
        half = stats.t(3).ppf(0.975) * np.sqrt(0.0032 / 3) * np.sqrt(0.5)
        assert ridge["95 %"] == f"[{0.84 - half:.3g}, {0.84 + half:.3g}]"
        assert (ridge["ω_3"], ridge["ω_4"]) == (0.1, 0.2)
        assert math.isnan(ridge["ω_5"])
        assert ridge["Ĝ_20"] == pytest.approx(20 / (1 + 19 * 0.2))
        assert ridge["Ĝ_200"] == pytest.approx(200 / (1 + 199 * 0.2))
        assert ridge["go on"] == "to 18 splits"
        assert table.loc["svm", "Ĝ_20"] == pytest.approx(20)

    def test_of_unequal_splits(self):
        # As with groups: 20 tested beside 80 on average, whatever comes first.
        sizes = [10, 10, 10, 50]
        equal = advice_table(results(self.SCORES, self.OMEGAS, procedure="repeated_kfold"), *AT)
        for n_test in (sizes, sizes[::-1]):
            frame = results(self.SCORES, self.OMEGAS, procedure="repeated_kfold")
            frame["objective_n_test"] = n_test * 2
            frame["objective_n_train"] = 100 - frame["objective_n_test"]
            pd.testing.assert_frame_equal(advice_table(frame, *AT), equal)

    def test_enough_is_enough(self):
        scores = {"ridge": [0.8, 0.9] * 10}
        table = advice_table(results(scores, {"ridge": [0.2] * 20}), *AT)
        assert table["go on"].tolist() == ["no"]

    def test_several_seeds_are_a_typical_one(self):
        scores = {"ridge": [[0.8, 0.9], [0.5, 0.6], [0.6, 0.7]]}
        table = advice_table(results(scores, {"ridge": [0, 0.1]}), *AT)
        assert table["score"].tolist() == pytest.approx([0.65])

    def test_one_split_promises_nothing(self):
        table = advice_table(results({"ridge": [0.8]}), *AT)
        assert table["95 %"].tolist() == [""] and table["go on"].tolist() == [""]

    def test_learners_that_stopped_after_different_splits(self):
        scores = {"ridge": [0.8, 0.9, 0.8, 0.9], "svm": [0.7, 0.6, 0.7, 0.7, 0.6, 0.7]}
        table = advice_table(
            results(scores, {"ridge": [0, 0.1, 0.1, 0.12], "svm": [0, 0.1, 0.1, 0.1, 0.1, 0.15]}),
            *AT)
        assert [name for name in table if name.startswith("ω")] == ["ω_3", "ω_5", "ω_all"]
        assert table["ω_all"].tolist() == [0.12, 0.15]

    def test_failed_splits_are_left_out(self):
        table = advice_table(
            results({"ridge": [0.8, math.nan, 0.9], "svm": [math.nan] * 3},
                    {"ridge": [0, math.nan, 0.1], "svm": [math.nan] * 3}), *AT
        )
        assert table["learner"].tolist() == ["ridge"]
        assert table["score"].tolist() == pytest.approx([0.85])
        assert table["ω_3"].tolist() == [0.1]


class TestNotes:
    def test_resolved_whichever_is_named_first(self):
        high, low = [0.90, 0.91, 0.92, 0.91, 0.90], [0.50, 0.52, 0.51, 0.50, 0.51]
        for scores in ({"ridge": high, "svm": low}, {"svm": low, "ridge": high}):
            (said,) = advice_notes(results(scores), *AT)
            assert said.startswith("ridge is better than svm by 0.4 [0.38")
            assert said.endswith(".") and "p = " in said

    def test_number_of_splits_that_would_resolve_it(self):
        # Differences 0, .1, 0, .1: mean .05, s = .0577, n_test/n_train = 0.01. With 9 splits
        # t(8)·s·√(1/9 + 0.01) = 2.306 · .0577 · .348 = .0463, with 8 2.365 · .0577 · .367 = .0501.
        frame = results({"ridge": [0.8, 0.9, 0.8, 0.9], "svm": [0.8] * 4}, n_test=1, n_train=100)
        (said,) = advice_notes(frame, *AT)
        assert "ridge leads svm by 0.05" in said and "it would take about 9 splits" in said

    def test_when_only_more_data_would(self):
        frame = results({"ridge": [0.8, 0.9, 0.8, 0.9], "svm": [0.84] * 4}, n_test=50, n_train=50)
        (said,) = advice_notes(frame, *AT)
        assert "no number of splits would resolve it: it takes more data" in said

    def test_a_lead_that_rests_on_a_few_splits(self):
        steady, brittle = [0.80] * 6, [0.82] * 5 + [0.10]
        (said,) = advice_notes(results({"steady": steady, "brittle": brittle}), *AT)
        assert "steady leads brittle" in said
        assert "but brittle wins 83% of the splits, ties counting half, so steady's lead rests " \
            "on a few in which brittle fails badly" in said

    @pytest.mark.parametrize("order", [1, -1])
    def test_a_seed_that_turns_the_mean(self, order):
        # Four seeds of five say that brittle is better by .1, each significantly.
        steady, better = [0.80, 0.81, 0.80, 0.82], [0.90, 0.91, 0.90, 0.92]
        failed = [0.10, 0.11, 0.10, 0.12]
        scores = {"steady": [steady] * 5, "brittle": [failed, *[better] * 4]}
        scores["brittle"] = [[x + 0.01 * (k == s) for k, x in enumerate(of)]
                             for s, of in enumerate(scores["brittle"])]
        (said,) = advice_notes(results(dict(list(scores.items())[::order])), *AT)
        found = re.match(r"brittle is better than steady by ([\d.]+) \[(.*), (.*)\], p = ", said)
        difference, low, high = map(float, found.groups())
        assert 0 < low <= difference <= high
        assert "over all seeds steady has the higher mean, by 0.0" in said

    def test_a_few_more_wins_are_no_reason(self):
        # b wins 6 of 11 splits by .1, a 5 by .13.
        a, b = [0.8] * 6 + [0.93] * 5, [0.9] * 6 + [0.8] * 5
        (said,) = advice_notes(results({"a": a, "b": b}), *AT)
        assert said.startswith("a leads b") and said.endswith(
            "; but b wins 55% of the splits, ties counting half.")

    def test_equal_means(self):
        # .1, .7 and −.8 don't quite sum to zero.
        (said,) = advice_notes(results({"a": [0.1, 0.7, 0], "b": [0, 0, 0.8]}), *AT)
        assert "have equal mean scores [-" in said

    def test_equal_means_of_a_typical_seed(self):
        # In two seeds of five they are equal; a wins two by a little, and loses one clearly.
        even, a, b = [0.5, 0.5, 0.6], [0.5, 0.6, 0.5], [0.5, 0.5, 0.6]
        scores = {"a": [a, [0.52, 0.51, 0.62], [0.52, 0.51, 0.62], [0.1, 0.1, 0.2], a],
                  "b": [b, even, even, [0.8, 0.7, 0.9], b]}
        (said,) = advice_notes(results(scores), *AT)
        # The means differ by 0, .05/3, .05/3, −2/3 and 0.
        assert re.fullmatch(
            r"a and b have equal mean scores \[.*\] in a typical study set, but over all seeds b "
            r"has the higher mean, by 0\.127\.", said)

    def test_one_split(self):
        (said,) = advice_notes(results({"a": [0.8], "b": [0.9]}), *AT)
        assert said == "a and b can't be compared from one split."

    def test_equal_scores(self):
        (said,) = advice_notes(results({"a": [0.8, 0.9], "b": [0.8, 0.9]}), *AT)
        assert said == "a and b have equal scores: no test."

    def test_the_same_difference_on_each_split(self):
        # One more of fifteen test examples is right, on both splits.
        (said,) = advice_notes(results({"a": [11 / 15, 12 / 15], "b": [10 / 15, 11 / 15]}), *AT)
        assert said == ("a and b differ by the same on each split, on average by 0.0667: no "
                        "variation to test it by.")

    def test_one_partition_repeated_resolves_nothing(self):
        for low in ([0.5, 0.5, 0.5], [0.50, 0.51, 0.52]):
            frame = results({"a": [0.9, 0.9, 0.9], "b": low}, procedure="fixed_split")
            assert advice_table(frame, *AT)["95 %"].tolist() == ["", ""]
            (said,) = advice_notes(frame, *AT)
            assert said == "a and b were compared on one partition only: no test."

    def test_nothing_in_common(self):
        (said,) = advice_notes(
            results({"a": [0.9, 0.8, math.nan], "b": [math.nan, math.nan, 0.5]}), *AT)
        assert said == "a and b have no split in common: no test."

    def test_only_the_leader_is_compared(self):
        scores = {name: [level, level + 0.02, level - 0.01] for name, level in
                  (("a", 0.5), ("b", 0.9), ("c", 0.7), ("d", 0.6))}
        said = advice_notes(results(scores), *AT)
        assert len(said) == 3 and all("b " in sentence for sentence in said)

    def test_each_tuning_rule_has_a_leader(self):
        levels = {"ridge": 0.6, "svm": 0.7}
        frames = []
        for rule, rise in (("val", 0), ("test", 0.2)):
            frame = results({f"{name}[tuning={rule}]": [x + rise, 1.01 * x + rise, x + rise - 0.01]
                             for name, x in levels.items()})
            frames.append(frame.assign(p_solver_tuning=rule))
        distrust, *said = advice_notes(pd.concat(frames, ignore_index=True), *AT)
        assert distrust.startswith("Scores under tuning=test are those")
        assert [sentence.split(" by ")[0] for sentence in said] == [
            f"svm (tuning={rule}) is better than ridge (tuning={rule})" for rule in ("val", "test")
        ]

    def test_nothing_to_compare(self):
        assert advice_notes(results({"a": [0.8, 0.9]}), *AT) == []
        assert advice_notes(results({"a": [math.nan] * 2}), *AT) == []
