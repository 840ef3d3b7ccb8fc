from benchopt import safe_import_context

from benchmark_utils.image_solver import ImageSolver

with safe_import_context() as import_ctx:
    import torchvision  # noqa: F401


class Solver(ImageSolver):
    """MobileNetV2 (Sandler et al. 2018)."""
    name = "mobilenet"
    requirements = ["pip::torch", "pip::torchvision"]
    architecture = "mobilenet_v2"
    head = "classifier"
