"""Runs through Benchopt, as a user starts them."""
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchopt.results import save_results
from benchopt.utils.run_context import RunContext

from benchmark_utils.analysis import report
from benchmark_utils.analysis.frames import by_learner, tidy
from benchmark_utils.analysis.summary import learners, table

ROOT = Path(__file__).parents[1]
DATA = "simulated[n_samples=1500,n_bench=1000]"
SOLVERS = ["ridge", "extra_trees[n_estimators=5]", "hist_gradient_boosting[max_iter=5]",
           "mlp[max_iter=10]"]
TIMES = {"time", "objective_fit_seconds", "objective_predict_seconds", "run_date"}


def options(names, flag="-s"):
    return [argument for name in names for argument in (flag, name)]


def settings(**parameters):
    chosen = ",".join(f"{name}={value}" for name, value in parameters.items())
    return ["-o", f"score trust[train_size=40,{chosen}]"]


def in_order(results, *conditions):
    """Rows in an order of their own, without what no two runs share."""
    for column, value in conditions:
        results = results[results[column] == value]
    keys = ["dataset_name", "objective_name", "solver_name", "idx_rep", "objective_split"]
    kept = [name for name in results.columns if name not in TIMES and not name.startswith("env-")]
    return results.sort_values(keys)[kept].reset_index(drop=True)


def scores_of(results):
    return results[sorted(name for name in results.columns if name.startswith("objective_")
                          and name != "objective_name" and name not in TIMES)]


def without_colors(printed):
    return re.sub(r"\x1b\[[0-9;]*m", "", printed)


def lines_with(printed, text):
    return [line for line in without_colors(printed).splitlines() if text in line]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("runs")


COMMAND = ["-d", DATA, *settings(n_splits=10, procedure="[mccv,fixed_split,bootstrap]"),
           *options(SOLVERS), "-r", 3]


@pytest.fixture(scope="module")
def first(run_session, folder):
    results, printed = run_session(*COMMAND, cache=folder / "cache")
    assert results is not None, printed
    return results


def test_rows(first):
    assert len(first) == 4 * 3 * 3 * 10
    assert (first["objective_status"] == "ok").all()
    keys = ["objective_name", "solver_name", "idx_rep", "objective_split"]
    assert not first[keys].duplicated().any()


class TestReproducibility:
    def test_order_of_solvers_does_not_matter(self, first, run_session):
        results, printed = run_session(
            "-d", DATA, *settings(n_splits=10), *options(SOLVERS[::-1]), "-r", 3
        )
        assert results["solver_name"].iloc[0] != first["solver_name"].iloc[0], printed
        expected = in_order(first, ("p_obj_procedure", "mccv"))
        pd.testing.assert_frame_equal(
            in_order(results), expected, check_like=True, check_exact=True
        )

    def test_workers_and_number_of_splits_do_not_matter(self, first, run_session):
        # With two workers, and with five of the ten splits already fitted.
        results, _ = run_session(
            "-d", DATA, *settings(n_splits="[5,10]"), *options(SOLVERS), "-r", 2, "-j", 2
        )
        ten = in_order(results, ("p_obj_n_splits", 10))
        expected = in_order(first[first["idx_rep"] < 2], ("p_obj_procedure", "mccv"))
        pd.testing.assert_frame_equal(ten, expected, check_like=True, check_exact=True)
        five = in_order(results, ("p_obj_n_splits", 5))
        assert len(five) == 4 * 2 * 5
        pd.testing.assert_frame_equal(
            scores_of(five),
            scores_of(expected[expected["objective_split"] < 5]).reset_index(drop=True),
            check_exact=True,
        )

    def test_seeds_differ(self, first):
        of_seeds = first.groupby(["solver_name", "p_obj_procedure"])["objective_score_test"]
        assert (of_seeds.nunique() >= 3).all()

    def test_learners_share_their_splits(self, first):
        # The first split's benchmarking set and outer chunks are the same; so are its sizes. With
        # equal predictions two learners would have equal rows; here, the sizes must be.
        sizes = first.groupby(["p_obj_procedure", "idx_rep", "objective_split"])[
            ["objective_n_train", "objective_n_val", "objective_n_test"]
        ].nunique()
        assert (sizes == 1).all(axis=None)


