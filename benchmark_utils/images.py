"""Images of a data set on disk: checked once, decoded when they are first asked for."""
import io
import shutil
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import cached_property

import joblib
import numpy as np
from filelock import FileLock

from benchmark_utils.errors import LONGEST_LIST, InputError, listed
from benchmark_utils.labels import check_column
from benchmark_utils.progress import Progress
from benchmark_utils.running import cache_folder

UNKNOWN, SOUND, DECODED, DAMAGED, OTHER_SIZE = range(5)  # what is known of an image
AT_A_TIME = 1024
#: Pillow's names of the 8-bit kinds of image that become RGB without loss of brightness: the three
#: channels of a grey image are equal, transparency is left out, not blended with a background
MODES = {"1", "L", "LA", "La", "P", "PA", "RGB", "RGBA", "RGBa", "CMYK", "YCbCr"}
DAMAGE_RULES = ("refuse", "drop")


class ImageSource:
    """What a `View` of images reads from: pixels of shape (n, height, width, 3), uint8.

    Pixels are kept once decoded, in Benchopt's cache folder, where other processes find them; in
    memory where there is none. Only what was asked for takes space.

    Parameters
    ----------
    dataset : datasets.Dataset, memory-mapped
    column : str, of image files as bytes, in the hub's layout
    shape : (height, width)
    key : str, stands for the content of the whole data set
    resize : bool, whether images of another size are brought to `shape` (bilinear)

    Raises
    ------
    InputError
        For a column that is missing or holds no images.
    """

    def __init__(self, dataset, column, shape, key, resize=False):
        from datasets import Image

        check_column(dataset, column)
        try:
            images = dataset.select_columns([column]).cast_column(column, Image(decode=False))
        except Exception as error:
            raise InputError(f"column {column!r} holds {dataset.features[column]}, no image "
                             "files") from error
        self.column, self.shape, self.resize = column, tuple(shape), resize
        self.key = joblib.hash((key, column, self.shape, resize))
        self._files = images.with_format("arrow")

    def __len__(self):
        return len(self._files)

    def read(self, rows):
        """Pixels of the images at some rows.

        Raises
        ------
        InputError
            For a damaged image, and one of another size without `resize`.
        """
        rows = np.asarray(rows)
        pixels, state = self._kept
        missing = np.unique(rows[state[rows] != DECODED])
        if len(missing):
            with self._lock():
                for part in _parts(missing[state[missing] != DECODED]):
                    self._decode(part)
        return pixels[rows]

    def content(self, rows):
        return [image.tobytes() for image in self.read(rows)]

    def usable_rows(self, damaged="refuse"):
        """Rows of the images that can be read, of all; finds out once, but of damaged
        ones each time.

        PNG files are told by their checksums, others by decoding them.

        Parameters
        ----------
        damaged : "refuse" or "drop", what to do about files that can't be read

        Raises
        ------
        InputError
            Names rows: of damaged files, unless they are dropped, and of images of another size.
        """
        if damaged not in DAMAGE_RULES:
            raise InputError(f"damaged={damaged!r} is none of {', '.join(DAMAGE_RULES)}")
        _, state = self._kept
        with self._lock():
            # Damaged ones anew, as it may have been a decoder that was missing.
            unknown = np.flatnonzero(np.isin(state, [UNKNOWN, DAMAGED]))
            with Progress("checking", len(unknown), "image") as progress:
                for part in _parts(unknown):
                    state[part] = [self._state_of(content) for content in self._contents(part)]
                    progress.advance(len(part))
        for problem in (OTHER_SIZE, *([DAMAGED] if damaged == "refuse" else [])):
            rows = np.flatnonzero(state == problem)
            if len(rows):
                self._refuse(rows)
        return np.flatnonzero(state != DAMAGED)

    def _refuse(self, rows):
        first = rows[:LONGEST_LIST]
        errors = [self._problem_of(content) for content in self._contents(first)]
        height, width = self.shape
        advice = (
            f"aren't {width} × {height}: resize=True brings them to it"
            if isinstance(errors[0], _OtherSizeError) else
            "can't be read: get the data anew, or leave them out by damaged=drop"
        )
        named = listed([f"row {row}: {e}" for row, e in zip(first, errors, strict=True)])
        raise InputError(
            f"{len(rows):,} of {len(self):,} images of {self.column!r} {advice}. The first, "
            f"counting from 0: {named}"
        )

    def _contents(self, rows):
        table = self._files[rows.tolist()]
        return table.column(0).combine_chunks().field("bytes").to_pylist()

    def _open(self, content):
        from PIL import Image

        if content is None:
            raise ValueError("no image file there")
        image = Image.open(io.BytesIO(content))
        if image.mode not in MODES:
            raise ValueError(f"of a kind that isn't 8-bit grey or colour ({image.mode})")
        if not self.resize and image.size != self.shape[::-1]:
            raise _OtherSizeError(f"{image.width} × {image.height}")
        return image

    def _check(self, content):
        image = self._open(content)
        image.verify() if image.format == "PNG" else image.load()

    def _state_of(self, content):
        try:
            self._check(content)
        except MemoryError:
            raise
        except _OtherSizeError:
            return OTHER_SIZE
        except Exception:
            return DAMAGED
        return SOUND

    def _problem_of(self, content):
        try:
            self._check(content)
            self._pixels_of(content)
        except Exception as error:
            return error

    def _pixels_of(self, content):
        from PIL.Image import Resampling

        image = self._open(content).convert("RGB")
        if image.size != self.shape[::-1]:
            image = image.resize(self.shape[::-1], Resampling.BILINEAR)
        return np.asarray(image)

    def _decode(self, rows):
        pixels, state = self._kept
        if self._path is not None:
            n_bytes = len(rows) * pixels[0].nbytes
            if shutil.disk_usage(self._path.parent).free < 2 * n_bytes:
                raise OSError(f"no space left for decoded images in {self._path.parent}")
        with ThreadPoolExecutor() as pool:
            images = list(pool.map(self._try, self._contents(rows)))
        is_bad = np.array([isinstance(image, Exception) for image in images])
        if is_bad.any():
            self._refuse(rows[is_bad])
        pixels[rows] = images
        if self._path is not None:
            pixels.flush()  # before the state says that they are there
        state[rows] = DECODED

    def _try(self, content):
        try:
            return self._pixels_of(content)
        except MemoryError:
            raise
        except Exception as error:
            return error

    @cached_property
    def _path(self):
        cache = cache_folder()
        if cache is None:
            return None
        (cache / "images").mkdir(parents=True, exist_ok=True)
        return cache / "images" / self.key

    @cached_property
    def _kept(self):
        """Pixels and state of each image, arrays that grow on disk as they are filled."""
        shapes = {"pixels": (len(self), *self.shape, 3), "state": (len(self),)}
        if self._path is None:
            return tuple(np.zeros(shape, np.uint8) for shape in shapes.values())
        with self._lock():
            return tuple(
                np.memmap(path, np.uint8, "r+" if path.exists() else "w+", shape=shape)
                for path, shape in
                ((self._path.with_suffix(f".{name}"), shape) for name, shape in shapes.items())
            )

    def _lock(self):
        return nullcontext() if self._path is None else FileLock(self._path.with_suffix(".lock"))


class _OtherSizeError(ValueError):
    pass


def _parts(rows):
    return (rows[i:i + AT_A_TIME] for i in range(0, len(rows), AT_A_TIME))
