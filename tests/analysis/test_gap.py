from dataclasses import asdict
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from benchmark_utils.analysis.bootstrap import percentile_interval, resample_counts
from benchmark_utils.analysis.gap import gap_by_budget, gap_statistics, mean_sd

PAIRS = pd.read_csv(Path(__file__).with_name("mnist1d_pairs.csv"))
# Published with arXiv 2610.05902 for these pairs: mean and sd (ddof 1) of the val-tuned and the
# test-tuned accuracy and of the gap, zero gaps, win probability with its 95 % interval.
PUBLISHED = {
    "MLP-Tiny": (53.993957, 1.920648, 55.276123, 1.264656, 1.282165, 1.474614,
                 10, 0.833333, 0.75, 0.916667),
    "MLP-Mini": (55.145224, 2.536497, 56.332015, 1.784479, 1.186792, 1.494451,
                 14, 0.766667, 0.683333, 0.85),
    "MLP-Small": (58.186811, 2.406958, 59.743908, 1.794665, 1.557097, 1.495140,
                  9, 0.85, 0.766667, 0.933333),
    "MLP-Base": (60.076687, 2.439126, 61.333403, 2.072901, 1.256716, 1.173478,
                 8, 0.866667, 0.783333, 0.933333),
    "MLP-Large": (61.742913, 1.955052, 62.648509, 1.882572, 0.905595, 1.108084,
                  10, 0.833333, 0.75, 0.916667),
    "MLP-Larger": (63.581686, 1.970965, 64.750553, 1.503344, 1.168867, 1.689406,
                   13, 0.783333, 0.7, 0.866667),
    "MLP-Giant": (64.588889, 1.760188, 65.560847, 1.547546, 0.971958, 1.565284,
                  17, 0.716667, 0.633333, 0.8),
    "MLP-Huge": (64.246647, 2.455527, 64.961684, 2.003304, 0.715037, 1.041412,
                 18, 0.7, 0.616667, 0.783333),
}


def rng(seed=0):
    return np.random.default_rng(seed)


def study(seed=0, shape=(30,)):
    """Scores with gaps, about four in ten of them zero."""
    draw = rng(seed)
    val_tuned = draw.normal(0.6, 0.02, shape)
    return val_tuned, val_tuned + draw.exponential(0.01, shape) * (draw.random(shape) < 0.6)


@pytest.mark.parametrize("architecture", PUBLISHED)
def test_published_mnist1d(architecture):
    pairs = PAIRS[PAIRS.architecture == architecture]
    gap = gap_statistics(pairs.val_tuned, pairs.test_tuned, rng=rng())
    *expected, low, high = PUBLISHED[architecture]
    assert (gap.n_runs, gap.n_failed) == (30, 0)
    reached = (gap.mean_val_tuned, gap.sd_val_tuned, gap.mean_test_tuned, gap.sd_test_tuned,
               gap.mean_gap, gap.sd_gap, gap.n_zero, gap.p_win)
    np.testing.assert_allclose(reached, expected, rtol=0, atol=1e-3)
    # A resampled win probability of 30 runs is a multiple of 1/60.
    np.testing.assert_allclose((gap.p_win_low, gap.p_win_high), (low, high), rtol=0,
                               atol=1 / 60 + 1e-6)
    assert gap.significant
    assert gap.mean_gap < gap.sd_val_tuned


def test_published_share_of_zero_gaps():
    gaps = [gap_statistics(pairs.val_tuned, pairs.test_tuned, rng=rng(), n_resamples=10)
            for _, pairs in PAIRS.groupby("architecture")]
    assert sum(g.n_zero for g in gaps) / sum(g.n_runs for g in gaps) == 99 / 240  # "41.2 %"


def test_hand_computed():
    # run         0   1   2   3   4
    # val-tuned   1   2   3   4   –
    # test-tuned  1   5   3   8   9
    # gap         0   3   0   4
    # mean 2.5, squared deviations 2.25, .25, .25, 2.25: sd² = 5/3
    # mean 4.25, squared deviations 10.5625, .5625, 1.5625, 14.0625: sd² = 26.75/3
    # mean 1.75, squared deviations 3.0625, 1.5625, 3.0625, 5.0625: sd² = 12.75/3 = 4.25
    # wins ½, 1, ½, 1; runs 0 and 2 tie, of which run 2 with different configurations
    gap = gap_statistics([1, 2, 3, 4, np.nan], [1, 5, 3, 8, 9], [7, 7, 7, 7, 7], [7, 3, 2, 1, 7],
                         rng=rng())
    expected = {
        "n_runs": 4, "n_failed": 1, "mean_val_tuned": 2.5, "sd_val_tuned": (5 / 3) ** 0.5,
        "mean_test_tuned": 4.25, "sd_test_tuned": (26.75 / 3) ** 0.5,
        "mean_gap": 1.75, "sd_gap": 4.25**0.5, "gap_to_sd": 1.75 / (5 / 3) ** 0.5,
        "n_zero": 2, "zero_share": 0.5, "n_identical": 1, "p_win": 0.75,
        # Wins among 4 runs, each won with probability ½: none in 1/16 > 2.5 % of resamples.
        "p_win_low": 0.5, "p_win_high": 1.0, "significant": False,
    }
    assert asdict(gap) == pytest.approx(expected)


