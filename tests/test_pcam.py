"""PatchCamelyon in the hub's layout, of drawn images."""
import io
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

pytest.importorskip("datasets")
pytest.importorskip("PIL")

from benchopt.benchmark import _list_parametrized_classes
from huggingface_hub.errors import LocalEntryNotFoundError
from PIL import Image

from benchmark_utils.errors import InputError
from benchmark_utils.scoring import MAX_OUTER_CHUNKS
from benchmark_utils.splits import split_sizes

ROOT = Path(__file__).parents[1]


@pytest.fixture
def draw(draw_pcam, tmp_path, monkeypatch):
    """draw(**options): drawn files where Benchopt's configuration says that data lie."""
    monkeypatch.setenv("BENCHOPT_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("BENCHOPT_CACHE", str(tmp_path / "cache"))
    return lambda **options: draw_pcam(tmp_path / "data" / "pcam", **options)


@pytest.fixture
def population(component):
    """population(**parameters): what the data set returns."""
    return lambda **parameters: component(
        "dataset", "pcam", **{"n_bench": 30, **parameters}
    ).get_population()


def rows_of(examples):
    return examples.X.rows.tolist()


def test_both_parts_are_joined(draw, population):
    draw(n_train=40, n_valid=20)
    drawn = population()
    assert (drawn.n_pool, drawn.n_bench, drawn.task) == (30, 30, "classification")
    assert drawn.classes == ["normal", "metastasis"]
    assert "60 images of 96 × 96" in drawn.description
    sets = drawn.draw(0, 0, 10, 20)
    rows = [row for part in (sets.study, sets.outer, sets.bench) for row in rows_of(part)]
    assert sorted(rows) == list(range(60))


def test_labels_belong_to_their_images(draw, population):
    draw()
    for part in vars(population().draw(0, 0, 10, 20)).values():
        pixels = part.X.read()
        assert pixels.shape == (len(part), 96, 96, 3)
        assert np.array_equal(pixels[:, 40:56, 40:56].mean(axis=(1, 2, 3)) < 130, part.y == 1)


def test_the_benchmarking_set_is_stratified_and_the_same_for_all_seeds(draw, population):
    draw()
    first, second = (population().draw(seed, 0, 10, 20) for seed in (0, 1))
    assert rows_of(first.bench) == rows_of(second.bench)
    assert rows_of(first.study) != rows_of(second.study)
    labels = np.concatenate([part.y for part in vars(first).values()])
    assert first.bench.y.mean() == pytest.approx(labels.mean(), abs=1 / 30)


def test_fewer_of_the_benchmarking_set(draw, population):
    draw()
    all_of_it, some = (population(max_bench=n).draw(0, 0, 10, 20) for n in (None, 12))
    assert len(some.bench) == 12 and set(rows_of(some.bench)) < set(rows_of(all_of_it.bench))
    assert rows_of(some.study) == rows_of(all_of_it.study)
    assert rows_of(some.outer) == rows_of(all_of_it.outer)
    assert some.bench.y.mean() == pytest.approx(all_of_it.bench.y.mean(), abs=1 / 12)


@pytest.mark.parametrize("validation", ["valid", "validation", "val"])
def test_names_of_the_second_part(draw, population, validation):
    draw(validation=validation)
    assert population().n_pool == 30


def test_prepare_asks_the_hub_for_both_parts(draw_pcam, component, tmp_path, monkeypatch):
    asked = {}

    def snapshot_download(repo, local_files_only=False, **options):
        if local_files_only:
            raise LocalEntryNotFoundError("nothing there")
        asked.update(options, repo=repo)
        raise ConnectionError("no network")

    monkeypatch.setenv("BENCHOPT_DATA_HOME", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    with pytest.raises(ConnectionError):
        component("dataset", "pcam", revision="abc").prepare()
    assert asked["repo"] == "1aurent/PatchCamelyon" and asked["revision"] == "abc"
    assert {"data/train-*.parquet", "data/valid-*.parquet"} <= set(asked["allow_patterns"])
    assert not any("test" in pattern for pattern in asked["allow_patterns"])


def test_another_copy_is_another_state(draw, component):
    dataset = component("dataset", "pcam")
    assert dataset.depends_on() == {"content": None}
    draw()
    before = dataset.depends_on()
    draw(n_valid=21)
    assert before["content"] and dataset.depends_on() != before


class TestBadInput:
    def test_no_copy(self, population):
        with pytest.raises(InputError, match="benchopt prepare . --force -d pcam"):
            population()

    def test_too_few_images_say_what_to_set(self, draw, population):
        draw()
        with pytest.raises(InputError, match="n_bench=244912 images can't be set aside from 60.*"
                                             "n_bench=40"):
            population(n_bench=244_912)

    @pytest.mark.parametrize("parameters", [
        {"n_bench": -1}, {"n_bench": "all"}, {"max_bench": 0}, {"damaged": "ignore"},
    ])
    def test_wrong_parameters(self, draw, population, parameters):
        draw()
        (name, value), = parameters.items()
        with pytest.raises(InputError, match=f"{name}={value!r}"):
            population(**parameters)

    def test_a_truncated_file_is_refused_or_counted_out(self, draw, population):
        draw(damage=lambda row, file, label: (file[:-500] if row == 45 else file, label))
        with pytest.raises(InputError, match="1 of 60 images.*damaged=drop.*row 45"):
            population()
        left = population(damaged="drop")
        assert (left.n_pool, left.n_bench) == (29, 30)
        assert "59 images of 96 × 96, 1 damaged left out" in left.description
        sets = left.draw(0, 0, 10, 19)
        rows = [row for part in vars(sets).values() for row in rows_of(part)]
        assert sorted(rows) == [row for row in range(60) if row != 45]
        assert np.array_equal(
            sets.study.X.read()[:, 40:56, 40:56].mean(axis=(1, 2, 3)) < 130, sets.study.y == 1
        )

    def test_an_image_of_another_size(self, draw, population):
        def shrink(row, file, label):
            small = io.BytesIO()
            Image.open(io.BytesIO(file)).resize((90, 96)).save(small, "PNG")
            return small.getvalue() if row == 3 else file, label

        draw(damage=shrink)
        with pytest.raises(InputError, match="aren't 96 × 96: resize=True.*row 3: 90 × 96"):
            population(damaged="drop")
        assert population(resize=True).n_pool == 30
        with pytest.raises(InputError, match="resize='false' is neither True nor False"):
            population(resize="false")

    def test_grey_images_and_alpha(self, draw, population):
        def convert(row, file, label):
            other = io.BytesIO()
            Image.open(io.BytesIO(file)).convert(["L", "RGBA"][row % 2]).save(other, "PNG")
            return other.getvalue(), label

        draw(damage=convert)
        pixels = population().draw(0, 0, 30, 0).study.X.read()
        is_grey = (pixels[..., :1] == pixels).all(axis=(1, 2, 3))
        assert 0 < is_grey.sum() < 30

    def test_a_label_of_minus_one(self, draw, population):
        draw(damage=lambda row, file, label: (file, -1 if row == 50 else int(label)))
        with pytest.raises(InputError, match="the label -1 in row 50"):
            population()

    def test_a_label_column_of_another_name(self, draw, population):
        path = draw() / "train-00000-of-00001.parquet"
        pq.write_table(pq.read_table(path).rename_columns(["image", "labels"]), path)
        with pytest.raises(InputError, match="no column 'label': did you mean 'labels'"):
            population()


def test_configuration_has_the_papers_sizes(benchmark, component):
    """configs/sample_gain_pcam.yml, whose images aren't here."""
    config = yaml.safe_load((ROOT / "configs" / "sample_gain_pcam.yml").read_text("utf-8"))
    n_pool = 294_912 - component("dataset", config["dataset"][0]).n_bench
    objectives = benchmark.check_objective_filters(config["objective"])
    train_sizes = []
    for objective, _ in _list_parametrized_classes(*objectives, check_installed=False):
        train_sizes.append(objective.train_size)
        sizes = split_sizes(
            objective.procedure, objective.train_size, objective.test_size, objective.val_size,
            n_pool,
        )
        assert sizes.test == pytest.approx(0.2 * sizes.study, abs=0.6)
        assert sizes.val == pytest.approx(0.2 * sizes.study, abs=0.6)
        assert sizes.study + MAX_OUTER_CHUNKS * sizes.test <= n_pool == 50_000
        assert objective.n_splits == 20 and not objective.stratify
    assert train_sizes == [30, 100, 300, 500, 800] and config["n-repetitions"] == 100
