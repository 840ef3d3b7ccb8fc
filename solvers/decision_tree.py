from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmark_utils.solver import EstimatorSolver


class Solver(EstimatorSolver):
    """One decision tree."""
    name = "decision_tree"
    parameters = {
        **EstimatorSolver.parameters,
        "max_depth": [None], "min_samples_leaf": [1], "ccp_alpha": [0.0],
    }

    def get_estimator(self, task, seed, **config):
        tree = DecisionTreeRegressor if task == "regression" else DecisionTreeClassifier
        return tree(random_state=seed, **config)
