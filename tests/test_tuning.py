import json
import re
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform, randint

from benchmark_utils.errors import InputError
from benchmark_utils.splits import Split, make_splits, split_sizes
from benchmark_utils.tuning import Tuner

NAN = float("nan")
SPACE = {"C": loguniform(0.1, 1000)}
# Two splits of 12 examples: 6 for training, 3 for validation, 3 for test.
SPLITS = [
    Split(np.arange(6), np.arange(6, 9), np.arange(9, 12)),
    Split(np.arange(6, 12), np.arange(3), np.arange(3, 6)),
]
# Scores of configurations 0 … 3 on both splits. Configuration 1 fails on the second split.
#          split 0           split 1
#   val    .5 .7 .7 .6       .6  ×  .4 .9
#   test   .6 .5 .8 .8       .4  ×  .7 .7
#   bench  .55 .50 .45 .60   .50 ×  .70 .30
TABLE = {
    0: {"val": [.5, .7, .7, .6], "test": [.6, .5, .8, .8], "bench": [.55, .50, .45, .60]},
    1: {"val": [.6, NAN, .4, .9], "test": [.4, NAN, .7, .7], "bench": [.50, NAN, .70, .30]},
}


def positions(job):
    """What a job trains on, validates with, and tests on: sets of positions."""
    return tuple(set(part.tolist()) for part in (job.split.train, job.split.val, job.split.test))


def same_job(a, b):
    return a.seed_key == b.seed_key and positions(a) == positions(b)


class Fits:
    """Stands for the solver's fits: returns scripted records and remembers what was asked.

    Parameters
    ----------
    table : dict, split -> dict of lists of scores, NaN for a fit that fails
    refits : list of benchmark scores of the fits on the whole study set
    inner : dict, split -> array of shape (folds, configurations) of the inner folds' test scores
    """

    def __init__(self, table=TABLE, refits=(.58, .52, .65, .61), inner=None, failure="failed"):
        self.table, self.refits, self.inner, self.failure = table, refits, inner, failure
        self.asked = []

    def __call__(self, job, batch):
        self.asked += [(job, i, config) for i, config in batch]
        return [self.record(job, i) for i, _ in batch]

    def record(self, job, i):
        kind, k, *fold = (*job.seed_key, None)
        scores = {}
        if kind == 1:
            scores["score_bench"] = self.refits[i]
        elif kind == 2:
            scores["score_test"] = self.inner[k][fold[0]][i]
        else:
            scores = {f"score_{name}": values[i] for name, values in self.table[k].items()}
        if any(map(np.isnan, scores.values())):
            return {"status": self.failure, "message": f"configuration {i} on {job.seed_key}"}
        ok = {"status": "ok", "message": "", "test_scores": np.zeros(len(job.split.test))}
        return ok | scores | {"seed_key": job.seed_key}

    def jobs(self, kind):
        """The different jobs of one kind that were asked for, in order."""
        different = []
        for job, _, _ in self.asked:
            if job.seed_key[0] == kind and not any(same_job(job, other) for other in different):
                different.append(job)
        return different


def tuner(rule, fit, n_configs=4, search="random", splits=SPLITS, space=SPACE, default=None,
          inner_folds=3, stratify_by=None, has_bench=True, seed=0, stopping=None):
    n_study = 1 + max(part.max() for s in splits for part in (s.train, s.val, s.test) if len(part))
    return Tuner(rule, search, n_configs, inner_folds, space, default or {"C": 1.0}, n_study,
                 splits, stratify_by, seed, has_bench, fit, stopping)


def choices(outcomes, split):
    """Configurations, ties and failures by budget of one split."""
    of_split = [o for o in outcomes if o["split"] == split]
    assert [o["budget"] for o in of_split] == list(range(1, len(of_split) + 1))
    return tuple([o[name] for o in of_split] for name in ("config", "n_ties", "n_failed_configs"))


def column(outcomes, split, name):
    return [o["record"].get(name, NAN) for o in outcomes if o["split"] == split]


