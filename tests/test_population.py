import numpy as np
import pandas as pd
import pytest

from benchmark_utils.errors import InputError
from benchmark_utils.population import (
    Examples,
    GeneratedPopulation,
    PoolPopulation,
    PopulationDataset,
)


class View:
    """Like a folder of images: it can be indexed by arrays of integers, and by nothing else."""

    def __init__(self, names):
        self.names = np.asarray(names)

    def __getitem__(self, index):
        if not (isinstance(index, np.ndarray) and index.dtype.kind == "i"):
            raise TypeError(f"indexed by {index!r}")
        return View(self.names[index])


def identities(examples):
    """Where each example was in the pool: the tests' features count from 0."""
    X = examples.X
    if isinstance(X, View):
        return X.names
    return X["id"].to_numpy() if isinstance(X, pd.DataFrame) else X[:, 0].astype(int)


def features(n, kind):
    return {
        "array": lambda: np.column_stack([np.arange(n), np.zeros(n)]),
        # An index that isn't 0 … n−1, to tell positions from labels.
        "table": lambda: pd.DataFrame({"id": np.arange(n), "b": "x"}, index=np.arange(n)[::-1] + 7),
        "view": lambda: View(np.arange(n)),
    }[kind]()


def pool(counts=(60, 30, 10), n_bench=40, kind="array", task="classification"):
    """A population of sum(counts) examples, of which the first `counts[0]` are of class 0, …"""
    y = np.repeat(np.arange(len(counts)), counts)
    if task == "regression":
        return PoolPopulation(features(len(y), kind), y / 7, task, n_bench, "made up")
    return PoolPopulation(
        features(len(y), kind), y, task, n_bench, "made up", [*"abcdefghij"[:len(counts)]]
    )


def counts_of(examples, n_classes):
    return np.bincount(examples.y, minlength=n_classes)


def draw_simulated(rng, n):
    X = rng.normal(size=(n, 2))
    return X, X @ rng.normal(size=2)


GENERATED = GeneratedPopulation(draw_simulated, "regression", 50, 100, "made up")


def same(a, b):
    return np.array_equal(a.X, b.X) and np.array_equal(a.y, b.y)


class TestExamples:
    def test_length_and_selection(self):
        y = np.array([5, 6, 7, 8])
        for kind in ("array", "table", "view"):
            chosen = Examples(features(4, kind), y)[np.array([3, 1])]
            assert len(chosen) == 2
            assert identities(chosen).tolist() == [3, 1]
            assert chosen.y.tolist() == [8, 6]

    def test_empty_selection(self):
        for kind in ("array", "table", "view"):
            assert len(Examples(features(4, kind), np.arange(4))[np.arange(0)]) == 0


class TestGeneratedPopulation:
    def test_sizes(self):
        sets = GENERATED.draw(0, 0, 20, 30)
        assert (len(sets.study), len(sets.outer), len(sets.bench)) == (20, 30, 100)

    def test_same_seed_same_sets(self):
        a, b = GENERATED.draw(3, 0, 20, 30), GENERATED.draw(3, 0, 20, 30)
        assert same(a.study, b.study) and same(a.outer, b.outer) and same(a.bench, b.bench)

    def test_other_seed_other_sets(self):
        a, b = GENERATED.draw(3, 0, 20, 30), GENERATED.draw(4, 0, 20, 30)
        assert not np.isin(a.study.y, b.study.y).any()
        assert not np.isin(a.bench.y, b.bench.y).any()

    def test_seed_redraws_the_parameters(self):
        def coefficients(seed):
            bench = GENERATED.draw(seed, 0, 20, 30).bench
            return np.linalg.lstsq(bench.X, bench.y, rcond=None)[0]

        assert np.allclose(coefficients(3), coefficients(3))
        assert not np.allclose(coefficients(3), coefficients(4))

    def test_smaller_study_set_is_the_start_of_a_larger(self):
        small, large = GENERATED.draw(5, 0, 10, 0).study, GENERATED.draw(5, 0, 40, 10).study
        assert same(small, large[np.arange(10)])

    def test_benchmarking_set_does_not_depend_on_the_study_size(self):
        assert same(GENERATED.draw(5, 0, 10, 0).bench, GENERATED.draw(5, 0, 40, 10).bench)

    def test_study_set_may_take_the_whole_pool(self):
        sets = GENERATED.draw(5, 0, 50, 0)
        assert (len(sets.study), len(sets.outer), len(sets.bench)) == (50, 0, 100)

    def test_sets_are_disjoint(self):
        sets = GENERATED.draw(5, 0, 20, 30)
        y = np.concatenate([sets.study.y, sets.outer.y, sets.bench.y])
        assert len(np.unique(y)) == 150

    def test_without_benchmarking_set(self):
        sets = GeneratedPopulation(draw_simulated, "regression", 50, 0, "").draw(0, 0, 20, 30)
        assert len(sets.study) == 20 and sets.outer is None and sets.bench is None


