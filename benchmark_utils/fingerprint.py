"""Content hashes that Benchopt's cache key lacks.

Benchopt keys a run on the component's own file and parameters. Results depend
as well on the code shared in this folder, on the user's data file, on weights
and on packages, so the objective, data sets and solvers add these to what is
pickled, and thereby to the key. `benchmark_utils/analysis` only reads results: a change
there invalidates nothing.
"""
import hashlib
from functools import cache, lru_cache
from importlib.metadata import version
from pathlib import Path

LIBRARIES = ("numpy", "scipy", "pandas", "scikit-learn")


class Fingerprinted:
    """Mixin of components whose results depend on more than parameters and code.

    Benchopt pickles a component for the keys of its caches, and, for each run that it sends to a
    worker, once more all those it has met so far: in a thread, while another one may add to them,
    which ends the command. The sooner it is done, the more seldom; so files are looked at once.
    """
    _state = None

    def depends_on(self):
        """What results depend on besides data, parameters and code, such as the content of files.

        Returns
        -------
        dict, name -> anything that can be pickled; None for what is missing now
        """
        return {}

    def _state_now(self):
        return self.depends_on()

    def _get_state(self):
        if self._state is not None:
            return self._state
        state = self._state_now()
        if None not in state.values():
            self._state = state
        return state

    # A worker's keys are those of the process that sent it.
    def __setstate__(self, state):
        self._state = state


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