class TestChoices:
    @pytest.mark.parametrize("rule, first, second", [
        # val: .5 .7 .7 .6 and .6 × .4 .9
        ("val", ([0, 1, 1, 1], [0, 0, 1, 1]), ([0, 0, 0, 3], [0, 0, 0, 0])),
        # test: .6 .5 .8 .8 and .4 × .7 .7
        ("test", ([0, 0, 2, 2], [0, 0, 0, 1]), ([0, 0, 2, 2], [0, 0, 0, 1])),
        # bench: .55 .50 .45 .60 and .50 × .70 .30
        ("benchmark", ([0, 0, 0, 3], [0, 0, 0, 0]), ([0, 0, 2, 2], [0, 0, 0, 0])),
        # mean test: .5 × .75 .75, for both splits alike
        ("cv", ([0, 0, 2, 2], [0, 0, 0, 1]), ([0, 0, 2, 2], [0, 0, 0, 1])),
    ])
    def test_every_budget_by_hand(self, rule, first, second):
        outcomes = tuner(rule, Fits()).outcomes()
        assert choices(outcomes, 0) == (*first, [0, 0, 0, 0])
        assert choices(outcomes, 1) == (*second, [0, 1, 1, 1])
        for k, chosen in ((0, first[0]), (1, second[0])):
            # Each outcome carries the record of the configuration it names.
            for name in ("val", "test", "bench"):
                expected = [TABLE[k][name][i] for i in chosen]
                assert column(outcomes, k, f"score_{name}") == expected
        best = {k: [o["score_bench_best"] for o in outcomes if o["split"] == k] for k in (0, 1)}
        assert best == {0: [.55, .55, .55, .60], 1: [.50, .50, .70, .70]}

    def test_default(self):
        fits = Fits()
        outcomes = tuner("default", fits).outcomes()
        assert [(o["split"], o["budget"], o["config"]) for o in outcomes] == [(0, 1, 0), (1, 1, 0)]
        assert [config for _, _, config in fits.asked] == [{"C": 1.0}] * 2
        # There was no search, so there is no winner of one.
        assert [o["hyperparameters"] for o in outcomes] == ["{}", "{}"]

    def test_hyperparameters_are_those_of_the_choice(self):
        fits = Fits()
        outcomes = tuner("test", fits).outcomes()
        configs = {i: config for _, i, config in fits.asked}
        for outcome in outcomes:
            (value, position), = json.loads(outcome["hyperparameters"]).values()
            assert value == configs[outcome["config"]]["C"]
            assert position == pytest.approx(np.log(value / 0.1) / np.log(1e4))

    def test_test_choice_is_never_below_another_on_the_test_part(self):
        rng = np.random.default_rng(0)
        for seed in range(20):
            # Coarse scores, for ties, and some failures.
            table = {}
            for k in (0, 1):
                scores = rng.integers(0, 5, (3, 8)) / 4
                scores[:, rng.random(8) < 0.2] = np.nan
                table[k] = dict(zip(("val", "test", "bench"), scores.tolist(), strict=True))
            by_rule = {
                rule: tuner(rule, Fits(table), n_configs=8, seed=seed).outcomes()
                for rule in ("val", "test", "benchmark")
            }
            for k in (0, 1):
                for part in ("test", "bench"):
                    val, test, bench = (
                        np.array(column(by_rule[rule], k, f"score_{part}"))
                        for rule in ("val", "test", "benchmark")
                    )
                    best = bench if part == "bench" else test
                    np.testing.assert_array_equal(np.fmax(np.fmax(val, test), bench), best)

    @pytest.mark.parametrize("rule", ["val", "test", "benchmark", "cv"])
    def test_a_larger_budget_changes_no_smaller_one(self, rule):
        for n_configs in (1, 2, 3):
            few = tuner(rule, Fits(), n_configs=n_configs).outcomes()
            many = tuner(rule, Fits()).outcomes()
            assert len(few) == len(many) / 4 * n_configs

            def comparable(outcomes):
                return [
                    {**o, "record": {n: v for n, v in o["record"].items() if n != "test_scores"}}
                    for o in outcomes
                ]

            kept = [o for o in many if o["budget"] <= n_configs]
            assert comparable(few) == comparable(kept)


class TestFailures:
    @pytest.mark.parametrize("failure", ["failed", "diverged"])
    @pytest.mark.parametrize("rule", ["val", "test", "benchmark"])
    def test_all_configurations_of_a_split(self, rule, failure):
        table = {0: TABLE[0], 1: {"val": [NAN] * 4, "test": [NAN] * 4, "bench": [NAN] * 4}}
        outcomes = tuner(rule, Fits(table, failure=failure)).outcomes()
        assert choices(outcomes, 1) == ([-1] * 4, [0] * 4, [1, 2, 3, 4])
        for outcome in outcomes[4:]:
            assert outcome["record"]["status"] == failure
            assert outcome["record"]["message"] == "configuration 0 on (0, 1)"
            assert outcome["hyperparameters"] == "{}"
            assert np.isnan(outcome["score_bench_best"])
        assert -1 not in choices(outcomes, 0)[0]

    def test_until_a_configuration_succeeds(self):
        scores = [NAN, NAN, .4, .3]
        outcomes = tuner("test", Fits({0: {"test": scores}}), splits=SPLITS[:1]).outcomes()
        assert choices(outcomes, 0) == ([-1, -1, 2, 2], [0] * 4, [1, 2, 2, 2])
        assert [o["record"]["status"] for o in outcomes] == ["failed", "failed", "ok", "ok"]
        np.testing.assert_array_equal(column(outcomes, 0, "score_test"), [NAN, NAN, .4, .4])

    def test_cv_of_a_configuration_that_fails_on_one_split(self):
        # Its mean is missing, so it can't win, and until another does, no split has a choice.
        table = {k: {"test": [NAN if k == 1 else .9, .5]} for k in (0, 1)}
        outcomes = tuner("cv", Fits(table), n_configs=2).outcomes()
        for k in (0, 1, -1):
            assert choices(outcomes, k)[0] == [-1, 1]
            first, second = column(outcomes, k, "status")
            assert (first, second) == ("failed", "ok"), f"split {k}"
            assert column(outcomes, k, "message")[0] == "configuration 0 on (0, 1)"

    def test_cv_reports_no_success_without_a_choice(self):
        # Each configuration fails on one of the splits.
        table = {0: {"test": [NAN, .5]}, 1: {"test": [.5, NAN]}}
        for has_bench in (True, False):
            fits = Fits(table)
            outcomes = tuner("cv", fits, n_configs=2, has_bench=has_bench).outcomes()
            assert {o["config"] for o in outcomes} == {-1}
            assert {o["record"]["status"] for o in outcomes} == {"failed"}

    def test_nested(self):
        inner = {0: [[NAN, .5], [.9, .6], [.9, .4]], 1: [[NAN, .5], [.2, NAN], [.2, .2]]}
        table = {k: {"test": [.3, .7], "bench": [.4, .6]} for k in (0, 1)}
        outcomes = tuner("nested", Fits(table, inner=inner), n_configs=2).outcomes()
        # Configuration 0 fails in an inner fold of split 0; on split 1, both do.
        assert choices(outcomes, 0)[::2] == ([-1, 1], [1, 1])
        assert choices(outcomes, 1)[::2] == ([-1, -1], [1, 2])
        assert [o["record"]["status"] for o in outcomes] == ["failed", "ok", "failed", "failed"]
        assert outcomes[0]["record"]["message"] == "configuration 0 on (2, 0, 0)"

    def test_nested_refit(self):
        inner = {0: np.full((3, 1), .5)}
        fits = Fits({0: {"test": [NAN], "bench": [NAN]}}, inner=inner, failure="diverged")
        (outcome,) = tuner("nested", fits, n_configs=1, splits=SPLITS[:1]).outcomes()
        assert outcome["record"]["status"] == "diverged"
        assert outcome["record"]["message"] == "configuration 0 on (0, 0)"


