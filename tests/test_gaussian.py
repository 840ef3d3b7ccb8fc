import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sklearn.model_selection import StratifiedKFold

from benchmark_utils.splits import Sizes, make_splits

# The two classes, as datasets/gaussian.py describes them.
Z = np.random.default_rng(0).standard_normal((10, 10))
A = 0.3 * Z
MEANS = np.zeros(10), np.array([0.6, 0, 0, 0, 0, 0, 0, 0, 0, 0])
COVARIANCES = np.eye(10), (np.eye(10) + A @ A.T) / 2


def drawn(seed, n):
    """n rows of a seed: labels, n rows of each class, each row taken from its label's."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    rows = [rng.multivariate_normal(MEANS[c], COVARIANCES[c], n) for c in (0, 1)]
    return np.array([rows[label][i] for i, label in enumerate(y)]), y


@pytest.fixture
def population(component):
    return lambda labels="signal": component("dataset", "gaussian", labels=labels).get_data()[
        "population"
    ]


@pytest.fixture
def bench(population):
    return population().draw(seed=0, repetition=0, n_study=200, n_outer=0).bench


@pytest.mark.parametrize("repetition", [0, 1, 19])
def test_study_set_of_a_repetition(population, repetition):
    study = population().draw(seed=5, repetition=repetition, n_study=200, n_outer=0).study
    X, y = drawn(1000 + repetition, 200)
    np.testing.assert_array_equal(study.y, y)
    np.testing.assert_allclose(study.X, X, rtol=1e-12, atol=1e-12)


def test_benchmarking_set(bench):
    X, y = drawn(99, 20_000)
    np.testing.assert_array_equal(bench.y, y)
    np.testing.assert_allclose(bench.X, X, rtol=1e-12, atol=1e-12)


def test_bayes_error(bench):
    density = np.column_stack([
        multivariate_normal(mean, covariance).pdf(bench.X)
        for mean, covariance in zip(MEANS, COVARIANCES, strict=True)
    ])
    # Both classes are equally likely. 0.268 as published, with a standard error of 0.003.
    assert (density.argmax(axis=1) != bench.y).mean() == pytest.approx(0.268, abs=0.005)
    # The same from the probabilities, which depends less on the labels drawn.
    posterior = density / density.sum(axis=1, keepdims=True)
    assert posterior.min(axis=1).mean() == pytest.approx(0.268, abs=0.005)


@pytest.mark.parametrize("labels", ["signal", "noise"])
def test_seeds_are_those_of_the_repetition(population, labels):
    a, b = (population(labels).draw(seed, 3, 200, 100) for seed in (1, 2))
    for part in ("study", "bench"):
        np.testing.assert_array_equal(getattr(a, part).X, getattr(b, part).X)
        np.testing.assert_array_equal(getattr(a, part).y, getattr(b, part).y)
    other = population(labels).draw(1, 4, 200, 100)
    assert (other.study.X != a.study.X).all()
    # The outer set, which has no published seed, is the repetition's own, and no one's copy.
    assert len(a.outer) == 100
    assert (a.outer.X != b.outer.X).all()
    assert not np.isin(a.outer.X, a.study.X).any() and not np.isin(a.outer.X, a.bench.X).any()


def test_the_benchmarking_set_is_the_same_for_all_repetitions(population, bench):
    other = population().draw(seed=7, repetition=4, n_study=50, n_outer=10).bench
    np.testing.assert_array_equal(other.X, bench.X)


class TestNoise:
    @pytest.mark.parametrize("repetition", [0, 7])
    def test_study_set(self, population, repetition):
        rng = np.random.default_rng(repetition)
        X, y = rng.standard_normal((200, 10)), rng.integers(0, 2, 200)
        study = population("noise").draw(0, repetition, 200, 0).study
        np.testing.assert_array_equal(study.X, X)
        np.testing.assert_array_equal(study.y, y)

    def test_benchmarking_set_is_fresh(self, population):
        sets = [population("noise").draw(0, repetition, 200, 0) for repetition in (0, 1)]
        for s in sets:
            assert s.bench.X.shape == (20_000, 10)
            assert not np.isin(s.bench.X, s.study.X).any()
        assert (sets[0].bench.X != sets[1].bench.X).all()

    def test_labels_have_nothing_to_do_with_features(self, population):
        bench = population("noise").draw(0, 0, 200, 0).bench
        # 20,000 rows: a standard error of 0.007 for each correlation and for twice the mean.
        assert abs(2 * bench.y.mean() - 1) < 0.03
        correlation = np.corrcoef(bench.X.T, bench.y)[-1, :-1]
        assert np.abs(correlation).max() < 0.03
        assert np.abs(bench.X.mean(axis=0)).max() < 0.03
        assert np.abs(bench.X.std(axis=0) - 1).max() < 0.03


def test_what_the_page_says(population):
    signal, noise = population(), population("noise")
    assert signal.description == "two Gaussian classes in 10 dimensions"
    assert noise.description == "coin-flip labels in 10 dimensions"
    for p in (signal, noise):
        assert (p.task, p.classes, p.n_bench, p.is_pool) == (
            "classification", [0, 1], 20_000, False
        )


def test_unknown_labels(component):
    data = component("dataset", "gaussian", labels="random").get_data()
    assert data["population"] is None
    assert data["problem"] == "labels='random' is neither signal nor noise"


def test_first_folds_are_shuffled_by_the_repetition(component):
    # As the experiment was published: StratifiedKFold(5, shuffle=True, random_state=r).
    population = component("dataset", "gaussian").get_population()
    study = population.draw(7, 3, 200, 0).study
    splits = make_splits(
        "repeated_kfold", Sizes(200, 160, 0, 40), 10, 7, study.y,
        fold_seed=population.fold_seed(3),
    )
    folds = StratifiedKFold(5, shuffle=True, random_state=3).split(study.X, study.y)
    for split, (train, test) in zip(splits, folds, strict=False):
        assert split.train.tolist() == train.tolist() and split.test.tolist() == test.tolist()
    assert splits[5].test.tolist() != splits[0].test.tolist()
