"""Images on disk: decoded once, only those asked for, and bad ones named."""
import io

import numpy as np
import pyarrow as pa
import pytest

pytest.importorskip("datasets")
pytest.importorskip("PIL")

from PIL import Image

import datasets
from benchmark_utils import images
from benchmark_utils.errors import InputError
from benchmark_utils.images import ImageSource
from benchmark_utils.views import View

RNG = np.random.default_rng(0)
DRAWN = [Image.fromarray(RNG.integers(0, 256, (6, 4, 3), np.uint8)) for _ in range(5)]


@pytest.fixture(autouse=True)
def no_cache(monkeypatch):
    """Other tests may have left a running benchmark, and with it a cache."""
    monkeypatch.setattr(images, "cache_folder", lambda: None)


def encoded(image, format="PNG"):
    buffer = io.BytesIO()
    image.save(buffer, format)
    return buffer.getvalue()


def dataset(files):
    kind = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    files = [{"bytes": file, "path": None} for file in files]
    return datasets.Dataset(pa.table({"image": pa.array(files, kind)}))


def source(drawn, **options):
    files = [image if isinstance(image, bytes | None) else encoded(image) for image in drawn]
    return ImageSource(dataset(files), "image", (6, 4), "toy", **options)


class TestReading:
    @pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4], [3], [4, 1, 4], []])
    def test_pixels_in_the_order_asked_for(self, rows):
        read = View(source(DRAWN))[np.array(rows, int)].read()
        assert read.dtype == np.uint8 and read.shape == (len(rows), 6, 4, 3)
        for image, row in zip(read, rows, strict=True):
            np.testing.assert_array_equal(image, np.asarray(DRAWN[row]))

    def test_columns_of_bytes_alone(self):
        of_bytes = datasets.Dataset.from_dict({"image": [encoded(image) for image in DRAWN]})
        read = ImageSource(of_bytes, "image", (6, 4), "toy").read([2])
        np.testing.assert_array_equal(read[0], np.asarray(DRAWN[2]))

    def test_columns_that_the_hub_calls_images(self):
        of_images = dataset(map(encoded, DRAWN)).cast_column("image", datasets.Image())
        read = ImageSource(of_images, "image", (6, 4), "toy").read([2])
        np.testing.assert_array_equal(read[0], np.asarray(DRAWN[2]))

    def test_a_selection_of_a_data_set(self):
        chosen = dataset(map(encoded, DRAWN)).select([3, 1])
        read = ImageSource(chosen, "image", (6, 4), "toy").read([1, 0])
        np.testing.assert_array_equal(read[0], np.asarray(DRAWN[1]))

    def test_grey_alpha_and_palette(self):
        grey = Image.fromarray(np.arange(24, dtype=np.uint8).reshape(6, 4))
        alpha = DRAWN[1].copy()
        alpha.putalpha(0)
        read = source([grey, alpha, grey.convert("P"), grey.convert("LA")]).read([0, 1, 2, 3])
        for row in (0, 2, 3):
            np.testing.assert_array_equal(read[row], np.asarray(grey)[:, :, None].repeat(3, 2))
        np.testing.assert_array_equal(read[1], np.asarray(DRAWN[1]))

    def test_equal_images_have_equal_content(self):
        a, b, c = source([DRAWN[0], encoded(DRAWN[0], "BMP"), DRAWN[1]]).content([0, 1, 2])
        assert a == b != c

    def test_each_is_decoded_once(self, monkeypatch):
        decoded = []
        decode = ImageSource._pixels_of
        monkeypatch.setattr(
            ImageSource, "_pixels_of", lambda *given: decoded.append(given) or decode(*given)
        )
        drawn = source(DRAWN)
        drawn.usable_rows()
        assert not decoded
        for rows in ([1, 3], [3, 1, 3], [3, 4]):
            drawn.read(rows)
        assert len(decoded) == 3

    def test_more_than_are_decoded_at_a_time(self, monkeypatch):
        monkeypatch.setattr(images, "AT_A_TIME", 2)
        read = source(DRAWN).read(np.arange(5))
        np.testing.assert_array_equal(read, np.stack([np.asarray(image) for image in DRAWN]))

    def test_others_find_what_was_decoded(self, tmp_path, monkeypatch):
        monkeypatch.setattr(images, "cache_folder", lambda: tmp_path)
        source(DRAWN).read([1, 3])
        again = source([None] * 5)  # the files aren't needed any more
        np.testing.assert_array_equal(again.read([3])[0], np.asarray(DRAWN[3]))
        with pytest.raises(InputError, match="row 0"):
            again.read([3, 0])

    def test_keys_tell_sizes_and_data_apart(self):
        keys = {
            source(DRAWN).key, source(DRAWN, resize=True).key,
            ImageSource(dataset(map(encoded, DRAWN)), "image", (6, 4), "other").key,
            ImageSource(dataset(map(encoded, DRAWN)), "image", (4, 6), "toy").key,
        }
        assert len(keys) == 4


