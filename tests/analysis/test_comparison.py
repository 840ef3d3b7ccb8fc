import math
from dataclasses import astuple

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmark_utils.analysis.comparison import (
    compare,
    comparison_notes,
    comparison_table,
    comparisons,
    corrected_resampled_ttest,
    probability_of_outperforming,
    splits_to_resolve,
)

NAN = float("nan")
AT = ("simulated", "as configured")
pytestmark = pytest.mark.filterwarnings("error")


def rng(seed=0):
    return np.random.default_rng(seed)


def scores(S=6, K=8, seed=1):
    """Two learners, the first slightly better; NaN where a split failed."""
    draw = rng(seed)
    a, b = 0.7 + 0.05 * draw.normal(size=(2, S, K))
    a = a + 0.02
    a[0, 1] = b[2, 3] = b[0, 1] = NAN
    return a, b


class TestCorrectedResampledTTest:
    def test_hand_computed(self):
        # Differences 1, 2, 3 (the last split failed): mean 2, s 1. With n_test/n_train = 2/3 the
        # variance of the mean is 1/3 + 2/3 = 1, so t = 2 with 2 degrees of freedom, for which
        # P(|T| > t) = 1 − t/√(2 + t²), and the 95 % quantile is q with q/√(2 + q²) = 0.95:
        # q = 0.95·√(2/(1 − 0.95²)).
        test = corrected_resampled_ttest([5, 5, 5, 5], [4, 3, 2, NAN], 2 / 3)
        q = 0.95 * (2 / (1 - 0.95**2)) ** 0.5
        assert (test.n_splits, test.n_failed) == (3, 1)
        assert (test.mean_difference, test.sd_difference, test.t) == pytest.approx((2, 1, 2))
        assert test.p == pytest.approx(1 - 2 / 6**0.5)
        assert (test.low, test.high) == pytest.approx((2 - q, 2 + q))

    @pytest.mark.parametrize("level", [0.9, 0.95])
    def test_without_correction_equals_scipy(self, level):
        a, b = rng().normal(size=(2, 10))
        test = corrected_resampled_ttest(a, b, 0, level=level)
        expected = stats.ttest_rel(a, b)
        assert (test.t, test.p) == pytest.approx((expected.statistic, expected.pvalue))
        assert (test.low, test.high) == pytest.approx(tuple(expected.confidence_interval(level)))

    def test_correction_scales_the_standard_error(self):
        # 10-fold: √(1/10 + 1/9) instead of √(1/10).
        a, b = rng().normal(size=(2, 10))
        plain, corrected = (corrected_resampled_ttest(a, b, ratio) for ratio in (0, 1 / 9))
        assert plain.t / corrected.t == pytest.approx((1 + 10 / 9) ** 0.5)
        assert corrected.p > plain.p

    def test_swapping_flips_signs(self):
        a, b = (of[0] for of in scores())
        test, swapped = corrected_resampled_ttest(a, b, 0.2), corrected_resampled_ttest(b, a, 0.2)
        assert (swapped.mean_difference, swapped.t, swapped.low, swapped.high) == pytest.approx(
            (-test.mean_difference, -test.t, -test.high, -test.low))
        assert (swapped.p, swapped.n_splits) == pytest.approx((test.p, 7))

    def test_failed_splits_are_left_out(self):
        a, b = rng().normal(size=(2, 6))
        with_failures = corrected_resampled_ttest([*a, NAN, 1], [*b, 3, NAN], 0.25)
        without = corrected_resampled_ttest(a, b, 0.25)
        assert with_failures.n_failed == 2
        assert astuple(with_failures)[2:] == astuple(without)[2:]

    def test_interval_and_p_agree(self):
        draw = rng()
        for _ in range(200):
            test = corrected_resampled_ttest(draw.normal(1, 1, 5), np.zeros(5), 0.25)
            assert (test.p < 0.05) == (test.low > 0 or test.high < 0)

    def test_without_variation(self):
        same = corrected_resampled_ttest([1, 2, 3], [1, 2, 3], 0.25)
        shifted = corrected_resampled_ttest([0.7, 0.8, 0.9], [0.6, 0.7, 0.8], 0.25)
        assert (same.mean_difference, shifted.mean_difference) == (0, pytest.approx(0.1))
        for test in (same, shifted):
            assert test.sd_difference == 0
            assert np.isnan([test.low, test.high, test.t, test.p]).all()

    @pytest.mark.parametrize("a, n, mean", [([3], 1, 2), ([NAN], 0, NAN), ([], 0, NAN)])
    def test_too_few_splits(self, a, n, mean):
        test = corrected_resampled_ttest(a, np.ones(len(a)), 0.25)
        assert (test.n_splits, test.n_failed) == (n, len(a) - n)
        np.testing.assert_equal(test.mean_difference, mean)
        assert np.isnan([test.sd_difference, test.low, test.high, test.t, test.p]).all()


