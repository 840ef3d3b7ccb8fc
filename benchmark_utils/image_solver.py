"""Base class of solvers that classify images by a pretrained network."""
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from math import ceil

import numpy as np
from scipy.stats import loguniform

from benchmark_utils.errors import InputError
from benchmark_utils.feature_solver import FeatureSolver
from benchmark_utils.images import ImageSource
from benchmark_utils.solver import SplitSolver
from benchmark_utils.torch_solver import Recipe
from benchmark_utils.views import View

BACKBONES = ("frozen", "finetuned")
BATCH_SIZE = {"cpu": 8, "cuda": 256}  # where no gradients are needed


class ImageSolver(FeatureSolver):
    """A network of torchvision and one linear layer, trained by Adam on cross-entropy; the weights
    of the epoch with the best validation accuracy are kept, as in arXiv 2606.12552 (E.2).

    A solver derives from it with a `name`, an `architecture`, a `head`, and an `input_size` where
    the network takes one size only, see `benchmark_utils.backbones.Backbone`.

    With ``backbone=frozen`` the network stays as it is, with the averages and variances of its
    batch normalisations, and its features are computed once per image. With ``backbone=finetuned``
    all parameters are trained, and each split passes all images that it needs through the
    network. Random weights (``weights=None``) are the same in all splits where they are frozen, and
    otherwise each split's own.

    An epoch has ⌈n_train / batch_size⌉ batches, which are as equal as possible: none has a single
    image, which batch normalisation may not take, if batch_size is 3 or more.
    """
    tasks = ("classification",)
    parameters = {
        **FeatureSolver.parameters,
        # frozen, or finetuned: all parameters
        "backbone": ["frozen"],
        # imagenet, None (random), or the path of a file of weights of this architecture
        "weights": ["imagenet"],
        "learning_rate": [1e-3], "n_epochs": [30], "batch_size": [64],
    }
    test_config = {"weights": None, "n_epochs": 2}
    search_space = {"learning_rate": loguniform(1e-5, 1e-1)}
    architecture = head = input_size = None

    def skip(self, problem, study, **objective):
        if problem is None:
            problem = self._problem(study)
        return super().skip(problem=problem, study=study, **objective)

    def _problem(self, study):
        from benchmark_utils.backbones import check_weights

        if not (isinstance(study.X, View) and isinstance(study.X.source, ImageSource)):
            return f"{self.name} does images only"
        if self.backbone not in BACKBONES:
            return f"backbone={self.backbone!r} is none of {', '.join(BACKBONES)}"
        for name in ("n_epochs", "batch_size"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                return f"{name}={value!r} is not an integer ≥ 1"
        try:
            check_weights(self.architecture, self.head, self._weights_path)
        except InputError as error:
            return str(error)

    @cached_property
    def _weights_path(self):
        from benchmark_utils.backbones import find_weights

        return find_weights(self.weights, self.architecture, self.name)

    def _backbone(self, seed):
        from benchmark_utils.backbones import Backbone

        return Backbone(self.architecture, self.head, self.input_size, self._weights_path, seed)

    def get_encoder(self):
        return _Encoder(self)

    def recipe(self, config, n_train):
        n_batches = ceil(n_train / config["batch_size"])
        return Recipe(
            np.full(config["n_epochs"] * n_batches, config["learning_rate"]),
            ceil(n_train / n_batches), check_every=n_batches,
        )

    # Fine-tuned networks are too large to be trained together: each is fitted on its own.
    def _fit_ahead(self, tuner):
        if self.backbone == "frozen":
            super()._fit_ahead(tuner)

    def _records(self, job, batch):
        if self.backbone == "frozen":
            return super()._records(job, batch)
        return SplitSolver._records(self, job, batch)

    def fit(self, train, val, config, seed):
        import torch

        from benchmark_utils.batched_training import random_numbers
        from benchmark_utils.network_training import get_device, train_network

        backbone = self._backbone(seed)
        with random_numbers(seed, "cpu"):
            head = torch.nn.Linear(backbone.n_features, self.n_classes)
        module = torch.nn.Sequential(backbone, head).to(get_device())
        images, y = torch.from_numpy(train.X.read()), torch.from_numpy(train.y)
        n_batches = ceil(len(train) / config["batch_size"])

        def batches(epoch):
            order = np.random.default_rng([seed, epoch]).permutation(len(train))
            for rows in np.array_split(order, n_batches):
                yield images[rows], y[rows]

        def validate(_):
            outputs = predict_images(module, val.X)
            is_right = (outputs.argmax(1).numpy() == val.y) & outputs.isfinite().all(1).numpy()
            return is_right.mean()

        train_network(
            module, batches, torch.nn.functional.cross_entropy,
            torch.optim.Adam(module.parameters(), config["learning_rate"]), config["n_epochs"],
            device=get_device(), seed=seed, validate=validate if len(val) else None,
        )
        return lambda X: predict_images(module, X).double().softmax(1).numpy()

    def depends_on(self):
        return {**super().depends_on(), "weights": self._weights_version()}

    def _weights_version(self):
        try:
            from benchmark_utils.backbones import weights_version

            return version("torchvision"), weights_version(self._weights_path)
        except (PackageNotFoundError, ImportError, InputError):
            return None


def predict_images(module, X):
    """Outputs of a network, float32 tensor of shape (n, …), for a View of images."""
    import torch

    from benchmark_utils.network_training import get_device, predict_network

    size = BATCH_SIZE[get_device()]
    batches = (torch.from_numpy(X[i:i + size].read()) for i in range(0, len(X), size))
    return predict_network(module, batches, get_device())


class _Encoder:
    """A solver's frozen network, made when first called; see `benchmark_utils.features`."""

    def __init__(self, solver):
        from benchmark_utils.backbones import count_features, weights_version
        from benchmark_utils.network_training import get_device

        self._solver, self._device = solver, get_device()
        self.batch_size = BATCH_SIZE[self._device]
        self.n_features = count_features(solver.architecture, solver.head)
        weights = weights_version(solver._weights_path)
        # Random weights differ between versions, and GPUs round more than half precision does; the
        # last is what is done to pixels.
        self.key = " ".join(map(str, (
            solver.architecture, weights, version("torchvision"), self._device, solver.input_size,
            "[0, 1]",
        )))

    @cached_property
    def _module(self):
        return self._solver._backbone(seed=0).to(self._device)

    def __call__(self, images):
        import torch

        from benchmark_utils.network_training import predict_network

        return predict_network(self._module, [torch.from_numpy(images)], self._device).numpy()
