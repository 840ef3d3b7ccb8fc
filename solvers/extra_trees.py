from scipy.stats import randint, uniform
from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

from benchmark_utils.solver import EstimatorSolver


class Solver(EstimatorSolver):
    """Extremely randomised trees."""
    name = "extra_trees"
    parameters = {
        **EstimatorSolver.parameters,
        "n_estimators": [100], "min_samples_leaf": [1], "max_features": [1.0],
    }
    search_space = {
        "min_samples_leaf": randint(1, 21),
        "max_features": uniform(0.1, 0.9),
    }

    def get_estimator(self, task, seed, **config):
        forest = ExtraTreesRegressor if task == "regression" else ExtraTreesClassifier
        return forest(random_state=seed, **config)
