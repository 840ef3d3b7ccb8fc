"""Does the redundancy of the first few splits of one run tell how large the gain can become?

"Crossing the Validation Crisis" (arXiv 2606.12552), D.3 and Table D.1: each configuration (data
set, setting and learner) has one exact gain, and each of its seeds one redundancy ω after the first
splits; runs are cut into three equal parts by ω.
"""
from functools import partial

import numpy as np
import pandas as pd
from scipy.stats import pearsonr, spearmanr

from benchmark_utils.analysis.frames import memoised, outer_matrix, score_matrix, tidy
from benchmark_utils.analysis.gain import sample_gain

#: splits after which ω is looked at
EARLY = (2, 3, 5)
#: number of splits K -> the gain G_K that counts as large
LARGE = {20: 10, 200: 20}
PARTS = ("low", "mid", "high")
#: in how many ways the seeds are cut into halves, to see how far their gains agree
N_HALVINGS = 20


@memoised
def configurations(results):
    """What single runs and gains are made of, for each configuration whose gain can be measured.

    Parameters
    ----------
    results : DataFrame, as Benchopt saves it

    Returns
    -------
    list of (omega, gain)
        `omega` is a frame with one row per seed and one column per split; `gain` a callable
        (positions of seeds) -> dict, K -> G_K measured with these seeds, empty where they are
        too few.
    """
    rows, made = tidy(results), []
    for _, part in rows.groupby(["dataset", "setting", "learner"], observed=True, sort=False):
        part = part[(part["split"] >= 0) & (part["budget"] == part["budget"].max())]
        delta, outer = score_matrix(part, "delta"), outer_matrix(part)
        # As in the summary, splits count that all seeds made.
        delta = delta[:, :part.groupby("seed").size().min()]
        gain = partial(_gains, delta, outer, int(part["n_test"].iloc[0]))
        if gain(slice(None)):
            made.append((part.pivot(index="seed", columns="split", values="redundancy"), gain))
    return made


def _gains(delta, outer, n_test, seeds):
    targets = [K for K in LARGE if K <= delta.shape[1]]
    gain = targets and sample_gain(
        delta[seeds], outer[seeds], n_test, np.random.default_rng(0), n_resamples=1,
        n_splits=targets,
    )
    return dict(zip(targets, gain.gain, strict=True)) if gain else {}


@memoised
def runs(results):
    """One row per configuration and seed.

    Parameters
    ----------
    results : DataFrame, as Benchopt saves it

    Returns
    -------
    DataFrame
        `configuration`, its number; `omega_k`, ω after the first k splits, NaN where it isn't
        known; `gain_K`, the exact gain of the configuration. No rows where no gain can be
        measured, and no column of a K that no configuration has.
    """
    made = [
        pd.DataFrame(
            {"configuration": i} | {f"omega_{k}": omega.get(k - 1, np.nan) for k in EARLY}
            | {f"gain_{K}": G for K, G in gain(slice(None)).items()}
        )
        for i, (omega, gain) in enumerate(configurations(results))
    ]
    return pd.concat(made, ignore_index=True) if made else pd.DataFrame()


@memoised
def agreement_of_halves(results, K):
    """How far the gains of one half of the seeds agree with those of the other.

    Parameters
    ----------
    results : DataFrame, as Benchopt saves it
    K : int, number of splits

    Returns
    -------
    float in [-1, 1], or None
        Spearman's correlation over the configurations of the G_K of two halves of the seeds,
        mean over `N_HALVINGS` random halvings: near 0 where the measured gains differ by chance,
        so that no ω can tell them. None with fewer than three configurations or four seeds, and
        where all gains are equal.
    """
    correlations = []
    for halving in range(N_HALVINGS):
        pairs = []
        for omega, gain in configurations(results):
            # The same halves for all learners, as those of one data set share its seeds.
            seeds = np.random.default_rng(halving).permutation(len(omega))
            pair = [gain(half).get(K) for half in np.array_split(seeds, 2)]
            if None not in pair:
                pairs.append(pair)
        if len(pairs) < 3 or (np.ptp(pairs, axis=0) == 0).any():
            return None
        correlations.append(spearmanr(*np.transpose(pairs))[0])
    return np.mean(correlations)


def triage_table(results):
    """One row per number of splits looked at and target.

    Parameters
    ----------
    results : DataFrame, as Benchopt saves it; all its data sets, settings and learners count

    Returns
    -------
    DataFrame
        Runs with both ω and gain; Pearson's correlation of ω with log G and Spearman's; G, the
        median gain, and P, the share of gains that are large, of the third of the runs with the
        lowest ω, of the middle and of the highest. No rows with fewer than three runs.
    """
    of_runs = runs(results)
    table = []
    for K, large in LARGE.items():
        for k in EARLY:
            if f"gain_{K}" not in of_runs:
                continue
            valid = of_runs[[f"omega_{k}", f"gain_{K}"]].dropna().to_numpy(float)
            if len(valid) < len(PARTS):
                continue
            omega, gain = valid.T
            varies = np.ptp(omega) > 0 and np.ptp(gain) > 0
            thirds = np.array_split(gain[np.argsort(omega, kind="stable")], len(PARTS))
            table.append(
                {
                    "splits": k, "gain": f"G_{K}", "runs": len(valid),
                    "log corr.": pearsonr(omega, np.log(gain))[0] if varies else np.nan,
                    "rank corr.": spearmanr(omega, gain)[0] if varies else np.nan,
                }
                | {f"G {part}": np.median(third)
                   for part, third in zip(PARTS, thirds, strict=True)}
                | {f"P {part}": (third >= large).mean()
                   for part, third in zip(PARTS, thirds, strict=True)}
            )
    return pd.DataFrame(table)


def triage_notes(results):
    """What the columns of the table mean, and which configurations it rests on."""
    of_runs = runs(results)
    if of_runs.empty:
        return []
    n = of_runs["configuration"].nunique()
    targets = " and ".join(
        f"G_{K} ≥ {large}" for K, large in LARGE.items() if f"gain_{K}" in of_runs
    )
    notes = [
        f"single runs of {n} configurations, cut into thirds by ω after some splits",
        f"G: median gain of the third with low, middle and high ω; P: share with {targets}",
    ]
    for K in LARGE:
        agreement = agreement_of_halves(results, K)
        if agreement is not None:
            notes.append(
                f"rank correlation of the G_{K} of one half of the seeds with those of the other: "
                f"{agreement:.2f}; near 0, gains differ by chance, and no ω can tell them"
            )
    return notes
