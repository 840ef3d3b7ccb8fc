import numpy as np
from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.gain import single_split_variance
from benchmark_utils.analysis.summary import learners

LEVELS = (2, 5, 10, 20, 50, 100, 200, 500, 1000)


class Plot(BasePlot):
    """Variance of a single split with m test examples, and levels reached by K splits."""
    name = "Variance of the estimate"
    type = "scatter"
    options = {**views.DATA_OPTIONS, "learner": views.learner_options}

    def plot(self, df, dataset, setting, learner):
        summary = learners(df, dataset, setting).get(learner)
        if summary is None or summary.gain is None:
            return []
        gain, n_test = summary.gain, summary.n_test
        multiple = np.geomspace(1, gain.n_chunks, 30)
        single = single_split_variance(multiple, gain.chunk_variance, gain.chunk_covariance)
        # A negative covariance, by chance, can make the last ones negative; the axis is a log one.
        positive = single > 0
        if not positive.any():
            return []
        sizes = (multiple * n_test).tolist()
        traces = [{
            "x": (multiple * n_test)[positive].tolist(), "y": single[positive].tolist(),
            "label": "one split, m test examples", **self.get_style(learner),
        }]
        for K, level in zip(gain.n_splits.tolist(), gain.variance.tolist(), strict=True):
            if K in LEVELS or K == gain.n_splits[-1]:
                label = f"{K} splits, {n_test} test examples each"
                traces.append({
                    "x": [sizes[0], sizes[-1]], "y": [level, level], "label": label,
                    **self.get_style(label),
                })
        return traces

    def get_metadata(self, df, dataset, setting, learner):
        return {
            "title": views.title(
                df, dataset, setting,
                f"{learner}: variance over seeds of test score − benchmark score",
                needs_gain=True,
                otherwise=None if self.plot(df, dataset, setting, learner)
                else "Its deltas have no variance over seeds, or there are none",
            ),
            "xlabel": "number m of test examples of the single split",
            "ylabel": "variance",
            "scale": "loglog",
        }
