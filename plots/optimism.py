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
        traces, sizes = [], {1}
        for rule in REPORTED:
            curve = {
                size: measured
                for size, measured in optimism_of(df, dataset, setting, algorithm, rule).items()
                if np.isfinite(measured.optimism)
            }
            if not curve:
                continue
            sizes |= set(curve)
            y = np.array([measured.optimism for measured in curve.values()])
            se = np.nan_to_num([measured.optimism_se for measured in curve.values()])
            traces += views.with_band(
                np.array(list(curve)), y, y - se, y + se, WORDS[rule], self.get_style(WORDS[rule])
            )
        if traces:
            ends = [int(min(sizes)), int(max(sizes))]
            traces.append(views.reference("the truth", ends, [0, 0]))
        return traces

    def get_metadata(self, df, dataset, setting, algorithm):
        return {
            "title": views.title(
                df, dataset, setting, f"{algorithm}: how far the reported score lies above the "
                "true one, ± one standard error", needs_bench=True,
                otherwise=None if self.plot(df, dataset, setting, algorithm)
                else "None of its runs has both scores",
            ),
            "xlabel": "configurations tried", "ylabel": "reported − true score",
            "scale": "semilog-x",
        }
