import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_info

from benchmark_utils.population import Examples, GeneratedPopulation, PoolPopulation
from benchmark_utils.solver import EstimatorSolver, SplitSolver
from benchmark_utils.splits import Split
from benchmark_utils.tuning import Job
from benchmark_utils.views import View


def draw(rng, n):
    X = rng.normal(size=(n, 3))
    return X, X @ rng.normal(size=3) + rng.normal(size=n)


def draw_classes(rng, n):
    X = rng.normal(size=(n, 3))
    return X, (X @ rng.normal(size=3) + rng.normal(size=n) > 0).astype(int)


REGRESSION = GeneratedPopulation(draw, "regression", 400, 300, "made up")
CLASSES = GeneratedPopulation(draw_classes, "classification", 400, 300, "made up", ["no", "yes"])
SIZES = dict(train_size=40, test_size=0.2, n_splits=10)


class Mean(SplitSolver):
    """The mean of the training targets; keeps what it was called with."""
    name = "mean"

    def fit(self, train, val, config, seed):
        if not hasattr(self, "calls"):
            self.calls = []
        self.calls.append((train, val, config, seed))
        self.before_prediction(len(self.calls) - 1)
        mean = train.y.mean()
        return lambda X: self.change(np.full(len(X), mean), len(self.calls) - 1)

    def before_prediction(self, k):
        pass

    def change(self, prediction, k):
        return prediction


def failing(on, error):
    class Failing(Mean):
        def before_prediction(self, k):
            if k in on:
                raise error

    return Failing.get_instance()


class TestEverySplit:
    def test_rows(self, solve):
        rows = solve(REGRESSION, Mean.get_instance(), **SIZES)
        assert rows["split"].tolist() == list(range(10))
        assert (rows["status"] == "ok").all() and (rows["message"] == "").all()
        assert (rows["budget"] == 1).all() and (rows["config"] == 0).all()
        assert (rows[["n_train", "n_val", "n_test"]] == [40, 0, 10]).all(axis=None)
        assert rows[["score_test", "score_bench", "fit_seconds", "predict_seconds"]].notna().all(
            axis=None
        )
        assert rows["delta"].tolist() == (rows["score_test"] - rows["score_bench"]).tolist()

    def test_scores_are_those_of_the_fitted_predictor(self, solve):
        solver = Mean.get_instance()
        rows = solve(REGRESSION, solver, **SIZES)
        for k, (train, _, _, _) in enumerate(solver.calls):
            # The study set holds 50 examples: those not trained on are the test set.
            study = solver.study
            tested = study.y[~np.isin(study.y, train.y)]
            assert len(tested) == 10
            assert rows["score_test"][k] == pytest.approx(-((tested - train.y.mean()) ** 2).mean())

    def test_validation_part_is_handed_over(self, solve):
        solver = Mean.get_instance()
        rows = solve(REGRESSION, solver, **SIZES, val_size=0.2)
        assert (rows[["n_train", "n_val", "n_test"]] == [30, 10, 10]).all(axis=None)
        for k, (train, val, _, _) in enumerate(solver.calls):
            assert (len(train), len(val)) == (30, 10)
            assert not np.isin(val.y, train.y).any()
            assert rows["score_val"][k] == pytest.approx(-((val.y - train.y.mean()) ** 2).mean())

    def test_without_validation_part(self, solve):
        solver = Mean.get_instance()
        rows = solve(REGRESSION, solver, **SIZES)
        assert all(len(val) == 0 for _, val, _, _ in solver.calls)
        assert rows["score_val"].isna().all()

    def test_splits_have_seeds_of_their_own_which_come_from_the_repetition(self, solve):
        solvers = [Mean.get_instance() for _ in range(3)]
        for solver, repetition in zip(solvers, (0, 0, 1), strict=True):
            solve(REGRESSION, solver, repetition, **SIZES)
        seeds = [[seed for _, _, _, seed in solver.calls] for solver in solvers]
        assert seeds[0] == seeds[1] and not set(seeds[0]) & set(seeds[2])
        assert len(set(seeds[0])) == 10
        assert all(isinstance(seed, int) and 0 <= seed < 2**32 for seed in seeds[0])

    def test_same_splits_whatever_the_solver_and_the_number_of_splits(self, solve):
        few, many = Mean.get_instance(), failing({2, 5}, ValueError("no"))
        solve(REGRESSION, few, **{**SIZES, "n_splits": 4})
        solve(REGRESSION, many, **SIZES)
        for a, b in zip(few.calls, many.calls[:4], strict=True):
            assert np.array_equal(a[0].X, b[0].X) and a[3] == b[3]

    def test_config_is_the_solvers_own_parameters(self, solve):
        class Configured(Mean):
            parameters = {**Mean.parameters, "alpha": [1.0], "depth": [None]}

        solver = Configured.get_instance(alpha=3.0)
        solve(REGRESSION, solver, **SIZES)
        assert solver.calls[0][2] == {"alpha": 3.0, "depth": None}

    def test_one_thread_while_fitting(self, solve):
        threads = []

        class Counting(Mean):
            def before_prediction(self, k):
                threads.extend(pool["num_threads"] for pool in threadpool_info())

        solve(REGRESSION, Counting.get_instance(), **SIZES)
        assert set(threads) == {1}


