"""Populations from tables of real data: checked, and described."""
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
from pandas.api import types

from benchmark_utils.columns import (
    MISSING,
    almost_numeric,
    are_numbers,
    check_decimal,
    check_magnitude,
    feature,
    standard,
    typed,
)
from benchmark_utils.encoding import column_kinds
from benchmark_utils.errors import LONGEST_LIST, InputError, listed, suggestion
from benchmark_utils.population import PoolPopulation
from benchmark_utils.table_files import openml_id, read_bundled, read_file, read_openml

TASKS = ("classification", "regression")
MIN_EXAMPLES = 10
# A benchmarking set is set aside by itself if it is this share, and has this many examples.
AUTO_BENCH_PERCENT = 60
MIN_AUTO_BENCH = 1000
# More distinct values than this, not all of them integers, aren't taken for classes.
MAX_FRACTIONAL_CLASSES = 20
# Examples of a class below which it is called rare, and standard deviations by which more
# neighbours resemble each other than in random order for the rows to be called ordered.
RARE, ORDERED = 10, 5
MIN_FEWER = 5  # changes of class that random order would have more


# A copy is kept because every worker asks again for each repetition. Typed, because 1 and 1.0
# are equal but a bench_size of 1 is one example and 1.0 a fraction.
@lru_cache(maxsize=8, typed=True)
def load_population(
    dataset, path, content, target, task, sep, decimal, encoding, bench_size, group
):
    """The population that the data set `tabular` stands for.

    Parameters
    ----------
    dataset : str or int, one of `BUNDLED` or see `openml_id`; not used where there is a path
    path : str or None
    content : str or None, hash of the file's content; a copy in memory is only
        good for the same content
    target, task, decimal, bench_size, group : see `make_population`
    sep, encoding : see `read_file`

    Returns
    -------
    PoolPopulation

    Raises
    ------
    InputError
        For anything that can't be used.
    """
    if path is not None:
        table = read_file(path, sep, encoding)
    elif openml_id(dataset) is not None:
        table = read_openml(openml_id(dataset))
    else:
        table = read_bundled(dataset)
    population = make_population(table, target, task, decimal, bench_size, group)
    population.file_name = None if path is None else Path(path).name
    return population


def make_population(table, target=None, task=None, decimal=".", bench_size="auto", group=None):
    """Check a table and make a population of its rows.

    Features become float64 (dates and times as seconds since 1970, time spans
    as seconds), boolean or text, with their missing values. In a text file, a
    column is numeric if all its values but the missing ones (`MISSING`) are
    numbers, boolean if they are true or false in any case, a date or time if they
    are of ISO 8601 (`DATE`), and text otherwise, of which only the empty one is
    missing.

    Parameters
    ----------
    table : Table
    target : str or None, the target's column; None only where the table knows it
    task : "classification", "regression" or None; None only where the table
        knows it, for the target it knows
    decimal : "." or ",", the decimal mark in a text file
    bench_size : int, size of the benchmarking set, 0 for none; or float, its
        share of the examples; or "auto": 60 % if that is at least 1,000
        examples, otherwise none; with groups, none
    group : str or None, a column whose equal values mark examples that belong
        together: none of them is on both sides of a split, and it is no feature

    Returns
    -------
    PoolPopulation
        Its classes are the sorted labels: text, booleans or numbers.

    Raises
    ------
    InputError
        For anything in the table or the parameters that can't be used.
    """
    frame = table.frame
    if decimal not in (".", ","):
        raise InputError(f"decimal={decimal!r} is neither '.' nor ','")
    if frame.columns.has_duplicates:
        name = frame.columns[frame.columns.duplicated()][0]
        raise table.error(f"there are several columns {name!r}: rename them")
    target = _target_name(table, target)
    if task is None and target == table.target:
        task = table.task
    if task not in TASKS:
        stated = "task is not stated" if task is None else f"task={task!r} is unknown"
        raise table.error(f"{stated}: state task=classification or task=regression")
    group = None if group is None else _column(table, "group", group)
    if group == target:
        raise table.error(f"the column {target!r} can't be both target and group")
    features = [name for name in frame.columns if name not in (target, group)]
    if not features:
        raise table.error(f"there are no features, only the target {target!r}"
                          + ("" if group is None else f" and the group {group!r}"))
    if len(frame) < MIN_EXAMPLES:
        raise table.error(f"too few examples, {len(frame)}: at least {MIN_EXAMPLES} are needed")
    if group is not None and bench_size == "auto":
        bench_size = 0
    n_bench, about_bench = _bench_count(table, bench_size)
    groups, about_groups = _groups(table, group)

    y, classes, about_target = _target(table, target, task, decimal)
    X = pd.DataFrame(
        {name: feature(table, name, decimal) for name in features}
    )
    n_duplicates = int(pd.concat([X, pd.Series(y, X.index)], axis=1).duplicated().sum())
    description = "; ".join([
        f"{table.name}: {_counted(len(X), 'example')}, {_about_features(X)}, {about_target}",
        _counted(n_duplicates, "duplicate example"), about_bench,
        *about_groups, *almost_numeric(table, X, decimal), *_rare_classes(y, classes),
        *(_order(y, classes) if group is None else []),
    ])
    return PoolPopulation(X, y, task, n_bench, description, classes, groups=groups)


