"""Sample gain: how much larger a test set K splits are worth.

"Crossing the Validation Crisis" (arXiv 2606.12552), sections 3 and D.1. With
δ[s, k] = test score − benchmark score of the predictor of seed s and split k,
V_K is the variance over seeds of the mean delta of the first K splits, V_1(m)
that of one split with a test set of m examples, and

    G_K = N_equiv / n_test,   N_equiv = min {N ≥ n_test : V_1(N) ≤ V_K}.
"""
from dataclasses import dataclass

import numpy as np

from benchmark_utils.analysis.bootstrap import percentile_interval, resample_counts
from benchmark_utils.analysis.variance import variance_components

# The mean of K equal numbers may differ from them in the last bits.
ROUNDING = 1e-9


@dataclass(frozen=True)
class SampleGain:
    """Sample gain after each number of splits.

    Attributes
    ----------
    n_splits : array of shape (k,), the numbers of splits K
    gain, low, high : arrays of shape (k,), G_K and its bootstrap interval over seeds
    at_least : array of bool of shape (k,), where G_K is the largest outer size
        available, and thereby a lower bound
    plug_in : array of shape (k,), V_1(n_test) / V_K from the study set alone
    intraclass : array of shape (k,), K / (1 + (K−1)ρ_δ)
    variance : array of shape (k,), V_K, in squared units of the score
    chunk_variance, chunk_covariance : floats, σ̄² and c̄ of V_1, see `single_split_variance`
    correlation : ρ_δ
    n_chunks : C, test sizes up to C·n_test are covered by V_1
    n_seeds : seeds with at least one successful split
    """
    n_splits: np.ndarray
    gain: np.ndarray
    low: np.ndarray
    high: np.ndarray
    at_least: np.ndarray
    plug_in: np.ndarray
    intraclass: np.ndarray
    variance: np.ndarray
    chunk_variance: float
    chunk_covariance: float
    correlation: float
    n_chunks: int
    n_seeds: int


def single_split_variance(multiple, chunk_variance, chunk_covariance):
    """V_1(a·n_test) = σ̄²/a + (1 − 1/a)·c̄, exact over all orders of the chunks.

    Parameters
    ----------
    multiple : a ≥ 1, array or float
    chunk_variance : σ̄², mean over chunks of the variance over seeds of δ on one chunk
    chunk_covariance : c̄, mean over pairs of chunks of their covariance over seeds
    """
    return chunk_variance / multiple + (1 - 1 / multiple) * chunk_covariance


def sample_gain(delta, outer_deltas, n_test, rng, n_resamples=2000, level=0.95, n_splits=None):
    """Sample gain of one learning algorithm.

    Parameters
    ----------
    delta : array of shape (S, K), NaN for a failed split
        Successful splits count in their order; a seed with none is left out.
    outer_deltas : array of shape (S, C)
        δ of each seed's first successful split on C disjoint outer chunks of
        n_test examples.
    n_test : int
    rng : numpy.random.Generator
    n_resamples : int, bootstrap resamples of whole seeds
    level : float
    n_splits : sequence of int, the numbers of splits to report; default 1 … K

    Returns
    -------
    SampleGain, or None
        None with fewer than two seeds or without outer chunks.

    Notes
    -----
    The first split's own test set is one more chunk of V_1: it is as fresh to
    that split's predictor as the outer ones. Where the mean of K splits varies
    no less than its own first split, G_K is 1 by definition, since the
    single-split test set itself attains V_K.
    """
    delta, outer = np.asarray(delta, float), np.asarray(outer_deltas, float)
    has_score = np.isfinite(delta).any(axis=1)
    delta, outer = delta[has_score], outer[has_score]
    S, K = delta.shape
    if S < 2 or outer.shape[1] == 0:
        return None
    n_splits = np.arange(1, K + 1) if n_splits is None else np.asarray(n_splits)
    running = _running_means(delta)
    chunks = np.column_stack([running[:, 0], outer])
    C = chunks.shape[1]
    first, means = running[:, :1], running[:, n_splits - 1]
    negligible = ROUNDING * first.var()

    def statistics(counts):
        V_first, V_K = _variances(first, counts), _variances(means, counts)
        chunk_variance = _variances(chunks, counts).mean(axis=-1)
        of_sum = _variances(chunks.sum(axis=1, keepdims=True), counts)[..., 0]
        chunk_covariance = (of_sum - C * chunk_variance) / (C * (C - 1))
        no_gain = V_K >= V_first * (1 - ROUNDING) - negligible
        gain, at_least = _equivalent_multiple(no_gain, V_K, chunk_variance, chunk_covariance, C)
        gain = np.minimum(np.ceil(gain * n_test * (1 - ROUNDING)) / n_test, C)
        return gain, at_least, V_K, V_first, chunk_variance, chunk_covariance

    gain, at_least, V_K, V_first, chunk_variance, chunk_covariance = statistics(np.ones(S))
    resampled = statistics(resample_counts(rng, S, n_resamples))[0]
    low, high = percentile_interval(resampled, level)
    rho = variance_components(delta, rng, n_resamples=1).correlation
    with np.errstate(divide="ignore", invalid="ignore"):
        plug_in = V_first / V_K
        plug_in[n_splits == 1] = 1
        intraclass = n_splits / (1 + (n_splits - 1) * rho)
    return SampleGain(
        n_splits, gain, low, high, at_least, plug_in, intraclass, V_K,
        float(chunk_variance), float(chunk_covariance), rho, C, S,
    )


