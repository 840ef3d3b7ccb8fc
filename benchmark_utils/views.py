"""Examples that stay where they are, images or texts, until they are read."""
import numpy as np


class View:
    """Some examples of a source, as an array of them would be: indexing gives a view of fewer.

    What was computed of an example once (features, tokens) can be found again by the source's
    `key` and the example's row.

    Parameters
    ----------
    source : object with
        key : str, stands for the content of all examples
        __len__()
        read(rows) : the examples at an array of positions, as one array or list
        content(rows) : bytes of each of them, a list, by which equal examples are told
    rows : integer array of shape (n,), positions in the source; None for all
    """

    def __init__(self, source, rows=None):
        self.source = source
        self.rows = np.arange(len(source)) if rows is None else np.asarray(rows)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return View(self.source, self.rows[index])

    def read(self):
        """The examples themselves."""
        return self.source.read(self.rows)

    def content(self):
        """Bytes of each example."""
        return self.source.content(self.rows)
