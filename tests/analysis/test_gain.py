import itertools

import numpy as np
import pytest

from benchmark_utils.analysis.gain import proxy_gain, sample_gain, single_split_variance
from benchmark_utils.analysis.variance import VarianceComponents

X = np.nan


def gain_of(delta, outer, n_test=25, seed=0, **options):
    return sample_gain(
        np.array(delta, float), np.array(outer, float), n_test, np.random.default_rng(seed),
        **options,
    )


def simulate(rng, n_seeds, n_splits, n_chunks, correlation):
    """Normal deltas of variance 1 with this correlation of two splits, and independent outer
    deltas: the expected gain is K / (1 + (K − 1)ρ)."""
    of_seed = np.sqrt(correlation) * rng.normal(size=(n_seeds, 1))
    delta = of_seed + np.sqrt(1 - correlation) * rng.normal(size=(n_seeds, n_splits))
    return delta, rng.normal(size=(n_seeds, n_chunks))


def point_estimates(result):
    return [
        result.gain, result.at_least, result.plug_in, result.intraclass, result.variance,
        result.chunk_variance, result.chunk_covariance, result.correlation,
    ]


class TestSingleSplitVariance:
    def test_closed_form(self):
        # σ̄² = 8, c̄ = 2: 8, 8/2 + 2/2 = 5, 8/4 + 3·2/4 = 3.5
        assert single_split_variance(np.array([1, 2, 4]), 8, 2) == pytest.approx([8, 5, 3.5])

    def test_limit(self):
        assert single_split_variance(1e9, 8, 2) == pytest.approx(2)

    def test_brute_force_over_all_orders_of_the_chunks(self):
        rng = np.random.default_rng(0)
        delta, outer = rng.normal(size=(5, 3)), rng.normal(size=(5, 4)) + rng.normal(size=(5, 1))
        result = gain_of(delta, outer)
        # A chunk is the first split's test set, or an outer one: five of them.
        chunks = np.column_stack([delta[:, 0], outer])
        for a in range(1, 6):
            # The delta of a test set of `a` chunks is their mean.
            variances = [
                chunks[:, order[:a]].mean(axis=1).var(ddof=1)
                for order in itertools.permutations(range(5))
            ]
            assert single_split_variance(
                a, result.chunk_variance, result.chunk_covariance
            ) == pytest.approx(np.mean(variances))
        assert result.n_chunks == 5


class TestByHand:
    # Three seeds with deltas (−2, 0, 2) on the first split and (0, 0, 0) on the second:
    # V_1 = 4; means (−1, 0, 1), V_2 = 1.
    delta = [[-2, 0], [0, 0], [2, 0]]

    def test_without_covariance(self):
        # One outer chunk, (−1, 2, −1)·√(4/3), has variance 4 and covariance 0 with the first: V_1
        # is 4/a, and reaches 1 at a = 4, beyond the two chunks there are.
        result = gain_of(self.delta, np.sqrt(4 / 3) * np.array([[-1], [2], [-1]]))
        assert (result.chunk_variance, result.chunk_covariance) == pytest.approx((4, 0))
        assert result.variance == pytest.approx([4, 1])
        assert result.gain == pytest.approx([1, 2]) and result.at_least.tolist() == [False, True]
        assert result.plug_in == pytest.approx([1, 4])
        # V_s = 2, 0, 2, so W = 4/3 and τ = 1 − (4/3)/2 = 1/3, σ² = 5/3, ρ = 1/5.
        assert result.correlation == pytest.approx(0.2)
        assert result.intraclass == pytest.approx([1, 2 / 1.2])
        assert (result.n_chunks, result.n_seeds) == (2, 3)

    def test_with_enough_chunks(self):
        # Nine equal pairs of uncorrelated chunks don't suit three seeds; take chunks that are
        # (−2, 0, 2) and its negative, eight of each with the first: c̄ = (8·7·2·4 − 2·64·4)/(16·15)
        # = −4/15, so (4 + 4/15)/a − 4/15 = 1 at a = (64/15)/(19/15) = 64/19.
        signs = np.array([1] * 7 + [-1] * 8)
        result = gain_of(self.delta, np.outer([-2, 0, 2], signs), n_test=100)
        assert result.chunk_covariance == pytest.approx(-4 / 15)
        # Rounded up to whole examples: 336.84 → 337.
        assert result.gain == pytest.approx([1, 3.37])
        assert result.at_least.tolist() == [False, False]

    @pytest.mark.parametrize("n_test, expected", [(100, 3.37), (10, 3.4), (3, 11 / 3), (1, 4)])
    def test_whole_examples(self, n_test, expected):
        signs = np.array([1] * 7 + [-1] * 8)
        result = gain_of(self.delta, np.outer([-2, 0, 2], signs), n_test=n_test)
        assert result.gain[1] == pytest.approx(expected)


