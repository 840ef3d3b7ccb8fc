"""The command that gives advice on a user's own table."""
import numpy as np
import pandas as pd
import pytest
from benchopt.benchmark import Benchmark

from benchmark_utils.analysis.advise import main


@pytest.fixture
def advise(tmp_path, monkeypatch, capfd):
    """advise(*arguments) on a semicolon-separated file whose name has a quote: code, out, err."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 3))
    path = tmp_path / "it's mine.csv"
    pd.DataFrame(x, columns=["a", "b", "c"]).assign(
        grade=np.where(x[:, 0] + 0.5 * rng.standard_normal(60) > 0, "good", "bad")
    ).to_csv(path, index=False, sep=";", decimal=",")
    monkeypatch.setattr(Benchmark, "get_output_folder", lambda self: tmp_path)
    monkeypatch.setattr(Benchmark, "get_cache_location", lambda self: tmp_path / "cache")

    def call(*arguments):
        code = main([
            str(path), "--task", "classification", "--sep", ";", "--decimal", ",",
            "--splits", "6", *arguments,
        ])
        return code, *capfd.readouterr()

    return call


def test_advice(advise, tmp_path):
    code, out, err = advise("--target", "grade", "-s", "ridge", "-s", "decision_tree")
    assert code == 0, out + err
    for said in ("60 examples", "6 splits each of 48 training and 12 test", "ω_6",
                 "Ĝ_200", "Paired comparisons of learners"):
        assert said in out
    assert "decision_tree" in out.rpartition("Advice")[2]
    assert (tmp_path / "advice.parquet").exists()
    assert "change_advice_dataset" in next(tmp_path.glob("*_advice.html")).read_text()


def test_target_of_a_bundled_data_set(monkeypatch, tmp_path, capfd):
    monkeypatch.setattr(Benchmark, "get_output_folder", lambda self: tmp_path)
    monkeypatch.setattr(Benchmark, "get_cache_location", lambda self: tmp_path / "cache")
    assert main(["wine", "--target", "alcohol", "--task", "regression", "-s", "ridge",
                 "--train-size", "40", "--splits", "2"]) == 0
    assert "regression of target 'alcohol'" in capfd.readouterr().out


def test_a_tuning_rule_that_needs_a_validation_part(advise):
    solver = "ridge[tuning=val,n_configs=2]"
    assert advise("--target", "grade", "-s", solver)[0] == 1
    code, out, err = advise("--target", "grade", "-s", solver, "--val-size", "0.2")
    assert code == 0 and "36 training, 12 validation and 12 test" in out, out + err


def test_a_number_on_openml(monkeypatch, capfd):
    def offline(*arguments, **options):
        raise OSError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
    assert main(["31", "-s", "ridge"]) == 1
    assert "OpenML 31 can't be loaded" in capfd.readouterr().out


def test_wrong_column(advise):
    code, out, err = advise("--target", "grades", "-s", "ridge")
    assert code == 1
    assert "'grade'" in out
    assert "There is no result: the reason is above." in err


def test_output_is_a_name(advise, capfd):
    with pytest.raises(SystemExit):
        advise("--target", "grade", "-s", "ridge", "--output", "somewhere/else")
    assert "somewhere/else is not a plain name" in capfd.readouterr().err


def test_neither_a_file_nor_a_data_set(capfd):
    with pytest.raises(SystemExit):
        main(["brest_cancer", "-s", "ridge"])
    assert "did you mean 'breast_cancer'?" in capfd.readouterr().err
