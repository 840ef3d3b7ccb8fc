import os
import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
from benchopt.results import read_results, save_results

from benchmark_utils.analysis import report

HEADINGS = [
    f"simulated (family={family}), n_splits={n_splits}"
    for family in ("linear", "classification") for n_splits in (3, 5)
]


@pytest.fixture
def printed(capsys):
    """printed(*arguments): exit code and what the report wrote to standard output and error."""
    def call(*arguments):
        code = report.main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return code, out, err

    return call


class TestTerminal:
    def test_a_table_per_data_set_and_setting(self, printed, result_file):
        code, out, err = printed(result_file)
        assert (code, err) == (0, "")
        assert [line for line in out.splitlines() if line in HEADINGS] == HEADINGS
        assert len(re.findall(r"^ *ridge ", out, re.MULTILINE)) == 4
        assert len(re.findall(r"decision_tree \(max_depth=3\) ", out)) == 4
        for said in ("neg_mean_squared_error", "accuracy", "4 seeds", "benchmarking set of 1,000",
                     "G_3", "G_5", "splits ok", "20/20"):
            assert said in out

    def test_numbers_are_those_of_the_results(self, printed, result_file):
        results = read_results(result_file)
        _, out, _ = printed(result_file)
        rows = results[
            results["solver_name"].str.startswith("ridge") & (results["p_obj_n_splits"] == 3)
            & (results["p_dataset_family"] == "linear")
        ]
        mean = rows.groupby("idx_rep")["objective_score_test"].mean().mean()
        first_row = next(line for line in out.splitlines() if line.strip().startswith("ridge "))
        assert f"{mean:.4g}" in first_row.split()

    def test_rows_that_are_there_twice_count_once(self, result_file, capsys):
        # Benchopt runs a solver twice that was named twice, by default and by its parameters.
        results = read_results(result_file)
        twice = pd.concat([results, results], ignore_index=True)
        said = []
        for frame in (results, twice):
            report.print_tables(frame, [*report.TABLES, *report.OVERALL])
            said.append(capsys.readouterr().out)
        assert said[0] == said[1]

    def test_failures_are_said(self, printed, result_file, tmp_path):
        results = read_results(result_file)
        failed = (results["objective_split"] == 1) & results["solver_name"].str.startswith("ridge")
        scores = ["objective_score_test", "objective_score_bench", "objective_delta"]
        results.loc[failed, scores] = float("nan")
        results.loc[failed, "objective_status"] = "failed"
        results.loc[failed, "objective_message"] = "ValueError: singular"
        file = save_results(results, tmp_path / "failed.parquet")
        _, out, _ = printed(file)
        assert "ridge: 4 of 12 splits failed or diverged" in out and "ValueError: singular" in out
        assert "8/12" in out

    def test_seeds_that_a_learner_lacks_are_said(self, printed, result_file, tmp_path):
        results = read_results(result_file)
        lacking = results["solver_name"].str.startswith("ridge") & (results["idx_rep"] > 0)
        _, out, _ = printed(save_results(results[~lacking], tmp_path / "fewer.parquet"))
        assert out.count("ridge has a result for 1 of 4 seeds only") == len(HEADINGS)
        assert "of 4 seeds only" not in printed(result_file)[1]

    def test_without_an_outer_set_it_says_why_no_gain(self, printed, result_file, tmp_path):
        results = read_results(result_file).assign(objective_outer_deltas=None)
        _, out, _ = printed(save_results(results, tmp_path / "no_outer.parquet"))
        assert out.count("too few examples for an outer set") == len(HEADINGS)
        assert "outer set" not in printed(result_file)[1]

    def test_a_guess_of_the_gain_needs_several_splits(self, printed, result_file, tmp_path):
        results = read_results(result_file).assign(objective_n_bench=0, objective_outer_deltas=None)
        several = printed(save_results(results, tmp_path / "several.parquet"))[1]
        assert "proxy G_3" in several and "proxy G_5" in several and "is a guess" in several
        one = results[results["objective_split"] == 0]
        assert "proxy G" not in printed(save_results(one, tmp_path / "one.parquet"))[1]

    def test_an_interval_that_ends_with_the_outer_set_ends_at_least_there(
            self, printed, result_file, tmp_path):
        # One outer chunk beside the test set: no gain above 2 can be told from 2.
        results = read_results(result_file)
        results["objective_outer_deltas"] = [
            None if deltas is None else deltas[:1] for deltas in results["objective_outer_deltas"]
        ]
        save_results(results, tmp_path / "short.parquet")
        printed(tmp_path / "short.parquet", "--csv", tmp_path / "table.csv")
        ends = pd.read_csv(tmp_path / "table.csv")["95 %"].str.split("–", expand=True).stack()
        assert (ends == "≥2.0").any() and not (ends == "2.0").any()
        assert ends.str.removeprefix("≥").astype(float).between(1, 2).all()

    def test_failed_configurations_are_said(self, printed, result_file, tmp_path):
        results = read_results(result_file)
        is_ridge = results["solver_name"].str.startswith("ridge")
        results.loc[is_ridge, ["p_solver_tuning", "objective_budget"]] = ["val", 3]
        failed = is_ridge & (results["objective_split"] == 1)
        results.loc[failed, "objective_n_failed_configs"] = 2
        _, out, _ = printed(save_results(results, tmp_path / "failed.parquet"))
        # 4 seeds of 3 splits
        assert re.search("ridge.*: 8 of the 36 configurations tried in all splits failed", out)
        assert not re.search("decision_tree.* configurations tried", out)

    def test_everything_failed(self, printed, result_file, tmp_path):
        results = read_results(result_file)
        results = results[results["solver_name"].str.startswith("ridge")].copy()
        scores = results.filter(regex="_(test|bench|val|delta|seconds)$|redundancy").columns
        results[[*scores, "objective_delta"]] = float("nan")
        results = results.assign(
            objective_status="failed", objective_message="ValueError: no", objective_n_test=10,
            objective_n_bench=1000, objective_outer_deltas=None,
        )
        code, out, _ = printed(save_results(results, tmp_path / "failed.parquet"))
        assert code == 0
        assert out.count("Every split of every learner failed; the first said: ValueError: no") == 4
        assert "0/12" in out and "0/20" in out

    def test_one_seed(self, printed, result_file, tmp_path):
        results = read_results(result_file)
        file = save_results(results[results["idx_rep"] == 2], tmp_path / "one.parquet")
        code, out, _ = printed(file)
        assert code == 0 and "One seed only" in out and "1 seed," in out
        assert "Run with -r 30" in out
        # More seeds give no gain where there is no truth.
        results["objective_n_bench"] = 0
        file = save_results(results[results["idx_rep"] == 2], tmp_path / "no_bench.parquet")
        out = printed(file)[1]
        assert "One seed only" in out and "-r 30" not in out


    def test_a_reader_that_has_seen_enough(self, result_file):
        reader, writer = os.pipe()
        os.close(reader)
        done = subprocess.run(
            [sys.executable, "-m", "benchmark_utils.analysis.report", str(result_file)],
            cwd=Path(__file__).parents[1], stdout=writer, stderr=subprocess.PIPE, text=True,
        )
        os.close(writer)
        assert (done.returncode, done.stderr) == (1, "")


