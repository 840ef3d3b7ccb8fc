from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.advice import advice_notes, advice_table


class Plot(BasePlot):
    """Whether more splits pay off, and which learner is better, from the study sets alone."""
    name = "Advice"
    type = "table"
    options = views.DATA_OPTIONS

    def plot(self, df, dataset, setting):
        return views.table_cells(advice_table(df, dataset, setting))

    def get_metadata(self, df, dataset, setting):
        columns = list(advice_table(df, dataset, setting).columns) or ["learner"]
        title = views.title(df, dataset, setting, "Is it worth going on, and which is better?")
        return {
            "title": "\n".join([title, *advice_notes(df, dataset, setting)]),
            "columns": columns,
            "default_order_column": "score" if "score" in columns else 0,
            "default_order_ascending": False,
        }
