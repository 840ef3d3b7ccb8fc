import os
import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn.datasets
from benchopt.benchmark import Benchmark
from benchopt.utils.parametrized_name_mixin import _extract_options

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def tabular():
    return next(d for d in Benchmark(ROOT).get_datasets() if d.name == "tabular")


@pytest.fixture
def people(tmp_path):
    """A CSV with semicolons, text, missing values and a class NA, in a folder with a blank."""
    rng = np.random.default_rng(0)
    rows = ["size;colour;born in"]
    for i in range(200):
        size = rng.standard_normal()
        shown = "" if i % 10 == 0 else f"{size:.3f}".replace(".", ",")
        rows.append(f"{shown};{['red', 'blue', ''][i % 3]};{'NA' if size > 0 else 'SA'}")
    path = tmp_path / "my data" / "people.csv"
    path.parent.mkdir()
    path.write_text("\n".join(rows) + "\n")
    return path


OPTIONS = "sep=';',decimal=',',target='born in',task=classification"


def from_command_line(tabular, text):
    """The data set that `-d text` selects."""
    return tabular.get_instance(**_extract_options(text)[2])


def test_default_is_a_bundled_set(tabular):
    data = tabular.get_instance().get_data()
    assert data["problem"] is None
    assert data["population"].description.startswith("breast_cancer: 569 examples")


def test_options_on_the_command_line(tabular, people):
    data = from_command_line(tabular, f"tabular[path='{people}',{OPTIONS}]").get_data()
    assert data["problem"] is None
    assert data["population"].classes == ["NA", "SA"]
    assert "2 features (1 numeric, 1 categorical; 86 missing" in data["population"].description


def test_tab_on_the_command_line(tabular, people):
    people.write_text(people.read_text().replace(";", "\t"))
    options = OPTIONS.replace("';'", r"'\t'")
    data = from_command_line(tabular, f"tabular[path='{people}',{options}]").get_data()
    assert data["population"].n_pool == 200


def test_path_takes_precedence(tabular, people):
    dataset = from_command_line(tabular, f"tabular[dataset=unknown,path='{people}',{OPTIONS}]")
    assert dataset.get_data()["problem"] is None


@pytest.mark.parametrize("parameters, message", [
    ({"dataset": "iris"}, "dataset='iris' is unknown"),
    ({"path": "nowhere.csv"}, f"no file {os.getcwd()}/nowhere.csv"),
    ({"path": 2024}, f"2024: there is no file {os.getcwd()}/2024"),
    ({"dataset": "wine", "bench_size": 170}, "bench_size=170 leaves 8 of 178"),
])
def test_bad_input_is_a_reason_to_skip(tabular, parameters, message):
    data = tabular.get_instance(**parameters).get_data()
    assert data["population"] is None
    assert message in data["problem"]


def test_bench_size_is_a_count_or_a_fraction(tabular):
    # 1 and 1.0 are equal keys of a dictionary.
    assert tabular.get_instance(bench_size=1).get_data()["population"].n_bench == 1
    assert "bench_size=1.0" in tabular.get_instance(bench_size=1.0).get_data()["problem"]


def test_edit_of_the_file_changes_cache_key_and_data(tabular, people):
    parameters = dict(path=str(people), sep=";", decimal=",", target="born in",
                      task="classification")
    first = tabular.get_instance(**parameters)
    key = joblib.hash(first)
    population = first.get_data()["population"]
    again = tabular.get_instance(**parameters)
    assert joblib.hash(again) == key
    assert again.get_data()["population"] is population

    people.write_text(people.read_text().replace("red", "rod", 1))
    edited = tabular.get_instance(**parameters)
    assert joblib.hash(edited) != key
    assert edited.get_data()["population"] is not population


def test_pickled_for_workers(tabular, people):
    dataset = tabular.get_instance(path=str(people), sep=";", decimal=",", target="born in",
                                   task="classification")
    copy = pickle.loads(pickle.dumps(dataset))
    assert copy.get_data()["population"].description == \
        dataset.get_data()["population"].description


def test_prepare_downloads_openml_only(tabular, monkeypatch):
    asked = []

    def fail(data_id, **_):
        asked.append(data_id)
        raise OSError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    tabular.get_instance().prepare()
    assert asked == []
    with pytest.raises(ValueError, match="OpenML 31 can't be loaded"):
        from_command_line(tabular, "tabular[dataset='openml:31',task=classification]").prepare()
    assert asked == [31]


def test_run(people):
    output = people.parent / "result.parquet"
    shutil.copytree(people.parent, people.parents[1] / "copy")
    command = [
        sys.executable, "-m", "benchopt", "run", str(ROOT),
        "--no-cache", "--no-plot", "--output", str(output),
        "-d", f"tabular[path='./my data/people.csv',{OPTIONS},bench_size=80]",
        "-d", f"tabular[path='./copy/people.csv',{OPTIONS},bench_size=80]",
        "-s", "ridge", "-o", "score trust[train_size=60,n_splits=3]", "-r", "2",
    ]
    done = subprocess.run(command, cwd=people.parents[1], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = pd.read_parquet(output)
    assert len(rows) == 12  # 2 files, 2 repetitions of 3 splits
    # A file gives the same scores wherever it lies.
    scores = rows.groupby("p_dataset_path")["objective_score_test"].agg(list).tolist()
    assert scores[0] == scores[1] and len(set(scores[0])) > 1
    assert (rows["objective_status"] == "ok").all()
    assert (rows["objective_message"] == "").all()
    assert rows["objective_data"].str.startswith("people.csv: 200 examples").all()
    # The class follows from the size, of which a tenth is missing.
    assert (rows["objective_score_bench"] > 0.8).all()
