import numpy as np
from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.summary import final_rows, learners
from benchmark_utils.redundancy import predicted_gain


class Plot(BasePlot):
    """Sample gain that the redundancy after five splits predicts, against the measured one."""
    name = "Predicted and measured gain"
    type = "scatter"
    options = views.DATA_OPTIONS

    def plot(self, df, dataset, setting):
        rows, traces = final_rows(df, dataset, setting), []
        for learner, summary in learners(df, dataset, setting).items():
            early = rows[(rows["learner"] == learner) & (rows["split"] < 5)]
            after = early.dropna(subset="redundancy").sort_values("split").groupby("seed").last()
            if summary.gain is None or after.empty:
                continue
            first = early.iloc[0]
            predicted = predicted_gain(
                after["redundancy"].mean(), summary.gain.n_splits[-1],
                first["n_test"] / first["n_study"], first["procedure"],
            )
            measured = float(summary.gain.gain[-1])
            if np.isfinite([predicted, measured]).all():
                traces.append({
                    "x": [float(predicted)], "y": [measured], "label": learner,
                    **self.get_style(learner),
                })
        if traces:
            values = [value for trace in traces for value in (*trace["x"], *trace["y"])]
            ends = [min(values), max(values)]
            traces.append(views.reference("as predicted", ends, ends))
        return traces

    def get_metadata(self, df, dataset, setting):
        return {
            "title": views.title(
                df, dataset, setting, "What five splits promise, and what all bring",
                needs_gain=True,
                otherwise=None if self.plot(df, dataset, setting)
                else "Needs splits whose test sets overlap, and losses that vary",
            ),
            "xlabel": "gain predicted from the redundancy ω after five splits",
            "ylabel": "sample gain G_K at the largest K",
            "scale": "loglog",
        }
