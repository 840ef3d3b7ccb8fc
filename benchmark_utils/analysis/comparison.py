"""Pairwise comparison of learners: what one study set says of two of them, and what is true.

Sources: Nadeau, Bengio, "Inference for the generalization error", Machine Learning 52, 2003
(corrected resampled t-test); Bouthillier et al., arXiv 2103.03098 (probability of outperforming);
Eve, Varoquaux, Moreau, arXiv 2606.12552, section 4 and appendix G (test over seeds, retrieval).
"""
import math
from bisect import bisect_left
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import pandas as pd
from scipy.special import stdtr, stdtrit  # Student's t, a hundred times faster than scipy.stats

from benchmark_utils.analysis.bootstrap import percentile_interval, resample_counts
from benchmark_utils.analysis.frames import by_learner, digits, memoised
from benchmark_utils.analysis.gap import mean_sd
from benchmark_utils.analysis.ranking import (
    Estimate,
    PairedComparison,
    Retrieval,
    paired_comparison,
    retrieval_probability,
)
from benchmark_utils.analysis.summary import final_rows, splits_made

#: more splits than anybody computes count as infinitely many
MAX_SPLITS = 10**9
#: relative to what is added or subtracted
ROUNDING = 1e-12
#: of each pair in the table; ten learners are 45 pairs
N_RESAMPLES = 10_000


@dataclass(frozen=True)
class ResampledTTest:
    """Corrected resampled t-test of a − b over the splits of one study set, in score units."""

    n_splits: int
    n_failed: int
    mean_difference: float
    sd_difference: float         # over splits, ddof 1, NaN with one split
    # NaN with one split, and with differences that are all the same: no variation to measure by
    low: float                   # interval of the mean difference
    high: float
    t: float
    p: float                     # two-sided


@dataclass(frozen=True)
class Comparison:
    """Learner a against learner b, in score units; see `compare`."""

    n_splits: int                # splits of all seeds that have a score of both
    n_failed: int                # the others
    mean_difference: float       # mean over seeds of the mean over splits of a − b
    typical_difference: float    # median over seeds of the mean over splits
    # medians over seeds of the corrected resampled t-test's; NaN if half of them have none
    low: float
    high: float
    p: float
    splits_needed: float         # median over seeds of `splits_to_resolve`
    outperforms: Estimate        # probability that a beats b on one split
    opposed: bool                # one learner has the higher mean, the other wins most splits
    benchmark: PairedComparison | None       # the rest: None without benchmarking set
    one_split: Retrieval | None
    all_splits: Retrieval | None


def test_to_train_ratio(rows):
    """n_test / n_train of tidy rows; NaN, and so no test, where one partition is repeated, which
    says nothing of others."""
    if (rows["procedure"] == "fixed_split").all():
        return math.nan
    return rows["n_test"].mean() / rows["n_train"].mean()


def corrected_resampled_ttest(a, b, test_to_train, level=0.95):
    """Test whether two learners differ, from K splits of one study set.

    The variance of the mean difference is taken as (1/K + n_test/n_train)·s², with K − 1 degrees
    of freedom: the second term stands for the covariance of splits that share examples. It was
    derived for random subsampling and is a heuristic for K-fold.

    Parameters
    ----------
    a, b : arrays of shape (K,)
        Scores, higher is better; a split with NaN in either is left out.
    test_to_train : float
        n_test / n_train of one split, or NaN for none of the statistics that need it.
    level : float
        Coverage of the interval.

    Returns
    -------
    ResampledTTest
    """
    a, b = np.asarray(a, float), np.asarray(b, float)
    difference = a - b
    used = difference[~np.isnan(difference)]
    K = len(used)
    mean, sd = mean_sd(used)
    if K < 2:
        return ResampledTTest(K, len(difference) - K, mean, *[math.nan] * 5)
    if sd <= ROUNDING * np.nanmax(np.abs([a, b])):
        return ResampledTTest(K, len(difference) - K, mean, 0.0, *[math.nan] * 4)
    error = sd * np.sqrt(1 / K + test_to_train)
    t = mean / error
    half = stdtrit(K - 1, (1 + level) / 2) * error
    return ResampledTTest(
        n_splits=K, n_failed=len(difference) - K, mean_difference=mean, sd_difference=sd,
        low=mean - half, high=mean + half, t=t, p=2 * stdtr(K - 1, -abs(t)),
    )


