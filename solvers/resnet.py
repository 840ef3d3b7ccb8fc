from benchopt import safe_import_context

from benchmark_utils.needs import need
from benchmark_utils.scratch_solver import ScratchImageSolver

with safe_import_context() as import_ctx:
    need("torch")


class Solver(ScratchImageSolver):
    """Residual networks of 20, 32, 44 and 56 layers, as made for CIFAR-10 (He et al. 2016)."""
    name = "resnet"
    requirements = ["pip::torch"]
    # 6n + 2 layers
    parameters = {**ScratchImageSolver.parameters, "depth": [20]}

    def skip(self, problem, **objective):
        if problem is None and (self.depth not in range(8, 1203) or self.depth % 6 != 2):
            problem = f"depth={self.depth!r} is not 6n + 2, such as 20, 32, 44 or 56"
        return super().skip(problem, **objective)

    def build(self, n_outputs, config):
        from benchmark_utils.image_networks import ResNet

        return ResNet(config["depth"], n_outputs)
