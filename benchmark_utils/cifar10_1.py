"""CIFAR-10.1, version 6: 2,000 images collected as CIFAR-10 was (Recht et al. 2018), in two files
of NumPy's."""
import os
import urllib.request

import joblib
import numpy as np

from benchmark_utils.errors import InputError
from benchmark_utils.fingerprint import file_fingerprint
from benchmark_utils.hub import data_path
from benchmark_utils.population import Examples
from benchmark_utils.views import View

URL = "https://github.com/modestyachts/CIFAR-10.1/raw/master/datasets/"
DATA, LABELS = FILES = ("cifar10.1_v6_data.npy", "cifar10.1_v6_labels.npy")
SHAPE = (2000, 32, 32, 3)


class ArraySource:
    """What a `View` of images reads from, where they are an array.

    Parameters
    ----------
    images : uint8 array of shape (n, height, width, 3)
    key : str, stands for the content
    """

    def __init__(self, images, key):
        self._images, self.key = images, key
        self.shape = images.shape[1:3]

    def __len__(self):
        return len(self._images)

    def read(self, rows):
        return self._images[rows]

    def content(self, rows):
        return [image.tobytes() for image in self.read(rows)]


def folder():
    """Where the files are looked for: `cifar10_1` of `data_paths` in Benchopt's configuration, or
    data/cifar10_1."""
    return data_path("cifar10_1")


def is_present():
    return any((folder() / name).exists() for name in FILES)


def version():
    """Stands for the files' content."""
    return [file_fingerprint(folder() / name) for name in FILES]


def download():
    """Put the files into their folder, unless they are there."""
    folder().mkdir(parents=True, exist_ok=True)
    for name in FILES:
        path = folder() / name
        if path.exists():
            continue
        temporary = path.with_suffix(f".{os.getpid()}")
        try:
            urllib.request.urlretrieve(URL + name, temporary)
        except OSError as error:
            raise OSError(f"{URL}{name} can't be downloaded ({error}); put it into {folder()}, or "
                          "go on without CIFAR-10.1 by n_bench=0") from error
        temporary.replace(path)
    load()


def load():
    """The images as Examples.

    Raises
    ------
    InputError
        For a missing or damaged file, other shapes or types, and labels that aren't 0 … 9.
    """
    images, labels = (_read(folder() / name) for name in FILES)
    if images.shape != SHAPE or images.dtype != np.uint8:
        _refuse(DATA, f"{SHAPE} of uint8", f"{images.shape} of {images.dtype}")
    if labels.shape != SHAPE[:1] or not np.issubdtype(labels.dtype, np.integer):
        _refuse(LABELS, f"{SHAPE[:1]} of integers", f"{labels.shape} of {labels.dtype}")
    if labels.min() < 0 or labels.max() > 9:
        _refuse(LABELS, "labels from 0 to 9", f"{labels.min()} to {labels.max()}")
    return Examples(View(ArraySource(images, joblib.hash(images))), labels.astype(np.int64))


def _read(path):
    try:
        return np.load(path)
    except Exception as error:
        raise InputError(f"{path} can't be read ({error}). {_how_to_get()}") from error


def _refuse(name, expected, found):
    raise InputError(f"{folder() / name} holds {found}, not {expected}. {_how_to_get()}")


def _how_to_get():
    return (f"Get both files anew from {URL}, or by `benchopt prepare . --force -d cifar10` once "
            "they are deleted; or go on without CIFAR-10.1 by n_bench=0")
