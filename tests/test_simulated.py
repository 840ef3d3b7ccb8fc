import numpy as np
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

FAMILIES = ("linear", "interactions", "nonlinear", "classification")


@pytest.fixture
def population(component):
    def make(**parameters):
        parameters = {"n_samples": 3000, "n_bench": 2000, **parameters}
        data = component("dataset", "simulated", **parameters).get_data()
        assert data["problem"] is None
        return data["population"]

    return make


@pytest.fixture
def problem(component):
    def of(**parameters):
        data = component("dataset", "simulated", **parameters).get_data()
        assert data["population"] is None
        return data["problem"]

    return of


@pytest.mark.parametrize("family", FAMILIES)
class TestEveryFamily:
    def test_sizes_and_types(self, population, family):
        p = population(family=family, n_features=4)
        assert (p.n_pool, p.n_bench, p.is_pool) == (1000, 2000, False)
        sets = p.draw(0, 0, 50, 200)
        for part, size in ((sets.study, 50), (sets.outer, 200), (sets.bench, 2000)):
            assert part.X.shape == (size, 4) and part.y.shape == (size,)
            assert np.isfinite(part.X).all() and np.isfinite(part.y).all()
        if family == "classification":
            assert (p.task, p.classes) == ("classification", [0, 1])
            assert set(sets.bench.y) == {0, 1} and sets.bench.y.dtype.kind == "i"
        else:
            assert (p.task, p.classes) == ("regression", None)

    def test_features_are_standard_normal(self, population, family):
        X = population(family=family, n_features=3).draw(0, 0, 50, 200).bench.X
        assert np.abs(X.mean(axis=0)).max() < 5 / np.sqrt(2000)
        assert np.abs(np.cov(X.T) - np.eye(3)).max() < 5 * np.sqrt(2 / 2000)

    def test_coefficients_are_redrawn_per_seed(self, population, family):
        # The best linear fit differs between seeds by more than sampling explains.
        fits = []
        for seed in range(3):
            bench = population(family=family).draw(seed, 0, 50, 200).bench
            fits.append(LinearRegression().fit(bench.X, bench.y).coef_)
        standard_error = 3 / np.sqrt(2000)
        assert np.linalg.norm(fits[0] - fits[1]) > 3 * standard_error
        assert np.linalg.norm(fits[0] - fits[2]) > 3 * standard_error

    def test_sets_come_from_one_population(self, population, family):
        p = population(family=family)
        sets = p.draw(1, 0, 500, 500)
        fits = [LinearRegression().fit(part.X, part.y) for part in (sets.study, sets.bench)]
        assert np.allclose(fits[0].coef_, fits[1].coef_, atol=0.8)

    def test_smaller_study_set_is_the_start_of_a_larger(self, population, family):
        p = population(family=family)
        small, large = p.draw(2, 0, 30, 0).study, p.draw(2, 0, 300, 0).study
        assert np.array_equal(small.X, large.X[:30]) and np.array_equal(small.y, large.y[:30])

    def test_one_feature(self, population, family):
        assert population(family=family, n_features=1).draw(0, 0, 50, 200).study.X.shape == (50, 1)

    def test_description(self, population, family):
        p = population(family=family, n_features=7, noise=0.25, logit_scale=3.5)
        assert family in p.description and "7 features" in p.description
        strength = "3.5" if family == "classification" else "0.25"
        assert strength in p.description

    def test_without_benchmarking_set(self, population, family):
        p = population(family=family, n_bench=0)
        assert (p.n_pool, p.n_bench) == (3000, 0)
        assert p.draw(0, 0, 3000, 0).bench is None


