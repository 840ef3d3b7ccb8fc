from dataclasses import asdict

import numpy as np
import pytest
from scipy import stats

from benchmark_utils.analysis.optimism import optimism, search_benefit


def test_optimism_hand_computed():
    # repetition  0    1    2    3
    # reported    0.7  0.8  0.9  –
    # true        0.6  0.6  0.6  0.5
    # difference  0.1  0.2  0.3       mean 0.2, sd 0.1
    result = optimism([0.7, 0.8, 0.9, np.nan], [0.6, 0.6, 0.6, 0.5])
    assert asdict(result) == pytest.approx({
        "n_repetitions": 3, "n_failed": 1, "mean_reported": 0.8, "mean_true": 0.6,
        "optimism": 0.2, "optimism_se": 0.1 / 3**0.5})


def test_search_benefit_hand_computed():
    # repetition         0    1    2    3
    # chosen             0.6  0.7  –    0.8
    # default            0.5  0.8  0.5  0.5
    # best               0.7  0.7  0.9  1.1
    # chosen − default   0.1 −0.1       0.3   mean 0.1, sd 0.2
    # chosen − best     −0.1  0.0      −0.3   mean −0.4/3, sd² = (0.1² + 0.4² + 0.5²)/9/2 = 0.42/18
    result = search_benefit([0.6, 0.7, np.nan, 0.8], [0.5, 0.8, 0.5, 0.5], [0.7, 0.7, 0.9, 1.1])
    assert asdict(result) == pytest.approx({
        "n_repetitions": 3, "n_failed": 1,
        "over_default": 0.1, "over_default_se": 0.2 / 3**0.5,
        "over_best": -0.4 / 3, "over_best_se": (0.42 / 18 / 3) ** 0.5})


def test_standard_error_equals_scipy():
    reported, true = np.random.default_rng(0).normal(size=(2, 20))
    assert optimism(reported, true).optimism_se == pytest.approx(stats.sem(reported - true))


def test_best_of_null_scores():
    # Every configuration is truly at ½ and its score has noise N(0, 1): the best of two is
    # optimistic by E max = 1/√π.
    scores = 0.5 + np.random.default_rng(0).normal(size=(20_000, 2))
    result = optimism(scores.max(axis=1), np.full(20_000, 0.5))
    assert abs(result.optimism - np.pi**-0.5) < 4 * result.optimism_se


def test_one_configuration_buys_nothing():
    score = np.random.default_rng(0).random(10)
    result = search_benefit(score, score, score)
    assert (result.over_default, result.over_best) == (0, 0)
    assert (result.over_default_se, result.over_best_se) == (0, 0)


def test_order_of_repetitions_does_not_matter():
    draw = np.random.default_rng(0)
    chosen, default, reported = draw.random((3, 12))
    best, order = chosen + draw.random(12), draw.permutation(12)
    assert asdict(search_benefit(chosen[order], default[order], best[order])) == pytest.approx(
        asdict(search_benefit(chosen, default, best)))
    assert asdict(optimism(reported[order], chosen[order])) == pytest.approx(
        asdict(optimism(reported, chosen)))


@pytest.mark.filterwarnings("error")
def test_few_repetitions():
    one = optimism([0.7], [0.5])
    assert one.optimism == pytest.approx(0.2)
    assert np.isnan(one.optimism_se)
    none = search_benefit([np.nan], [1], [2])
    assert (none.n_repetitions, none.n_failed) == (0, 1)
    assert np.isnan([none.over_default, none.over_default_se, none.over_best]).all()


def test_impossible_input():
    with pytest.raises(ValueError, match="^repetition 1: .* 0.8 exceeds .* 0.7"):
        search_benefit([0.5, 0.8], [0.5, 0.5], [0.5, 0.7])
    with pytest.raises(ValueError, match="one length"):
        optimism([1, 2], [1])
    with pytest.raises(ValueError, match="one length"):
        optimism([[1, 2]], [[1, 2]])
