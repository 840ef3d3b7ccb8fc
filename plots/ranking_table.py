from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.searches import ranking_notes, ranking_table


class Plot(BasePlot):
    """Mean, sd and rank of each algorithm under both rules, and its gap."""
    name = "Ranking table"
    type = "table"
    options = views.DATA_OPTIONS

    def plot(self, df, dataset, setting):
        return views.table_cells(ranking_table(df, dataset, setting))

    def get_metadata(self, df, dataset, setting):
        columns = list(ranking_table(df, dataset, setting).columns) or ["algorithm"]
        title = views.title(
            df, dataset, setting, "Ranking under both tuning rules", needs_both_rules=True,
        )
        return {
            "title": "\n".join([title, *ranking_notes(df, dataset, setting)]),
            "columns": columns,
            "default_order_column": "val-tuned" if "val-tuned" in columns else 0,
            "default_order_ascending": False,
        }
