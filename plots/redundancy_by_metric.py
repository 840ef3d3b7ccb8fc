from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.redundancy_table import redundancy_table


class Plot(BasePlot):
    """Redundancy of the splits for each metric, and the gain that it predicts."""
    name = "Redundancy by metric"
    type = "table"
    options = views.DATA_OPTIONS

    def plot(self, df, dataset, setting):
        return views.table_cells(redundancy_table(df, dataset, setting))

    def get_metadata(self, df, dataset, setting):
        columns = list(redundancy_table(df, dataset, setting).columns) or ["learner"]
        return {
            "title": views.title(
                df, dataset, setting, "How much splits repeat each other",
                otherwise="Needs splits whose test sets overlap, and losses that vary"
                if redundancy_table(df, dataset, setting).empty else None,
            ),
            "columns": columns,
            "default_order_column": 0,
            "default_order_ascending": True,
        }