class TestFiles:
    def test_missing_file(self, printed, tmp_path):
        code, out, err = printed(tmp_path / "nothing.parquet")
        assert (code, out) == (1, "")
        assert f"no result file {tmp_path / 'nothing.parquet'}" in err

    def test_folder(self, printed, tmp_path):
        code, _, err = printed(tmp_path)
        assert code == 1 and str(tmp_path) in err

    @pytest.mark.parametrize("name", ["page.html", "notes.txt"])
    def test_another_kind_of_file(self, printed, tmp_path, name):
        (tmp_path / name).write_text("hello")
        code, _, err = printed(tmp_path / name)
        assert code == 1 and name in err

    def test_data_instead_of_results(self, printed, tmp_path):
        pd.DataFrame({"age": [40, 50], "outcome": [0, 1]}).to_parquet(tmp_path / "patients.parquet")
        code, out, err = printed(tmp_path / "patients.parquet")
        assert (code, out) == (1, "") and "patients.parquet holds no results" in err

    def test_results_that_benchopt_saved_as_csv(self, printed, result_file, tmp_path):
        # Either they are refused, or they tell the same.
        read_results(result_file).to_csv(tmp_path / "results.csv", index=False)
        code, out, err = printed(tmp_path / "results.csv")
        if code == 1:
            assert out == "" and "parquet" in err
        else:
            assert out == printed(result_file)[1]

    def test_newest_file_is_the_default(self, printed, result_file, tmp_path, monkeypatch):
        monkeypatch.setattr(report, "OUTPUTS", tmp_path)
        results = read_results(result_file)
        for age, name, family in ((100, "old", "linear"), (10, "new", "classification"),
                                  (50, "older_than_new", "linear")):
            of_family = results[results["p_dataset_family"] == family]
            file = save_results(of_family, tmp_path / f"{name}.parquet")
            os.utime(file, (1e9 - age, 1e9 - age))
        code, out, _ = printed()
        assert f"The newest results: {tmp_path / 'new.parquet'}\n" in out
        assert code == 0 and "accuracy" in out and "neg_mean_squared_error" not in out

    def test_no_file_yet(self, printed, tmp_path, monkeypatch):
        monkeypatch.setattr(report, "OUTPUTS", tmp_path)
        code, out, err = printed()
        assert (code, out) == (1, "") and f"No result file in {tmp_path}" in err

    def test_the_default_folder_is_benchopts(self, benchmark):
        assert report.OUTPUTS == benchmark.benchmark_dir / "outputs"