class TestFixedSplit:
    """A deterministic learner on one split, again and again, learns nothing new."""

    @pytest.fixture
    def fixed(self, first):
        return first[first["p_obj_procedure"] == "fixed_split"]

    def test_equal_rows(self, fixed):
        ridge = fixed[fixed["solver_name"].str.startswith("ridge")]
        assert (ridge.groupby("idx_rep")["objective_score_test"].nunique() == 1).all()
        redundancy = ridge[ridge["objective_split"] > 0]["objective_redundancy"]
        # ρ_e = 1, so ω = n_test/n_study = 10/50.
        assert redundancy.tolist() == pytest.approx(len(redundancy) * [0.2])

    def test_first_split_is_that_of_mccv(self, first, fixed):
        mccv = first[first["p_obj_procedure"] == "mccv"]
        a, b = (
            scores_of(in_order(results, ("objective_split", 0))) for results in (mccv, fixed)
        )
        pd.testing.assert_frame_equal(a, b, check_exact=True)

    def test_training_seeds_differ_all_the_same(self, fixed):
        forest = fixed[fixed["solver_name"].str.startswith("extra_trees")]
        assert (forest.groupby("idx_rep")["objective_score_test"].nunique() == 10).all()

    def test_gain_is_one(self, fixed):
        rows = tidy(fixed)
        [(dataset, setting)] = set(zip(rows["dataset"], rows["setting"], strict=True))
        gain = learners(fixed, dataset, setting)["ridge"].gain
        assert gain.gain.tolist() == gain.low.tolist() == gain.high.tolist() == 10 * [1]
        assert gain.plug_in == pytest.approx(np.ones(10))
        assert not gain.at_least.any()


def test_ceiling_of_a_bootstrap(first):
    # Its training part alone has the size of the study set, 40.
    results = first[first["p_obj_procedure"] == "bootstrap"]
    assert (results["objective_n_train"] == 40).all()
    summary = learners(results, "simulated", "as configured")["ridge"]
    assert summary.ceiling == pytest.approx(40 / summary.n_test)


