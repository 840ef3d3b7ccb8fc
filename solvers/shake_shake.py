from benchopt import safe_import_context

from benchmark_utils.scratch_solver import ScratchImageSolver

with safe_import_context() as import_ctx:
    from benchmark_utils.image_networks import ShakeShake


class Solver(ScratchImageSolver):
    """Shake-Shake regularised residual network, 26 2 × 32d."""
    name = "shake_shake"
    requirements = ["pip::torch"]

    def build(self, n_outputs, config):
        return ShakeShake(n_outputs)
