from benchopt import BasePlot

from benchmark_utils.analysis import views
from benchmark_utils.analysis.gap import MIN_RUNS
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
            traces += views.with_band(
                by_budget.budgets, by_budget.p_win, by_budget.p_win_low, by_budget.p_win_high,
                algorithm, self.get_style(algorithm),
            )
        if traces:
            budgets = [budget for trace in traces for budget in trace["x"]]
            traces.append(
                views.reference("no overfitting", [min(budgets), max(budgets)], [0.5, 0.5])
            )
        return traces

    def _runs(self, df, dataset, setting):
        """What the title says of numbers of runs that don't show."""
        by_budgets = [gap_of(df, dataset, setting, algorithm)[1]
                      for algorithm in algorithms(df, dataset, setting)]
        few = any((of.n_runs < MIN_RUNS).any() for of in by_budgets)
        fewer = any(len(set(of.n_runs)) > 1 for of in by_budgets)
        return (f"; it isn't with fewer than {MIN_RUNS} runs" if few else "") + (
            "\nAt small budgets there are fewer runs, as all that was tried in others failed"
            if fewer else "")

    def get_metadata(self, df, dataset, setting):
        return {
            "title": views.title(
                df, dataset, setting,
                "Win probability of test-tuning; overfitting is significant where its interval "
                "lies above 0.5" + self._runs(df, dataset, setting),
                needs_both_rules=True, otherwise=None if self.plot(df, dataset, setting)
                else "No run has a configuration that didn't fail",
            ),
            "xlabel": "budget T (configurations tried)", "ylabel": "P(gap > 0), ties one half",
            "scale": "linear",
        }