def _target_name(table, target):
    if target is None:
        target = table.target
    columns = list(table.frame.columns)
    if target is None:
        raise table.error(f"target is not stated: the columns are {listed(columns, 20)}")
    return _column(table, "target", target)


def _column(table, role, name):
    # Benchopt's command line turns 2020 and True into a number and a boolean.
    name, columns = str(name), list(table.frame.columns)
    if name not in columns:
        raise table.error(f"there is no column {role}={name!r}: {suggestion(name, columns)}")
    return name


def _groups(table, name):
    """The groups as `Examples` wants them, and a description."""
    if name is None:
        return None, []
    column = table.frame[name]
    if table.lines is not None:
        # Among numbers, NA is a missing one.
        column = column.str.strip().mask(typed(column, MISSING, ".").isna())
    is_missing = (column.isna() | (column == "")).to_numpy(bool)
    if is_missing.any():
        raise table.error(
            f"group {name!r} is missing in {_counted(is_missing.sum(), 'example')} "
            f"({table.where(np.flatnonzero(is_missing))}): fill it in or remove these rows"
        )
    try:
        groups, values = pd.factorize(column)
    except TypeError:
        raise table.error(
            f"group {name!r} holds values of a type that can't be used "
            f"({table.example(name, column.notna())}): convert them to text"
        ) from None
    return groups, [f"{_counted(len(values), 'group')} by {name!r}, kept together in every split"]


def _target(table, name, task, decimal):
    """The labels as `Examples` wants them, the classes and a description."""
    column = standard(table, name)
    if types.is_string_dtype(column):
        text = column
        column = typed(text, MISSING, decimal)
        if task == "classification" and column.isna().all():
            # NA and None may well be classes, but not beside numbers.
            column = typed(text, ("",), decimal)
    if column.isna().any():
        raise table.error(
            f"target {name!r} is missing in {_counted(column.isna().sum(), 'example')} "
            f"({table.where(np.flatnonzero(column.isna()))}): fill it in or remove these rows"
        )
    is_number = types.is_numeric_dtype(column) and not types.is_bool_dtype(column)
    if is_number:
        check_magnitude(table, "target", name, column)
    if column.nunique() == 1:
        raise table.error(f"target {name!r} is always {column.tolist()[0]!r}: choose another")
    is_integer = is_number and (column % 1 == 0).all()
    if task == "classification":
        return _labels(table, name, column, is_number and not is_integer)
    if not is_number:
        if table.lines is not None:
            check_decimal(table, name, decimal)
        is_wrong = np.ones(len(column), dtype=bool)
        if types.is_string_dtype(column):
            is_wrong = ~column.isin(MISSING) & ~are_numbers(column, decimal)
        raise table.error(
            f"target {name!r} is not numeric ({table.example(name, is_wrong)}): use "
            "task=classification or correct it"
        )
    y = column.to_numpy(float)
    about = f"regression of target {name!r} from {y.min():.6g} to {y.max():.6g}"
    if is_integer:
        about += f"; integer target with {column.nunique()} distinct values, treated as regression"
    return y, None, about


