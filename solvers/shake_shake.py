from benchopt import safe_import_context

from benchmark_utils.needs import need
from benchmark_utils.scratch_solver import ScratchImageSolver

with safe_import_context() as import_ctx:
    need("torch")


class Solver(ScratchImageSolver):
    """Shake-Shake regularised residual network, 26 2 × 32d."""
    name = "shake_shake"
    requirements = ["pip::torch"]

    def build(self, n_outputs, config):
        from benchmark_utils.image_networks import ShakeShake

        return ShakeShake(n_outputs)
