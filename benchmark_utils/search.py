"""Searches over hyperparameters: which configurations are tried, and which one wins."""
import json
import math

import numpy as np
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.utils import check_random_state

from benchmark_utils.errors import InputError
from benchmark_utils.seeds import Role, integer_seed

SEARCHES = ("random", "grid", "tpe")
N_STARTUP = 10  # configurations that an adaptive search tries before it adapts


class ZeroOr:
    """Zero with some probability, otherwise a draw from a distribution of positive numbers.

    Has of a frozen scipy.stats distribution what searches need.

    Parameters
    ----------
    probability : float in (0, 1), of zero
    distribution : frozen continuous scipy.stats distribution on positive numbers
    """

    def __init__(self, probability, distribution):
        self._probability, self._distribution = probability, distribution

    def rvs(self, random_state=None):
        return float(self.ppf(check_random_state(random_state).random_sample()))

    def cdf(self, x):
        p, x = self._probability, np.asarray(x, float)
        return np.where(x < 0, 0.0, p + (1 - p) * self._distribution.cdf(x))

    def ppf(self, q):
        p, q = self._probability, np.asarray(q, float)
        positive = self._distribution.ppf(np.clip((q - p) / (1 - p), 0, 1))
        return np.where(q <= p, 0.0, positive)

    def support(self):
        return 0.0, self._distribution.support()[1]


class Rounded:
    """Draws from a continuous distribution, rounded to integers.

    Has of a frozen discrete scipy.stats distribution what searches need.

    Parameters
    ----------
    distribution : frozen continuous scipy.stats distribution
    """

    def __init__(self, distribution):
        self._distribution = distribution

    def rvs(self, random_state=None):
        return round(self._distribution.rvs(random_state=random_state))

    def cdf(self, x):
        return self._distribution.cdf(np.floor(x) + 0.5)

    def pmf(self, x):
        return self.cdf(x) - self.cdf(np.asarray(x) - 1)

    def ppf(self, q):
        return np.rint(self._distribution.ppf(q))

    def support(self):
        return tuple(map(round, self._distribution.support()))


def checked_space(space, default):
    """A search space as searches need it.

    Parameters
    ----------
    space : dict, name -> frozen scipy.stats distribution, or list, tuple, range or array of values
    default : dict, the default configuration

    Returns
    -------
    dict, name -> distribution or list of Python's own values

    Raises
    ------
    InputError
        For a hyperparameter without default, a range that is neither, an empty one, and a value
        that a row can't hold.
    """
    checked = {}
    for name, values in space.items():
        if name not in default:
            raise InputError(f"{name} of the search space has no default: add it to the solver's "
                             "parameters")
        if isinstance(values, list | tuple | range | np.ndarray):
            values = [value.tolist() if isinstance(value, np.ndarray) else _plain(value)
                      for value in values]
            if not values:
                raise InputError(f"{name} of the search space has no values")
            for value in values:
                try:
                    json.dumps(value)
                except TypeError as error:
                    raise InputError(
                        f"{name} of the search space holds {value!r}: list numbers, text, True, "
                        "False, None or lists of them, and make other objects from these"
                    ) from error
        elif not all(hasattr(values, method) for method in ("rvs", "cdf", "ppf", "support")):
            raise InputError(f"{name} of the search space is neither a list nor a frozen "
                             f"scipy.stats distribution, but {values!r}")
        checked[name] = values
    return checked


def random_configurations(space, n_configs, seed):
    """Independent draws; the first ones don't depend on how many follow.

    Parameters
    ----------
    space : dict, name -> scipy.stats distribution or list of values
    n_configs : int
    seed : int, the repetition's seed

    Returns
    -------
    list of dict
    """
    def draw(i):
        sampler = ParameterSampler(space, 1, random_state=integer_seed(seed, Role.SEARCH, i))
        return {name: _plain(value) for name, value in next(iter(sampler)).items()}

    return [draw(i) for i in range(n_configs)]


def grid_configurations(space, n_configs, default):
    """The largest product grid of at most n_configs cells with as many levels for each range.

    Lists contribute all their values. Distributions contribute levels evenly
    spaced in probability between their ends, both included: log-spaced for a
    log-uniform distribution. With one level, that is the default configuration.

    Parameters
    ----------
    space : dict, name -> scipy.stats distribution with finite support, or list of values
    n_configs : int
    default : dict, the default configuration

    Returns
    -------
    list of dict, of length at most n_configs

    Raises
    ------
    InputError
        When the lists alone make more cells, or a distribution has no ends.
    """
    if n_configs == 1:
        return [default]
    lists = {name: values for name, values in space.items() if isinstance(values, list)}
    ranges = {name: values for name, values in space.items() if name not in lists}
    n_listed = math.prod(len(values) for values in lists.values())
    if n_listed > n_configs:
        raise InputError(
            f"the lists of the search space alone make a grid of {n_listed} cells: raise "
            f"n_configs={n_configs}"
        )
    n_levels = 1
    while ranges and n_listed * (n_levels + 1) ** len(ranges) <= n_configs:
        n_levels += 1
    levels = {name: [default[name]] for name in ranges}
    if n_levels > 1:
        for name, distribution in ranges.items():
            # Finite supports end at their 0 % and 100 % quantiles; a discrete
            # one's 0 % quantile lies one step below.
            low, high = distribution.support()
            values = np.clip(distribution.ppf(np.linspace(0, 1, n_levels)), low, high)
            if not np.isfinite(values).all():
                raise InputError(f"{name} has no finite range, which a grid search needs")
            levels[name] = list(dict.fromkeys(_plain(v) for v in _like_draws(distribution, values)))
    return list(ParameterGrid({**lists, **levels}))


