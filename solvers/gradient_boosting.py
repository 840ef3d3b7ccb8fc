from sklearn.ensemble import GradientBoostingClassifier, GradientBoostingRegressor

from benchmark_utils.solver import EstimatorSolver


class Solver(EstimatorSolver):
    """Gradient-boosted trees."""
    name = "gradient_boosting"
    parameters = {
        **EstimatorSolver.parameters,
        "n_estimators": [100], "learning_rate": [0.1], "max_depth": [3], "subsample": [1.0],
    }

    def get_estimator(self, task, seed, **config):
        boosting = (
            GradientBoostingRegressor if task == "regression" else GradientBoostingClassifier
        )
        return boosting(random_state=seed, **config)
