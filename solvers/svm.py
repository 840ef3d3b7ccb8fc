from scipy.stats import loguniform
from sklearn.compose import TransformedTargetRegressor
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from benchmark_utils.solver import EstimatorSolver


class Solver(EstimatorSolver):
    """Support-vector machine with an RBF kernel; for regression the target is standardised.

    It gives no probabilities, so its log loss and Brier score are missing.
    """
    name = "svm"
    parameters = {**EstimatorSolver.parameters, "C": [1.0], "gamma": ["scale"]}
    search_space = {
        "C": loguniform(0.1, 1000),
        "gamma": loguniform(1e-3, 3.2),
    }

    def get_estimator(self, task, seed, C, gamma):
        if task == "classification":
            return SVC(C=C, gamma=gamma)
        return TransformedTargetRegressor(SVR(C=C, gamma=gamma), transformer=StandardScaler())