class TestCrossValidation:
    def test_the_refit_reports_the_mean_test_score_and_delivers_its_own(self):
        fits = Fits()
        outcomes = tuner("cv", fits).outcomes()
        assert choices(outcomes, -1)[:2] == ([0, 0, 2, 2], [0, 0, 0, 1])
        # (.6 + .4)/2 and (.8 + .7)/2; the benchmark score is that of the refitted predictor.
        np.testing.assert_allclose(column(outcomes, -1, "score_test"), [.5, .5, .75, .75])
        assert column(outcomes, -1, "score_bench") == [.58, .58, .65, .65]
        best = [o["score_bench_best"] for o in outcomes if o["split"] == -1]
        assert best == [.58, .58, .65, .65]

    def test_the_refit_trains_on_the_whole_study_set_and_nothing_else(self):
        fits = Fits()
        tuner("cv", fits).outcomes()
        (refit,) = fits.jobs(1)
        assert sorted(refit.split.train.tolist()) == list(range(12))
        assert positions(refit)[1:] == (set(), set())

    def test_of_a_bootstrap(self):
        # Whose training parts hold examples repeatedly: the study set is what was drawn from.
        sizes = split_sizes("bootstrap", 30, 0.2, 0.0, 100)
        fits = Fits()
        tuner("cv", fits, splits=make_splits("bootstrap", sizes, 2, seed=3)).outcomes()
        (refit,) = fits.jobs(1)
        assert sorted(refit.split.train.tolist()) == list(range(30))

    def test_without_benchmarking_set_nothing_is_refitted(self):
        fits = Fits()
        outcomes = tuner("cv", fits, has_bench=False).outcomes()
        assert fits.jobs(1) == []
        np.testing.assert_allclose(column(outcomes, -1, "score_test"), [.5, .5, .75, .75])


