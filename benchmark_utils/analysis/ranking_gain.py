"""Ranking gain: how much smaller a study set K splits need than one split to rank a family of
learners as reliably.

"Crossing the Validation Crisis" (arXiv 2606.12552), Appendix H. With π_K(N) the probability that
the means of K test scores put a family of learners in its true order, from best to worst, at
training size N,

    G_rank = N*_1 / N*_K,   N*_K = min {N : π_K(N) ≥ level}.
"""
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmark_utils.analysis.bootstrap import percentile_interval, resample_counts
from benchmark_utils.analysis.frames import labels, memoised
from benchmark_utils.analysis.summary import final_rows, reported_splits

#: the retrieval level α at which N*_K is read off
LEVEL = 0.95
#: with fewer, 95 % intervals cover 75 to 90 % (tests/analysis/test_ranking_gain.py)
ENOUGH_SEEDS = 100
# Means that are equal but for the order of summation tie: accuracies on few examples often are.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Family:
    """Test scores of the learners of one data set, over settings that differ in train_size only.

    Attributes
    ----------
    learners : list of M labels, best first; empty where the order isn't known
    train_sizes : array of shape (n,), increasing, in training (plus validation) examples
    scores : array of shape (n, M, S, K), in the order of both, of the K splits that all seeds
        made; NaN where a split failed or a seed is missing
    """
    learners: list
    train_sizes: np.ndarray
    scores: np.ndarray


@dataclass(frozen=True)
class RankingGain:
    """Ranking gain of each number of splits.

    Attributes
    ----------
    n_splits : array of shape (k,), the numbers of splits K
    train_sizes : array of shape (n,), N
    n_seeds, n_failed : arrays of shape (n,), seeds used and left out at each training size
    retrieval : array of shape (n, k), π_K(N) as measured, NaN where no seed could be used
    monotone : array of shape (n, k), its least-squares fit that never falls as N grows
    threshold : array of shape (k,), N*_K in training examples; at the smallest training size
        "at most" that, and infinite where even the largest one doesn't reach the level
    single : float, N*_1, likewise
    gain, low, high : arrays of shape (k,), G_rank, NaN where it isn't defined, and its bootstrap
        interval over seeds
    at_least : array of bool of shape (k,), where G_rank is a lower bound, since N*_K may be
        smaller than the smallest training size, or N*_1 is larger than the largest
    ceiling : float, the largest gain that these training sizes can show; an interval that ends
        there may end higher
    n_unreached : array of int of shape (k,), resamples that don't reach the level at any training
        size: their gain lies between 0 and N*_1 / max N, and counts as 0 in the interval
    """
    n_splits: np.ndarray
    train_sizes: np.ndarray
    n_seeds: np.ndarray
    n_failed: np.ndarray
    retrieval: np.ndarray
    monotone: np.ndarray
    threshold: np.ndarray
    single: float
    gain: np.ndarray
    low: np.ndarray
    high: np.ndarray
    at_least: np.ndarray
    ceiling: float
    n_unreached: np.ndarray


def is_retrieved(scores, n_splits):
    """Whether the means of the first K test scores put the learners in their order.

    Parameters
    ----------
    scores : array of shape (..., M, S, K), learners from truly best to worst, higher is better
    n_splits : array of int of shape (k,), between 1 and K

    Returns
    -------
    array of bool of shape (..., S, k)
        False where two neighbours in the order tie, and where a score is missing.
    """
    n_splits = np.asarray(n_splits)
    means = np.cumsum(scores, axis=-1)[..., n_splits - 1] / n_splits
    better, worse = means[..., :-1, :, :], means[..., 1:, :, :]
    return (better - worse > ROUNDING * np.abs(better)).all(axis=-3)


