"""From the outcomes of one solver run to rows: one per split and budget."""
import numpy as np
import pandas as pd

from benchmark_utils.redundancy import Redundancy
from benchmark_utils.scoring import PRIMARY, SECONDARY
from benchmark_utils.views import View


def make_rows(outcomes, splits, study, population, is_bootstrap):
    """One row per split and budget.

    Parameters
    ----------
    outcomes : list of dict, see `Tuner.outcomes`
    splits : list of Split
    study : Examples
    population : Population
    is_bootstrap : bool, whether seeds are meant to share their study set

    Returns
    -------
    list of dict
        The columns of every row are the same; `n_train` and `n_val` are those of the split,
        also where a rule trains on both or on the test fold; a score that wasn't computed is
        NaN. `*redundancy*` and `outer_deltas` are given at the largest budget only,
        `stopped` says on the last split why others weren't made.
    """
    task = population.task
    pool_share = (
        len(study) / population.n_pool if population.is_pool and not is_bootstrap else np.nan
    )
    budget = max(outcome["budget"] for outcome in outcomes)
    redundancy = _redundancy(
        [o for o in outcomes if o["budget"] == budget], splits, len(study), task
    )
    duplicates = _duplicate_groups(study)
    n_duplicates = [_count_duplicates(duplicates, split) for split in splits]

    rows = []
    for outcome in outcomes:
        k, record, is_last = outcome["split"], outcome["record"], outcome["budget"] == budget

        def get(name, record=record):
            return record.get(name, np.nan)

        row = {
            "split": k, "budget": outcome["budget"], "config": outcome["config"],
            "score_val": get("score_val"),
            "score_test": get("score_test"),
            "score_bench": get("score_bench"),
            "delta": get("score_test") - get("score_bench"),
        }
        for name in SECONDARY[task]:
            row[f"{name}_test"] = get(f"{name}_test")
            row[f"{name}_bench"] = get(f"{name}_bench")
            row[f"{name}_delta"] = row[f"{name}_test"] - row[f"{name}_bench"]
        is_refit = k < 0
        row |= redundancy[k if is_last else None] | {
            "outer_deltas": record.get("outer_deltas") if is_last else None,
            "n_study": len(study),
            "n_train": len(study) if is_refit else len(splits[k].train),
            "n_val": 0 if is_refit else len(splits[k].val),
            "n_test": 0 if is_refit else len(splits[k].test),
            "n_bench": population.n_bench, "pool_share": pool_share,
            "n_duplicates": 0 if is_refit else n_duplicates[k],
            "hyperparameters": outcome["hyperparameters"],
            "n_ties": outcome["n_ties"], "n_failed_configs": outcome["n_failed_configs"],
            "score_bench_best": outcome["score_bench_best"],
            "fit_seconds": get("fit_seconds"), "predict_seconds": get("predict_seconds"),
            "status": record["status"], "message": record["message"],
            "stopped": outcome.get("stopped", ""),
            "task": task, "data": population.description,
        }
        # Benchopt pickles the rows, and NumPy's numbers take some ninety times as long as Python's.
        rows.append({
            name: value.item() if isinstance(value, np.generic) else value
            for name, value in row.items()
        })
    return rows


def _redundancy(outcomes, splits, n_study, task):
    """Columns on redundancy after each split, by its number; None stands for "not given".

    Of the losses that are means over examples, and of one number for each prediction.
    """
    metrics = [PRIMARY[task], *(name for name in SECONDARY[task] if name != "r2")]
    columns = ["redundancy", *(f"{name}_redundancy" for name in metrics[1:]), "redundancy_product"]
    running = Redundancy(len(splits), n_study, test_fraction=1.0, n_losses=len(metrics) + 1)
    # With groups, and in a bootstrap, test sets differ in size.
    n_tested = np.cumsum([len(split.test) for split in splits])
    missing = dict.fromkeys(columns, np.nan)
    after = {None: missing, -1: missing}
    for outcome in outcomes:
        k, record = outcome["split"], outcome["record"]
        if k < 0:
            continue
        if record["status"] == "ok":
            n_test = len(splits[k].test)
            scores = [record["test_scores"].get(name, np.full(n_test, np.nan)) for name in metrics]
            predictions = record["test_predictions"]
            running.add(splits[k].test, [
                *scores, np.full(n_test, np.nan) if predictions is None else predictions,
            ])
        test_fraction = n_tested[k] / (k + 1) / n_study
        values = [*(test_fraction * running.omega[:-1]), running.product(-1, 0)]
        after[k] = dict(zip(columns, values, strict=True))
    return after


def _duplicate_groups(study):
    """Group of exactly equal examples that each example belongs to; None where X has no rows
    to compare or all differ."""
    X = study.X
    if isinstance(X, View):
        X = np.array(X.content(), object)
    if not isinstance(X, (pd.DataFrame, np.ndarray)):
        return None
    if isinstance(X, np.ndarray):
        X = X.reshape(len(study), -1)
    X = pd.DataFrame(X)
    # No column of a table or an array has this name.
    table = pd.concat([X, pd.Series(study.y, X.index, name=-1)], axis=1)
    if not table.duplicated().any():
        return None
    return table.groupby(list(table.columns), dropna=False, sort=False).ngroup().to_numpy()


def _count_duplicates(groups, split):
    """Test examples that are exactly equal, label included, to one used for fitting."""
    if groups is None:
        return 0
    fitted = np.concatenate([split.train, split.val])
    return int(np.isin(groups[split.test], groups[fitted]).sum())
