from benchopt import safe_import_context

from benchmark_utils.image_solver import ImageSolver
from benchmark_utils.needs import need

with safe_import_context() as import_ctx:
    need("torch", "torchvision")


class Solver(ImageSolver):
    """Vision transformer ViT-B/16 (Dosovitskiy et al. 2021), images resized to its input."""
    name = "vit"
    requirements = ["pip::torch", "pip::torchvision"]
    architecture = "vit_b_16"
    head = "heads"
    input_size = 224