class TestSignal:
    def test_linear(self, population):
        bench = population(family="linear", noise=0.0).draw(0, 0, 50, 200).bench
        assert LinearRegression(fit_intercept=False).fit(bench.X, bench.y).score(
            bench.X, bench.y
        ) == pytest.approx(1)

    def test_noise_has_its_standard_deviation(self, population):
        for noise in (0.5, 2.0):
            bench = population(family="linear", noise=noise).draw(0, 0, 50, 200).bench
            residual = bench.y - LinearRegression().fit(bench.X, bench.y).predict(bench.X)
            assert residual.std() == pytest.approx(noise, rel=0.06)

    def test_noise_changes_nothing_else(self, population):
        a, b = (population(noise=noise).draw(0, 0, 50, 200).bench for noise in (0.0, 1.0))
        assert np.array_equal(a.X, b.X)
        assert (b.y - a.y).std() == pytest.approx(1, rel=0.06)

    def test_interactions(self, population):
        bench = population(family="interactions", noise=0.0, n_features=4).draw(0, 0, 50, 200).bench
        assert LinearRegression().fit(bench.X, bench.y).score(bench.X, bench.y) < 0.95
        pairs = [bench.X[:, a] * bench.X[:, b] for a in range(4) for b in range(a)]
        X = np.column_stack([bench.X, *pairs])
        fitted = LinearRegression(fit_intercept=False).fit(X, bench.y)
        assert fitted.score(X, bench.y) == pytest.approx(1)
        # No coefficient of the ten is zero.
        assert np.abs(fitted.coef_).min() > 1e-6

    def test_nonlinear(self, population):
        # sin(X + φ) = cos φ sin X + sin φ cos X
        bench = population(family="nonlinear", noise=0.0, n_features=3).draw(0, 0, 50, 200).bench
        X = np.column_stack([np.sin(bench.X), np.cos(bench.X), bench.X[:, 0] * bench.X[:, 1]])
        fitted = LinearRegression(fit_intercept=False).fit(X, bench.y)
        assert fitted.score(X, bench.y) == pytest.approx(1)
        assert fitted.coef_[-1] == pytest.approx(1)
        assert LinearRegression().fit(bench.X, bench.y).score(bench.X, bench.y) < 0.95

    def test_classification(self, population):
        p = population(family="classification", n_samples=60_000, n_bench=50_000, n_features=3)
        bench = p.draw(0, 0, 50, 200).bench
        weak = LogisticRegression(C=1e6).fit(bench.X, bench.y)
        strong = population(
            family="classification", n_samples=60_000, n_bench=50_000, n_features=3, logit_scale=2.0
        ).draw(0, 0, 50, 200).bench
        strong = LogisticRegression(C=1e6).fit(strong.X, strong.y)
        assert np.allclose(strong.coef_, 2 * weak.coef_, atol=0.15)
        assert abs(weak.intercept_[0]) < 0.1

    def test_no_signal(self, population):
        bench = population(family="classification", logit_scale=0.0).draw(0, 0, 50, 200).bench
        assert bench.y.mean() == pytest.approx(0.5, abs=5 * 0.5 / np.sqrt(2000))

    @pytest.mark.filterwarnings("error")
    def test_very_strong_signal(self, population):
        bench = population(family="classification", logit_scale=1000.0).draw(0, 0, 50, 200).bench
        assert 0.3 < bench.y.mean() < 0.7


class TestProblems:
    def test_unknown_family(self, problem):
        assert "family='quadratic' is none of linear, interactions" in problem(family="quadratic")

    @pytest.mark.parametrize("name", ["n_features", "n_samples", "n_bench"])
    def test_number_that_is_no_integer(self, problem, name):
        assert f"{name}=1000.0 is not an integer" in problem(**{name: 1e3})

    @pytest.mark.parametrize("n_bench", [100, 150, -1])
    def test_sizes(self, problem, n_bench):
        said = problem(n_samples=100, n_bench=n_bench)
        assert f"n_bench={n_bench}" in said and "n_samples=100" in said

    @pytest.mark.parametrize("n_features", [0, -1])
    def test_features(self, problem, n_features):
        assert f"n_features={n_features}" in problem(n_features=n_features)


def test_parameters_are_in_the_name_that_seeds_everything(component):
    noisy, default = component("dataset", "simulated", noise=2.0), component("dataset", "simulated")
    assert "noise=2.0" in str(noisy) and str(noisy) != str(default)
