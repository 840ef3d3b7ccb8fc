from benchopt import safe_import_context

from benchmark_utils.image_solver import ImageSolver

with safe_import_context() as import_ctx:
    import torchvision  # noqa: F401


class Solver(ImageSolver):
    """DenseNet121 (Huang et al. 2017)."""
    name = "densenet"
    requirements = ["pip::torch", "pip::torchvision"]
    architecture = "densenet121"
    head = "classifier"
