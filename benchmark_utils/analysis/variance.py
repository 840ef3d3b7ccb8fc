"""Variance components of split scores over seeds.

Notation of "Crossing the Validation Crisis" (arXiv 2606.12552), C.1 and C.2:
scores E[s, k] of S seeds and K splits, exchangeable within a seed, with
variance σ² and covariance τ between two splits of one seed. The same functions
serve raw scores (σ²_HO, τ) and deltas (σ²_te, τ_te).
"""
from dataclasses import dataclass

import numpy as np

from benchmark_utils.analysis.bootstrap import percentile_interval, resample_counts


@dataclass(frozen=True)
class VarianceComponents:
    """Estimates, in squared units of the score.

    Attributes
    ----------
    within : W, mean over seeds of the variance between splits
    between : B, variance over seeds of the seed means
    tau : B − W/K, covariance of two splits of one seed; can be negative by chance
    total : σ² = W + τ, variance of one split
    tau_se : standard error of τ under normality (C.16)
    tau_interval : (low, high), percentile bootstrap over seeds
    n_seeds, n_splits : S and the largest K
    """
    within: float
    between: float
    tau: float
    total: float
    tau_se: float
    tau_interval: tuple
    n_seeds: int
    n_splits: int

    @property
    def correlation(self):
        """Intraclass correlation ρ = τ/σ²."""
        return self.tau / self.total if self.total > 0 else np.nan


def variance_components(scores, rng, n_resamples=2000, level=0.95):
    """Variance components of an array of scores.

    Parameters
    ----------
    scores : array of shape (S, K), NaN for a failed split
        A seed without any score is left out. With unequal numbers of splits
        K_s, W/K becomes W times the mean of 1/K_s, which keeps τ unbiased.
    rng : numpy.random.Generator
    n_resamples : int, for the interval of τ
    level : float

    Returns
    -------
    VarianceComponents
        NaN where S or K is too small: B needs two seeds, W two splits, τ both. With one split
        per seed, σ² = B.
    """
    n_splits, mean, variance = _seed_summaries(scores)
    S, K = len(mean), int(n_splits.max(initial=0))
    repeated = n_splits >= 2
    if not repeated.any():
        variance, repeated = np.full(S, np.nan), np.ones(S, bool)

    def components(counts):
        within = (counts * repeated) @ np.where(repeated, variance, 0) / (counts @ repeated)
        center = counts @ mean / S
        between = (counts @ mean**2 - S * center**2) / (S - 1)
        return within, between, between - within * (counts @ (1 / n_splits)) / S

    if S < 2:
        within = variance.mean() if S else np.nan
        return VarianceComponents(
            within, np.nan, np.nan, np.nan, np.nan, (np.nan, np.nan), S, K
        )
    mean = mean - mean.mean()
    within, between, tau = components(np.ones(S))
    with np.errstate(invalid="ignore", divide="ignore"):
        resampled = components(resample_counts(rng, S, n_resamples))[2]
    resampled = resampled[np.isfinite(resampled)]
    interval = percentile_interval(resampled, level) if len(resampled) else (np.nan, np.nan)
    total = between if K == 1 else within + tau
    return VarianceComponents(
        within, between, tau, total, tau_standard_error(total, tau, S, K), interval, S, K
    )


def tau_standard_error(total, tau, n_seeds, n_splits):
    """Standard error of τ̂ for normal scores; arXiv 2606.12552, C.16.

    Var(τ̂) = 2(σ² + (K−1)τ)² / (K²(S−1)) + 2(σ² − τ)² / (S K²(K−1))
    """
    if n_splits < 2:
        return np.nan
    S, K = n_seeds, n_splits
    between = 2 * (total + (K - 1) * tau) ** 2 / (K**2 * (S - 1))
    within = 2 * (total - tau) ** 2 / (S * K**2 * (K - 1))
    return np.sqrt(between + within)


def _seed_summaries(scores):
    """Number, mean and variance (ddof 1, 0 for one) of each seed's scores; empty seeds left out."""
    scores = np.asarray(scores, float)
    valid = np.isfinite(scores)
    scores, valid = scores[valid.any(axis=1)], valid[valid.any(axis=1)]
    n = valid.sum(axis=1)
    mean = np.where(valid, scores, 0).sum(axis=1) / n
    deviation = np.where(valid, scores - mean[:, None], 0)
    return n, mean, (deviation**2).sum(axis=1) / np.maximum(n - 1, 1)
