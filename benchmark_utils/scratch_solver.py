"""Base class of solvers that train a network for small images from scratch.

It can be imported without PyTorch, so that Benchopt can say what is missing.
"""
import math
import warnings
from contextlib import contextmanager
from copy import deepcopy

import numpy as np
from scipy.stats import loguniform, uniform

from benchmark_utils.search import Rounded
from benchmark_utils.solver import SplitSolver
from benchmark_utils.torch_solver import torch_and_device
from benchmark_utils.views import View

EVALUATION_BATCH = 512
#: steps from which on compiling, a matter of a minute, should pay on a GPU; not measured yet
STEPS_WORTH_COMPILING = 5000


class ScratchImageSolver(SplitSolver):
    """A network for small images, trained from scratch as in "On Hyperparameter Tuning on the Test
    Set" (arXiv 2610.05902, appendix B).

    A solver derives from it with a `name`, `parameters` and `build`.

    Stochastic gradient descent with Nesterov momentum, at a learning rate that falls to zero along
    half a cosine; images cropped and flipped at random and standardised per channel as the training
    part is; bfloat16 where a GPU multiplies. Images are given as a view, or as an array of shape
    (n, height, width, 3) of bytes.
    """
    tasks = ("classification",)
    takes_views = True
    parameters = {
        **SplitSolver.parameters,
        "learning_rate": [0.1], "weight_decay": [5e-4], "momentum": [0.9],
        # training takes steps · step_scale of them: smaller runs lower the scale, which leaves the
        # range that is searched as it is
        "steps": [100_000], "step_scale": [1.0],
        "batch_size": [128],
        # True, False, or auto: on a GPU, for long trainings; they go on without where it fails
        "compiled": ["auto"],
    }
    test_config = {"steps": 2, "batch_size": 8}
    search_space = {
        "learning_rate": loguniform(5e-3, 0.5),
        "weight_decay": loguniform(1e-5, 1e-2),
        "momentum": uniform(0.8, 0.19),
        "steps": Rounded(loguniform(75_000, 141_000)),
    }

    def build(self, n_outputs, config):
        """Return an untrained torch.nn.Module, from (batch, 3, height, width) to logits of shape
        (batch, n_outputs)."""
        raise NotImplementedError

    def skip(self, problem, **objective):
        if problem is None and not _are_images(objective["study"].X):
            problem = f"{self.name} needs images: height × width × 3 bytes for each example"
        return super().skip(problem, **objective)

    def fit(self, train, val, config, seed):
        import torch

        from benchmark_utils.augmentation import AugmentedBatches
        from benchmark_utils.batched_training import random_numbers
        from benchmark_utils.network_training import get_device, predict_network, train_network

        device, n_steps = get_device(), max(1, round(config["steps"] * config["step_scale"]))
        batches = AugmentedBatches(
            _pixels(train.X), train.y, config["batch_size"], n_steps, seed, device
        )
        standardised = batches.standardised  # all that predicting needs of the training part
        with random_numbers(seed, "cpu"):
            module = self.build(self.n_classes, config)
        module.to(device, memory_format=torch.channels_last)
        loss = torch.nn.functional.cross_entropy
        optimizer = torch.optim.SGD(
            module.parameters(), lr=config["learning_rate"], momentum=config["momentum"],
            weight_decay=config["weight_decay"], nesterov=True, fused=True,
        )
        is_long = device == "cuda" and n_steps >= STEPS_WORTH_COMPILING
        compiles = is_long if config["compiled"] == "auto" else config["compiled"]
        with torch.backends.cudnn.flags(enabled=True, benchmark=True), _compiled(
            module, batches, loss, device, compiles
        ) as runner:
            train_network(
                runner, lambda epoch: batches, loss, optimizer, 1, device=device, seed=seed,
                schedule=lambda step: (1 + math.cos(math.pi * step / n_steps)) / 2,
                mixed_precision=True,
                on_step=lambda step, _: self._progress.within(f"step {step} of {n_steps}"),
            )

        def predict(X):
            parts = (X[np.arange(i, min(i + EVALUATION_BATCH, len(X)))]
                     for i in range(0, len(X), EVALUATION_BATCH))
            images = (torch.from_numpy(_pixels(part)).to(device) for part in parts)
            outputs = predict_network(
                module, map(standardised, images), device, mixed_precision=True
            )
            return outputs.double().softmax(1).numpy()

        return predict

    def depends_on(self):
        # Results differ in the last digits between devices.
        return {"torch": torch_and_device()}


@contextmanager
def _compiled(module, batches, loss, device, compiles):
    """The module, compiled if it should be and can be, in the same state.

    Whether it can be shows in the first training steps: the second or third records a CUDA graph.
    """
    if not compiles:
        yield module
        return
    import torch

    from benchmark_utils.batched_training import random_numbers

    runner, state = torch.compile(module, mode="reduce-overhead"), deepcopy(module.state_dict())
    x, y = next(iter(batches))
    try:
        with random_numbers(0, device), torch.autocast(
            device, torch.bfloat16, enabled=device == "cuda"
        ):
            for _ in range(3):
                loss(runner(x), y).backward()
                module.zero_grad()
    except Exception as error:
        first_line = next(iter(str(error).splitlines()), type(error).__name__)
        warnings.warn(f"not compiled: {first_line}", RuntimeWarning, stacklevel=2)
        runner = module
    module.zero_grad()
    module.load_state_dict(state)
    try:
        yield runner
    finally:
        # What is compiled is this module's; only so many may be at a time.
        torch.compiler.reset()


def _pixels(X):
    """Images of a view or an array, as an array of bytes of shape (n, height, width, 3)."""
    return np.ascontiguousarray(X.read() if isinstance(X, View) else X)


def _are_images(X):
    if not isinstance(X, View | np.ndarray):
        return False
    images = _pixels(X[np.arange(1)])
    return images.dtype == np.uint8 and images.ndim == 4 and images.shape[-1] == 3