class TestSplitsToResolve:
    def test_hand_computed(self):
        # mean = s, n_test/n_train = 1/16. K = 6: 2.571·√(1/6 + 1/16) = 1.231 > 1;
        # K = 9: 2.306·√(1/9 + 1/16) = 0.961 < 1; K = 8: 2.365·√(1/8 + 1/16) = 1.024 > 1.
        assert splits_to_resolve(1, 1, 1 / 16) == 9
        assert splits_to_resolve(-1, 1, 1 / 16) == 9

    def test_smallest_number_that_is_significant(self):
        # K differences with mean m and standard deviation s exactly.
        def p(K, mean, sd, ratio):
            z = stats.zscore(np.arange(K), ddof=1)
            return corrected_resampled_ttest(mean + sd * z, np.zeros(K), ratio).p

        for case in ((0.01, 0.02, 0.05), (0.01, 0.03, 0), (0.05, 0.02, 0.25), (0.3, 0.4, 0.1)):
            K = splits_to_resolve(*case)
            assert p(K, *case) < 0.05 <= (p(K - 1, *case) if K > 2 else 1)

    def test_no_number_of_splits_is_enough(self):
        # 5-fold, n_test/n_train = 1/4: as K grows, |t| tends to mean/(s/2), which exceeds 1.96
        # only if mean > 0.98 s.
        assert splits_to_resolve(0.97, 1, 0.25) == math.inf
        assert 100 < splits_to_resolve(0.99, 1, 0.25) < math.inf

    def test_more_of_each_with_a_smaller_difference(self):
        needed = [splits_to_resolve(mean, 1, 0.1) for mean in (5, 2, 1, 0.7, 0.65, 0.5)]
        assert needed == sorted(needed) and needed[-1] == math.inf

    def test_degenerate(self):
        assert splits_to_resolve(0, 1, 0.1) == math.inf
        assert math.isnan(splits_to_resolve(1, 0, 0.1))
        assert splits_to_resolve(1e-12, 1, 0) == math.inf
        assert math.isnan(splits_to_resolve(NAN, NAN, 0.1))
        assert math.isnan(splits_to_resolve(1, NAN, 0.1))