class TestFailures:
    def test_split_that_raises(self, solve):
        rows = solve(REGRESSION, failing({3}, ValueError("singular matrix")), **SIZES)
        assert rows["status"].tolist() == 3 * ["ok"] + ["failed"] + 6 * ["ok"]
        assert rows["message"][3] == "ValueError: singular matrix"
        failed = rows.loc[3]
        assert failed[["score_test", "score_bench", "delta", "r2_test", "r2_delta"]].isna().all()
        assert failed["outer_deltas"] is None or np.isnan(failed["outer_deltas"]).all()
        # Its sizes are still known, and the other splits are what they would have been.
        assert (failed["n_train"], failed["n_test"]) == (40, 10)
        undisturbed = solve(REGRESSION, Mean.get_instance(), **SIZES)
        assert rows["score_test"].drop(3).tolist() == undisturbed["score_test"].drop(3).tolist()

    def test_error_while_predicting(self, solve):
        class Failing(Mean):
            def change(self, prediction, k):
                return prediction[:-1] if k == 2 else prediction

        rows = solve(REGRESSION, Failing.get_instance(), **SIZES)
        assert rows["status"].tolist() == 2 * ["ok"] + ["failed"] + 7 * ["ok"]
        assert "shape (9,), expected (10,)" in rows["message"][2]

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_predictions_that_are_not_finite(self, solve, value):
        class Diverging(Mean):
            def change(self, prediction, k):
                return prediction * value if k == 7 else prediction

        rows = solve(REGRESSION, Diverging.get_instance(), **SIZES)
        assert rows["status"].tolist() == 7 * ["ok"] + ["diverged"] + 2 * ["ok"]
        assert rows["message"][7] == "10 of 10 predictions are NaN or infinite"
        assert np.isnan(rows["score_test"][7]) and np.isnan(rows["delta"][7])

    def test_all_splits_fail(self, solve):
        rows = solve(REGRESSION, failing(set(range(10)), RuntimeError("no memory")), **SIZES)
        assert len(rows) == 10 and (rows["status"] == "failed").all()
        assert (rows["message"] == "RuntimeError: no memory").all()
        assert rows[["score_test", "score_bench", "delta", "redundancy"]].isna().all(axis=None)
        assert rows["outer_deltas"].isna().all()

    def test_interruption_is_no_failure(self, solve):
        with pytest.raises(KeyboardInterrupt):
            solve(REGRESSION, failing({3}, KeyboardInterrupt()), **SIZES)

    def test_columns_are_the_same_whatever_happens(self, solve):
        columns = solve(REGRESSION, Mean.get_instance(), **SIZES).columns
        rows = solve(REGRESSION, failing({0, 3}, ValueError("no")), **SIZES)
        assert rows.columns.tolist() == columns.tolist()

    @pytest.mark.parametrize("failed", [set(), {0}, {0, 1, 2}, {1, 5}])
    def test_outer_deltas_are_on_the_first_successful_split(self, solve, failed):
        rows = solve(REGRESSION, failing(failed, ValueError("no")), **SIZES)
        first = min(set(range(10)) - failed)
        with_outer = rows["outer_deltas"].map(lambda value: isinstance(value, list))
        assert np.flatnonzero(with_outer).tolist() == [first]
        # 350 examples beside the study set are 35 chunks of ten.
        assert len(rows["outer_deltas"][first]) == 35

    def test_redundancy_of_the_successful_splits(self, solve):
        rows = solve(REGRESSION, failing({0, 4}, ValueError("no")), **SIZES)
        # Two successful splits are needed; their test sets may share less than two examples.
        assert rows["redundancy"][:2].isna().all()
        assert rows["redundancy"][5:].notna().all()


