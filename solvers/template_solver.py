# Copy this file, give it the algorithm's name, and fill in the four parts below.
# Files called template_* are not part of the benchmark.
from scipy.stats import loguniform, uniform
from sklearn.linear_model import ElasticNet, SGDClassifier

from benchmark_utils.solver import EstimatorSolver


class Solver(EstimatorSolver):
    """What the algorithm is, in one line: it appears on the result page."""
    # 1. The name for `-s`.
    name = "template"
    # 2. The hyperparameters, each with a list of the values to run: here, their defaults.
    parameters = {**EstimatorSolver.parameters, "alpha": [0.01], "l1_ratio": [0.5]}
    # 3. What a search tries, as scipy.stats distributions or lists.
    search_space = {"alpha": loguniform(1e-4, 1), "l1_ratio": uniform(0, 1)}
    # What must be installed beyond requirements.txt goes to `requirements`, e.g. ["pip::lightgbm"],
    # and is imported inside `with safe_import_context() as import_ctx:` (from benchopt). An
    # algorithm for one kind of task only says so with, e.g., tasks = ("regression",).

    # 4. An unfitted estimator for the task ("regression" or "classification"), this
    #    configuration and this seed, the only source of randomness.
    def get_estimator(self, task, seed, alpha, l1_ratio):
        if task == "regression":
            return ElasticNet(alpha=alpha, l1_ratio=l1_ratio, random_state=seed)
        return SGDClassifier(
            loss="log_loss", penalty="elasticnet", alpha=alpha, l1_ratio=l1_ratio,
            random_state=seed,
        )
