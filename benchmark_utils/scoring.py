"""From predictions to scores. Every score is higher-is-better, under scikit-learn's name."""
import time
from dataclasses import dataclass

import numpy as np

from benchmark_utils.errors import Diverged

#: the primary score of each task, whose columns are `score_*`
PRIMARY = {"classification": "accuracy", "regression": "neg_mean_squared_error"}
#: the other scores, whose columns are `<name>_test`, `<name>_bench`, `<name>_delta`
SECONDARY = {
    "classification": ("neg_log_loss", "neg_brier_score"),
    "regression": ("r2", "neg_mean_absolute_error"),
}
MAX_OUTER_CHUNKS = 200
#: examples of a large set that are scored at a time: their arrays stay in the processor's cache
AT_A_TIME = 8192


def check_prediction(task, prediction, n, n_classes):
    """Return a prediction as an array, if it is one.

    Parameters
    ----------
    prediction : array of shape (n,): values, or for classification class codes;
        or, for classification, of shape (n, n_classes): probabilities

    Raises
    ------
    Diverged
        For NaN or infinite predictions.
    ValueError
        For any other shape.
    """
    prediction = np.asarray(prediction)
    shapes = [(n,)] + ([(n, n_classes)] if task == "classification" else [])
    if prediction.shape not in shapes:
        expected = " or ".join(map(str, shapes))
        raise ValueError(f"predictions have shape {prediction.shape}, expected {expected}")
    if not np.isfinite(prediction).all():
        bad = np.count_nonzero(~np.isfinite(prediction).reshape(n, -1).all(axis=1))
        raise Diverged(f"{bad} of {n} predictions are NaN or infinite")
    return prediction


def example_scores(task, y, prediction):
    """Each example's contribution to the scores that are means over examples.

    Parameters
    ----------
    y : array of shape (n,)
    prediction : array, as returned by `check_prediction`

    Returns
    -------
    dict of arrays of shape (n,), the primary score first
        Regression: minus squared error, minus absolute error. Classification:
        whether the class is right; with probabilities also log-likelihood
        (clipped at the smallest positive step of the dtype, as scikit-learn
        does) and minus the squared distance to the true class's indicator,
        halved for two classes (scikit-learn's `brier_score_loss`).
    """
    if task == "regression":
        error = y - prediction
        return {
            "neg_mean_squared_error": -error * error,
            "neg_mean_absolute_error": -np.abs(error),
        }
    if prediction.ndim == 1:
        return {"accuracy": (prediction == y).astype(float)}
    n, n_classes = prediction.shape
    prediction = np.asarray(prediction, np.result_type(prediction, np.float32))
    of_truth = prediction[np.arange(n), y]
    squared = np.einsum("ij,ij->i", prediction, prediction)
    brier = squared - 2 * of_truth + 1
    return {
        "accuracy": (prediction.argmax(axis=1) == y).astype(float),
        "neg_log_loss": np.log(np.maximum(of_truth, np.finfo(prediction.dtype).eps)),
        "neg_brier_score": -brier / 2 if n_classes == 2 else -brier,
    }


def mean_scores(task, examples, prediction):
    """Mean of each of `example_scores`, and the scores that derive from them.

    Parameters
    ----------
    examples : Examples
    prediction : array, as returned by `check_prediction`

    Returns
    -------
    dict, name of a score -> float; `r2` of a constant target is NaN
    """
    parts = [slice(i, i + AT_A_TIME) for i in range(0, len(examples), AT_A_TIME)]
    sums = [
        {name: values.sum()
         for name, values in example_scores(task, examples.y[part], prediction[part]).items()}
        for part in parts
    ]
    scores = {name: sum(of_part[name] for of_part in sums) / len(examples) for name in sums[0]}
    if task == "regression":
        variance = examples.variance
        scores["r2"] = 1 + scores["neg_mean_squared_error"] / variance if variance else np.nan
    return scores


@dataclass(frozen=True)
class Score:
    """The one scoring function: reduces a fitted predictor to the numbers of its row.

    Solvers receive it as `score` and call it with each predictor as soon as it
    is fitted; nothing else sees the outer and benchmarking labels.
    """
    sets: object
    task: str
    n_classes: int | None

    def __call__(self, predict, split, with_outer=False, with_bench=True):
        """Score one predictor on one split.

        Parameters
        ----------
        predict : callable X -> predictions, see `check_prediction`
        split : Split
        with_outer, with_bench : bool, whether to score the outer chunks and the
            benchmarking set too, where there are any

        Returns
        -------
        dict
            `score_*`, `<metric>_*` of the parts that aren't empty, `predict_seconds`
            (time to predict the test set), `test_scores` (dict, metric -> each test
            example's score, the primary one first), `test_predictions` (values, for two
            classes the probability of the second, None for more), and `outer_deltas`. Both
            are arrays of shape (n_test,) of single precision, whether a class is right bool.

        Raises
        ------
        Diverged, ValueError
            See `check_prediction`; Diverged also for a score that overflows.
        """
        study, outer, bench = self.sets.study, self.sets.outer, self.sets.bench
        with_bench = with_bench and bench is not None
        primary = PRIMARY[self.task]
        record, scores = {}, {}

        if len(split.val):
            val = study[split.val]
            record["score_val"] = mean_scores(self.task, val, self._predict(predict, val))[primary]
        if len(split.test):
            test = study[split.test]
            started = time.perf_counter()
            prediction = self._predict(predict, test)
            record["predict_seconds"] = time.perf_counter() - started
            record["test_scores"] = {
                name: values.astype(bool) if name == "accuracy" else _single(values)
                for name, values in example_scores(self.task, test.y, prediction).items()
            }
            record["test_predictions"] = self._one_number(prediction)
            scores["test"] = mean_scores(self.task, test, prediction)
        if with_bench:
            scores["bench"] = mean_scores(self.task, bench, self._predict(predict, bench))

        for part, of_part in scores.items():
            record[f"score_{part}"] = of_part[primary]
            for name in SECONDARY[self.task]:
                if name in of_part:
                    record[f"{name}_{part}"] = of_part[name]
        if not all(np.isfinite(v) for k, v in record.items() if k.startswith("score_")):
            raise Diverged("the score overflows")
        n_test = len(split.test)
        if with_outer and with_bench and n_test and len(outer) >= n_test:
            n_chunks = min(len(outer) // n_test, MAX_OUTER_CHUNKS)
            chunks = outer[np.arange(n_chunks * n_test)]
            prediction = self._predict(predict, chunks)
            of_chunks = example_scores(self.task, chunks.y, prediction)[primary]
            of_chunks = of_chunks.reshape(n_chunks, -1)
            record["outer_deltas"] = (of_chunks.mean(axis=1) - record["score_bench"]).tolist()
        return record

    def _one_number(self, prediction):
        if self.task == "classification" and self.n_classes != 2:
            return None
        return _single(prediction if prediction.ndim == 1 else prediction[:, 1])

    def _predict(self, predict, examples):
        return check_prediction(self.task, predict(examples.X), len(examples), self.n_classes)


def _single(values):
    largest = np.finfo(np.float32).max
    return values.clip(-largest, largest).astype(np.float32)
