import warnings

import numpy as np
import pytest

from benchmark_utils.analysis.variance import tau_standard_error, variance_components


def components(scores, seed=0, **options):
    return variance_components(np.array(scores, float), np.random.default_rng(seed), **options)


def simulate(rng, n_seeds, n_splits, total, tau, mean=0.0):
    """Normal scores of variance `total` and, within a seed, covariance `tau`."""
    of_seed = np.sqrt(tau) * rng.normal(size=(n_seeds, 1))
    return mean + of_seed + np.sqrt(total - tau) * rng.normal(size=(n_seeds, n_splits))


X = np.nan

#        split 0  split 1    mean  variance
# seed 0       0        2       1         2
# seed 1       4        8       6         8
# seed 2      10       12      11         2
TABLE = [[0, 2], [4, 8], [10, 12]]


def test_table_by_hand():
    c = components(TABLE)
    assert c.within == pytest.approx(4)        # W = (2 + 8 + 2)/3
    assert c.between == pytest.approx(25)      # B = variance of 1, 6, 11
    assert c.tau == pytest.approx(23)          # 25 − 4/2
    assert c.total == pytest.approx(27)        # 4 + 23
    assert c.correlation == pytest.approx(23 / 27)
    # 2(27 + 23)²/(4·2) + 2(27 − 23)²/(3·4·1) = 625 + 8/3
    assert c.tau_se == pytest.approx(np.sqrt(625 + 8 / 3))
    assert (c.n_seeds, c.n_splits) == (3, 2)


def test_unequal_numbers_of_splits_by_hand():
    #                            mean  variance  1/K_s
    # seed 0    0    2    4         2         4    1/3
    # seed 1    5    ·    ·         5         –      1
    # seed 2    8    ·   12        10         8    1/2
    c = components([[0, 2, 4], [X, 5, X], [8, X, 12]])
    assert c.within == pytest.approx(6)                   # (4 + 8)/2
    # 2, 5, 10 have mean 17/3 and squared deviations (121 + 4 + 169)/9.
    assert c.between == pytest.approx(49 / 3)
    assert c.tau == pytest.approx(49 / 3 - 6 * 11 / 18)   # mean of 1/K_s = 11/18
    assert c.total == pytest.approx(6 + 49 / 3 - 11 / 3)
    assert (c.n_seeds, c.n_splits) == (3, 3)


def test_seed_without_any_score_is_left_out():
    with_failure, without = components([*TABLE, [X, X]]), components(TABLE)
    assert with_failure == without


def test_negative_covariance_is_reported_as_it_is():
    # All seed means are equal: B = 0, τ = −W/2.
    c = components([[1, 3], [0, 4], [2, 2]])
    assert (c.between, c.within, c.tau) == pytest.approx((0, 10 / 3, -5 / 3))


def test_equal_splits_have_correlation_one():
    c = components([[1, 1, 1], [4, 4, 4], [9, 9, 9]])
    assert c.within == pytest.approx(0, abs=1e-12)
    assert c.correlation == pytest.approx(1)
    assert c.tau == pytest.approx(c.between)


def test_constant_scores():
    c = components([[0.5, 0.5], [0.5, 0.5]])
    assert (c.within, c.between, c.tau, c.total) == (0, 0, 0, 0)
    assert np.isnan(c.correlation)


class TestTooFew:
    def test_one_seed(self):
        c = components([[0, 2, 4]])
        assert c.within == pytest.approx(4)
        assert np.isnan([c.between, c.tau, c.total, c.tau_se, *c.tau_interval]).all()
        assert np.isnan(c.correlation) and (c.n_seeds, c.n_splits) == (1, 3)

    def test_one_split(self):
        c = components([[0], [2], [7]])
        # Mean 3: (9 + 1 + 16)/2. The variance between seeds is that of one split.
        assert (c.between, c.total) == pytest.approx((13, 13))
        assert np.isnan([c.within, c.tau, c.tau_se, *c.tau_interval]).all()
        assert np.isnan(c.correlation) and (c.n_seeds, c.n_splits) == (3, 1)

    def test_one_split_of_each_seed_succeeded(self):
        c = components([[0, X], [X, 2], [7, X]])
        assert (c.between, c.total) == pytest.approx((13, 13))
        assert np.isnan([c.within, c.tau, c.tau_se, *c.tau_interval]).all()

    def test_one_score(self):
        c = components([[3]])
        assert np.isnan([c.within, c.between, c.tau, c.total, c.tau_se]).all()

    @pytest.mark.parametrize("shape", [(3, 4), (1, 1)])
    def test_no_score_at_all(self, shape):
        c = components(np.full(shape, X))
        assert np.isnan([c.within, c.between, c.tau, c.total, c.tau_se]).all()
        assert (c.n_seeds, c.n_splits) == (0, 0)

    def test_without_warnings(self):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            for scores in (TABLE, [[0, 2, 4]], [[0], [2], [7]], [[3]], [[X, X]], [[0, X], [1, X]]):
                components(scores)


