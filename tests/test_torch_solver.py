"""Solvers that train modules in groups: the same rows, however the fits come about."""
import re
import shutil
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("torch")

ROOT = Path(__file__).parents[1]
DATA = "simulated[family=classification,n_samples=2000,n_bench=1000]"
NET = "arch=mini,n_steps=30,batch_size=16,n_configs=4"
SMALL = "score trust[train_size=80,val_size=0.2,n_splits=2]"


def rows(results, **solver):
    """Rows of a result file without what may differ: times, and how the fits were grouped."""
    for name, value in solver.items():
        results = results[results[f"p_solver_{name}"] == value]
    own = [c for c in results if c.startswith("objective_") and not c.endswith("_seconds")]
    return (
        results[["idx_rep", *own]].drop(columns="objective_outer_deltas")
        .sort_values(["idx_rep", "objective_split", "objective_budget"]).reset_index(drop=True)
    )


def assert_close(a, b):
    pd.testing.assert_frame_equal(a, b, check_exact=False, rtol=1e-5, atol=1e-6)


def journals(cache):
    return {
        path: path.read_bytes().splitlines(keepends=True) for path in cache.rglob("*.journal")
    }


@pytest.fixture(scope="module")
def reference(run_session):
    """Three rules, each repetition on its own."""
    results, printed = run_session(
        "-d", DATA, "-o", SMALL, "-r", 3, "-s", f"residual_mlp[tuning=[val,test,nested],{NET}]",
    )
    assert results is not None, printed
    assert (results["objective_status"] == "ok").all()
    return results


class TestRows:
    def test_one_per_split_and_budget(self, reference):
        assert len(reference) == 3 * 3 * 2 * 4
        assert (reference["objective_fit_seconds"] > 0).all()

    def test_test_tuned_is_never_below_val_tuned(self, reference):
        val, test = (rows(reference, tuning=rule) for rule in ("val", "test"))
        gap = test["objective_score_test"] - val["objective_score_test"]
        assert (gap >= 0).all() and (gap > 0).any()

    @pytest.mark.parametrize("n_runs", [2, 3])
    def test_do_not_depend_on_how_many_runs_are_trained_at_once(self, reference, run, n_runs):
        results, printed = run(
            "-d", DATA, "-o", SMALL, "-r", 3,
            "-s", f"residual_mlp[tuning=[val,nested],{NET},runs_at_once={n_runs}]",
        )
        assert results is not None, printed
        for rule in ("val", "nested"):
            assert_close(rows(results, tuning=rule), rows(reference, tuning=rule))

    def test_do_not_depend_on_workers(self, reference, run):
        results, printed = run(
            "-d", DATA, "-o", SMALL, "-r", 3, "-j", 2,
            "-s", f"residual_mlp[tuning=[test,val],{NET},runs_at_once=3]",
        )
        assert results is not None, printed
        for rule in ("val", "test"):
            assert_close(rows(results, tuning=rule), rows(reference, tuning=rule))

    def test_first_configurations_of_a_larger_budget(self, reference, run):
        results, _ = run(
            "-d", DATA, "-o", SMALL, "-r", 3,
            "-s", f"residual_mlp[tuning=val,{NET.replace('n_configs=4', 'n_configs=6')}]",
        )
        # The redundancy is that of the largest budget's choice.
        a, b = (
            frame.loc[:, ~frame.columns.str.contains("redundancy")]
            for frame in (rows(results[results["objective_budget"] <= 4]),
                          rows(reference, tuning="val"))
        )
        assert_close(a, b)


