from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.comparison import comparison_notes, comparison_table


class Plot(BasePlot):
    """One row per pair of learners: difference, its tests, wins, and the benchmark's verdict."""
    name = "Paired comparisons"
    type = "table"
    options = views.DATA_OPTIONS

    def plot(self, df, dataset, setting):
        return views.table_cells(comparison_table(df, dataset, setting))

    def get_metadata(self, df, dataset, setting):
        columns = list(comparison_table(df, dataset, setting).columns) or ["a"]
        title = views.title(df, dataset, setting, "Paired comparisons of learners")
        return {
            "title": "\n".join([title, *comparison_notes(df, dataset, setting)]),
            "columns": columns,
            "default_order_column": "a − b" if "a − b" in columns else 0,
            "default_order_ascending": False,
        }