class TestNested:
    # Inner scores prefer configuration 1, then 3; the outer test part prefers 0.
    INNER = {
        k: np.array([[.1, .4, .2, .6], [.3, .4, .2, .4], [.2, .4, .2, .5]]) for k in (0, 1)
    }
    OUTER = {k: {"test": [.9, .3, .1, .2], "bench": [.5, .6, .4, .7]} for k in (0, 1)}

    def test_the_inner_scores_choose(self):
        fits = Fits(self.OUTER, inner=self.INNER)
        outcomes = tuner("nested", fits).outcomes()
        for k in (0, 1):
            # Inner means: .2 .4 .2 .5
            assert choices(outcomes, k) == ([0, 1, 1, 3], [0, 0, 0, 0], [0, 0, 0, 0])
            assert column(outcomes, k, "score_test") == [.9, .3, .3, .2]

    def test_ties_of_inner_means(self):
        inner = {0: [[.5, .25, .5], [.25, .5, .25]]}
        fits = Fits(self.OUTER, inner=inner)
        outcomes = tuner("nested", fits, n_configs=3, splits=SPLITS[:1], inner_folds=2).outcomes()
        assert choices(outcomes, 0)[:2] == ([0, 0, 0], [0, 1, 2])

    def test_only_winners_are_refitted_on_all_but_the_test_part(self):
        fits = Fits(self.OUTER, inner=self.INNER)
        tuner("nested", fits).outcomes()
        refits = [(job.seed_key[1], i) for job, i, _ in fits.asked if job.seed_key[0] == 0]
        assert sorted(refits) == [(k, i) for k in (0, 1) for i in (0, 1, 3)]
        for job in fits.jobs(0):
            split = SPLITS[job.seed_key[1]]
            train, val, test = positions(job)
            assert train == set(split.train) | set(split.val) and val == set()
            assert test == set(split.test)

    def test_the_search_never_sees_the_outer_test_part(self):
        fits = Fits(self.OUTER, inner=self.INNER)
        tuner("nested", fits).outcomes()
        for k, split in enumerate(SPLITS):
            inner = [positions(job) for job in fits.jobs(2) if job.seed_key[1] == k]
            rest = set(split.train) | set(split.val)
            assert len(inner) == 3
            for train, val, test in inner:
                assert train | test == rest and not train & test and not val
                assert not (train | test) & set(split.test)
            # Each example is in one inner test part.
            assert sorted(x for _, _, test in inner for x in test) == sorted(rest)
        # Nor does it need the benchmarking set.
        assert not any(job.with_bench or job.with_outer for job in fits.jobs(2))

    def test_inner_folds_of_a_bootstrap_share_no_example(self):
        # An example that was drawn twice must not be trained and tested on.
        sizes = split_sizes("bootstrap", 30, 0.2, 0.0, 100)
        splits = make_splits("bootstrap", sizes, 1, seed=3)
        fits = Fits(self.OUTER, inner=self.INNER)
        tuner("nested", fits, splits=splits).outcomes()
        rest = set(splits[0].train) | set(splits[0].val)
        for train, _, test in map(positions, fits.jobs(2)):
            assert train and test and not train & test and train | test <= rest
        # One that was drawn twice is trained on twice, as in the outer fit.
        times = np.bincount(np.concatenate([splits[0].train, splits[0].val]), minlength=30)
        for job in fits.jobs(2):
            trained = np.bincount(job.split.train, minlength=30)
            np.testing.assert_array_equal(trained[trained > 0], times[trained > 0])
            assert trained.max() > 1

    @pytest.mark.parametrize("stratify_by", [None, np.arange(12) % 2])
    def test_inner_folds_keep_groups_together(self, stratify_by):
        groups = np.arange(12) // 2
        tuned = Tuner("nested", "random", 2, 3, SPACE, {"C": 1.0}, 12, SPLITS, stratify_by, 0,
                      True, Fits(), groups=groups)
        for k, split in enumerate(SPLITS):
            for job in tuned.inner_jobs(k, split):
                train, test = groups[job.split.train], groups[job.split.test]
                assert len(test) and not set(train) & set(test)

    def test_inner_folds_are_stratified_where_splits_are(self):
        labels = np.array([0, 1, 1] * 12)
        splits = [Split(np.arange(27), np.arange(0), np.arange(27, 36))]
        fits = Fits(self.OUTER, inner=self.INNER)
        tuner("nested", fits, splits=splits, stratify_by=labels).outcomes()
        assert [labels[job.split.test].sum() for job in fits.jobs(2)] == [6, 6, 6]

    def test_inner_folds_differ_by_split_and_seed_and_are_the_same_for_all_configurations(self):
        def folds(seed):
            fits = Fits(self.OUTER, inner=self.INNER)
            tuner("nested", fits, splits=[SPLITS[0]] * 2, seed=seed).outcomes()
            return [positions(job)[2] for job in fits.jobs(2)]

        assert len(folds(0)) == 6                  # 2 splits × 3 folds, each for 4 configurations
        assert folds(0) == folds(0)
        assert folds(0)[:3] != folds(0)[3:]
        assert folds(0) != folds(1)

    def test_without_validation_part_its_refits_are_those_of_the_other_rules(self):
        splits = [Split(np.arange(8), np.arange(0), np.arange(8, 12))]
        nested, other = Fits(self.OUTER, inner=self.INNER), Fits(self.OUTER)
        tuner("nested", nested, splits=splits).outcomes()
        tuner("test", other, splits=splits).outcomes()
        (refit,), (job,) = nested.jobs(0), other.jobs(0)
        np.testing.assert_array_equal(refit.split.train, job.split.train)
        assert same_job(refit, job)
        assert (refit.with_bench, refit.with_outer) == (job.with_bench, job.with_outer)

    def test_the_best_benchmark_score_is_unknown_where_configurations_were_not_refitted(self):
        # Configuration 2 never won, so its benchmark score isn't known: nor is the best of 0 … 2.
        outcomes = tuner("nested", Fits(self.OUTER, inner=self.INNER)).outcomes()
        best = [o["score_bench_best"] for o in outcomes if o["split"] == 0]
        assert np.isnan(best[2:]).all()


class TestMemorise:
    def test_trains_on_the_test_fold_and_chooses_on_it(self):
        fits = Fits({0: {"test": [.6, .5, .8, .8]}, 1: {"test": [.4, .2, .1, .7]}})
        outcomes = tuner("memorise", fits).outcomes()
        assert choices(outcomes, 0)[:2] == ([0, 0, 2, 2], [0, 0, 0, 1])
        assert choices(outcomes, 1)[:2] == ([0, 0, 0, 3], [0, 0, 0, 0])
        for job, split in zip(fits.jobs(3), SPLITS, strict=True):
            train, val, test = positions(job)
            assert train == test == set(split.test) and val == set()

    def test_its_fits_are_nobody_elses(self):
        fits = Fits({k: {"test": [.1] * 4} for k in (0, 1)})
        tuner("memorise", fits).outcomes()
        assert {job.seed_key for job, _, _ in fits.asked} == {(3, 0), (3, 1)}


