"""Optimism of the best score: reported minus true, and what the search bought.

The unit is the repetition: an independent draw of training data. A true score is the score of
the refitted predictor on the benchmarking set. See Cawley and Talbot, "On over-fitting in model
selection and subsequent selection bias in performance evaluation", JMLR 2010.
"""
from dataclasses import dataclass

import numpy as np

from benchmark_utils.analysis.gap import mean_sd


@dataclass(frozen=True)
class Optimism:
    """Means over repetitions, in the unit of the scores."""

    n_repetitions: int
    n_failed: int                # repetitions left out, as a score is missing
    mean_reported: float
    mean_true: float
    optimism: float              # mean_reported − mean_true
    optimism_se: float           # sd (ddof 1) / √n, NaN with one repetition


@dataclass(frozen=True)
class SearchBenefit:
    """Differences of true scores, means over repetitions with their standard errors."""

    n_repetitions: int
    n_failed: int
    over_default: float          # chosen − default: what the search bought, if positive
    over_default_se: float
    over_best: float             # chosen − best in the search: what it missed, never positive
    over_best_se: float


def optimism(reported, true):
    """By how much a protocol's score exceeds that of the predictor it chose.

    Parameters
    ----------
    reported : array of shape (S,)
        Score the protocol reports in each repetition (the best cross-validated score of a
        search, or the nested estimate); NaN where it failed.
    true : array of shape (S,)

    Returns
    -------
    Optimism

    Raises
    ------
    ValueError
        If shapes differ.
    """
    (reported, true), n_failed = _complete(reported, true)
    (mean_reported, _), (mean_true, _) = mean_sd(reported), mean_sd(true)
    mean, se = _mean_se(reported - true)
    return Optimism(n_repetitions=len(true), n_failed=n_failed, mean_reported=mean_reported,
                    mean_true=mean_true, optimism=mean, optimism_se=se)


def search_benefit(chosen, default, best):
    """What a search bought over no search, and how far it stayed from its best configuration.

    Parameters
    ----------
    chosen, default, best : arrays of shape (S,)
        True scores in each repetition of the configuration the search chose, of the default
        one, and of the one with the highest true score among those searched; NaN where missing,
        and then the repetition is left out.

    Returns
    -------
    SearchBenefit

    Raises
    ------
    ValueError
        If a chosen configuration is better than the best one, or shapes differ.
    """
    chosen, best = np.asarray(chosen, float), np.asarray(best, float)
    (used, default, used_best), n_failed = _complete(chosen, default, best)
    if (chosen > best).any():
        first = np.argmax(chosen > best)
        raise ValueError(f"repetition {first}: the chosen configuration's true score "
                         f"{chosen[first]} exceeds the best in the search, {best[first]}")
    over_default, over_default_se = _mean_se(used - default)
    over_best, over_best_se = _mean_se(used - used_best)
    return SearchBenefit(n_repetitions=len(used), n_failed=n_failed,
                         over_default=over_default, over_default_se=over_default_se,
                         over_best=over_best, over_best_se=over_best_se)


def _complete(*scores):
    """The scores of repetitions that miss none, and how many do."""
    scores = [np.asarray(values, float) for values in scores]
    shapes = {values.shape for values in scores}
    if len(shapes) > 1 or scores[0].ndim != 1:
        raise ValueError(f"vectors of one length are needed, not shapes {sorted(shapes)}")
    scores = np.stack(scores)
    complete = ~np.isnan(scores).any(axis=0)
    return scores[:, complete], int((~complete).sum())


def _mean_se(differences):
    mean, sd = mean_sd(differences)
    return mean, sd / np.sqrt(len(differences)) if len(differences) else np.nan
