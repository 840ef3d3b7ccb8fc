"""Tables of real data: read, checked, brought to three kinds of columns, and described."""
import csv
import io
import re
import reprlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn.datasets
from pandas.api import types
from pyarrow.parquet import ParquetFile

from benchmark_utils.encoding import column_kinds
from benchmark_utils.errors import LONGEST_LIST, InputError, listed, suggestion
from benchmark_utils.population import PoolPopulation

TASKS = ("classification", "regression")
#: scikit-learn's bundled data sets and their tasks
BUNDLED = {
    "breast_cancer": "classification",
    "digits": "classification",
    "wine": "classification",
    "diabetes": "regression",
}
#: what stands for a missing number or boolean in a text file
MISSING = (
    "", "?", "NA", "N/A", "n/a", "<NA>", "#N/A", "NaN", "nan", "NaT", "NULL", "null", "None",
)
#: a date, or date and time, of ISO 8601
DATE = r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}([.,]\d+)?)?(Z|[+-]\d{2}:?\d{2})?)?"
COMPRESSED = (".gz", ".bz2", ".zip", ".xz", ".zst")
MIN_EXAMPLES = 10
# A benchmarking set is set aside by itself if it is this share, and has this many examples.
AUTO_BENCH_PERCENT = 60
MIN_AUTO_BENCH = 1000
# More distinct values than this, not all of them integers, aren't taken for classes.
MAX_FRACTIONAL_CLASSES = 20
# Squares of larger numbers, and sums of them, overflow.
LARGEST_NUMBER = 1e100
# What the values of an untyped column are called by pandas, and the type they are given.
OBJECT_TYPES = {
    "boolean": "boolean", "date": "datetime64[s]", "decimal": "float64", "empty": "float64",
    "string": "str",
}
# Examples of a class below which it is called rare, and standard deviations by which more
# neighbours resemble each other than in random order for the rows to be called ordered.
RARE, ORDERED = 10, 5
MIN_FEWER = 5  # changes of class that random order would have more


@dataclass(frozen=True)
class Table:
    """A table as it was read.

    Attributes
    ----------
    name : str, for messages and the description
    frame : DataFrame of n rows; all columns are text where it comes from a text file
    lines : array of shape (n,), the line of the text file in which each row
        starts, counting from 1; None where the table doesn't come from a text file
    target, task : str or None, what is known of the data set without the user's word
    """
    name: str
    frame: pd.DataFrame
    lines: np.ndarray | None = None
    target: str | None = None
    task: str | None = None

    def error(self, message):
        """An InputError that starts with the table's name."""
        return InputError(f"{self.name}: {message}")

    def where(self, rows):
        """How a person finds the rows at these positions; of many, the first few."""
        word, numbers, note = "line", self.lines, ""
        if self.lines is None:
            word, numbers, note = "row", np.arange(len(self.frame)), " (counting from 0)"
        return f"{word}{'s' if len(rows) > 1 else ''} {listed(numbers[rows])}{note}"

    def example(self, name, mask):
        """The first of a column's values in a boolean mask of shape (n,), and where it is."""
        first = [np.asarray(mask).argmax()]
        value = self.frame[name].iloc[first].tolist()[0]
        return f"{reprlib.repr(value)} in {self.where(first)}"


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


def read_file(path, sep=None, encoding="utf-8-sig"):
    """Read a .csv, .tsv or .txt file (as text) or a .parquet or .pq file (with its types).

    Text files have a header line; blanks around values mean nothing; blank
    lines are skipped; values that hold the separator, a line break or a double
    quote are in double quotes.

    Parameters
    ----------
    path : str or Path; ~ is the home folder
    sep : one character; None for a tab in .tsv and a comma in other text files
    encoding : name of a text file's encoding; a byte-order mark never matters

    Returns
    -------
    Table

    Raises
    ------
    InputError
        When it isn't there, isn't of such a format, or is read with the wrong
        separator or encoding.
    """
    path = Path(path).expanduser()
    readers = {
        ".csv": _read_text, ".tsv": _read_text, ".txt": _read_text,
        ".parquet": _read_parquet, ".pq": _read_parquet,
    }
    suffix = path.suffix.lower()
    if not path.is_file():
        what = f"a folder, {path.absolute()}, is no file" if path.is_dir() else (
            f"there is no file {path.absolute()}"
        )
        raise InputError(f"{path.name}: {what}: correct path")
    if suffix not in readers:
        advice = "decompress" if suffix in COMPRESSED else "convert or rename"
        raise InputError(
            f"{path.name}: the extension {suffix!r} is none of {', '.join(readers)}: {advice} the "
            "file"
        )
    if readers[suffix] is _read_parquet:
        return _read_parquet(path)
    return _read_text(path, sep or ("\t" if suffix == ".tsv" else ","), encoding)


