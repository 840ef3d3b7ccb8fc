import json
import re
import warnings

import numpy as np
import pytest
from scipy.stats import beta, kstest, loguniform, norm, poisson, randint, uniform

from benchmark_utils.errors import InputError
from benchmark_utils.search import (
    Rounded,
    ZeroOr,
    best_so_far,
    checked_space,
    grid_configurations,
    position_in_range,
    random_configurations,
    tpe_search,
)

SPACE = {
    "rate": loguniform(1e-4, 1e-1),
    "share": uniform(0.5, 0.5),
    "depth": randint(1, 7),
    "kernel": ["linear", "rbf", None],
}
SVM = {"C": loguniform(0.1, 1000), "gamma": loguniform(1e-3, 3.2)}


def in_range(config):
    return (
        1e-4 <= config["rate"] <= 1e-1 and 0.5 <= config["share"] <= 1
        and config["depth"] in range(1, 7) and config["kernel"] in SPACE["kernel"]
    )


class TestCheckedSpace:
    @pytest.mark.parametrize("values", [
        [1, 2, 4], (1, 2, 4), range(1, 4), np.array([1, 2, 4]), list(np.array([1, 2, 4])),
        np.logspace(-2, 0, 3), [None, "auto", True], [(50,), (100, 50)],
        np.array([[50, 5], [2, 1]]),
    ])
    def test_values_of_all_kinds_go_through_every_search(self, values):
        space = checked_space({"x": values}, {"x": None})
        assert isinstance(space["x"], list) and len(space["x"]) == len(values)
        assert space["x"] == json.loads(json.dumps(space["x"])) or isinstance(values[0], tuple)
        drawn = random_configurations(space, 20, 0)
        cells = grid_configurations(space, 20, {"x": None})
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            tried = tpe_search(space, drawn, 0, lambda i, config: 0.1 * i)
        for configs in (drawn, cells, tried):
            assert all(config["x"] in space["x"] for config in configs)
            json.dumps(configs)
        assert len(cells) == len(values)

    def test_distributions_stay(self):
        space = checked_space(SPACE, dict.fromkeys(SPACE))
        assert list(space) == list(SPACE) and space["rate"] is SPACE["rate"]

    @pytest.mark.parametrize("values, says", [
        ([], "x of the search space has no values"),
        ([object], "x of the search space holds <class 'object'>: list numbers"),
        (3, "x of the search space is neither a list nor a frozen scipy.stats distribution"),
        ("auto", "neither a list"),
    ])
    def test_other_things(self, values, says):
        with pytest.raises(InputError, match=re.escape(says)):
            checked_space({"x": values}, {"x": 0})

    def test_without_default(self):
        with pytest.raises(InputError, match="x of the search space has no default"):
            checked_space({"x": [1]}, {"y": 0})


class TestRandom:
    def test_the_first_do_not_depend_on_how_many_follow(self):
        assert random_configurations(SPACE, 30, 5)[:10] == random_configurations(SPACE, 10, 5)

    def test_they_depend_on_the_seed_and_differ_among_themselves(self):
        rates = [
            config["rate"] for seed in range(10)
            for config in random_configurations(SPACE, 20, seed)
        ]
        assert len(set(rates)) == 200

    def test_the_order_of_the_space_does_not_matter(self):
        backwards = dict(reversed(SPACE.items()))
        assert random_configurations(backwards, 10, 5) == random_configurations(SPACE, 10, 5)

    def test_they_lie_in_their_ranges_and_reach_all_of_them(self):
        configs = random_configurations(SPACE, 300, 1)
        assert all(map(in_range, configs))
        assert {c["depth"] for c in configs} == set(range(1, 7))
        assert {c["kernel"] for c in configs} == set(SPACE["kernel"])
        # Log-uniform over three decades: each decade has a third, with a sd of 8 draws.
        decades = np.floor(np.log10([c["rate"] for c in configs]))
        assert [abs((decades == d).sum() - 100) < 40 for d in (-4, -3, -2)] == [True] * 3

    def test_values_are_plain_python(self):
        # Keys of stored fits, and JSON, are made of them.
        space = SPACE | {"units": [np.int64(3)]}
        for config in random_configurations(space, 5, 0):
            assert type(config["rate"]) is type(config["share"]) is float
            assert type(config["depth"]) is type(config["units"]) is int

    def test_a_space_of_lists_only(self):
        # Independent draws with replacement: more than there are cells, and still nested.
        configs = random_configurations({"a": [1, 2], "b": ["x"]}, 20, 0)
        assert {c["a"] for c in configs} == {1, 2}
        assert configs[:3] == random_configurations({"a": [1, 2], "b": ["x"]}, 3, 0)


