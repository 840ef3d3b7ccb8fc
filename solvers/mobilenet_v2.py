from benchopt import safe_import_context

from benchmark_utils.needs import need
from benchmark_utils.scratch_solver import ScratchImageSolver

with safe_import_context() as import_ctx:
    need("torch")


class Solver(ScratchImageSolver):
    """MobileNetV2 without the first strides."""
    name = "mobilenet_v2"
    requirements = ["pip::torch"]

    def build(self, n_outputs, config):
        from benchmark_utils.image_networks import MobileNetV2

        return MobileNetV2(n_outputs)
