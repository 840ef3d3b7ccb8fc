from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.frames import by_learner
from benchmark_utils.analysis.summary import final_rows


class Plot(BasePlot):
    """Test scores of all splits and seeds: a learner that fails badly on a few shows here."""
    name = "Score distributions"
    type = "boxplot"
    options = views.DATA_OPTIONS

    def plot(self, df, dataset, setting):
        boxes = [
            {"x": [learner], "y": [scores], "label": learner,
             "color": views.pale(self.get_style(learner)["color"])}
            for learner, part in by_learner(final_rows(df, dataset, setting))
            if (scores := views.numbers(part["score_test"]))
        ]
        return boxes or views.empty_box("no split succeeded")

    def get_metadata(self, df, dataset, setting):
        return {
            "title": views.title(df, dataset, setting, "Test scores of single splits"),
            "xlabel": "", "ylabel": "test score of one split", "scale": "linear",
        }
