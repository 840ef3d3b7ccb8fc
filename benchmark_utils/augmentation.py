"""Batches of small images, cropped and flipped at random on the device that trains on them."""
import numpy as np
import torch
from torch.nn.functional import pad

PADDING = 4  # black pixels around an image, of which the crop may show up to that many
STEPS_AT_A_TIME = 64
IMAGES_AT_A_TIME = 4096


class Standardised:
    """Images with zero mean and unit variance per channel, as measured on some.

    Parameters
    ----------
    images : uint8 tensor of shape (n, height, width, 3), those to measure
    """

    def __init__(self, images):
        sums, squares = torch.zeros(2, images.shape[-1], dtype=torch.float64, device=images.device)
        for part in images.split(IMAGES_AT_A_TIME):
            part = part.flatten(0, 2).double()
            sums += part.sum(0)
            squares += part.square().sum(0)
        n_pixels = images[..., 0].numel()
        mean = sums / n_pixels
        variance = squares / n_pixels - mean.square()
        # A channel that is the same everywhere stays zero.
        scale = torch.where(variance > 0, variance, 1.0).rsqrt()
        self._mean, self._scale = mean.float(), scale.float()

    def __call__(self, images):
        """Uint8 tensor of shape (batch, height, width, 3) -> floats of shape (batch, 3, height,
        width), with the channels of a pixel side by side in memory (`torch.channels_last`)."""
        return ((images - self._mean) * self._scale).permute(0, 3, 1, 2)


class AugmentedBatches:
    """Batches for training; an iterable of (x, y), the same each time.

    Each image is cropped to its own size after four black pixels were added on each side, and
    flipped, both at random. The images come in random order, each once before any comes again; a
    batch may begin in one such pass and end in the next. All of them lie on the device.

    Parameters
    ----------
    images : uint8 array of shape (n, height, width, 3)
    y : integer array of shape (n,)
    batch_size, n_steps : int
    seed : int
    device : str

    Attributes
    ----------
    standardised : Standardised, by the images before augmentation
    """

    def __init__(self, images, y, batch_size, n_steps, seed, device):
        images = torch.from_numpy(images).to(device)
        self.standardised = Standardised(images)
        _, height, width, _ = images.shape
        padded = pad(images, (0, 0, *[PADDING] * 4))
        # All crops of all images, as views: of shape (n, 9, 9, height, width, 3).
        self._crops = padded.unfold(1, height, 1).unfold(2, width, 1).permute(0, 1, 2, 4, 5, 3)
        self._y = torch.from_numpy(y.astype(np.int64)).to(device)
        self._batch_size, self._n_steps, self._seed = batch_size, n_steps, seed

    def __iter__(self):
        rng, left = np.random.default_rng(self._seed), np.arange(0)
        for start in range(0, self._n_steps, STEPS_AT_A_TIME):
            shape = (min(STEPS_AT_A_TIME, self._n_steps - start), self._batch_size)
            while len(left) < shape[0] * shape[1]:
                left = np.concatenate([left, rng.permutation(len(self._y))])
            rows, left = np.split(left, [shape[0] * shape[1]])
            shift = rng.integers(0, 2 * PADDING + 1, (2, *shape))
            flip = rng.integers(0, 2, (1, *shape))
            drawn = np.concatenate([rows.reshape(1, *shape), shift, flip])
            # One transfer, instead of one a batch.
            for row, down, right, flip in torch.from_numpy(drawn).to(self._y.device).unbind(1):
                x = self._crops[row, down, right]
                x = torch.where(flip.bool()[:, None, None, None], x.flip(2), x)
                yield self.standardised(x), self._y[row]