def monotone_fit(n_hits, n_trials):
    """Isotonic regression of proportions along the first axis, weighted by their trials.

    As `sklearn.isotonic.isotonic_regression`, by its max-min formula, many curves at once. A
    running maximum would turn each upward fluctuation into a bias upwards, and thresholds
    downwards; pooling neighbours that are out of order does not.

    Parameters
    ----------
    n_hits : array of shape (n, ...)
    n_trials : array that broadcasts to that shape, of which zeros have no weight

    Returns
    -------
    array of shape (n, ...), −∞ for a curve without any trial
    """
    n_hits, n_trials = np.broadcast_arrays(n_hits, n_trials)
    start = np.zeros((1, *n_hits.shape[1:]))
    # Sums of whole numbers are exact: 19 of 20 is 0.95 whatever it is pooled with.
    hits = np.concatenate([start, np.cumsum(n_hits, axis=0)])
    trials = np.concatenate([start, np.cumsum(n_trials, axis=0)])
    fitted = np.full(n_hits.shape, -np.inf)
    for j in range(len(fitted)):
        with np.errstate(invalid="ignore"):
            means = (hits[j + 1:] - hits[j]) / (trials[j + 1:] - trials[j])
        fitted[j:] = np.fmax(fitted[j:], np.fmin.accumulate(means[::-1], axis=0)[::-1])
    return fitted


def threshold_size(train_sizes, curve, level=LEVEL):
    """Smallest training size at which a curve that never falls reaches the level.

    Parameters
    ----------
    train_sizes : array of shape (n,), increasing
    curve : array of shape (n, ...), proportions, linear in log N between training sizes
    level : float

    Returns
    -------
    array of the curve's other axes
        The smallest training size where that has it already, infinite where none has it.
    """
    train_sizes, curve = np.asarray(train_sizes, float), np.asarray(curve, float)
    reached = curve >= level
    after = reached.argmax(axis=0)
    before = np.maximum(after - 1, 0)
    low, high = (np.take_along_axis(curve, i[None], axis=0)[0] for i in (before, after))
    with np.errstate(divide="ignore", invalid="ignore"):
        share = (level - low) / (high - low)
        crossing = train_sizes[before] * (train_sizes[after] / train_sizes[before]) ** share
    size = np.where(reached[0], train_sizes[0], crossing)
    return np.where(reached.any(axis=0), size, np.inf)