class TestProbabilityOfOutperforming:
    def test_hand_computed(self):
        # seed 0: won, tied, failed: 3/4; seed 1: lost, lost, won: 1/3; seed 2: all failed.
        a = [[2, 1, NAN], [1, 1, 3], [NAN, NAN, NAN]]
        b = [[1, 1, 0], [2, 2, 2], [1, 1, 1]]
        estimate = probability_of_outperforming(a, b, rng=rng())
        # Two seeds: each of them drawn twice in a quarter of the resamples.
        assert (estimate.value, estimate.low, estimate.high) == pytest.approx(
            ((3 / 4 + 1 / 3) / 2, 1 / 3, 3 / 4))

    def test_one_seed_resamples_splits(self):
        # Won, lost: 0 or 1 in a quarter of the resamples each.
        estimate = probability_of_outperforming([[2, 1, NAN]], [[1, 2, 3]], rng=rng())
        assert (estimate.value, estimate.low, estimate.high) == (0.5, 0, 1)

    def test_swapping(self):
        a, b = scores()
        first = probability_of_outperforming(a, b, rng=rng())
        second = probability_of_outperforming(b, a, rng=rng())
        assert (first.value, first.low, first.high) == pytest.approx(
            (1 - second.value, 1 - second.high, 1 - second.low))

    def test_splits_of_a_seed_are_no_further_evidence(self):
        # Twenty copies of a split narrow nothing.
        a, b = rng().normal(size=(2, 12, 1))
        once, copied = (probability_of_outperforming(x, y, rng=rng()) for x, y in
                        ((a, b), (np.tile(a, 20), np.tile(b, 20))))
        assert once == copied

    @pytest.mark.parametrize("a, value", [([[3]], 1), ([[NAN]], NAN), ([[NAN], [3]], 1)])
    def test_nothing_to_resample(self, a, value):
        estimate = probability_of_outperforming(a, np.ones_like(a), rng=rng())
        np.testing.assert_equal(
            [estimate.value, estimate.low, estimate.high], [value, NAN, NAN])


