"""From the records of one solver run to rows: one per split."""
import numpy as np
import pandas as pd

from benchmark_utils.redundancy import cumulative_redundancy
from benchmark_utils.scoring import SECONDARY


def make_rows(records, splits, study, population):
    """One row per split.

    Parameters
    ----------
    records : list of dict, one per split, in order
        What `Score` returned, with `status`, `message` and `fit_seconds`; a
        failed split has only these.
    splits : list of Split
    study : Examples
    population : Population

    Returns
    -------
    list of dict
        The columns of every row are the same; a score that wasn't computed is NaN.
    """
    task = population.task
    pool_share = len(study) / population.n_pool if population.is_pool else np.nan
    losses = np.full((len(splits), len(study)), np.nan)
    for k, (record, split) in enumerate(zip(records, splits, strict=True)):
        if record["status"] == "ok":
            losses[k, split.test] = record["test_scores"]
    redundancy = cumulative_redundancy(losses, len(splits[0].test) / len(study))
    duplicates = _duplicate_groups(study)

    rows = []
    for k, (record, split) in enumerate(zip(records, splits, strict=True)):
        def get(name, record=record):
            return record.get(name, np.nan)

        row = {
            "split": k, "budget": 1, "config": 0,
            "score_val": get("score_val"),
            "score_test": get("score_test"),
            "score_bench": get("score_bench"),
            "delta": get("score_test") - get("score_bench"),
        }
        for name in SECONDARY[task]:
            row[f"{name}_test"] = get(f"{name}_test")
            row[f"{name}_bench"] = get(f"{name}_bench")
            row[f"{name}_delta"] = row[f"{name}_test"] - row[f"{name}_bench"]
        row |= {
            "redundancy": redundancy[k],
            "outer_deltas": record.get("outer_deltas"),
            "n_train": len(split.train), "n_val": len(split.val), "n_test": len(split.test),
            "n_bench": population.n_bench, "pool_share": pool_share,
            "n_duplicates": _count_duplicates(duplicates, split),
            "fit_seconds": get("fit_seconds"), "predict_seconds": get("predict_seconds"),
            "status": record["status"], "message": record["message"],
            "task": task, "data": population.description,
        }
        rows.append(row)
    return rows


def _duplicate_groups(study):
    """Group of exactly equal examples that each example belongs to; None where X has no rows
    to compare or all differ."""
    if not isinstance(study.X, (pd.DataFrame, np.ndarray)):
        return None
    X = study.X if isinstance(study.X, pd.DataFrame) else study.X.reshape(len(study), -1)
    table = pd.DataFrame(X).assign(**{"": study.y})
    if not table.duplicated().any():
        return None
    return table.groupby(list(table.columns), dropna=False, sort=False).ngroup().to_numpy()


def _count_duplicates(groups, split):
    """Test examples that are exactly equal, label included, to one used for fitting."""
    if groups is None:
        return 0
    fitted = np.concatenate([split.train, split.val])
    return int(np.isin(groups[split.test], groups[fitted]).sum())