class TestWhatIsAskedFor:
    FITS = staticmethod(partial(Fits, inner=TestNested.INNER))

    @pytest.mark.parametrize("rule, n_fits", [
        # 2 splits × 4 configurations, cv's 4 refits, nested's 3 inner folds and a refit
        ("default", 2), ("val", 8), ("test", 8), ("benchmark", 8), ("memorise", 8), ("cv", 12),
        ("nested", 32),
    ])
    def test_as_many_fits_as_announced(self, rule, n_fits):
        fits = self.FITS()
        tuned = tuner(rule, fits)
        assert tuned.n_fits == n_fits
        tuned.outcomes()
        if rule == "nested":
            # Configurations that never led aren't refitted: at most.
            assert 24 < len(fits.asked) <= n_fits
        else:
            assert len(fits.asked) == n_fits

    def test_without_benchmarking_set_cv_announces_no_refits(self):
        assert tuner("cv", Fits(), has_bench=False).n_fits == 8

    def test_a_grid_announces_its_size(self):
        fits = Fits({k: {"test": [.5] * 25} for k in (0, 1)})
        space = {"C": loguniform(0.1, 1000), "gamma": loguniform(1e-3, 1)}
        tuned = tuner("test", fits, n_configs=30, search="grid", space=space,
                      default={"C": 1.0, "gamma": 0.1})
        assert tuned.n_fits == 2 * 25
        assert max(o["budget"] for o in tuned.outcomes()) == 25
        assert len(fits.asked) == 50

    @pytest.mark.parametrize("search", ["random", "grid"])
    def test_rules_share_their_fits(self, search):
        def asked(rule):
            fits = self.FITS()
            tuner(rule, fits, search=search).outcomes()
            keys = {
                (job.seed_key, *map(tuple, (job.split.train, job.split.val, job.split.test)),
                 job.with_bench, job.with_outer, i, json.dumps(config))
                for job, i, config in fits.asked
            }
            assert len(keys) == len(fits.asked)
            return keys

        assert asked("val") == asked("test") == asked("benchmark")
        assert asked("cv") > asked("val")
        assert {key[0] for key in asked("cv") - asked("val")} == {(1,)}

    @pytest.mark.parametrize("search", ["random", "grid"])
    @pytest.mark.parametrize("rule", [
        "default", "val", "test", "benchmark", "memorise", "cv", "nested",
    ])
    def test_plan(self, rule, search):
        """It names what is asked for, but the refits of winners, without any fit."""
        def name(job, i, config):
            return job.seed_key, job.with_bench, job.with_outer, i, json.dumps(config)

        fits = self.FITS()
        tuned = tuner(rule, fits, search=search)
        planned = [name(*fit) for fit in tuned.planned()]
        assert fits.asked == []
        tuned.outcomes()
        asked = [name(*fit) for fit in fits.asked]
        if rule == "nested":
            asked = [fit for fit in asked if fit[0][0] == 2]
            assert len(planned) == 24
        assert planned == asked

    def test_adaptive_searches_plan_nothing(self):
        fits = self.FITS()
        assert tuner("val", fits, search="tpe").planned() == [] == fits.asked
        # One configuration is no search.
        assert len(tuner("val", fits, n_configs=1, search="tpe").planned()) == 2

    def test_a_grid_of_one_cell_is_the_default(self):
        fits, default = Fits(), Fits()
        tuner("cv", fits, n_configs=1, search="grid").outcomes()
        tuner("default", default).outcomes()
        assert [(j.seed_key, i, c) for j, i, c in fits.asked[:2]] == [
            (j.seed_key, i, c) for j, i, c in default.asked
        ]

    @pytest.mark.parametrize("space, default, n_configs", [
        ({"gamma": loguniform(1e-3, 3.2)}, "scale", 1),
        ({"depth": [None, 2, 3]}, 5, 1),
        ({"depth": [None, 2], "alpha": loguniform(1e-3, 1)}, "none", 2),
    ])
    def test_a_grid_that_keeps_a_default_out_of_its_range(self, space, default, n_configs):
        last = list(space)[-1]
        outcomes = tuner("test", Fits(), n_configs=n_configs, search="grid", space=space,
                         default=dict.fromkeys(space, default)).outcomes()
        for outcome in outcomes:
            assert json.loads(outcome["hyperparameters"])[last][0] == default

    @pytest.mark.parametrize("rule", ["val", "test", "benchmark", "cv"])
    def test_the_outer_set_is_scored_on_the_first_split(self, rule):
        fits = Fits()
        tuner(rule, fits).outcomes()
        assert {job.seed_key for job, _, _ in fits.asked if job.with_outer} == {(0, 0)}

    @pytest.mark.parametrize("rule", ["val", "test", "benchmark", "cv"])
    def test_or_on_the_first_with_a_success(self, rule):
        table = {0: {name: [NAN] * 4 for name in TABLE[0]}, 1: TABLE[0], 2: TABLE[0]}
        fits = Fits(table)
        tuner(rule, fits, splits=[*SPLITS, SPLITS[0]]).outcomes()
        with_outer = {job.seed_key for job, _, _ in fits.asked if job.with_outer}
        assert with_outer == {(0, 0), (0, 1)}

    def test_nested_scores_the_outer_set_with_its_refit(self):
        fits = self.FITS()
        tuner("nested", fits).outcomes()
        assert {job.seed_key for job, _, _ in fits.asked if job.with_outer} == {(0, 0)}


class TestStopping:
    class AfterOne:
        """Stops after the first split, and remembers by which record."""

        def __init__(self):
            self.seen = []

        def watch(self):
            def reason(split, record):
                self.seen.append((split, record))
                return "enough"

            return reason

    @pytest.mark.parametrize("rule", ["default", "val", "test", "nested", "memorise"])
    def test_no_further_split_is_fitted(self, rule):
        fits, stopping = Fits(inner=TestNested.INNER), self.AfterOne()
        outcomes = tuner(rule, fits, stopping=stopping).outcomes()
        assert {o["split"] for o in outcomes} == {0}
        assert {job.seed_key[1] for job, _, _ in fits.asked} == {0}
        # It is told of the choice at the largest budget.
        ((split, record),) = stopping.seen
        assert split is SPLITS[0] and record is outcomes[-1]["record"]
        assert [o.get("stopped", "") for o in outcomes] == [""] * (len(outcomes) - 1) + ["enough"]

    def test_nothing_is_planned(self):
        assert tuner("val", Fits(), stopping=self.AfterOne()).planned() == []

    def test_cv_needs_all_splits(self):
        with pytest.raises(InputError, match="stop_when_redundant=None"):
            tuner("cv", Fits(), stopping=self.AfterOne())