class TestWarnings:
    class Warning(Mean):
        def before_prediction(self, k):
            if k in (2, 3):
                warnings.warn("did not converge", RuntimeWarning, stacklevel=1)
                warnings.warn("and another", UserWarning, stacklevel=1)

    def test_first_warning_is_the_message(self, solve):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            rows = solve(REGRESSION, self.Warning.get_instance(), **SIZES)
        assert (rows["status"] == "ok").all()
        messages = ["", "", *2 * ["RuntimeWarning: did not converge"], *6 * [""]]
        assert rows["message"].tolist() == messages

    def test_a_failure_says_more_than_a_warning(self, solve):
        class Both(self.Warning):
            def before_prediction(self, k):
                super().before_prediction(k)
                if k == 3:
                    raise ValueError("no")

        rows = solve(REGRESSION, Both.get_instance(), **SIZES)
        assert rows["message"][3] == "ValueError: no"


class TestSkip:
    def test_task_it_cannot_do(self):
        class Regressor(Mean):
            tasks = ("regression",)

        skipped, reason = Regressor.get_instance().skip(problem=None, task="classification")
        assert skipped and "mean" in reason and "regression only, not classification" in reason

    @pytest.mark.parametrize("name", ["ridge", "svm", "residual_mlp"])
    def test_images_and_texts_where_it_takes_numbers(self, component, name):
        pytest.importorskip("torch")

        class Words:
            def __len__(self):
                return 3

        solver, study = component("solver", name), Examples(View(Words()), np.arange(3))
        skipped, reason = solver.skip(problem=None, task="classification", study=study)
        assert skipped and reason == f"{name} takes numbers and tables, neither images nor texts"

    def test_problem_of_the_splits(self):
        assert Mean.get_instance().skip(problem="class 'x' is too small", task="regression") == (
            True, "class 'x' is too small"
        )


class Linear(EstimatorSolver):
    name = "linear"

    def get_estimator(self, task, seed):
        return LinearRegression() if task == "regression" else LogisticRegression()


def class_pool(y, n_bench=0, X=None):
    y = np.asarray(y)
    X = np.random.default_rng(0).normal(size=(len(y), 2)) if X is None else X
    return PoolPopulation(
        X, y, "classification", n_bench, "made up", [*"abcdefgh"[:y.max() + 1]]
    )


