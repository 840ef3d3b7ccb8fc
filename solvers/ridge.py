from scipy.stats import loguniform
from sklearn.linear_model import LogisticRegression, Ridge

from benchmark_utils.solver import EstimatorSolver


class Solver(EstimatorSolver):
    """Linear model with a penalty α‖β‖²: ridge regression, or logistic regression with C = 1/α."""
    name = "ridge"
    parameters = {**EstimatorSolver.parameters, "alpha": [1.0]}
    search_space = {
        "alpha": loguniform(1e-3, 1e3),
    }

    def get_estimator(self, task, seed, alpha):
        if task == "regression":
            return Ridge(alpha=alpha)
        return LogisticRegression(C=1 / alpha, max_iter=1000)
