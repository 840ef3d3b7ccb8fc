"""Resampling with replacement, as counts: multiplicity is kept and everything stays vectorised."""
import numpy as np


def resample_counts(rng, n, n_resamples):
    """How often each of n units is drawn in each of n_resamples draws of n with replacement.

    Parameters
    ----------
    rng : numpy.random.Generator

    Returns
    -------
    array of int of shape (n_resamples, n), rows summing to n
    """
    drawn = rng.integers(0, n, size=(n_resamples, n))
    drawn += n * np.arange(n_resamples)[:, None]
    return np.bincount(drawn.ravel(), minlength=n_resamples * n).reshape(n_resamples, n)


def percentile_interval(values, level=0.95, axis=0):
    """Central percentile interval of resampled values.

    Returns
    -------
    low, high : arrays, `values` without its `axis`; NaN where a resample is NaN
    """
    tail = (1 - level) / 2
    low, high = np.quantile(values, [tail, 1 - tail], axis=axis)
    return low, high