class TestStore:
    ARGUMENTS = ("-d", DATA, "-o", SMALL, "-r", 2)
    SOLVER = f"residual_mlp[{NET},runs_at_once=2,tuning="

    def test_rules_share_fits_and_all_runs_are_made_by_the_first(self, run, tmp_path):
        run(*self.ARGUMENTS[:-1], 1, "-s", self.SOLVER + "val]")
        kept = journals(tmp_path / "cache")
        # Two repetitions of two splits and four configurations, though one was run.
        assert sorted(map(len, kept.values())) == [8, 8]
        run(*self.ARGUMENTS, "-s", self.SOLVER + "[val,test]]")
        assert journals(tmp_path / "cache") == kept

    def test_what_is_missing_is_made_as_it_would_have_been(self, run, tmp_path):
        """As after a kill: some entries of both runs, and none of Benchopt's results."""
        first, _ = run(*self.ARGUMENTS, "-s", self.SOLVER + "val]")
        kept = journals(tmp_path / "cache")
        for path, lines in kept.items():
            path.write_bytes(b"".join(lines[:3]))
        for folder in tmp_path.glob("cache/*/benchopt"):
            shutil.rmtree(folder)
        again, printed = run(*self.ARGUMENTS, "-s", self.SOLVER + "val]")
        pd.testing.assert_frame_equal(rows(again), rows(first), check_exact=True)
        for path, lines in kept.items():
            now = path.read_bytes().splitlines(keepends=True)
            assert now[:3] == lines[:3] and len(now) == len(lines) == 8
        assert re.search(r"residual_mlp.*: 3 fits found, 5 made", printed), printed

    def test_tpe_goes_its_own_way_from_the_same_start(self, run):
        results, printed = run(
            *self.ARGUMENTS, "-s",
            "residual_mlp[arch=tiny,n_steps=10,n_configs=12,search=tpe,tuning=[val,test]]",
        )
        assert results is not None, printed
        assert (results["objective_status"] == "ok").all()
        assert results["objective_budget"].max() == 12


class TestData:
    @pytest.mark.parametrize(("dataset", "least"), [("breast_cancer", 0.9), ("diabetes", -5000)])
    def test_tables(self, run, dataset, least):
        # A table of numbers and a target far from the unit scale (variance 5,930).
        results, printed = run(
            "-d", f"tabular[dataset={dataset}]", "-o", "score trust[train_size=150,n_splits=2]",
            "-s", "residual_mlp[arch=mini,n_steps=300,batch_size=32]",
        )
        assert results is not None, printed
        assert results["objective_score_test"].mean() > least

    def test_a_csv_with_categories_and_missing_values(self, run, tmp_path):
        rng = np.random.default_rng(0)
        x = rng.standard_normal(200)
        pd.DataFrame({
            "x": np.where(rng.random(200) < 0.1, np.nan, x),
            "town": rng.choice(["Aix", "Brest", None], 200),
            "y": np.where(x + 0.3 * rng.standard_normal(200) > 0, "yes", "no"),
        }).to_csv(tmp_path / "own.csv", index=False)
        results, printed = run(
            "-d", f"tabular[path='{tmp_path / 'own.csv'}',target=y,task=classification]",
            "-o", "score trust[train_size=100,n_splits=3]",
            "-s", "residual_mlp[arch=tiny,n_steps=200,batch_size=32]",
        )
        assert results is not None, printed
        assert results["objective_score_test"].mean() > 0.7

    def test_memorise_reaches_the_ceiling(self, run):
        results, _ = run(
            "-d", DATA, "-o", SMALL,
            "-s", "residual_mlp[arch=base,n_steps=2000,batch_size=16,learning_rate=0.003,"
            "n_configs=3,tuning=memorise]",
        )
        best = results[results["objective_budget"] == 3]["objective_score_test"]
        assert (best > 0.95).all()


