"""Finished fits, kept on disk so that no fit is made twice.

One file holds the records of one learning algorithm on one draw of the data.
It is a journal of lines, each with key, checksum and record, to which a run
appends while it holds the file's lock: what was finished survives a kill, and
two processes that want the same fits wait for each other.
"""
import base64
import hashlib
import pickle
import warnings
import zlib
from pathlib import Path

from filelock import FileLock


def entry_key(*parts):
    """Key of one fit, from whatever determines it: arrays, numbers, text, dicts."""
    digest = hashlib.sha256()
    for part in parts:
        if hasattr(part, "tobytes"):
            digest.update(f"{part.dtype}{part.shape}".encode())
            digest.update(part.tobytes())
        else:
            digest.update(repr(part).encode())
        digest.update(b"|")
    return digest.hexdigest()[:32]


class Store:
    """Records of finished fits; a context manager, inside which it is locked.

    Parameters
    ----------
    path : Path or None
        The journal. With None, records are kept in memory only.

    Attributes
    ----------
    n_found, n_made : int, records that were there, and records added
    """

    def __init__(self, path):
        self._path = None if path is None else Path(path)
        self.n_found = self.n_made = 0

    def __enter__(self):
        self._lines, self._records = {}, {}
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(self._path.with_suffix(".lock"))
            self._lock.acquire()
            self._read()
            self._file = open(self._path, "ab", buffering=0)
        return self

    def __exit__(self, *_):
        if self._path is not None:
            self._file.close()
            self._lock.release()

    def get(self, key):
        """The record of a key, or None; a damaged one is forgotten with a warning."""
        record = self._records.get(key)
        if record is None and key in self._lines:
            record = _decode(self._lines.pop(key))
            if record is None:
                self._warn(1)
            else:
                self._records[key] = record
        self.n_found += record is not None
        return record

    def put(self, key, record):
        """Keep a record; when this returns, it survives the death of the process."""
        self._records[key] = record
        self.n_made += 1
        if self._path is not None:
            self._file.write(_encode(key, record))

    def _read(self):
        if not self._path.exists():
            return
        content = self._path.read_bytes()
        damaged = 0
        for line in content.split(b"\n"):
            key, _, rest = line.partition(b" ")
            if len(key) == 32 and rest:
                self._lines[key.decode("ascii", "replace")] = rest
            elif line:
                damaged += 1
        if content and not content.endswith(b"\n"):
            # A write was cut short: begin the next entry on a line of its own.
            with open(self._path, "ab") as file:
                file.write(b"\n")
        if damaged:
            self._warn(damaged)

    def _warn(self, n):
        warnings.warn(
            f"{n} damaged entry of {self._path}: the fit is made again", RuntimeWarning,
            stacklevel=3,
        )


def _encode(key, record):
    payload = base64.b64encode(pickle.dumps(record))
    return b"%s %08x %s\n" % (key.encode(), zlib.crc32(payload), payload)


def _decode(text):
    """The record of a journal line without its key, or None where it is damaged."""
    checksum, _, payload = text.partition(b" ")
    try:
        if int(checksum, 16) != zlib.crc32(payload):
            return None
        return pickle.loads(base64.b64decode(payload, validate=True))
    except (ValueError, pickle.UnpicklingError, EOFError):
        return None