class TestCache:
    def test_same_command_again(self, first, run_session, folder):
        results, printed = run_session(*COMMAND, cache=folder / "cache")
        done = lines_with(printed, "]: done")
        assert len(done) == 12 and all("(cached)" in line for line in done), printed
        # Times, too, are those of the first run.
        columns = [name for name in first.columns if name != "run_date"]
        keys = ["objective_name", "solver_name", "idx_rep", "objective_split"]
        pd.testing.assert_frame_equal(
            results.sort_values(keys)[columns].reset_index(drop=True),
            first.sort_values(keys)[columns].reset_index(drop=True), check_like=True,
        )

    def test_what_makes_it_invalid(self, run, tmp_path):
        copy = tmp_path / "benchmark"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(
            ".*", "__pycache__", "__cache__", "outputs", "tests", "perf"
        ))
        command = ["-d", DATA, *settings(n_splits=2), "-s", "ridge"]

        def edit(name, old, new):
            text = (copy / name).read_text()
            assert old in text
            (copy / name).write_text(text.replace(old, new))

        def run_again():
            results, printed = run(*command, root=copy)
            [line] = lines_with(printed, "ridge")
            return results["objective_score_test"].tolist(), "cached" in line

        scores, cached = run_again()
        assert not cached
        # Statistics only read results.
        edit("benchmark_utils/analysis/summary.py", "import numpy as np", "import numpy as np  #")
        assert run_again() == (scores, True)
        # Scores are made by shared code.
        name = '"neg_mean_squared_error": -'
        edit("benchmark_utils/scoring.py", name, f"{name}2 * ")
        doubled, cached = run_again()
        assert not cached and doubled == pytest.approx([2 * score for score in scores])
        # Each of these takes part in a fit: neither the rows nor the fits are those of before.
        for name, old, new in (
            ("solvers/ridge.py", "Ridge(alpha=alpha)", "Ridge(alpha=1000 * alpha)"),
            ("datasets/simulated.py", "signal = X @ beta", "signal = 3 * (X @ beta)"),
            ("objective.py", "population.draw(seed,", "population.draw(seed + 1,"),
        ):
            before = doubled
            edit(name, old, new)
            doubled, cached = run_again()
            assert not cached and not set(doubled) & set(before), name

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_data_edited_in_place(self, run, tmp_path, jobs):
        path = tmp_path / "data.csv"
        table = pd.DataFrame({"x": np.arange(60.0) % 7, "y": np.arange(60.0) % 11})

        def run_again(factor):
            table.assign(y=factor * table["y"]).to_csv(path, index=False)
            results, printed = run(
                "-d", f"tabular[path='{path}',target=y,task=regression]", "-s", "k_neighbors",
                *settings(n_splits=2), "-r", 2, "-j", jobs,
            )
            [line] = lines_with(printed, "]: done")
            results = results.sort_values(["idx_rep", "objective_split"])
            return results["objective_score_test"].to_numpy(), "cached" in line

        scores, cached = run_again(1)
        assert not cached
        edited, cached = run_again(10)
        assert not cached
        np.testing.assert_allclose(edited, 100 * scores)
        again, cached = run_again(1)
        assert cached
        np.testing.assert_array_equal(again, scores)


CONTRIBUTED = '''
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from benchmark_utils.solver import EstimatorSolver


class Solver(EstimatorSolver):
    """Nearest neighbour."""
    name = "nearest"
    parameters = {**EstimatorSolver.parameters, "p": [2]}

    def get_estimator(self, task, seed, p):
        nearest = KNeighborsRegressor if task == "regression" else KNeighborsClassifier
        return nearest(n_neighbors=1, p=p)
'''
# A failing import outside of this context would stop the whole command, since Benchopt then
# wants `parameters` to be a literal.
GUARDED = '''
from benchopt import safe_import_context

with safe_import_context() as import_ctx:
    import a_package_that_is_not_there
'''
# Solvers that misbehave are that one with another name and something in the way.
MISBEHAVING = '''
{imports}
class Solver(EstimatorSolver):
    """Misbehaves."""
    name = "{name}"
    parameters = {{**EstimatorSolver.parameters}}
    n_fits = 0

    def get_estimator(self, task, seed):
        self.n_fits += 1
        {statement}
        return KNeighborsRegressor(n_neighbors=1)
'''


@pytest.fixture(scope="module")
def misbehaving(run_session, folder):
    imports = CONTRIBUTED.partition("\n\nclass")[0] + "\nimport time\n\n"
    files = []
    for name, text in {
        "nearest": CONTRIBUTED,
        "slow": MISBEHAVING.format(name="slow", imports=imports, statement="time.sleep(0.15)"),
        "moody": MISBEHAVING.format(
            name="moody", imports=imports,
            statement="if self.n_fits == 4: raise ValueError('not today')",
        ),
        "hopeless": MISBEHAVING.format(
            name="hopeless", imports=imports, statement="raise RuntimeError('never')"
        ),
        "broken": GUARDED + CONTRIBUTED.replace("nearest", "broken"),
    }.items():
        files.append(folder / f"{name}.py")
        files[-1].write_text(text)
    results, printed = run_session(
        "-d", DATA, *settings(n_splits=10), *options(["ridge", *files]), "--timeout", 1, "-r", 1
    )
    assert results is not None, printed
    return results, printed


