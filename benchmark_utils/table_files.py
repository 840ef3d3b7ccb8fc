"""Tables as they were read: from text and Parquet files, scikit-learn and OpenML."""
import csv
import io
import re
import reprlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn.datasets
from pyarrow.parquet import ParquetFile

from benchmark_utils.errors import InputError, listed, suggestion

#: scikit-learn's bundled data sets and their tasks
BUNDLED = {
    "breast_cancer": "classification",
    "digits": "classification",
    "wine": "classification",
    "diabetes": "regression",
}
COMPRESSED = (".gz", ".bz2", ".zip", ".xz", ".zst")


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
