"""Tuning rules: how one configuration is chosen, for every budget 1 … T at once.

Rules of one algorithm ask for the same fits, which the solver makes once
(`benchmark_utils.store`); they differ in the score by which they choose.
"""
import json
import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd

from benchmark_utils.errors import InputError
from benchmark_utils.search import (
    SEARCHES,
    best_so_far,
    checked_space,
    grid_configurations,
    position_in_range,
    random_configurations,
    tpe_search,
)
from benchmark_utils.seeds import Role, integer_seed
from benchmark_utils.splits import Split, fold_splitter

NOTHING = np.arange(0)


@dataclass(frozen=True)
class Job:
    """One fit of any configuration: examples to train and score on, and its stream of seeds.

    Attributes
    ----------
    split : Split, positions in the study set
    seed_key : tuple of int, to which the configuration's index is added
    with_bench, with_outer : bool, whether to score on these sets too
    """
    split: Split
    seed_key: tuple
    with_bench: bool = True
    with_outer: bool = False


class Tuner:
    """One tuning rule at work on one study set.

    Parameters
    ----------
    rule : a name in `RULES`
    search : "random", "grid" or "tpe"
    n_configs : int, the budget T
    inner_folds : int, folds of the inner cross-validation of `nested`
    space : dict, the search space
    default : dict, the default configuration
    n_study : int; splits : list of Split; stratify_by : array of shape (n_study,), or None
    seed : int, the repetition's seed
    has_bench : bool
    fit : callable (Job, list of (index, config)) -> list of records
    stopping : Stopping or None
    groups : array of int of shape (n_study,), or None, which inner folds keep together

    Raises
    ------
    InputError
        When rule, search and data don't go together; says what to change.
    """

    def __init__(self, rule, search, n_configs, inner_folds, space, default, n_study, splits,
                 stratify_by, seed, has_bench, fit, stopping=None, groups=None):
        if rule not in RULES:
            raise InputError(f"tuning={rule!r} is none of {', '.join(RULES)}")
        if search not in SEARCHES:
            raise InputError(f"search={search!r} is none of {', '.join(SEARCHES)}")
        if not isinstance(n_configs, (int, np.integer)) or n_configs < 1:
            raise InputError(f"n_configs={n_configs!r} is not an integer ≥ 1")
        if rule != "default" and not space:
            raise InputError(f"tuning={rule} needs a search space, and this solver has none")
        if rule == "val" and not all(len(split.val) for split in splits):
            raise InputError("tuning=val needs a validation part: set the objective's val_size")
        if rule == "benchmark" and not has_bench:
            raise InputError("tuning=benchmark needs a benchmarking set, and there is none")
        if rule == "cv" and stopping is not None:
            raise InputError("tuning=cv needs all splits: set the objective's "
                             "stop_when_redundant=None")
        if rule == "nested" and not (isinstance(inner_folds, (int, np.integer))
                                     and inner_folds >= 2):
            raise InputError(f"inner_folds={inner_folds!r} is not an integer ≥ 2")
        self._rule, self._is_search = RULES[rule], rule != "default"
        self._search_name = search
        self._space = checked_space(space, default) if rule != "default" else space
        self._inner_folds, self._splits, self._stratify_by = inner_folds, splits, stratify_by
        self._seed, self._fit, self._stopping, self._groups = seed, fit, stopping, groups
        self.n_study, self.has_bench = n_study, has_bench
        if rule == "nested":
            for k, split in enumerate(splits):
                list(self.inner_jobs(k, split))
        if rule == "default":
            self._configs = [default]
        elif search == "grid":
            self._configs = grid_configurations(self._space, n_configs, default)
        else:
            self._configs = random_configurations(self._space, n_configs, seed)

    @property
    def n_fits(self):
        """Number of fits the rule asks for; for `nested`, where refits coincide, at most."""
        T, K = len(self._configs), len(self._splits)
        if self._rule is _nested:
            return K * T * (self._inner_folds + 1)
        return T * K + (T if self._rule is _cv and self.has_bench else 0)

    def outcomes(self):
        """What the rule chose, for each split and budget.

        Returns
        -------
        list of dict with keys
            split : int, −1 for the predictor refitted on the whole study set
            budget : int; config : int, −1 where every fit so far failed
            hyperparameters : str, the chosen configuration as JSON: name -> [value,
            position in its range], see `position_in_range`
            n_ties : other configurations with the winner's score
            n_failed_configs : configurations so far that failed or diverged
            score_bench_best : best benchmark score among the configurations so far
            record : dict, see `Score`, with status and message
            stopped : str, only where no further split was made: why
        """
        outcomes = []
        reason = None if self._stopping is None else self._stopping.watch()
        for outcome in self._rule(self):
            outcomes.append(outcome)
            if reason is not None and outcome["budget"] == len(self._configs):
                stopped = reason(self._splits[outcome["split"]], outcome["record"])
                if stopped:
                    outcome["stopped"] = stopped
                    break
        return outcomes

    def planned(self):
        """The fits that the rule asks for whatever the scores turn out to be.

        Returns
        -------
        list of (Job, index, config); empty for an adaptive search, and where splits
        may be left out
        """
        planned = []
        is_adaptive = self._search_name == "tpe" and len(self._configs) > 1
        if is_adaptive or self._stopping is not None:
            return planned

        def note(job, batch):
            planned.extend((job, i, config) for i, config in batch)
            return [dict(status="ok", message="") for _ in batch]

        fit, self._fit = self._fit, note
        try:
            self.outcomes()
        finally:
            self._fit = fit
        return planned

    # What the rules are made of.

    def split_jobs(self):
        """(k, Job) of each split; the first split with a successful fit is scored on outer too."""
        self._needs_outer = True
        for k, split in enumerate(self._splits):
            yield k, Job(split, (0, k), with_outer=self._needs_outer)

    def fit(self, job, batch):
        records = self._fit(job, batch)
        if job.with_outer and any(record["status"] == "ok" for record in records):
            self._needs_outer = False
        return records

    def search(self, fit, criterion, *key):
        """Try all configurations.

        Parameters
        ----------
        fit : callable, list of (index, config) -> list of results
        criterion : callable, result -> score to choose by, NaN where it failed
        key : int, tells the adaptive searches of one repetition apart

        Returns
        -------
        configs, results, scores : lists of length T, and array of shape (T,)
        """
        if self._search_name != "tpe" or len(self._configs) == 1:
            results = fit(list(enumerate(self._configs)))
            return self._configs, results, np.array([criterion(r) for r in results], float)
        results, scores = [], []

        def evaluate(i, config):
            results.extend(fit([(i, config)]))
            scores.append(criterion(results[-1]))
            return scores[-1]

        seed = integer_seed(self._seed, Role.SAMPLER, *key)
        configs = tpe_search(self._space, self._configs, seed, evaluate)
        return configs, results, np.array(scores, float)

    def inner_jobs(self, k, split):
        """Jobs of the inner cross-validation of one split's training and validation part.

        Folds are of distinct examples: one that a bootstrap drew twice is either
        trained or tested on.
        """
        rest = np.concatenate([split.train, split.val])
        distinct = pd.unique(rest)
        labels = None if self._stratify_by is None else self._stratify_by[distinct]
        groups = None if self._groups is None else self._groups[distinct]
        folds = fold_splitter(labels, groups)(
            self._inner_folds, shuffle=True, random_state=integer_seed(self._seed, Role.INNER, k),
        )
        try:
            with warnings.catch_warnings():  # of classes rarer than folds
                warnings.simplefilter("ignore", UserWarning)
                parts = list(folds.split(distinct, labels, groups))
        except ValueError as error:
            raise InputError(
                f"inner_folds={self._inner_folds} folds of {len(distinct)} training examples "
                f"can't be made ({error}): lower it, or raise train_size"
            ) from error
        for f, (train, test) in enumerate(parts):
            train = rest[np.isin(rest, distinct[train])]
            yield Job(Split(train, NOTHING, distinct[test]), (2, k, f), with_bench=False)

    def choices(self, k, configs, records, scores, failures=None):
        """Outcomes of one split, for every budget.

        `failures`, where choices don't rest on this split's records alone: one
        record per configuration, that of a fit that failed if one did.
        """
        failures = failures or records
        index, ties = best_so_far(scores)
        failed = np.cumsum([record["status"] != "ok" for record in records])
        bench = np.array([_score_of("score_bench")(record) for record in records], float)
        best_bench = np.fmax.accumulate(bench).tolist()
        described = {i: self._described(configs[i]) for i in set(index.tolist()) - {-1}}
        for b, (chosen, n_ties) in enumerate(zip(index.tolist(), ties.tolist(), strict=True)):
            yield dict(
                split=k, budget=b + 1, config=chosen,
                hyperparameters=described.get(chosen, "{}"),
                n_ties=n_ties, n_failed_configs=int(failed[b]), score_bench_best=best_bench[b],
                record=records[chosen] if chosen >= 0 else _first_failure(failures[:b + 1]),
            )

    def _described(self, config):
        return json.dumps({
            name: [config[name], position_in_range(config[name], values)]
            for name, values in self._space.items()
            if name in config and self._is_search
        })