class TestAdaptive:
    SPACE = {"C": loguniform(0.1, 1000), "k": randint(1, 30)}

    def run(self, rule, n_configs=14, splits=SPLITS, seed=0):
        """Configurations by split, for fits whose validation and test scores oppose each other."""
        asked = {}

        def fit(job, batch):
            (i, config), = batch if job.seed_key[0] == 0 else batch[:1]
            asked.setdefault(job.seed_key, []).append(config)
            score = np.log(config["C"])
            records = [dict(status="ok", message="", score_val=-score, score_test=score,
                            score_bench=0.0, test_scores=np.zeros(3))]
            return records * len(batch)

        outcomes = tuner(rule, fit, n_configs, "tpe", splits, self.SPACE,
                         {"C": 1.0, "k": 5}, seed=seed).outcomes()
        return {k: configs for (kind, k), configs in
                ((key, c) for key, c in asked.items() if key[0] == 0)}, outcomes

    def test_val_and_test_start_alike_and_go_their_own_way(self):
        (val, _), (test, _) = self.run("val"), self.run("test")
        random = {}

        def fit(job, batch):
            random[job.seed_key[1]] = [config for _, config in batch]
            return [dict(status="failed", message="")] * len(batch)

        tuner("val", fit, 14, "random", space=self.SPACE, default={"C": 1.0, "k": 5}).outcomes()
        for k in (0, 1):
            assert val[k][:10] == test[k][:10] == random[k][:10]
            assert val[k][10:] != test[k][10:]
            assert len(val[k]) == len(test[k]) == 14

    def test_the_same_search_twice(self):
        assert self.run("test")[0] == self.run("test")[0]

    def test_the_outcome_carries_the_configuration_that_was_tried(self):
        configs, outcomes = self.run("test")
        for outcome in outcomes:
            tried = configs[outcome["split"]]
            best = max(tried[:outcome["budget"]], key=lambda config: config["C"])
            hyperparameters = json.loads(outcome["hyperparameters"])
            assert {name: value for name, (value, _) in hyperparameters.items()} == best

    def test_cv_searches_once_for_all_splits(self):
        configs, _ = self.run("cv")
        assert configs[0] == configs[1]

    def test_more_splits_change_nothing(self):
        assert self.run("test", splits=SPLITS[:1])[0][0] == self.run("test")[0][0]

    def test_a_larger_budget_continues_the_same_search(self):
        # So that one run at T has the rows of every budget, and raising T fits what is missing.
        few, many = self.run("test", n_configs=12)[0], self.run("test", n_configs=14)[0]
        assert {k: configs[:12] for k, configs in many.items()} == few


class TestInputs:
    NO_VAL = [Split(np.arange(9), np.arange(0), np.arange(9, 12))]

    @pytest.mark.parametrize("change, message", [
        (dict(rule="best"), "tuning='best' is none of default, val, test, cv, nested, "
                            "benchmark, memorise"),
        (dict(search="halving"), "search='halving' is none of random, grid, tpe"),
        (dict(n_configs=0), "n_configs=0 is not an integer ≥ 1"),
        (dict(n_configs=2.5), "n_configs=2.5 is not an integer ≥ 1"),
        (dict(n_configs="all"), "n_configs='all' is not an integer ≥ 1"),
        (dict(rule="val", space={}), "tuning=val needs a search space"),
        (dict(rule="val", splits=NO_VAL), "tuning=val needs a validation part: set the "
                                          "objective's val_size"),
        (dict(rule="benchmark", has_bench=False), "tuning=benchmark needs a benchmarking set"),
        (dict(rule="nested", inner_folds=1), "inner_folds=1 is not an integer ≥ 2"),
        (dict(rule="nested", inner_folds=2.5), "inner_folds=2.5 is not an integer ≥ 2"),
        (dict(rule="nested", inner_folds="five"), "inner_folds='five' is not an integer ≥ 2"),
        # 9 examples of training and validation can't make ten folds.
        (dict(rule="nested", inner_folds=10), "inner_folds=10"),
        # Nor can a class with 4 and one with 5 members make six stratified ones.
        (dict(rule="nested", inner_folds=6, stratify_by=np.array([0, 1] * 6)), "inner_folds=6"),
        (dict(search="grid", n_configs=2, space={"a": [1, 2, 3]}, default={"a": 1}),
         "a grid of 3 cells: raise n_configs=2"),
    ])
    def test_what_cannot_be(self, change, message):
        with pytest.raises(InputError, match=re.escape(message)):
            tuner(**{"rule": "test", "fit": Fits(), **change})

    def test_what_a_rule_does_not_use_may_be_anything(self):
        tuner("default", Fits(), space={}, splits=self.NO_VAL)
        tuner("test", Fits(), splits=self.NO_VAL, has_bench=False, inner_folds=0)
        tuner("cv", Fits(), has_bench=False)

    def test_a_split_without_validation_part_among_others(self):
        with pytest.raises(InputError, match="validation part"):
            tuner("val", Fits(), splits=[*SPLITS, *self.NO_VAL])