class TestGrid:
    @pytest.mark.parametrize("n_configs, n_levels", [(4, 2), (16, 4), (64, 8)])
    def test_log_spaced_levels_with_both_ends(self, n_configs, n_levels):
        grid = grid_configurations(SVM, n_configs, {"C": 1.0, "gamma": 0.1})
        assert len(grid) == n_configs
        C, gamma = sorted({c["C"] for c in grid}), sorted({c["gamma"] for c in grid})
        assert {(c["C"], c["gamma"]) for c in grid} == {(a, b) for a in C for b in gamma}
        assert (C[0], C[-1], gamma[0], gamma[-1]) == (0.1, 1000, 1e-3, 3.2)
        # C: four decades; gamma: a factor of 3200.
        np.testing.assert_allclose(C, 10 ** np.linspace(-1, 3, n_levels), rtol=1e-9)
        steps = np.arange(n_levels) / (n_levels - 1)
        np.testing.assert_allclose(gamma, 1e-3 * 3200**steps, rtol=1e-9)

    def test_one_cell_is_the_default(self):
        default = {"C": 1.0, "gamma": "scale", "other": 3}
        assert grid_configurations(SVM, 1, default) == [default]
        # Too few for two levels of each: the default once more, not a part of a grid.
        (cell,) = grid_configurations(SVM, 3, default)
        assert default | cell == default

    @pytest.mark.parametrize("n_configs, size", [(8, 4), (9, 9), (30, 25), (35, 25), (36, 36)])
    def test_the_largest_square_grid_within_the_budget(self, n_configs, size):
        assert len(grid_configurations(SVM, n_configs, {"C": 1.0, "gamma": 0.1})) == size

    def test_lists_give_all_their_values(self):
        space = {"kernel": ["linear", "rbf", None], "C": loguniform(0.1, 1000)}
        # 3 values × the largest number of levels with 3·n ≤ 8: two
        grid = grid_configurations(space, 8, {"kernel": "rbf", "C": 1.0})
        assert {(c["kernel"], c["C"]) for c in grid} == {
            (kernel, C) for kernel in ("linear", "rbf", None) for C in (0.1, 1000)
        }
        # 3·2 > 5: C keeps its default.
        grid = grid_configurations(space, 5, {"kernel": "rbf", "C": 1.0})
        assert [(c["kernel"], c["C"]) for c in grid] == [
            ("linear", 1.0), ("rbf", 1.0), (None, 1.0)
        ]
        assert len(grid_configurations({"a": [1, 2], "b": [3, 4]}, 9, {"a": 1, "b": 3})) == 4

    def test_lists_that_make_too_many_cells(self):
        with pytest.raises(InputError, match="grid of 6 cells: raise n_configs=5"):
            grid_configurations({"a": [1, 2, 3], "b": [1, 2]}, 5, {"a": 1, "b": 1})

    @pytest.mark.parametrize("n_configs, levels", [
        (2, [1, 30]),
        # quantiles 0, ½ and 1 of 1 … 30
        (3, [1, 15, 30]),
        (30, list(range(1, 31))),
        (100, list(range(1, 31))),
    ])
    def test_integers_without_duplicates(self, n_configs, levels):
        grid = grid_configurations({"k": randint(1, 31)}, n_configs, {"k": 5})
        values = [c["k"] for c in grid]
        assert values == levels
        assert {type(k) for k in values} == {int}

    def test_values_are_plain_python_floats(self):
        grid = grid_configurations({"a": uniform(0.5, 0.5)}, 3, {"a": 1.0})
        assert [c["a"] for c in grid] == [0.5, 0.75, 1.0]
        assert all(type(c["a"]) is float for c in grid)

    def test_a_range_without_end(self):
        with pytest.raises(InputError, match="weight has no finite range"):
            grid_configurations({"weight": norm(0, 1)}, 4, {"weight": 0.0})


