import json
import warnings

import numpy as np
import pandas as pd
import pytest
import yaml
from benchopt.benchmark import Benchmark
from benchopt.plotting import plot_benchmark
from benchopt.results import read_results, save_results

from benchmark_utils.analysis.report import print_tables
from benchmark_utils.analysis.views import table_cells, with_band

SCALES = ("linear", "semilog-x", "semilog-y", "loglog")


@pytest.fixture(scope="module")
def normal(result_file):
    return read_results(result_file)


@pytest.fixture(scope="module")
def tuned(run_session):
    """Two algorithms under all tuning rules, three seeds."""
    rules = "tuning=[default,val,test,cv,nested,benchmark,memorise],n_configs=3,inner_folds=2"
    results, printed = run_session(
        "-d", "simulated[n_samples=1500,n_bench=1000]",
        "-o", "score trust[train_size=40,n_splits=2,val_size=0.2]",
        "-s", f"ridge[{rules}]", "-s", f"k_neighbors[{rules}]", "-r", 3,
    )
    assert results is not None, printed
    return results


def scores_of(results):
    return [
        name for name in results.columns
        if name.startswith("objective_")
        and name.endswith(("_test", "_bench", "_val", "delta", "redundancy", "_product", "_best"))
        and not name.startswith("objective_n_")
    ]


def one_seed(results):
    return results[results["idx_rep"] == 0].copy()


def one_split(results):
    return results[results["objective_split"].isin([0, -1])].copy()


def first_cell_failed(results):
    """Nothing could be chosen yet at a budget of one configuration."""
    first = results["objective_budget"] == 1
    return pd.concat([all_failed(results[first]), results[~first]], ignore_index=True)


def only_one_seed_at_first(results):
    first = (results["objective_budget"] == 1) & (results["idx_rep"] > 0)
    return pd.concat([all_failed(results[first]), results[~first]], ignore_index=True)


def without_bench(results):
    results = results.copy()
    results[[n for n in scores_of(results) if not n.endswith(("_test", "_val"))]] = np.nan
    return results.assign(objective_n_bench=0, objective_outer_deltas=None)


def without_outer(results):
    return results.assign(objective_outer_deltas=None)


def all_failed(results):
    results = results.copy()
    results[[*scores_of(results), "objective_fit_seconds", "objective_predict_seconds"]] = np.nan
    return results.assign(
        objective_outer_deltas=None, objective_status="failed", objective_config=-1,
        objective_hyperparameters="{}", objective_message="ValueError: no",
    )


def first_learner_failed(results):
    first = results["solver_name"] == results["solver_name"].iloc[0]
    return pd.concat([all_failed(results[first]), results[~first]], ignore_index=True)


def stopped(results):
    """The first learner made fewer splits."""
    first = results["solver_name"] == results["solver_name"].iloc[0]
    return results[~first | (results["objective_split"] < 3)].reset_index(drop=True)


def perfect(results):
    """Every prediction is right, so that no delta varies."""
    results = results.copy()
    results[scores_of(results)] = 0.0
    results["objective_outer_deltas"] = [
        None if d is None else np.zeros(len(d)) for d in results["objective_outer_deltas"]
    ]
    return results


def with_a_gap(results):
    """A second data set, which was run with another setting only."""
    one = results[["dataset_name", "objective_name"]].eq(
        results[["dataset_name", "objective_name"]].iloc[0]
    ).all(axis=1)
    other = results[one].assign(
        dataset_name="simulated[noise=9.0]", p_dataset_noise=9.0,
        objective_name="Score trust[n_splits=99]", p_obj_n_splits=99,
    )
    return pd.concat([results, other], ignore_index=True)


def as_they_are(results):
    return results.copy()


CASES = [
    *(("normal", variant) for variant in (
        as_they_are, one_seed, one_split, without_bench, without_outer, all_failed,
        first_learner_failed, stopped, perfect, with_a_gap,
    )),
    *(("tuned", variant) for variant in (
        as_they_are, one_seed, without_bench, all_failed, first_learner_failed, first_cell_failed,
        only_one_seed_at_first,
    )),
]
PLOTS = ["adaptive_overfitting_gap", "advice", "fold_correlation_and_gain", "optimism",
         "paired_comparisons", "predicted_and_measured_gain", "ranking_gain", "ranking_retrieval",
         "ranking_table", "ranking_under_both_rules", "redundancy_and_gain",
         "redundancy_by_metric", "reported_and_true_scores", "sample_gain", "score_distributions",
         "summary", "triage", "variance_of_the_estimate", "win_probability_by_budget",
         "winning_configurations"]


