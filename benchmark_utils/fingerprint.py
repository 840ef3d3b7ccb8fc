"""Content hashes that Benchopt's cache key lacks.

Benchopt keys a run on the component's own file and parameters. Results depend
as well on the code shared in this folder and on the user's data file, so the
objective and the file-based data sets add these hashes to what is pickled,
and thereby to the key. `benchmark_utils/analysis` only reads results: a change
there invalidates nothing.
"""
import hashlib
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path

LIBRARIES = ("numpy", "scipy", "pandas", "scikit-learn")


@cache
def code_fingerprint():
    """Hash of this folder's modules, as they were when first asked for, and of the versions of
    the libraries that every fit rests on."""
    digest = hashlib.sha256(repr([version(name) for name in LIBRARIES]).encode())
    for path in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def file_fingerprint(path):
    """Hash of a file's content, or "missing"."""
    path = Path(path).expanduser()
    if not path.is_file():
        return "missing"
    stat = path.stat()
    return _hash_content(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=64)
def _hash_content(path, mtime_ns, size):
    return hashlib.sha256(path.read_bytes()).hexdigest()
