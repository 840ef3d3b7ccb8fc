import gc
import weakref

import numpy as np
import pandas as pd
import pytest
from benchopt.results import read_results, save_results

from benchmark_utils.analysis.frames import (
    by_learner,
    digits,
    labels,
    memoised,
    outer_matrix,
    score_matrix,
    select,
    tidy,
)


def full_name(base, parameters):
    return f"{base}[{','.join(f'{k}={v}' for k, v in sorted(parameters.items()))}]"


def results_of(solvers=(("ridge", {"alpha": 1.0}),), datasets=(("simulated", {"noise": 1.0}),),
               settings=({"n_splits": 5},), tmp_path=None):
    """Frame as Benchopt saves it, a row per combination; read back from a file if there is a
    folder for it."""
    always = {"tuning": "default", "search": "random", "n_configs": 30, "inner_folds": 5}
    frame = pd.DataFrame([
        {
            "dataset_name": full_name(dataset, of_dataset),
            "objective_name": full_name("Score trust", setting),
            "solver_name": full_name(solver, {**always, **of_solver}),
            "idx_rep": seed, "objective_split": 0, "objective_score_test": -1.0,
            **{f"p_dataset_{k}": v for k, v in of_dataset.items()},
            "p_obj_procedure": "mccv", **{f"p_obj_{k}": v for k, v in setting.items()},
            **{f"p_solver_{k}": v for k, v in {**always, **of_solver}.items()},
        }
        for dataset, of_dataset in datasets for setting in settings
        for solver, of_solver in solvers for seed in (0, 1)
    ])
    if tmp_path is None:
        return frame
    return read_results(save_results(frame, tmp_path / "results.parquet"))


class TestLabels:
    def test_one_variant_needs_no_parameters(self):
        results = results_of()
        assert list(labels(results, "learner").values()) == ["ridge"]
        assert list(labels(results, "algorithm").values()) == ["ridge"]
        assert list(labels(results, "dataset").values()) == ["simulated"]
        assert list(labels(results, "setting").values()) == ["as configured"]

    def test_only_differing_parameters(self):
        results = results_of(
            solvers=[("forest", {"n": 10, "depth": 3}), ("forest", {"n": 20, "depth": 3}),
                     ("ridge", {"alpha": 1.0})],
            datasets=[("simulated", {"noise": 1.0, "family": "linear"}),
                      ("simulated", {"noise": 0.5, "family": "linear"})],
            settings=[{"n_splits": 5, "train_size": 100}, {"n_splits": 20, "train_size": 100}],
        )
        assert labels(results, "dataset") == {
            "simulated[family=linear,noise=1.0]": "simulated (noise=1)",
            "simulated[family=linear,noise=0.5]": "simulated (noise=0.5)",
        }
        assert list(labels(results, "setting").values()) == ["n_splits=5", "n_splits=20"]
        assert list(labels(results, "learner").values()) == [
            "forest (n=10)", "forest (n=20)", "ridge"
        ]

    def test_several_differing_parameters(self):
        results = results_of([("forest", {"n": n, "depth": d}) for n in (1, 2) for d in (3, 4)])
        assert list(labels(results, "learner").values()) == [
            "forest (n=1, depth=3)", "forest (n=1, depth=4)",
            "forest (n=2, depth=3)", "forest (n=2, depth=4)",
        ]

    def test_parameters_of_others_do_not_matter(self):
        # In a common frame, a solver has missing values for the others' parameters.
        results = results_of([("forest", {"n": 10}), ("ridge", {"alpha": 1.0})])
        assert list(labels(results, "learner").values()) == ["forest", "ridge"]

    def test_one_parameter_name_of_two_solvers(self):
        results = results_of([("ridge", {"alpha": 1.0}), ("mlp", {"alpha": 0.1})])
        assert list(labels(results, "learner").values()) == ["ridge", "mlp"]

    def test_values(self, tmp_path):
        # Beside a solver without the parameter, a file turns integers into floats and None into
        # NaN; a label still says None and 5.
        results = results_of([
            ("tree", {"max_depth": None}), ("tree", {"max_depth": 3}),
            ("forest", {"n": 5}), ("forest", {"n": 10}),
            ("ridge", {"alpha": 0.5}), ("ridge", {"alpha": 2.0}),
        ], tmp_path=tmp_path)
        assert list(labels(results, "learner").values()) == [
            "tree (max_depth=None)", "tree (max_depth=3)", "forest (n=5)", "forest (n=10)",
            "ridge (alpha=0.5)", "ridge (alpha=2)",
        ]

    def test_values_that_differ_late(self, tmp_path):
        results = results_of([
            *(("ridge", {"alpha": alpha}) for alpha in (0.1, 0.1000001, 1e-12, 2e-12)),
            *(("forest", {"n": n}) for n in (1234567, 1234568)),
        ], tmp_path=tmp_path)
        assert list(labels(results, "learner").values()) == [
            "ridge (alpha=0.1)", "ridge (alpha=0.1000001)", "ridge (alpha=1e-12)",
            "ridge (alpha=2e-12)", "forest (n=1234567)", "forest (n=1234568)",
        ]

    def test_algorithm_leaves_out_tuning_and_budget(self):
        results = results_of([
            ("ridge", {"tuning": rule, "n_configs": n}) for rule in ("val", "test") for n in (3, 9)
        ])
        assert set(labels(results, "algorithm").values()) == {"ridge"}
        assert list(labels(results, "learner").values()) == [
            "ridge (tuning=val, n_configs=3)", "ridge (tuning=val, n_configs=9)",
            "ridge (tuning=test, n_configs=3)", "ridge (tuning=test, n_configs=9)",
        ]

    def test_different_learners_have_different_labels(self):
        results = results_of([("ridge", {"tuning": "nested", "inner_folds": n}) for n in (3, 5)])
        assert len(set(labels(results, "learner").values())) == 2

    def test_brackets_in_a_value(self):
        results = results_of([("net", {"layers": [10, 10]}), ("net", {"layers": [20]})])
        assert list(labels(results, "learner").values()) == [
            "net (layers=[10, 10])", "net (layers=[20])"
        ]

    def test_order_of_appearance(self):
        results = results_of([("b", {}), ("a", {}), ("c", {})])
        assert list(labels(results, "learner").values()) == ["b", "a", "c"]


