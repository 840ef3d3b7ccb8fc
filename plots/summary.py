from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.summary import notes, table


class Plot(BasePlot):
    """One row per learner: scores, spread, sample gain, redundancy, failures."""
    name = "Summary"
    type = "table"
    options = views.DATA_OPTIONS

    def plot(self, df, dataset, setting):
        return views.table_cells(table(df, dataset, setting))

    def get_metadata(self, df, dataset, setting):
        columns = list(table(df, dataset, setting).columns) or ["learner"]
        return {
            "title": "\n".join([
                views.heading(dataset, setting), *notes(df, dataset, setting)
            ]),
            "columns": columns,
            "default_order_column": "test" if "test" in columns else 0,
            "default_order_ascending": False,
        }