class TestEstimatorSolver:
    def test_regression(self, solve):
        solver = Linear.get_instance()
        rows = solve(REGRESSION, solver, **SIZES)
        split = solver.splits[4]
        fitted = LinearRegression().fit(solver.study.X[split.train], solver.study.y[split.train])
        error = solver.study.y[split.test] - fitted.predict(solver.study.X[split.test])
        assert rows["score_test"][4] == pytest.approx(-(error**2).mean())

    def test_probabilities_are_used_where_there_are_any(self, solve):
        rows = solve(CLASSES, Linear.get_instance(), **SIZES)
        assert rows[["score_test", "neg_log_loss_test", "neg_brier_score_bench"]].notna().all(
            axis=None
        )

    def test_codes_where_there_are_none(self, solve):
        class Machine(Linear):
            def get_estimator(self, task, seed):
                return SVC()

        rows = solve(CLASSES, Machine.get_instance(), **SIZES)
        assert (rows["status"] == "ok").all() and rows["score_test"].notna().all()
        assert rows[["neg_log_loss_test", "neg_brier_score_bench"]].isna().all(axis=None)

    def test_class_absent_from_the_training_part(self, solve):
        # A single example of class 1: it is either trained on or tested, never both.
        class Tree(Linear):
            def get_estimator(self, task, seed):
                return DecisionTreeClassifier(random_state=seed)

        solver = Tree.get_instance()
        rows = solve(
            class_pool([0] * 25 + [1] + [2] * 24), solver, train_size="max", test_size=0.4,
            n_splits=12, stratify=False,
        )
        assert (rows["status"] == "ok").all()
        absent = [1 not in solver.study.y[split.train] for split in solver.splits]
        assert 0 < sum(absent) < 12
        for k in np.flatnonzero(absent):
            split = solver.splits[k]
            predict = solver.fit(solver.study[split.train], solver.study[split.val], {}, 0)
            probability = predict(solver.study.X[split.test])
            assert probability.shape == (20, 3) and (probability[:, 1] == 0).all()
            assert probability.argmax(axis=1).max() == 2
            # It is tested, and the logarithm of its probability is that of the smallest step.
            assert rows["neg_log_loss_test"][k] <= np.log(np.finfo(float).eps) / 20

    def test_one_class_only_in_the_training_part(self, solve):
        rows = solve(
            class_pool([0] * 29 + [1]), Linear.get_instance(), train_size="max", test_size=0.5,
            n_splits=8, stratify=False,
        )
        # Logistic regression can't be fitted to one class; the row says so.
        assert set(rows["status"]) == {"ok", "failed"}
        assert rows["message"][rows["status"] == "failed"].str.contains("class").all()

    def test_tables_are_encoded(self, solve):
        rng = np.random.default_rng(0)
        table = pd.DataFrame({
            "number": rng.normal(size=60), "kind": rng.choice(["x", "y"], size=60),
            "flag": rng.random(60) < 0.5,
        })
        table.loc[3, "number"] = np.nan
        y = (table["kind"] == "x").astype(int)
        rows = solve(
            class_pool(y, X=table), Linear.get_instance(), train_size="max", n_splits=5
        )
        assert (rows["status"] == "ok").all()
        assert (rows["score_test"] == 1).all()

    def test_encoding_is_fitted_on_the_training_part(self, solve):
        class Means(EstimatorSolver):
            name = "means"
            fitted = []

            def get_estimator(self, task, seed):
                return LinearRegression()

            def fit(self, train, val, config, seed):
                predict = super().fit(train, val, config, seed)
                encoder = predict.__self__[0]
                self.fitted.append((train.X["a"].mean(), encoder.transform(train.X).mean()))
                return predict

        y = np.arange(50.0)
        population = PoolPopulation(pd.DataFrame({"a": y**2}), y, "regression", 0, "made up")
        rows = solve(population, Means.get_instance(), train_size="max", n_splits=5)
        assert (rows["status"] == "ok").all()
        # Standardised by the training part's own mean, which differs between splits.
        assert len({mean for mean, _ in Means.fitted}) == 5
        assert all(abs(encoded) < 1e-9 for _, encoded in Means.fitted)


