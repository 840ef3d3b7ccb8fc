"""Cropped, flipped and standardised batches, against doing it image by image."""
import numpy as np
import pytest

pytest.importorskip("torch")

import torch

from benchmark_utils.augmentation import PADDING, AugmentedBatches, Standardised

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(1, 256, (10, 5, 6, 3), np.uint8)  # no pixel is as black as the border
Y = np.arange(10)


def batches(batch_size=4, n_steps=50, seed=0, images=IMAGES):
    return AugmentedBatches(images, Y[:len(images)], batch_size, n_steps, seed, "cpu")


def pixels(made, x):
    """Standardised images as the bytes that they were."""
    back = x.permute(0, 2, 3, 1) / made.standardised._scale + made.standardised._mean
    return back.round().to(torch.uint8).numpy()


def views_of(image):
    """All that may be made of an image: its crop's shift and flip -> pixels."""
    height, width, _ = image.shape
    padded = np.pad(image, ((PADDING, PADDING), (PADDING, PADDING), (0, 0)))
    crops = {
        (down, right): padded[down:down + height, right:right + width]
        for down in range(2 * PADDING + 1) for right in range(2 * PADDING + 1)
    }
    return {(*shift, flip): crop[:, ::-1] if flip else crop
            for shift, crop in crops.items() for flip in (False, True)}


class TestStandardised:
    def test_zero_mean_and_unit_variance_per_channel(self):
        images = torch.from_numpy(IMAGES)
        x = Standardised(images)(images)
        assert x.shape == (10, 3, 5, 6) and x.is_contiguous(memory_format=torch.channels_last)
        torch.testing.assert_close(x.mean((0, 2, 3)), torch.zeros(3), atol=1e-5, rtol=0)
        torch.testing.assert_close(x.var((0, 2, 3), correction=0), torch.ones(3))

    def test_a_constant_channel_is_zero(self):
        images = torch.from_numpy(IMAGES.copy())
        images[..., 1] = 200
        assert not Standardised(images)(images)[:, 1].any()


class TestBatches:
    def test_shifted_and_flipped_alike_and_all_ways(self):
        made, seen = batches(n_steps=400), []
        views = [views_of(image) for image in IMAGES]
        for x, y in made:
            for image, label in zip(pixels(made, x), y.tolist(), strict=True):
                seen += [way for way, view in views[label].items() if np.array_equal(view, image)]
        # Crops that show only border could be any, but images are larger than it.
        assert len(seen) == 1600
        down, right, flip = np.array(seen).T
        for shift in (down, right):
            # 178 of each are expected, with a standard deviation of 13.
            assert np.abs(np.bincount(shift, minlength=9) - 1600 / 9).max() < 60
        assert abs(flip.mean() - 0.5) < 0.06

    def test_each_once_before_any_comes_again(self):
        y = torch.cat([y for _, y in batches(batch_size=4, n_steps=50)]).reshape(-1, 10)
        assert len(y) == 20
        assert (y.sort(1).values == torch.arange(10)).all()
        assert len({tuple(order) for order in y.tolist()}) == 20

    def test_as_many_as_asked_for(self):
        # More than are drawn at a time, and batches larger than there are images.
        made = list(batches(batch_size=25, n_steps=130))
        assert len(made) == 130
        assert all(x.shape == (25, 3, 5, 6) and y.shape == (25,) for x, y in made)

    def test_the_seed_decides(self):
        made = batches()
        first, again, other = (list(of) for of in (made, made, batches(seed=1)))
        assert all(torch.equal(a[0], b[0]) for a, b in zip(first, again, strict=True))
        assert not torch.equal(first[0][0], other[0][0])

    def test_the_first_do_not_depend_on_how_many_follow(self):
        few, many = batches(n_steps=64), batches(n_steps=100)
        assert all(torch.equal(a[0], b[0]) for a, b in zip(few, many, strict=False))

    def test_one_image(self):
        x, y = next(iter(batches(images=IMAGES[:1])))
        assert x.isfinite().all() and (y == 0).all()