def splits_to_resolve(mean_difference, sd_difference, test_to_train, alpha=0.05):
    """Splits that would make the corrected resampled t-test significant, all else unchanged.

    Returns
    -------
    float
        The smallest K ≥ 2 with |mean| > t(1 − alpha/2; K − 1)·s·√(1/K + n_test/n_train). Infinity
        where no K will do, as n_test/n_train stays however many the splits: only more data helps.
        NaN where one of the three is, or the standard deviation zero: no test then.
    """
    if any(map(math.isnan, (mean_difference, sd_difference, test_to_train))) or not sd_difference:
        return math.nan

    # Both factors that hold K shrink as it grows, so the first K to resolve can be bisected.
    def resolves(K):
        quantile = stdtrit(K - 1, 1 - alpha / 2)
        return quantile * sd_difference * math.sqrt(1 / K + test_to_train) < abs(mean_difference)

    K = 2 + bisect_left(range(2, MAX_SPLITS + 1), True, key=resolves)
    return K if K <= MAX_SPLITS else math.inf


def probability_of_outperforming(a, b, *, rng, n_resamples=100_000, level=0.95):
    """Probability that a scores higher than b on one split, ties one half.

    The mean over seeds of the share of splits won. Its percentile bootstrap resamples seeds. With
    one seed it resamples splits as if they were independent; they overlap, so that the interval is
    too narrow. Where a wins all splits, or none, the interval is a point.

    Parameters
    ----------
    a, b : arrays of shape (S, K)
        Scores, higher is better; a split with NaN in either is left out.
    rng : numpy.random.Generator
    n_resamples : int
    level : float

    Returns
    -------
    Estimate
        The interval is NaN where there is nothing to resample.
    """
    wins = (1 + np.sign(np.asarray(a, float) - np.asarray(b, float))) / 2
    shares = _mean_over_splits(wins)
    units = shares[~np.isnan(shares)]
    if len(units) == 1:
        units = wins[~np.isnan(wins)]
    n = len(units)
    if n < 2:
        return Estimate(mean_sd(units)[0], math.nan, math.nan, 0)
    low, high = percentile_interval(resample_counts(rng, n, n_resamples) @ units / n, level)
    return Estimate(units.mean(), low, high, 0)


def compare(test_a, test_b, test_to_train, bench_a=None, bench_b=None, *, rng,
            n_resamples=100_000):
    """Compare two learners on S seeds of K splits each.

    The corrected resampled t-test is one seed's, since a study has one. With several, p, the ends
    of the interval and the number of splits needed are each the median over seeds: what a typical
    study set says. A median p isn't the p of all seeds together, which are far more evidence. In
    it, seeds that allow no test count as the least significant.

    With benchmark scores, the paired t-test over seeds (of their means over splits; the paper's
    seeds have one split each) says which learner is better indeed, and retrieval how often the
    test scores of the first split, and the mean of all, say the same. Where that test is not
    significant, the direction that they retrieve is itself uncertain.

    Parameters
    ----------
    test_a, test_b, bench_a, bench_b : arrays of shape (S, K)
        Scores on the same seeds and splits, higher is better. A split with NaN in either learner
        is left out; a mean over splits is then over the others.
    test_to_train, rng, n_resamples : see above

    Returns
    -------
    Comparison
    """
    test_a, test_b = _failing_together(test_a, test_b)
    tests = pd.DataFrame([corrected_resampled_ttest(*seed, test_to_train)
                          for seed in zip(test_a, test_b, strict=True)])
    needed = [splits_to_resolve(*of_seed, test_to_train)
              for of_seed in zip(tests["mean_difference"], tests["sd_difference"], strict=True)]
    typical = tests[["low", "high"]].assign(needed=needed).median()          # without NaN
    untested = tests["p"].isna() & (tests["n_splits"] > 0)
    p = tests["p"].mask(untested, math.inf).median()
    if not p <= 1:
        typical[:] = p = math.nan
    rounding = ROUNDING * np.nansum(np.abs(test_a - test_b))
    differences = tests["mean_difference"]
    mean, median = (0.0 if abs(difference) <= rounding else difference
                    for difference in (differences.mean(), differences.median()))
    outperforms = probability_of_outperforming(test_a, test_b, rng=rng, n_resamples=n_resamples)
    benchmark = one_split = all_splits = None
    if bench_a is not None:
        benchmark = paired_comparison(
            *map(_mean_over_splits, _failing_together(bench_a, bench_b)))
        one_split, all_splits = (
            retrieval_probability(*scores, benchmark.mean_difference, rng=rng,
                                  n_resamples=n_resamples)
            for scores in ((test_a[:, 0], test_b[:, 0]),
                           map(_mean_over_splits, (test_a, test_b))))
    return Comparison(
        n_splits=tests["n_splits"].sum(), n_failed=tests["n_failed"].sum(), mean_difference=mean,
        typical_difference=median, low=typical["low"], high=typical["high"], p=p,
        splits_needed=typical["needed"], outperforms=outperforms,
        opposed=bool(mean and abs(outperforms.value - 0.5) > 1e-12
                     and (mean > 0) != (outperforms.value > 0.5)),
        benchmark=benchmark, one_split=one_split, all_splits=all_splits,
    )