def _choose_by(column, change_job=lambda k, job: job):
    """Rule that chooses, per split, by one score of the predictor of the split's job."""
    def rule(tuner):
        for k, job in tuner.split_jobs():
            fit = partial(tuner.fit, change_job(k, job))
            configs, records, scores = tuner.search(fit, _score_of(column), k)
            yield from tuner.choices(k, configs, records, scores)

    return rule


def _trained_on_test(k, job):
    test = job.split.test
    return Job(Split(test, NOTHING, test), (3, k))


# Means that are equal but for rounding are not seen as ties, as in GridSearchCV.
def _cv(tuner):
    def fit(batch):
        by_split = [tuner.fit(job, batch) for _, job in tuner.split_jobs()]
        return list(zip(*by_split, strict=True))

    configs, results, scores = tuner.search(
        fit, lambda records: np.mean([_score_of("score_test")(r) for r in records])
    )
    failures = [_first_failure(records) for records in results]
    for k, records in enumerate(zip(*results, strict=True)):
        yield from tuner.choices(k, configs, records, scores, failures)
    # What the search reports is the winner's mean test score; what it delivers,
    # that configuration trained on the whole study set.
    if tuner.has_bench:
        refit = Job(Split(np.arange(tuner.n_study), NOTHING, NOTHING), (1,))
        records = tuner.fit(refit, list(enumerate(configs)))
    else:
        records = [dict(status="ok", message="") for _ in configs]
    records = [record | {"score_test": score} if record["status"] == "ok" else record
               for record, score in zip(records, scores, strict=True)]
    yield from tuner.choices(-1, configs, records, scores, failures)


