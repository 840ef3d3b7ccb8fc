from benchopt import safe_import_context

from benchmark_utils.image_solver import ImageSolver

with safe_import_context() as import_ctx:
    import torchvision  # noqa: F401


class Solver(ImageSolver):
    """WideResNet101_2 (Zagoruyko and Komodakis 2016)."""
    name = "wide_resnet"
    requirements = ["pip::torch", "pip::torchvision"]
    architecture = "wide_resnet101_2"
    head = "fc"
