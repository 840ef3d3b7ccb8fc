from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.triage import triage_notes, triage_table


class Plot(BasePlot):
    """What the redundancy of a few splits says of the gain, over all data sets and settings."""
    name = "Triage"
    type = "table"

    def plot(self, df):
        return views.table_cells(triage_table(df))

    def get_metadata(self, df):
        columns = list(triage_table(df).columns) or ["splits"]
        notes = triage_notes(df) or ["Needs runs with 20 splits or more, and a measured gain"]
        return {
            "title": "\n".join(["Early redundancy and the gain that follows", *notes]),
            "columns": columns,
            "default_order_column": 0,
            "default_order_ascending": True,
        }