class TestTidy:
    def test_columns(self):
        rows = tidy(results_of([("b", {}), ("a", {})]))
        assert {"split", "score_test", "dataset", "setting", "learner", "algorithm", "tuning",
                "search", "n_configs", "seed"} <= set(rows.columns)
        assert not any(name.startswith(("objective", "p_")) for name in rows.columns)
        assert rows["learner"].cat.categories.tolist() == ["b", "a"]
        assert rows["seed"].tolist() == [0, 1, 0, 1]

    def test_real_results(self, result_file):
        results = read_results(result_file)
        rows = tidy(results)
        assert len(rows) == len(results) == 2 * 3 * 4 * (3 + 5)
        assert rows["dataset"].cat.categories.tolist() == [
            "simulated (family=linear)", "simulated (family=classification)"
        ]
        assert rows["setting"].cat.categories.tolist() == ["n_splits=3", "n_splits=5"]
        assert rows["learner"].cat.categories.tolist() == [
            "ridge", "decision_tree (max_depth=None)", "decision_tree (max_depth=3)"
        ]
        counts = rows.groupby(["dataset", "setting", "learner"], observed=True).size()
        assert counts.unique().tolist() == [12, 20]

    def test_the_last_of_rows_that_are_there_twice(self):
        results = results_of([("b", {}), ("a", {})])
        again = results.iloc[[2, 3]].assign(objective_score_test=-2.0)
        rows = tidy(pd.concat([results, again], ignore_index=True))
        assert rows[["learner", "seed", "score_test"]].values.tolist() == [
            ["b", 0, -1], ["b", 1, -1], ["a", 0, -2], ["a", 1, -2]
        ]

    def test_base_seeds_have_seeds_of_their_own(self):
        first = results_of([("b", {}), ("a", {})]).assign(base_seed=0)
        both = pd.concat([first, first.assign(base_seed=1)], ignore_index=True)
        assert tidy(first)["seed"].tolist() == [0, 1, 0, 1]
        assert tidy(both)["seed"].tolist() == [0, 1, 0, 1, 2, 3, 2, 3]

    def test_results_are_left_alone(self, result_file):
        results = read_results(result_file)
        before = results.copy()
        tidy(results)
        pd.testing.assert_frame_equal(results, before)


