"""Texts on disk, their labels, and the data sets made of them."""
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("datasets")

import datasets
from benchmark_utils import hub
from benchmark_utils.errors import InputError
from benchmark_utils.texts import TextSource
from benchmark_utils.views import View

GLUE = Path(__file__).parents[2] / "shared" / "data" / "glue"
STARS = ["1 star", "2 star", "3 stars", "4 stars", "5 stars"]


def table(**columns):
    return datasets.Dataset.from_dict(columns)


class TestSource:
    def test_texts_in_any_order(self):
        view = View(TextSource(table(text=["zero", "un", "zwei", ""]), ["text"], "k"))
        assert view.read() == ["zero", "un", "zwei", ""]
        assert view[np.array([2, 2, 0])].read() == ["zwei", "zwei", "zero"]
        assert view[np.array([2, 1])].content() == [b"zwei", b"un"]

    def test_pairs(self):
        source = TextSource(table(a=["x", "y"], b=["1", "2"]), ["a", "b"], "k")
        assert source.is_pair and source.read(np.array([1, 0])) == [("y", "2"), ("x", "1")]

    def test_content_tells_where_the_first_text_ends(self):
        source = TextSource(table(a=["x", "xy"], b=["yz", "z"]), ["a", "b"], "k")
        first, second = source.content(np.arange(2))
        assert first != second

    def test_columns_are_part_of_the_key(self):
        of = table(a=["x"], b=["y"])
        keys = {TextSource(of, columns, "k").key for columns in (["a"], ["b"], ["a", "b"])}
        assert len(keys) == 3
        assert TextSource(of, ["a"], "k") == TextSource(of, ["a"], "k")

    def test_empty_texts_are_counted(self):
        source = TextSource(table(a=["", "x", " \t\n", "x"], b=["y", "", "", "y"]), ["a", "b"], "k")
        assert source.n_empty == 3

    def test_missing_texts_are_refused(self):
        with pytest.raises(InputError, match="row 1 has no text .*2 such rows"):
            TextSource(table(text=["x", None, "y", None]), ["text"], "k")

    def test_numbers_are_no_texts(self):
        with pytest.raises(InputError, match="'text' holds int64, no texts"):
            TextSource(table(text=[1, 2]), ["text"], "k")


@pytest.fixture
def write(tmp_path, monkeypatch):
    """write("glue/rte", "train", sentence1=…): a part of a data set in the hub's layout."""
    monkeypatch.setattr(hub, "get_data_path", lambda key: tmp_path / key)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))

    def write(folder, part, **columns):
        path = tmp_path / folder / f"{part}-00000-of-00001.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table(columns), path)

    return write


