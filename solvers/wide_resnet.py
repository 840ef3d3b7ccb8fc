from benchopt import safe_import_context

from benchmark_utils.image_solver import ImageSolver
from benchmark_utils.needs import need

with safe_import_context() as import_ctx:
    need("torch", "torchvision")


class Solver(ImageSolver):
    """WideResNet101_2 (Zagoruyko and Komodakis 2016)."""
    name = "wide_resnet"
    requirements = ["pip::torch", "pip::torchvision"]
    architecture = "wide_resnet101_2"
    head = "fc"