@pytest.fixture(scope="module")
def frames(normal, tuned):
    """frames[kind, variant]: made once, since the statistics remember their frame."""
    # One data set is enough for what has something unusual to it.
    results = {"normal": normal[normal["p_dataset_family"] == "linear"], "tuned": tuned}
    return {
        (kind, variant): variant(results[kind]) for kind, variant in CASES
    } | {("normal", as_they_are): normal.copy()}


@pytest.fixture(scope="module")
def plots(benchmark):
    return {plot._get_name(): plot for plot in benchmark.get_plots()}


def test_every_plot_is_tested(benchmark):
    files = {path.stem for path in (benchmark.benchmark_dir / "plots").glob("[!_]*.py")}
    assert files == set(PLOTS)


@pytest.mark.parametrize(
    "kind, variant", CASES, ids=[f"{kind}-{variant.__name__}" for kind, variant in CASES]
)
@pytest.mark.parametrize("name", PLOTS)
class TestEveryPlot:
    def test_page_can_show_it(self, plots, frames, name, variant, kind):
        """All combinations of options, as the page needs them: without NaN, which isn't JSON."""
        plot = plots[name]
        plot._check()
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            views, options = plot._get_all_plots(frames[kind, variant])
        assert len(views) == np.prod([len(values) for values in options.values()])
        for view in views.values():
            json.dumps(view, allow_nan=False)
            self.check(plot.type, view)
            is_empty = not any(map(len, view["data"] if plot.type == "table" else (
                y if plot.type == "boxplot" else [y]
                for trace in view["data"] for y in trace["y"]
            )))
            # What it shows, of what, and if it is empty why: the first two of these have no "what".
            lines = 1 if name in ("summary", "triage") else 2
            assert len(view["title"].split("\n")) >= lines + is_empty

    def check(self, kind, view):
        assert view["title"]
        if kind == "table":
            assert view["columns"] and len(set(view["columns"])) == len(view["columns"])
            assert all(len(row) == len(view["columns"]) for row in view["data"])
            order = view["default_order_column"]
            assert order in view["columns"] or order in range(len(view["columns"]))
            return
        assert view["scale"] in SCALES and {"xlabel", "ylabel"} <= set(view)
        for trace in view["data"]:
            assert trace["label"] and len(trace["x"]) == len(trace["y"]) > 0
            for end in ("y_low", "y_high"):
                assert len(trace.get(end, trace["y"])) == len(trace["y"])
            if "log" in view["scale"] and kind == "scatter":
                if view["scale"] in ("semilog-y", "loglog"):
                    assert min(trace["y"]) > 0
                if view["scale"] in ("semilog-x", "loglog"):
                    assert min(trace["x"]) > 0


def view_of(plots, results, name, **options):
    plot = plots[name]
    title = plot.get_metadata(results, **options)["title"]
    return plot.plot(results, **options), title


# Of the results as they are, and of the others, which have one data set.
LINEAR = dict(dataset="simulated (family=linear)", setting="n_splits=5")
FIVE = dict(dataset="simulated", setting="n_splits=5")
ONLY = dict(dataset="simulated", setting="as configured")