def test_gain_is_the_smallest_test_size_by_search():
    rng = np.random.default_rng(3)
    n_checked = 0
    for _ in range(50):
        correlation, n_chunks, n_test = rng.uniform(0, 0.9), rng.integers(1, 12), 7
        delta, outer = simulate(rng, 6, 5, n_chunks, correlation)
        result = gain_of(delta, outer, n_test, n_resamples=2)
        for K in range(1, 6):
            V_K = delta[:, :K].mean(axis=1).var(ddof=1)
            if V_K >= delta[:, 0].var(ddof=1):
                expected = 1.0
            else:
                sizes = np.arange(n_test, (n_chunks + 1) * n_test + 1)
                V_1 = single_split_variance(
                    sizes / n_test, result.chunk_variance, result.chunk_covariance
                )
                reached = sizes[V_1 <= V_K]
                assert result.at_least[K - 1] == (not len(reached))
                expected = reached[0] / n_test if len(reached) else n_chunks + 1
                n_checked += len(reached) > 0
            assert result.gain[K - 1] == pytest.approx(expected)
    assert n_checked > 50


@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.3, 0.7, 1.0])
def test_known_correlation(correlation):
    delta, outer = simulate(np.random.default_rng(0), 8000, 20, 40, correlation)
    result = gain_of(delta, outer, n_resamples=2)
    expected = result.n_splits / (1 + (result.n_splits - 1) * correlation)
    # A ratio of two variances over S seeds has a relative standard error of 2/√S = 2.2 % at most;
    # whole examples add up to 1/25.
    assert result.gain == pytest.approx(expected, rel=0.07, abs=0.04)
    assert result.plug_in == pytest.approx(expected, rel=0.07)
    assert result.intraclass == pytest.approx(expected, rel=0.07)
    assert result.correlation == pytest.approx(correlation, abs=0.02)
    assert result.variance == pytest.approx(1 / expected, rel=0.07)
    assert not result.at_least.any()


class TestAtLeast:
    def test_cap_at_the_largest_outer_size(self):
        # Independent splits, and 9 chunks with the first test set.
        delta, outer = simulate(np.random.default_rng(0), 2000, 50, 8, 0.0)
        result = gain_of(delta, outer, n_resamples=50)
        assert result.n_chunks == 9
        assert (result.gain[result.n_splits >= 12] == 9).all()
        assert result.at_least[result.n_splits >= 12].all()
        assert not result.at_least[result.n_splits <= 7].any()
        assert result.gain.max() == result.high.max() == 9

    def test_below_what_a_single_predictor_can_reach(self):
        # All chunks share a part of variance 0.5, below which V_1 never falls.
        rng = np.random.default_rng(0)
        delta, outer = simulate(rng, 2000, 20, 100, 0.0)
        shared = np.sqrt(0.5) * rng.normal(size=(2000, 1))
        outer = np.sqrt(0.5) * outer + shared
        delta[:, :1] = np.sqrt(0.5) * delta[:, :1] + shared
        result = gain_of(delta, outer, n_resamples=2)
        assert result.chunk_covariance == pytest.approx(0.5, abs=0.05)
        assert result.variance[-1] < 0.1
        assert result.at_least[-1] and result.gain[-1] == 101


