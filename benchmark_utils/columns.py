"""Columns of a table as numbers, booleans or text, each with its missing values."""
import re

import pandas as pd
from pandas.api import types

from benchmark_utils.encoding import column_kinds
from benchmark_utils.errors import LONGEST_LIST

#: what stands for a missing number or boolean in a text file
MISSING = (
    "", "?", "NA", "N/A", "n/a", "<NA>", "#N/A", "NaN", "nan", "NaT", "NULL", "null", "None",
)
#: a date, or date and time, of ISO 8601
DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
# Squares of larger numbers, and sums of them, overflow.
LARGEST_NUMBER = 1e100
# What the values of an untyped column are called by pandas, and the type they are given.
OBJECT_TYPES = {
    "boolean": "boolean", "date": "datetime64[s]", "decimal": "float64", "empty": "float64",
    "string": "str",
}


def feature(table, name, decimal):
    """A column as float64, booleans or text.

    Parameters
    ----------
    table : Table
    name : str, the column's
    decimal : "." or ",", the decimal mark in a text file

    Raises
    ------
    InputError
        For numbers that are infinite or beyond ±`LARGEST_NUMBER`, written with another decimal mark
        or marks of thousands, and for values of other types.
    """
    column = standard(table, name)
    if table.lines is not None:
        column = _dates(typed(column, MISSING, decimal))
        if types.is_string_dtype(column):
            check_decimal(table, name, decimal)
    if types.is_string_dtype(column) or types.is_bool_dtype(column):
        return column
    column = column.astype("float64")
    check_magnitude(table, "column", name, column)
    return column


def standard(table, name):
    """A column as numbers, booleans or text, whatever type it was read with."""
    column = table.frame[name]
    if column.dtype == object:
        column = column.astype(OBJECT_TYPES.get(types.infer_dtype(column, skipna=True), object))
    if isinstance(column.dtype, pd.CategoricalDtype) or types.is_string_dtype(column):
        return column.astype("str")
    if types.is_bool_dtype(column):
        return column.astype("boolean")
    if types.is_numeric_dtype(column):
        return column
    if types.is_timedelta64_dtype(column):
        return column / pd.Timedelta(seconds=1)
    if types.is_datetime64_any_dtype(column):
        return _seconds(column)
    raise table.error(
        f"column {name!r} holds values of a type that can't be used "
        f"({table.example(name, column.notna())}): remove or convert it"
    )


def typed(text, missing, decimal):
    """A column of text as numbers or booleans where all its values are, and otherwise as text."""
    text = text.str.strip()
    present = text[~text.isin(missing) & text.notna()]
    if are_numbers(present, decimal).all():
        numbers = pd.to_numeric(present.str.replace(decimal, ".", regex=False))
        return numbers if len(numbers) == len(text) else numbers.astype(float).reindex(text.index)
    lower = present.str.lower()
    if lower.isin(["true", "false"]).all():
        return (lower == "true").astype("boolean").reindex(text.index)
    return text.mask(text == "")


def almost_numeric(table, X, decimal):
    """Remarks on columns that are text because of a few values only."""
    remarks = []
    for name in column_kinds(X)["categorical"]:
        text = X[name]
        numbers = are_numbers(text, decimal)
        is_text = ~numbers & text.notna() & ~text.isin(MISSING)
        if numbers.sum() > is_text.sum():
            remarks.append(
                f"{name!r} is categorical only because of values such as "
                f"{table.example(name, is_text)}"
            )
    return remarks[:LONGEST_LIST]


def check_magnitude(table, role, name, numbers):
    """InputError for numbers whose squares overflow; `role` is what the column is called."""
    is_wrong = numbers.abs() > LARGEST_NUMBER
    if is_wrong.any():
        raise table.error(
            f"{role} {name!r} is infinite or beyond ±{LARGEST_NUMBER:g} ("
            f"{table.example(name, is_wrong)}): correct it, or mark it as missing"
        )


def _dates(column):
    """A column of text as seconds since 1970 where all its values are dates or times."""
    if not types.is_string_dtype(column):
        return column
    present = column[~column.isin(MISSING) & column.notna()]
    if not present.str.fullmatch(DATE, flags=re.ASCII).all():
        return column
    try:
        # Unlike ISO 8601, pandas knows no decimal comma.
        times = pd.to_datetime(present.str.replace(",", "."), format="ISO8601", utc=True)
    except ValueError:
        # Such as 2024-02-30.
        return column
    return _seconds(times).reindex(column.index)


def _seconds(times):
    # In nanoseconds, the year 9999 is out of range.
    start = pd.Timestamp(0, tz=times.dt.tz).as_unit("s")
    return (times - start) / pd.Timedelta(seconds=1).as_unit("s")


def are_numbers(text, decimal):
    """Boolean Series: which texts are numbers."""
    mark = re.escape(decimal)
    digits = rf"(\d+({mark}\d*)?|{mark}\d+)(e[+-]?\d+)?"
    return text.str.fullmatch(
        rf"[+-]?({digits}|inf|infinity)", flags=re.ASCII | re.IGNORECASE, na=False
    )


def check_decimal(table, name, decimal):
    """InputError where most of a column's texts are numbers with other marks."""
    text = table.frame[name].str.strip()
    most = (~text.isin(MISSING)).sum() / 2
    other = "," if decimal == "." else "."
    mark, other_mark = re.escape(decimal), re.escape(other)
    looks = text.str.fullmatch(rf"[+-]?\d+{other_mark}\d+", flags=re.ASCII)
    if looks.sum() > most:
        raise table.error(
            f"column {name!r} holds numbers with another decimal mark than decimal={decimal!r} "
            f"({table.example(name, looks)}): pass decimal={other!r}; marks of thousands must be "
            "removed"
        )
    # Unlike 1,234, 1,234,567 and 1,234.5 are in no doubt.
    looks = text.str.fullmatch(
        rf"[+-]?\d{{1,3}}({other_mark}\d{{3}})+({other_mark}\d{{3}}|{mark}\d*)", flags=re.ASCII
    )
    if looks.sum() > most:
        raise table.error(
            f"column {name!r} holds numbers with marks of thousands "
            f"({table.example(name, looks)}): remove them"
        )
