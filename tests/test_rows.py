import numpy as np
import pandas as pd
import pytest

from benchmark_utils.population import GeneratedPopulation, PoolPopulation
from benchmark_utils.redundancy import Redundancy
from benchmark_utils.scoring import SECONDARY
from benchmark_utils.solver import SplitSolver


class First(SplitSolver):
    """Predicts the first feature, whatever it was trained on."""
    name = "first"

    def fit(self, train, val, config, seed):
        def predict(X):
            first = X.iloc[:, 0].to_numpy() if hasattr(X, "iloc") else X[:, 0]
            return first.astype(int) if self.task == "classification" else first.astype(float)

        return predict


def draw(rng, n):
    X = rng.normal(size=(n, 2))
    return X, X[:, 0] + rng.normal(size=n)


GENERATED = GeneratedPopulation(draw, "regression", 200, 100, "made up")
SIZES = dict(train_size=40, n_splits=6)


def pool(X, y, n_bench=0, task="classification"):
    classes = [*range(max(y) + 1)] if task == "classification" else None
    return PoolPopulation(X, np.asarray(y), task, n_bench, "a pool", classes)


class Identity(First):
    """Like First; the score of a split tells which examples it was tested on."""
    name = "identity"
    parameters = {**SplitSolver.parameters, "p": [1]}
    search_space = {"p": [1, 2]}


class TestSplitsOfNested:
    def scores_of_splits(self, solve, rule, n_splits=6, procedure="mccv", **options):
        solver = Identity.get_instance(tuning=rule, n_configs=2)
        rows = solve(GENERATED, solver, train_size=40, n_splits=n_splits, procedure=procedure,
                     val_size=0.2, **options)
        scores = rows[(rows["budget"] == 2) & (rows["split"] >= 0)]["score_test"].tolist()
        assert len(scores) == n_splits
        return scores

    @pytest.mark.parametrize("procedure", ["mccv", "repeated_kfold", "bootstrap"])
    def test_are_those_of_the_other_rules_or_its_own(self, solve, procedure):
        same, fresh = (
            self.scores_of_splits(solve, "nested", procedure=procedure, nested_splits=which)
            for which in ("same", "fresh")
        )
        for which in ("same", "fresh"):
            of_cv = self.scores_of_splits(solve, "cv", procedure=procedure, nested_splits=which)
            assert of_cv == same
        assert not set(fresh) & set(same)
        fewer = self.scores_of_splits(solve, "nested", 4, procedure, nested_splits="fresh")
        assert fewer == fresh[:4]

    def test_fresh_folds_are_folds_too(self, solve):
        fresh = self.scores_of_splits(solve, "nested", 5, "repeated_kfold", nested_splits="fresh")
        same = self.scores_of_splits(solve, "cv", 5, "repeated_kfold")
        # Each example is tested once: the mean squared errors have the same mean.
        assert np.mean(fresh) == pytest.approx(np.mean(same)) and set(fresh) != set(same)


class TestColumns:
    def test_regression(self, solve):
        rows = solve(GENERATED, First.get_instance(), **SIZES)
        assert (rows["task"] == "regression").all() and (rows["data"] == "made up").all()
        for name in ("score", *SECONDARY["regression"]):
            assert rows[[f"{name}_test", f"{name}_bench"]].notna().all(axis=None)
        for name in SECONDARY["regression"]:
            difference = rows[f"{name}_test"] - rows[f"{name}_bench"]
            assert rows[f"{name}_delta"].tolist() == difference.tolist()
        assert not any("log_loss" in name for name in rows.columns)

    def test_classification_without_probabilities(self, solve):
        X = np.random.default_rng(0).integers(2, size=(120, 2))
        rows = solve(pool(X, [0, 1] * 60, n_bench=50), First.get_instance(), **SIZES)
        assert (rows["task"] == "classification").all() and (rows["data"] == "a pool").all()
        assert rows[["score_test", "score_bench", "delta"]].notna().all(axis=None)
        for name in SECONDARY["classification"]:
            assert rows[[f"{name}_test", f"{name}_bench", f"{name}_delta"]].isna().all(axis=None)
        assert not any(name.startswith("r2") for name in rows.columns)

    def test_without_benchmarking_set(self, solve):
        X = np.random.default_rng(0).integers(2, size=(120, 2))
        rows = solve(pool(X, [0, 1] * 60), First.get_instance(), **SIZES)
        assert (rows["n_bench"] == 0).all() and rows["score_test"].notna().all()
        assert rows[["score_bench", "delta"]].isna().all(axis=None)
        assert rows["outer_deltas"].isna().all()
        assert rows["redundancy"].notna().any()

    def test_no_column_is_called_name(self, solve):
        # Benchopt refuses it.
        assert "name" not in solve(GENERATED, First.get_instance(), **SIZES)