@pytest.mark.parametrize(("n", "n_wins", "level"), [(30, 18, 0.95), (30, 20, 0.9), (7, 6, 0.8)])
def test_interval_matches_the_binomial_quantiles(n, n_wins, level):
    # Of n runs drawn with replacement, the number of wins is Binomial(n, n_wins / n). The levels
    # keep clear of its steps, so the quantiles of enough resamples are the exact ones.
    gap = gap_statistics(np.zeros(n), np.arange(n) < n_wins, rng=rng(), level=level)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    exact = (1 + stats.binom.ppf(tails, n, n_wins / n) / n) / 2
    np.testing.assert_allclose((gap.p_win_low, gap.p_win_high), exact)


def test_interval_matches_resampling_the_runs():
    val_tuned, test_tuned = study()
    gap = gap_statistics(val_tuned, test_tuned, rng=rng())
    wins = np.where(test_tuned > val_tuned, 1, 0.5)
    resampled = resample_counts(rng(1), 30, 100_000) @ wins / 30
    assert gap.p_win == pytest.approx(wins.mean())
    assert (gap.p_win_low, gap.p_win_high) == pytest.approx(percentile_interval(resampled))


def test_one_configuration_has_no_gap():
    score = study()[0]
    gap = gap_statistics(score, score, np.zeros(30), np.zeros(30), rng=rng())
    assert (gap.mean_gap, gap.sd_gap, gap.n_zero, gap.n_identical) == (0, 0, 30, 30)
    assert (gap.p_win, gap.p_win_low, gap.p_win_high, gap.significant) == (0.5, 0.5, 0.5, False)


def test_order_of_runs_does_not_matter():
    val_tuned, test_tuned = study()
    order = rng(5).permutation(30)
    assert asdict(gap_statistics(val_tuned[order], test_tuned[order], rng=rng())) == pytest.approx(
        asdict(gap_statistics(val_tuned, test_tuned, rng=rng())))


def test_failed_runs_count_as_absent():
    val_tuned, test_tuned = study()
    without = asdict(gap_statistics(val_tuned[2:], test_tuned[2:], rng=rng()))
    val_tuned[0], test_tuned[1] = np.nan, np.nan
    assert asdict(gap_statistics(val_tuned, test_tuned, rng=rng())) == without | {"n_failed": 2}


def test_same_seed_same_interval():
    assert gap_statistics(*study(), rng=rng(3)) == gap_statistics(*study(), rng=rng(3))


def test_means_that_are_equal_but_for_rounding_tie():
    # Five splits each; both searches go their own way.
    splits = np.array([.55, .65, .7, .6, .75])
    val_tuned = np.array([splits.mean(), 0.5, 0.6])
    test_tuned = np.array([splits[[0, 1, 2, 4, 3]].sum() / 5, 0.5, 0.6])
    assert val_tuned[0] != test_tuned[0]
    for pair in ((val_tuned, test_tuned), (test_tuned, val_tuned)):
        gap = gap_statistics(*pair, rng=rng(), same_configurations=False)
        assert (gap.n_zero, gap.mean_gap, gap.p_win) == (3, 0, 0.5)


@pytest.mark.filterwarnings("error")
def test_val_tuned_scores_that_do_not_vary():
    gap = gap_statistics([0.5] * 6, [0.6] * 6, rng=rng())
    assert gap.significant and gap.sd_val_tuned == 0 and np.isnan(gap.gap_to_sd)


@pytest.mark.parametrize("n_runs", [2, 5, 6])
def test_few_runs_are_not_significant(n_runs):
    # All have a gap, so that the bootstrap's interval is a point.
    gap = gap_statistics(np.zeros(n_runs), np.ones(n_runs), rng=rng())
    assert (gap.p_win_low, gap.p_win_high) == (1, 1)
    assert gap.significant == (stats.binomtest(n_runs, n_runs).pvalue < 0.05)
    # At the first budget, one run more failed.
    first = np.where(np.arange(n_runs), 1, np.nan)
    curve = gap_by_budget(np.zeros((n_runs, 2)), np.stack([first, np.ones(n_runs)], axis=1),
                          rng=rng())
    assert curve.significant.tolist() == [False, n_runs == 6]


@pytest.mark.filterwarnings("error")
def test_one_run():
    gap = gap_statistics([0.5], [0.7], rng=rng())
    assert gap.mean_gap == pytest.approx(0.2)
    assert np.isnan([gap.sd_val_tuned, gap.sd_test_tuned, gap.sd_gap, gap.gap_to_sd]).all()
    assert gap.p_win == 1 and np.isnan([gap.p_win_low, gap.p_win_high]).all()
    assert not gap.significant


