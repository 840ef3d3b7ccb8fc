import numpy as np
import pytest
from sklearn.metrics import (
    accuracy_score,
    brier_score_loss,
    log_loss,
    mean_absolute_error,
    mean_squared_error,
    r2_score,
)

from benchmark_utils.errors import Diverged
from benchmark_utils.population import Examples, Sets
from benchmark_utils.redundancy import primary_scores
from benchmark_utils.scoring import MAX_OUTER_CHUNKS, Score, check_prediction, example_scores
from benchmark_utils.splits import Split

RNG = np.random.default_rng(0)
NO_VAL = Split(np.arange(10, 30), np.arange(0), np.arange(10))
WITH_VAL = Split(np.arange(18, 30), np.arange(10, 18), np.arange(10))


def examples(n, n_classes=None):
    """Examples whose one feature is their position, so that a prediction is a look-up."""
    y = RNG.normal(size=n) if n_classes is None else RNG.integers(n_classes, size=n)
    return Examples(np.arange(n)[:, None], y)


def probabilities(n, n_classes):
    return RNG.dirichlet(np.ones(n_classes), size=n)


class Case:
    """Study, outer and benchmarking set, and a predictor with a prediction for each example."""

    def __init__(self, n_classes=None, codes=False, n_outer=35, n_bench=50):
        def predictions(n):
            if n_classes is None:
                return RNG.normal(size=n)
            return RNG.integers(n_classes, size=n) if codes else probabilities(n, n_classes)

        self.n_classes = n_classes
        self.task = "regression" if n_classes is None else "classification"
        n_study = 30
        everything = examples(n_study + n_outer + n_bench, n_classes)
        self.prediction = predictions(len(everything))
        self.study = everything[np.arange(n_study)]
        self.outer = everything[np.arange(n_study, n_study + n_outer)]
        self.bench = everything[np.arange(n_study + n_outer, len(everything))]

    def predict(self, X):
        return self.prediction[X[:, 0]]

    def score(self, split=NO_VAL, predict=None, with_bench_set=True, **options):
        sets = Sets(self.study, self.outer, self.bench) if with_bench_set else Sets(
            self.study, None, None
        )
        return Score(sets, self.task, self.n_classes)(predict or self.predict, split, **options)


class TestExampleScores:
    def mean(self, task, y, prediction, name):
        return example_scores(task, y, prediction)[name].mean()

    def test_regression(self):
        y, prediction = RNG.normal(size=40), RNG.normal(size=40)
        scores = example_scores("regression", y, prediction)
        assert list(scores) == ["neg_mean_squared_error", "neg_mean_absolute_error"]
        assert all(values.shape == (40,) for values in scores.values())
        assert scores["neg_mean_squared_error"].mean() == pytest.approx(
            -mean_squared_error(y, prediction)
        )
        assert scores["neg_mean_absolute_error"].mean() == pytest.approx(
            -mean_absolute_error(y, prediction)
        )

    @pytest.mark.parametrize("n_classes", [2, 3, 7])
    def test_probabilities(self, n_classes):
        y, prediction = RNG.integers(n_classes, size=60), probabilities(60, n_classes)
        labels = list(range(n_classes))
        scores = example_scores("classification", y, prediction)
        assert list(scores) == ["accuracy", "neg_log_loss", "neg_brier_score"]
        assert scores["accuracy"].mean() == accuracy_score(y, prediction.argmax(axis=1))
        assert scores["neg_log_loss"].mean() == pytest.approx(
            -log_loss(y, prediction, labels=labels)
        )
        assert scores["neg_brier_score"].mean() == pytest.approx(
            -brier_score_loss(y, prediction, labels=labels)
        )

    def test_binary_brier_score_is_of_the_second_class(self):
        y, prediction = RNG.integers(2, size=60), probabilities(60, 2)
        assert self.mean("classification", y, prediction, "neg_brier_score") == pytest.approx(
            -((prediction[:, 1] - y) ** 2).mean()
        )

    def test_codes(self):
        y, prediction = RNG.integers(3, size=60), RNG.integers(3, size=60)
        scores = example_scores("classification", y, prediction)
        assert list(scores) == ["accuracy"]
        assert scores["accuracy"].mean() == accuracy_score(y, prediction)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_certain_predictions(self, dtype):
        y, prediction = np.array([0, 0, 1]), np.array([[1, 0], [0, 1], [0, 1]], dtype)
        loss = -self.mean("classification", y, prediction, "neg_log_loss")
        # One of three is impossible, and costs the logarithm of the smallest step.
        assert loss == pytest.approx(-np.log(np.finfo(dtype).eps) / 3)
        assert loss == pytest.approx(log_loss(y, prediction), rel=1e-5)

    def test_whole_numbers_are_probabilities_too(self):
        y, prediction = np.array([0, 1, 1]), np.array([[1, 0], [0, 1], [1, 0]])
        scores = example_scores("classification", y, prediction)
        assert scores["accuracy"].tolist() == [1, 1, 0]
        assert scores["neg_brier_score"].tolist() == [0, 0, -1]
        assert np.isfinite(scores["neg_log_loss"]).all()

    def test_ties_go_to_the_first_class(self):
        scores = example_scores("classification", np.array([0, 1]), np.full((2, 2), 0.5))
        assert scores["accuracy"].tolist() == [1, 0]