def proxy_gain(raw, n_splits):
    """Guess of the gain from raw scores alone, where there is no benchmarking set.

    K·s_num / (s_den + (K − 1)·t) with s_num = (σ²·W)^½, s_den = σ²/4 + 3W/4 and
    t = 0.60·τ·W/σ² (arXiv 2606.12552, D.2). The constants were fitted to measured gains: it
    keeps much of their order, and is no unbiased estimate of them. It needs several seeds.

    Parameters
    ----------
    raw : VarianceComponents of the test scores
    n_splits : int or array, K

    Returns
    -------
    float or array
        K where τ, of which negative values count as zero, is zero. NaN with one seed or split.
    """
    K = np.asarray(n_splits, float)
    W, tau = raw.within, max(raw.tau, 0.0)
    total = W + tau
    if not total > 0:
        return K * np.nan
    return (K * np.sqrt(total * W)
            / (total / 4 + 3 * W / 4 + (K - 1) * 0.60 * tau * W / total))[()]


def _running_means(delta):
    """Mean of the first 1 … K successful splits, of all where there are fewer; shape (S, K)."""
    valid = np.isfinite(delta)
    order = np.argsort(~valid, axis=1, kind="stable")
    total = np.cumsum(np.take_along_axis(np.where(valid, delta, 0), order, axis=1), axis=1)
    return total / np.minimum(np.arange(1, delta.shape[1] + 1), valid.sum(axis=1, keepdims=True))


def _variances(columns, counts):
    """Variance (ddof 1) of each column over seeds, each seed counted `counts` times.

    Shapes (S, m) and (..., S) give (..., m).
    """
    S = len(columns)
    columns = columns - columns.mean(axis=0)
    center = counts @ columns / S
    return np.maximum(counts @ columns**2 - S * center**2, 0) / (S - 1)


def _equivalent_multiple(no_gain, V_K, chunk_variance, chunk_covariance, n_chunks):
    """Smallest a ≥ 1 with V_1(a·n_test) ≤ V_K, 1 where there is no gain, and whether it exceeds
    what the chunks cover."""
    chunk_variance, chunk_covariance = chunk_variance[..., None], chunk_covariance[..., None]
    with np.errstate(divide="ignore", invalid="ignore"):
        multiple = (chunk_variance - chunk_covariance) / (V_K - chunk_covariance)
    # V_1 falls towards c̄ and never reaches what lies below.
    multiple = np.where(V_K > chunk_covariance, multiple, np.inf)
    multiple = np.where(no_gain, 1.0, np.maximum(multiple, 1.0))
    return np.minimum(multiple, n_chunks), multiple >= n_chunks