@pytest.mark.filterwarnings("error")
def test_no_run_left():
    gap = gap_statistics([np.nan, 1], [1, np.nan], [0, 0], [0, 0], rng=rng())
    assert (gap.n_runs, gap.n_failed, gap.n_zero, gap.n_identical) == (0, 2, 0, 0)
    assert np.isnan([gap.mean_gap, gap.zero_share, gap.p_win, gap.p_win_low]).all()
    assert not gap.significant


def test_impossible_input():
    with pytest.raises(ValueError, match="^run 1: .* 0.5 exceeds .* 0.4"):
        gap_statistics([0.1, 0.5], [0.2, 0.4], rng=rng())
    with pytest.raises(ValueError, match="^run 0, budget column 1: "):
        gap_by_budget([[0.1, 0.5]], [[0.2, 0.4]], rng=rng())
    with pytest.raises(ValueError, match="one shape"):
        gap_statistics([1, 2], [1], rng=rng())
    with pytest.raises(ValueError, match="one shape"):
        gap_by_budget([1, 2], [1, 2], rng=rng())
    with pytest.raises(ValueError, match="both or neither"):
        gap_statistics([1], [1], val_config=[0], rng=rng())
    with pytest.raises(ValueError, match="2 columns"):
        gap_by_budget([[1, 2]], [[1, 2]], budgets=[1], rng=rng())


def test_budgets_hand_computed():
    # Gaps of 8 runs at budgets 1, 3, 10 and 30:
    #   budget 1: none                        p = ½
    #   budget 3: 1 in every run              p = 1, significant
    #   budget 10: 4 in one run               p = (7·½ + 1)/8, no win in (7/8)^8 = 34 % of resamples
    #   budget 30: 2 in every run, two failed p = 1, significant
    gap = np.zeros((8, 4))
    gap[:, 1], gap[5, 2], gap[:, 3] = 1, 4, 2
    val_tuned = np.tile(np.arange(8.0)[:, None], 4)
    val_tuned[:2, 3] = np.nan
    curve = gap_by_budget(val_tuned, val_tuned + gap, budgets=[1, 3, 10, 30], rng=rng())
    np.testing.assert_array_equal(curve.budgets, [1, 3, 10, 30])
    np.testing.assert_array_equal(curve.n_runs, [8, 8, 8, 6])
    np.testing.assert_array_equal(curve.n_failed, [0, 0, 0, 2])
    np.testing.assert_allclose(curve.mean_gap, [0, 1, 0.5, 2])
    np.testing.assert_allclose(curve.p_win, [0.5, 1, 4.5 / 8, 1])
    np.testing.assert_allclose(curve.p_win_low, [0.5, 1, 0.5, 1])
    np.testing.assert_array_equal(curve.significant, [False, True, False, True])
    assert curve.first_significant == 3


@pytest.mark.filterwarnings("error")
def test_budgets_never_significant():
    curve = gap_by_budget([[np.nan, 1.0]], [[np.nan, 1.0]], rng=rng())
    np.testing.assert_array_equal(curve.budgets, [1, 2])
    np.testing.assert_array_equal(curve.p_win, [np.nan, 0.5])
    np.testing.assert_array_equal(curve.mean_gap, [np.nan, 0])
    assert curve.first_significant is None


def test_budgets_agree_with_single_statistics():
    val_tuned, test_tuned = study(shape=(30, 4))
    curve = gap_by_budget(val_tuned, test_tuned, rng=rng())
    for t in range(4):
        gap = gap_statistics(val_tuned[:, t], test_tuned[:, t], rng=rng(t))
        assert (curve.mean_gap[t], curve.p_win[t]) == pytest.approx((gap.mean_gap, gap.p_win))
        assert curve.p_win_low[t] == pytest.approx(gap.p_win_low, abs=1 / 60 + 1e-9)
        assert curve.p_win_high[t] == pytest.approx(gap.p_win_high, abs=1 / 60 + 1e-9)


def test_mean_sd():
    assert mean_sd(np.array([1.0, 3.0])) == pytest.approx((2, 2**0.5))
    assert mean_sd(np.array([1.0])) == pytest.approx((1, np.nan), nan_ok=True)
    assert mean_sd(np.array([])) == pytest.approx((np.nan, np.nan), nan_ok=True)


@pytest.mark.slow
@pytest.mark.parametrize(("n_runs", "share"), [(30, 0.3), (30, 0.52), (30, 0.588), (30, 0.75),
                                               (100, 0.87)])
def test_coverage_of_the_win_probabilitys_interval(n_runs, share):
    """Runs of which that share has a gap, as in the published studies (0.52 to 0.87)."""
    rng, n_studies, truth = np.random.default_rng(0), 1000, (1 + share) / 2
    covered = 0
    for _ in range(n_studies):
        gap = np.where(rng.random(n_runs) < share, rng.exponential(size=n_runs), 0)
        made = gap_statistics(np.zeros(n_runs), gap, rng=rng, n_resamples=2000)
        covered += made.p_win_low - 1e-9 <= truth <= made.p_win_high + 1e-9
    print(f"\ncoverage of {n_runs} runs, {share} with a gap: {covered / n_studies:.3f}")
    assert 0.90 <= covered / n_studies <= 0.99
