"""Redundancy of splits, from the study set alone."""
import numpy as np

ROUNDING = 1e-12  # relative to a loss: differences below it are none


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
    loss = np.where(held_out, losses, 0.0)
    mask = held_out.astype(float)
    n = mask @ mask.T                    # shared examples of a and b
    pair = np.triu(n >= 2, k=1)
    # Covariances don't change with each split's mean loss; rounding does.
    magnitude = np.abs(loss).max(axis=1, initial=0.0)
    loss -= mask * (loss.sum(axis=1) / np.maximum(mask.sum(axis=1), 1))[:, None]
    total = loss @ mask.T                # sum of a's losses over them
    squares = (loss * loss) @ mask.T
    with np.errstate(divide="ignore", invalid="ignore"):
        covariance = (loss @ loss.T - total * total.T / n) / (n - 1)
        variance = (squares - total * total / n) / (n - 1)
    rounding = (ROUNDING * magnitude) ** 2

    def cumulative(of_pairs):
        # Column b adds the pairs (a, b) with a < b.
        return np.where(pair, of_pairs, 0.0).sum(axis=0).cumsum()

    covariance, variance = cumulative(covariance), cumulative((variance + variance.T) / 2)
    negligible = cumulative((rounding + rounding[:, None]) / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = np.where(variance > negligible, covariance / variance, np.nan)
    return test_fraction * rho
