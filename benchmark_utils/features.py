"""Features of examples, computed once and kept on disk in half precision."""
import hashlib
from contextlib import nullcontext

import numpy as np
from filelock import FileLock

from benchmark_utils.progress import Progress

AT_A_TIME = 1024  # examples between two moments at which another process may take over


class Features:
    """What a frozen encoder makes of examples: only of those asked for, and once.

    Processes that want the features of one source share the work. What was finished survives a
    kill.

    Parameters
    ----------
    encoder : callable (examples as a source reads them) -> float array of shape (n, n_features)
        with attributes `key` (str, stands for all that its output depends on), `n_features` and
        `batch_size` (how many it is always called with). It is called only where features are
        missing, so it may load its weights then.
    folder : Path or None
        Where to keep them; None: in memory.
    """

    def __init__(self, encoder, folder=None):
        self._encoder, self._folder, self._in_memory = encoder, folder, {}

    def __call__(self, view):
        """Features of a View's examples: float16 array of shape (n, n_features).

        What half precision can't hold is infinite.
        """
        source = view.source
        features, is_known, lock = self._arrays(source)
        wanted = np.unique(view.rows)
        n_missing = np.count_nonzero(~is_known[wanted])
        if n_missing:
            with Progress("encoding", n_missing, "example") as progress:
                while n_missing:
                    with lock:
                        rows = wanted[~is_known[wanted]][:AT_A_TIME]
                        for start in range(0, len(rows), self._encoder.batch_size):
                            batch = rows[start:start + self._encoder.batch_size]
                            self._encode(source, batch, features, is_known)
                    n_left = np.count_nonzero(~is_known[wanted])
                    progress.advance(n_missing - n_left)
                    n_missing = n_left
        return features[view.rows]

    def _encode(self, source, rows, features, is_known):
        # Always as many, as the last digits depend on it: the last one is repeated.
        filled = np.pad(rows, (0, self._encoder.batch_size - len(rows)), "edge")
        made = np.asarray(self._encoder(source.read(filled)))
        expected = (len(filled), self._encoder.n_features)
        if made.shape != expected:
            raise ValueError(f"the encoder's features have shape {made.shape}, expected {expected}")
        with np.errstate(over="ignore"):
            features[rows] = made[:len(rows)].astype(np.float16)
        is_known[rows] = True

    def _arrays(self, source):
        """The array of features, which of its rows are known, and the lock of both."""
        shape = len(source), self._encoder.n_features
        if self._folder is None:
            if source.key not in self._in_memory:
                self._in_memory[source.key] = (
                    np.zeros(shape, np.float16), np.zeros(shape[0], bool), nullcontext()
                )
            return self._in_memory[source.key]
        name = hashlib.sha256(repr((self._encoder.key, source.key, shape)).encode()).hexdigest()
        path = self._folder / f"{name[:32]}.f16"
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path.with_suffix(".lock"))
        known = path.with_suffix(".known")
        with lock:
            # Made in this order and used in the other: a kill between them leaves nothing known.
            if not (_has_size(path, 2 * shape[0] * shape[1]) and _has_size(known, shape[0])):
                known.unlink(missing_ok=True)
                _allocate(path, 2 * shape[0] * shape[1])
                _allocate(known, shape[0])
            features = np.memmap(path, np.float16, "r+", shape=shape)
            return features, np.memmap(known, bool, "r+"), lock


def _has_size(path, n_bytes):
    return path.exists() and path.stat().st_size == n_bytes


def _allocate(path, n_bytes):
    """A file of zeros, which takes the space of what will be written only."""
    with open(path, "wb") as file:
        file.truncate(n_bytes)