def tpe_search(space, configs, seed, evaluate):
    """Adaptive search by optuna's TPE sampler, one configuration after the other.

    Parameters
    ----------
    space : dict, name -> scipy.stats distribution, or list of values
    configs : list of dict, the random configurations, which give the budget; the
        first ten are tried as they are, whatever guides the search
    seed : int, for the sampler
    evaluate : callable (index, config) -> score, NaN where the fit failed

    Returns
    -------
    list of dict, the configurations tried
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    ranges = {name: _OptunaRange(values) for name, values in space.items()}
    distributions = {name: of.distribution for name, of in ranges.items()}
    sampler = optuna.samplers.TPESampler(seed=seed, n_startup_trials=N_STARTUP)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    tried = []
    for i, drawn in enumerate(configs):
        if i < N_STARTUP:
            study.enqueue_trial({name: of.to_optuna(drawn[name]) for name, of in ranges.items()})
        trial = study.ask(distributions)
        config = drawn if i < N_STARTUP else {
            name: ranges[name].from_optuna(trial.params[name]) for name in sorted(space)
        }
        tried.append(config)
        score = evaluate(i, config)
        if np.isfinite(score):
            study.tell(trial, score)
        else:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
    return tried


def position_in_range(value, values):
    """Where a value lies in its range: the probability of smaller ones, ties counting half.

    Parameters
    ----------
    values : scipy.stats distribution, or list of values in their order

    Returns
    -------
    float in [0, 1], or None for a default outside the range
        Winners that crowd near 0 or 1 say that the range is too narrow.
    """
    if isinstance(values, list):
        return (values.index(value) + 0.5) / len(values) if value in values else None
    if not isinstance(value, int | float):
        return None
    return float(values.cdf(value) + values.cdf(np.nextafter(value, -np.inf))) / 2


def best_so_far(scores):
    """Index of the best score among the first 1 … T, and how many others equal it.

    The earliest of equal scores wins; NaN never wins.

    Parameters
    ----------
    scores : array of shape (T,)

    Returns
    -------
    index : array of int of shape (T,), −1 while every score is NaN
    ties : array of int of shape (T,)
    """
    index, ties = np.empty(len(scores), int), np.empty(len(scores), int)
    best, n_equal = -1, 0
    for i, score in enumerate(scores):
        if not np.isnan(score):
            if best < 0 or score > scores[best]:
                best, n_equal = i, 0
            elif score == scores[best]:
                n_equal += 1
        index[i], ties[i] = best, n_equal
    return index, ties


class _OptunaRange:
    """The range of one hyperparameter as optuna's distribution.

    Log-uniform, uniform and integer ranges and lists have one of optuna's own;
    optuna searches others by their quantiles.
    """

    def __init__(self, values):
        from optuna.distributions import (
            CategoricalDistribution,
            FloatDistribution,
            IntDistribution,
        )

        family = getattr(getattr(values, "dist", None), "name", None)
        self._quantiles_of = self._listed = None
        if isinstance(values, list):
            # By their indices: optuna warns of values such as tuples.
            self.distribution, self._listed = CategoricalDistribution(range(len(values))), values
        elif family in ("loguniform", "reciprocal"):
            self.distribution = FloatDistribution(*map(float, values.support()), log=True)
        elif family == "uniform":
            self.distribution = FloatDistribution(*map(float, values.support()))
        elif family == "randint":
            self.distribution = IntDistribution(*map(int, values.support()))
        else:
            self.distribution, self._quantiles_of = FloatDistribution(0.0, 1.0), values

    def to_optuna(self, value):
        if self._listed is not None:
            return self._listed.index(value)
        values = self._quantiles_of
        return value if values is None else position_in_range(value, values)

    def from_optuna(self, value):
        if self._listed is not None:
            return self._listed[value]
        values = self._quantiles_of
        return value if values is None else _plain(_like_draws(values, values.ppf(value))[()])


def _like_draws(distribution, values):
    # Discrete distributions draw integers, but their quantiles are floats.
    is_discrete = hasattr(distribution, "pmf")
    return np.rint(values).astype(int) if is_discrete else values


def _plain(value):
    """A Python number for a NumPy one."""
    return value.item() if isinstance(value, np.generic) else value
