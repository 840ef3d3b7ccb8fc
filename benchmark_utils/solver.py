"""Base classes of all solvers: they own splits, seeds, timing, failures and prediction."""
import time
import warnings

import numpy as np
import pandas as pd
from benchopt import BaseSolver
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from benchmark_utils.encoding import table_encoder
from benchmark_utils.errors import Diverged
from benchmark_utils.seeds import Role, integer_seed


class SplitSolver(BaseSolver):
    """A learning algorithm, fitted and scored on every split.

    A solver derives from it with a `name`, `parameters` and `fit`. Each split's
    predictor goes to `score` at once, so that memory doesn't grow with the
    number of splits. A fit that raises leaves a record with status "failed" and
    the exception as message; predictions that are NaN or infinite, "diverged".

    Attributes
    ----------
    tasks : tuple, which of "classification" and "regression" the algorithm handles
    study : Examples, splits : list of Split, task : str, n_classes : int or None,
    seed : int, score : Score
        Set by `set_objective`.
    """
    sampling_strategy = "run_once"
    tasks = ("classification", "regression")
    parameters = {}

    def fit(self, train, val, config, seed):
        """Train one predictor.

        Parameters
        ----------
        train, val : Examples; `val` has length 0 where there is no validation part
        config : dict, the hyperparameters
        seed : int in [0, 2**32), the only source of randomness to use

        Returns
        -------
        callable X -> predictions
            Values of shape (n,) for regression; for classification class codes
            of shape (n,) or probabilities of shape (n, n_classes).
        """
        raise NotImplementedError

    def skip(self, problem, task, **_):
        if problem is not None:
            return True, problem
        if task not in self.tasks:
            return True, f"{self.name} handles {' and '.join(self.tasks)} only, not {task}"
        return False, None

    def set_objective(self, study, splits, task, n_classes, seed, score, problem):
        self.study, self.splits, self.task = study, splits, task
        self.n_classes, self.seed, self.score = n_classes, seed, score

    def run(self, _):
        self.records = []
        # One thread: results don't depend on how many workers share the machine.
        with threadpool_limits(limits=1):
            for k in range(len(self.splits)):
                self.records.append(self._run_split(k))

    def get_result(self):
        return dict(records=self.records)

    @property
    def config(self):
        """The configuration given by the solver's own parameters."""
        return {
            name: value for name, value in self._parameters.items()
            if name not in SplitSolver.parameters
        }

    def _run_split(self, k):
        split = self.splits[k]
        record = dict(status="ok", message="")
        is_first = not any(r["status"] == "ok" for r in self.records)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            started = time.perf_counter()
            try:
                predict = self.fit(
                    self.study[split.train], self.study[split.val], self.config,
                    integer_seed(self.seed, Role.TRAINING, k, 0),
                )
                record["fit_seconds"] = time.perf_counter() - started
                record |= self.score(predict, split, with_outer=is_first)
            except Diverged as error:
                record = dict(status="diverged", message=str(error))
            except Exception as error:
                record = dict(status="failed", message=f"{type(error).__name__}: {error}")
        if not record["message"] and caught:
            first = caught[0]
            record["message"] = f"{first.category.__name__}: {first.message}"
        return record


class EstimatorSolver(SplitSolver):
    """A scikit-learn estimator: a solver is a name, its parameters and `get_estimator`.

    Tables are encoded inside each training part (`table_encoder`); arrays go to
    the estimator as they are.
    """

    def get_estimator(self, task, seed, **config):
        """Return an unfitted estimator.

        Parameters
        ----------
        task : "classification" or "regression"
        seed : int, for the estimator's `random_state`
        **config : the solver's own parameters
        """
        raise NotImplementedError

    def fit(self, train, val, config, seed):
        estimator = self.get_estimator(self.task, seed, **config)
        if isinstance(train.X, pd.DataFrame):
            estimator = make_pipeline(table_encoder(self.study.X), estimator)
        estimator.fit(train.X, train.y)
        if self.task == "regression":
            return estimator.predict
        if not hasattr(estimator, "predict_proba"):
            return estimator.predict
        if len(estimator.classes_) == self.n_classes:
            return estimator.predict_proba
        return lambda X: self._with_absent_classes(estimator, X)

    def _with_absent_classes(self, estimator, X):
        # A class absent from the training part has probability zero.
        known = estimator.predict_proba(X)
        probability = np.zeros((len(known), self.n_classes))
        probability[:, estimator.classes_] = known
        return probability
