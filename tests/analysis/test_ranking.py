from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmark_utils.analysis.bootstrap import percentile_interval, resample_counts
from benchmark_utils.analysis.ranking import (
    paired_comparison,
    rank_correlations,
    ranking,
    retrieval_probability,
)

PAIRS = pd.read_csv(Path(__file__).with_name("mnist1d_pairs.csv"))


def rng(seed=0):
    return np.random.default_rng(seed)


def study(n_algorithms=5, n_runs=30):
    """Scores whose algorithms overlap, with gaps that vary from run to run."""
    draw = rng(1)
    val_tuned = (np.arange(n_algorithms)[:, None] / 2 % 1.5
                 + draw.normal(size=(n_algorithms, n_runs)))
    return val_tuned, val_tuned + draw.exponential(size=val_tuned.shape)


def test_published_mnist1d():
    # arXiv 2610.05902, E.1: rho 1.000 [0.929, 1.000], tau 1.000 [0.857, 1.000], same ranking.
    val_tuned, test_tuned = (
        PAIRS.pivot(index="architecture", columns="run", values=rule).to_numpy()
        for rule in ("val_tuned", "test_tuned"))
    result = ranking(val_tuned, test_tuned, rng=rng())
    np.testing.assert_array_equal(result.rank_val_tuned, result.rank_test_tuned)
    np.testing.assert_allclose(
        [result.spearman.value, result.spearman.low, result.spearman.high,
         result.kendall.value, result.kendall.low, result.kendall.high],
        [1, 0.929, 1, 1, 0.857, 1], rtol=0, atol=5e-4)


def test_hand_computed():
    # algorithm   val-tuned     mean  sd   rank    test-tuned    mean  sd   rank
    # a           1, 3          2     √2   3       5, 7          6     √2   2
    # b           4, 4          4     0    1       7, 9          8     √2   1
    # c           2, 4, (9)     3     √2   2       4, 4, –       4     0    3
    # d           –, –                             1, –
    # Differences of ranks 1, 0, −1: rho = 1 − 6·2 / (3·8) = ½; of the pairs ab, bc agree and ac
    # doesn't: tau = ⅓. Line through (2, 6), (3, 4), (4, 8): with dx = −1, 0, 1 and dy = 0, −2, 2
    # slope 2/2 = 1, through the means (3, 6).
    nan = np.nan
    result = ranking([[1, 3, nan], [4, 4, nan], [2, 4, 9], [nan, nan, nan]],
                     [[5, 7, 8], [7, 9, nan], [4, 4, nan], [1, nan, nan]], rng=rng())
    np.testing.assert_array_equal(result.n_runs, [2, 2, 2, 0])
    np.testing.assert_array_equal(result.n_failed, [1, 1, 1, 3])
    root = 2**0.5
    np.testing.assert_allclose(result.mean_val_tuned, [2, 4, 3, nan])
    np.testing.assert_allclose(result.sd_val_tuned, [root, 0, root, nan])
    np.testing.assert_array_equal(result.rank_val_tuned, [3, 1, 2, nan])
    np.testing.assert_allclose(result.mean_test_tuned, [6, 8, 4, nan])
    np.testing.assert_allclose(result.sd_test_tuned, [root, root, 0, nan])
    np.testing.assert_array_equal(result.rank_test_tuned, [2, 1, 3, nan])
    assert result.spearman.value == pytest.approx(0.5)
    assert result.kendall.value == pytest.approx(1 / 3)
    assert (result.slope.value, result.intercept.value) == pytest.approx((1, 3))
    # All three draws alike, no line: 3 of 27 resamples. Otherwise ac gives slope −2 and bc 4,
    # 6 of 27 each; ab and abc give 1.
    assert result.slope.n_undefined == result.intercept.n_undefined
    assert result.slope.n_undefined / 100_000 == pytest.approx(3 / 27, abs=0.005)
    assert (result.slope.low, result.slope.high) == pytest.approx((-2, 4))


def test_a_line_through_two_points_has_no_interval():
    result = ranking([[1, 2], [3, 5]], [[2, 2], [6, 7]], rng=rng(), n_resamples=100)
    for estimate, exact in ((result.slope, 1.8), (result.intercept, -0.7)):
        assert estimate.value == pytest.approx(exact)
        assert np.isnan([estimate.low, estimate.high]).all()


def test_paired_resamples():
    # Resampling the same runs for both rules keeps a constant gap constant, so the two orders
    # agree in every resample, however much the scores vary.
    score = rng().normal(size=(6, 10))
    result = ranking(score, score + 1, rng=rng())
    for estimate in (result.spearman, result.kendall):
        assert (estimate.value, estimate.low, estimate.high) == (1, 1, 1)
    for estimate, exact in ((result.slope, 1), (result.intercept, 1)):
        assert (estimate.value, estimate.low, estimate.high) == pytest.approx((exact,) * 3)


