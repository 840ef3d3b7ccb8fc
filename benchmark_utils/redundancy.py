"""Redundancy of splits, from the study set alone, and what it says of further splits.

Definitions: Eve, Varoquaux, Moreau, "Crossing the Validation Crisis", arXiv 2606.12552, D.3.
"""
from dataclasses import dataclass

import numpy as np

from benchmark_utils.errors import InputError

ROUNDING = 1e-12  # relative to a loss: differences below it are none


class Redundancy:
    """Redundancy ω of the splits added so far; adding split k costs O(k · n_test).

    For each pair of splits a < b, the covariance and the two variances of the
    per-example losses over the study examples that both hold out; ρ_e = mean
    covariance / mean variance over pairs that share at least two examples;
    ω = test_fraction · ρ_e. Several losses of the same predictors can be followed at once.

    Parameters
    ----------
    n_splits : int, how many will be added at most
    n_study : int
    test_fraction : float, n_test / n_study
    n_losses : int

    Attributes
    ----------
    omega : array of shape (n_losses,), ω of all splits so far; NaN where no pair is available yet
        or a loss doesn't vary
    """

    def __init__(self, n_splits, n_study, test_fraction, n_losses=1):
        self._test_fraction, self._k = test_fraction, 0
        self._losses = np.zeros((n_losses, n_study, n_splits))
        self._is_held_out = np.zeros((n_study, n_splits))
        self._rounding = np.zeros((n_losses, n_splits))
        self._covariance, self._variance, self._negligible = np.zeros((3, n_losses))
        self._n_shared = self._n_pairs = self._n_available = 0
        self.omega = np.full(n_losses, np.nan)

    def add(self, test, losses):
        """Add a split.

        Parameters
        ----------
        test : array of shape (n_test,), the distinct study examples that it holds out
        losses : array of shape (n_losses, n_test)
            Any sign will do: ω doesn't change with the sign or scale of a loss.

        Returns
        -------
        array, `omega`
        """
        k, losses = self._k, np.asarray(losses, float)
        rounding = (ROUNDING * np.abs(losses).max(axis=1, initial=0.0)) ** 2
        # Covariances don't change with each split's mean loss; rounding does.
        losses = losses - losses.mean(axis=1, keepdims=True)
        held_out = self._is_held_out[test, :k]
        before = self._losses[:, test, :k]     # zero where a split doesn't hold an example out
        n = held_out.sum(axis=0)               # examples shared with each split before
        pair = n >= 2
        theirs, ours = before.sum(axis=1), losses @ held_out
        with np.errstate(divide="ignore", invalid="ignore"):
            covariance = ((losses[:, None] @ before)[:, 0] - theirs * ours / n) / (n - 1)
            variances = (
                np.einsum("ltk,ltk->lk", before, before) - theirs**2 / n
                + losses**2 @ held_out - ours**2 / n
            ) / (n - 1)
        self._covariance += covariance[:, pair].sum(axis=1)
        self._variance += variances[:, pair].sum(axis=1) / 2
        self._negligible += (self._rounding[:, :k][:, pair] + rounding[:, None]).sum(axis=1) / 2
        self._n_shared, self._n_pairs = self._n_shared + n.sum(), self._n_pairs + k
        self._n_available += np.count_nonzero(pair)
        self._losses[:, test, k], self._is_held_out[test, k] = losses, 1
        self._rounding[:, k] = rounding
        self._k += 1
        self.omega = self._test_fraction * self._correlation()
        return self.omega

    def product(self, prediction, loss):
        """The first definition of the paper (D.3): the product of the mean covariance of
        predictions over pairs of splits, ρ_e of a loss, and the mean number of examples that a
        pair shares. In squared units of the prediction.

        Parameters
        ----------
        prediction, loss : int, positions among the losses; the first is that of the predictions

        Returns
        -------
        float, NaN where ω is
        """
        if not self._n_available:
            return np.nan
        covariance = self._covariance[prediction] / self._n_available
        return covariance * self._correlation()[loss] * self._n_shared / self._n_pairs

    def _correlation(self):
        with np.errstate(divide="ignore", invalid="ignore"):
            correlation = self._covariance / self._variance
        correlation[np.abs(correlation) <= ROUNDING] = 0.0
        correlation[~(self._variance > self._negligible)] = np.nan
        return correlation


def predicted_gain(redundancy, n_splits, test_fraction, procedure="mccv"):
    """Sample gain that K splits of this redundancy promise.

    Monte-Carlo cross-validation: K / (1 + (K − 1)·ω). Repeated K-fold
    cross-validation, whose test sets within a repeat are disjoint:
    1 / ((1 − f)·t + f/K) with t the test fraction and f = 1 − ω/t, and K within
    the first repeat. Both are K where errors of different splits are uncorrelated,
    and tend to n_study / n_test where they are equal. Of one partition repeated,
    whose test sets are the same: K / (1 + (K − 1)·ω/t).

    Parameters
    ----------
    redundancy : float or array, ω; negative ones count as zero
    n_splits : int or array, K
    test_fraction : float, t = n_test / n_study
    procedure : "repeated_kfold", "fixed_split", or any other for random splits

    Returns
    -------
    float or array, NaN where ω is
    """
    omega, K = np.maximum(redundancy, 0), np.asarray(n_splits, float)
    if procedure == "repeated_kfold":
        f = 1 - omega / test_fraction
        gain = np.minimum(1 / ((1 - f) * test_fraction + f / K), K)
    else:
        if procedure == "fixed_split":
            omega = omega / test_fraction
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
            if record["status"] == "ok":
                redundancy.add(split.test, [primary_scores(record)])
            if not self.min_splits <= k < self.n_splits:
                return None
            now, later = (
                predicted_gain(redundancy.omega[0], n, fraction, self.procedure)
                for n in (k, self.n_splits)
            )
            if not later / now < self.ratio:
                return None
            return (
                f"stopped after {k} of {self.n_splits} splits: the predicted gain would rise from "
                f"{now:.2f} to {later:.2f}, by less than a factor of {self.ratio:g}"
            )

        return reason


def primary_scores(record):
    """Each test example's primary score, from the record of a successful fit."""
    return next(iter(record["test_scores"].values()))