class TestDelta:
    def test_truth_is_the_benchmarking_set(self, solve):
        solver = First.get_instance()
        rows = solve(GENERATED, solver, **SIZES)
        bench = solver.score.sets.bench
        truth = -((bench.y - bench.X[:, 0]) ** 2).mean()
        assert rows["score_bench"].tolist() == pytest.approx(6 * [truth])
        for k, split in enumerate(solver.splits):
            test = solver.study[split.test]
            expected = -((test.y - test.X[:, 0]) ** 2).mean() - truth
            assert rows["delta"][k] == pytest.approx(expected)

    def test_outer_deltas(self, solve):
        solver = First.get_instance()
        rows = solve(GENERATED, solver, **SIZES)
        outer = solver.score.sets.outer
        squares = (outer.y - outer.X[:, 0]) ** 2
        # The study set takes 50 of the pool's 200; 150 are 15 chunks of n_test = 10.
        expected = -squares.reshape(15, 10).mean(axis=1) - rows["score_bench"][0]
        assert rows["outer_deltas"][0] == pytest.approx(expected)

    @pytest.mark.parametrize("parameters, is_proportional", [
        (dict(), True), (dict(procedure="repeated_kfold"), True),
        (dict(stratify=False), False), (dict(procedure="bootstrap"), False),
    ], ids=str)
    @pytest.mark.parametrize("kind", ["pool", "generated"])
    def test_outer_chunks_are_as_stratified_as_test_sets(
        self, solve, kind, parameters, is_proportional
    ):
        # Always class 0: the accuracy is its share, 0.7 in all and in each set of 10.
        y = np.repeat([0, 1], [840, 360])
        population = pool(np.zeros((1200, 1)), y, n_bench=200) if kind == "pool" else (
            GeneratedPopulation(
                lambda rng, n: (np.zeros((n, 1)), rng.permutation(y)),
                "classification", 1000, 200, "made up", [0, 1],
            )
        )
        rows = solve(population, First.get_instance(), **SIZES | parameters)
        outer = np.ravel(rows["outer_deltas"][0])
        assert len(outer) > 50
        # Shares of a random set of 10 have a standard deviation of 0.145.
        assert (outer.std() < 0.05) == is_proportional


