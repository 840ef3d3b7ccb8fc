"""Rankings of algorithms: do two tuning rules give the same one, and do a few splits retrieve it?

Definitions: Fregonara, Viering, van Gemert, arXiv 2610.05902, appendix E (rankings under two
rules); Eve, Varoquaux, Moreau, arXiv 2606.12552, appendix G (paired t-tests and retrieval).
"""
import warnings
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchmark_utils.analysis.bootstrap import percentile_interval, resample_counts
from benchmark_utils.analysis.gap import drop_rounding_error, mean_sd


@dataclass(frozen=True)
class Estimate:
    """A statistic with its percentile bootstrap interval, NaN where there is nothing to resample.

    Resamples in which the statistic is undefined are left out of the interval and counted.
    """

    value: float
    low: float
    high: float
    n_undefined: int


@dataclass(frozen=True)
class Ranking:
    """Arrays have shape (A,), one entry per algorithm, NaN where it has no paired run."""

    n_runs: np.ndarray           # paired runs used
    n_failed: np.ndarray         # runs left out, as a score is missing under one of the rules
    mean_val_tuned: np.ndarray
    sd_val_tuned: np.ndarray     # ddof 1, NaN with one run
    rank_val_tuned: np.ndarray   # 1 = best, ties averaged
    mean_test_tuned: np.ndarray
    sd_test_tuned: np.ndarray
    rank_test_tuned: np.ndarray
    spearman: Estimate
    kendall: Estimate            # tau-b
    slope: Estimate              # mean_test_tuned ≈ intercept + slope · mean_val_tuned
    intercept: Estimate


@dataclass(frozen=True)
class PairedComparison:
    """Paired t-test over seeds of a − b, in the unit of the scores."""

    n_seeds: int
    n_failed: int
    mean_difference: float
    sd_difference: float         # ddof 1, NaN with one seed
    t: float
    p: float                     # two-sided; NaN with one seed or with all differences zero


@dataclass(frozen=True)
class Retrieval:
    """How often test scores order two algorithms as the benchmark does, with its interval."""

    n_seeds: int
    n_failed: int
    probability: float
    low: float
    high: float


def ranking(val_tuned, test_tuned, *, rng, n_resamples=100_000, level=0.95):
    """Compare the ranking of algorithms by mean score under two tuning rules.

    Intervals of the rank correlations come from a cluster bootstrap: the paired runs of each
    algorithm are resampled on their own, the same resample for both rules; one run each gives none.
    Those of the line come from a pairs bootstrap that resamples algorithms. In it, resamples whose
    algorithms all share one val-tuned mean define no line. The line through two algorithms has no
    interval, as every resample that defines one gives the same.

    Parameters
    ----------
    val_tuned, test_tuned : arrays of shape (A, R)
        Test scores, higher is better, of A algorithms in R runs; NaN where a run failed.
        Only runs with both scores are used. An algorithm without any takes no part.
    rng : numpy.random.Generator
    n_resamples : int
    level : float
        Coverage of the intervals.

    Returns
    -------
    Ranking

    Raises
    ------
    ValueError
        If shapes differ.
    """
    scores = _stack(val_tuned, test_tuned, ndim=2)           # (2, A, R)
    ok = ~np.isnan(scores).any(axis=0)
    n_runs = ok.sum(axis=1)
    ranked = n_runs > 0
    mean, sd = np.array([[mean_sd(runs[used]) for runs, used in zip(rule, ok, strict=True)]
                         for rule in scores]).transpose(2, 0, 1)
    rank = stats.rankdata(-drop_rounding_error(mean), axis=1, nan_policy="omit")

    resampled = np.empty((2, ranked.sum(), n_resamples))
    for i, a in enumerate(np.flatnonzero(ranked)):
        counts = resample_counts(rng, n_runs[a], n_resamples)
        for rule in range(2):
            resampled[rule, i] = counts @ scores[rule, a, ok[a]] / n_runs[a]
    if not (n_runs > 1).any():
        resampled[:] = np.nan
    spearman, kendall = (
        _estimate(value, values, level) for value, values in zip(
            rank_correlations(*drop_rounding_error(mean[:, ranked])),
            rank_correlations(*drop_rounding_error(resampled).swapaxes(1, 2)), strict=True))

    slope, intercept = (
        _estimate(value, values, level) for value, values in zip(
            *_line_resampled(*mean[:, ranked], rng, n_resamples), strict=True))
    return Ranking(
        n_runs=n_runs, n_failed=ok.shape[1] - n_runs,
        mean_val_tuned=mean[0], sd_val_tuned=sd[0], rank_val_tuned=rank[0],
        mean_test_tuned=mean[1], sd_test_tuned=sd[1], rank_test_tuned=rank[1],
        spearman=spearman, kendall=kendall, slope=slope, intercept=intercept,
    )


