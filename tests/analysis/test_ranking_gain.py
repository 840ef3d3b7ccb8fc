import json

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, norm
from sklearn.isotonic import isotonic_regression

from benchmark_utils.analysis.ranking_gain import (
    family_scores,
    gain_notes,
    grid_labels,
    grid_options,
    is_retrieved,
    monotone_fit,
    ranking_gain,
    ranking_gain_of,
    seed_note,
    threshold_size,
)

X = np.nan
SIZES = [10, 100, 1000]


def gain_of(scores, train_sizes=SIZES, seed=0, **options):
    return ranking_gain(train_sizes, scores, np.random.default_rng(seed), **options)


def estimates(gain):
    return [gain.n_seeds, gain.n_failed, gain.retrieval, gain.monotone, gain.threshold,
            gain.single, gain.gain, gain.at_least, gain.ceiling]


def simulate(rng, n_seeds, n_splits, train_sizes, difference=1.0, n_learners=2):
    """Independent normal scores of standard deviation √(1/N), means `difference`/10 apart."""
    means = -difference / 10 * np.arange(n_learners)[:, None, None]
    return [means + rng.normal(size=(n_learners, n_seeds, n_splits)) / np.sqrt(N)
            for N in train_sizes]


class TestIsRetrieved:
    def test_by_hand(self):
        # Two seeds (columns of blocks), three splits; the learners are in their true order.
        #                seed 0      seed 1
        scores = [[[3, 3, 0], [1, 5, 6]],
                  [[2, 4, 0], [2, 2, 2]],
                  [[1, 1, 0], [0, 0, 9]]]
        # Sums of seed 0: 3>2>1, 6=6>2 (a tie), 6=6; of seed 1: 1<2, 6>4>0, 12>6<9.
        assert is_retrieved(np.array(scores), [1, 2, 3]).tolist() == [
            [True, False, False], [False, True, False]
        ]

    def test_means_that_differ_by_rounding_tie(self):
        assert 0.1 + 0.2 != 0.3
        scores = np.array([[[0.1, 0.2]], [[0.15, 0.15]]])
        assert not is_retrieved(scores, [2]).any()
        assert not is_retrieved(scores[::-1], [2]).any()

    def test_missing_score(self):
        assert not is_retrieved(np.array([[[X, 2]], [[0, 1]]]), [1, 2]).any()

    def test_scale_and_offset(self):
        scores = np.random.default_rng(0).normal(size=(3, 40, 5))
        expected = is_retrieved(scores, [1, 3, 5])
        assert 0 < expected.mean() < 1
        for changed in (1e-9 * scores, 1e9 * scores, scores + 5):
            assert (is_retrieved(changed, [1, 3, 5]) == expected).all()
        assert not (is_retrieved(-scores, [1, 3, 5]) & expected).any()

    def test_a_family_is_retrieved_less_often_than_a_part_of_it(self):
        scores = np.random.default_rng(0).normal(size=(4, 200, 5))
        whole, part = is_retrieved(scores, [1, 5]), is_retrieved(scores[[0, 1, 3]], [1, 5])
        assert (whole <= part).all() and whole.sum() < part.sum()


class TestMonotoneFit:
    def test_by_hand(self):
        # 2/10, 6/10, 3/10, 9/10: the two in the middle are pooled, 9/20.
        fitted = monotone_fit(np.array([2, 6, 3, 9]), 10)
        assert fitted.tolist() == [0.2, 0.45, 0.45, 0.9]

    def test_pooled_by_number_of_seeds(self):
        # 8/10 and 4/40: 12/50
        assert monotone_fit([8, 4], [10, 40]).tolist() == [0.24, 0.24]

    def test_agrees_with_scikit_learn(self):
        rng = np.random.default_rng(0)
        n_trials = rng.integers(1, 30, size=(9, 50))
        n_hits = rng.binomial(n_trials, np.linspace(0.3, 0.9, 9)[:, None])
        fitted = monotone_fit(n_hits, n_trials)
        for j in range(50):
            assert fitted[:, j] == pytest.approx(isotonic_regression(
                n_hits[:, j] / n_trials[:, j], sample_weight=n_trials[:, j]
            ))

    def test_leaves_what_does_not_fall(self):
        assert monotone_fit([0, 5, 5, 10], 10).tolist() == [0, 0.5, 0.5, 1]

    def test_without_trials(self):
        # The one in the middle has no weight; a curve without any reaches nothing.
        assert monotone_fit([1, 0, 9], [10, 0, 10])[[0, 2]].tolist() == [0.1, 0.9]
        assert monotone_fit([0, 0], [0, 0]).tolist() == [-np.inf, -np.inf]