class TestFailures:
    def test_a_diverged_configuration_is_a_status(self, run):
        results, _ = run(
            "-d", DATA, "-o", SMALL, "-s", "residual_mlp[arch=tiny,n_steps=30]",
            "-s", "residual_mlp[arch=tiny,n_steps=30,learning_rate=1e30]",
        )
        bad = results["p_solver_learning_rate"] == 1e30
        assert set(results[bad]["objective_status"]) == {"diverged"}
        assert results[bad]["objective_score_test"].isna().all()
        assert set(results[~bad]["objective_status"]) == {"ok"}

    @pytest.mark.parametrize(("parameter", "message"), [
        ("arch=middling", "arch='middling' is none of tiny, mini"),
        ("runs_at_once=0", "runs_at_once=0 is not an integer"),
    ])
    def test_wrong_parameters_are_skipped_with_a_reason(self, run, parameter, message):
        results, printed = run(
            "-d", DATA, "-o", SMALL, "-s", f"residual_mlp[{parameter}]", "-s", "ridge",
        )
        assert set(results["solver_name"].str.partition("[")[0]) == {"ridge"}
        assert message in printed

    def test_without_pytorch(self, run):
        results, printed = run(
            "-d", DATA, "-o", SMALL, "-s", "residual_mlp", "-s", "ridge", without=["torch"],
        )
        assert set(results["solver_name"].str.partition("[")[0]) == {"ridge"}
        assert re.search(r"residual_mlp.*not installed", printed, re.S), printed

    def test_others_do_not_wait_for_pytorch(self, benchmark):
        """Benchopt loads all components for every run."""
        program = f"""
            import sys
            from benchopt.benchmark import Benchmark
            benchmark = Benchmark({str(benchmark.benchmark_dir)!r})
            benchmark.get_solvers(), benchmark.get_datasets(), benchmark.get_plots()
            heavy = {{"torch", "torchvision", "transformers", "datasets", "sentence_transformers"}}
            print(sorted(heavy & set(sys.modules)))
        """
        done = subprocess.run([sys.executable, "-c", dedent(program)], capture_output=True,
                              text=True)
        assert done.stdout.strip() == "[]", done.stdout + done.stderr

    def test_a_contributed_solver_whose_module_fails_for_some(self, run, tmp_path):
        """Its own module, loss and optimiser settings; some can't be built, others not trained."""
        (tmp_path / "own.py").write_text(dedent('''
            import numpy as np
            from benchopt import safe_import_context
            from benchmark_utils.torch_solver import Recipe, TorchSolver

            with safe_import_context() as import_ctx:
                import torch

            class Solver(TorchSolver):
                name = "own"
                parameters = {**TorchSolver.parameters, "width": [4], "rate": [0.01]}
                search_space = {"width": [4, 8, -1], "rate": [0.1, 0.01, -1.0]}

                def build(self, input_shape, n_outputs, config):
                    if config["width"] < 0:
                        raise ValueError("a negative width")
                    return torch.nn.Sequential(
                        torch.nn.Linear(input_shape[0], config["width"]), torch.nn.Tanh(),
                        torch.nn.Linear(config["width"], n_outputs),
                    )

                def recipe(self, config, n_train):
                    if config["rate"] < 0:
                        raise ValueError("a negative rate")
                    return Recipe(np.full(40, config["rate"]), 16)

                def loss(self, outputs, y):
                    return torch.nn.functional.cross_entropy(outputs, y, label_smoothing=0.1)
        '''))
        results, printed = run(
            "-d", DATA, "-o", SMALL,
            "-s", f"{tmp_path / 'own.py'}[tuning=val,n_configs=9,search=grid]",
        )
        assert results is not None, printed
        last = results[results["objective_budget"] == 9]
        assert set(last["objective_n_failed_configs"]) == {5}
        assert set(last["objective_status"]) == {"ok"}
        assert not last["objective_hyperparameters"].str.contains("-1").any()

    @pytest.mark.parametrize("parameter", ["batch_size=0", "n_steps=0", "n_steps=many"])
    def test_what_trains_nothing_has_no_score(self, run, parameter):
        results, printed = run("-d", DATA, "-o", SMALL, "-s", f"residual_mlp[{parameter}]")
        assert results is not None, printed
        assert set(results["objective_status"]) == {"failed"}
        assert results["objective_score_test"].isna().all()