@memoised
def comparisons(results, dataset, setting):
    """dict, (label of a, label of b) -> Comparison, of all pairs under one tuning rule.

    Across rules, the difference would be as much one of optimism as of learners.
    """
    rows = final_rows(results, dataset, setting)
    columns = ["score_test", *(["score_bench"] if (rows["n_bench"] > 0).any() else [])]
    seeds, splits = (np.sort(rows[name].unique()) for name in ("seed", "split"))
    # Learners may lack splits, where they stopped early, and seeds, as a run that raised has no
    # rows at all.
    scores = {
        learner: [part.pivot(index="seed", columns="split", values=column)
                  .reindex(index=seeds, columns=splits).to_numpy(float) for column in columns]
        for learner, part in by_learner(rows)
    }
    rule = rows.drop_duplicates("learner").set_index("learner")["tuning"]
    test_to_train = test_to_train_ratio(rows)
    compared = {}
    for a, b in combinations(scores, 2):
        if rule[a] == rule[b]:
            test, *bench = zip(scores[a], scores[b], strict=True)
            compared[a, b] = compare(*test, test_to_train, *(bench[0] if bench else ()),
                                     rng=np.random.default_rng(0), n_resamples=N_RESAMPLES)
    return compared


def comparison_table(results, dataset, setting):
    """One row per pair of learners under one tuning rule; a DataFrame.

    Differences are a − b in score units; p-values are two-sided and not corrected for the number
    of pairs. The columns "bench" and "retrieved" are missing without benchmarking set.
    """
    K = splits_made(final_rows(results, dataset, setting))
    table_rows = []
    for (a, b), pair in comparisons(results, dataset, setting).items():
        row = {
            "a": a, "b": b, "a − b": pair.mean_difference, "95 %": _interval(pair), "p": pair.p,
            "splits needed": "" if math.isnan(pair.splits_needed)
            else "never enough" if math.isinf(pair.splits_needed)
            else str(math.ceil(pair.splits_needed)),
            "P(a wins)": pair.outperforms.value, "95 % of P": _interval(pair.outperforms),
            "note": "mean and wins are opposed" if pair.opposed else "",
            "paired splits": f"{pair.n_splits}/{pair.n_splits + pair.n_failed}",
        }
        if pair.benchmark is not None:
            row |= {
                "bench a − b": pair.benchmark.mean_difference, "bench p": pair.benchmark.p,
                "retrieved K=1": pair.one_split.probability,
                f"retrieved K={K}": pair.all_splits.probability,
            }
        table_rows.append(row)
    return pd.DataFrame(table_rows)


def comparison_notes(results, dataset, setting):
    """What a reader of the table must know, or why there is none; a list of str."""
    rows = final_rows(results, dataset, setting)
    if rows.empty:
        return []
    if not comparisons(results, dataset, setting):
        return ["Needs two learners under the same tuning rule"]
    n_seeds, K = rows["seed"].nunique(), splits_made(rows)
    said = ["One split per seed: the corrected resampled t-test needs two or more" if K == 1
            else "One partition repeated: no test tells what others would give"
            if math.isnan(test_to_train_ratio(rows))
            else f"Interval, p and splits needed: corrected resampled t-test of {K} splits"
            + (f", median of {n_seeds} seeds; a − b: their mean" if n_seeds > 1 else "")]
    if n_seeds == 1:
        said.append("One seed only: the interval of P(a wins) is over splits, which overlap, so it "
                    "is too narrow")
    if (rows["n_bench"] > 0).any():
        said.append("bench: paired t-test over seeds; retrieved: how often test scores order the "
                    "two as the benchmark does")
    return said


def _failing_together(a, b):
    a, b = np.asarray(a, float), np.asarray(b, float)
    failed = np.isnan(a) | np.isnan(b)
    return np.where(failed, np.nan, a), np.where(failed, np.nan, b)


def _mean_over_splits(scores):
    """(S, K) -> (S,), without NaN; NaN where all are."""
    return pd.DataFrame(scores).mean(axis=1).to_numpy()


def _interval(of):
    return "" if math.isnan(of.low) else f"[{digits(of.low)}, {digits(of.high)}]"