class TestThresholdSize:
    @pytest.mark.parametrize("curve, expected", [
        ([0.90, 0.95, 1.00], 100),
        # Half way between 0.9 and 1, so half way between 10 and 100 on the log scale.
        ([0.90, 1.00, 1.00], np.sqrt(1000)),
        ([0.15, 0.75, 0.95], 1000),
        # Three quarters of the way.
        ([0.00, 0.80, 1.00], 100 * 10**0.75),
        ([0.95, 0.99, 1.00], 10),
        ([1.00, 1.00, 1.00], 10),
        ([0.10, 0.50, 0.94], np.inf),
        ([-np.inf, -np.inf, -np.inf], np.inf),
    ])
    def test_by_hand(self, curve, expected):
        assert threshold_size(SIZES, curve) == pytest.approx(expected)

    def test_many_at_once(self):
        curves = np.sort(np.random.default_rng(0).random((3, 4, 5)), axis=0)
        sizes = threshold_size(SIZES, curves, level=0.6)
        for i, j in np.ndindex(4, 5):
            assert sizes[i, j] == threshold_size(SIZES, curves[:, i, j], level=0.6)

    def test_one_size(self):
        assert threshold_size([50], [[0.96, 0.9]]).tolist() == [50, np.inf]

    def test_rises_with_the_level(self):
        curve = [0.2, 0.7, 1.0]
        sizes = [float(threshold_size(SIZES, curve, level)) for level in np.linspace(0.1, 1, 30)]
        assert sizes == sorted(sizes) and len(set(sizes)) > 20