SHORT_OF_MEMORY = CONTRIBUTED.replace('"nearest"', '"short_of_memory"') + '''
    def fit(self, train, val, config, seed):
        if not Path("there_is_memory").exists() and len(self.fits) == 1:
            raise MemoryError
        self.fits.append(seed)
        return super().fit(train, val, config, seed)

    @property
    def fits(self):
        return self.__dict__.setdefault("_fits", [])
'''


@pytest.mark.parametrize("jobs", [1, 2])
def test_what_the_machine_caused_is_tried_again(run, tmp_path, jobs):
    solver = tmp_path / "short_of_memory.py"
    solver.write_text("from pathlib import Path\n" + SHORT_OF_MEMORY)

    def run_again():
        results, printed = run("-d", DATA, *settings(n_splits=3), "-r", 2, "-j", jobs,
                               "-s", solver, "-s", "ridge")
        results = results.sort_values(["solver_name", "idx_rep", "objective_split"])
        cached = {name for name in ("ridge", "short_of_memory")
                  if all("cached" in line for line in lines_with(printed, f"{name}["))}
        return results[results["solver_name"].str.startswith("short")], cached

    failed, _ = run_again()
    assert (failed["objective_status"] == "failed").sum() >= 2
    (tmp_path / "there_is_memory").touch()
    whole, cached = run_again()
    assert (whole["objective_status"] == "ok").all() and cached == {"ridge"}
    # What had not failed was found, not made again.
    was_ok = (failed["objective_status"] == "ok").to_numpy()
    for name in ("objective_score_test", "objective_fit_seconds"):
        assert (whole[name].to_numpy() == failed[name].to_numpy())[was_ok].all()
    again, cached = run_again()
    assert cached == {"ridge", "short_of_memory"}


class TestContributedSolvers:
    def rows(self, misbehaving, name):
        results, printed = misbehaving
        rows = results[results["solver_name"].str.startswith(name)]
        assert len(rows) == 10, printed
        return rows.sort_values("objective_split")

    def test_file_by_path(self, misbehaving):
        rows = self.rows(misbehaving, "nearest")
        assert (rows["objective_status"] == "ok").all()
        assert rows["objective_score_bench"].notna().all()

    def test_slower_than_the_timeout(self, misbehaving):
        rows = self.rows(misbehaving, "slow")
        assert rows["time"].iloc[0] > 1
        assert (rows["objective_status"] == "ok").all()

    def test_one_split_that_raises(self, misbehaving):
        rows = self.rows(misbehaving, "moody")
        assert rows["objective_status"].tolist() == 3 * ["ok"] + ["failed"] + 6 * ["ok"]
        assert rows["objective_message"].iloc[3] == "ValueError: not today"
        # Otherwise it is the contributed solver.
        nearest = self.rows(misbehaving, "nearest")
        ok = (rows["objective_status"] == "ok").to_numpy()
        assert (rows["objective_score_test"].to_numpy()[ok]
                == nearest["objective_score_test"].to_numpy()[ok]).all()

    def test_every_split_raises(self, misbehaving):
        rows = self.rows(misbehaving, "hopeless")
        assert (rows["objective_status"] == "failed").all()
        assert (rows["objective_message"] == "RuntimeError: never").all()
        assert rows["objective_score_test"].isna().all()

    def test_others_are_not_disturbed(self, misbehaving, first):
        ridge = self.rows(misbehaving, "ridge")
        expected = in_order(
            first[first["solver_name"].str.startswith("ridge")], ("p_obj_procedure", "mccv"),
            ("idx_rep", 0),
        )
        assert scores_of(ridge).reset_index(drop=True)["objective_score_test"].tolist() == (
            expected["objective_score_test"].tolist()
        )

    def test_missing_package_is_said(self, misbehaving):
        results, printed = misbehaving
        assert not results["solver_name"].str.startswith("broken").any()
        assert "a_package_that_is_not_there" in printed
        assert any("not installed" in line for line in lines_with(printed, "broken"))

    def test_summary_counts_successful_splits(self, misbehaving):
        summary = table(misbehaving[0], "simulated", "as configured").set_index("learner")
        assert summary["splits ok"].to_dict() == {
            "ridge": "10/10", "nearest": "10/10", "slow": "10/10", "moody": "9/10",
            "hopeless": "0/10",
        }
        of = dict(by_learner(tidy(misbehaving[0])))["moody"]
        assert summary["test"]["moody"] == pytest.approx(of["score_test"].mean())

    def test_report_of_nothing_but_failures(self, misbehaving, tmp_path, capsys):
        hopeless = self.rows(misbehaving, "hopeless")
        file = save_results(hopeless.copy(), tmp_path / "hopeless.parquet")
        capsys.readouterr()
        assert report.main([str(file)]) == 0
        said = capsys.readouterr().out
        assert "Every split of every learner failed; the first said: RuntimeError: never" in said
        assert "0/10" in said


