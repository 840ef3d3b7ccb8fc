"""Data sets of the Hugging Face hub: a local copy first, then the hub's cache; never the network
but in `download`."""
import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
from benchopt.config import get_data_path
from pyarrow.parquet import ParquetFile

from benchmark_utils.errors import InputError, suggestion
from benchmark_utils.running import when_set_up

SHARD = re.compile(r"-(\d{5})-of-(\d{5})(-[0-9a-f]+)?\.parquet$")
COMMITTED = re.compile(r"/snapshots/([0-9a-f]{40})/")


def data_path(key):
    """Benchopt's folder for the data of a key."""
    return when_set_up(lambda: get_data_path(key))


@dataclass(frozen=True)
class HubData:
    """Parts of a data set on the hub, and where they may lie on this machine.

    Parameters
    ----------
    key : str, name of the suite's data set: `data_paths` in Benchopt's configuration may give a
        folder for it, otherwise data/<key> is looked at
    repo : str, name on the hub
    parts : tuple of str, as in the names of its files: train-00000-of-00002.parquet
    config : str or None, name of the subset, which is a folder on the hub
    revision : str, a branch, tag or commit
    """
    key: str
    repo: str
    parts: tuple
    config: str | None = None
    revision: str = "main"

    def download(self):
        """Put the parts into the hub's cache, unless a local copy or the cache has them all.

        Raises
        ------
        InputError
            For damaged files of a local copy; those of the cache are replaced.
        """
        from huggingface_hub import snapshot_download

        try:
            paths = self._paths()
        except InputError:
            paths = []
        is_damaged = False
        for path in paths:
            try:
                self._check(path, is_whole=True)
            except InputError:
                if not COMMITTED.search(path.as_posix()):
                    raise
                is_damaged = True
        if is_damaged or not paths:
            snapshot_download(
                self.repo, repo_type="dataset", revision=self.revision,
                allow_patterns=self._patterns(), force_download=is_damaged,
            )
            self.files()

    def files(self):
        """Where the parts are.

        Returns
        -------
        dict, part -> list of Path

        Raises
        ------
        InputError
            Where a part isn't complete; says how to get it.
        """
        return self._files_in(data_path(self.key)) or self._cached_files()

    def _paths(self):
        return [path for paths in self.files().values() for path in paths]

    @property
    def version(self):
        """Stands for the content: subset, parts, and the hub's commit or the files' names, sizes
        and times; None where they are missing."""
        try:
            files = self._paths()
        except (InputError, ImportError):
            return None
        commit = COMMITTED.search(files[0].as_posix())
        # A commit holds all subsets and parts.
        state = commit[1] if commit else [
            (path.name, path.stat().st_size, path.stat().st_mtime_ns) for path in files
        ]
        content = self.config, self.parts, state
        return hashlib.sha256(repr(content).encode()).hexdigest()[:40]

    def load(self, columns):
        """The parts, one after the other.

        Parameters
        ----------
        columns : list of str, those to read

        Returns
        -------
        datasets.Dataset, memory-mapped

        Raises
        ------
        InputError
            For missing or damaged files and for a missing column.
        """
        from datasets import Dataset

        local = data_path(self.key)
        if local.exists() and self._files_in(local) is None:
            print(f"{local} doesn't hold {self._described()}: looking in the hub's cache")
        paths, n_rows = self._paths(), 0
        for path in paths:
            names, n = self._check(path)
            n_rows += n
            for column in columns:
                if column not in names:
                    raise InputError(f"{path} has no column {column!r}: "
                                     f"{suggestion(column, names)}")
        if not n_rows:
            raise InputError(f"{paths[0]} holds no rows. {self._how_to_repair(paths[0])}")
        try:
            return Dataset.from_parquet(list(map(str, paths)), columns=columns)
        except Exception as error:
            cause = error.__cause__ or error
            raise InputError(f"{self._described()} can't be read from {paths[0].parent} "
                             f"({cause}). {self._how_to_repair(paths[0])}") from error

    def _check(self, path, is_whole=False):
        """A file's columns and number of rows; raises InputError where its end, or all of it, is
        damaged."""
        try:
            with ParquetFile(path) as file:
                for i in range(file.num_row_groups if is_whole else 0):
                    file.read_row_group(i)
                return file.schema_arrow.names, file.metadata.num_rows
        except (pa.ArrowException, OSError) as error:
            how = self._how_to_repair(path)
            raise InputError(f"{path} is damaged ({error}). {how}") from error

    def _files_in(self, folder):
        folders = [folder, folder / "data", *([folder / self.config] if self.config else [])]
        for place in reversed(folders):
            found = {part: sorted(place.glob(f"{part}-*.parquet")) for part in self.parts}
            if all(map(_is_complete, found.values())):
                return found
        return None

    def _cached_files(self):
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError

        try:
            folder = snapshot_download(
                self.repo, repo_type="dataset", revision=self.revision,
                allow_patterns=self._patterns(), local_files_only=True,
            )
        except LocalEntryNotFoundError as error:
            # Other files than these may be what the snapshot lacks.
            folder = getattr(error, "snapshot_path", None)
        files = None if folder is None else self._files_in(Path(folder))
        if files is None:
            raise InputError(f"{self._described()} isn't on this machine. {self._how_to_get()}")
        return files

    def _patterns(self):
        folders = ["", "data/", *([f"{self.config}/"] if self.config else [])]
        return [f"{folder}{part}-*.parquet" for folder in folders for part in self.parts]

    def _described(self):
        config = f" ({self.config})" if self.config else ""
        return f"{self.repo}{config}, {' and '.join(self.parts)} part"

    def _how_to_get(self):
        return (
            f"Where there is a network, {self._command()} puts it into the hub's cache; or set "
            f"`data_paths: {{{self.key}: folder}}` in config.yml to a folder with its parquet "
            f"files (now {data_path(self.key)})"
        )

    def _how_to_repair(self, path):
        is_cached = COMMITTED.search(path.as_posix())
        first = "Where" if is_cached else "Replace this copy; or delete it, and where"
        return f"{first} there is a network, {self._command()} puts a new one into the hub's cache"

    def _command(self):
        # Benchopt remembers what it prepared, whatever became of it.
        return f"`benchopt prepare . --force -d {self.key}`"


def _is_complete(paths):
    """Whether these are all the files of one part, by the numbers in their names."""
    shards = [SHARD.search(path.name) for path in paths]
    if not paths or not all(shards):
        return bool(paths) and not any(shards)
    numbers = [(int(shard[1]), int(shard[2])) for shard in shards]
    return numbers == [(i, len(paths)) for i in range(len(paths))]
