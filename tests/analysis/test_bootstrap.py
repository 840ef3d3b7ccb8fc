import numpy as np
import pytest

from benchmark_utils.analysis.bootstrap import percentile_interval, resample_counts


def test_counts_are_resamples():
    counts = resample_counts(np.random.default_rng(0), 7, 500)
    assert counts.shape == (500, 7)
    assert (counts.sum(axis=1) == 7).all() and (counts >= 0).all()


def test_multiplicity_is_kept():
    # Of 200 units, (1 − 1/200)²⁰⁰ = 36.7 % aren't drawn, and 18.4 % twice.
    counts = resample_counts(np.random.default_rng(0), 200, 2000)
    assert (counts == 0).mean() == pytest.approx((1 - 1 / 200) ** 200, abs=0.002)
    twice = 200 * 199 / 2 * (1 / 200) ** 2 * (1 - 1 / 200) ** 198
    assert (counts == 2).mean() == pytest.approx(twice, abs=0.002)
    # Multinomial: variance n·(1/n)(1 − 1/n), covariance −1/n.
    assert counts.var(axis=0).mean() == pytest.approx(1 - 1 / 200, abs=0.02)


def test_standard_error_of_a_mean():
    rng = np.random.default_rng(0)
    values = rng.normal(size=50)
    means = resample_counts(rng, 50, 20_000) @ values / 50
    # The bootstrap standard error of a mean is that of ddof 0, here to within 2 %.
    assert means.std() == pytest.approx(values.std() / np.sqrt(50), rel=0.02)
    assert means.mean() == pytest.approx(values.mean(), abs=0.005)


def test_same_generator_same_counts():
    a, b, c = (resample_counts(np.random.default_rng(seed), 9, 30) for seed in (1, 1, 2))
    assert (a == b).all() and (a != c).any()


def test_one_unit():
    assert (resample_counts(np.random.default_rng(0), 1, 5) == 1).all()


def test_percentile_interval():
    # 0 … 100: the quantile of probability p is 100·p.
    low, high = percentile_interval(np.arange(101.0), level=0.9)
    assert (low, high) == pytest.approx((5, 95))
    low, high = percentile_interval(np.arange(101.0))
    assert (low, high) == pytest.approx((2.5, 97.5))


def test_percentile_interval_along_an_axis():
    values = np.array([np.arange(101.0), np.arange(101.0) * 2])
    assert np.allclose(percentile_interval(values, axis=1), [[2.5, 5], [97.5, 195]])
    assert np.allclose(percentile_interval(values.T), [[2.5, 5], [97.5, 195]])


def test_percentile_interval_with_a_missing_value():
    low, high = percentile_interval(np.array([[1.0, 2.0], [np.nan, 3.0], [2.0, 4.0]]))
    assert np.isnan([low[0], high[0]]).all() and np.isfinite([low[1], high[1]]).all()
