import numpy as np
from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.searches import ranking_notes, ranking_of


class Plot(BasePlot):
    """Mean score of each algorithm under both rules, with 95 % intervals, and the line through
    them."""
    name = "Ranking under both rules"
    type = "scatter"
    options = views.DATA_OPTIONS

    def plot(self, df, dataset, setting):
        names, ranked = ranking_of(df, dataset, setting)
        if ranked is None:
            return []
        root = np.sqrt(ranked.n_runs)
        traces = []
        for i, name in enumerate(names):
            if np.isfinite(ranked.mean_val_tuned[i]):
                errors = 1.96 * np.nan_to_num(
                    [ranked.sd_val_tuned[i] / root[i], ranked.sd_test_tuned[i] / root[i]]
                )
                path = views.cross(
                    ranked.mean_val_tuned[i], errors[0], ranked.mean_test_tuned[i], errors[1]
                )
                traces.append({**path, "label": name, **self.get_style(name)})
        if not traces:
            return []
        ends = [min(min(t["x"]) for t in traces), max(max(t["x"]) for t in traces)]
        traces.append(views.reference("y = x (no gap)", ends, ends))
        slope, intercept = ranked.slope.value, ranked.intercept.value
        if np.isfinite(slope):
            fitted = [intercept + slope * x for x in ends]
            traces.append(views.reference("least-squares line", ends, fitted, color="dimgray"))
        return traces

    def get_metadata(self, df, dataset, setting):
        correlations = [note for note in ranking_notes(df, dataset, setting)
                        if note.startswith(("Spearman", "Kendall"))]
        return {
            "title": views.title(
                df, dataset, setting,
                "; ".join(["Do both rules rank the algorithms alike?", *correlations]),
                needs_both_rules=True,
                otherwise=None if self.plot(df, dataset, setting)
                else "Needs two algorithms that were tuned by both rules",
            ),
            "xlabel": "mean test score, val-tuned", "ylabel": "mean test score, test-tuned",
            "scale": "linear",
        }