class TestByHand:
    # Ten seeds, two splits; learner B scores 0. Learner A scores, on its two splits:
    #   N = 10:   (−1, 3) in five seeds, (−1, −1) in the others   π_1 = 0,   π_2 = 0.5
    #   N = 100:  (−1, 3) in five seeds, (1, 1) in the others     π_1 = 0.5, π_2 = 1
    #   N = 1000: (1, 1) in all                                   π_1 = 1,   π_2 = 1
    # At level 0.75: N*_1 = half way (log) from 100 to 1000, N*_2 = half way from 10 to 100.
    a = [[[-1, 3]] * 5 + [[-1, -1]] * 5, [[-1, 3]] * 5 + [[1, 1]] * 5, [[1, 1]] * 10]
    scores = np.stack([np.array(a, float), np.zeros((3, 10, 2))], axis=1)

    def test_gain(self):
        gain = gain_of(self.scores, level=0.75)
        assert gain.retrieval.tolist() == [[0, 0.5], [0.5, 1], [1, 1]]
        assert gain.monotone.tolist() == gain.retrieval.tolist()
        assert gain.threshold == pytest.approx([100 * np.sqrt(10), 10 * np.sqrt(10)])
        assert gain.single == gain.threshold[0]
        assert gain.gain == pytest.approx([1, 10]) and not gain.at_least.any()
        assert gain.ceiling == pytest.approx(10 * np.sqrt(10))
        assert gain.n_seeds.tolist() == [10, 10, 10] and gain.n_failed.tolist() == [0, 0, 0]

    def test_lower_bound_where_two_splits_reach_it_at_once(self):
        # Level 0.5: N*_2 ≤ 10, N*_1 = 100.
        gain = gain_of(self.scores, level=0.5)
        assert gain.threshold.tolist() == [100, 10]
        assert gain.gain == pytest.approx([1, 10]) and gain.at_least.tolist() == [False, True]
        assert "Lower bounds, as they reach it at 10 already: K = 2" == gain_notes(gain)[1]

    def test_lower_bound_where_one_split_never_reaches_it(self):
        # Up to N = 100 only: N*_1 > 100, N*_2 = 10·√10.
        gain = gain_of(self.scores[:2], SIZES[:2], level=0.75)
        assert np.isinf(gain.single) and np.isinf(gain.threshold[0]) and np.isnan(gain.gain[0])
        assert gain.gain[1] == pytest.approx(np.sqrt(10))
        assert gain.at_least.tolist() == [False, True]
        assert gain_notes(gain) == [
            "One split doesn't reach the level by 100 training examples: gains are lower bounds",
            "Without a gain, as they don't reach it: K = 1",
            "10 seeds: the interval is too narrow, 100 are enough",
        ]

    def test_one_split_reaches_it_at_once(self):
        gain = gain_of(self.scores[1:], SIZES[1:], level=0.5)
        assert gain.single == 100 and np.isnan(gain.gain).all() and np.isnan(gain.high).all()
        assert not gain.at_least.any() and np.isnan(gain.ceiling)
        assert "run smaller training sizes" in gain_notes(gain)[0]

    def test_nobody_reaches_it(self):
        # The worse learner first: never in the right order at the largest size.
        gain = gain_of(self.scores[:, ::-1], level=0.95)
        assert np.isinf(gain.threshold).all() and np.isnan(gain.gain).all()
        assert gain.n_unreached.tolist() == [2000, 2000]

    def test_ties_are_not_retrieved(self):
        gain = gain_of(np.zeros((3, 2, 10, 2)))
        assert (gain.retrieval == 0).all() and np.isinf(gain.threshold).all()


class TestClosedForm:
    @pytest.mark.parametrize("K", [1, 4, 9])
    def test_retrieval_of_two_learners(self, K):
        # The mean of K differences is normal: 0.1 ± √(2/(N·K)).
        n_seeds = 2000
        gain = gain_of(simulate(np.random.default_rng(0), n_seeds, 9, SIZES), n_splits=[K],
                       n_resamples=2)
        p = norm.cdf(0.1 * np.sqrt(np.array(SIZES) * K / 2))
        low, high = binom.interval(0.999, n_seeds, p)
        assert (low <= n_seeds * gain.retrieval[:, 0]).all()
        assert (n_seeds * gain.retrieval[:, 0] <= high).all()

    def test_gain_is_the_number_of_independent_splits(self):
        # π_K depends on N·K alone, so N*_K = N*_1 / K, and N*_1 = 2·(1.645/0.1)² = 541.
        sizes = np.unique(np.geomspace(20, 1500, 15).astype(int))
        gain = gain_of(simulate(np.random.default_rng(1), 20_000, 8, sizes), sizes, n_resamples=2)
        assert gain.single == pytest.approx(2 * (norm.ppf(0.95) / 0.1) ** 2, rel=0.05)
        assert gain.gain == pytest.approx(np.arange(1, 9), rel=0.08)

    def test_identical_splits_have_no_gain(self):
        scores = [np.repeat(s, 6, axis=2)
                  for s in simulate(np.random.default_rng(0), 200, 1, SIZES)]
        assert gain_of(scores).gain == pytest.approx(np.ones(6))


