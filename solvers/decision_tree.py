from scipy.stats import loguniform, randint
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmark_utils.solver import EstimatorSolver


class Solver(EstimatorSolver):
    """One decision tree."""
    name = "decision_tree"
    parameters = {
        **EstimatorSolver.parameters,
        "max_depth": [None], "min_samples_leaf": [1], "ccp_alpha": [0.0],
    }
    search_space = {
        "max_depth": [None, 2, 3, 4, 6, 8, 12],
        "min_samples_leaf": randint(1, 31),
        "ccp_alpha": loguniform(1e-5, 1e-1),
    }

    def get_estimator(self, task, seed, **config):
        tree = DecisionTreeRegressor if task == "regression" else DecisionTreeClassifier
        return tree(random_state=seed, **config)
