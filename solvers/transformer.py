from benchopt import safe_import_context

from benchmark_utils.needs import need
from benchmark_utils.text_solver import TransformerSolver

with safe_import_context() as import_ctx:
    need("torch", "transformers")


class Solver(TransformerSolver):
    """Fine-tuning of any model for sequence classification: transformer[checkpoint=folder]."""
    name = "transformer"
    requirements = ["pip::torch", "pip::transformers"]