class TestBootstrapProcedure:
    def splits(self, n, seeds, n_splits=1):
        sizes = split_sizes("bootstrap", n, 0.2, 0.0, 10**6)
        return [
            split for seed in range(seeds)
            for split in make_splits("bootstrap", sizes, n_splits, seed)
        ]

    @pytest.mark.parametrize("n", [30, 31, 100, 1001])
    def test_parts(self, n):
        for split in self.splits(n, 20):
            assert len(split.train) == n and 0 <= split.train.min() <= split.train.max() < n
            # What wasn't drawn, halved: nothing is missing, nothing shared.
            rest = np.concatenate([split.val, split.test])
            assert sorted(rest) == sorted(set(range(n)) - set(split.train))
            assert len(split.test) - len(split.val) in (0, 1)

    def test_examples_are_drawn_with_replacement(self):
        # Each example is drawn Poisson(1) times, nearly: never with probability 0.366, and twice
        # with 0.184. 40 splits of 500: sd 0.002 or less.
        counts = np.array([
            np.bincount(np.bincount(split.train, minlength=500), minlength=8)[:4] / 500
            for split in self.splits(500, 20, n_splits=2)
        ]).mean(axis=0)
        np.testing.assert_allclose(counts, [.3675, .3682, .1841, .0612], atol=0.01)

    @pytest.mark.parametrize("n, published", [(2767, 509), (4075, 750), (9594, 1763)])
    def test_published_sizes(self, n, published):
        # Of n examples, n(1 − 1/n)^n are left on average, with variance n(1/e − 2/e²), nearly
        # (classical occupancy); half of them are for validation.
        sizes = np.array([[len(s.val), len(s.test)] for s in self.splits(n, 200)])
        sd = np.sqrt(n * (np.exp(-1) - 2 * np.exp(-2))) / 2
        expected = n * (1 - 1 / n)**n / 2
        assert sizes.mean() == pytest.approx(expected, abs=4 * sd / np.sqrt(200))
        assert sizes.mean(axis=0) == pytest.approx([expected] * 2, abs=4 * sd / np.sqrt(200) + .5)
        assert sizes.std(ddof=1, axis=0) == pytest.approx([sd] * 2, rel=0.25)
        # The published means are over 30 runs.
        assert published == pytest.approx(sizes.mean(), abs=4 * sd / np.sqrt(30))

    def test_prefixes_nest_and_seeds_differ(self):
        sizes = split_sizes("bootstrap", 50, 0.2, 0.0, 1000)
        few, many = (make_splits("bootstrap", sizes, n, seed=4) for n in (3, 8))
        for a, b in zip(few, many[:3], strict=True):
            for part in ("train", "val", "test"):
                np.testing.assert_array_equal(getattr(a, part), getattr(b, part))
        drawn = {tuple(split.train) for split in many} | {
            tuple(split.train) for split in make_splits("bootstrap", sizes, 8, seed=5)
        }
        assert len(drawn) == 16


TIMES = ["time", "objective_fit_seconds", "objective_predict_seconds", "run_date"]
# Given at the largest budget only.
REDUNDANCY = ["objective_redundancy", "objective_neg_log_loss_redundancy",
              "objective_neg_brier_score_redundancy", "objective_redundancy_product"]
AT_FULL_BUDGET = [*REDUNDANCY, "objective_outer_deltas"]
RULES_RUN = "[default,val,test,cv,benchmark]"
DATA = "simulated[family=classification,n_samples=2000,n_bench=1000]"


def comparable(results, ignoring=()):
    """Rows in an order of their own, without times and what describes the machine."""
    columns = [
        c for c in results.columns
        if c not in TIMES and c not in ignoring
        and c.startswith(("objective_", "p_solver_", "idx_rep")) and c != "objective_name"
    ]
    by = ["p_solver_tuning", "idx_rep", "objective_split", "objective_budget"]
    rows = results.sort_values(by, kind="stable").reset_index(drop=True)[columns]
    for column in {"objective_outer_deltas"} & set(rows):
        rows[column] = [None if v is None else repr(list(v)) for v in rows[column]]
    return rows


def assert_same_rows(a, b, ignoring=()):
    pd.testing.assert_frame_equal(
        comparable(a, ignoring), comparable(b, ignoring), check_exact=True, check_dtype=False,
    )


def n_entries(cache):
    """Entries of each journal."""
    return sorted(
        len(path.read_bytes().splitlines()) for path in cache.rglob("*.journal")
    )


def command(n_splits, rules, n_configs, repetitions, val_size="0.2", jobs=1):
    return (
        "-d", DATA, "-o", f"score trust[val_size={val_size},n_splits={n_splits}]",
        "-s", f"k_neighbors[tuning={rules},n_configs={n_configs}]", "-r", repetitions,
        "-j", jobs,
    )


@pytest.fixture(scope="module")
def together(run_session, tmp_path_factory):
    """All rules in one command with two workers: rows, journals' sizes, and what was printed."""
    cache = tmp_path_factory.mktemp("together")
    results, printed = run_session(*command(3, RULES_RUN, 6, 2, jobs=2), cache=cache)
    assert results is not None, printed
    return results, n_entries(cache), printed