class TestCheckPrediction:
    def test_lists_are_taken(self):
        assert check_prediction("classification", [0, 1, 1], 3, 2).tolist() == [0, 1, 1]

    @pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
    def test_not_finite(self, bad):
        values = np.array([0.0, bad, 1.0, bad])
        with pytest.raises(Diverged, match="2 of 4 predictions are NaN or infinite"):
            check_prediction("regression", values, 4, None)
        table = np.full((4, 3), 1 / 3)
        table[2, 1] = table[2, 2] = bad
        with pytest.raises(Diverged, match="1 of 4 predictions"):
            check_prediction("classification", table, 4, 3)

    @pytest.mark.parametrize("task, shape, expected", [
        ("regression", (5, 1), r"\(5, 1\), expected \(5,\)$"),
        ("regression", (4,), r"\(4,\), expected \(5,\)$"),
        ("classification", (5, 2), r"\(5, 2\), expected \(5,\) or \(5, 3\)$"),
        ("classification", (3, 5), r"\(3, 5\), expected \(5,\) or \(5, 3\)$"),
        ("classification", (), r"\(\), expected \(5,\) or \(5, 3\)$"),
    ])
    def test_wrong_shape(self, task, shape, expected):
        with pytest.raises(ValueError, match=f"predictions have shape {expected}"):
            check_prediction(task, np.zeros(shape), 5, 3)


