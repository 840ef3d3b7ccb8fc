from benchopt import safe_import_context

from benchmark_utils.needs import need
from benchmark_utils.text_solver import TransformerSolver

with safe_import_context() as import_ctx:
    need("torch", "transformers")


class Solver(TransformerSolver):
    """BERT (bert-base-cased), fine-tuned."""
    name = "bert"
    requirements = ["pip::torch", "pip::transformers"]
    parameters = {
        **TransformerSolver.parameters, "checkpoint": ["google-bert/bert-base-cased"],
    }