class TestSampleGain:
    def test_a_band_and_a_line_per_learner_and_two_references(self, plots, frames):
        traces, title = view_of(plots, frames["normal", as_they_are], "sample_gain", **LINEAR)
        learners = ["ridge", "decision_tree (max_depth=None)", "decision_tree (max_depth=3)"]
        assert [trace["label"] for trace in traces[:6]] == [n for n in learners for _ in range(2)]
        assert len(traces) == 8
        for band, line in zip(traces[0:6:2], traces[1:6:2], strict=True):
            assert line["x"] == [1, 2, 3, 4, 5] and line["y"][0] == 1
            assert band["y"] == line["y"]
            assert all(
                low <= y <= high
                for low, y, high in zip(band["y_low"], band["y"], band["y_high"], strict=True)
            )
        # n_study/n_test = 50/10
        assert traces[7]["y"] == [5, 5] and traces[6]["y"] == [1, 5]
        assert "simulated (family=linear), n_splits=5" in title

    @pytest.mark.parametrize("variant, said", [
        (one_seed, "One seed only"), (without_bench, "no benchmarking set"),
        (without_outer, "too few examples for an outer set"), (all_failed, "Every split of every"),
    ], ids=lambda value: getattr(value, "__name__", ""))
    @pytest.mark.parametrize("name", ["sample_gain", "fold_correlation_and_gain"])
    def test_empty_ones_say_why(self, plots, frames, name, variant, said):
        traces, title = view_of(plots, frames["normal", variant], name, **FIVE)
        assert traces == [] and said in title

    def test_a_failed_learner_is_left_out(self, plots, frames):
        traces, _ = view_of(plots, frames["normal", first_learner_failed], "sample_gain", **FIVE)
        assert "ridge" not in {trace["label"] for trace in traces} and len(traces) == 6

    def test_a_combination_that_was_not_run(self, plots, frames):
        traces, title = view_of(
            plots, frames["normal", with_a_gap], "sample_gain",
            dataset="simulated (noise=1)", setting="n_splits=99",
        )
        assert traces == [] and "No run of this data set and setting" in title


class TestSummary:
    def test_table(self, plots, frames):
        cells, title = view_of(plots, frames["normal", as_they_are], "summary", **LINEAR)
        columns = plots["summary"].get_metadata(frames["normal", as_they_are], **LINEAR)["columns"]
        assert [row[0] for row in cells] == [
            "ridge", "decision_tree (max_depth=None)", "decision_tree (max_depth=3)"
        ]
        assert columns[:3] == ["learner", "G_5", "95 %"]
        ok = columns.index("splits ok")
        assert {row[ok] for row in cells} == {"20/20"}
        for said in ("neg_mean_squared_error", "4 seeds", "5 splits", "40 training", "10 test",
                     "benchmarking set of 1,000"):
            assert said in title

    def test_means_by_hand(self, plots, frames):
        results = frames["normal", as_they_are]
        cells, _ = view_of(plots, results, "summary", **LINEAR)
        columns = plots["summary"].get_metadata(results, **LINEAR)["columns"]
        rows = results[
            results["solver_name"].str.startswith("ridge") & (results["p_obj_n_splits"] == 5)
            & (results["p_dataset_family"] == "linear")
        ]
        of_seeds = rows.groupby("idx_rep")["objective_score_test"].mean()
        assert cells[0][columns.index("test")] == pytest.approx(of_seeds.mean())
        assert cells[0][columns.index("sd K=5")] == pytest.approx(of_seeds.std())
        first = columns.index("ω")
        omega = rows[rows["objective_split"] == 4]["objective_redundancy"].mean()
        assert cells[0][first] == pytest.approx(omega)

    @pytest.mark.parametrize("name", ["summary", "advice", "redundancy_by_metric",
                                      "paired_comparisons"])
    def test_no_column_promises_splits_that_a_learner_left_out(self, plots, frames, name):
        results = frames["normal", stopped]
        columns = plots[name].get_metadata(results, **FIVE)["columns"]
        expected = {"summary": {"G_all", "sd K=all"}, "paired_comparisons": {"retrieved K=all"}}
        assert expected.get(name, {"ω_all"}) <= set(columns)
        assert not {"G_5", "sd K=5", "ω_2", "retrieved K=5"} & set(columns)

    def test_splits_that_were_left_out_are_said(self, plots, frames):
        assert "up to 5 splits" in view_of(plots, frames["normal", stopped], "summary", **FIVE)[1]

    def test_sizes_that_differ_are_said(self, plots, frames):
        # As with groups, and in a bootstrap.
        results = frames["normal", as_they_are].copy()
        results["objective_n_test"] += results["objective_split"]
        results["objective_n_val"] += results["objective_split"] % 2
        _, title = view_of(plots, results, "summary", **LINEAR)
        assert "5 splits each of 40 training, 0 to 1 validation and 10 to 14 test examples" in title

    def test_everything_failed(self, plots, frames):
        cells, title = view_of(plots, frames["normal", all_failed], "summary", **FIVE)
        assert "Every split of every learner failed; the first said: ValueError: no" in title
        assert len(cells) == 3 and all("0/20" in row for row in cells)

    def test_a_learner_failed(self, plots, frames):
        _, title = view_of(plots, frames["normal", first_learner_failed], "summary", **FIVE)
        assert "ridge: 20 of 20 splits failed or diverged" in title

    def test_a_combination_that_was_not_run(self, plots, frames):
        cells, title = view_of(
            plots, frames["normal", with_a_gap], "summary",
            dataset="simulated (noise=1)", setting="n_splits=99",
        )
        assert cells == [] and "No run of this data set and setting" in title


