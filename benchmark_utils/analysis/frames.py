"""From Benchopt's result frame to tidy frames and arrays."""
import math
import re
import weakref
from functools import wraps

import numpy as np
import pandas as pd

COMPONENTS = {
    "dataset": "p_dataset_", "setting": "p_obj_", "learner": "p_solver_",
    "algorithm": "p_solver_", "untuned": "p_solver_",
}
NAMES = {
    "dataset": "dataset_name", "setting": "objective_name", "learner": "solver_name",
    "algorithm": "solver_name", "untuned": "solver_name",
}
#: what tells the rows of a result file apart
KEY = ["dataset_name", "objective_name", "solver_name", "base_seed", "idx_rep", "objective_split",
       "objective_budget"]
#: parameters that a label leaves out
IGNORED = {
    "algorithm": {"p_solver_tuning", "p_solver_n_configs"},
    "untuned": {"p_solver_tuning", "p_solver_n_configs", "p_solver_search",
                "p_solver_inner_folds"},
}


def memoised(function):
    """Remember the results of function(frame, *args) for as long as the frame lives.

    Benchopt calls every plot once per combination of its options, all with the same frame.
    """
    memory = {}

    @wraps(function)
    def wrapper(frame, *args):
        key = id(frame)
        if key not in memory:
            memory[key] = {}
            weakref.finalize(frame, memory.pop, key, None)
        if args not in memory[key]:
            memory[key][args] = function(frame, *args)
        return memory[key][args]

    return wrapper


@memoised
def tidy(results):
    """Rows of the objective with short labels.

    Parameters
    ----------
    results : DataFrame, as Benchopt saves it

    Returns
    -------
    DataFrame
        The columns of `benchmark_utils.rows`, without prefix, and `dataset`,
        `setting`, `learner`, `algorithm` and `untuned` (categories, in the order of
        the results; an algorithm is a learner whatever its tuning rule and budget,
        and untuned what is the same whatever the search, too),
        the solver's `tuning`, `search` and `n_configs`, the objective's `procedure`,
        and `seed`. Rows that are there twice, as of one solver named twice, count once.
    """
    results = results.drop_duplicates([name for name in KEY if name in results], keep="last")
    rows = pd.DataFrame({
        name.removeprefix("objective_"): results[name]
        for name in results.columns
        if name.startswith("objective_") and name != "objective_name"
    })
    for component in COMPONENTS:
        label = results[NAMES[component]].map(labels(results, component))
        rows[component] = pd.Categorical(label, categories=list(dict.fromkeys(label)))
    for name in ("tuning", "search", "n_configs"):
        rows[name] = results[f"p_solver_{name}"]
    rows["procedure"] = results["p_obj_procedure"]
    rows["seed"] = results["idx_rep"]
    bases = [name for name in ("base_seed", "idx_rep") if name in results]
    if len(bases) == 2 and results["base_seed"].nunique() > 1:
        rows["seed"] = results.groupby(bases, sort=False).ngroup()
    return rows


@memoised
def labels(results, component):
    """Short labels: the name with only those parameters that differ within the results.

    Parameters
    ----------
    results : DataFrame, as Benchopt saves it
    component : "dataset", "setting" (the objective's parameters), "learner",
        "algorithm" (the learner without its tuning rule and budget) or "untuned"
        (without any parameter of its search)

    Returns
    -------
    dict, Benchopt's full name -> label, in order of appearance
    """
    full_name, prefix = NAMES[component], COMPONENTS[component]
    columns = [
        c for c in results.columns
        if c.startswith(prefix) and c not in IGNORED.get(component, ())
    ]
    variants = results.drop_duplicates(full_name).set_index(full_name)[columns]
    bases = variants.index.map(lambda name: re.sub(r"\[.*\]$", "", name))
    short = {}
    for name, base in zip(variants.index, bases, strict=True):
        siblings = variants[bases == base].dropna(axis=1, how="all")
        differing = [c for c in siblings.columns if siblings[c].map(_as_text).nunique() > 1]
        described = ", ".join(
            f"{c.removeprefix(prefix)}={_as_text(siblings.at[name, c])}" for c in differing
        )
        if component == "setting":
            short[name] = described or "as configured"
        else:
            short[name] = f"{base} ({described})" if described else base
    return short


def _as_text(value):
    # Beside a solver without the parameter, integers are saved as floats and None as NaN.
    if value is None or value != value:
        return "None"
    is_whole = isinstance(value, float) and value.is_integer()
    return str(int(value) if is_whole else value)


def select(rows, **labels):
    """The rows with these labels, e.g. select(rows, dataset="digits", setting="n_splits=20")."""
    chosen = np.ones(len(rows), bool)
    for column, label in labels.items():
        chosen &= (rows[column] == label).to_numpy()
    return rows[chosen]


def by_learner(rows):
    """(label, rows) of each learner that has rows, in the order of the results."""
    for learner in rows["learner"].cat.categories:
        part = rows[rows["learner"] == learner]
        if len(part):
            yield learner, part


def score_matrix(rows, column):
    """One learner's column as an array of shape (S, K), NaN for failed splits."""
    return rows.pivot(index="seed", columns="split", values=column).to_numpy(float)


def outer_matrix(rows):
    """One learner's outer deltas as an array of shape (S, C), in the order of `score_matrix`.

    A seed of which every split failed has NaN; C is 0 without outer set.
    """
    seeds = np.sort(rows["seed"].unique())
    with_outer = rows[rows["outer_deltas"].map(lambda value: isinstance(value, list | np.ndarray))]
    chunks = dict(zip(with_outer["seed"], with_outer["outer_deltas"], strict=True))
    n_chunks = min((len(c) for c in chunks.values()), default=0)
    return np.array([chunks.get(seed, [np.nan] * n_chunks)[:n_chunks] for seed in seeds], float)


def digits(value, n=3):
    """A number with n significant digits, or as an integer, up to a million without exponent."""
    is_long = math.isfinite(value) and 10**n <= round(abs(value)) < 10**6
    return f"{value:.0f}" if is_long else f"{value:.{n}g}"
