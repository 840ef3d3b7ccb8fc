import numpy as np
from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.summary import learners


class Plot(BasePlot):
    """Correlation of the deltas of two splits against the sample gain, over learners."""
    name = "Fold correlation and gain"
    type = "scatter"
    options = views.DATA_OPTIONS

    def plot(self, df, dataset, setting):
        traces, K = [], 1
        for learner, summary in learners(df, dataset, setting).items():
            gain = summary.gain
            if gain is None or not np.isfinite(gain.correlation):
                continue
            K = max(K, int(gain.n_splits[-1]))
            traces.append({
                "x": [gain.correlation], "y": [gain.gain[-1]], "label": learner,
                **self.get_style(learner),
            })
        if traces:
            lowest = min(0, *(trace["x"][0] for trace in traces))
            rho = np.linspace(max(lowest, -0.5 / K), 1, 50)
            traces.append(views.reference(
                f"K / (1 + (K − 1)ρ), K = {K}", rho.tolist(), (K / (1 + (K - 1) * rho)).tolist(),
            ))
        return traces

    def get_metadata(self, df, dataset, setting):
        return {
            "title": views.title(
                df, dataset, setting, "Correlated splits are worth less", needs_gain=True,
                otherwise=None if self.plot(df, dataset, setting)
                else "Needs two splits or more, and deltas that vary",
            ),
            "xlabel": "correlation ρ_δ of the deltas of two splits of one seed",
            "ylabel": "sample gain G_K at the largest K",
            "scale": "semilog-y",
        }