class TestSolversOfTheBenchmark:
    NAMES = ("ridge", "gradient_boosting", "extra_trees", "mlp", "k_neighbors", "decision_tree",
             "hist_gradient_boosting", "svm")
    SMALL = {
        "gradient_boosting": {"n_estimators": 3}, "extra_trees": {"n_estimators": 3},
        "mlp": {"max_iter": 3}, "hist_gradient_boosting": {"max_iter": 3},
    }

    def test_eight_of_them(self, benchmark):
        assert set(self.NAMES) <= set(benchmark.get_solver_names())

    @pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
    @pytest.mark.parametrize("population", [REGRESSION, CLASSES], ids=lambda p: p.task)
    @pytest.mark.parametrize("name", NAMES)
    def test_scores_and_is_reproducible(self, solve, component, name, population):
        scores = ["score_test", "score_bench", "delta"]
        a, b = (
            solve(population, component("solver", name, **self.SMALL.get(name, {})),
                  train_size=40, n_splits=3)
            for _ in range(2)
        )
        assert (a["status"] == "ok").all(), a["message"].tolist()
        assert a[scores].notna().all(axis=None)
        assert a[scores].equals(b[scores])

    @pytest.mark.parametrize("name", NAMES)
    def test_describes_itself_and_has_defaults_within_its_parameters(self, benchmark, name):
        solver = next(s for s in benchmark.get_solvers() if s.name == name)
        assert solver.__doc__.strip()
        assert set(solver.search_space) <= set(solver.parameters)
        assert set(EstimatorSolver.parameters) <= set(solver.parameters)
        # One value each: a default, not a sweep.
        assert all(len(values) == 1 for values in solver.parameters.values())

    def test_template_solver_works(self, benchmark, solve):
        [(template, _)] = benchmark.check_solver_patterns(
            [str(benchmark.benchmark_dir / "solvers" / "template_solver.py")]
        )
        for population in (REGRESSION, CLASSES):
            rows = solve(population, template.get_instance(), train_size=40, n_splits=3)
            assert (rows["status"] == "ok").all(), rows["message"].tolist()


def test_everything_that_makes_a_record_is_in_its_key():
    solver = Mean.get_instance()
    solver.seed = 0
    split = Split(np.arange(4), np.arange(4, 6), np.arange(6, 8))
    job = Job(split, (0, 0))
    jobs = [
        job, replace(job, with_bench=False), replace(job, with_outer=True),
        replace(job, seed_key=(0, 1)),
        *(replace(job, split=replace(split, **{part: np.arange(9, 11)}))
          for part in ("train", "val", "test")),
    ]
    keys = [solver._key(of, 0, {}) for of in jobs]
    keys += [solver._key(job, 1, {}), solver._key(job, 0, {"a": 1}), solver._key(job, 0, {"a": 2})]
    assert len(set(keys)) == len(keys)
    assert solver._key(job, 0, {"a": 1, "b": 2}) == solver._key(job, 0, {"b": 2, "a": 1})


class TestFailuresInTheStore:
    @pytest.mark.parametrize("error, is_tried_again", [
        (MemoryError("full"), True), (OSError("no space"), True), (ImportError("absent"), True),
        (RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"), True),
        (RuntimeError("CUDA error: unspecified launch failure"), True),
        (RuntimeError("cuDNN error: CUDNN_STATUS_ALLOC_FAILED"), True),
        (RuntimeError("DefaultCPUAllocator: can't allocate memory"), True),
        (ValueError("singular"), False), (RuntimeError("sizes don't match"), False),
    ])
    def test_what_the_machine_caused_is_tried_again(
        self, solve, tmp_path, monkeypatch, error, is_tried_again
    ):
        monkeypatch.setattr(Mean, "_store_path", lambda self: tmp_path / "fits.journal")
        first = solve(REGRESSION, failing({2}, error), **SIZES)
        assert (first["status"] == "failed").tolist() == [k == 2 for k in range(10)]
        again = Mean.get_instance()
        second = solve(REGRESSION, again, **SIZES)
        assert len(getattr(again, "calls", ())) == is_tried_again
        assert (second["status"] == "ok").all() == is_tried_again