@pytest.mark.slow
@pytest.mark.parametrize("n_seeds, low, high", [(25, 0.7, 0.9), (100, 0.9, 0.98)])
@pytest.mark.parametrize("K", [1, 10])
def test_coverage_of_the_interval(K, n_seeds, low, high):
    """Of N*_K, since N*_1 is held fixed. Of 300 intervals, 1.5 % is a standard error."""
    sizes = [20, 40, 70, 120, 200, 400, 700, 1200, 2000]
    truth, covered = 1000 / K, 0
    difference = 10 * norm.ppf(0.95) * np.sqrt(2 / 1000)
    for seed in range(300):
        scores = simulate(np.random.default_rng(seed), n_seeds, K, sizes, difference)
        gain = gain_of(scores, sizes, seed, n_splits=[K], n_resamples=400)
        numerator = gain.ceiling * sizes[0]
        covered += gain.low[0] <= numerator / truth <= gain.high[0]
    assert low < covered / 300 < high


class TestProperties:
    scores = simulate(np.random.default_rng(0), 60, 6, SIZES, difference=1.5, n_learners=3)

    def test_one_split_has_gain_one(self):
        gain = gain_of(self.scores)
        assert gain.gain[0] == 1 and gain.low[0] <= 1 <= gain.high[0]

    def test_order_of_seeds(self):
        order = np.random.default_rng(1).permutation(60)
        for a, b in zip(estimates(gain_of(self.scores)),
                        estimates(gain_of([s[:, order] for s in self.scores])), strict=True):
            assert np.array_equal(a, b, equal_nan=True)

    @pytest.mark.parametrize("paired", [True, False])
    def test_same_seed_same_interval(self, paired):
        a, b, other = (gain_of(self.scores, seed=seed, paired=paired) for seed in (3, 3, 4))
        assert np.array_equal(a.low, b.low) and np.array_equal(a.high, b.high)
        assert not np.array_equal(a.low, other.low)

    def test_chosen_numbers_of_splits(self):
        everything, chosen = gain_of(self.scores), gain_of(self.scores, n_splits=[3, 6])
        for name in ("gain", "low", "high", "threshold", "at_least", "n_unreached"):
            assert np.array_equal(getattr(chosen, name), getattr(everything, name)[[2, 5]])
        assert chosen.single == everything.threshold[0]

    def test_later_splits_do_not_change_the_gain_of_fewer(self):
        few, many = gain_of([s[..., :3] for s in self.scores]), gain_of(self.scores)
        assert np.array_equal(few.gain, many.gain[:3])
        assert np.array_equal(few.high, many.high[:3])

    def test_interval_lies_within_what_the_sizes_can_show(self):
        gain = gain_of(self.scores)
        assert (gain.low >= 0).all() and (gain.high <= gain.ceiling * (1 + 1e-12)).all()

    def test_monotone_curve_never_falls(self):
        sizes = np.arange(10, 60, 5)
        gain = gain_of(simulate(np.random.default_rng(0), 30, 4, sizes), sizes)
        assert (np.diff(gain.retrieval, axis=0) < 0).any()
        assert (np.diff(gain.monotone, axis=0) >= 0).all()

    def test_paired_seeds_that_rise_together_have_a_wider_interval(self):
        # Only where the same seeds decide at neighbouring sizes does it matter how they are drawn.
        sizes = [100, 200, 400, 800]
        noise = np.random.default_rng(0).normal(size=(2, 100, 1))
        means = np.array([0.1, 0])[:, None, None]
        scores = [means + noise / np.sqrt(N) for N in sizes]
        paired, within = (gain_of(scores, sizes, paired=p) for p in (True, False))
        assert (paired.gain == within.gain).all()
        assert paired.high[0] - paired.low[0] > within.high[0] - within.low[0]