class TestRedundancy:
    def test_from_the_losses_of_the_study_examples(self, solve):
        solver = First.get_instance()
        rows = solve(GENERATED, solver, **SIZES)
        # Test sets hold 10 of 50 examples.
        running, expected = Redundancy(6, 50, 0.2, n_losses=3), []
        for split in solver.splits:
            test = solver.study[split.test]
            error = test.y - test.X[:, 0]
            squared, absolute, _ = running.add(
                split.test, [error**2, np.abs(error), test.X[:, 0]]
            )
            expected.append([squared, absolute, running.product(prediction=2, loss=0)])
        names = ["redundancy", "neg_mean_absolute_error_redundancy", "redundancy_product"]
        assert np.isfinite(expected[-1]).all() and "r2_redundancy" not in rows
        np.testing.assert_allclose(rows[names], expected, rtol=1e-4)

    def test_of_groups_of_unequal_size(self, solve):
        # One group holds half of the examples. The predictor is always the same, so ρ_e = 1.
        X = np.random.default_rng(0).normal(size=(80, 2))
        population = PoolPopulation(X, X[:, 1], "regression", 0, "grouped",
                                    groups=np.maximum(np.arange(80) - 40, 0))
        rows = solve(population, First.get_instance(), train_size="max", n_splits=30)
        assert rows["n_test"].nunique() > 1
        expected = rows["n_test"].expanding().mean() / 80
        np.testing.assert_allclose(rows["redundancy"][1:], expected[1:], rtol=1e-5)

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_of_classes(self, solve, component, n_classes):
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((200, 3)), rng.integers(0, n_classes, 200)
        population = PoolPopulation(X, y, "classification", 100, "drawn",
                                    classes=list(range(n_classes)))
        tree = component("solver", "decision_tree", min_samples_leaf=5)
        last = solve(population, tree, **SIZES).iloc[-1]
        for name in ("redundancy", "neg_log_loss_redundancy", "neg_brier_score_redundancy"):
            assert abs(last[name]) <= 0.2
        # One number stands for a prediction where there are two classes.
        assert np.isfinite(last["redundancy_product"]) == (n_classes == 2)

    def test_stopping_leaves_out_later_splits(self, solve):
        options = dict(procedure="mccv", train_size=40, n_splits=30)
        whole = solve(GENERATED, First.get_instance(), **options)
        stopped = solve(GENERATED, First.get_instance(), **options, stop_when_redundant=1.5,
                        min_splits=4)
        assert set(whole["stopped"]) == {""}
        # The same rows as far as they go: its predictions don't depend on the training part.
        assert 4 <= len(stopped) < 30
        columns = [c for c in whole if not c.endswith("_seconds")]
        pd.testing.assert_frame_equal(
            stopped[columns].drop(columns="stopped"),
            whole[columns].drop(columns="stopped").iloc[:len(stopped)],
        )
        *before, last = stopped["stopped"]
        assert set(before) == {""}
        assert last.startswith(f"stopped after {len(stopped)} of 30 splits")

    def test_fixed_split_with_a_deterministic_learner(self, solve):
        rows = solve(GENERATED, First.get_instance(), **SIZES, procedure="fixed_split")
        assert np.isnan(rows["redundancy"][0])
        # ρ_e = 1, ω = n_test/n_study
        assert rows["redundancy"][1:].tolist() == pytest.approx(5 * [0.2])

    def test_one_split(self, solve):
        rows = solve(GENERATED, First.get_instance(), train_size=40, n_splits=1)
        assert len(rows) == 1 and np.isnan(rows["redundancy"][0])

    def test_huge_errors_of_one_split_do_not_spoil_the_others(self, solve):
        class Wild(First):
            n_fits = 0

            def fit(self, train, val, config, seed):
                self.n_fits += 1
                predict = super().fit(train, val, config, seed)
                scale = 1e25 if self.n_fits == 6 else 1
                return lambda X: scale * predict(X)

        rows = solve(GENERATED, Wild.get_instance(), **SIZES)
        expected = solve(GENERATED, First.get_instance(), **SIZES)
        assert (rows["status"] == "ok").all()
        assert rows["redundancy"][:5].tolist() == pytest.approx(
            expected["redundancy"][:5].tolist(), nan_ok=True
        )


class TestPoolShare:
    def test_of_a_pool(self, solve):
        X = np.random.default_rng(0).integers(2, size=(150, 2))
        # 50 examples of the 100 outside the benchmarking set
        rows = solve(pool(X, [0, 1] * 75, n_bench=50), First.get_instance(), **SIZES)
        assert (rows["pool_share"] == 0.5).all() and (rows["n_bench"] == 50).all()

    def test_of_a_generated_population(self, solve):
        assert solve(GENERATED, First.get_instance(), **SIZES)["pool_share"].isna().all()

    def test_of_a_bootstrap_whose_seeds_share_the_study_set_on_purpose(self, solve):
        X = np.random.default_rng(0).integers(2, size=(150, 2))
        rows = solve(
            pool(X, [0, 1] * 75), First.get_instance(), train_size="max", n_splits=3,
            procedure="bootstrap",
        )
        assert rows["pool_share"].isna().all()
        assert (rows["n_train"] == 150).all()
        assert (rows["n_val"] + rows["n_test"]).between(35, 75).all()