def with_wrong_checksum(file):
    """A PNG file whose pixels are all right."""
    start = file.index(b"IDAT")
    end = start + 4 + int.from_bytes(file[start - 4:start])
    return file[:end] + bytes(4) + file[end + 4:]


class TestBadImages:
    @pytest.mark.parametrize("file", [
        encoded(DRAWN[0])[:-30], encoded(DRAWN[0], "JPEG")[:400], b"", b"text", None,
        encoded(Image.fromarray(np.full((6, 4), 1000, np.uint16))),
    ], ids=["png", "jpeg", "empty", "text", "missing", "16 bits"])
    @pytest.mark.parametrize("is_checked", [True, False])
    def test_damaged_files_are_named(self, file, is_checked):
        bad = source([*DRAWN[:3], file, DRAWN[4]])
        with pytest.raises(InputError, match="1 of 5 images of 'image' can't be read.*row 3: "):
            bad.usable_rows() if is_checked else bad.read([0, 3])
        assert bad.usable_rows("drop").tolist() == [0, 1, 2, 4]
        assert len(bad.read([4, 0])) == 2

    def test_a_wrong_checksum_is_named(self):
        with pytest.raises(InputError, match="row 1: .*checksum"):
            source([DRAWN[0], with_wrong_checksum(encoded(DRAWN[1]))]).usable_rows()

    def test_what_the_machine_caused_is_no_damage(self, tmp_path, monkeypatch):
        """A decoder that is missing today, or memory."""
        def load(image):
            raise MemoryError

        monkeypatch.setattr(images, "cache_folder", lambda: tmp_path)
        with monkeypatch.context() as patched:
            patched.delitem(Image.OPEN, "JPEG")
            assert source([DRAWN[0], encoded(DRAWN[1], "JPEG")]).usable_rows("drop").tolist() == [0]
        with monkeypatch.context() as patched:
            patched.setattr("PIL.JpegImagePlugin.JpegImageFile.load", load)
            short = source([DRAWN[0], encoded(DRAWN[1], "JPEG")])
            for use in (lambda: short.usable_rows("drop"), lambda: short.read([1])):
                with pytest.raises(MemoryError):
                    use()
        again = source([DRAWN[0], encoded(DRAWN[1], "JPEG")])
        assert again.usable_rows().tolist() == [0, 1]

    def test_other_sizes_are_refused_with_their_row(self):
        bad = source([DRAWN[0], DRAWN[1].resize((5, 6)), DRAWN[2]])
        for rule in images.DAMAGE_RULES:
            with pytest.raises(InputError, match="1 of 3.*aren't 4 × 6.*row 1: 5 × 6"):
                bad.usable_rows(rule)
        with pytest.raises(InputError, match="row 1: 5 × 6"):
            bad.read([1])

    def test_or_resized(self):
        grey = Image.new("L", (8, 12), 200)
        mixed = source([DRAWN[0], grey], resize=True)
        assert mixed.usable_rows().tolist() == [0, 1]
        read = mixed.read([0, 1])
        np.testing.assert_array_equal(read[0], np.asarray(DRAWN[0]))
        assert (read[1] == 200).all()

    def test_a_rule_that_does_not_exist(self):
        with pytest.raises(InputError, match="damaged='skip' is none of refuse, drop"):
            source(DRAWN).usable_rows("skip")

    def test_a_column_that_is_missing_or_no_image(self):
        with pytest.raises(InputError, match="no column 'img': did you mean 'image'"):
            ImageSource(dataset(map(encoded, DRAWN)), "img", (6, 4), "toy")
        with pytest.raises(InputError, match="holds .*int64.*no image files"):
            ImageSource(datasets.Dataset.from_dict({"image": [1]}), "image", (6, 4), "toy")

    def test_a_full_disk(self, tmp_path, monkeypatch):
        monkeypatch.setattr(images, "cache_folder", lambda: tmp_path)
        monkeypatch.setattr(images.shutil, "disk_usage",
                            lambda _: type("Usage", (), {"free": 100}))
        with pytest.raises(OSError, match="no space left"):
            source(DRAWN).read([0])