class TestMissing:
    scores = simulate(np.random.default_rng(0), 30, 4, SIZES, difference=2)

    def test_seeds_with_a_missing_score_are_left_out_and_counted(self):
        scores = [s.copy() for s in self.scores]
        scores[0][1, 4, 3] = X
        scores[2][:, [0, 7]] = X
        gain = gain_of(scores)
        assert gain.n_seeds.tolist() == [29, 30, 28] and gain.n_failed.tolist() == [1, 0, 2]
        expected = is_retrieved(np.delete(scores[0], 4, axis=1), [1, 2, 3, 4]).mean(axis=0)
        assert gain.retrieval[0] == pytest.approx(expected)

    def test_a_size_without_any_seed_has_no_part(self):
        sizes, scores = [10, 50, 100, 1000], [*self.scores[:1], self.scores[0] * X,
                                              *self.scores[1:]]
        gain, expected = gain_of(scores, sizes), gain_of(self.scores)
        assert gain.n_seeds.tolist() == [30, 0, 30, 30]
        assert np.isnan(gain.retrieval[1]).all() and np.isnan(gain.monotone[1]).all()
        for name in ("threshold", "gain", "low", "high"):
            assert np.array_equal(getattr(gain, name), getattr(expected, name), equal_nan=True)

    def test_one_usable_seed_at_a_size(self):
        scores = [s.copy() for s in self.scores]
        scores[1][:, 1:] = X
        gain = gain_of(scores)
        assert gain.n_seeds.tolist() == [30, 1, 30]
        assert np.isfinite(gain.low).all() and np.isfinite(gain.high).all()

    def test_no_seed_at_all(self):
        with pytest.raises(ValueError, match="no seed"):
            gain_of([s * X for s in self.scores])

    def test_one_training_size(self):
        gain = gain_of(self.scores[2:], SIZES[2:])
        assert gain.single == 1000 and np.isnan(gain.gain).all()

    @pytest.mark.parametrize("sizes, scores, said", [
        (SIZES, [s[:1] for s in scores], "two or more learners"),
        (SIZES[:2], scores, "each of 2 training sizes"),
        (SIZES, [s[..., 0] for s in scores], "not \\(3, 2, 30\\)"),
        ([10, 10, 20], scores, "don't increase"),
    ])
    def test_errors(self, sizes, scores, said):
        with pytest.raises(ValueError, match=said):
            gain_of(scores, sizes)


def results_of(scores, sizes=SIZES, bench=None):
    """Frame as Benchopt saves it, of scores (n, M, S, K) of learners of 1 … M trees."""
    n, M, S, K = scores.shape
    bench = scores if bench is None else bench
    of_setting = {"train_size": None, "n_splits": K, "procedure": "mccv"}
    rows = []
    for (i, m, s, k), score in np.ndenumerate(scores):
        setting = {**of_setting, "train_size": sizes[i]}
        solver = {"n_estimators": m + 1, "tuning": "default", "search": "random", "n_configs": 30}
        named = {"Score trust": setting, "extra_trees": solver}
        objective, learner = (
            f"{name}[{','.join(f'{k}={v}' for k, v in values.items())}]"
            for name, values in named.items()
        )
        rows.append({
            "dataset_name": "simulated[noise=1]", "p_dataset_noise": 1, "idx_rep": s,
            "objective_name": objective, "solver_name": learner,
            **{f"p_obj_{name}": value for name, value in setting.items()},
            **{f"p_solver_{name}": value for name, value in solver.items()},
            "objective_split": k, "objective_budget": 1, "objective_n_train": sizes[i],
            "objective_n_val": 0, "objective_n_bench": 1000, "objective_status": "ok",
            "objective_score_test": score,
            "objective_score_bench": bench[i, m, s, k], "objective_outer_deltas": None,
        })
    return pd.DataFrame(rows)


LEARNERS = ["extra_trees (n_estimators=1)", "extra_trees (n_estimators=2)",
            "extra_trees (n_estimators=3)"]


