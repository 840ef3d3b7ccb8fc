"""Class labels of data sets in the Hugging Face format."""
import numpy as np
import pyarrow as pa

from benchmark_utils.errors import InputError, listed, suggestion


def read_labels(table, column, classes):
    """Labels as the codes that `Examples` wants.

    Parameters
    ----------
    table : datasets.Dataset
    column : str, of codes 0 … C−1 or of the names of classes
    classes : list of str, the classes' names in the order of their codes; those that the column's
        type tells (ClassLabel) come first

    Returns
    -------
    integer array of shape (n,), and the list of classes

    Raises
    ------
    InputError
        For another number of classes, and for a label that is missing, none of the classes, or −1,
        the hub's mark for labels that are withheld.
    """
    own = getattr(table.features[column], "names", classes)
    if len(own) != len(classes):
        raise InputError(f"column {column!r} has {len(own)} classes, {listed(own)}, instead of "
                         f"{len(classes)}: {listed(classes)}")
    labels = table.data.column(column)
    if pa.types.is_string(labels.type) or pa.types.is_large_string(labels.type):
        names = labels.unique().drop_null().to_pylist()
        unknown = sorted(set(names) - set(own))
        if unknown:
            raise InputError(f"column {column!r} holds {unknown[0]!r}, which is no class: "
                             f"{suggestion(unknown[0], own)}")
        encoded = labels.combine_chunks().dictionary_encode()
        codes = pa.array([own.index(name) for name in encoded.dictionary.to_pylist()], pa.int64())
        labels = codes.take(encoded.indices)
    elif not (pa.types.is_integer(labels.type) or pa.types.is_boolean(labels.type)):
        raise InputError(f"column {column!r} holds {labels.type}, no class labels: "
                         f"integers from 0, or the names {listed(own)}")
    y = labels.cast(pa.int64()).fill_null(-1).to_numpy()
    bad = np.flatnonzero((y < 0) | (y >= len(own)))
    if len(bad):
        raise InputError(
            f"row {bad[0]} of column {column!r} has the label {y[bad[0]]} (counting from 0; "
            f"{len(bad):,} such rows), not one of 0 to {len(own) - 1}: -1 stands for labels that "
            "are withheld, as those of GLUE's test parts are; use parts with labels"
        )
    return y, list(own)