def read_bundled(name):
    """Read one of scikit-learn's bundled data sets; InputError for an unknown name."""
    if name not in BUNDLED:
        raise InputError(
            f"dataset={name!r} is unknown: {suggestion(name, BUNDLED)}; or give an OpenML "
            "number, or the path of a file"
        )
    bunch = getattr(sklearn.datasets, f"load_{name}")(as_frame=True)
    frame, task = bunch.frame, BUNDLED[name]
    if task == "classification":
        frame["target"] = bunch.target_names[frame["target"]]
    return Table(name, frame, target="target", task=task)


def openml_id(dataset):
    """The OpenML number in 31, "31" or "openml:31"; None for anything else."""
    match = re.fullmatch(r"(?:openml:)?(\d+)", str(dataset))
    return match and int(match[1])


def read_openml(data_id, n_retries=1):
    """Read an OpenML data set from scikit-learn's cache, or else download it into that cache.

    Parameters
    ----------
    data_id : int
    n_retries : int, how often to try again when the network fails

    Raises
    ------
    InputError
        When it is neither cached nor can be downloaded, or isn't a table.
    """
    try:
        # The faster parser, "pandas", fails on classes that are numbers (scikit-learn 1.9.1 with
        # pandas 3.1).
        bunch = sklearn.datasets.fetch_openml(
            data_id=data_id, as_frame=True, parser="liac-arff", n_retries=n_retries
        )
    # Without a network, OSError; for an unknown number or a sparse table, ValueError.
    except (OSError, ValueError) as error:
        raise InputError(
            f"OpenML {data_id} can't be loaded ({error}): if it isn't downloaded yet, run, with a "
            f'network, benchopt prepare . --force -d "tabular[dataset={data_id}]"'
        ) from error
    target = bunch.target_names[0] if len(bunch.target_names) == 1 else None
    return Table(f"OpenML {data_id} ({bunch.details['name']})", bunch.frame, target=target)


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
        {name: _feature(table, name, decimal) for name in features}
    )
    n_duplicates = int(pd.concat([X, pd.Series(y, X.index)], axis=1).duplicated().sum())
    description = "; ".join([
        f"{table.name}: {_counted(len(X), 'example')}, {_about_features(X)}, {about_target}",
        _counted(n_duplicates, "duplicate example"), about_bench,
        *about_groups, *_almost_numeric(table, X, decimal), *_rare_classes(y, classes),
        *(_order(y, classes) if group is None else []),
    ])
    return PoolPopulation(X, y, task, n_bench, description, classes, groups=groups)


def _read_text(path, sep, encoding):
    if not isinstance(sep, str) or len(sep) != 1:
        raise InputError(f"{path.name}: sep={sep!r} is not a single character")
    try:
        # Benchopt's command line turns 1252 into a number.
        text = path.read_bytes().decode(str(encoding))
    except LookupError:
        raise InputError(f"{path.name}: encoding={encoding!r} is unknown") from None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(
            f"{path.name}: line {line} is not in encoding={encoding!r} ({error.reason}): pass "
            "another, such as encoding='cp1252' or encoding='latin-1'"
        ) from error
    file = io.StringIO(text.removeprefix("\ufeff"), newline="")
    reader = csv.reader(file, delimiter=sep, skipinitialspace=True, strict=True)
    return _parse(path.name, reader, sep)


def _parse(file_name, reader, sep):
    records = _records(file_name, reader)
    _, header = next(records, (0, None))
    if header is None:
        raise InputError(f"{file_name}: the file is empty")
    header = [name.strip() for name in header]
    if header[0].startswith("sep="):
        raise InputError(
            f"{file_name}: line 1 is {sep.join(header)!r}, which only Excel understands: remove it"
        )
    for other in (";", "\t", "|", ","):
        if len(header) == 1 and other != sep and other in header[0]:
            raise InputError(
                f"{file_name}: read with sep={sep!r} the header is a single column, "
                f"{header[0]!r}: pass sep={other!r}"
            )
    if "" in header:
        raise InputError(
            f"{file_name}: column {header.index('') + 1} has no name in the header: name it, or "
            "remove it if it only counts the rows (pandas writes none with index=False)"
        )
    lines, rows = [], []
    for line, row in records:
        if len(row) != len(header):
            raise InputError(
                f"{file_name}: line {line} has {len(row)} value(s) where the header has "
                f"{len(header)}: correct it; values that hold {sep!r} must be in double quotes"
            )
        lines.append(line)
        rows.append(row)
    return Table(file_name, pd.DataFrame(rows, columns=header, dtype="str"), np.array(lines, int))


def _records(file_name, reader):
    """Pairs of each row that isn't blank and the line it starts in."""
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InputError(
                f"{file_name}: the row that starts in line {line} can't be read ({error}): check "
                "its double quotes; one inside a quoted value is written twice"
            ) from error
        if len(row) > 1 or any(map(str.strip, row)):
            yield line, row


