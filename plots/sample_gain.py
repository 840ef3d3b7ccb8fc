from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.summary import learners


class Plot(BasePlot):
    """Sample gain G_K against the number of splits K."""
    name = "Sample gain"
    type = "scatter"
    options = views.DATA_OPTIONS

    def plot(self, df, dataset, setting):
        traces, largest, ceiling = [], 1, None
        for learner, summary in learners(df, dataset, setting).items():
            gain = summary.gain
            if gain is None:
                continue
            largest, ceiling = max(largest, int(gain.n_splits[-1])), summary.ceiling
            traces += views.with_band(
                gain.n_splits, gain.gain, gain.low, gain.high, learner, self.get_style(learner)
            )
        if traces:
            ends = [1, largest]
            traces.append(views.reference("G = K (independent splits)", ends, ends))
            traces.append(views.reference(
                "n_study / n_test (each example tested once)", ends, [ceiling, ceiling],
                color="dimgray",
            ))
        return traces

    def get_metadata(self, df, dataset, setting):
        return {
            "title": views.title(
                df, dataset, setting, "How many times larger a test set K splits are worth",
                needs_gain=True,
            ),
            "xlabel": "number of splits K",
            "ylabel": "sample gain G_K",
            "scale": "loglog",
        }
