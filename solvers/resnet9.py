from benchopt import safe_import_context

from benchmark_utils.needs import need
from benchmark_utils.scratch_solver import ScratchImageSolver

with safe_import_context() as import_ctx:
    need("torch")


class Solver(ScratchImageSolver):
    """ResNet-9, of the DAWNBench competition."""
    name = "resnet9"
    requirements = ["pip::torch"]

    def build(self, n_outputs, config):
        from benchmark_utils.image_networks import ResNet9

        return ResNet9(n_outputs)
