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

    def get_estimator(self, task, seed, **config):
        boosting = (
            HistGradientBoostingRegressor if task == "regression"
            else HistGradientBoostingClassifier
        )
        return boosting(random_state=seed, early_stopping=False, **config)