class TestScore:
    def test_regression(self):
        case = Case()
        record = case.score()
        for part, indices in (("test", NO_VAL.test), ("bench", np.arange(65, 115))):
            y = np.concatenate([case.study.y, case.outer.y, case.bench.y])[indices]
            prediction = case.prediction[indices]
            assert record[f"score_{part}"] == pytest.approx(-mean_squared_error(y, prediction))
            assert record[f"r2_{part}"] == pytest.approx(r2_score(y, prediction))
            assert record[f"neg_mean_absolute_error_{part}"] == pytest.approx(
                -mean_absolute_error(y, prediction)
            )

    @pytest.mark.parametrize("n_classes", [2, 4])
    def test_classification(self, n_classes):
        case = Case(n_classes)
        record, labels = case.score(), list(range(n_classes))
        for part, of_part, prediction in (
            ("test", case.study[NO_VAL.test], case.prediction[:10]),
            ("bench", case.bench, case.prediction[65:]),
        ):
            assert record[f"score_{part}"] == accuracy_score(of_part.y, prediction.argmax(axis=1))
            assert record[f"neg_log_loss_{part}"] == pytest.approx(
                -log_loss(of_part.y, prediction, labels=labels)
            )
            assert record[f"neg_brier_score_{part}"] == pytest.approx(
                -brier_score_loss(of_part.y, prediction, labels=labels)
            )

    def test_codes_have_no_proper_scores(self):
        record = Case(3, codes=True).score()
        assert {"score_test", "score_bench"} <= set(record)
        assert not any("log_loss" in name or "brier" in name for name in record)

    def test_class_absent_from_the_test_set(self):
        case = Case(3)
        case.study.y[NO_VAL.test] = 1
        expected = np.log(case.prediction[:10, 1]).mean()
        assert case.score()["neg_log_loss_test"] == pytest.approx(expected)

    def test_test_scores(self):
        case = Case()
        record = case.score()
        error = (case.study.y - case.prediction[:30])[NO_VAL.test]
        scores = record["test_scores"]
        assert list(scores) == ["neg_mean_squared_error", "neg_mean_absolute_error"]
        assert scores["neg_mean_squared_error"] == pytest.approx(-(error**2), rel=1e-6)
        assert scores["neg_mean_absolute_error"] == pytest.approx(-np.abs(error), rel=1e-6)
        assert record["test_predictions"] == pytest.approx(case.prediction[:30][NO_VAL.test])

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_test_scores_of_classes(self, n_classes):
        case = Case(n_classes)
        record, probability = case.score(), case.prediction[:30][NO_VAL.test]
        y, scores = case.study.y[NO_VAL.test], record["test_scores"]
        assert list(scores) == ["accuracy", "neg_log_loss", "neg_brier_score"]
        assert scores["accuracy"].dtype == bool
        assert (scores["accuracy"] == (probability.argmax(axis=1) == y)).all()
        of_truth = probability[np.arange(len(y)), y]
        assert scores["neg_log_loss"] == pytest.approx(np.log(of_truth), rel=1e-6)
        if n_classes == 2:
            assert scores["neg_brier_score"] == pytest.approx(-(1 - of_truth) ** 2, rel=1e-5)
            assert record["test_predictions"] == pytest.approx(probability[:, 1])
        else:
            assert record["test_predictions"] is None

    def test_test_scores_of_class_codes(self):
        case = Case(2)
        case.prediction = case.prediction.argmax(axis=1)
        record = case.score()
        assert list(record["test_scores"]) == ["accuracy"]
        assert record["test_predictions"].tolist() == case.prediction[:30][NO_VAL.test].tolist()

    def test_test_scores_are_finite_where_the_score_is(self):
        case = Case()
        case.prediction[0] = 1e25
        record = case.score()
        assert record["score_test"] == pytest.approx(-1e49)
        assert all(np.isfinite(scores).all() for scores in record["test_scores"].values())

    # The mean of ten times 72.3 is another number.
    @pytest.mark.parametrize("value", [1.5, 72.3])
    def test_r2_of_a_constant_target_is_missing(self, value):
        case = Case()
        case.study.y[NO_VAL.test] = value
        record = case.score()
        assert np.isnan(record["r2_test"]) and np.isfinite(record["r2_bench"])

    def test_order_of_the_split_is_kept(self):
        case, order = Case(), np.array([7, 2, 5])
        scores = primary_scores(case.score(Split(np.arange(10, 30), np.arange(0), order)))
        assert scores == pytest.approx(primary_scores(case.score())[order])

    @pytest.mark.parametrize("n_classes", [None, 3])
    def test_validation(self, n_classes):
        case = Case(n_classes)
        assert "score_val" not in case.score(NO_VAL)
        record, y = case.score(WITH_VAL), case.study.y[WITH_VAL.val]
        prediction = case.prediction[WITH_VAL.val]
        expected = (
            -mean_squared_error(y, prediction) if n_classes is None
            else accuracy_score(y, prediction.argmax(axis=1))
        )
        assert record["score_val"] == pytest.approx(expected)
        # Validation examples count for nothing else.
        assert record["score_test"] == case.score(NO_VAL)["score_test"]

    def test_without_benchmarking_set(self):
        record = Case().score(with_bench_set=False, with_outer=True)
        assert "score_test" in record
        assert not any(name.endswith("_bench") for name in record) and "outer_deltas" not in record

    def test_time_to_predict_is_of_the_test_set(self):
        sizes = []

        def predict(X):
            sizes.append(len(X))
            return np.zeros(len(X))

        record = Case().score(WITH_VAL, predict, with_outer=True)
        assert record["predict_seconds"] >= 0
        # Each set is predicted once: test 10, validation 8, bench 50, outer 3 · 10.
        assert sorted(sizes) == [8, 10, 30, 50]

    def test_training_examples_are_not_predicted(self):
        def predict(X):
            assert not np.isin(X[:, 0], NO_VAL.train).any()
            return np.zeros(len(X))

        Case().score(NO_VAL, predict, with_outer=True)


