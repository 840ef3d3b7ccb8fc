"""Does the redundancy of the first few splits of one run tell how large the gain can become?

"Crossing the Validation Crisis" (arXiv 2606.12552), D.3 and Table D.1: each configuration (data
set, setting and learner) has one exact gain, and each of its seeds one redundancy ω after the first
splits; runs are cut into three equal parts by ω.
"""
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
    rows = tidy(results)
    made = []
    for _, part in rows.groupby(["dataset", "setting", "learner"], observed=True, sort=False):
        part = part[(part["split"] >= 0) & (part["budget"] == part["budget"].max())]
        delta, outer = score_matrix(part, "delta"), outer_matrix(part)
        # As in the summary, splits count that all seeds made.
        delta = delta[:, :part.groupby("seed").size().min()]
        targets = [K for K in LARGE if K <= delta.shape[1]]
        gain = targets and sample_gain(
            delta, outer, int(part["n_test"].iloc[0]), np.random.default_rng(0), n_resamples=1,
            n_splits=targets,
        )
        if not gain:
            continue
        omega = part.pivot(index="seed", columns="split", values="redundancy")
        made.append(pd.DataFrame(
            {"configuration": len(made)}
            | {f"omega_{k}": omega.get(k - 1, np.nan) for k in EARLY}
            | {f"gain_{K}": G for K, G in zip(targets, gain.gain, strict=True)}
        ))
    return pd.concat(made, ignore_index=True) if made else pd.DataFrame()


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
    return [
        f"single runs of {n} configurations, cut into thirds by ω after some splits",
        f"G: median gain of the third with low, middle and high ω; P: share with {targets}",
    ]
