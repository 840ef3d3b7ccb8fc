from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.ranking_gain import (
    LEVEL,
    grid_options,
    ranking_gain_of,
    seed_note,
)


class Plot(BasePlot):
    """Probability that K splits rank the learners as the benchmark does, against the training
    size."""
    name = "Ranking retrieval"
    type = "scatter"
    options = {"dataset": views.DATA_OPTIONS["dataset"], "setting": grid_options}

    def plot(self, df, dataset, setting):
        family, gain, _ = ranking_gain_of(df, dataset, setting)
        if gain is None:
            return []
        traces = []
        measured = gain.n_seeds > 0
        sizes = gain.train_sizes[measured].tolist()
        for j, K in enumerate(gain.n_splits.tolist()):
            if str(K).rstrip("0") in ("1", "2", "5") or K == gain.n_splits[-1]:
                label = f"K = {K}"
                traces.append({
                    "x": sizes, "y": gain.retrieval[measured, j].tolist(), "label": label,
                    **self.get_style(label),
                })
        ends = [sizes[0], sizes[-1]]
        order = " > ".join(family.learners)
        return [*traces, views.reference(f"level {LEVEL} of {order}", ends, [LEVEL, LEVEL])]

    def get_metadata(self, df, dataset, setting):
        _, gain, missing = ranking_gain_of(df, dataset, setting)
        says = views.title(
            df, dataset, setting, "How often the mean of K splits ranks all learners rightly"
        )
        return {
            "title": f"{says}\n{missing if gain is None else seed_note(gain)}",
            "xlabel": "training size N", "ylabel": "retrieval probability π_K(N)",
            "scale": "semilog-x",
        }
