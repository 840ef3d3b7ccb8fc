"""What the plots share: their options, titles and reference lines."""
import math

import numpy as np

from benchmark_utils.analysis.frames import labels, select
from benchmark_utils.analysis.searches import algorithms
from benchmark_utils.analysis.summary import learners, tidy


def _options(component):
    return lambda results: list(dict.fromkeys(labels(results, component).values()))


learner_options = _options("learner")
#: the options of every plot of one data set and setting
DATA_OPTIONS = {"dataset": _options("dataset"), "setting": _options("setting")}


def heading(dataset, setting):
    return dataset if setting == "as configured" else f"{dataset}, {setting}"


def title(results, dataset, setting, says, needs_gain=False, needs_both_rules=False,
          needs_bench=False, otherwise=None):
    """A plot's title: what it shows, of what, and why it is empty where it is.

    `otherwise` is said of an empty plot that has all it needs.
    """
    missing = _what_is_missing(
        results, dataset, setting, needs_gain, needs_both_rules, needs_bench
    ) or otherwise
    return "\n".join([says, heading(dataset, setting), *([missing] if missing else [])])


def _what_is_missing(results, dataset, setting, needs_gain, needs_both_rules, needs_bench):
    rows = select(tidy(results), dataset=dataset, setting=setting)
    if rows.empty:
        return "No run of this data set and setting has a result"
    if not (rows["status"] == "ok").any():
        return "Every split of every learner failed; see the table Summary"
    has_bench = rows["n_bench"].iloc[0] > 0
    summaries = learners(results, dataset, setting).values() if needs_gain else ()
    if needs_gain and all(summary.gain is None for summary in summaries):
        if not has_bench:
            return "This data set has no benchmarking set, so the gain can't be measured"
        if rows["seed"].nunique() < 2:
            return "One seed only; a gain needs the variance over seeds: run with -r 30 or more"
        return "There are too few examples for an outer set: lower train_size"
    if needs_both_rules and not algorithms(results, dataset, setting):
        return "Needs runs of one algorithm with tuning=val and tuning=test, both of the same fits"
    if needs_bench and not has_bench:
        return "This data set has no benchmarking set, so there is no truth to compare with"
    return None


def with_band(x, y, low, high, label, style):
    """Traces of a line and, below it and paler, of its interval band; one entry in the legend.

    Points that aren't finite are left out; where only their intervals aren't, so is the band.
    """
    line, band = np.isfinite(y), np.isfinite([y, low, high]).all(axis=0)
    traces = []
    if band.any():
        traces.append({
            "x": x[band].tolist(), "y": y[band].tolist(), "label": label,
            "y_low": low[band].tolist(), "y_high": high[band].tolist(),
            "marker": style["marker"], "color": pale(style["color"], 0.25),
        })
    if line.any():
        traces.append({"x": x[line].tolist(), "y": y[line].tolist(), "label": label, **style})
    return traces


def pale(color, opacity=0.5):
    """The same colour (red, green, blue, opacity), see-through: a box shows its median."""
    return (*color[:3], opacity)


def options_of_algorithms(rules):
    """Option of a plot: the algorithms that have runs under all these rules, or "none"."""
    def options(results):
        tuned = results.groupby(results["solver_name"].map(labels(results, "algorithm")),
                                sort=False)["p_solver_tuning"].agg(set)
        return [name for name, has in tuned.items() if rules <= has] or ["none"]

    return options


def cross(x, x_error, y, y_error):
    """Path of a point with its error bars."""
    return {
        "x": [x - x_error, x + x_error, x, x, x], "y": [y, y, y, y - y_error, y + y_error],
    }


def empty_box(label):
    """Benchopt's page needs at least one box."""
    return [{"x": [label], "y": [[]], "label": label, "color": "black"}]


def reference(label, x, y, color="black"):
    """A trace that is no measurement."""
    return {"x": x, "y": y, "label": label, "color": color, "marker": 100}


def table_cells(table):
    """Cells of a table plot: plain numbers and text, an empty cell for what is missing."""
    def plain(cell):
        cell = cell.item() if isinstance(cell, np.generic) else cell
        return "" if isinstance(cell, float) and math.isnan(cell) else cell

    return [[plain(cell) for cell in row] for row in table.astype(object).to_numpy().tolist()]


def numbers(values):
    """The finite ones, as a list."""
    return [float(value) for value in values if math.isfinite(value)]