@pytest.mark.parametrize("kind", ["array", "table", "view"])
@pytest.mark.parametrize("task", ["classification", "regression"])
class TestPoolPopulation:
    def test_sizes_and_labels(self, kind, task):
        population = pool(kind=kind, task=task)
        assert (population.n_pool, population.n_bench) == (60, 40)
        sets = population.draw(0, 0, 20, 30)
        for part, size in ((sets.study, 20), (sets.outer, 30), (sets.bench, 40)):
            assert len(part) == len(identities(part)) == size
            # Features and labels belong together.
            expected = np.repeat([0, 1, 2], (60, 30, 10))[identities(part)]
            assert np.array_equal(part.y, expected / 7 if task == "regression" else expected)

    def test_sets_are_disjoint(self, kind, task):
        sets = pool(kind=kind, task=task).draw(0, 0, 25, 35)
        members = np.concatenate([identities(s) for s in (sets.study, sets.outer, sets.bench)])
        assert sorted(members) == list(range(100))

    def test_benchmarking_set_is_the_same_for_all_seeds(self, kind, task):
        population = pool(kind=kind, task=task)
        first = identities(population.draw(0, 0, 20, 30).bench)
        for seed in (1, 2):
            assert np.array_equal(identities(population.draw(seed, 0, 30, 10).bench), first)
        # And in another process, for the same data.
        assert np.array_equal(identities(pool(kind=kind, task=task).draw(3, 0, 5, 5).bench), first)

    def test_same_seed_same_sets(self, kind, task):
        population = pool(kind=kind, task=task)
        a, b = population.draw(7, 0, 20, 30), population.draw(7, 0, 20, 30)
        assert np.array_equal(identities(a.study), identities(b.study))
        assert np.array_equal(identities(a.outer), identities(b.outer))

    def test_other_seed_other_sets(self, kind, task):
        population = pool(kind=kind, task=task)
        a, b = population.draw(7, 0, 20, 30), population.draw(8, 0, 20, 30)
        assert set(identities(a.study)) != set(identities(b.study))
        assert set(identities(a.outer)) != set(identities(b.outer))

    def test_smaller_study_set_is_the_start_of_a_larger(self, kind, task):
        population = pool(kind=kind, task=task)
        small, large = population.draw(7, 0, 10, 30).study, population.draw(7, 0, 50, 5).study
        assert np.array_equal(identities(small), identities(large)[:10])

    def test_study_set_may_take_the_whole_pool(self, kind, task):
        sets = pool(kind=kind, task=task).draw(7, 0, 60, 0)
        assert (len(sets.study), len(sets.outer), len(sets.bench)) == (60, 0, 40)
        assert not set(identities(sets.study)) & set(identities(sets.bench))

    def test_without_benchmarking_set(self, kind, task):
        population = pool(kind=kind, task=task, n_bench=0)
        assert (population.n_pool, population.n_bench) == (100, 0)
        sets = population.draw(7, 0, 100, 0)
        assert sorted(identities(sets.study)) == list(range(100))
        assert sets.outer is None and sets.bench is None


COUNTS = [(50, 50), (60, 30, 10), (97, 3), (99, 1), (70, 10, 10, 10), (40, 30, 20, 7, 3),
          (160, *[10] * 7)]


def assert_proportional(examples, counts):
    """Every class is within one example of its share at the point that the draw has reached; that
    the others are, too, moves this point by their errors, of which a class takes its share."""
    share = np.array(counts) / sum(counts)
    deviation = np.abs(counts_of(examples, len(counts)) - share * len(examples))
    assert (deviation < 1 + share * (len(counts) - 2) + 1e-9).all()
    return deviation