class TestCompare:
    def test_medians_over_seeds(self):
        # n_test/n_train = 1/2 makes the variance of a mean of two splits s². With one degree of
        # freedom P(|T| > t) = 1 − 2·atan(t)/π and the 95 % interval has q = tan(0.475π). As K
        # grows, t tends to mean/(s·√½), which has to exceed 1.96.
        #   seed   a − b   mean  s    interval   t     limit   splits needed
        #   0      1, 3    2     √2   2 ± q√2    √2    2       many
        #   1      2, 2    2     0    no variation, so no test
        #   2      0, 4    2     2√2  2 ± q2√2   1/√2  1       infinitely many
        #   3      6, –    6     –    one split, so no test
        #   4      2, 3    5/2   √½   5/2 ± q√½  5/√2  5       few
        # The third of the five by p, the two without a test last, is seed 2.
        difference = np.array([[1, 3], [2, 2], [0, 4], [6, NAN], [2, 3]])
        pair = compare(difference, np.zeros((5, 2)), 0.5, rng=rng(), n_resamples=100)
        q = math.tan(0.475 * math.pi)
        assert (pair.n_splits, pair.n_failed) == (9, 1)
        assert pair.mean_difference == 2.9
        assert (pair.low, pair.high) == pytest.approx((2 - q * 2**0.5, 2 + q * 2**0.5))
        assert pair.p == pytest.approx(1 - 2 * math.atan(2**-0.5) / math.pi)
        assert pair.splits_needed == splits_to_resolve(2, 2**0.5, 0.5) > 100
        assert pair.outperforms.value == (1 + 1 + 0.75 + 1 + 1) / 5
        assert (pair.benchmark, pair.one_split, pair.all_splits) == (None, None, None)

    @pytest.mark.parametrize("difference", [
        [[0.2, 0.2]],                          # one step of a small test set, twice
        [[0.2, 0.2], [0.1, 0.2]],
        [[0, 0], [0, 0], [0.1, 0.2]],
    ])
    def test_no_variation_in_half_of_the_seeds(self, difference):
        pair = compare(np.add(difference, 0.7), np.full_like(difference, 0.7, dtype=float), 0.1,
                       rng=rng(), n_resamples=100)
        np.testing.assert_equal([pair.low, pair.high, pair.p, pair.splits_needed], 4 * [NAN])

    def test_one_seed_is_its_test(self):
        a, b = (of[2:3] for of in scores())
        pair = compare(a, b, 0.1, rng=rng(), n_resamples=100)
        test = corrected_resampled_ttest(a[0], b[0], 0.1)
        assert (pair.mean_difference, pair.low, pair.high, pair.p) == pytest.approx(
            (test.mean_difference, test.low, test.high, test.p))

    def test_benchmark_and_retrieval(self):
        # Benchmark means of the seeds differ by 1, 2, 3 (a failed split of seed 2 left out), so
        # t = 2√3 as in test_ranking.py. Of the first splits one of two is won, as seed 2's failed;
        # the means of the three seeds differ by 1, −1, 2. The 9 has no partner.
        bench = [[0, 2], [2, 2], [NAN, 3]]
        test = [[1, 1], [-4, 2], [NAN, 2]]
        zero = [[0, 0], [0, 0], [9, 0]]
        pair = compare(test, zero, 0.1, bench, zero, rng=rng())
        assert pair.benchmark.mean_difference == pytest.approx(2)
        assert pair.benchmark.t == pytest.approx(12**0.5)
        assert (pair.one_split.probability, pair.one_split.n_failed) == (0.5, 1)
        assert pair.all_splits.probability == pytest.approx(2 / 3)
        swapped = compare(zero, test, 0.1, zero, bench, rng=rng())
        assert swapped.benchmark.mean_difference == pytest.approx(-2)
        assert swapped.one_split == pair.one_split and swapped.all_splits == pair.all_splits

    def test_swapping(self):
        a, b = scores()
        pair = compare(a, b, 0.1, a, b, rng=rng(), n_resamples=100)
        swapped = compare(b, a, 0.1, b, a, rng=rng(), n_resamples=100)
        assert (swapped.mean_difference, swapped.low, swapped.high) == pytest.approx(
            (-pair.mean_difference, -pair.high, -pair.low))
        assert (swapped.p, swapped.splits_needed) == pytest.approx((pair.p, pair.splits_needed))
        assert (pair.n_splits, pair.n_failed) == (swapped.n_splits, swapped.n_failed) == (46, 2)

    def test_ranking_means_is_not_averaging_rankings(self):
        # As in arXiv 2606.12552, section 4, the second learner (there XLM-RoBERTa) wins three
        # splits of four by 0.02, and fails to learn on the fourth: it is behind by 0.30. On
        # average the first (BERT) leads by (0.30 − 3·0.02)/4 = 0.06.
        bert = np.full((5, 4), 0.60)
        xlm_roberta = np.where(np.arange(4) == 2, 0.30, 0.62) + np.zeros((5, 1))
        pair = compare(bert, xlm_roberta, 0.25, bert, xlm_roberta, rng=rng(), n_resamples=100)
        assert pair.mean_difference == pytest.approx(0.06)
        assert pair.outperforms.value == 0.25
        assert pair.opposed
        assert compare(xlm_roberta, bert, 0.25, rng=rng(), n_resamples=100).opposed
        # A single split misses the benchmark's order, the mean of four never does.
        assert (pair.one_split.probability, pair.all_splits.probability) == (0, 1)
        without_failure = compare(bert, xlm_roberta.clip(0.59), 0.25, rng=rng(), n_resamples=100)
        assert not without_failure.opposed and without_failure.mean_difference < 0

    @pytest.mark.parametrize("difference", [
        [0.1, 0.7, -0.8],                    # mean zero but for rounding, two of three won
        [0.3, -0.1], [0, 0], [NAN, NAN],     # half of them won, or none to win
    ])
    def test_not_opposed(self, difference):
        for sign in (1, -1):
            a = sign * np.array([difference])
            assert not compare(a, np.zeros_like(a), 0.1, rng=rng(), n_resamples=10).opposed

    @pytest.mark.parametrize("shape", [(1, 1), (1, 4), (4, 1), (3, 3)])
    def test_all_failed(self, shape):
        failed = np.full(shape, NAN)
        pair = compare(failed, np.ones(shape), 0.1, failed, np.ones(shape), rng=rng())
        assert (pair.n_splits, pair.n_failed) == (0, failed.size)
        values = [pair.mean_difference, pair.low, pair.high, pair.p, pair.splits_needed,
                  pair.outperforms.value, pair.benchmark.mean_difference, pair.benchmark.p,
                  pair.one_split.probability, pair.all_splits.probability]
        assert np.isnan(values).all()

    def test_one_split(self):
        pair = compare([[2.0]], [[1.0]], 0.1, [[2.0]], [[1.0]], rng=rng())
        assert (pair.mean_difference, pair.outperforms.value) == (1, 1)
        assert np.isnan([pair.p, pair.low, pair.splits_needed, pair.benchmark.p]).all()
        assert pair.one_split == pair.all_splits

    def test_identical_learners(self):
        same = np.ones((3, 4))
        pair = compare(same, same, 0.1, same, same, rng=rng())
        assert np.isnan([pair.p, pair.splits_needed, pair.low, pair.high]).all()
        assert pair.outperforms.value == 0.5
        assert pair.one_split.probability == pair.all_splits.probability == 0.5