def ranking_gain(train_sizes, scores, rng, n_splits=None, level=LEVEL, paired=True,
                 n_resamples=2000, confidence=0.95):
    """Ranking gain of one family of learners.

    Parameters
    ----------
    train_sizes : array of shape (n,), increasing
    scores : n arrays of shape (M, S, K), learners from truly best to worst, higher is better
        A seed with a NaN among its scores at one training size is left out there.
    rng : numpy.random.Generator
    n_splits : sequence of int, the numbers of splits to report; default 1 … K
    level : float, retrieval probability at which N*_K is read off
    paired : bool
        Whether seed s is one draw seen at all training sizes, as in this benchmark, where the
        smaller study set is part of the larger. Seeds are then resampled as a whole; otherwise
        within each training size.
    n_resamples : int
    confidence : float, coverage of the interval

    Returns
    -------
    RankingGain

    Raises
    ------
    ValueError
        With fewer than two learners, shapes that differ, training sizes that don't increase, or
        no seed that could be used at any training size.

    Notes
    -----
    As in the paper, N*_1 is that of all seeds in every resample: the interval is that of N*_K
    alone, and has a width at K = 1 too, where G_rank is 1. If N*_1 is at most the smallest
    training size, nothing bounds G_rank and all are NaN.
    """
    train_sizes, scores = np.asarray(train_sizes), np.stack([np.asarray(s, float) for s in scores])
    if scores.ndim != 4 or len(scores) != len(train_sizes) or scores.shape[1] < 2:
        raise ValueError(
            "one array (learners, seeds, splits) with two or more learners is needed for each of "
            f"{len(train_sizes)} training sizes, not {scores.shape}"
        )
    if (np.diff(train_sizes) <= 0).any():
        raise ValueError(f"training sizes don't increase: {train_sizes.tolist()}")
    S, K = scores.shape[2:]
    n_splits = np.arange(1, K + 1) if n_splits is None else np.asarray(n_splits)
    usable = np.isfinite(scores).all(axis=(1, 3))
    n_seeds = usable.sum(axis=1)
    measured = n_seeds > 0
    if not measured.any():
        raise ValueError("no seed has a score of every learner and split")
    # One split comes first: it is needed whether or not it is to be reported.
    hits = is_retrieved(scores, [1, *n_splits]) & usable[..., None]
    n_hits, sizes = hits.sum(axis=1), train_sizes[measured]
    fitted = monotone_fit(n_hits[measured], n_seeds[measured, None])
    single, *threshold = threshold_size(sizes, fitted, level)
    threshold = np.array(threshold)

    numerator = np.nan if single == sizes[0] else min(single, sizes[-1])
    counts = [resample_counts(rng, S, n_resamples)] * len(sizes) if paired else [
        resample_counts(rng, S, n_resamples) for _ in sizes
    ]

    def drawn(indicators):
        return np.stack([c @ i for c, i in zip(counts, indicators.astype(int), strict=True)])

    resampled = threshold_size(sizes, monotone_fit(
        drawn(hits[measured, :, 1:]), drawn(usable[measured])[..., None],
    ), level)
    low, high = percentile_interval(numerator / resampled, confidence)
    is_defined = np.isfinite(threshold) & np.isfinite(numerator)

    def where_measured(values):
        full = np.full((len(train_sizes), len(n_splits)), np.nan)
        full[measured] = values
        return full

    return RankingGain(
        n_splits=n_splits, train_sizes=train_sizes, n_seeds=n_seeds, n_failed=S - n_seeds,
        retrieval=where_measured(n_hits[measured, 1:] / n_seeds[measured, None]),
        monotone=where_measured(fitted[:, 1:]), threshold=threshold,
        single=float(single), gain=np.where(is_defined, numerator / threshold, np.nan),
        low=np.where(is_defined, low, np.nan), high=np.where(is_defined, high, np.nan),
        at_least=is_defined & ((threshold == sizes[0]) | np.isinf(single)),
        ceiling=float(numerator / sizes[0]), n_unreached=np.isinf(resampled).sum(axis=0),
    )


@memoised
def grid_labels(results):
    """Labels of the settings without their training size.

    Returns
    -------
    dict, Benchopt's full name of a setting -> label, shared by those that differ in train_size only
    """
    return labels(results.drop(columns="p_obj_train_size"), "setting")


def family_scores(results, dataset, grid, order=None):
    """Scores of the learners of one data set at every training size.

    Parameters
    ----------
    results : DataFrame, as Benchopt saves it
    dataset : label, see `frames.labels`
    grid : label of settings that differ in train_size only, see `grid_labels`
    order : list of learners' labels, from truly best to worst; others are left out
        By default all that have a benchmark score at the largest training size, by its mean over
        the seeds that have one of each of them.

    Returns
    -------
    Family

    Raises
    ------
    ValueError
        If `order` names a learner twice, or one that has no rows.
    """
    parts = {}
    for name, label in labels(results, "setting").items():
        rows = final_rows(results, dataset, label)
        if grid_labels(results)[name] == grid and len(rows):
            parts.setdefault(int(rows["n_train"].iloc[0] + rows["n_val"].iloc[0]), rows)
    if not parts:
        return Family([], np.array([], int), np.empty((0, 0, 0, 0)))
    train_sizes = np.array(sorted(parts))
    rows = pd.concat(
        [parts[N].astype({"learner": str}) for N in train_sizes], keys=train_sizes, names=["N"]
    ).reset_index("N")
    # Where splits were left out as redundant, those that all seeds made count.
    rows = rows[rows["split"] < rows.groupby(["N", "learner", "seed"]).size().min()]
    learners = list(dict.fromkeys(rows["learner"]))
    if order is not None and (len(set(order)) < len(order) or not set(order) <= set(learners)):
        raise ValueError(f"order={order} must name each learner once, of {', '.join(learners)}")
    axes = [train_sizes, learners, np.sort(rows["seed"].unique()), np.sort(rows["split"].unique())]
    test, bench = (
        rows.set_index(["N", "learner", "seed", "split"])[column]
        .reindex(pd.MultiIndex.from_product(axes)).to_numpy(float).reshape([len(a) for a in axes])
        for column in ("score_test", "score_bench")
    )
    position = _benchmark_order(bench[-1]) if order is None else [learners.index(o) for o in order]
    return Family([learners[m] for m in position], train_sizes, test[:, position])