class TestFamily:
    scores = np.random.default_rng(0).normal(size=(3, 3, 4, 2))
    # At the largest size the third learner is best and the first worst; at others it's otherwise.
    bench = np.broadcast_to(
        np.array([[3, 2, 1], [3, 2, 1], [-5, -3, -1]], float)[..., None, None], scores.shape
    )

    def test_order_of_the_benchmark_at_the_largest_size(self):
        family = family_scores(results_of(self.scores, bench=self.bench), "simulated",
                               "as configured")
        assert family.learners == LEARNERS[::-1]
        assert family.train_sizes.tolist() == SIZES
        assert np.array_equal(family.scores, self.scores[:, ::-1])

    def test_rows_in_any_order(self):
        results = results_of(self.scores, bench=self.bench)
        shuffled = results.sample(frac=1, random_state=0, ignore_index=True)
        family = family_scores(shuffled, "simulated", "as configured")
        assert family.learners == LEARNERS[::-1]
        assert np.array_equal(family.scores, self.scores[:, ::-1])

    def test_given_order(self):
        results = results_of(self.scores, bench=X * self.bench)
        order = [LEARNERS[1], LEARNERS[0]]
        family = family_scores(results, "simulated", "as configured", order)
        assert family.learners == order
        assert np.array_equal(family.scores, self.scores[:, [1, 0]])
        for wrong in ([*order, "ridge"], [*order, order[0]]):
            with pytest.raises(ValueError, match="name each learner once"):
                family_scores(results, "simulated", "as configured", wrong)

    def test_failed_splits_and_missing_seeds(self):
        results = results_of(self.scores, bench=self.bench)
        of_first = results["p_solver_n_estimators"] == 1
        gone = of_first & (results["idx_rep"] == 2) & (results["p_obj_train_size"] == 100)
        failed = of_first & (results["idx_rep"] == 0) & (results["objective_split"] == 1)
        results.loc[failed, "objective_score_test"] = X
        family = family_scores(results[~gone].copy(), "simulated", "as configured")
        expected = self.scores[:, ::-1].copy()
        expected[1, 2, 2], expected[:, 2, 0, 1] = X, X
        assert np.array_equal(family.scores, expected, equal_nan=True)

    def test_benchmark_scores_are_compared_on_shared_seeds(self):
        # Of seed 0 the best learner has no score, and the others have very good ones.
        bench = self.bench.copy()
        bench[-1, :2, 0], bench[-1, 2, 0] = 100, X
        family = family_scores(results_of(self.scores, bench=bench), "simulated", "as configured")
        assert family.learners == LEARNERS[::-1]

    def test_a_learner_without_benchmark_score_is_left_out(self):
        bench = self.bench.copy()
        bench[-1, 1] = X
        family = family_scores(results_of(self.scores, bench=bench), "simulated", "as configured")
        assert family.learners == [LEARNERS[2], LEARNERS[0]]

    def test_splits_that_only_some_seeds_made(self):
        results = results_of(self.scores, bench=self.bench)
        stopped = (results["idx_rep"] == 1) & (results["objective_split"] == 1)
        family = family_scores(results[~stopped].copy(), "simulated", "as configured")
        assert np.array_equal(family.scores, self.scores[:, ::-1, :, :1])

    def test_settings_that_differ_in_more_than_the_size_are_kept_apart(self):
        results = pd.concat(
            [results_of(self.scores), results_of(self.scores[:2, ..., :1], SIZES[:2])],
            ignore_index=True,
        )
        assert grid_options(results) == ["n_splits=2", "n_splits=1"]
        assert len(grid_labels(results)) == 5
        few = family_scores(results, "simulated", "n_splits=1")
        assert few.scores.shape == (2, 3, 4, 1) and few.train_sizes.tolist() == SIZES[:2]


