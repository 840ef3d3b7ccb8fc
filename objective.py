from dataclasses import replace
from functools import partial
from sys import intern

import joblib
from benchopt import BaseObjective
from threadpoolctl import threadpool_limits

from benchmark_utils.errors import InputError, check_boolean
from benchmark_utils.fingerprint import code_fingerprint
from benchmark_utils.population import stratified_order
from benchmark_utils.redundancy import Stopping
from benchmark_utils.rows import make_rows
from benchmark_utils.scoring import MAX_OUTER_CHUNKS, Score
from benchmark_utils.seeds import Role, generator, integer_seed
from benchmark_utils.splits import make_splits, split_sizes


class Objective(BaseObjective):
    """How far can a benchmark score be trusted?

    Each repetition (seed) draws a study set, of the size a benchmark would
    really have, splits it K times, and compares the test score of each fitted
    predictor with its score on a benchmarking set that is large enough to
    count as the truth.
    """
    name = "Score trust"
    min_benchopt_version = "1.10"
    requirements = [
        "pip::scikit-learn", "pip::scipy", "pip::optuna", "pip::filelock", "pip::tqdm",
        "pip::jinja2", "pip::packaging",
    ]
    sampling_strategy = "run_once"

    parameters = {
        # training plus validation examples per split, or "max"
        "train_size": [100],
        # fractions of the study set
        "test_size": [0.2],
        "val_size": [0.0],
        "n_splits": [20],
        # mccv, repeated_kfold, holdout, fixed_split or bootstrap
        "procedure": ["mccv"],
        # classification only
        "stratify": [True],
        # same or fresh: whether tuning=nested makes its outer splits anew
        "nested_splits": ["same"],
        # a ratio: stop once going on to n_splits would multiply the predicted gain by less
        "stop_when_redundant": [None],
        # but not before
        "min_splits": [5],
    }
    test_config = {"train_size": 40, "n_splits": 2}

    def skip(self, population, problem):
        if problem is None:
            try:
                check_boolean("stratify", self.stratify)
                if self.nested_splits not in ("same", "fresh"):
                    raise InputError(
                        f"nested_splits={self.nested_splits!r} is neither same nor fresh"
                    )
                self._stopping(self._sizes(population))
            except InputError as error:
                problem = str(error)
        return problem is not None, problem

    def set_data(self, population, problem):
        self.population = population
        self._data_hash = joblib.hash(self._dataset)
        self.sizes = self._sizes(population)

    def get_objective(self):
        problem = self._problem(self._repetition)
        self.study, self.splits, self._of_nested, self.score = (
            problem[name] for name in ("study", "splits", "nested_splits", "score")
        )
        return problem

    def _problem(self, repetition):
        """What solvers are given in one repetition."""
        population, sizes = self.population, self.sizes
        seed = self._seed(repetition)
        n_outer = min(MAX_OUTER_CHUNKS * sizes.test, population.n_pool - sizes.study)
        # One thread, as for fits: some data are computed here.
        with threadpool_limits(limits=1):
            sets = population.draw(seed, repetition, sizes.study, n_outer)
        stratified = self.stratify and population.task == "classification"
        stratify_by = sets.study.y if stratified else None
        stratified_tests = stratified and self.procedure != "bootstrap"
        if stratified_tests and sets.outer is not None:
            # Its chunks stand for larger test sets, which hold each class in proportion as well.
            order = stratified_order(sets.outer.y, generator(seed, Role.OUTER))
            sets = replace(sets, outer=sets.outer[order])
        problem, splits, nested_splits = None, [], []
        make = partial(
            make_splits, self.procedure, sizes, self.n_splits, labels=stratify_by,
            classes=population.classes, groups=sets.study.groups,
        )
        try:
            splits = make(seed=seed, fold_seed=population.fold_seed(repetition))
            nested_splits = splits if self.nested_splits == "same" else make(
                seed=integer_seed(seed, Role.NESTED)
            )
        except InputError as error:
            problem = str(error)
        n_classes = None if population.classes is None else len(population.classes)
        # Stands for the three sets: what they are drawn from, by which seed, their sizes and order.
        data_key = joblib.hash((
            self._data_hash, self._file_hash, seed, repetition, sizes.study, n_outer,
            stratified_tests,
        ))
        return dict(
            study=sets.study, splits=splits, nested_splits=nested_splits, stratify_by=stratify_by,
            task=population.task, n_classes=n_classes, has_bench=population.n_bench > 0,
            seed=seed, score=Score(sets, population.task, n_classes), data_key=data_key,
            problem=problem, stopping=self._stopping(sizes),
            repetition=repetition, problem_of=self._problem,
        )

    def _seed(self, repetition):
        # Solvers that train the networks of several repetitions together ask for the others too.
        own, file_name = self._run_context, self.population.file_name
        self._run_context = replace(
            own, repetition=repetition, dataset_name=file_name or own.dataset_name
        )
        try:
            return self.get_seed(use_dataset=True, use_repetition=True)
        finally:
            self._run_context = own

    def evaluate_result(self, outcomes, is_nested):
        return make_rows(
            outcomes, self._of_nested if is_nested else self.splits, self.study, self.population,
            self.procedure == "bootstrap",
        )

    def __call__(self, result):
        # Benchopt makes each row's names anew and pickles the rows: equal names that are one object
        # are written once.
        return [
            {intern(name): value for name, value in row.items()} for row in super().__call__(result)
        ]

    def get_one_result(self):
        def predict(X):
            return [0] * len(X)

        return dict(is_nested=False, outcomes=[
            dict(
                split=k, budget=1, config=0, hyperparameters="{}", n_ties=0, n_failed_configs=0,
                score_bench_best=0.0,
                record=dict(status="ok", message="", fit_seconds=0.0)
                | self.score(predict, split, with_outer=k == 0),
            )
            for k, split in enumerate(self.splits)
        ])

    def _sizes(self, population):
        return split_sizes(
            self.procedure, self.train_size, self.test_size, self.val_size, population.n_pool
        )

    def _stopping(self, sizes):
        if self.stop_when_redundant is None:
            return None
        return Stopping(
            self.stop_when_redundant, self.min_splits, self.n_splits, sizes.study, sizes.test,
            self.procedure,
        )

    # What the cache key holds besides parameters and this file.
    def _get_state(self):
        return {"benchmark_utils": code_fingerprint()}

    def __setstate__(self, state):
        pass