def test_intervals_match_a_plain_loop_over_the_same_resamples():
    val_tuned, test_tuned = study()
    result = ranking(val_tuned, test_tuned, rng=rng(), n_resamples=300)
    draw, loop = rng(), []
    runs = np.stack([resample_counts(draw, 30, 300) for _ in range(5)], axis=1)
    algorithms = resample_counts(draw, 5, 300)
    for counts, drawn in zip(runs, algorithms, strict=True):
        x, y = ([np.repeat(row, n).mean() for row, n in zip(rule, counts, strict=True)]
                for rule in (val_tuned, test_tuned))
        line = stats.linregress(np.repeat(result.mean_val_tuned, drawn),
                                np.repeat(result.mean_test_tuned, drawn))
        loop.append([stats.spearmanr(x, y).statistic, stats.kendalltau(x, y).statistic, *line[:2]])
    low, high = percentile_interval(loop)
    estimates = (result.spearman, result.kendall, result.slope, result.intercept)
    np.testing.assert_allclose([e.low for e in estimates], low)
    np.testing.assert_allclose([e.high for e in estimates], high)


@pytest.mark.parametrize("n_values", [2, 3, 1000])
@pytest.mark.parametrize("n_algorithms", [2, 3, 8])
def test_rank_correlations_equal_scipy(n_algorithms, n_values):
    x, y = rng().integers(0, n_values, size=(2, 60, n_algorithms)) / 7
    spearman, kendall = rank_correlations(x, y)
    defined = (np.ptp(x, axis=1) > 0) & (np.ptp(y, axis=1) > 0)
    assert defined.any()
    np.testing.assert_array_equal(np.isnan(spearman), ~defined)
    np.testing.assert_array_equal(np.isnan(kendall), ~defined)
    for i in np.flatnonzero(defined):
        assert spearman[i] == pytest.approx(stats.spearmanr(x[i], y[i]).statistic, abs=1e-14)
        assert kendall[i] == pytest.approx(stats.kendalltau(x[i], y[i]).statistic, abs=1e-14)


def test_rank_correlations_of_monotone_vectors_are_exact():
    x = rng().normal(size=(40, 11))
    for y, expected in ((np.exp(x), 1), (-x, -1)):
        np.testing.assert_array_equal(rank_correlations(x, y), np.full((2, 40), expected))


def test_line_equals_linregress():
    result = ranking(*study(), rng=rng(), n_resamples=10)
    line = stats.linregress(result.mean_val_tuned, result.mean_test_tuned)
    assert (result.slope.value, result.intercept.value) == pytest.approx(
        (line.slope, line.intercept))


def test_sums_in_another_order_tie():
    # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 differ in floating point. What really differs doesn't
    # tie, even beside an algorithm whose squared error exploded.
    result = ranking([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1], [0.1, 0.2, 0.3001], [-1e20, 0, 0]],
                     np.ones((4, 3)), rng=rng(), n_resamples=10)
    np.testing.assert_array_equal(result.rank_val_tuned, [2.5, 2.5, 1, 4])


def test_order_of_algorithms_and_runs_does_not_matter():
    scores = np.array(study())
    result = ranking(*scores, rng=rng())
    order = np.array([3, 1, 4, 0, 2])
    for other, algorithms in (
            (ranking(*scores[:, order], rng=rng(1)), order),
            (ranking(*scores[:, :, rng().permutation(30)], rng=rng(1)), slice(None))):
        for name, values in asdict(result).items():
            if name in ("spearman", "kendall", "slope", "intercept"):
                a, b = getattr(result, name), getattr(other, name)
                assert b.value == pytest.approx(a.value)
                assert (b.low, b.high) == pytest.approx((a.low, a.high), rel=0.02, abs=0.02)
            else:
                np.testing.assert_allclose(getattr(other, name), values[algorithms], rtol=1e-12)


def test_subset_of_algorithms():
    scores = np.array(study())
    whole, part = (ranking(x, y, rng=rng(), n_resamples=10) for x, y in (scores, scores[:, 1:4]))
    for name in ("n_runs", "mean_val_tuned", "sd_val_tuned", "mean_test_tuned", "sd_test_tuned"):
        np.testing.assert_array_equal(getattr(part, name), getattr(whole, name)[1:4])
    for name in ("rank_val_tuned", "rank_test_tuned"):
        np.testing.assert_array_equal(np.argsort(getattr(part, name)),
                                      np.argsort(getattr(whole, name)[1:4]))


