"""Redundancy of splits, from the study set alone, and what it says of further splits.

Definitions: Eve, Varoquaux, Moreau, "Crossing the Validation Crisis", arXiv 2606.12552, D.3.
"""
from dataclasses import dataclass

import numpy as np

from benchmark_utils.errors import InputError

ROUNDING = 1e-12  # relative to a loss: differences below it are none


class Redundancy:
    """Redundancy ω of the splits added so far; adding split k costs O(k · n_study).

    For each pair of splits a < b, the covariance and the two variances of the
    per-example losses over the study examples that both hold out; ρ_e = mean
    covariance / mean variance over pairs that share at least two examples;
    ω = test_fraction · ρ_e.

    Parameters
    ----------
    n_splits : int, how many will be added at most
    n_study : int
    test_fraction : float, n_test / n_study
    """

    def __init__(self, n_splits, n_study, test_fraction):
        self._test_fraction, self._k = test_fraction, 0
        self._loss, self._square, self._mask = np.zeros((3, n_splits, n_study))
        self._rounding = np.zeros(n_splits)
        self._covariance = self._variance = self._negligible = 0.0

    def add(self, losses):
        """Add a split.

        Parameters
        ----------
        losses : array of shape (n_study,), NaN where the split doesn't hold an example out
            Any sign will do: ω doesn't change with the sign or scale of the loss.

        Returns
        -------
        float, ω of all splits so far; NaN where no pair is available yet or no loss varies
        """
        mask = ~np.isnan(losses)
        loss = np.where(mask, losses, 0.0)
        rounding = (ROUNDING * np.abs(loss).max(initial=0.0)) ** 2
        # Covariances don't change with each split's mean loss; rounding does.
        loss -= mask * (loss.sum() / max(mask.sum(), 1))
        square = loss * loss
        k = self._k
        losses_before, squares_before, masks_before = (
            array[:k] for array in (self._loss, self._square, self._mask)
        )
        n = masks_before @ mask              # examples shared with each split before
        pair = n >= 2
        theirs, ours = losses_before @ mask, masks_before @ loss
        with np.errstate(divide="ignore", invalid="ignore"):
            covariance = (losses_before @ loss - theirs * ours / n) / (n - 1)
            variances = (
                squares_before @ mask - theirs**2 / n + masks_before @ square - ours**2 / n
            ) / (n - 1)
        self._covariance += covariance[pair].sum()
        self._variance += variances[pair].sum() / 2
        self._negligible += (self._rounding[:k][pair] + rounding).sum() / 2
        self._loss[k], self._square[k], self._mask[k] = loss, square, mask
        self._rounding[k] = rounding
        self._k += 1
        if not self._variance > self._negligible:
            return np.nan
        correlation = self._covariance / self._variance
        return self._test_fraction * (correlation if abs(correlation) > ROUNDING else 0.0)


def predicted_gain(redundancy, n_splits, test_fraction, procedure="mccv"):
    """Sample gain that K splits of this redundancy promise.

    Monte-Carlo cross-validation: K / (1 + (K − 1)·ω). Repeated K-fold
    cross-validation, whose test sets within a repeat are disjoint:
    1 / ((1 − f)·t + f/K) with t the test fraction and f = 1 − ω/t. Both are K
    where errors of different splits are uncorrelated, and tend to
    n_study / n_test where they are equal.

    Parameters
    ----------
    redundancy : float or array, ω; negative ones count as zero
    n_splits : int or array, K
    test_fraction : float, t = n_test / n_study
    procedure : "repeated_kfold", or any other for random splits

    Returns
    -------
    float or array, NaN where ω is
    """
    omega, K = np.maximum(redundancy, 0), np.asarray(n_splits, float)
    if procedure == "repeated_kfold":
        f = 1 - omega / test_fraction
        gain = 1 / ((1 - f) * test_fraction + f / K)
    else:
        gain = K / (1 + (K - 1) * omega)
    return gain[()]


@dataclass(frozen=True)
class Stopping:
    """When to stop after fewer than K splits.

    Parameters
    ----------
    ratio : float > 1
        Stop once going on to K would multiply the predicted gain by less than that.
    min_splits : int ≥ 2, splits to make in any case
    n_splits : int, K
    n_study, n_test : int
    procedure : str, see `predicted_gain`

    Raises
    ------
    InputError
        For values out of range, and procedures whose splits aren't draws of one kind.
    """
    ratio: float
    min_splits: int
    n_splits: int
    n_study: int
    n_test: int
    procedure: str

    def __post_init__(self):
        if not isinstance(self.ratio, int | float) or not self.ratio > 1:
            raise InputError(f"stop_when_redundant={self.ratio!r} is neither None nor a ratio > 1")
        if not isinstance(self.min_splits, int) or self.min_splits < 2:
            raise InputError(f"min_splits={self.min_splits!r} is not an integer ≥ 2")
        if self.procedure not in ("mccv", "repeated_kfold"):
            raise InputError(
                f"stop_when_redundant needs procedure=mccv or repeated_kfold, not {self.procedure}"
            )

    def watch(self):
        """Return a callable (split, record of its fit) -> why to stop, or None."""
        fraction = self.n_test / self.n_study
        redundancy, k = Redundancy(self.n_splits, self.n_study, fraction), 0

        def reason(split, record):
            nonlocal k
            k += 1
            omega = redundancy.add(held_out_losses(split, record, self.n_study))
            if not self.min_splits <= k < self.n_splits:
                return None
            now, later = (
                predicted_gain(omega, n, fraction, self.procedure) for n in (k, self.n_splits)
            )
            if not later / now < self.ratio:
                return None
            return (
                f"stopped after {k} of {self.n_splits} splits: the predicted gain would rise from "
                f"{now:.2f} to {later:.2f}, by less than a factor of {self.ratio:g}"
            )

        return reason


def held_out_losses(split, record, n_study):
    """Score of each study example that a split holds out, NaN for the others and a failed fit.

    Parameters
    ----------
    split : Split; record : dict, see `Score`; n_study : int

    Returns
    -------
    array of shape (n_study,)
    """
    losses = np.full(n_study, np.nan)
    if record["status"] == "ok":
        losses[split.test] = record["test_scores"]
    return losses