class TestOuter:
    @pytest.mark.parametrize("n_classes", [None, 2])
    def test_deltas_of_the_chunks(self, n_classes):
        case = Case(n_classes)
        deltas = case.score(with_outer=True)["outer_deltas"]
        # 35 examples are three chunks of ten, and five left over.
        assert len(deltas) == 3
        for c in range(3):
            indices = np.arange(10 * c, 10 * c + 10)
            y, prediction = case.outer.y[indices], case.prediction[30 + indices]
            if n_classes is None:
                score = -mean_squared_error(y, prediction)
            else:
                score = accuracy_score(y, prediction.argmax(axis=1))
            assert deltas[c] == pytest.approx(score - case.score()["score_bench"])

    def test_only_where_asked_for(self):
        assert "outer_deltas" not in Case().score(with_outer=False)

    def test_at_most_the_largest_number_of_chunks(self):
        case = Case(n_outer=10 * MAX_OUTER_CHUNKS + 25)
        assert len(case.score(with_outer=True)["outer_deltas"]) == MAX_OUTER_CHUNKS

    def test_too_few_examples_for_a_chunk(self):
        assert "outer_deltas" not in Case(n_outer=9).score(with_outer=True)
        assert len(Case(n_outer=10).score(with_outer=True)["outer_deltas"]) == 1

    def test_examples_that_only_integers_index(self):
        class Images:
            def __init__(self, names):
                self.names = names

            def __getitem__(self, index):
                if not isinstance(index, np.ndarray):
                    raise TypeError("an array of integers, please")
                return Images(self.names[index])

        case = Case()
        expected = case.score(WITH_VAL, with_outer=True)
        case.study, case.outer, case.bench = (
            Examples(Images(part.X), part.y) for part in (case.study, case.outer, case.bench)
        )
        record = case.score(WITH_VAL, lambda X: case.predict(X.names), with_outer=True)
        assert record["score_test"] == expected["score_test"]
        assert record["outer_deltas"] == expected["outer_deltas"]


class TestDiverged:
    @pytest.mark.parametrize("where", [0, 12, 40, 100], ids=["test", "val", "outer", "bench"])
    @pytest.mark.parametrize("n_classes", [None, 3])
    def test_not_finite_anywhere(self, where, n_classes):
        case = Case(n_classes)
        case.prediction[where] = np.nan
        with pytest.raises(Diverged, match="1 of "):
            case.score(WITH_VAL, with_outer=True)

    @pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning")
    @pytest.mark.parametrize("where", [0, 12, 100], ids=["test", "val", "bench"])
    def test_score_that_overflows(self, where):
        case = Case()
        case.prediction[where] = 1e200
        with pytest.raises(Diverged, match="overflows"):
            case.score(WITH_VAL)

    def test_wrong_shape_is_no_divergence(self):
        with pytest.raises(ValueError, match=r"shape \(10, 1\), expected \(10,\)"):
            Case().score(predict=lambda X: np.zeros((len(X), 1)))