def results_of(n_bench=1000, **learners):
    """Rows as Benchopt saves them; learners are name__rule = scores[seed][split], with the
    benchmark scores 0.1 below; None for a run that raised and has no rows."""
    return pd.DataFrame([
        {
            "dataset_name": "simulated", "objective_name": "Score trust", "idx_rep": seed,
            "p_obj_procedure": "mccv",
            "solver_name": f"{learner}[tuning={rule}]", "p_solver_tuning": rule,
            "p_solver_search": "random", "p_solver_n_configs": 2,
            "objective_split": k, "objective_budget": budget,
            "objective_score_test": score if budget == 2 else -99.0,
            "objective_score_bench": score - 0.1 if n_bench else NAN,
            "objective_n_train": 40, "objective_n_val": 10, "objective_n_test": 20,
            "objective_n_bench": n_bench,
        }
        for name, by_seed in learners.items() for learner, rule in [name.split("__")]
        for seed, splits in enumerate(by_seed) if splits is not None
        for budget in (1, 2) for k, score in [(-1, 99.0), *enumerate(splits)]
    ])


# Differences of ridge and svm: .1, .3 | −.1, .1. Of tree, one split failed and seed 1 raised.
RIDGE = [[0.7, 0.9], [0.5, 0.7]]
SVM = [[0.6, 0.6], [0.6, 0.6]]
TREE = [[0.5, NAN], None]


