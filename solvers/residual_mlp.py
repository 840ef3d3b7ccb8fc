import numpy as np
from benchopt import safe_import_context
from scipy.stats import loguniform

from benchmark_utils.needs import need
from benchmark_utils.search import ZeroOr
from benchmark_utils.torch_solver import Recipe, TorchSolver

with safe_import_context() as import_ctx:
    need("torch")

WIDTHS = {
    "tiny": [25], "mini": [50], "small": [100], "base": [100] * 2, "large": [100] * 3,
    "larger": [200] * 3, "huge": [300] * 3, "giant": [200] * 4,
}


class Solver(TorchSolver):
    """Multilayer perceptrons with residual connections, the eight architectures of the MNIST-1D
    experiment of "On Hyperparameter Tuning on the Test Set" (arXiv 2610.05902); trained by Adam
    at a learning rate of learning_rate · exp(−decay · step)."""
    name = "residual_mlp"
    requirements = ["pip::torch"]
    parameters = {
        **TorchSolver.parameters,
        # tiny, mini, small, base, large, larger, huge or giant
        "arch": ["base"],
        "learning_rate": [3e-3], "decay": [3e-4], "weight_decay": [1e-4],
        "n_steps": [8000], "batch_size": [128],
    }
    test_config = {"arch": "tiny", "n_steps": 20}
    search_space = {
        "learning_rate": loguniform(1e-4, 1e-1),
        "decay": ZeroOr(0.3, loguniform(1e-5, 1e-2)),
        "weight_decay": loguniform(1e-6, 1e-2),
    }

    def skip(self, problem, **objective):
        if problem is None and self.arch not in WIDTHS:
            problem = f"arch={self.arch!r} is none of {', '.join(WIDTHS)}"
        return super().skip(problem, **objective)

    def build(self, input_shape, n_outputs, config):
        from benchmark_utils.networks import ResidualMLP

        return ResidualMLP(input_shape, WIDTHS[config["arch"]], n_outputs)

    def recipe(self, config, n_train):
        rates = config["learning_rate"] * np.exp(-config["decay"] * np.arange(config["n_steps"]))
        return Recipe(rates, config["batch_size"], config["weight_decay"])
