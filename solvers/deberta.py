from benchopt import safe_import_context

from benchmark_utils.needs import need
from benchmark_utils.text_solver import TransformerSolver

with safe_import_context() as import_ctx:
    need("torch", "transformers")


class Solver(TransformerSolver):
    """DeBERTa v3, small (deberta-v3-small), fine-tuned."""
    name = "deberta"
    requirements = ["pip::torch", "pip::transformers", "pip::sentencepiece", "pip::protobuf"]
    parameters = {
        **TransformerSolver.parameters, "checkpoint": ["microsoft/deberta-v3-small"],
    }
