from benchopt import safe_import_context

from benchmark_utils.needs import need
from benchmark_utils.scratch_solver import ScratchImageSolver

with safe_import_context() as import_ctx:
    need("torch")


class Solver(ScratchImageSolver):
    """VGG with 15 layers of weights and batch normalisation."""
    name = "vgg"
    requirements = ["pip::torch"]

    def build(self, n_outputs, config):
        from benchmark_utils.image_networks import VGG

        return VGG(n_outputs)