def write_rte(write, n=40, **columns):
    for part in ("train", "validation"):
        made = {
            "sentence1": [f"{part} {i}" for i in range(n)], "sentence2": ["so"] * n,
            "label": [0, 1] * (n // 2),
        } | columns
        write("glue/rte", part, **{name: values for name, values in made.items() if values})


class TestGlue:
    def test_train_and_validation_parts_are_pooled(self, component, write):
        write_rte(write)
        data = component("dataset", "glue").get_data()
        population = data["population"]
        assert data["problem"] is None and population.n_pool == 80 and population.n_bench == 0
        assert population.classes == ["entailment", "not_entailment"]
        assert population.description == "GLUE rte, 80 pairs of texts"
        study = population.draw(0, 0, 80, 0).study
        assert {text.split()[0] for text, _ in study.X.read()} == {"train", "validation"}

    def test_empty_texts_are_told(self, component, write):
        write_rte(write, sentence2=["so"] * 38 + ["", " "])
        population = component("dataset", "glue").get_data()["population"]
        assert population.description.endswith("80 pairs of texts, 4 of them empty")

    @pytest.mark.parametrize(("columns", "parameters", "message"), [
        ({"sentence1": None, "sentence_1": ["x"] * 40}, {}, "no column 'sentence1': did you mean"),
        ({"label": [-1] * 40}, {}, "the label -1 in row 0"),
        ({"label": ["entailment", "not_entail"] * 20}, {}, "did you mean 'not_entailment'"),
        ({}, {"n_bench": 80}, "n_bench=80 is not a number of examples to set aside from 80"),
        ({}, {"task": "rted"}, "task='rted' is none of rte, mrpc"),
        ({}, {"task": "mrpc"}, "benchopt prepare . --force -d glue"),
    ])
    def test_bad_input_is_a_reason_to_skip(self, component, write, columns, parameters, message):
        write_rte(write, **columns)
        data = component("dataset", "glue", **parameters).get_data()
        assert data["population"] is None and message in data["problem"]

    def test_all_tasks_are_prepared(self, component, write, monkeypatch):
        prepared = []
        monkeypatch.setattr(hub.HubData, "download", lambda self: prepared.append(self.config))
        component("dataset", "glue", task="mrpc").prepare()
        assert prepared == ["rte", "mrpc", "cola", "sst2"]

    def test_the_cache_key_follows_the_files(self, component, write):
        write_rte(write)
        before = component("dataset", "glue").depends_on()
        write_rte(write, n=42)
        assert before != component("dataset", "glue").depends_on()


class TestYelp:
    @pytest.fixture
    def population(self, component, write):
        def population(**parameters):
            n = 500
            write("yelp", "train", label=[i % 5 for i in range(n)],
                  text=[f"review {i}" for i in range(n)])
            data = component("dataset", "yelp", **{"n_bench": 300} | parameters).get_data()
            assert data["problem"] is None
            return data["population"]

        return population

    def test_benchmarking_set_is_fixed_and_stratified(self, population):
        first, again = population().draw(0, 0, 100, 50), population().draw(1, 1, 100, 50)
        assert population().classes == STARS
        assert np.bincount(first.bench.y).tolist() == [60] * 5
        assert first.bench.X.read() == again.bench.X.read()
        assert first.study.X.read() != again.study.X.read()
        parts = [set(part.X.rows.tolist()) for part in (first.study, first.outer, first.bench)]
        assert len(set.union(*parts)) == sum(map(len, parts)) == 450

    def test_a_capped_benchmarking_set_leaves_the_study_sets_alone(self, population):
        whole, capped = population(), population(max_bench=50)
        assert (capped.n_bench, capped.n_pool) == (50, whole.n_pool)
        whole, capped = (p.draw(3, 0, 100, 50) for p in (whole, capped))
        assert capped.study.X.read() == whole.study.X.read()
        assert capped.outer.X.read() == whole.outer.X.read()
        assert set(capped.bench.X.rows) < set(whole.bench.X.rows)
        assert np.bincount(capped.bench.y).tolist() == [10] * 5


@pytest.mark.skipif(not GLUE.exists(), reason="needs ../shared/data/glue")
class TestRealGlue:
    @pytest.fixture
    def glue(self, component, monkeypatch):
        monkeypatch.setattr(hub, "get_data_path", lambda key: GLUE)
        return lambda **parameters: component("dataset", "glue", **parameters).get_data()

    @pytest.mark.parametrize(("task", "n_pool", "published"), [
        ("rte", 2767, 509), ("mrpc", 4075, 750), ("cola", 9594, 1763),
    ])
    def test_bootstrap_parts_have_the_published_sizes(self, benchmark, glue, task, n_pool,
                                                      published):
        from benchmark_utils.splits import make_splits, split_sizes

        population = glue(task=task)["population"]
        assert population.n_pool == n_pool
        sizes = split_sizes("bootstrap", "max", 0.2, 0.0, n_pool)
        n_val = [
            len(make_splits("bootstrap", sizes, 1, seed)[0].val) for seed in range(200)
        ]
        # The mean of as many runs as the published ones is within two standard errors of it.
        assert abs(np.mean(n_val) - published) < 2 * np.std(n_val) / np.sqrt(30)

    def test_sst2_has_room_for_a_benchmarking_set(self, glue):
        population = glue(task="sst2", n_bench=60_000)["population"]
        assert (population.n_pool, population.n_bench) == (8221, 60_000)
        sets = population.draw(0, 0, 1000, 7000)
        shares = [part.y.mean() for part in (sets.study, sets.outer, sets.bench)]
        assert np.ptp(shares) < 0.01