class TestFixedSplit:
    @pytest.mark.parametrize("S", [2, 3, 4, 5, 30])
    @pytest.mark.parametrize("offset", [0, 0.1, 1e4])
    def test_gain_is_exactly_one(self, S, offset):
        # Means of equal numbers may differ from them in the last bits, here and in the resamples.
        for seed in range(20):
            rng = np.random.default_rng(seed)
            delta = offset + np.repeat(rng.normal(size=(S, 1)), 20, axis=1)
            result = gain_of(delta, rng.normal(size=(S, 10)), n_resamples=300)
            assert (result.gain == 1).all() and not result.at_least.any()
            assert (result.low == 1).all() and (result.high == 1).all()
            assert result.plug_in == pytest.approx(20 * [1])

    def test_constant_deltas(self):
        result = gain_of(np.zeros((5, 4)), np.zeros((5, 3)))
        assert (result.gain == 1).all() and (result.high == 1).all()
        assert not result.at_least.any()


class TestNumbersOfSplits:
    delta, outer = simulate(np.random.default_rng(0), 30, 12, 15, 0.3)

    def test_one_split(self):
        result = gain_of(self.delta, self.outer)
        assert (result.gain[0], result.low[0], result.high[0]) == (1, 1, 1)
        assert result.plug_in[0] == 1 and result.intraclass[0] == 1
        assert not result.at_least[0]

    def test_chosen_ones(self):
        everything, chosen = gain_of(self.delta, self.outer), gain_of(
            self.delta, self.outer, n_splits=[1, 3, 12]
        )
        assert chosen.n_splits.tolist() == [1, 3, 12]
        for name in ("gain", "low", "high", "at_least", "plug_in", "intraclass", "variance"):
            assert getattr(chosen, name) == pytest.approx(getattr(everything, name)[[0, 2, 11]])

    def test_later_splits_do_not_change_the_gain_of_fewer(self):
        few = gain_of(self.delta[:, :5], self.outer)
        many = gain_of(self.delta, self.outer)
        assert few.gain == pytest.approx(many.gain[:5])
        assert few.high == pytest.approx(many.high[:5])

    def test_only_one_there_is(self):
        result = gain_of(self.delta[:, :1], self.outer)
        assert result.gain.tolist() == [1] and result.plug_in.tolist() == [1]


class TestTooFew:
    delta, outer = simulate(np.random.default_rng(0), 6, 4, 5, 0.3)

    def test_one_seed(self):
        assert gain_of(self.delta[:1], self.outer[:1]) is None

    def test_one_seed_with_a_successful_split(self):
        delta = self.delta.copy()
        delta[1:] = X
        assert gain_of(delta, self.outer) is None

    def test_without_outer_chunks(self):
        assert gain_of(self.delta, np.empty((6, 0))) is None

    def test_without_benchmarking_set(self):
        assert gain_of(np.full((6, 4), X), np.empty((6, 0))) is None


class TestFailedSplits:
    delta, outer = simulate(np.random.default_rng(0), 10, 6, 8, 0.3)

    def test_seed_without_successful_split_is_left_out(self):
        delta, outer = self.delta.copy(), self.outer.copy()
        delta[4], outer[4] = X, X
        result = gain_of(delta, outer)
        expected = gain_of(np.delete(delta, 4, axis=0), np.delete(outer, 4, axis=0))
        assert result.n_seeds == 9
        for a, b in zip(point_estimates(result), point_estimates(expected), strict=True):
            assert a == pytest.approx(b)

    def test_successful_splits_count_in_their_order(self):
        delta = np.full((10, 9), X)
        delta[:, [1, 2, 4, 5, 7, 8]] = self.delta
        result = gain_of(delta, self.outer)
        expected = gain_of(self.delta, self.outer)
        assert result.gain[:6] == pytest.approx(expected.gain)
        # Where there are fewer, the mean of all there are.
        assert result.gain[6:] == pytest.approx(3 * [expected.gain[-1]])

    def test_everything_is_finite(self):
        delta = self.delta.copy()
        delta[np.random.default_rng(1).random(delta.shape) < 0.4] = X
        result = gain_of(delta, self.outer)
        for values in point_estimates(result):
            assert np.isfinite(values).all()
        assert np.isfinite([result.low, result.high]).all()


