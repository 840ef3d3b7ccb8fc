from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.searches import algorithms, gap_of, per_run


class Plot(BasePlot):
    """Gap of each run, beside the run-to-run standard deviation of the val-tuned score."""
    name = "Adaptive overfitting gap"
    type = "boxplot"
    options = views.DATA_OPTIONS

    def plot(self, df, dataset, setting):
        boxes = []
        for algorithm in algorithms(df, dataset, setting):
            val, test = per_run(df, dataset, setting, algorithm)
            gap, _ = gap_of(df, dataset, setting, algorithm)
            boxes.append({
                "x": [algorithm, f"{algorithm}: sd"],
                "y": [(test - val).dropna().tolist(), views.numbers([gap.sd_val_tuned])],
                "label": algorithm, "color": views.pale(self.get_style(algorithm)["color"]),
            })
        return boxes or views.empty_box("no algorithm")

    def get_metadata(self, df, dataset, setting):
        return {
            "title": views.title(
                df, dataset, setting,
                "What choosing on the test set adds to the test score, per run, beside the "
                "run-to-run sd",
                needs_both_rules=True,
            ),
            "xlabel": "", "ylabel": "test-tuned − val-tuned test score",
            "scale": "linear",
        }