def test_what_cannot_run_is_skipped_with_a_reason(run):
    results, printed = run(
        "-d", "simulated[n_samples=190,n_bench=150]", "-d", "simulated[family=quadratic]",
        "-d", "simulated[family=classification,n_samples=1500,n_bench=1000]", "-d", DATA,
        *settings(n_splits=2), "-o", "score trust[train_size=40,procedure=loo]",
        "-o", "score trust[train_size=40,stratify=false]",
        "-o", "score trust[train_size=40,nested_splits=new]",
        "-s", "ridge", "-s", "svm[tuning=val]", "-s", "mlp[tuning=guess]",
    )
    said = " ".join(without_colors(printed).split())
    # 40/0.8 = 50 examples, of 40
    assert "train_size=40 needs a study set of 50 examples, but only 40" in said
    assert "use train_size=32 or less" in said
    assert "family='quadratic' is none of linear" in said
    assert "procedure='loo' is none of mccv" in said
    assert "stratify='false' is neither True nor False" in said
    assert "nested_splits='new' is neither same nor fresh" in said
    assert "tuning=val needs a validation part: set the objective's val_size" in said
    assert "tuning='guess' is none of default, val" in said
    # The rest ran.
    counts = results.groupby(["p_dataset_family", "p_dataset_n_samples", "solver_name"]).size()
    assert counts.tolist() == [2, 2]
    assert set(results["p_dataset_family"]) == {"linear", "classification"}
    assert set(results["p_dataset_n_samples"]) == {1500}
    assert results["solver_name"].str.startswith("ridge").all()


def test_one_result_is_a_row_per_split(benchmark, component):
    # What `benchopt test` asks of the objective.
    objective = benchmark.get_benchmark_objective().get_instance(train_size=40, n_splits=3)
    dataset = component("dataset", "simulated", n_samples=1500, n_bench=1000)
    RunContext().set_run_context(objective, dataset, "any", repetition=0, base_seed=0)
    assert objective._set_dataset(dataset) == (False, None)
    rows = objective(objective._get_one_result())
    assert [row["objective_split"] for row in rows] == [0, 1, 2]
    # It predicts 0: the score is minus the mean square of the targets.
    expected = -(objective.study.y[objective.splits[1].test] ** 2).mean()
    assert rows[1]["objective_score_test"] == pytest.approx(expected)


def test_benchopts_own_tests(tmp_path):
    config = tmp_path / "benchopt.yml"
    config.write_text(f"cache: {tmp_path / 'cache'}\n")
    config.chmod(0o600)
    # It starts the first `python` of the path, which need not be this one.
    path = os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, "-m", "benchopt", "test", str(ROOT), "--skip-install",
         "-p", "no:cacheprovider"],
        capture_output=True, text=True, timeout=300, cwd=tmp_path,
        env={**os.environ, "BENCHOPT_CONFIG": str(config), "PATH": path},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d+ passed", done.stdout) and " failed" not in done.stdout
