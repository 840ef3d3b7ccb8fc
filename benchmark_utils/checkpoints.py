"""Checkpoints of models: folders, or models of the Hugging Face hub, copied or in its cache.

Runs never use the network. Where there is one, this puts a model into the cache:

    python -m benchmark_utils.checkpoints google-bert/bert-base-cased
"""
import hashlib
import re
import sys
from pathlib import Path

from benchopt.benchmark import get_running_benchmark

from benchmark_utils.errors import InputError
from benchmark_utils.fingerprint import file_fingerprint
from benchmark_utils.hub import data_path

WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")  # the first that there are
OTHER_FILES = ("*.json", "*.txt", "*.model")  # configuration and tokenizer, in subfolders too


def checkpoint_folder(name):
    """Where a checkpoint lies on this machine.

    Parameters
    ----------
    name : str, a folder, or a name on the hub, for which `data_paths` in Benchopt's configuration
        may give a folder

    Raises
    ------
    InputError
        Where it is missing or has no weights, or none is named.
    """
    if name is None:
        raise InputError("no model is named: checkpoint=, a folder or a name on the hub")
    folder = Path(str(name)).expanduser()
    if not folder.is_dir() and get_running_benchmark() is not None:
        folder = data_path(str(name))
    if folder.is_dir():
        if not _is_complete(folder):
            raise InputError(f"{folder} is no checkpoint: it lacks config.json or weights "
                             f"({' or '.join(WEIGHTS)}); save a model there by save_pretrained")
        return folder
    if not re.fullmatch(r"[\w.-]+(/[\w.-]+)?", str(name)) or str(name).startswith("."):
        raise InputError(f"there is no folder {name}")
    folder = _cached(name)
    if folder is None:
        raise InputError(
            f"the checkpoint {name} is neither a folder nor in the hub's cache. Where there is a "
            f"network, `python -m benchmark_utils.checkpoints {name}` puts it there; or set "
            f"`data_paths: {{{name}: folder}}` in config.yml"
        )
    return folder


def checkpoint_version(name):
    """Stands for a checkpoint's content: the hub's commit, or a hash of its files; None where it is
    missing."""
    try:
        folder = checkpoint_folder(name)
    except (InputError, ImportError):
        return None
    commit = re.search(r"/snapshots/([0-9a-f]{40})$", folder.as_posix())
    if commit:
        return commit[1]
    paths = sorted(path for pattern in (*WEIGHTS, *OTHER_FILES) for path in folder.rglob(pattern))
    content = [(path.relative_to(folder).as_posix(), file_fingerprint(path)) for path in paths]
    return hashlib.sha256(repr(content).encode()).hexdigest()[:40]


def download(name):
    """Put a model of the hub into its cache, unless it is there."""
    from huggingface_hub import snapshot_download

    for weights in WEIGHTS:
        if _cached(name) is None:
            snapshot_download(name, allow_patterns=[weights, *OTHER_FILES])
    return checkpoint_folder(name)


def _cached(name):
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    try:
        folder = Path(snapshot_download(name, local_files_only=True))
    except LocalEntryNotFoundError as error:
        # Other files than these may be what the snapshot lacks.
        folder = getattr(error, "snapshot_path", None)
    return folder if folder is not None and _is_complete(Path(folder)) else None


def _is_complete(folder):
    has_weights = any(any(folder.glob(pattern)) for pattern in WEIGHTS)
    return has_weights and (folder / "config.json").is_file()


if __name__ == "__main__":
    print(download(*sys.argv[1:]))
