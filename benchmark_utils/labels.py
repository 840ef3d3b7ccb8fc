"""Class labels of data sets in the Hugging Face format."""
import numpy as np
import pyarrow as pa

from benchmark_utils.errors import InputError, listed, suggestion


def read_labels(dataset, column, classes=None):
    """Labels as the codes that `Examples` wants.

    Parameters
    ----------
    dataset : datasets.Dataset
    column : str, of codes from 0, as integers, booleans or the hub's class labels, or of the names
        of classes
    classes : list, the classes' names in the order of their codes, of which a column of class
        labels may have its own; None for 0 … the largest label

    Returns
    -------
    array of shape (n,), integers, and the list of classes

    Raises
    ------
    InputError
        For a column that is missing, no label or of another number of classes, and for a row whose
        label is missing, −1, the hub's mark for examples without one, or none of the classes.
    """
    check_column(dataset, column)
    own = getattr(dataset.features[column], "names", None)
    if own is not None and classes is not None and len(own) != len(classes):
        raise InputError(f"column {column!r} has {len(own)} classes, {listed(own)}, instead of "
                         f"{len(classes)}: {listed(classes)}")
    classes = own or classes
    # The other columns of the same rows are left alone.
    labels = dataset.select_columns([column]).with_format("arrow")[:].column(0).combine_chunks()
    is_text = pa.types.is_string(labels.type) or pa.types.is_large_string(labels.type)
    if classes is not None and is_text:
        labels = _codes(labels, column, classes)
    if not (pa.types.is_integer(labels.type) or pa.types.is_boolean(labels.type)):
        raise InputError(f"column {column!r} holds {labels.type}, no class labels: integers, "
                         "booleans, ClassLabel or the names of classes")
    y = labels.cast(pa.int64()).fill_null(-1).to_numpy()
    if classes is None:
        classes = list(range(y.max() + 1))
    bad = np.flatnonzero((y < 0) | (y >= len(classes)))
    if len(bad):
        found = "no label" if labels[bad[0]].as_py() is None else f"the label {y[bad[0]]}"
        raise InputError(
            f"{found} in row {bad[0]} of column {column!r} (counting from 0; {len(bad):,} such "
            f"rows): expected 0 to {len(classes) - 1}. −1 marks examples whose label isn't public: "
            "use parts that have labels"
        )
    return y, list(classes)


def check_column(dataset, column):
    """Raise InputError, with the closest names, where a data set lacks a column."""
    if column not in dataset.column_names:
        raise InputError(f"there is no column {column!r}: "
                         f"{suggestion(column, dataset.column_names)}")


def _codes(names, column, classes):
    encoded = names.dictionary_encode()
    found = encoded.dictionary.to_pylist()
    for name in found:
        if name not in classes:
            raise InputError(f"column {column!r} holds {name!r}, which is no class: "
                             f"{suggestion(name, classes)}")
    return pa.array([classes.index(name) for name in found], pa.int64()).take(encoded.indices)