class TestAdaptive:
    N = 25

    def search(self, score, seed=3, n=N):
        """Configurations tried, and the indices that were evaluated, in order."""
        drawn, evaluated = random_configurations(SPACE, n, 8), []

        def evaluate(i, config):
            evaluated.append(i)
            return score(config)

        tried = tpe_search(SPACE, drawn, seed, evaluate)
        assert evaluated == list(range(n))
        return tried, drawn

    def test_the_first_ten_are_the_random_ones(self):
        tried, drawn = self.search(lambda config: config["share"])
        assert tried[:10] == drawn[:10]
        assert len(tried) == self.N
        assert tried[10:] != drawn[10:]

    def test_a_short_search_is_a_random_one(self):
        tried, drawn = self.search(lambda config: config["share"], n=4)
        assert tried == drawn

    def test_the_same_scores_lead_the_same_way(self):
        first, _ = self.search(lambda config: config["share"])
        again, _ = self.search(lambda config: config["share"])
        assert first == again

    def test_what_guides_it_decides_where_it_goes(self):
        up, _ = self.search(lambda config: config["share"])
        down, _ = self.search(lambda config: -config["share"])
        assert up[:10] == down[:10]
        assert up[10:] != down[10:]
        # It learns: after the start, it stays on the side that scored higher.
        assert np.mean([c["share"] for c in up[10:]]) > 0.75
        assert np.mean([c["share"] for c in down[10:]]) < 0.75

    def test_configurations_are_plain_and_in_range(self):
        tried, _ = self.search(lambda config: config["depth"])
        assert all(map(in_range, tried))
        assert {type(c["rate"]) for c in tried} == {type(c["share"]) for c in tried} == {float}
        assert {type(c["depth"]) for c in tried} == {int}

    @pytest.mark.parametrize("failure", [np.nan, np.inf, -np.inf])
    def test_failed_fits_do_not_stop_it(self, failure):
        tried, drawn = self.search(
            lambda config: failure if config["depth"] > 3 else config["share"]
        )
        assert len(tried) == self.N and tried[:10] == drawn[:10]

    def test_all_fits_failing(self):
        tried, _ = self.search(lambda config: np.nan)
        assert len(tried) == self.N and all(map(in_range, tried))

    @pytest.mark.parametrize("distribution", [
        norm(3, 2), beta(2, 5), poisson(4), ZeroOr(0.3, loguniform(1e-5, 1e-2)),
        Rounded(loguniform(75_000, 141_000)),
    ])
    def test_other_distributions_are_searched_by_quantiles(self, distribution):
        space = {"weight": distribution}
        drawn = random_configurations(space, 25, 1)

        def evaluate(i, config):
            assert type(config["weight"]) in (int, float)
            return position_in_range(config["weight"], distribution)

        tried = tpe_search(space, drawn, 0, evaluate)
        assert tried[:10] == drawn[:10]
        low, high = distribution.support()
        assert all(low <= config["weight"] <= high for config in tried)
        # It learns to go up.
        later = [position_in_range(config["weight"], distribution) for config in tried[10:]]
        assert np.mean(later) > 0.7


class TestRounded:
    DISTRIBUTION = Rounded(loguniform(2, 9))

    def test_draws(self):
        drawn = [c["n"] for c in random_configurations({"n": self.DISTRIBUTION}, 2000, 0)]
        assert {type(n) for n in drawn} == {int} and set(drawn) == set(range(2, 10))
        # From 2.5 to 3.5 are log(3.5 / 2.5) / log(9 / 2) = 22.4 %, and 0.9 % standard deviation.
        assert abs(np.mean(np.array(drawn) == 3) - np.log(3.5 / 2.5) / np.log(4.5)) < 0.04

    def test_probabilities_of_integers(self):
        n = np.arange(2, 10)
        assert self.DISTRIBUTION.pmf(n).sum() == pytest.approx(1)
        assert self.DISTRIBUTION.pmf(3) == pytest.approx(np.log(3.5 / 2.5) / np.log(4.5))
        np.testing.assert_allclose(self.DISTRIBUTION.cdf(n), self.DISTRIBUTION.pmf(n).cumsum())
        middles = self.DISTRIBUTION.cdf(n) - self.DISTRIBUTION.pmf(n) / 2
        assert self.DISTRIBUTION.ppf(middles).tolist() == n.tolist()
        assert position_in_range(3, self.DISTRIBUTION) == pytest.approx(middles[1])

    def test_grid(self):
        grid = grid_configurations({"n": self.DISTRIBUTION}, 3, {"n": 5})
        assert grid == [{"n": 2}, {"n": 4}, {"n": 9}]


class TestZeroOr:
    DISTRIBUTION = ZeroOr(0.3, loguniform(1e-5, 1e-2))

    def test_draws(self):
        values = np.array([
            c["decay"] for c in random_configurations({"decay": self.DISTRIBUTION}, 1000, 0)
        ])
        # 300 zeros expected, with a standard deviation of 14.
        assert abs((values == 0).sum() - 300) < 60
        positive = values[values > 0]
        assert positive.min() >= 1e-5 and positive.max() <= 1e-2
        assert kstest(np.log10(positive), uniform(-5, 3).cdf).pvalue > 1e-3

    def test_quantiles_invert_probabilities(self):
        q = np.linspace(0.31, 1, 50)
        np.testing.assert_allclose(self.DISTRIBUTION.cdf(self.DISTRIBUTION.ppf(q)), q)
        assert (self.DISTRIBUTION.ppf([0, 0.1, 0.3]) == 0).all()
        assert self.DISTRIBUTION.cdf(-1e-9) == 0 and self.DISTRIBUTION.cdf(0) == 0.3
        assert self.DISTRIBUTION.ppf(1) == pytest.approx(1e-2)
        assert self.DISTRIBUTION.support() == (0, pytest.approx(1e-2))

    def test_position_of_zero_is_the_middle_of_its_share(self):
        assert position_in_range(0.0, self.DISTRIBUTION) == pytest.approx(0.15)
        # Half-way through the decades: 0.3 + 0.7 / 2.
        assert position_in_range(10**-3.5, self.DISTRIBUTION) == pytest.approx(0.65)

    def test_grid(self):
        grid = grid_configurations({"decay": self.DISTRIBUTION}, 3, {"decay": 0.1})
        # Quantiles 0, 1/2 and 1: zero, 10^(−5 + 3 · 2/7), and the upper end.
        assert [c["decay"] for c in grid] == pytest.approx([0, 10 ** (-5 + 6 / 7), 1e-2])