@pytest.mark.parametrize("counts", COUNTS, ids=str)
class TestStratification:
    def test_benchmarking_set_is_proportional(self, counts):
        total = sum(counts)
        for n_bench in (total // 10, total // 3, total // 2, total - 7):
            assert_proportional(pool(counts, n_bench).draw(0, 0, 1, 1).bench, counts)

    def test_study_sets_are_proportional(self, counts):
        population, deviations = pool(counts, n_bench=0), []
        for seed in range(5):
            for n_study in range(1, sum(counts) + 1):
                study = population.draw(seed, 0, n_study, 0).study
                deviations.append(assert_proportional(study, counts))
        # Without stratification, hypergeometric counts have a standard deviation of up to 5.
        assert np.mean(deviations) < 0.7

    def test_no_class_is_favoured(self, counts):
        # Over seeds, a class is drawn as often as its share says, be it ever so rare.
        population, n_draws, n_study = pool(counts, n_bench=0), 400, 10
        drawn = np.mean([
            counts_of(population.draw(seed, 0, n_study, 0).study, len(counts))
            for seed in range(n_draws)
        ], axis=0)
        expected = n_study * np.array(counts) / sum(counts)
        # Counts vary by at most two either way, with a standard deviation below one.
        assert np.abs(drawn - expected).max() < 5 / np.sqrt(n_draws)

    def test_members_of_a_class_are_drawn_at_random(self, counts):
        population, n_draws, n_study = pool(counts, n_bench=0), 400, sum(counts) // 2
        drawn = np.zeros(sum(counts))
        for seed in range(n_draws):
            drawn[identities(population.draw(seed, 0, n_study, 0).study)] += 1
        for members in np.split(drawn, np.cumsum(counts)[:-1]):
            # Each is in with the same probability: binomial counts, within 6 standard deviations.
            p = members.mean() / n_draws
            assert np.abs(members / n_draws - p).max() <= 6 * np.sqrt(p * (1 - p) / n_draws) + 1e-9


def test_benchmarking_set_of_its_own():
    rng = np.random.default_rng(0)
    X, bench = rng.standard_normal((50, 2)), Examples(rng.standard_normal((30, 2)), np.zeros(30))
    population = PoolPopulation(X, np.zeros(50), "regression", 0, "a pool", bench=bench)
    assert (population.n_pool, population.n_bench) == (50, 30)
    for seed in range(3):
        sets = population.draw(seed, seed, 35, 15)
        assert sets.bench is bench
        drawn = np.concatenate([sets.study.X, sets.outer.X])
        assert sorted(map(tuple, drawn)) == sorted(map(tuple, X))


def test_regression_study_sets_are_drawn_at_random():
    population, drawn = pool(task="regression", n_bench=0), np.zeros(100)
    for seed in range(400):
        drawn[identities(population.draw(seed, 0, 30, 0).study)] += 1
    assert np.abs(drawn / 400 - 0.3).max() < 6 * np.sqrt(0.3 * 0.7 / 400)


@pytest.mark.parametrize("n_bench", [100, 101, -1])
def test_benchmarking_set_must_leave_examples(n_bench):
    with pytest.raises(InputError, match=f"{n_bench} examples can't be set aside from 100"):
        pool(n_bench=n_bench)


def test_labels_may_be_a_list_or_a_series():
    for y in ([0, 1, 0, 1], pd.Series([0, 1, 0, 1], index=[9, 8, 7, 6])):
        study = PoolPopulation(np.eye(4), y, "classification", 0, "", ["a", "b"]).draw(
            0, 0, 4, 0
        ).study
        assert sorted(study.y.tolist()) == [0, 0, 1, 1]


class TestPopulationDataset:
    def test_population_is_handed_over(self):
        class Dataset(PopulationDataset):
            name = "good"

            def get_population(self):
                return GENERATED

        assert Dataset().get_data() == dict(population=GENERATED, problem=None)

    def test_input_error_becomes_a_reason_to_skip(self):
        class Dataset(PopulationDataset):
            name = "bad"

            def get_population(self):
                raise InputError("no such file")

        assert Dataset().get_data() == dict(population=None, problem="no such file")

    def test_other_errors_are_bugs(self):
        class Dataset(PopulationDataset):
            name = "buggy"

            def get_population(self):
                raise KeyError("typo")

        with pytest.raises(KeyError):
            Dataset().get_data()