class TestInvariance:
    scores = simulate(np.random.default_rng(0), 12, 6, 2.0, 0.7)

    @pytest.mark.parametrize("axis", [0, 1], ids=["seeds", "splits"])
    @pytest.mark.parametrize("n_failed", [0, 9])
    def test_order(self, axis, n_failed):
        scores, rng = self.scores.copy(), np.random.default_rng(1)
        scores[rng.integers(12, size=n_failed), rng.integers(6, size=n_failed)] = X
        a, b = components(scores), components(rng.permutation(scores, axis=axis))
        for name in ("within", "between", "tau", "total", "tau_se"):
            assert getattr(a, name) == pytest.approx(getattr(b, name))

    def test_scores_within_one_seed_may_be_exchanged(self):
        shuffled = np.random.default_rng(1).permuted(self.scores, axis=1)
        a, b = components(self.scores), components(shuffled)
        assert (a.within, a.between, a.tau) == pytest.approx((b.within, b.between, b.tau))

    def test_offset_and_scale(self):
        a, b = components(self.scores), components(1000 - 10 * self.scores)
        for name in ("within", "between", "tau", "total", "tau_se"):
            assert getattr(b, name) == pytest.approx(100 * getattr(a, name))
        assert b.tau_interval == pytest.approx([100 * end for end in a.tau_interval])
        assert b.correlation == pytest.approx(a.correlation)

    def test_a_large_offset_does_not_matter(self):
        a, b = components(self.scores), components(self.scores + 1e6)
        assert b.tau == pytest.approx(a.tau, rel=1e-6)
        assert b.tau_interval == pytest.approx(a.tau_interval, rel=1e-5)


class TestInterval:
    scores = simulate(np.random.default_rng(2), 60, 8, 2.0, 0.7)

    def test_same_generator_same_interval(self):
        a, b, c = components(self.scores), components(self.scores), components(self.scores, seed=1)
        assert a.tau_interval == b.tau_interval != c.tau_interval

    def test_contains_the_estimate_and_widens_with_the_level(self):
        narrow, wide = components(self.scores, level=0.5), components(self.scores, level=0.99)
        assert wide.tau_interval[0] < narrow.tau_interval[0] < narrow.tau
        assert narrow.tau < narrow.tau_interval[1] < wide.tau_interval[1]

    def test_width_agrees_with_the_standard_error(self):
        c = components(self.scores, n_resamples=5000)
        # For normal scores, about 2 · 1.96 standard errors; the bootstrap is skewed.
        assert c.tau_interval[1] - c.tau_interval[0] == pytest.approx(3.92 * c.tau_se, rel=0.35)


class TestStandardError:
    @pytest.mark.parametrize("total, tau, S, K, expected", [
        # 2(1 + 2·0)²/(9·4) + 2(1 − 0)²/(5·9·2) = 1/18 + 1/45
        (1, 0, 5, 3, 1 / 18 + 1 / 45),
        # 2(3 + 1)²/(4·10) + 2(3 − 1)²/(11·4·1) = 4/5 + 2/11
        (3, 1, 11, 2, 4 / 5 + 2 / 11),
        # equal splits: 2τ²/(S − 1)
        (3, 3, 9, 7, 2 * 9 / 8),
    ])
    def test_by_hand(self, total, tau, S, K, expected):
        assert tau_standard_error(total, tau, S, K) == pytest.approx(np.sqrt(expected))

    def test_one_split(self):
        assert np.isnan(tau_standard_error(1.0, 0.5, 10, 1))

    def test_many_splits(self):
        # The floor 2τ²/(S − 1) is all that is left.
        assert tau_standard_error(2.0, 0.5, 11, 10**6) == pytest.approx(np.sqrt(0.05), rel=1e-5)


def taus(scores):
    return [variance_components(s, np.random.default_rng(0), n_resamples=1).tau for s in scores]


@pytest.mark.slow
@pytest.mark.parametrize(
    "S, K, total, tau", [(10, 2, 1.0, 0.0), (20, 5, 1.0, 0.3), (8, 10, 2.0, 1.8)]
)
def test_standard_error_by_simulation(S, K, total, tau):
    rng, n = np.random.default_rng(0), 20_000
    estimates = taus(simulate(rng, S, K, total, tau, mean=5.0) for _ in range(n))
    expected = tau_standard_error(total, tau, S, K)
    # Unbiased; its own standard error is expected/√n.
    assert np.mean(estimates) == pytest.approx(tau, abs=4 * expected / np.sqrt(n))
    # A standard deviation has a relative error of about √(κ − 1)/(2√n), κ ≤ 6 with S ≥ 8.
    assert np.std(estimates) == pytest.approx(expected, rel=4 * np.sqrt(5 / (4 * n)))


@pytest.mark.slow
@pytest.mark.parametrize("p_failed", [0.2, 0.5])
def test_tau_is_unbiased_with_failed_splits(p_failed):
    rng, n, tau = np.random.default_rng(0), 20_000, 0.4

    def failing():
        scores = simulate(rng, 12, 5, 1.0, tau, mean=5.0)
        scores[rng.random(scores.shape) < p_failed] = X
        return scores

    estimates = taus(failing() for _ in range(n))
    assert np.mean(estimates) == pytest.approx(tau, abs=4 * np.std(estimates) / np.sqrt(n))