def test_same_seed_same_interval():
    first, second = (ranking(*study(), rng=rng(3), n_resamples=1000) for _ in range(2))
    for name in ("spearman", "kendall", "slope", "intercept"):
        assert getattr(first, name) == getattr(second, name)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("score", [[[0.5, 0.6]], [[np.nan, np.nan]], [[1, 1], [1, 1]]])
def test_nothing_to_rank(score):
    # One algorithm, none that ran, or two that never differ: no order and no line, no warning.
    result = ranking(score, score, rng=rng(), n_resamples=50)
    for name in ("spearman", "kendall", "slope", "intercept"):
        estimate = getattr(result, name)
        assert np.isnan([estimate.value, estimate.low, estimate.high]).all()
        assert estimate.n_undefined == 50


@pytest.mark.filterwarnings("error")
def test_one_run():
    result = ranking([[1], [2], [3]], [[4], [6], [5]], rng=rng())
    assert np.isnan(result.sd_val_tuned).all()
    assert result.spearman.value == 0.5
    for estimate in (result.spearman, result.kendall):
        assert np.isnan([estimate.low, estimate.high]).all()


def test_shapes():
    with pytest.raises(ValueError, match="one shape"):
        ranking(np.ones((2, 3)), np.ones((2, 4)), rng=rng())
    with pytest.raises(ValueError, match="one shape"):
        paired_comparison(np.ones((2, 3)), np.ones((2, 3)))


def test_paired_comparison():
    # Differences 1, 2, 3 (seed 3 failed): mean 2, sd 1, t = 2√3 with 2 degrees of freedom, for
    # which P(|T| > t) = 1 − t / √(2 + t²).
    result = paired_comparison([5, 5, 5, 5], [4, 3, 2, np.nan])
    assert (result.n_seeds, result.n_failed) == (3, 1)
    assert (result.mean_difference, result.sd_difference) == pytest.approx((2, 1))
    assert result.t == pytest.approx(12**0.5)
    assert result.p == pytest.approx(1 - (12 / 14) ** 0.5)
    swapped = paired_comparison([4, 3, 2, np.nan], [5, 5, 5, 5])
    assert (swapped.mean_difference, swapped.p) == pytest.approx((-2, result.p))


@pytest.mark.filterwarnings("error")
def test_paired_comparison_without_variation():
    for a, b in (([1], [2]), ([1, 2, 3], [1, 2, 3]), ([np.nan], [1])):
        assert np.isnan(paired_comparison(a, b).p)


def test_retrieval_hand_computed():
    # Signs of a − b over 5 seeds: +, +, 0, −, failed. The benchmark says +: 1, 1, ½, 0.
    a, b = [3, 3, 2, 1, 9], [1, 2, 2, 2, np.nan]
    result = retrieval_probability(a, b, 0.1, rng=rng())
    assert (result.n_seeds, result.n_failed, result.probability) == (4, 1, 2.5 / 4)
    # The sum of 4 draws from {0, ½, 1, 1} is at most ½ in 1 + 4 of 256 resamples, below 2.5 %,
    # and at most 1 in 5 + 6 + 8 of them, above; it is 4 in 16.
    assert (result.low, result.high) == (0.25, 1)
    opposite = retrieval_probability(a, b, -0.1, rng=rng())
    assert opposite.probability == 1 - result.probability
    assert retrieval_probability(a, b, 0, rng=rng()).probability == 0.5


def test_retrieval_takes_the_mean_of_splits():
    # Seed 0: means 2 and 1; seed 1: 0.2 and 0.2 but for rounding; seed 2: a split failed.
    a = [[0, 4, 2], [0.1, 0.2, 0.3], [1, 1, np.nan]]
    b = [[1, 1, 1], [0.3, 0.2, 0.1], [0, 0, 0]]
    result = retrieval_probability(a, b, 1.0, rng=rng())
    assert (result.n_seeds, result.n_failed, result.probability) == (2, 1, 0.75)


def test_retrieval_improves_with_splits():
    # Differences 1 + noise of sd 2 per split: P(right) = Φ(½) for one split, Φ(√20/2) for 20.
    a = rng().normal(1, 2, size=(4000, 20))
    one, all_of_them = (retrieval_probability(x, np.zeros_like(x), 1.0, rng=rng(), n_resamples=500)
                        for x in (a[:, 0], a))
    for result, z in ((one, 0.5), (all_of_them, 20**0.5 / 2)):
        assert result.probability == pytest.approx(stats.norm.cdf(z), abs=0.02)
        assert result.low <= result.probability <= result.high


@pytest.mark.filterwarnings("error")
def test_retrieval_without_seeds():
    result = retrieval_probability([np.nan], [1], 1.0, rng=rng())
    assert (result.n_seeds, result.n_failed) == (0, 1)
    assert np.isnan([result.probability, result.low, result.high]).all()
