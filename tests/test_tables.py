import datetime
import decimal
import re

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import sklearn.datasets
from sklearn.utils import Bunch

from benchmark_utils.errors import InputError
from benchmark_utils.table_files import Table, openml_id, read_bundled, read_file, read_openml
from benchmark_utils.tables import make_population


def examples_of(population):
    """X and y of a population without a benchmarking set, in the order of the table."""
    study = population.draw(seed=0, repetition=0, n_study=population.n_pool, n_outer=0).study
    order = np.argsort(study.X.index)
    return study.X.iloc[order], study.y[order]


@pytest.fixture
def load(tmp_path):
    """Write a text file and make a population of it."""
    def load(
        text, target="y", task="classification", decimal=".", bench_size="auto",
        name="people.csv", written_as="utf-8", **options,
    ):
        (tmp_path / name).write_bytes(text.encode(written_as))
        table = read_file(tmp_path / name, **options)
        return make_population(table, target, task, decimal, bench_size)
    return load


def lines(*values):
    """A text file's lines from a header and values, those of each column being cycled."""
    header, *columns = values
    rows = [",".join(column[i % len(column)] for column in columns) for i in range(12)]
    return "\n".join([header, *rows]) + "\n"


COUNT = [str(i) for i in range(12)]
GOOD = lines("age,y", COUNT, ["yes", "no"])


# Text files that can be used

