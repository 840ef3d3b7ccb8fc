from scipy.stats import randint
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from benchmark_utils.solver import EstimatorSolver


class Solver(EstimatorSolver):
    """Mean, or vote, of the k nearest neighbours."""
    name = "k_neighbors"
    parameters = {**EstimatorSolver.parameters, "n_neighbors": [5], "weights": ["uniform"]}
    search_space = {
        "n_neighbors": randint(1, 31),
        "weights": ["uniform", "distance"],
    }

    def get_estimator(self, task, seed, **config):
        neighbors = KNeighborsRegressor if task == "regression" else KNeighborsClassifier
        return neighbors(**config)