class TestThroughBenchopt:
    def test_rules_against_each_other(self, together):
        rows = together[0].rename(columns=lambda c: c.removeprefix("objective_"))
        assert (rows["status"] == "ok").all()
        searched = rows[(rows["p_solver_tuning"] != "default") & (rows["split"] >= 0)]
        by_rule = searched.pivot(
            index=["idx_rep", "split", "budget"], columns="p_solver_tuning",
            values=["score_val", "score_test", "score_bench", "score_bench_best", "config"],
        )
        assert len(by_rule) == 2 * 3 * 6 and by_rule.notna().all(axis=None)
        test, bench, val = (by_rule[f"score_{part}"] for part in ("test", "bench", "val"))
        for other in ("val", "cv", "benchmark"):
            assert (test["test"] >= test[other]).all()
        for other in ("val", "cv", "test"):
            assert (bench["benchmark"] >= bench[other]).all()
        for other in ("test", "cv", "benchmark"):
            assert (val["val"] >= val[other]).all()
        # The rules do differ, or this would show nothing.
        assert (test["test"] > test["val"]).any() and (bench["benchmark"] > bench["test"]).any()
        # With one configuration there is no gap.
        alone = by_rule.xs(1, level="budget")
        assert (alone["config"] == 0).all(axis=None)
        assert (alone["score_test"]["test"] == alone["score_test"]["val"]).all()
        # The best there was to be had is what the reference chooses, for everyone.
        for rule in ("val", "test", "cv", "benchmark"):
            assert (by_rule["score_bench_best"][rule] == bench["benchmark"]).all()

    def test_refits(self, together):
        rows = together[0].rename(columns=lambda c: c.removeprefix("objective_"))
        refits = rows[rows["split"] == -1]
        assert set(refits["p_solver_tuning"]) == {"cv"}
        assert (refits["n_train"] == 125).all() and (refits["n_test"] == 0).all()
        folds = rows[(rows["p_solver_tuning"] == "cv") & (rows["split"] >= 0)]
        means = folds.groupby(["idx_rep", "budget"])["score_test"].mean()
        refits = refits.set_index(["idx_rep", "budget"])
        np.testing.assert_allclose(refits["score_test"].sort_index(), means)
        chosen = folds.groupby(["idx_rep", "budget"])["config"].agg(set)
        assert chosen.map(len).eq(1).all()
        assert (chosen.map(min) == refits["config"].sort_index()).all()

    def test_each_fit_is_made_once(self, together):
        # A seed's 3 splits × 6 configurations, cv's 6 refits, and the default on 3 splits.
        _, sizes, printed = together
        assert sizes == [27, 27]
        assert "damaged" not in printed

    def test_separate_commands_and_one_worker(self, together, run):
        # One validation search of 3 configurations and 2 splits; the objective without
        # validation part is skipped for it.
        few, printed = run(*command(2, "val", 3, 1, val_size="[0.0,0.2]"))
        assert "tuning=val needs a validation part: set the objective's val_size" in printed
        assert set(few["p_obj_val_size"]) == {0.2}
        assert "fits found" not in printed
        # Another rule, and a larger budget: only the new configurations are fitted.
        more, printed = run(*command(2, "test", 6, 1))
        assert re.search(r"k_neighbors\[.*tuning=test.*\]: 6 fits found, 6 made", printed), printed
        # More splits, seeds and rules.
        all_rules, printed = run(*command(3, RULES_RUN, 6, 2))
        assert re.search(r"tuning=val.*\]: 12 fits found, 6 made", printed), printed
        assert re.search(r"tuning=cv.*\]: 18 fits found, 6 made", printed), printed
        assert_same_rows(all_rules, together[0])

        # Rows of the smaller runs are among those of the large one.
        every = together[0]
        of_first = (every["idx_rep"] == 0) & every["objective_split"].isin([0, 1])
        assert_same_rows(
            few, every[of_first & (every["p_solver_tuning"] == "val")
                       & (every["objective_budget"] <= 3)],
            ignoring=[*AT_FULL_BUDGET, "p_solver_n_configs"],
        )
        # (Redundancy is centred by what all splits lost, so it may differ in its last bit.)
        of_second = every[of_first & (every["p_solver_tuning"] == "test")]
        assert_same_rows(more, of_second, ignoring=REDUNDANCY)
        np.testing.assert_allclose(*(
            comparable(rows)[REDUNDANCY] for rows in (more, of_second)
        ), rtol=1e-9)

    @pytest.fixture
    def population(self, component):
        return component("dataset", "simulated", family="classification", n_samples=2000,
                         n_bench=1000).get_data()["population"]

    # Random and adaptive searches have 12 configurations; the grid 7, one for each max_depth.
    @pytest.mark.parametrize("search, size", [("random", 12), ("tpe", 12), ("grid", 7)])
    @pytest.mark.parametrize("rule", ["val", "test", "cv", "nested", "benchmark", "memorise"])
    def test_every_rule_with_every_search(self, population, component, solve, rule, search, size):
        solver = component("solver", "decision_tree", tuning=rule, search=search, n_configs=12,
                           inner_folds=2)
        rows = solve(population, solver, n_splits=2, val_size=0.2)
        assert (rows["status"] == "ok").all() and (rows["message"] == "").all()
        splits = [0, 1, -1] if rule == "cv" else [0, 1]
        assert rows["split"].tolist() == [k for k in splits for _ in range(size)]
        assert rows["budget"].tolist() == list(range(1, size + 1)) * len(splits)
        assert rows[["score_test", "score_bench"]].notna().all(axis=None)
        assert (rows["config"] < rows["budget"]).all() and (rows["config"] >= 0).all()
        for text in rows["hyperparameters"]:
            assert set(json.loads(text)) == set(solver.search_space)

    def test_memorising_trees_are_always_right(self, population, component, solve):
        # The grid holds the unlimited tree with single-example leaves.
        solver = component("solver", "decision_tree", tuning="memorise", search="grid",
                           n_configs=28)
        rows = solve(population, solver, n_splits=3)
        last = rows[rows["budget"] == 28]
        assert last["score_test"].tolist() == [1.0] * 3
        assert (last["score_bench"] < 0.9).all()