class TestGroups:
    TEXT = "x,patient,y\n" + "".join(
        f"{i},p{i // 3},{'yes' if i % 2 else 'no'}\n" for i in range(24)
    )

    def test_belong_together_and_are_no_feature(self, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(self.TEXT)
        population = make_population(read_file(path), "y", "classification", group="patient")
        study = population.draw(0, 0, 24, 0).study
        assert list(study.X.columns) == ["x"]
        # Three rows each, by the number in x.
        assert len(set(study.groups)) == 8
        assert (study.X["x"].to_numpy() // 3 == study.groups).all()
        assert "8 groups by 'patient', kept together in every split" in population.description

    @pytest.mark.parametrize("options, message", [
        ({"group": "patients"}, "there is no column group='patients': .*'patient'"),
        ({"group": "y"}, "the column 'y' can't be both target and group"),
        ({"group": "patient", "bench_size": 5}, "bench_size=0"),
    ])
    def test_what_cannot_be(self, tmp_path, options, message):
        path = tmp_path / "people.csv"
        path.write_text(self.TEXT)
        with pytest.raises(InputError, match=message):
            make_population(read_file(path), "y", "classification", **options)

    def test_blanks_mean_nothing(self, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(self.TEXT.replace("p1,", "p1 ,", 1).replace("p2,", " p2,", 1))
        population = make_population(read_file(path), "y", "classification", group="patient")
        assert "8 groups by 'patient'" in population.description

    @pytest.mark.parametrize("old, new", [("5,p1,", "5,,"), ("5,p1,", "5, ,"), ("p1,", "NA,")])
    def test_missing(self, tmp_path, old, new):
        path = tmp_path / "people.csv"
        text = self.TEXT.replace(old, new)
        if new == "NA,":
            # Beside p0 a group, beside 0 a missing value.
            text = re.sub(r",p(\d)", r",\1", text)
        path.write_text(text)
        with pytest.raises(InputError, match="group 'patient' is missing in . examples? .line"):
            make_population(read_file(path), "y", "classification", group="patient")

    def test_may_be_called_na(self, tmp_path):
        path = tmp_path / "people.csv"
        path.write_text(self.TEXT.replace("p1,", "NA,"))
        population = make_population(read_file(path), "y", "classification", group="patient")
        assert "8 groups by 'patient'" in population.description

    def test_of_lists(self):
        frame = pd.DataFrame({"x": range(12), "y": ["a", "b"] * 6, "g": [[1]] * 12})
        with pytest.raises(InputError, match=r"group 'g' holds values of a type .*\(\[1\] in"):
            make_population(Table("lists", frame), "y", "classification", group="g")


@pytest.mark.parametrize("kind", ["classification", "regression"])
def test_rows_in_order_are_noticed(load, kind):
    rng = np.random.default_rng(0)
    noise = rng.standard_normal((200, 2))
    walk = 0.1 * noise[:, 0].cumsum() + 0.02 * noise[:, 1]
    for y, is_ordered in ((walk, True), (rng.permutation(walk), False)):
        if kind == "classification":
            y = np.where(y > np.median(y), "high", "low")
        text = "x,y\n" + "".join(
            f"{x},{target}\n" for x, target in zip(noise[:, 1], y, strict=True)
        )
        said = load(text, task=kind).description
        assert ("neighbouring rows have similar targets" in said) == is_ordered


@pytest.mark.parametrize("counts", [(40, 10), (190, 10), (25, 25), (20, 20, 20), (300, 20, 5)])
def test_sorted_classes_are_noticed_however_rare(counts):
    y, rng = np.repeat(np.arange(len(counts)), counts), np.random.default_rng(0)

    def is_noticed(y):
        table = Table("sorted", pd.DataFrame({"x": rng.standard_normal(len(y)), "y": y}))
        return "neighbouring" in make_population(table, "y", "classification").description

    assert is_noticed(y) and not any(is_noticed(rng.permutation(y)) for _ in range(20))


def test_neighbours_of_a_tiny_class_are_chance():
    frame = pd.DataFrame({"x": np.arange(200.0), "y": ["a"] * 200})
    frame.loc[[50, 51, 120], "y"] = "b"
    assert "neighb" not in make_population(Table("t", frame), "y", "classification").description


def test_description_of_every_kind_of_column(load):
    population = load(
        "age,colour,member,y\n"
        "31,red,true,yes\n"
        "NA,red,False,yes\n"
        "33.5,,TRUE,no\n"
        "?,NA,,no\n"
        + "40,blue,true,no\n" * 8
    )
    # Missing: two ages, one colour (NA is a colour), one member. Of the 8 equal rows, 7 repeat.
    assert population.description == (
        "people.csv: 12 examples, 3 features (1 numeric, 1 boolean, 1 categorical; 4 missing "
        "values), classification into 2 classes of target 'y': no (10), yes (2); 7 duplicate "
        "examples; no benchmarking set (too small); class 'yes' is rare (2 examples)"
    )
    X, y = examples_of(population)
    assert X["age"].dtype == float and X["age"].isna().tolist() == [0, 1, 0, 1] + [0] * 8
    assert X["age"][2] == 33.5
    assert X["colour"].isna().tolist() == [0, 0, 1] + [0] * 9 and X["colour"][3] == "NA"
    assert X["member"].dtype == "boolean" and X["member"].isna().sum() == 1
    assert X["member"].sum() == 10
    assert population.classes == ["no", "yes"]
    assert y.tolist() == [1, 1] + [0] * 10


@pytest.mark.parametrize("labels, classes", [
    (["b", "a", "c"], ["a", "b", "c"]),
    (["NA", "None", "?"], ["?", "NA", "None"]),
    (["9", "10", "1"], [1, 9, 10]),
    (["1.0", "5.0", "9.0"], [1, 5, 9]),
    (["0.5", "1.5"], [0.5, 1.5]),
    (["True", "False"], [False, True]),
    (["NA", "a"], ["NA", "a"]),
    (["é", "日本"], ["é", "日本"]),
])
def test_classes_are_the_sorted_labels(load, labels, classes):
    population = load(lines("age,y", COUNT, labels))
    assert population.classes == classes
    assert [type(label) for label in population.classes] == [type(label) for label in classes]
    _, y = examples_of(population)
    names = [str(population.classes[code]) for code in y[:len(labels)]]
    assert names == [label.removesuffix(".0") for label in labels]


def test_only_the_largest_classes_are_listed(load):
    # a 4 times, b and c twice, d to g once
    labels = ["a", "a", "a", "a", "b", "b", "c", "c", "d", "e", "f", "g"]
    description = load(lines("age,y", COUNT, labels)).description
    assert "7 classes of target 'y': a (4), b (2), c (2), d (1), e (1), …;" in description


def test_many_rare_classes_are_counted(load):
    text = "age,y\n" + "".join(f"{i},c{i % 50:02}\n" for i in range(100))
    description = load(text).description
    assert description.endswith("; 50 classes are rare (fewer than 10 examples each)")
    assert description.count("c00") == 1


def test_regression(load):
    population = load(lines("age,y", COUNT, ["1.5", "2", "-3e1"]), task="regression")
    assert population.classes is None
    assert "regression of target 'y' from -30 to 2;" in population.description
    _, y = examples_of(population)
    assert y[:3].tolist() == [1.5, 2.0, -30.0]


def test_integer_target_of_regression_is_noted(load):
    population = load(lines("age,y", COUNT, ["1", "2", "3"]), task="regression")
    assert "integer target with 3 distinct values, treated as regression" in population.description
    assert examples_of(population)[1].dtype == float


@pytest.mark.parametrize("name, options, mark", [
    ("a.csv", {}, ","), ("a.txt", {}, ","), ("a.tsv", {}, "\t"), ("A.CSV", {"sep": ";"}, ";"),
    ("a.txt", {"sep": "|"}, "|"), ("a.csv", {"sep": "\t"}, "\t"),
])
def test_separators(load, name, options, mark):
    population = load(GOOD.replace(",", mark), name=name, **options)
    assert population.n_pool == 12


def test_decimal_comma(load):
    population = load("age;y\n" + "1,5;a\n2;b\n" * 6, sep=";", decimal=",")
    assert examples_of(population)[0]["age"][:2].tolist() == [1.5, 2.0]


@pytest.mark.parametrize("encoding, written_as", [
    ("utf-8-sig", "utf-8"), ("utf-8-sig", "utf-8-sig"), ("utf-8", "utf-8-sig"),
    ("UTF8", "utf-8-sig"), ("cp1252", "cp1252"), ("utf-16", "utf-16"), (1252, "cp1252"),
])
def test_encodings_and_byte_order_mark(load, encoding, written_as):
    text = GOOD.replace("age", '"Größe"')
    population = load(text, encoding=encoding, written_as=written_as)
    assert list(examples_of(population)[0]) == ["Größe"]


def test_quotes_blanks_and_line_ends(load):
    text = 'age , "place, home",y\r\n' + '1,  "Rome, ""old""\r\ntown", a\r\n\r\n 2,Bonn,b\r\n' * 6
    population = load(text, target="y")
    X, _ = examples_of(population)
    assert list(X) == ["age", "place, home"]
    assert X["age"].tolist()[:2] == [1, 2]
    assert X["place, home"][0] == 'Rome, "old"\r\ntown'
    assert population.classes == ["a", "b"]


def test_column_without_values_is_numeric(load):
    X, _ = examples_of(load(lines("empty,y", ["", "NA"], ["a", "b"])))
    assert X["empty"].dtype == float and X["empty"].isna().all()


@pytest.mark.parametrize("text", ["12,345,67", "1,2,3", "1234,567.8", "1.2.3", "2020,01,01"])
def test_text_with_commas_may_be_text(load, text):
    population = load(f"x;y\n{text};a\n{text};b\n" + f"{text};a\n" * 9, sep=";")
    assert "1 categorical" in population.description


@pytest.mark.parametrize("missing", ["NA", "n/a", "NULL", "None", "<NA>", "nan", "#N/A"])
def test_missing_numbers(load, missing):
    X, _ = examples_of(load(lines("age,y", ["1", missing, "2.5"], ["a", "b"])))
    np.testing.assert_array_equal(X["age"], [1, np.nan, 2.5] * 4)


@pytest.mark.parametrize("texts, expected", [
    (["1970-01-02", "", "1969-12-31"], [86400, np.nan, -86400]),
    (["1970-01-01 00:01", "1970-01-01T00:00:02.5", "NA"], [60, 2.5, np.nan]),
    (["1970-01-01T01:00+01:00", "1970-01-01T00:00:01Z"], [0, 1]),
    (["9999-12-31"], [253402214400]),
    (['"1970-01-01 00:00:02,5"'], [2.5]),
])
def test_dates_are_seconds_as_in_parquet(load, texts, expected):
    X, _ = examples_of(load(lines("day,y", texts, ["a", "b"])))
    np.testing.assert_array_equal(X["day"], np.resize(expected, 12))


@pytest.mark.parametrize("text", ["31.12.2024", "2024-02-30", "2024-W01", "12:30", "2024-1-1"])
def test_other_dates_are_text(load, text):
    assert "1 categorical" in load(lines("day,y", [text, "2024-01-01"], ["a", "b"])).description


def test_digits_of_other_scripts_are_text(load):
    population = load(lines("age,y", ["١٢", "٣", "4"], ["a", "b"]))
    assert "1 categorical" in population.description


@pytest.mark.parametrize("name", ["self", "index", "0", "level_0"])
def test_any_name_of_a_column(load, name):
    assert load(GOOD.replace("y\n", f"{name}\n", 1), target=name).n_pool == 12
    assert load(GOOD.replace("age", name, 1)).n_pool == 12


def test_almost_numeric_column_is_pointed_out(load):
    description = load(GOOD.replace("5,", "old,", 1)).description
    assert "'age' is categorical only because of values such as 'old' in line 7" in description


def test_target_name_may_look_like_a_number(load):
    assert load(GOOD.replace("y\n", "2020\n", 1), target=2020).n_pool == 12


# Text files that can't

@pytest.mark.parametrize("text, options, message", [
    # structure
    ("", {}, "the file is empty"),
    ("\n \n", {}, "the file is empty"),
    ("age,y\n", {}, "too few examples, 0: at least 10"),
    ("age,y\n" + "1,a\n" * 9, {}, "too few examples, 9: at least 10"),
    (GOOD + "1\n", {}, "line 14 has 1 value(s) where the header has 2"),
    ("\n\n" + GOOD + "1,2,3\n", {}, "line 16 has 3 value(s) where the header has 2"),
    (GOOD + '1,"a\n2,b\n', {}, "the row that starts in line 14 can't be read"),
    (GOOD.replace("age", "y"), {}, "several columns 'y'"),
    (lines("y,,a", COUNT, COUNT, COUNT), {}, "column 2 has no name"),
    (lines("y", ["a", "b"]), {}, "no features, only the target 'y'"),
    # separator, decimal mark and encoding
    (GOOD.replace(",", ";"), {}, "pass sep=';'"),
    (GOOD.replace(",", "\t"), {}, r"pass sep='\t'"),
    (GOOD.replace(",", "|"), {}, "pass sep='|'"),
    (GOOD, {"sep": ";"}, "pass sep=','"),
    (GOOD, {"sep": "::"}, "sep='::' is not a single character"),
    (
        "age;y\n" + "1,5;a\n2,5;b\n;a\n" * 4, {"sep": ";"},
        "column 'age' holds numbers with another decimal mark than decimal='.' ('1,5' in line 2): "
        "pass decimal=','",
    ),
    (
        "age;y\n" + "1;1,5\n2;2,5\n" * 6, {"sep": ";", "task": "regression"},
        "column 'y' holds numbers with another decimal mark than decimal='.' ('1,5' in line 2)",
    ),
    (lines("age,y", ["1.5"], ["a", "b"]), {"decimal": ","}, "pass decimal='.'"),
    *((
        "pay;y\n" + f"{pay};a\n{pay};b\n;b\n" * 4, {"sep": ";", "decimal": mark},
        f"column 'pay' holds numbers with marks of thousands ({pay!r} in line 2): remove them",
    ) for pay, mark in (("1,234.5", "."), ("-1,234,567", "."), ("12.345.678,90", ","))),
    (GOOD, {"decimal": ";"}, "decimal=';' is neither"),
    (
        GOOD.replace("3,no", "3,né"), {"written_as": "cp1252"},
        "line 5 is not in encoding='utf-8-sig' (invalid continuation byte): pass another, such as "
        "encoding='cp1252'",
    ),
    (GOOD, {"encoding": "latin-99"}, "encoding='latin-99' is unknown"),
    # parameters
    (GOOD, {"target": "yes"}, "no column target='yes': there are y, age"),
    (GOOD, {"target": "Age"}, "no column target='Age': did you mean 'age'?"),
    (GOOD, {"target": None}, "target is not stated: the columns are age, y"),
    (GOOD, {"task": None}, "state task=classification or task=regression"),
    (GOOD, {"task": "clustering"}, "task='clustering' is unknown"),
    # values
    (GOOD.replace("5,", "-inf,", 1), {}, "'age' is infinite or beyond ±1e+100 ('-inf' in line 7)"),
    (GOOD.replace("5,", "1e999,", 1), {}, "'age' is infinite or beyond ±1e+100 ('1e999' in line 7"),
    (
        lines("age,y", COUNT, ["a", "", "b", "c", "d", ""]), {},
        "target 'y' is missing in 4 examples (lines 3, 7, 9, 13)",
    ),
    (
        lines("age,y", COUNT, ["0", "1", "NaN"]), {},
        "target 'y' is missing in 4 examples (lines 4, 7, 10, 13)",
    ),
    (
        lines("age,y", COUNT, ["true", "false", "NA"]), {},
        "target 'y' is missing in 4 examples (lines 4, 7, 10, 13)",
    ),
    (
        lines("age,y", COUNT, ["1.5", "NA"]), {"task": "regression"},
        "target 'y' is missing in 6 examples (lines 3, 5, 7, 9, 11, …)",
    ),
    (lines("age,y", COUNT, ["a"]), {}, "target 'y' is always 'a'"),
    (lines("age,y", COUNT, ["3"]), {"task": "regression"}, "target 'y' is always 3"),
    (
        lines("age,y", COUNT, ["1", "2", "high"]), {"task": "regression"},
        "target 'y' is not numeric ('high' in line 4): use task=classification",
    ),
    (
        lines("age,y", COUNT, ["true", "false"]), {"task": "regression"},
        "target 'y' is not numeric ('true' in line 2)",
    ),
    (
        lines("age,y", COUNT, ["1", "inf"]), {"task": "regression"},
        "target 'y' is infinite or beyond ±1e+100 ('inf' in line 3)",
    ),
    (
        "age,y\n" + "".join(f"1,{i}.5\n" for i in range(21)), {},
        "target 'y' has 21 distinct values, not all of them integers: use task=regression",
    ),
])
def test_bad_text_file(load, text, options, message):
    with pytest.raises(InputError, match=re.escape(message)) as error:
        load(text, **options)
    if "decimal=';'" not in message:
        assert "people.csv: " in str(error.value)


@pytest.mark.parametrize("last, options, message", [
    ("3,inf", {}, "column 'age' is infinite or beyond ±1e+100 ('inf' in line 17)"),
    ("3", {}, "line 17 has 1 value(s)"),
    ("high,3", {"task": "regression"}, "target 'y' is not numeric ('high' in line 17)"),
])
def test_line_after_a_blank_line_and_a_value_of_two_lines(load, last, options, message):
    # Lines 1, 2, 3 and 4, 5 to 15, 16, 17
    text = "y,age\n\n" + '"1\n",2\n' + "2,3\n" * 11 + "\n" + last + "\n"
    with pytest.raises(InputError, match=re.escape(message)):
        load(text, **options)


def test_missing_file_and_extension(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=re.escape(f"no file {tmp_path}/data/people.csv")):
        read_file("data/people.csv")
    for name, message in (
        ("people.xlsx", "extension '.xlsx' is none of .csv, .tsv, .txt, .parquet, .pq: convert"),
        ("people.csv.gz", "extension '.gz' is none of .csv, .tsv, .txt, .parquet, .pq: decompress"),
    ):
        (tmp_path / name).touch()
        with pytest.raises(InputError, match=re.escape(message)):
            read_file(name)
    (tmp_path / "all.csv").mkdir()
    with pytest.raises(InputError, match="all.csv: a folder, .*, is no file"):
        read_file("all.csv")


def test_line_for_excel(load):
    with pytest.raises(InputError, match="line 1 is 'sep=;', which only Excel understands"):
        load("sep=;\n" + GOOD.replace(",", ";"), sep=";")


def test_home_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "people.csv").write_text(GOOD)
    assert len(read_file("~/people.csv").frame) == 12


# Benchmarking set

def numbered(n):
    frame = pd.DataFrame({"age": np.arange(n, dtype=float), "y": np.arange(n) % 2})
    return Table("numbers", frame)


@pytest.mark.parametrize("n, bench_size, n_bench, described", [
    (1666, "auto", 0, "no benchmarking set (too small)"),
    (1667, "auto", 1000, "benchmarking set of 1,000"),
    (5000, "auto", 3000, "benchmarking set of 3,000"),
    (100, 0, 0, "no benchmarking set"),
    (100, 0.0, 0, "no benchmarking set"),
    (100, 0.29, 29, "benchmarking set of 29"),
    (100, 1, 1, "benchmarking set of 1"),
    (100, 90, 90, "benchmarking set of 90"),
])
def test_bench_size(n, bench_size, n_bench, described):
    population = make_population(numbered(n), "y", "classification", bench_size=bench_size)
    assert (population.n_pool, population.n_bench) == (n - n_bench, n_bench)
    assert population.description.endswith("; " + described)


@pytest.mark.parametrize("bench_size, message", [
    (91, "bench_size=91 leaves 9 of 100 examples for study sets, fewer than 10: use bench_size=90"),
    (0.95, "bench_size=0.95 leaves 5 of 100 examples"),
    (200, "bench_size=200 leaves 0 of 100"),
    (-1, "bench_size=-1 is neither"), (1.0, "bench_size=1.0 is neither"),
    (True, "bench_size=True is neither"), ("half", "bench_size='half' is neither"),
])
def test_bad_bench_size(bench_size, message):
    with pytest.raises(InputError, match=re.escape(message)):
        make_population(numbered(100), "y", "classification", bench_size=bench_size)


# Parquet files

@pytest.fixture
def load_parquet(tmp_path):
    def load(columns, target="y", task="classification", name="people.parquet"):
        path = tmp_path / name
        pd.DataFrame({"y": ["a", "b"] * 6} | columns, index=range(5, 17)).to_parquet(path)
        return make_population(read_file(path), target, task)
    return load


@pytest.mark.parametrize("values, expected", [
    ([1, 2], [1.0, 2.0]),
    (pd.array([1, None], dtype="Int64"), [1.0, np.nan]),
    (pd.array([1, 2], dtype="float32"), [1.0, 2.0]),
    ([decimal.Decimal("1.5"), None], [1.5, np.nan]),
    ([None, None], [np.nan, np.nan]),
    (pd.to_datetime(["1970-01-01 00:01", None]), [60.0, np.nan]),
    (pd.to_datetime(["1970-01-01 01:00", None]).tz_localize("Europe/Paris"), [0.0, np.nan]),
    (pd.to_timedelta(["90 s", None]), [90.0, np.nan]),
    ([datetime.date(1970, 1, 2), None], [86400.0, np.nan]),
    ([datetime.date(9999, 12, 31), None], [253402214400.0, np.nan]),
    (pd.Series([1, None], dtype="int64[pyarrow]"), [1.0, np.nan]),
])
def test_parquet_numbers_and_times(load_parquet, values, expected):
    X, _ = examples_of(load_parquet({"x": pd.Series(values).repeat(6).array}))
    assert X["x"].dtype == float
    np.testing.assert_array_equal(X["x"], np.repeat(expected, 6))


@pytest.mark.parametrize("values, kind", [
    (["u", None], "categorical"), (pd.Categorical(["u", None]), "categorical"),
    (["1", None], "categorical"), (pd.Categorical(["1", None]), "categorical"),
    ([True, None], "boolean"), (pd.array([True, None], dtype="boolean"), "boolean"),
])
def test_parquet_keeps_text_and_booleans(load_parquet, values, kind):
    population = load_parquet({"x": pd.Series(values).repeat(6).array})
    assert f"1 feature (1 {kind}; 6 missing values)" in population.description
    assert examples_of(population)[0]["x"].isna().sum() == 6


@pytest.mark.parametrize("labels, classes", [
    ([True, False], [False, True]), ([9.0, 1.0], [1, 9]),
    (pd.Series([9, 1], dtype="int64[pyarrow]"), [1, 9]), (pd.Categorical(["v", "u"]), ["u", "v"]),
])
def test_parquet_classes(load_parquet, labels, classes):
    labels = pd.Series(labels).repeat(6).array
    population = load_parquet({"x": range(12), "y": labels}, name="people.pq")
    assert population.classes == classes
    assert examples_of(population)[1].tolist() == [1] * 6 + [0] * 6


@pytest.mark.parametrize("columns, task, message", [
    ({"x": [[1, 2]] * 12}, "classification", "column 'x' holds values of a type that can't be"),
    ({"x": [b"u"] * 12}, "classification", "column 'x' holds values of a type that can't be"),
    (
        {"x": [0.0] * 6 + [np.inf] * 6}, "classification",
        "'x' is infinite or beyond ±1e+100 (inf in row 6 (counting from 0))",
    ),
    (
        {"x": range(12), "y": [1.5, None] * 6}, "regression",
        "target 'y' is missing in 6 examples (rows 1, 3, 5, 7, 9, … (counting from 0))",
    ),
    ({"x": range(12)}, "regression", "target 'y' is not numeric ('a' in row 0 (counting from 0))"),
    ({}, "regression", "no features"),
])
def test_bad_parquet_file(load_parquet, columns, task, message):
    with pytest.raises(InputError, match=re.escape(message)):
        load_parquet(columns, task=task)


def test_parquet_index_is_a_column_if_it_has_a_name(tmp_path):
    path = tmp_path / "people.parquet"
    frame = pd.DataFrame({"y": ["a", "b"] * 6, "x": range(12), "patient": [0, 1, 2] * 4})
    for index in (["patient"], ["patient", "y"]):
        frame.set_index(index).to_parquet(path)
        population = make_population(read_file(path), "y", "classification", group="patient")
        assert "3 groups" in population.description
        assert list(examples_of(population)[0]) == ["x"]


def test_parquet_without_columns(tmp_path):
    pyarrow.parquet.write_table(pa.table({}), tmp_path / "people.parquet")
    with pytest.raises(InputError, match="no column target='y': there are none"):
        make_population(read_file(tmp_path / "people.parquet"), "y", "regression")


def test_parquet_with_duplicate_columns(tmp_path):
    table = pa.table([pa.array(range(12))] * 3, names=["x", "x", "y"])
    pyarrow.parquet.write_table(table, tmp_path / "people.parquet")
    with pytest.raises(InputError, match="several columns 'x'"):
        make_population(read_file(tmp_path / "people.parquet"), "y", "regression")


def test_not_parquet(tmp_path):
    (tmp_path / "people.parquet").write_text(GOOD)
    with pytest.raises(InputError, match=r"people\.parquet: can't be read as Parquet"):
        read_file(tmp_path / "people.parquet")


# Data sets by name

@pytest.mark.parametrize("name, n_pool, n_bench, n_features, classes", [
    ("breast_cancer", 569, 0, 30, ["benign", "malignant"]),
    ("digits", 719, 1078, 64, list(range(10))),
    ("wine", 178, 0, 13, ["class_0", "class_1", "class_2"]),
    ("diabetes", 442, 0, 10, None),
])
def test_bundled(name, n_pool, n_bench, n_features, classes):
    population = make_population(read_bundled(name))
    assert (population.n_pool, population.n_bench) == (n_pool, n_bench)
    assert population.classes == classes
    assert f"{n_features} features" in population.description


def test_bundled_classes_keep_their_names():
    original = sklearn.datasets.load_breast_cancer()
    population = make_population(read_bundled("breast_cancer"))
    _, y = examples_of(population)
    names = original.target_names[original.target]
    assert [population.classes[code] for code in y] == names.tolist()


def test_bundled_with_another_target_or_task():
    assert make_population(read_bundled("digits"), task="regression").task == "regression"
    with pytest.raises(InputError, match="task is not stated"):
        make_population(read_bundled("wine"), target="alcohol")
    with pytest.raises(InputError, match=r"'target' is not numeric \('class_0' in row 0"):
        make_population(read_bundled("wine"), task="regression")


def test_unknown_name():
    with pytest.raises(InputError, match=r"'brest_cancer' is unknown: did you mean 'breast_cancer'"
                                         r"\? there are breast_cancer, "):
        read_bundled("brest_cancer")


@pytest.mark.parametrize("dataset, data_id", [
    (31, 31), ("31", 31), ("openml:31", 31), ("digits", None), ("openml:", None), (None, None),
])
def test_openml_id(dataset, data_id):
    assert openml_id(dataset) == data_id


def test_openml(monkeypatch):
    frame = pd.DataFrame({"age": np.arange(12.0), "y": pd.Categorical(["10", "9"] * 6)})
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", lambda **_: Bunch(
        frame=frame, target_names=["y"], details={"name": "people"},
    ))
    with pytest.raises(InputError, match="task is not stated"):
        make_population(read_openml(31))
    population = make_population(read_openml(31), task="classification")
    assert population.description.startswith("OpenML 31 (people): 12 examples")
    assert population.classes == [9, 10]


def test_openml_without_network(monkeypatch):
    def fail(**_):
        raise OSError("no route to host")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", fail)
    command = 'benchopt prepare . --force -d "tabular[dataset=31]"'
    with pytest.raises(InputError, match=re.escape(command)):
        read_openml(31)
