import numpy as np
from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.summary import final_rows, learners
from benchmark_utils.redundancy import predicted_gain


class Plot(BasePlot):
    """Redundancy of the splits, from the study set alone, against the measured sample gain."""
    name = "Redundancy and gain"
    type = "scatter"
    options = views.DATA_OPTIONS

    def plot(self, df, dataset, setting):
        traces = []
        for learner, summary in learners(df, dataset, setting).items():
            if summary.gain is None or not np.isfinite(summary.redundancy):
                continue
            traces.append({
                "x": [summary.redundancy], "y": [float(summary.gain.gain[-1])], "label": learner,
                **self.get_style(learner),
            })
        if traces:
            first = final_rows(df, dataset, setting).iloc[0]
            K = int(max(s.gain.n_splits[-1] for s in learners(df, dataset, setting).values()
                        if s.gain is not None))
            fraction = first["n_test"] / first["n_study"]
            omega = np.linspace(0, fraction, 50)
            predicted = predicted_gain(omega, K, fraction, first["procedure"])
            traces.append(views.reference(
                f"predicted gain, K = {K}", omega.tolist(), predicted.tolist()
            ))
        return traces

    def get_metadata(self, df, dataset, setting):
        return {
            "title": views.title(
                df, dataset, setting, "Redundant splits are worth less", needs_gain=True,
                otherwise=None if self.plot(df, dataset, setting)
                else "Needs splits whose test sets overlap, and losses that vary",
            ),
            "xlabel": "redundancy ω of the splits, from the study set alone",
            "ylabel": "sample gain G_K at the largest K",
            "scale": "semilog-y",
        }
