from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.searches import algorithms, gap_of


class Plot(BasePlot):
    """Probability that the test-tuned configuration scores higher, against the budget."""
    name = "Win probability by budget"
    type = "scatter"
    options = views.DATA_OPTIONS

    def plot(self, df, dataset, setting):
        traces = []
        for algorithm in algorithms(df, dataset, setting):
            _, by_budget = gap_of(df, dataset, setting, algorithm)
            if not by_budget.n_runs.all():
                continue
            band = views.with_band(
                by_budget.budgets, by_budget.p_win, by_budget.p_win_low, by_budget.p_win_high,
                algorithm, self.get_style(algorithm),
            )
            traces += band if by_budget.n_runs.min() > 1 else band[1:]
        if traces:
            ends = [traces[0]["x"][0], traces[0]["x"][-1]]
            traces.append(views.reference("no overfitting", ends, [0.5, 0.5]))
        return traces

    def get_metadata(self, df, dataset, setting):
        return {
            "title": views.title(
                df, dataset, setting,
                "Win probability of test-tuning; overfitting is significant where its interval "
                "lies above 0.5",
                needs_both_rules=True,
            ),
            "xlabel": "budget T (configurations tried)", "ylabel": "P(gap > 0), ties one half",
            "scale": "linear",
        }
