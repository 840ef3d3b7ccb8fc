"""Populations: where a repetition's study, outer and benchmarking sets come from."""
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from benchopt import BaseDataset

from benchmark_utils.errors import InputError
from benchmark_utils.fingerprint import Fingerprinted
from benchmark_utils.seeds import Role, generator

BENCH_SEED = 42  # the benchmarking set of a fixed pool is the same in every run


@dataclass(frozen=True)
class Examples:
    """A set of examples.

    Parameters
    ----------
    X : array, table or view of length n, indexable by an array of integers
    y : array of shape (n,)
        Floats for regression; for classification integer codes 0 … C−1, in the
        order of the population's `classes`.
    groups : array of int of shape (n,), or None
        Examples of one group are never on both sides of a split.
    """
    X: object
    y: np.ndarray
    groups: np.ndarray | None = None

    def __len__(self):
        return len(self.y)

    @cached_property
    def variance(self):
        """Variance of y, which R² divides by; 0 if all are equal, whatever their mean rounds to."""
        return self.y.var() if np.ptp(self.y) else 0.0

    def __getitem__(self, index):
        X = self.X.iloc[index] if hasattr(self.X, "iloc") else self.X[index]
        return Examples(X, self.y[index], None if self.groups is None else self.groups[index])


@dataclass(frozen=True)
class Sets:
    """One repetition's three sets; `outer` and `bench` are None without a benchmarking set."""
    study: Examples
    outer: Examples | None
    bench: Examples | None


class Population:
    """What every data set returns: something that can draw the three sets.

    Attributes
    ----------
    task : "classification" or "regression"
    classes : list of the classes' names in the order of their codes; None for regression
    n_pool : number of examples from which study and outer sets are drawn
    n_bench : size of the benchmarking set, 0 where there is none
    is_pool : whether the study sets of all seeds come from the same fixed examples
    description : one line on the data, shown with the results
    file_name : name of the file that holds the examples, or None; seeds then rest on it, not on
        the data set's name, which holds the file's path
    """

    is_pool = False
    file_name = None

    def __init__(self, task, classes, n_pool, n_bench, description):
        self.task = task
        self.classes = classes
        self.n_pool = n_pool
        self.n_bench = n_bench
        self.description = description

    def draw(self, seed, repetition, n_study, n_outer):
        """The three sets of one repetition.

        Parameters
        ----------
        seed : int, the repetition's seed
        repetition : int, its index, for populations with a published list of seeds
        n_study, n_outer : sizes, n_study + n_outer ≤ n_pool

        Returns
        -------
        Sets
        """
        raise NotImplementedError

    def fold_seed(self, repetition):
        """Seed of the first K folds, for populations whose results were published with it."""
        return None


class GeneratedPopulation(Population):
    """A population that is generated afresh, parameters and all, for each seed.

    Parameters
    ----------
    generate : callable (numpy Generator, n) -> X, y
        Draws the population's parameters, then n independent examples of it.
    """

    def __init__(self, generate, task, n_pool, n_bench, description, classes=None):
        super().__init__(task, classes, n_pool, n_bench, description)
        self._generate = generate

    def draw(self, seed, repetition, n_study, n_outer):
        # Always as many rows, so that a smaller study set is the start of a larger one.
        X, y = self._generate(generator(seed, Role.POPULATION), self.n_pool + self.n_bench)
        examples = Examples(X, y)
        study = examples[:n_study]
        if not self.n_bench:
            return Sets(study, None, None)
        return Sets(study, examples[n_study:n_study + n_outer], examples[self.n_pool:])


class PoolPopulation(Population):
    """A population of fixed examples.

    The benchmarking set is drawn once, stratified by class, with a constant
    seed, or given; study and outer sets are redrawn per seed from the other examples,
    the study set stratified by class. Study sets nest: with one seed, the
    smaller is part of the larger.

    Parameters
    ----------
    X : anything that an array of integers can index (rows, where it is a table)
    y : array of shape (n,), see `Examples`
    n_bench : int, size of the benchmarking set; 0 for none
    bench : Examples, a benchmarking set of its own, instead of one taken from X
    max_bench : int or None, how many of the n_bench set aside to use, stratified by class
    groups : array of int of shape (n,), or None, see `Examples`

    Raises
    ------
    InputError
        For n_bench or max_bench out of range, n_bench above zero with groups, which it would
        share, and NaN or infinite numbers in arrays. Tables may have missing values.
    """
    is_pool = True

    def __init__(self, X, y, task, n_bench, description, classes=None, bench=None,
                 groups=None, max_bench=None):
        y = np.asarray(y)
        if not 0 <= n_bench < len(y):
            raise InputError(
                f"a benchmarking set of {n_bench} examples can't be set aside from {len(y)}"
            )
        if groups is not None and n_bench:
            raise InputError("a benchmarking set would share groups with the other examples: set "
                             "bench_size=0")
        if max_bench is not None and (not isinstance(max_bench, int) or max_bench < 1):
            raise InputError(f"max_bench={max_bench!r} is neither None nor an integer ≥ 1")
        _check_finite("target", y)
        if isinstance(X, np.ndarray):
            _check_finite("feature", X)
        super().__init__(
            task, classes, len(y) - n_bench, n_bench if bench is None else len(bench), description
        )
        self._examples, self._bench = Examples(X, y, groups), bench
        order = self._draw_order(np.arange(len(y)), np.random.default_rng(BENCH_SEED))
        if n_bench:
            self._bench = self._examples[np.sort(order[:n_bench][:max_bench])]
            self.n_bench = len(self._bench)
        self._pool = np.sort(order[n_bench:])

    def draw(self, seed, repetition, n_study, n_outer):
        rng = generator(seed, Role.POPULATION)
        order = self._draw_order(self._pool, rng)
        study = self._examples[order[:n_study]]
        if self._bench is None:
            return Sets(study, None, None)
        outer = rng.permutation(order[n_study:])[:n_outer]
        return Sets(study, self._examples[outer], self._bench)

    def _draw_order(self, index, rng):
        index = rng.permutation(index)
        if self.task != "classification":
            return index
        return index[stratified_order(self._examples.y[index], rng)]


def stratified_order(labels, rng):
    """An order in which every run of examples holds each class in proportion, up to rounding.

    Each class is spread evenly from a random start, so that a rare one is as
    likely to be in a small prefix as its share says.
    """
    position = np.empty(len(labels))
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        position[members] = (np.arange(len(members)) + rng.random()) / len(members)
    return np.argsort(position, kind="stable")


def _check_finite(what, array):
    if not np.issubdtype(array.dtype, np.number) or np.isfinite(array).all():
        return
    row, *column = np.argwhere(~np.isfinite(array))[0].tolist()
    where = f" in column {', '.join(map(str, column))}" if column else ""
    value = array[(row, *column)]
    raise InputError(
        f"a {what} is {value}{where} of row {row} (counting from 0): replace or drop it, or give a "
        "table (DataFrame), in which missing values are imputed"
        if column else
        f"the {what} is {value} in row {row} (counting from 0): drop the row"
    )


class PopulationDataset(Fingerprinted, BaseDataset):
    """Base class of all data sets: a name, parameters and `get_population`.

    An InputError raised there becomes a reason to skip the data set, so that
    the others of the same command still run. A data set that comes from files
    says so by `depends_on`.
    """

    def get_population(self):
        """Return a Population, built from the data set's parameters."""
        raise NotImplementedError

    def get_data(self):
        try:
            return dict(population=self.get_population(), problem=None)
        except InputError as error:
            return dict(population=None, problem=str(error))
