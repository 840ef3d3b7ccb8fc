"""Torchvision's networks without their last layer, and where their weights are."""
import re
from functools import lru_cache
from pathlib import Path

import torch
import torchvision
from torch import nn

from benchmark_utils.batched_training import random_numbers
from benchmark_utils.errors import InputError, listed
from benchmark_utils.fingerprint import file_fingerprint
from benchmark_utils.hub import data_path

# DenseNet's published file calls norm.1 what is norm1 since.
RENAMED = re.compile(r"(denselayer\d+\.(?:norm|conv))\.(\d)\.")


class Backbone(nn.Module):
    """From images of shape (n, height, width, 3), uint8, to features of shape (n, n_features).

    Pixels are scaled to [0, 1], which is all that arXiv 2606.12552 does to them (E.2), and resized
    where the network takes one size only. The features are what torchvision's definition hands
    to its last layer: of a convolutional network the averages over the image, of a transformer the
    class token.

    Parameters
    ----------
    architecture : str, torchvision's name of the network
    head : str, name of its module that holds the last layer, and maybe dropout: left out
    input_size : int or None, side of the square images that it takes
    weights : Path or None, a file of weights (`state_dict`); None: random ones
    seed : int, of the random ones

    Attributes
    ----------
    n_features : int

    Raises
    ------
    InputError
        For a file that doesn't hold weights of this architecture; the last layer's are not looked
        at.
    """

    def __init__(self, architecture, head, input_size=None, weights=None, seed=0):
        super().__init__()
        self._input_size = input_size
        if weights is None:
            with random_numbers(seed, "cpu"):
                self.network = torchvision.models.get_model(architecture, weights=None)
        else:
            with torch.device("meta"):  # takes neither time nor memory
                self.network = torchvision.models.get_model(architecture, weights=None)
        self.n_features = _last_layer(self.network, head).in_features
        setattr(self.network, head, nn.Identity())
        if weights is not None:
            _load(self.network, weights, architecture, head)

    def forward(self, images):
        pixels = images.permute(0, 3, 1, 2).float() / 255
        if self._input_size is not None:
            size = (self._input_size, self._input_size)
            pixels = nn.functional.interpolate(pixels, size, mode="bilinear", antialias=True)
        return self.network(pixels)


@lru_cache
def count_features(architecture, head):
    """Number of features of a network, without making it."""
    with torch.device("meta"):
        network = torchvision.models.get_model(architecture, weights=None)
    return _last_layer(network, head).in_features


def _last_layer(network, head):
    return [m for m in getattr(network, head).modules() if isinstance(m, nn.Linear)][-1]


def _load(network, path, architecture, head):
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
        state = {
            RENAMED.sub(r"\1\2.", name): tensor for name, tensor in state.items()
            if not name.startswith(f"{head}.")
        }
    except Exception as error:
        raise InputError(f"{path} can't be read as a file of weights ({_first_line(error)}): it "
                         "should hold a network's state_dict") from error
    try:
        missing, unexpected = network.load_state_dict(state, strict=False, assign=True)
    except RuntimeError as error:
        raise InputError(f"{path} doesn't hold weights of {architecture}: "
                         f"{str(error).splitlines()[1].strip()}") from error
    if missing or unexpected:
        differences = [f"it lacks {listed(missing, 3)}"] if missing else []
        differences += [f"it has {listed(unexpected, 3)}"] if unexpected else []
        raise InputError(f"{path} doesn't hold weights of {architecture}: "
                         f"{' and '.join(differences)}")


def _first_line(error):
    return next(iter(str(error).splitlines()), type(error).__name__)


def find_weights(weights, architecture, key):
    """Path of a file of weights; None for random ones. Never the network.

    Parameters
    ----------
    weights : "imagenet", None, or a path
    architecture : str, torchvision's name
    key : str, under which `data_paths` in Benchopt's configuration may name a file for "imagenet",
        or a folder that holds it; otherwise PyTorch's cache is looked at

    Raises
    ------
    InputError
        Where there is no such file; says how to get it.
    """
    if weights is None:
        return None
    if weights != "imagenet":
        path = Path(str(weights)).expanduser()
        if not path.is_file():
            raise InputError(f"weights={str(weights)!r} is no file: give imagenet, None for random "
                             "weights, or a path")
        return path
    published = torchvision.models.get_model_weights(architecture).IMAGENET1K_V1.url
    name = published.rpartition("/")[2]
    configured, cache = data_path(key), Path(torch.hub.get_dir()) / "checkpoints"
    for path in (configured, configured / name, cache / name):
        if path.is_file():
            return path
    raise InputError(
        f"the ImageNet weights of {architecture} aren't on this machine. Where there is a network, "
        f"`python -c \"from torchvision.models import *; {architecture}(weights='IMAGENET1K_V1')\"`"
        f" puts {name} into {cache}; or set `data_paths: {{{key}: file}}` in config.yml (now "
        f"{configured}); weights=None takes random ones"
    )


def weights_version(path):
    """Stands for the content of a file of weights."""
    return "random" if path is None else file_fingerprint(path)


def check_weights(architecture, head, path):
    """Raise InputError where a file doesn't hold weights of an architecture."""
    problem = path and _problem(architecture, head, path, weights_version(path))
    if problem:
        raise InputError(problem)


@lru_cache
def _problem(architecture, head, path, version):
    try:
        Backbone(architecture, head, weights=path)
    except InputError as error:
        return str(error)