def _benchmark_order(bench):
    """Learners by falling mean benchmark score, from an array of shape (M, S, K), over the seeds
    that all of them have; without learners that have none, and empty where they share no seed."""
    present = np.flatnonzero(np.isfinite(bench).any(axis=(1, 2)))
    shared = np.isfinite(bench[present]).any(axis=2).all(axis=0)
    if not shared.any():
        return []
    means = np.nanmean(bench[np.ix_(present, shared)], axis=2).mean(axis=1)
    return present[np.argsort(-means, kind="stable")].tolist()


@memoised
def ranking_gain_of(results, dataset, grid):
    """What the plots show of one data set and grid of training sizes.

    Returns
    -------
    family : Family, in the order of the benchmark
    gain : RankingGain at the numbers of splits of `reported_splits`, or None
    missing : str, why there is no gain, or ""
    """
    family = family_scores(results, dataset, grid)
    scores = family.scores
    missing = ""
    if len(family.train_sizes) == 0:
        missing = "No run of this data set and setting has a result"
    elif len(family.train_sizes) == 1:
        missing = ("One training size only: run several, for example "
                   "train_size=[50,100,200,500,1000]")
    elif len(family.learners) == 0:
        missing = ("No benchmark score tells the order of the learners: there is no benchmarking "
                   "set, or every split failed")
    elif len(family.learners) == 1:
        missing = f"One learner only, {family.learners[0]}: a ranking needs two or more"
    elif not np.isfinite(scores).all(axis=(1, 3)).any():
        missing = "No seed has a score of every learner and split"
    if missing:
        return family, None, missing
    rng = np.random.default_rng(0)
    n_splits = reported_splits(scores.shape[-1])
    return family, ranking_gain(family.train_sizes, scores, rng, n_splits), ""


def gain_notes(gain):
    """What a reader of the ranking gains must know.

    Returns
    -------
    list of str
    """
    sizes = gain.train_sizes[gain.n_seeds > 0]
    if gain.single == sizes[0]:
        return [f"One split reaches the level at {sizes[0]} training examples already, so the gain "
                "isn't defined: run smaller training sizes"]
    if np.isinf(gain.single):
        said = [f"One split doesn't reach the level by {sizes[-1]} training examples: gains are "
                "lower bounds"]
    else:
        said = [f"One split reaches the level at {gain.single:.0f} training examples"]
    unreached = gain.n_splits[np.isinf(gain.threshold)]
    small = gain.n_splits[gain.threshold == sizes[0]]
    if len(unreached):
        said.append(f"Without a gain, as they don't reach it: K = {_listed(unreached)}")
    if len(small):
        said.append(f"Lower bounds, as they reach it at {sizes[0]} already: K = {_listed(small)}")
    if gain.n_seeds.max() < ENOUGH_SEEDS:
        said.append(f"{gain.n_seeds.max()} seeds: the interval is too narrow, {ENOUGH_SEEDS} are "
                    "enough")
    return said


def seed_note(gain):
    """The seeds that the retrieval probabilities are shares of."""
    fewest, most = gain.n_seeds.min(), gain.n_seeds.max()
    said = f"{most} seeds" if fewest == most else f"{fewest} to {most} seeds per training size"
    return said + (", those without a missing score" if gain.n_failed.any() else "")


def _listed(n_splits):
    return ", ".join(map(str, n_splits.tolist()))


def grid_options(results):
    """Option of a plot: the grids of training sizes."""
    return list(dict.fromkeys(grid_labels(results).values()))
