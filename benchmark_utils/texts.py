"""Texts, or pairs of texts, that stay on disk until they are read."""
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmark_utils.errors import InputError
from benchmark_utils.labels import read_labels
from benchmark_utils.population import PoolPopulation
from benchmark_utils.views import View


class TextSource:
    """Texts of a table: the source of a View.

    Parameters
    ----------
    table : datasets.Dataset
    columns : list of one or two names: texts, or pairs of them
    key : str, stands for the table's content

    Attributes
    ----------
    is_pair : bool
    n_empty : int, examples with a text that is empty but for white space

    Raises
    ------
    InputError
        For a column that holds no texts, and for a row without one.
    """

    def __init__(self, table, columns, key):
        self._table, self._columns = table.with_format("arrow"), list(columns)
        self.key = f"{key} {', '.join(self._columns)}"
        self.is_pair = len(columns) == 2
        is_empty = np.zeros(len(table), bool)
        for column in self._columns:
            texts = table.data.column(column)
            if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
                raise InputError(f"column {column!r} holds {texts.type}, no texts")
            if texts.null_count:
                row = int(np.argmax(texts.is_null().to_numpy()))
                raise InputError(f"row {row} has no {column} (counting from 0; "
                                 f"{texts.null_count:,} such rows): drop them")
            is_empty |= pc.equal(pc.utf8_trim_whitespace(texts), "").to_numpy()
        self.n_empty = int(is_empty.sum())

    def __len__(self):
        return len(self._table)

    def __eq__(self, other):
        return isinstance(other, TextSource) and self.key == other.key

    def __hash__(self):
        return hash(self.key)

    def read(self, rows):
        """A list of str, or of (str, str) for pairs."""
        found = self._table[np.asarray(rows)]
        texts = [found.column(column).to_pylist() for column in self._columns]
        return list(zip(*texts, strict=True)) if self.is_pair else texts[0]

    def content(self, rows):
        """Bytes of each text; of a pair's both, with a zero between them."""
        texts = self.read(rows)
        return [("\0".join(text) if self.is_pair else text).encode() for text in texts]


def not_texts(solver, study):
    """Why a solver of texts can't be run on other examples; None where they are texts."""
    if isinstance(study.X, View) and isinstance(study.X.source, TextSource):
        return None
    return f"{solver} takes texts only: use it with the data sets glue and yelp"


def text_population(name, hub, columns, classes, n_bench, max_bench=None):
    """The population of a data set of texts on the hub.

    Parameters
    ----------
    name : str, for the description
    hub : HubData, whose labels are in the column `label`
    columns, classes : see `TextSource` and `read_labels`
    n_bench, max_bench : see `PoolPopulation`

    Raises
    ------
    InputError
        For files, columns, texts, labels and sizes that can't be used.
    """
    table = hub.load([*columns, "label"])
    y, classes = read_labels(table, "label", classes)
    if not isinstance(n_bench, int) or not 0 <= n_bench < len(y):
        raise InputError(f"n_bench={n_bench!r} is not a number of examples to set aside from "
                         f"{len(y):,}")
    source = TextSource(table, columns, hub.version)
    what = "pairs of texts" if source.is_pair else "texts"
    empty = f", {source.n_empty:,} of them empty" if source.n_empty else ""
    return PoolPopulation(
        View(source), y, "classification", n_bench, f"{name}, {len(y):,} {what}{empty}",
        classes=classes, max_bench=max_bench,
    )
