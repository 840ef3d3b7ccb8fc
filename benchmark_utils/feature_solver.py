"""Base class of solvers that train a linear head on the features of a frozen encoder."""
from benchmark_utils.features import Features
from benchmark_utils.torch_solver import TorchSolver
from benchmark_utils.views import View


class FeatureSolver(TorchSolver):
    """A frozen encoder and a linear head.

    A solver derives from it with a `name`, `parameters`, a `search_space`, `recipe` and
    `get_encoder`.

    Each example goes through the encoder once, whatever the number of splits, seeds, sizes and
    rules (`benchmark_utils.features`), and the heads of a repetition are trained together. Arrays,
    which have no identity, are taken for features.
    """

    takes_views = True

    def get_encoder(self):
        """Return the encoder, see `Features`."""
        raise NotImplementedError

    def build(self, input_shape, n_outputs, config):
        from torch.nn import Linear

        return Linear(input_shape[0], n_outputs)

    def set_objective(self, **objective):
        super().set_objective(**objective)
        self._features = None

    def _convert(self, X, encoder):
        if not isinstance(X, View):
            return super()._convert(X, encoder)
        if self._features is None:
            cache = self._cache()
            self._features = Features(
                self.get_encoder(), None if cache is None else cache / "features"
            )
        return self._features(X)
