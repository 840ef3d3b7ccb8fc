from scipy.stats import loguniform, randint, uniform
from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from benchmark_utils.solver import EstimatorSolver


class Solver(EstimatorSolver):
    """Gradient-boosted trees."""
    name = "gradient_boosting"
    parameters = {
        **EstimatorSolver.parameters,
        "n_estimators": [100], "learning_rate": [0.1], "max_depth": [3], "subsample": [1.0],
    }
    search_space = {
        "n_estimators": randint(20, 301),
        "learning_rate": loguniform(1e-2, 0.5),
        "max_depth": randint(1, 7),
        "subsample": uniform(0.5, 0.5),
    }

    def get_estimator(self, task, seed, **config):
        boosting = (
            GradientBoostingRegressor if task == "regression" else GradientBoostingClassifier
        )
        return boosting(random_state=seed, **config)