class TestDuplicates:
    #            0  1  2  3  4  5  6  7  8  9
    features = [[0, 1, 2, 3, 4, 5, 6, 7, 0, 0], [0, 0, 0, 0, 0, 0, 0, 0, 0, 9]]
    #   8 equals 0; 9 has another second feature
    labels = [0, 1, 0, 1, 0, 1, 0, 1, 0, 0]

    def count(self, solve, X, y, **parameters):
        """Rows' counts, and those by definition: test examples that equal a fitted one."""
        solver = First.get_instance()
        rows = solve(
            pool(X, y), solver, train_size="max", test_size=0.3, n_splits=30, stratify=False,
            **parameters,
        )
        study = solver.study
        table = pd.DataFrame(np.asarray(study.X).reshape(len(study), -1)).assign(y=study.y)
        examples = [tuple(map(str, row)) for row in table.itertuples(index=False)]
        expected = []
        for split in solver.splits:
            fitted = {examples[i] for i in (*split.train, *split.val)}
            expected.append(sum(examples[i] in fitted for i in split.test))
        return rows["n_duplicates"].tolist(), expected

    @pytest.mark.parametrize("names", [None, ["a", "b"], ["", "y"], ["self", "index"]])
    def test_pair(self, solve, names):
        X = np.array(self.features).T
        counts, expected = self.count(
            solve, X if names is None else pd.DataFrame(X, columns=names), self.labels
        )
        # The pair is 0 and 8: split between the parts or not.
        assert counts == expected and set(counts) == {0, 1}

    def test_same_features_with_another_label_are_no_copy(self, solve):
        labels = self.labels.copy()
        labels[8] = 1
        counts, _ = self.count(solve, np.array(self.features).T, labels)
        assert set(counts) == {0}

    def test_many_copies_in_the_test_set(self, solve):
        # Eight equal examples: all three test examples may be copies of training ones.
        X = np.array([[1, 1]] * 8 + [[2, 1], [3, 1]])
        counts, expected = self.count(solve, X, [0] * 8 + [1, 1])
        assert counts == expected and max(counts) == 3

    def test_copies_in_the_validation_part_count(self, solve):
        counts, expected = self.count(
            solve, np.array(self.features).T, self.labels, val_size=0.3
        )
        assert counts == expected and set(counts) == {0, 1}

    def test_missing_values_are_equal(self, solve):
        table = pd.DataFrame({"a": [*range(8), 0, 0], "b": [np.nan, *range(7), np.nan, 5.0]})
        solver = First.get_instance()
        rows = solve(pool(table, self.labels), solver, train_size="max", test_size=0.3,
                     n_splits=30, stratify=False)
        apart = []
        for split in solver.splits:
            tested = set(solver.study.X.iloc[split.test].index)
            apart.append(len(tested & {0, 8}) == 1)
        assert rows["n_duplicates"].tolist() == [int(a) for a in apart] and any(apart)

    def test_mixed_types(self, solve):
        table = pd.DataFrame({
            "number": [*range(8), 0, 0], "text": [*"abcdefgh", "a", "b"],
            "flag": [True, False] * 4 + [True, True],
        })
        counts, expected = self.count(solve, table, self.labels)
        assert counts == expected and set(counts) == {0, 1}

    def test_images(self, solve):
        X = np.zeros((10, 2, 2), int)
        X[:, 0, 0] = self.features[0]
        X[:, 1, 1] = self.features[1]

        class Constant(SplitSolver):
            name = "constant"

            def fit(self, train, val, config, seed):
                return lambda X: np.zeros(len(X), int)

        rows = solve(pool(X, self.labels), Constant.get_instance(), train_size="max",
                     test_size=0.3, n_splits=30, stratify=False)
        assert set(rows["n_duplicates"]) == {0, 1}

    def test_none(self, solve):
        assert (solve(GENERATED, First.get_instance(), **SIZES)["n_duplicates"] == 0).all()

    def test_views_cannot_be_compared(self, solve):
        class View:
            def __init__(self, names):
                self.names = names

            def __getitem__(self, index):
                return View(self.names[index])

        class Constant(SplitSolver):
            name = "constant"

            def fit(self, train, val, config, seed):
                return lambda X: np.zeros(len(X.names), int)

        rows = solve(pool(View(np.zeros(50)), [0, 1] * 25), Constant.get_instance(),
                     train_size="max", n_splits=3)
        assert (rows["status"] == "ok").all() and (rows["n_duplicates"] == 0).all()
