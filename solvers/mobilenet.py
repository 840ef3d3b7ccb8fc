from benchopt import safe_import_context

from benchmark_utils.image_solver import ImageSolver
from benchmark_utils.needs import need

with safe_import_context() as import_ctx:
    need("torch", "torchvision")


class Solver(ImageSolver):
    """MobileNetV2 (Sandler et al. 2018)."""
    name = "mobilenet"
    requirements = ["pip::torch", "pip::torchvision"]
    architecture = "mobilenet_v2"
    head = "classifier"
