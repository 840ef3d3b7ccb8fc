from benchopt import BasePlot
from matplotlib.colors import to_rgba

from benchmark_utils.analysis import views
from benchmark_utils.analysis.searches import typical, winners


def rules(results):
    return [r for r in dict.fromkeys(results["p_solver_tuning"]) if r != "default"] or ["none"]


class Plot(BasePlot):
    """Where the winners' hyperparameters lie in their ranges."""
    name = "Winning configurations"
    type = "boxplot"
    options = {
        **views.DATA_OPTIONS, "algorithm": views.options_of_algorithms(set()), "rule": rules,
    }

    def plot(self, df, dataset, setting, algorithm, rule):
        won = winners(df, dataset, setting, algorithm, rule)
        boxes = []
        for name, of in won.groupby("hyperparameter", sort=True):
            label = f"{name} (typically {typical(of['value'])})"
            boxes.append({
                "x": [label], "y": [views.numbers(of["position"].astype(float))], "label": label,
                "color": views.pale(self.get_style(name)["color"]),
            })
        if not boxes:
            return views.empty_box("no search")
        whole = {"x": ["all configurations"], "y": [[0, 0.25, 0.5, 0.75, 1]], "label": "all"}
        return [*boxes, {**whole, "color": views.pale(to_rgba("gray"))}]

    def get_metadata(self, df, dataset, setting, algorithm, rule):
        return {
            "title": views.title(
                df, dataset, setting,
                f"{algorithm}, tuning={rule}: where the winners lie in their ranges; those that "
                "crowd at 0 or 1 ask for a wider range",
                otherwise=None if not winners(df, dataset, setting, algorithm, rule).empty
                else "Needs runs with a tuning other than default" if rule == "none"
                else f"{algorithm} has no search with tuning={rule} that found a winner",
            ),
            "xlabel": "", "ylabel": "position in the range (0 = lower end, 1 = upper end)",
            "scale": "linear",
        }
