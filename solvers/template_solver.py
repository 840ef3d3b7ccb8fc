# Copy this file, give it the algorithm's name, and fill in the three parts below.
# Files called template_* are not part of the benchmark.
from sklearn.linear_model import ElasticNet, SGDClassifier

from benchmark_utils.solver import EstimatorSolver


class Solver(EstimatorSolver):
    """What the algorithm is, in one line: it appears on the result page."""
    # 1. The name for `-s`.
    name = "template"
    # 2. The hyperparameters, each with a list of the values to run: here, their defaults.
    parameters = {**EstimatorSolver.parameters, "alpha": [0.01], "l1_ratio": [0.5]}
    # What must be installed beyond requirements.txt, e.g. ["pip::lightgbm"], goes to `requirements`;
    # an algorithm for one kind of task only says so with, e.g., tasks = ("regression",).

    # 3. An unfitted estimator for the task ("regression" or "classification"), this
    #    configuration and this seed, the only source of randomness.
    def get_estimator(self, task, seed, alpha, l1_ratio):
        if task == "regression":
            return ElasticNet(alpha=alpha, l1_ratio=l1_ratio, random_state=seed)
        return SGDClassifier(
            loss="log_loss", penalty="elasticnet", alpha=alpha, l1_ratio=l1_ratio,
            random_state=seed,
        )
