"""What the plots share: their options, titles and reference lines."""
import math

from benchmark_utils.analysis.frames import labels, select
from benchmark_utils.analysis.summary import learners, tidy


def _options(component):
    return lambda results: list(dict.fromkeys(labels(results, component).values()))


learner_options = _options("learner")
#: the options of every plot of one data set and setting
DATA_OPTIONS = {"dataset": _options("dataset"), "setting": _options("setting")}


def heading(dataset, setting):
    return dataset if setting == "as configured" else f"{dataset}, {setting}"


def title(results, dataset, setting, says, needs_gain=False):
    """A plot's title: what it shows, of what, and why it is empty where it is."""
    lines = [says, heading(dataset, setting)]
    missing = needs_gain and _why_no_gain(results, dataset, setting)
    return "\n".join([*lines, missing] if missing else lines)


def _why_no_gain(results, dataset, setting):
    rows = select(tidy(results), dataset=dataset, setting=setting)
    summaries = learners(results, dataset, setting).values()
    if any(summary.gain is not None for summary in summaries):
        return None
    if rows.empty:
        return "No run of this data set and setting has a result"
    if not any(summary.n_ok for summary in summaries):
        return "Every split of every learner failed; see the table Summary"
    if rows["n_bench"].iloc[0] == 0:
        return "This data set has no benchmarking set, so the gain can't be measured"
    if rows["seed"].nunique() < 2:
        return "One seed only; a gain needs the variance over seeds: run with -r 30 or more"
    return "There are too few examples for an outer set: lower train_size"


def with_band(x, y, low, high, label, style):
    """Traces of a line and, below it and paler, of its interval band; one entry in the legend."""
    x, y = x.tolist(), y.tolist()
    red, green, blue, _ = style["color"]
    pale = {**style, "color": (red, green, blue, 0.25)}
    return [
        {"x": x, "y": y, "y_low": low.tolist(), "y_high": high.tolist(), "label": label, **pale},
        {"x": x, "y": y, "label": label, **style},
    ]


def reference(label, x, y, color="black"):
    """A trace that is no measurement."""
    return {"x": x, "y": y, "label": label, "color": color, "marker": 100}


def table_cells(table):
    """Cells of a table plot: plain numbers and text, an empty cell for what is missing."""
    return [
        ["" if isinstance(cell, float) and math.isnan(cell) else cell for cell in row]
        for row in table.astype(object).to_numpy().tolist()
    ]