class TestTuning:
    def test_gap_is_shown_for_both_algorithms(self, plots, frames):
        boxes, _ = view_of(
            plots, frames["tuned", as_they_are], "adaptive_overfitting_gap", **ONLY
        )
        assert [box["label"] for box in boxes] == ["ridge", "k_neighbors"]
        # Never negative: both rules choose among the same fits, one of them by this score.
        assert all(min(box["y"][0]) >= 0 for box in boxes)

    def test_rules_that_chose_among_different_fits(self, plots, frames, capsys):
        results = frames["tuned", as_they_are]
        of_test = results["p_solver_tuning"] == "test"
        for names, is_empty in ((["ridge"], False), (["ridge", "k_neighbors"], True)):
            again = results.copy()
            is_other = of_test & again["solver_name"].str.startswith(tuple(names))
            again.loc[is_other, "objective_score_test"] -= 100
            _, title = view_of(plots, again, "ranking_under_both_rules", **ONLY)
            assert "Zero gaps" not in title and "left out" not in title
            for name in ("ranking_table", "adaptive_overfitting_gap"):
                _, title = view_of(plots, again, name, **ONLY)
                assert ("both of the same fits" in title) == is_empty
            print_tables(again, ["ranking"])
            out = capsys.readouterr().out
            assert all(f"{name} is left out: in seed 0" in out for name in names)

    def test_budgets_at_which_nothing_could_be_chosen_are_left_out(self, plots, frames):
        name = "win_probability_by_budget"
        for variant, budgets in ((as_they_are, [1, 2, 3]), (first_cell_failed, [2, 3])):
            traces, title = view_of(plots, frames["tuned", variant], name, **ONLY)
            assert {trace["label"] for trace in traces} >= {"ridge", "k_neighbors"}
            assert all(trace["x"] == budgets for trace in traces[:-1])
            assert traces[-1]["x"] == [budgets[0], budgets[-1]]
            assert "it isn't with fewer than 6 runs" in title
            assert ("At small budgets there are fewer" in title) == (variant is not as_they_are)
        traces, title = view_of(plots, frames["tuned", all_failed], name, **ONLY)
        assert traces == [] and "Every split of every learner failed" in title
        results = frames["tuned", as_they_are]
        other = ~results["p_solver_tuning"].isin(["val", "test"])
        traces, title = view_of(
            plots, pd.concat([all_failed(results[~other]), results[other]]), name, **ONLY)
        assert traces == [] and "No run has a configuration that didn't fail" in title

    def test_no_standard_error_of_one_run(self, plots, frames):
        results = frames["tuned", only_one_seed_at_first]
        traces, title = view_of(plots, results, "optimism", algorithm="ridge", **ONLY)
        bands = {trace["label"]: trace["x"] for trace in traces if "y_low" in trace}
        lines = {trace["label"]: trace["x"] for trace in traces if "y_low" not in trace}
        assert bands["best test score"] == [2, 3] and lines["best test score"] == [1, 2, 3]
        assert "At some budgets there are fewer runs" in title

    def test_gap_needs_both_rules(self, plots, frames):
        boxes, title = view_of(
            plots, frames["normal", as_they_are], "adaptive_overfitting_gap", **LINEAR
        )
        assert boxes[0]["y"] == [[]]
        assert "Needs runs of one algorithm with tuning=val and tuning=test" in title

    def test_memorised_test_set_is_the_least_trustworthy(self, tuned):
        full = tuned[(tuned["objective_budget"] == 3) & (tuned["objective_split"] >= 0)]
        means = full.groupby("p_solver_tuning")["objective_score_test"].mean()
        assert means["memorise"] > means["test"] >= means["val"]