def _read_parquet(path):
    try:
        # Unlike pandas.read_parquet, it reads a file with duplicate column names; without pandas's
        # own notes in the file, an index is a column, as it is in a text file.
        frame = ParquetFile(path).read().to_pandas(ignore_metadata=True)
    except (OSError, ValueError) as error:
        raise InputError(f"{path.name}: can't be read as Parquet ({error})") from error
    has_name = [not re.fullmatch(r"__index_level_\d+__", name) for name in frame.columns]
    return Table(path.name, frame.loc[:, has_name])


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
        column = column.str.strip().mask(_typed(column, MISSING, ".").isna())
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
    column = _standard(table, name)
    if types.is_string_dtype(column):
        text = column
        column = _typed(text, MISSING, decimal)
        if task == "classification" and column.isna().all():
            # NA and None may well be classes, but not beside numbers.
            column = _typed(text, ("",), decimal)
    if column.isna().any():
        raise table.error(
            f"target {name!r} is missing in {_counted(column.isna().sum(), 'example')} "
            f"({table.where(np.flatnonzero(column.isna()))}): fill it in or remove these rows"
        )
    is_number = types.is_numeric_dtype(column) and not types.is_bool_dtype(column)
    if is_number:
        _check_magnitude(table, "target", name, column)
    if column.nunique() == 1:
        raise table.error(f"target {name!r} is always {column.tolist()[0]!r}: choose another")
    is_integer = is_number and (column % 1 == 0).all()
    if task == "classification":
        return _labels(table, name, column, is_number and not is_integer)
    if not is_number:
        if table.lines is not None:
            _check_decimal(table, name, decimal)
        is_wrong = np.ones(len(column), dtype=bool)
        if types.is_string_dtype(column):
            is_wrong = ~column.isin(MISSING) & ~_is_number(column, decimal)
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


def _feature(table, name, decimal):
    column = _standard(table, name)
    if table.lines is not None:
        column = _dates(_typed(column, MISSING, decimal))
        if types.is_string_dtype(column):
            _check_decimal(table, name, decimal)
    if types.is_string_dtype(column) or types.is_bool_dtype(column):
        return column
    column = column.astype("float64")
    _check_magnitude(table, "column", name, column)
    return column


def _check_magnitude(table, role, name, numbers):
    is_wrong = numbers.abs() > LARGEST_NUMBER
    if is_wrong.any():
        raise table.error(
            f"{role} {name!r} is infinite or beyond ±{LARGEST_NUMBER:g} ("
            f"{table.example(name, is_wrong)}): correct it, or mark it as missing"
        )


def _standard(table, name):
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


def _typed(text, missing, decimal):
    """A column of text as numbers or booleans where all its values are, and otherwise as text."""
    text = text.str.strip()
    present = text[~text.isin(missing) & text.notna()]
    if _is_number(present, decimal).all():
        numbers = pd.to_numeric(present.str.replace(decimal, ".", regex=False))
        return numbers if len(numbers) == len(text) else numbers.astype(float).reindex(text.index)
    lower = present.str.lower()
    if lower.isin(["true", "false"]).all():
        return (lower == "true").astype("boolean").reindex(text.index)
    return text.mask(text == "")


def _dates(column):
    """A column of text as seconds since 1970 where all its values are dates or times."""
    if not types.is_string_dtype(column):
        return column
    present = column[~column.isin(MISSING) & column.notna()]
    if not present.str.fullmatch(DATE, flags=re.ASCII).all():
        return column
    try:
        times = pd.to_datetime(present, format="ISO8601", utc=True)
    except ValueError:
        # Such as 2024-02-30.
        return column
    return _seconds(times).reindex(column.index)


def _seconds(times):
    # In nanoseconds, the year 9999 is out of range.
    start = pd.Timestamp(0, tz=times.dt.tz).as_unit("s")
    return (times - start) / pd.Timedelta(seconds=1).as_unit("s")


def _is_number(text, decimal):
    mark = re.escape(decimal)
    digits = rf"(\d+({mark}\d*)?|{mark}\d+)(e[+-]?\d+)?"
    return text.str.fullmatch(
        rf"[+-]?({digits}|inf|infinity)", flags=re.ASCII | re.IGNORECASE, na=False
    )


def _check_decimal(table, name, decimal):
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


def _almost_numeric(table, X, decimal):
    """Remarks on columns that are text because of a few values only."""
    remarks = []
    for name in column_kinds(X)["categorical"]:
        text = X[name]
        is_number = _is_number(text, decimal)
        is_text = ~is_number & text.notna() & ~text.isin(MISSING)
        if is_number.sum() > is_text.sum():
            remarks.append(
                f"{name!r} is categorical only because of values such as "
                f"{table.example(name, is_text)}"
            )
    return remarks[:LONGEST_LIST]


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
