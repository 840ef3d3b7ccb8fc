from scipy.stats import loguniform, randint
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

from benchmark_utils.solver import EstimatorSolver


class Solver(EstimatorSolver):
    """Gradient-boosted trees on binned features."""
    name = "hist_gradient_boosting"
    parameters = {
        **EstimatorSolver.parameters,
        "max_iter": [100], "learning_rate": [0.1], "max_leaf_nodes": [31],
        "min_samples_leaf": [20], "l2_regularization": [0.0],
    }
    search_space = {
        "max_iter": randint(20, 301),
        "learning_rate": loguniform(1e-2, 0.5),
        "max_leaf_nodes": randint(4, 64),
        "min_samples_leaf": randint(2, 41),
        "l2_regularization": loguniform(1e-4, 10),
    }

    def get_estimator(self, task, seed, **config):
        boosting = (
            HistGradientBoostingRegressor if task == "regression"
            else HistGradientBoostingClassifier
        )
        return boosting(random_state=seed, early_stopping=False, **config)
