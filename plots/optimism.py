import numpy as np
from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.searches import REPORTED, optimism_of

WORDS = {
    "default": "no search", "val": "best validation score", "test": "best test score",
    "cv": "best cross-validated score", "nested": "nested cross-validation",
}


class Plot(BasePlot):
    """Reported minus true score against the number of configurations, ± one standard error."""
    name = "Optimism"
    type = "scatter"
    options = {**views.DATA_OPTIONS, "algorithm": views.options_of_algorithms(set())}

    def plot(self, df, dataset, setting, algorithm):
        traces = []
        for rule in REPORTED:
            curve = optimism_of(df, dataset, setting, algorithm, rule)
            y, se = (np.array([getattr(of_size, what) for of_size in curve.values()], float)
                     for what in ("optimism", "optimism_se"))
            traces += views.with_band(
                np.array(list(curve)), y, y - se, y + se, WORDS[rule], self.get_style(WORDS[rule])
            )
        if traces:
            sizes = {1, *(size for trace in traces for size in trace["x"])}
            traces.append(views.reference("the truth", [min(sizes), max(sizes)], [0, 0]))
        return traces

    def _runs(self, df, dataset, setting, algorithm):
        """What the title says of numbers of runs that don't show."""
        curves = [optimism_of(df, dataset, setting, algorithm, rule) for rule in REPORTED]
        fewer = any(len({of_size.n_repetitions for of_size in curve.values()}) > 1
                    for curve in curves)
        return ("\nAt some budgets there are fewer runs, as all that was tried in others failed"
                if fewer else "")

    def get_metadata(self, df, dataset, setting, algorithm):
        return {
            "title": views.title(
                df, dataset, setting, f"{algorithm}: how far the reported score lies above the "
                "true one, ± one standard error" + self._runs(df, dataset, setting, algorithm),
                needs_bench=True,
                otherwise=None if self.plot(df, dataset, setting, algorithm)
                else "None of its runs has both scores",
            ),
            "xlabel": "configurations tried", "ylabel": "reported − true score",
            "scale": "semilog-x",
        }