def _nested(tuner):
    for k, job in tuner.split_jobs():
        inner = list(tuner.inner_jobs(k, job.split))

        def fit(batch, inner=inner):
            return list(zip(*(tuner.fit(fold, batch) for fold in inner), strict=True))

        configs, results, scores = tuner.search(
            fit, lambda records: np.mean([_score_of("score_test")(r) for r in records]), k
        )
        rest = np.concatenate([job.split.train, job.split.val])
        refit = Job(Split(rest, NOTHING, job.split.test), job.seed_key, with_outer=job.with_outer)
        winners = sorted(set(best_so_far(scores)[0].tolist()) - {-1})
        refitted = tuner.fit(refit, [(i, configs[i]) for i in winners]) if winners else []
        failures = [_first_failure(records) for records in results]
        records = list(failures)
        for i, record in zip(winners, refitted, strict=True):
            records[i] = record
        # The other configurations weren't refitted, so the best one isn't known.
        for outcome in tuner.choices(k, configs, records, scores, failures):
            yield outcome | {"score_bench_best": np.nan}


RULES = {
    "default": _choose_by("score_test"),
    "val": _choose_by("score_val"),
    "test": _choose_by("score_test"),
    "cv": _cv,
    "nested": _nested,
    "benchmark": _choose_by("score_bench"),
    "memorise": _choose_by("score_test", _trained_on_test),
}


def _score_of(column):
    return lambda record: record.get(column, np.nan) if record["status"] == "ok" else np.nan


def _first_failure(records):
    failed = (record for record in records if record["status"] != "ok")
    return next(failed, dict(status="ok", message=""))