def test_select_and_by_learner():
    rows = tidy(results_of(
        [("b", {}), ("a", {})], [("one", {}), ("two", {})], [{"n_splits": 5}, {"n_splits": 9}]
    ))
    chosen = select(rows, dataset="two", setting="n_splits=9")
    assert len(chosen) == 4 and set(chosen["dataset"]) == {"two"}
    assert [(name, len(part)) for name, part in by_learner(chosen)] == [("b", 2), ("a", 2)]
    assert list(by_learner(select(rows, dataset="three"))) == []
    assert [name for name, _ in by_learner(select(rows, learner="a"))] == ["a"]


def learner_rows(shuffled):
    """Three seeds with two splits; seed 5 failed on its first split, seed 9 on both."""
    rows = pd.DataFrame({
        "seed": [2, 2, 5, 5, 9, 9], "split": [0, 1, 0, 1, 0, 1],
        "score_test": [0.20, 0.21, np.nan, 0.51, np.nan, np.nan],
        "outer_deltas": [[1.0, 2.0, 3.0], None, None, [4.0, 5.0, 6.0], None, None],
    })
    return rows.iloc[[5, 1, 0, 3, 4, 2]] if shuffled else rows


@pytest.mark.parametrize("shuffled", [False, True])
class TestMatrices:
    def test_scores(self, shuffled):
        expected = [[0.20, 0.21], [np.nan, 0.51], [np.nan, np.nan]]
        assert np.array_equal(
            score_matrix(learner_rows(shuffled), "score_test"), expected, equal_nan=True
        )

    def test_outer_deltas_have_the_same_order(self, shuffled):
        expected = [[1, 2, 3], [4, 5, 6], [np.nan] * 3]
        assert np.array_equal(outer_matrix(learner_rows(shuffled)), expected, equal_nan=True)

    def test_without_outer_set(self, shuffled):
        rows = learner_rows(shuffled).assign(outer_deltas=None)
        assert outer_matrix(rows).shape == (3, 0)

    def test_outer_sets_of_different_length(self, shuffled):
        rows = learner_rows(shuffled)
        rows.at[3, "outer_deltas"] = [4.0, 5.0]
        expected = [[1, 2], [4, 5], [np.nan] * 2]
        assert np.array_equal(outer_matrix(rows), expected, equal_nan=True)

    def test_array_instead_of_a_list(self, shuffled):
        rows = learner_rows(shuffled)
        rows["outer_deltas"] = [
            np.array(d) if isinstance(d, list) else d for d in rows["outer_deltas"]
        ]
        assert outer_matrix(rows)[1].tolist() == [4, 5, 6]


class TestMemoised:
    class Answer:
        pass

    def test_computed_once_per_frame_and_arguments(self):
        calls = []

        @memoised
        def function(frame, *args):
            calls.append(args)
            return len(frame), args

        one, two = pd.DataFrame({"a": [1]}), pd.DataFrame({"a": [1, 2]})
        assert [function(one, "x"), function(one, "x"), function(one, "y")] == [
            (1, ("x",)), (1, ("x",)), (1, ("y",))
        ]
        assert function(two, "x") == (2, ("x",)) and function(one, "x") == (1, ("x",))
        assert calls == [("x",), ("y",), ("x",)]

    def test_forgets_dead_frames(self):
        function = memoised(lambda frame: self.Answer())
        frame = pd.DataFrame({"a": [1]})
        answer = weakref.ref(function(frame))
        gc.collect()
        assert answer() is not None
        del frame
        gc.collect()
        assert answer() is None

    def test_a_new_frame_at_the_place_of_a_dead_one(self):
        function = memoised(lambda frame: frame["a"].iloc[0])
        for i in range(200):
            assert function(pd.DataFrame({"a": [i]})) == i


@pytest.mark.parametrize("value, n, text", [
    (-3972.4, 3, "-3972"), (999.7, 3, "1000"), (99.96, 3, "100"), (0.012345, 3, "0.0123"),
    (12345.6, 4, "12346"), (2.5e7, 4, "2.5e+07"), (np.nan, 3, "nan"), (-np.inf, 3, "-inf"),
])
def test_digits(value, n, text):
    assert digits(value, n) == text