class TestPage:
    def test_configured_plots_exist(self, benchmark):
        config = yaml.safe_load((benchmark.benchmark_dir / "config.yml").read_text())
        assert set(config["plots"]) <= set(PLOTS)
        assert len(config["plots"]) == len(set(config["plots"]))

    def test_views_show_configured_plots(self, benchmark):
        config = yaml.safe_load((benchmark.benchmark_dir / "config.yml").read_text())
        for name, view in config["plot_configs"].items():
            assert view["plot_kind"] in config["plots"], name
            assert view.get("scale", "linear") in SCALES, name

    def test_no_plot_has_a_name_that_begins_anothers(self, benchmark):
        # The page finds a plot's menus by the beginning of their names.
        names = benchmark.get_plot_names()
        assert len(names) == len(set(names))
        custom = sorted(set(PLOTS))
        for a in custom:
            assert [b for b in names if b != a and (b.startswith(a) or a.startswith(b))] == []

    @pytest.mark.parametrize(
        "kind, variant", [("normal", as_they_are), ("tuned", all_failed)], ids=["normal", "failed"]
    )
    def test_renders(self, benchmark, frames, kind, variant, tmp_path, monkeypatch, capsys):
        # The page and its index go to the benchmark's output folder.
        monkeypatch.setattr(Benchmark, "get_output_folder", lambda self: tmp_path)
        file = save_results(frames[kind, variant].copy(), tmp_path / "results.parquet")
        with warnings.catch_warnings():
            # Benchopt warns of views and options that it doesn't know.
            warnings.simplefilter("error", UserWarning)
            plot_benchmark(file, benchmark, display=False)
        page = (tmp_path / f"{benchmark.name}_results.html").read_text()
        config = yaml.safe_load((benchmark.benchmark_dir / "config.yml").read_text())
        options = {plot._get_name(): plot.options for plot in benchmark.get_plots()}
        for name in config["plots"]:
            assert name in page
            if "dataset" in options[name]:
                assert f"change_{name}_dataset" in page
        for view in config["plot_configs"]:
            assert view in page


class TestViews:
    def test_cells(self):
        table = pd.DataFrame({
            "a": [1, 2], "b": [np.nan, 0.5], "c": ["x", None], "d": np.array([3, 4], np.int64),
            "e": [True, False],
        })
        cells = table_cells(table)
        assert cells == [[1, "", "x", 3, True], [2, 0.5, None, 4, False]] or cells == [
            [1, "", "x", 3, True], [2, 0.5, "", 4, False]
        ]
        json.dumps(cells, allow_nan=False)
        assert table_cells(pd.DataFrame()) == []

    def test_band(self):
        style = {"color": (0.1, 0.2, 0.3, 1.0), "marker": 2}
        band, line = with_band(*(np.array([i, i + 1.0]) for i in range(4)), "ridge", style)
        assert (line["x"], line["y"]) == ([0, 1], [1, 2]) and "y_low" not in line
        assert (band["y_low"], band["y_high"]) == ([2, 3], [3, 4])
        assert band["label"] == line["label"] == "ridge"
        assert band["color"][:3] == line["color"][:3] and band["color"][3] < line["color"][3]

    def test_band_with_gaps(self):
        style, nan = {"color": (0.1, 0.2, 0.3, 1.0), "marker": 2}, np.nan
        x, y, low, high = np.array([
            [0, 1, 2, 3], [nan, 5, 6, 7], [nan, nan, 5, -np.inf], [nan, nan, 7, 9],
        ])
        band, line = with_band(x, y, low, high, "ridge", style)
        assert (line["x"], line["y"]) == ([1, 2, 3], [5, 6, 7])
        assert (band["x"], band["y"], band["y_low"], band["y_high"]) == ([2], [6], [5], [7])
        (line,) = with_band(x[1:2], y[1:2], low[1:2], high[1:2], "ridge", style)
        assert line["x"] == [1] and "y_low" not in line
        assert with_band(x[:1], y[:1], low[:1], high[:1], "ridge", style) == []
