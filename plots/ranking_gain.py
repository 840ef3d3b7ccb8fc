import numpy as np
from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.ranking_gain import gain_notes, grid_options, ranking_gain_of


class Plot(BasePlot):
    """Ranking gain G_rank against the number of splits K."""
    name = "Ranking gain"
    type = "scatter"
    options = {"dataset": views.DATA_OPTIONS["dataset"], "setting": grid_options}

    def plot(self, df, dataset, setting):
        family, gain, _ = ranking_gain_of(df, dataset, setting)
        if gain is None or not np.isfinite(gain.gain).any():
            return []
        traces = views.with_band(
            gain.n_splits, gain.gain, gain.low, gain.high,
            f"G_rank of {' > '.join(family.learners)}", self.get_style("G_rank"),
        )
        ends = [1, int(gain.n_splits[-1])]
        return [
            *traces, views.reference("G = K", ends, ends),
            views.reference(
                "largest gain these training sizes can show", ends, 2 * [gain.ceiling],
                color="dimgray",
            ),
        ]

    def get_metadata(self, df, dataset, setting):
        _, gain, missing = ranking_gain_of(df, dataset, setting)
        says = views.title(
            df, dataset, setting,
            "How many times smaller a study set K splits need to rank all learners rightly",
        )
        return {
            "title": f"{says}\n{missing if gain is None else '; '.join(gain_notes(gain))}",
            "xlabel": "number of splits K", "ylabel": "ranking gain G_rank", "scale": "semilog-x",
        }