class TestTable:
    def test_a_row_per_pair(self):
        results = results_of(ridge__val=RIDGE, svm__val=SVM, tree__val=TREE)
        table = comparison_table(results, *AT)
        assert [*table["a"] + "/" + table["b"]] == ["ridge/svm", "ridge/tree", "svm/tree"]
        assert [*table["a − b"]] == pytest.approx([0.1, 0.2, 0.1])
        assert [*table["bench a − b"]] == pytest.approx([0.1, 0.2, 0.1])
        assert [*table["P(a wins)"]] == [0.75, 1, 1]
        assert [*table["paired splits"]] == ["4/4", "1/4", "1/4"]
        assert [*table["retrieved K=1"]] == [0.5, 1, 1]
        assert [*table["retrieved K=2"]] == [0.75, 1, 1]
        assert [*table["splits needed"]][1:] == ["", ""] and table["95 %"][1] == ""

    def test_splits_that_one_learner_did_not_make(self):
        # svm stopped after one split of seed 0: differences .1 | −.1, .1.
        table = comparison_table(results_of(ridge__val=RIDGE, svm__val=[[0.6], SVM[1]]), *AT)
        assert table["paired splits"][0] == "3/4"
        assert table["a − b"][0] == pytest.approx(0.05)

    def test_values_are_those_of_the_arrays(self):
        # Budgets below the full one and refits, with scores of ±99, play no part.
        results = results_of(ridge__val=RIDGE, svm__val=SVM)
        pair = comparisons(results, *AT)["ridge", "svm"]
        bench = np.array(RIDGE) - 0.1, np.array(SVM) - 0.1
        expected = compare(RIDGE, SVM, 20 / 40, *bench, rng=rng(), n_resamples=10_000)
        assert pair == expected
        assert comparison_table(results, *AT)["p"][0] == expected.p

    def test_pairs_are_of_one_rule(self):
        results = results_of(ridge__val=RIDGE, svm__val=SVM, ridge__test=RIDGE, svm__test=SVM)
        assert list(comparisons(results, *AT)) == [
            ("ridge (tuning=val)", "svm (tuning=val)"),
            ("ridge (tuning=test)", "svm (tuning=test)"),
        ]

    def test_without_benchmarking_set(self):
        table = comparison_table(results_of(0, ridge__val=RIDGE, svm__val=SVM), *AT)
        assert not [name for name in table.columns if name.startswith(("bench", "retrieved"))]
        assert table["a − b"][0] == pytest.approx(0.1)
        assert "never enough" == table["splits needed"][0]

    def test_half_a_split_is_rounded_up(self):
        # Means 1.25 and 1.2, s 0.5/√2 and 0.4/√2, n_test/n_train = 1/2. t(0.975; 2) = 4.303 with
        # √(1/3 + 1/2) is 3.93, t(0.975; 3) = 3.182 with √(1/4 + 1/2) is 2.76, and mean/s is 3.54
        # and 4.24: 4 and 3 splits, median 3½.
        table = comparison_table(
            results_of(ridge__val=[[1, 1.5], [1, 1.4]], svm__val=[[0, 0], [0, 0]]), *AT)
        assert [*table["splits needed"]] == ["4"]

    def test_opposed_pairs_are_noted(self):
        table = comparison_table(results_of(
            bert__default=[[0.6, 0.6, 0.6]], xlm__default=[[0.62, 0.62, 0.3]]), *AT)
        assert [*table["note"]] == ["mean and wins are opposed"]

    def test_order_of_rows_does_not_matter(self):
        results = results_of(ridge__val=RIDGE, svm__val=SVM, tree__val=TREE)
        shuffled = pd.concat(results[results["solver_name"] == name].sample(frac=1, random_state=0)
                             for name in results["solver_name"].unique())
        pd.testing.assert_frame_equal(
            comparison_table(shuffled, *AT), comparison_table(results, *AT))

    def test_notes(self):
        several = comparison_notes(results_of(ridge__val=RIDGE, svm__val=SVM), *AT)
        assert "median of 2 seeds" in several[0] and "retrieved" in several[-1]
        one = comparison_notes(results_of(0, ridge__val=RIDGE[:1], svm__val=SVM[:1]), *AT)
        assert "too narrow" in one[-1] and "median" not in one[0]
        split = comparison_notes(results_of(0, ridge__val=[[1.0]], svm__val=[[2.0]]), *AT)
        assert "needs two or more" in split[0]

    @pytest.mark.parametrize("results", [
        results_of(ridge__val=RIDGE), results_of(ridge__val=RIDGE, svm__test=SVM),
    ])
    def test_nothing_to_compare(self, results):
        assert comparison_table(results, *AT).empty
        assert comparison_notes(results, *AT) == ["Needs two learners under the same tuning rule"]

    def test_a_combination_that_was_not_run(self):
        results = results_of(ridge__val=RIDGE, svm__val=SVM)
        at = ("simulated", "n_splits=99")
        assert comparison_table(results, *at).empty
        assert comparison_notes(results, *at) == []     # the title says why


@pytest.mark.slow
def test_false_positives():
    """Two learners of the same expected score on study sets of 100: of least squares on one of
    two features alike. The plain paired t-test over 20 splits calls four in ten different."""
    draw, n_sets, K = rng(), 600, 20
    significant = np.zeros(2)
    for _ in range(n_sets):
        X = draw.normal(size=(100, 2))
        y = X.sum(axis=1) + draw.normal(size=100)
        score = np.empty((2, K))
        for k in range(K):
            order = draw.permutation(100)
            train, test = order[:80], order[80:]
            slope = (X[train] * y[train, None]).sum(axis=0) / (X[train] ** 2).sum(axis=0)
            score[:, k] = -((y[test, None] - slope * X[test]) ** 2).mean(axis=0)
        for i, ratio in enumerate((0, 20 / 80)):
            significant[i] += corrected_resampled_ttest(*score, ratio).p < 0.05
    plain, corrected = significant / n_sets
    # Three binomial standard errors above 5 %; below is on the safe side.
    assert corrected < 0.05 + 3 * (0.05 * 0.95 / n_sets) ** 0.5
    assert plain > 0.3
