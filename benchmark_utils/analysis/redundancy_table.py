"""Redundancy of the splits for each metric, and what it promises."""
import numpy as np
import pandas as pd

from benchmark_utils.analysis.advice import EARLY, FEW, MANY
from benchmark_utils.analysis.frames import by_learner
from benchmark_utils.analysis.summary import final_rows, splits_made
from benchmark_utils.redundancy import predicted_gain
from benchmark_utils.scoring import PRIMARY

SUFFIX = "_redundancy"


def redundancy_table(results, dataset, setting):
    """One row per learner and metric that is a mean over examples.

    Parameters
    ----------
    results : DataFrame, as Benchopt saves it
    dataset, setting : labels, see `frames.labels`

    Returns
    -------
    DataFrame
        Medians over seeds: ω after the first splits and after all; Ĝ, the gain that the last
        predicts for 20 and 200 splits; and, for the primary metric, the paper's first definition
        of redundancy, which isn't bounded, see `Redundancy.product`. A metric without any ω (as
        log loss is of classes without probabilities) has no row.
    """
    rows = final_rows(results, dataset, setting)
    if rows.empty:
        return pd.DataFrame()
    columns = {PRIMARY[rows["task"].iloc[0]]: "redundancy"} | {
        name.removesuffix(SUFFIX): name for name in rows if name.endswith(SUFFIX)
    }
    table_rows = []
    for learner, part in by_learner(rows):
        first = part.iloc[0]
        fraction = part["n_test"].mean() / first["n_study"]
        ok = part[part["status"] == "ok"].sort_values("split").groupby("seed")
        for metric, column in columns.items():
            if part[column].isna().all():
                continue
            omega, last = part.groupby("split")[column].median(), ok[column].last().median()
            has_product = column == "redundancy" and "redundancy_product" in part
            table_rows.append({
                "learner": learner, "metric": metric,
                **{f"ω_{k}": omega.get(k - 1, np.nan) for k in EARLY},
                f"ω_{splits_made(rows)}": last,
                **{f"Ĝ_{n}": predicted_gain(last, n, fraction, first["procedure"])
                   for n in (FEW, MANY)},
                "product": ok["redundancy_product"].last().median() if has_product else np.nan,
            })
    return pd.DataFrame(table_rows)
