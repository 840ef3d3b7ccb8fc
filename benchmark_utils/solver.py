"""Base classes of all solvers: they own splits, seeds, timing, failures and prediction."""
import pickle
import time
import warnings
from functools import partial

import joblib
import numpy as np
import pandas as pd
from benchopt import BaseSolver
from benchopt.stopping_criterion import SingleRunCriterion
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from benchmark_utils.encoding import table_encoder
from benchmark_utils.errors import Diverged, InputError, is_of_the_machine
from benchmark_utils.fingerprint import Fingerprinted, code_fingerprint
from benchmark_utils.progress import Progress
from benchmark_utils.running import cache_folder
from benchmark_utils.seeds import Role, integer_seed
from benchmark_utils.store import Store, entry_key
from benchmark_utils.tuning import Tuner
from benchmark_utils.views import View


class _Rows(list):
    """Benchopt's list of a run's rows, which its cache would write and read in pure Python, cell by
    cell; as bytes they take a fraction of the time."""

    def __reduce__(self):
        return pickle.loads, (pickle.dumps(list(self)),)


class SplitSolver(Fingerprinted, BaseSolver):
    """A learning algorithm under a tuning rule, fitted and scored on every split.

    A solver derives from it with a `name`, `parameters`, a `search_space` and
    `fit`. Each fitted predictor goes to `score` at once, so that memory doesn't
    grow with the number of splits. A fit that raises leaves a record with status
    "failed" and the exception as message; predictions that are NaN or infinite,
    "diverged".

    Attributes
    ----------
    search_space : dict, name of a parameter -> scipy.stats distribution or list of values
    tasks : tuple, which of "classification" and "regression" the algorithm handles
    takes_views : bool, whether it handles images or texts (`View`), besides or instead of numbers
    protocol : tuple, names of the parameters that aren't hyperparameters
    study : Examples, splits : list of Split, task : str, n_classes : int or None,
    seed : int, score : Score, data_key : str or None
        Set by `set_objective`; splits are those of the tuning rule, and `data_key` stands for the
        draw of the data.
    store : Store, of the finished fits
    """
    # With "run_once" Benchopt would pickle every row twice, for two caches, one of which doesn't
    # know the content of the data. A callback's result goes into the other one only.
    sampling_strategy = "callback"
    stopping_criterion = SingleRunCriterion()
    tasks = ("classification", "regression")
    takes_views = False
    search_space = {}
    parameters = {
        # default, val, test, cv, nested, benchmark or memorise
        "tuning": ["default"],
        # budget T: how many configurations a search tries
        "n_configs": [30],
        # random, grid or tpe
        "search": ["random"],
        # of tuning=nested
        "inner_folds": [5],
    }
    protocol = tuple(parameters)

    def fit(self, train, val, config, seed):
        """Train one predictor.

        Parameters
        ----------
        train, val : Examples; `val` has length 0 where there is no validation part
        config : dict, the hyperparameters: the solver's own parameters, those of
            the search space replaced by the configuration to try
        seed : int in [0, 2**32), the only source of randomness to use

        Returns
        -------
        callable X -> predictions
            Values of shape (n,) for regression; for classification class codes
            of shape (n,) or probabilities of shape (n, n_classes).
        """
        raise NotImplementedError

    def skip(self, problem, **objective):
        if problem is None and objective["task"] not in self.tasks:
            problem = f"{self.name} does {' and '.join(self.tasks)} only, not {objective['task']}"
        if problem is None and isinstance(objective["study"].X, View) and not self.takes_views:
            problem = f"{self.name} takes numbers and tables, neither images nor texts"
        missing = set(self.protocol) - set(self._parameters)
        if problem is None and missing:
            problem = (
                f"the parameters of {self.name} lack {', '.join(sorted(missing))}: begin them with "
                "the base class's, as in **EstimatorSolver.parameters"
            )
        if problem is None:
            self.set_objective(problem=problem, **objective)
            try:
                self._tuner()
            except InputError as error:
                problem = str(error)
        return problem is not None, problem

    def set_objective(self, problem, study, splits, nested_splits, stratify_by, task, n_classes,
                      seed, score, has_bench, data_key, stopping, repetition, problem_of):
        self.study, self.task, self.n_classes = study, task, n_classes
        self.splits = nested_splits if self.tuning == "nested" else splits
        self.seed, self.score, self.data_key = seed, score, data_key
        self._stratify_by, self._has_bench, self._stopping = stratify_by, has_bench, stopping
        self._repetition, self._problem_of = repetition, problem_of
        self.store = Store(self._store_path())

    def run(self, callback):
        callback.curve = _Rows()
        callback()
        tuner = self._tuner()
        # One thread: results don't depend on how many workers share the machine.
        with threadpool_limits(limits=1):
            self._fit_ahead(tuner)
            with Progress(str(self), tuner.n_fits) as self._progress, self.store:
                self.outcomes = tuner.outcomes()
                self._progress.found(self.store.n_found, self.store.n_made)
        callback()

    def get_result(self):
        return dict(outcomes=self.outcomes, is_nested=self.tuning == "nested")

    @property
    def config(self):
        """The default configuration: the solver's own parameters."""
        return {
            name: value for name, value in self._parameters.items()
            if name not in self.protocol
        }

    def _tuner(self):
        return Tuner(
            self.tuning, self.search, self.n_configs, self.inner_folds, self.search_space,
            self.config, len(self.study), self.splits, self._stratify_by, self.seed,
            self._has_bench, self._records, self._stopping, self.study.groups,
        )

    def _fit_ahead(self, tuner):
        """Put into the store what is better made together than when a rule asks for it."""

    def _records(self, job, batch):
        """Records of a batch of (index, config): those that the store lacks are fitted."""
        records = []
        for i, config in batch:
            key = self._key(job, i, config)
            record = self.store.get(key)
            if record is None:
                fit = partial(
                    self.fit, self.study[job.split.train], self.study[job.split.val],
                    self.config | config, self._training_seed(job, i),
                )
                record = self._keep(key, *self._make_record(job, fit))
            self._progress.step(job, i)
            records.append(record)
        return records

    def _training_seed(self, job, i):
        return integer_seed(self.seed, Role.TRAINING, *job.seed_key, i)

    def _key(self, job, i, config):
        """Key in the store of the fit of one configuration."""
        return entry_key(
            job.split.train, job.split.val, job.split.test, sorted((self.config | config).items()),
            self._training_seed(job, i), job.with_bench, job.with_outer,
        )

    def _keep(self, key, record, is_lasting):
        if is_lasting:
            self.store.put(key, record)
        elif (path := self._passing_failures()) is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            with open(path, "ab") as file:
                file.write(b".")
        return record

    def _make_record(self, job, fit):
        """One fit's record, and whether it would be the same the next time.

        `fit` is a callable () -> predict, see `fit`.
        """
        record, is_lasting = dict(status="ok", message=""), True
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("default")
            started = time.perf_counter()
            try:
                predict = fit()
                record["fit_seconds"] = time.perf_counter() - started
                record |= self.score(predict, job.split, job.with_outer, job.with_bench)
            except Diverged as error:
                record = dict(status="diverged", message=str(error))
            except Exception as error:
                record = dict(status="failed", message=f"{type(error).__name__}: {error}")
                is_lasting = not is_of_the_machine(error)
        if not record["message"] and caught:
            first = caught[0]
            record["message"] = f"{first.category.__name__}: {first.message}"
        return record, is_lasting

    def _cache(self):
        """Benchopt's cache folder; None where nothing is to be kept."""
        return None if self.data_key is None else cache_folder()

    def _store_path(self):
        cache = self._cache()
        if cache is None:
            return None
        key = joblib.hash((self.data_key, self._file_hash, code_fingerprint(), self.depends_on()))
        return cache / "fits" / self.name / f"{key}.journal"

    def _passing_failures(self):
        """File with a byte for each failure of this solver that may not come again."""
        folder = cache_folder()
        return None if folder is None else folder / "fits" / f"{self.name}.failures"

    # Benchopt keeps the rows of failed fits as well: with another number of those that may not come
    # again, it asks for all rows anew, and the store lacks only these.
    def _state_now(self):
        path = self._passing_failures()
        n_failures = path.stat().st_size if path is not None and path.exists() else 0
        return {**self.depends_on(), "passing failures": n_failures}


class EstimatorSolver(SplitSolver):
    """A scikit-learn estimator: a name, its parameters, a search space and `get_estimator`.

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
        if self.task == "regression" or not hasattr(estimator, "predict_proba"):
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