def _labels(table, name, column, is_fractional):
    y, classes = pd.factorize(column, sort=True)
    if is_fractional and len(classes) > MAX_FRACTIONAL_CLASSES:
        raise table.error(
            f"target {name!r} has {len(classes)} distinct values, not all of them integers: use "
            "task=regression"
        )
    classes = classes.tolist()
    if types.is_float_dtype(column) and not is_fractional:
        classes = [int(label) for label in classes]
    counts = np.bincount(y)
    largest = np.argsort(-counts, kind="stable")[:LONGEST_LIST + 1]
    shown = listed([f"{classes[code]} ({counts[code]:,})" for code in largest])
    return y, classes, f"classification into {len(classes)} classes of target {name!r}: {shown}"


def _bench_count(table, bench_size):
    """Size of the benchmarking set, and a description."""
    n = len(table.frame)
    if bench_size == "auto":
        n_bench = n * AUTO_BENCH_PERCENT // 100
        if n_bench < MIN_AUTO_BENCH:
            return 0, "no benchmarking set (too small)"
    elif isinstance(bench_size, float) and 0 <= bench_size < 1:
        n_bench = round(bench_size * n)
    elif isinstance(bench_size, int) and not isinstance(bench_size, bool) and bench_size >= 0:
        n_bench = bench_size
    else:
        raise InputError(
            f"bench_size={bench_size!r} is neither 'auto', nor a number of examples (an integer "
            "≥ 0), nor a fraction (at least 0.0, below 1.0)"
        )
    if n - n_bench < MIN_EXAMPLES:
        raise table.error(
            f"bench_size={bench_size} leaves {max(n - n_bench, 0)} of {n} examples for study sets, "
            f"fewer than {MIN_EXAMPLES}: use bench_size={n - MIN_EXAMPLES} or less"
        )
    return n_bench, f"benchmarking set of {n_bench:,}" if n_bench else "no benchmarking set"


def _rare_classes(y, classes):
    if classes is None:
        return []
    counts = np.bincount(y, minlength=len(classes))
    remarks = [f"class {name!r} is rare ({_counted(n, 'example')})"
               for name, n in zip(classes, counts, strict=True) if n < RARE]
    if len(remarks) > LONGEST_LIST:
        return [f"{len(remarks):,} classes are rare (fewer than {RARE} examples each)"]
    return remarks


def _order(y, classes):
    """Whether neighbouring rows resemble each other more than chance allows."""
    if classes is None:
        centred = y - y.mean()
        z = (centred[1:] * centred[:-1]).sum() / (centred**2).sum() * np.sqrt(len(y))
    else:
        # Mean and variance of the number of unequal neighbours over all orders of these labels:
        # the runs test of Wald and Wolfowitz for any number of classes.
        n, counts = len(y), np.bincount(y).astype(float)
        squares, cubes = (counts**2).sum(), (counts**3).sum()
        variance = (squares * (squares + n * (n + 1)) - 2 * n * cubes - n**3) / (n**2 * (n - 1))
        n_fewer = n - squares / n - (y[1:] != y[:-1]).sum()
        # Of a class with three members, two are side by side too often for the normal law.
        z = n_fewer / np.sqrt(variance) if variance and n_fewer >= MIN_FEWER else 0.0
    if z < ORDERED:
        return []
    return ["neighbouring rows have similar targets: if that comes from groups (patients, sites) "
            "or from time, random splits make scores look better than they are"]


def _about_features(X):
    kinds = [f"{len(names):,} {kind}" for kind, names in column_kinds(X).items() if names]
    missing = _counted(int(X.isna().sum().sum()), "missing value")
    return f"{_counted(X.shape[1], 'feature')} ({', '.join(kinds)}; {missing})"


def _counted(n, noun):
    return f"{format(n, ',') if n else 'no'} {noun}{'' if n == 1 else 's'}"
