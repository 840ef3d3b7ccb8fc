from benchopt import safe_import_context

from benchmark_utils.image_solver import ImageSolver
from benchmark_utils.needs import need

with safe_import_context() as import_ctx:
    need("torch", "torchvision")


class Solver(ImageSolver):
    """DenseNet121 (Huang et al. 2017)."""
    name = "densenet"
    requirements = ["pip::torch", "pip::torchvision"]
    architecture = "densenet121"
    head = "classifier"