class TestInvariance:
    delta, outer = simulate(np.random.default_rng(0), 20, 8, 12, 0.3)

    def test_order_of_seeds(self):
        order = np.random.default_rng(1).permutation(20)
        a, b = gain_of(self.delta, self.outer), gain_of(self.delta[order], self.outer[order])
        for x, y in zip(point_estimates(a), point_estimates(b), strict=True):
            assert x == pytest.approx(y)

    def test_order_of_chunks(self):
        order = np.random.default_rng(1).permutation(12)
        a, b = gain_of(self.delta, self.outer), gain_of(self.delta, self.outer[:, order])
        for x, y in zip(point_estimates(a), point_estimates(b), strict=True):
            assert x == pytest.approx(y)

    @pytest.mark.parametrize("scale", [1e-6, -3, 1e6])
    @pytest.mark.parametrize("offset", [0, 5])
    def test_units_and_offset(self, scale, offset):
        a = gain_of(self.delta, self.outer)
        b = gain_of(scale * (self.delta + offset), scale * (self.outer + offset))
        for name in ("gain", "low", "high", "plug_in", "intraclass", "at_least"):
            assert getattr(b, name) == pytest.approx(getattr(a, name))
        assert b.variance == pytest.approx(scale**2 * a.variance)

    def test_same_generator_same_interval(self):
        a, b, c = (gain_of(self.delta, self.outer, seed=seed) for seed in (1, 1, 2))
        assert np.array_equal(a.low, b.low) and np.array_equal(a.high, b.high)
        assert not np.array_equal(a.high, c.high)
        assert np.array_equal(a.gain, c.gain)


def test_interval_contains_the_estimate_and_widens_with_the_level():
    delta, outer = simulate(np.random.default_rng(0), 100, 10, 30, 0.3)
    narrow, wide = gain_of(delta, outer, level=0.5), gain_of(delta, outer, level=0.99)
    assert (wide.low[1:] < narrow.low[1:]).all() and (narrow.high[1:] < wide.high[1:]).all()
    assert (narrow.low <= narrow.gain).all() and (narrow.gain <= narrow.high).all()


@pytest.mark.slow
@pytest.mark.parametrize("correlation", [0.0, 0.1, 0.3, 0.6])
def test_coverage_of_the_interval(correlation):
    rng, n_studies, K = np.random.default_rng(0), 600, 10
    truth = K / (1 + (K - 1) * correlation)
    covered = []
    for _ in range(n_studies):
        delta, outer = simulate(rng, 100, K, 40, correlation)
        result = sample_gain(delta, outer, 1000, rng, n_resamples=500, n_splits=[K])
        covered.append(result.low[0] <= truth <= result.high[0])
    print(f"\ncoverage at ρ = {correlation}: {np.mean(covered):.3f}")
    assert 0.90 <= np.mean(covered) <= 0.99


class TestProxyGain:
    @staticmethod
    def components(within, tau):
        return VarianceComponents(
            within, np.nan, tau, within + tau, np.nan, (np.nan, np.nan), 9, 9
        )

    def test_by_hand(self):
        # W = 3, τ = 1, σ² = 4: 10·√12 / (1 + 2.25 + 9 · 0.6 · 1 · 3/4)
        assert proxy_gain(self.components(3, 1), 10) == pytest.approx(10 * 12**0.5 / 7.3)

    def test_limits(self):
        for tau in (0, -0.5):
            assert proxy_gain(self.components(2, tau), np.array([1, 7])) == pytest.approx([1, 7])
        assert np.isnan(proxy_gain(self.components(np.nan, np.nan), 5))
        assert np.isnan(proxy_gain(self.components(0, 0), 5))

    def test_falls_with_the_covariance(self):
        gains = [proxy_gain(self.components(1, tau), 20) for tau in (0.01, 0.1, 0.5, 2)]
        assert gains == sorted(gains, reverse=True)