class TestOfResults:
    scores = np.stack(simulate(np.random.default_rng(0), 20, 2, SIZES, 2, n_learners=3))

    def missing(self, results):
        family, gain, missing = ranking_gain_of(results, "simulated", grid_options(results)[0])
        assert gain is None
        return missing

    def test_as_from_arrays(self):
        _, gain, missing = ranking_gain_of(results_of(self.scores), "simulated", "as configured")
        expected = gain_of(self.scores)
        assert missing == ""
        for a, b in zip(estimates(gain), estimates(expected), strict=True):
            assert np.array_equal(a, b, equal_nan=True)
        assert np.array_equal(gain.low, expected.low, equal_nan=True)

    def test_what_is_missing(self):
        assert "One training size only" in self.missing(results_of(self.scores[:1], SIZES[:1]))
        assert "One learner only, extra_trees" in self.missing(results_of(self.scores[:, :1]))
        assert "no benchmarking set" in self.missing(results_of(self.scores, bench=X * self.scores))
        failed = self.scores.copy()
        failed[:, 1, :, 1] = X
        assert "No seed has" in self.missing(results_of(failed, bench=self.scores))
        _, gain, missing = ranking_gain_of(results_of(self.scores), "digits", "as configured")
        assert gain is None and "No run of this data set" in missing


@pytest.fixture(scope="module")
def plots(benchmark):
    return {plot._get_name(): plot for plot in benchmark.get_plots()}


class TestPlots:
    scores = np.stack(simulate(np.random.default_rng(0), 20, 10, SIZES, 3, n_learners=3))

    def view(self, plots, name, results):
        options = dict(dataset="simulated", setting=grid_options(results)[0])
        plot = plots[name]
        traces = plot.plot(results, **options)
        title = plot.get_metadata(results, **options)["title"]
        json.dumps(traces, allow_nan=False)
        return traces, title

    def test_retrieval(self, plots):
        results = results_of(self.scores)
        traces, title = self.view(plots, "ranking_retrieval", results)
        assert [t["label"] for t in traces] == [
            "K = 1", "K = 2", "K = 5", "K = 10", f"level 0.95 of {' > '.join(LEARNERS)}",
        ]
        assert all(t["x"] == SIZES for t in traces[:-1]) and traces[-1]["x"] == [10, 1000]
        expected = gain_of(self.scores).retrieval[:, [0, 1, 4, 9]]
        assert np.array_equal([t["y"] for t in traces[:-1]], expected.T)
        assert title.endswith("\n20 seeds")

    def test_gain(self, plots):
        results = results_of(self.scores)
        traces, title = self.view(plots, "ranking_gain", results)
        band, line, independent, ceiling = traces
        gain = gain_of(self.scores)
        shown = np.isfinite(gain.gain)
        assert line["x"] == gain.n_splits[shown].tolist() and line["y"][0] == 1
        assert band["y_high"] == gain.high[shown].tolist()
        assert independent["y"] == [1, 10] and ceiling["y"] == 2 * [gain.ceiling]
        assert f"One split reaches the level at {gain.single:.0f} training examples" in title
        assert "20 seeds: the interval is too narrow" in title

    def test_gains_that_are_not_defined_are_left_out(self, plots):
        harder = np.stack(simulate(np.random.default_rng(0), 20, 10, SIZES, 0.7, n_learners=3))
        traces, title = self.view(plots, "ranking_gain", results_of(harder))
        assert traces and 1 not in traces[1]["x"] and "gains are lower bounds" in title
        traces, title = self.view(plots, "ranking_gain", results_of(0 * self.scores))
        assert traces == [] and "Without a gain" in title

    @pytest.mark.parametrize("name", ["ranking_gain", "ranking_retrieval"])
    def test_empty_ones_say_why(self, plots, name):
        for results, said in (
            (results_of(self.scores[:1], SIZES[:1]), "One training size only"),
            (results_of(self.scores[:, :1]), "One learner only"),
            (results_of(self.scores, bench=X * self.scores), "no benchmarking set"),
        ):
            traces, title = self.view(plots, name, results)
            assert traces == [] and said in title

    def test_seeds_left_out_are_said(self, plots):
        scores = self.scores.copy()
        scores[1, 0, 3, 2] = X
        assert seed_note(gain_of(scores)) == (
            "19 to 20 seeds per training size, those without a missing score"
        )
