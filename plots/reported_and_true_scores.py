from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.searches import optimism_table


class Plot(BasePlot):
    """What each rule reports, the truth, and what tuning bought."""
    name = "Reported and true scores"
    type = "table"
    options = views.DATA_OPTIONS

    def plot(self, df, dataset, setting):
        return views.table_cells(optimism_table(df, dataset, setting))

    def get_metadata(self, df, dataset, setting):
        return {
            "title": views.title(
                df, dataset, setting,
                "What each rule reports, the truth, and what tuning bought", needs_bench=True,
                otherwise="Needs runs with a tuning other than default"
                if optimism_table(df, dataset, setting).empty else None,
            ),
            "columns": list(optimism_table(df, dataset, setting).columns) or ["algorithm"],
            "default_order_column": 0,
        }