class TestCsv:
    def test_a_row_per_learner(self, printed, result_file, tmp_path):
        code, out, _ = printed(result_file, "--csv", tmp_path / "table.csv")
        assert code == 0 and str(tmp_path / "table.csv") in out
        table = pd.read_csv(tmp_path / "table.csv")
        assert table.columns[:3].tolist() == ["dataset", "setting", "learner"]
        assert len(table) == 2 * 2 * 3
        assert table["learner"].tolist()[:3] == [
            "ridge", "decision_tree (max_depth=None)", "decision_tree (max_depth=3)"
        ]
        # Each setting has gains of its own number of splits.
        of_three = table["setting"] == "n_splits=3"
        assert table.loc[of_three, "G_3"].notna().all() and table.loc[~of_three, "G_3"].isna().all()
        assert table.loc[of_three, "G_5"].isna().all() and table.loc[~of_three, "G_5"].notna().all()
        results = read_results(result_file)
        rows = results[
            results["solver_name"].str.startswith("ridge") & (results["p_obj_n_splits"] == 3)
            & (results["p_dataset_family"] == "linear")
        ]
        expected = rows.groupby("idx_rep")["objective_score_bench"].mean().mean()
        assert table["bench"][0] == pytest.approx(expected)


@pytest.fixture(scope="module")
def text(result_file, tmp_path_factory):
    file = tmp_path_factory.mktemp("latex") / "table.tex"
    assert report.main([str(result_file), "--latex", str(file)]) == 0
    return file.read_text(encoding="utf-8")


class TestLatex:
    def test_every_row_has_all_columns(self, text):
        n_columns = len(re.search(r"\\begin\{tabular\}\{([lrc]+)\}", text)[1])
        rows = [line for line in text.splitlines() if line.endswith(r"\\")]
        assert len(rows) == 1 + 2 * 2 * 3
        assert {len(re.findall(r"(?<!\\)&", row)) + 1 for row in rows} == {n_columns}

    def test_special_characters_are_escaped(self, text):
        body = text.split("\n", 1)[1]
        assert r"decision\_tree (max\_depth=3)" in body and r"95 \%" in body
        # Outside of mathematics nothing is left that LaTeX would read.
        plain = re.sub(r"\$[^$]*\$", "", body)
        assert re.findall(r"(?<!\\)[_%#^~$]", plain) == []

    def test_needs_no_package(self, text):
        assert "rule" not in text and text.count(r"\hline") == 3
        assert text.isascii()

    @pytest.mark.parametrize("name", ["comparisons", "advice", "redundancy"])
    def test_other_tables(self, printed, result_file, tmp_path, name):
        assert printed(result_file, "--table", name, "--latex", tmp_path / "table.tex")[0] == 0
        assert (tmp_path / "table.tex").read_text(encoding="utf-8").isascii()

    def test_braces_are_balanced(self, text):
        bare = re.sub(r"\\[{}]", "", text)
        assert bare.count("{") == bare.count("}")

    def test_symbols(self):
        text = report.to_latex(pd.DataFrame({
            "ρ_δ": ["≥3.00"], "ω": [float("nan")], "95 %": ["1.0–2.0"], "a − b": ["x_y & z"],
        }))
        assert r"$\rho_\delta$ & $\omega$ & 95 \% & a $-$ b \\" in text
        assert r"$\geq$3.00 &  & 1.0--2.0 & x\_y \& z \\" in text


class TestOtherTables:
    def test_of_tuning_where_there_is_none(self, printed, result_file, tmp_path):
        for name in ("ranking", "optimism", "winners"):
            code, _, err = printed(
                result_file, "--table", name, "--csv", tmp_path / "table.csv"
            )
            assert code == 1 and f"no table {name}: " in err and "tuning" in err
            assert not (tmp_path / "table.csv").exists()

    @pytest.mark.parametrize("option", ["--csv", "--latex"])
    def test_that_cannot_be_written(self, printed, result_file, tmp_path, option):
        for path in (tmp_path / "missing" / "table", tmp_path):
            code, _, err = printed(result_file, option, path)
            assert code == 1 and f"{path} can't be written" in err

    def test_of_a_damaged_file(self, printed, tmp_path):
        path = tmp_path / "results.parquet"
        path.write_text("garbage")
        code, _, err = printed(path)
        assert code == 1 and f"{path} can't be read" in err

    @pytest.mark.parametrize("name, heading", [
        ("comparisons", "Paired comparisons of learners"),
        ("advice", "Advice from the study sets alone"),
    ])
    def test_printed_when_asked_for(self, printed, result_file, tmp_path, name, heading):
        _, unasked, _ = printed(result_file)
        assert heading not in unasked
        code, out, _ = printed(result_file, "--table", name, "--csv", tmp_path / "table.csv")
        assert code == 0 and out.count(heading) == len(HEADINGS)
        table = pd.read_csv(tmp_path / "table.csv")
        # Three learners make three pairs.
        assert len(table) == 3 * len(HEADINGS) and {"dataset", "setting"} < set(table)