def rank_correlations(x, y):
    """Spearman's rho and Kendall's tau-b of many pairs of short vectors at once.

    Equal to `scipy.stats.spearmanr` and `kendalltau`, ties included. Both follow from the signs of
    all pairwise differences: twice a centred rank is the sum of an element's signs.

    Parameters
    ----------
    x, y : arrays of shape (..., A)

    Returns
    -------
    spearman, kendall : arrays of shape (...), NaN where x or y is constant or has a NaN
    """
    x, y = (np.moveaxis(np.asarray(v, float), -1, 0) for v in (x, y))
    rank_x, rank_y = np.zeros(x.shape), np.zeros(y.shape)
    agree, untied_x, untied_y = np.zeros((3, *x.shape[1:]))
    for i in range(len(x) - 1):
        sign_x, sign_y = np.sign(x[i] - x[i + 1:]), np.sign(y[i] - y[i + 1:])
        for rank, sign in ((rank_x, sign_x), (rank_y, sign_y)):
            rank[i] += sign.sum(axis=0)
            rank[i + 1:] -= sign
        agree += (sign_x * sign_y).sum(axis=0)
        untied_x += np.abs(sign_x).sum(axis=0)
        untied_y += np.abs(sign_y).sum(axis=0)
    with np.errstate(invalid="ignore"):
        spearman = ((rank_x * rank_y).sum(axis=0)
                    / np.sqrt((rank_x**2).sum(axis=0) * (rank_y**2).sum(axis=0)))
        kendall = agree / np.sqrt(untied_x * untied_y)
    return spearman, kendall


def paired_comparison(a, b):
    """Paired t-test over seeds (`scipy.stats.ttest_rel`) of two algorithms' scores.

    Parameters
    ----------
    a, b : arrays of shape (S,)
        Score of each algorithm on each seed, NaN where it failed; the seed is then left out.

    Returns
    -------
    PairedComparison

    Raises
    ------
    ValueError
        If shapes differ.
    """
    scores = _stack(a, b, ndim=1)
    used = scores[:, ~np.isnan(scores).any(axis=0)]
    n = used.shape[1]
    mean, sd = mean_sd(used[0] - used[1])
    with warnings.catch_warnings():      # too few or all-equal differences: nan or inf says it
        warnings.simplefilter("ignore", RuntimeWarning)
        test = stats.ttest_rel(*used)
    return PairedComparison(
        n_seeds=n, n_failed=scores.shape[1] - n, mean_difference=mean, sd_difference=sd,
        t=test.statistic, p=test.pvalue,
    )


def retrieval_probability(test_a, test_b, benchmark_difference, *, rng, n_resamples=100_000,
                          level=0.95):
    """Share of seeds whose test scores order two algorithms as the benchmark does.

    Parameters
    ----------
    test_a, test_b : arrays of shape (S,) or (S, K)
        Test scores of one split, or of K splits, of which the mean is taken. A seed with a
        NaN among its scores is left out.
    benchmark_difference : float
        Mean benchmark score of a − that of b. Only its sign counts, and it's held fixed when
        seeds are resampled: it stands for the truth.
    rng, n_resamples, level : see `ranking`

    Returns
    -------
    Retrieval
        A seed without a difference counts one half, and so does every seed if the benchmark
        has none.

    Raises
    ------
    ValueError
        If shapes differ.
    """
    scores = _stack(test_a, test_b, ndim=np.ndim(test_a))
    means = scores.reshape(*scores.shape[:2], -1).mean(axis=2)
    a, b = drop_rounding_error(means[:, ~np.isnan(means).any(axis=0)])
    n, n_failed = len(a), means.shape[1] - len(a)
    if n == 0:
        return Retrieval(n, n_failed, np.nan, np.nan, np.nan)
    retrieved = (1 + np.sign(a - b) * np.sign(benchmark_difference)) / 2
    low, high = percentile_interval(resample_counts(rng, n, n_resamples) @ retrieved / n, level)
    return Retrieval(n, n_failed, retrieved.mean(), low, high)


def _stack(a, b, ndim):
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a.shape != b.shape or a.ndim != ndim:
        raise ValueError(f"two arrays of one shape, with {ndim} dimension(s), are needed, "
                         f"not {a.shape} and {b.shape}")
    return np.stack([a, b])


def _estimate(value, resampled, level):
    defined = resampled[~np.isnan(resampled)]
    low, high = percentile_interval(defined, level) if len(defined) else (np.nan, np.nan)
    return Estimate(value, low, high, len(resampled) - len(defined))


def _line_resampled(x, y, rng, n_resamples):
    """(slope, intercept) of the least-squares line of y on x, both of shape (A,), and the same
    with the points resampled, arrays of shape (n_resamples,)."""
    if len(x) == 0:
        return (np.nan, np.nan), np.full((2, n_resamples), np.nan)
    slope, intercept = _lines(x, y, np.ones((1, len(x))))
    if len(x) < 3:
        return (slope[0], intercept[0]), np.full((2, n_resamples), np.nan)
    return ((slope[0], intercept[0]),
            _lines(x, y, resample_counts(rng, len(x), n_resamples)))


def _lines(x, y, weights):
    """Slopes and intercepts of weighted least-squares lines, one per row of `weights` (n, A);
    NaN where fewer than two distinct x have weight."""
    total = weights.sum(axis=1)
    mean_x, mean_y = weights @ x / total, weights @ y / total
    dx, dy = x - mean_x[:, None], y - mean_y[:, None]
    drawn = np.where(weights > 0, x, np.nan)
    distinct = np.nanmin(drawn, axis=1) < np.nanmax(drawn, axis=1)
    variation = np.where(distinct, (weights * dx**2).sum(axis=1), np.nan)
    slope = (weights * dx * dy).sum(axis=1) / variation
    return slope, mean_y - slope * mean_x
