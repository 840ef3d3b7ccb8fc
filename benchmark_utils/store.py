"""Finished fits, kept on disk so that no fit is made twice.

One file holds the records of one learning algorithm on one draw of the data.
It is a journal of lines, each with checksum, key and record, to which a run
appends while it holds the file's lock: what was finished survives a kill, and
two processes that want the same fits wait for each other.
"""
import base64
import hashlib
import pickle
import sys
import warnings
import zlib
from pathlib import Path

from filelock import FileLock, Timeout

WAIT_SECONDS = 10


def entry_key(*parts):
    """Key of one fit, from whatever determines it: arrays, numbers, text, dicts."""
    digest = hashlib.sha256()
    for part in parts:
        if hasattr(part, "tobytes"):
            digest.update(f"{part.dtype.str}{part.shape}".encode())
            digest.update(part.tobytes())
        else:
            digest.update(repr(part).encode())
        digest.update(b"|")
    return digest.hexdigest()[:32]


class Store:
    """Records of finished fits; a context manager, inside which it is locked.

    It may be entered again, inside itself or later, and sees what others added meanwhile.

    Parameters
    ----------
    path : Path or None
        The journal. With None, records are kept in memory only.

    Attributes
    ----------
    n_found, n_made : int, records asked for that were there, and records added
    """

    def __init__(self, path):
        self.path = None if path is None else Path(path)
        self._payloads, self._records, self._made = {}, {}, set()
        self._depth = self._n_read = self.n_found = self.n_made = 0

    def __enter__(self):
        self._depth += 1
        if self.path is not None and self._depth == 1:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(self.path.with_suffix(".lock"))
            try:
                self._lock.acquire(timeout=WAIT_SECONDS)
            except Timeout:
                print(f"waiting for another process that makes the same fits ({self.path})",
                      file=sys.stderr)
                self._lock.acquire()
            self._read()
            self._file = open(self.path, "ab", buffering=0)
        return self

    def __exit__(self, *_):
        self._depth -= 1
        if self.path is not None and not self._depth:
            self._n_read = self._file.tell()
            self._file.close()
            self._lock.release()

    def __contains__(self, key):
        return key in self._payloads or key in self._records

    def get(self, key):
        """The record of a key, or None."""
        if key in self._payloads:
            self._records[key] = pickle.loads(base64.b64decode(self._payloads.pop(key)))
        record = self._records.get(key)
        self.n_found += record is not None and key not in self._made
        return record

    def put(self, key, record):
        """Keep a record; when this returns, it survives the death of the process."""
        self._records[key] = record
        self._made.add(key)
        self.n_made += 1
        if self.path is not None:
            self._file.write(_line(key.encode(), base64.b64encode(pickle.dumps(record))))

    def _read(self):
        size = self.path.stat().st_size if self.path.exists() else 0
        if size == self._n_read:
            return
        content = self.path.read_bytes() if size else b""
        whole, self._payloads, self._records = [], {}, {}
        for line in content.splitlines(keepends=True):
            _, key, payload = (*line.rstrip(b"\n").split(b" "), b"", b"", b"")[:3]
            if line.rstrip(b"\n") + b"\n" == _line(key, payload):
                self._payloads[key.decode()] = payload
                whole.append(_line(key, payload))
        repaired = b"".join(whole)
        if repaired == content:
            return
        # Keep what is whole; only the owner of the lock gets here.
        temporary = self.path.with_suffix(".repaired")
        temporary.write_bytes(repaired)
        temporary.replace(self.path)
        n_damaged = len(content.splitlines()) - len(whole)
        if n_damaged:
            warnings.warn(
                f"{self.path} had {n_damaged} damaged entries, perhaps of a run that was killed: "
                "their fits are made again", RuntimeWarning, stacklevel=3,
            )


def _line(key, payload):
    entry = key + b" " + payload
    return b"%08x %s\n" % (zlib.crc32(entry), entry)