class TestBestSoFar:
    NAN = float("nan")

    @pytest.mark.parametrize("scores, index, ties", [
        ([0.3], [0], [0]),
        ([0.3, 0.5, 0.4], [0, 1, 1], [0, 0, 0]),
        # The earliest of equals stays, and the others are counted …
        ([0.5, 0.5, 0.4, 0.5], [0, 0, 0, 0], [0, 1, 1, 2]),
        # … until a better one comes.
        ([0.5, 0.5, 0.7, 0.5, 0.7], [0, 0, 2, 2, 2], [0, 1, 0, 0, 1]),
        # NaN never wins, wherever it is.
        ([NAN, 0.2, NAN, 0.3], [-1, 1, 1, 3], [0, 0, 0, 0]),
        ([0.2, NAN, 0.2], [0, 0, 0], [0, 0, 1]),
        # Nearly equal is better or worse.
        ([0.5, 0.5001, 0.5], [0, 1, 1], [0, 0, 0]),
        ([NAN, NAN], [-1, -1], [0, 0]),
        # Negative scores, such as minus the squared error.
        ([-3.0, -1.0, -2.0], [0, 1, 1], [0, 0, 0]),
        ([], [], []),
    ])
    def test_by_hand(self, scores, index, ties):
        best, n_ties = best_so_far(np.array(scores, float))
        assert best.tolist() == index
        assert n_ties.tolist() == ties

    def test_agrees_with_the_plain_definition(self):
        rng = np.random.default_rng(0)
        for _ in range(50):
            # Few distinct values, so that ties abound.
            scores = rng.integers(0, 4, 12) / 4
            scores[rng.random(12) < 0.3] = np.nan
            best, ties = best_so_far(scores)
            for t in range(12):
                so_far = scores[:t + 1]
                if np.isnan(so_far).all():
                    assert (best[t], ties[t]) == (-1, 0)
                else:
                    assert best[t] == np.nanargmax(so_far)
                    assert ties[t] == (so_far == np.nanmax(so_far)).sum() - 1


@pytest.mark.parametrize("value, values, position", [
    # Half-way through the decades from 0.1 to 1000.
    (10.0, loguniform(0.1, 1000), 0.5),
    (0.1, loguniform(0.1, 1000), 0),
    (1000, loguniform(0.1, 1000), 1),
    (0.6, uniform(0.5, 0.5), 0.2),
    # A default may lie outside the range.
    (0.0, loguniform(1e-5, 0.1), 0),
    (5.0, uniform(0, 1), 1),
    # 1 … 4, each with a quarter, its own counting half.
    (1, randint(1, 5), 0.125),
    (4, randint(1, 5), 0.875),
    (None, [None, 2, 3, 4], 0.125),
    ("b", ["a", "b", "c"], 0.5),
])
def test_position_in_range(value, values, position):
    assert position_in_range(value, values) == pytest.approx(position, abs=1e-12)


@pytest.mark.parametrize("value, values", [
    ("scale", loguniform(1e-3, 3.2)), (5, [None, 2, 3]), ("x", randint(1, 5)),
])
def test_a_default_that_is_not_of_the_range_has_no_position(value, values):
    # As JSON, it must be neither an error nor NaN.
    assert position_in_range(value, values) is None


def test_every_solver_can_be_searched_in_all_three_ways(benchmark):
    for Solver in benchmark.get_solvers():
        solver = Solver.get_instance()
        space, default = solver.search_space, solver.config
        assert space and set(space) <= set(default), solver.name
        random = random_configurations(space, 12, 0)
        adaptive = tpe_search(space, random, 0, lambda i, config: float(i))
        grid = grid_configurations(space, 50, default)
        assert len(random) == len(adaptive) == 12 and 4 <= len(grid) <= 50, solver.name
        for config in [*random, *adaptive, *grid]:
            assert set(config) == set(space)
            for name, value in config.items():
                assert 0 <= position_in_range(value, space[name]) <= 1, (solver.name, name, value)
