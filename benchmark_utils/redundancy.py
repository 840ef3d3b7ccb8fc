"""Redundancy of splits, from the study set alone."""
import numpy as np


def cumulative_redundancy(losses, test_fraction):
    """Redundancy ω after each split.

    For each pair of splits a < b, the covariance and the two variances of the
    per-example losses over the study examples that both hold out; ρ_e = mean
    covariance / mean variance over pairs that share at least two examples;
    ω = test_fraction · ρ_e.

    Parameters
    ----------
    losses : array of shape (K, n_study), NaN where a split doesn't hold an example out
        Any sign will do: ω doesn't change with the sign or scale of the loss.
    test_fraction : float, n_test / n_study

    Returns
    -------
    array of shape (K,), NaN where no pair is available yet or no loss varies
    """
    held_out = ~np.isnan(losses)
    with np.errstate(invalid="ignore"):
        center = losses[held_out].mean() if held_out.any() else 0.0
    loss = np.where(held_out, losses - center, 0.0)
    mask = held_out.astype(float)
    n = mask @ mask.T                    # shared examples of a and b
    total = loss @ mask.T                # sum of a's losses over them
    squares = (loss * loss) @ mask.T
    pair = np.triu(n >= 2, k=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = (loss @ loss.T - total * total.T / n) / (n - 1)
        variance = (squares - total * total / n) / (n - 1)
    covariance = np.where(pair, covariance, 0.0)
    variance = np.where(pair, (variance + variance.T) / 2, 0.0)
    # Column b adds the pairs (a, b) with a < b.
    covariance, variance = covariance.sum(axis=0).cumsum(), variance.sum(axis=0).cumsum()
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = np.where(variance > 1e-12, covariance / variance, np.nan)
    return test_fraction * rho
