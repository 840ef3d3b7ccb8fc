from scipy.stats import loguniform, randint
from sklearn.compose import TransformedTargetRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.preprocessing import StandardScaler

from benchmark_utils.solver import EstimatorSolver


class Solver(EstimatorSolver):
    """Neural network with one hidden layer; for regression the target is standardised."""
    name = "mlp"
    parameters = {
        **EstimatorSolver.parameters,
        "hidden_units": [100], "alpha": [1e-4], "learning_rate": [1e-3], "max_iter": [200],
    }
    search_space = {
        "hidden_units": randint(10, 201),
        "alpha": loguniform(1e-6, 1),
        "learning_rate": loguniform(1e-4, 1e-1),
    }

    def get_estimator(self, task, seed, hidden_units, alpha, learning_rate, max_iter):
        config = dict(
            hidden_layer_sizes=(hidden_units,), alpha=alpha, learning_rate_init=learning_rate,
            max_iter=max_iter, random_state=seed,
        )
        if task == "classification":
            return MLPClassifier(**config)
        return TransformedTargetRegressor(MLPRegressor(**config), transformer=StandardScaler())
