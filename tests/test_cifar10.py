"""CIFAR-10 in the hub's layout, of drawn images, and CIFAR-10.1 in NumPy's files."""
import urllib.request
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("datasets")
pytest.importorskip("PIL")

from benchmark_utils.cifar10_1 import DATA, LABELS, SHAPE, URL
from benchmark_utils.errors import InputError

REAL = Path(__file__).parents[2] / "shared" / "data" / "cifar10"


@pytest.fixture
def home(tmp_path, monkeypatch):
    """Where Benchopt's configuration says that data lie."""
    monkeypatch.setenv("BENCHOPT_DATA_HOME", str(tmp_path / "data"))
    return tmp_path / "data"


@pytest.fixture
def draw(draw_cifar10, home):
    return lambda **options: draw_cifar10(home / "cifar10", **options)


@pytest.fixture
def write(home):
    """write(data=…, labels=…): the files of CIFAR-10.1, drawn where not given, None for none."""
    def write(data="drawn", labels="drawn"):
        rng = np.random.default_rng(0)
        drawn = {
            DATA: (data, rng.integers(0, 256, SHAPE, np.uint8)),
            LABELS: (labels, rng.integers(0, 10, 2000, np.int32)),
        }
        (home / "cifar10_1").mkdir(parents=True, exist_ok=True)
        for name, (given, made) in drawn.items():
            if given is not None:
                np.save(home / "cifar10_1" / name, made if isinstance(given, str) else given)
        return drawn[DATA][1], drawn[LABELS][1]

    return write


@pytest.fixture
def population(component):
    """population(**parameters): what the data set returns."""
    return lambda **parameters: component("dataset", "cifar10", **parameters).get_population()


def test_both_parts_are_the_pool(draw, population):
    draw(n_train=60, n_test=40)
    drawn = population()
    assert (drawn.n_pool, drawn.n_bench, drawn.task) == (100, 0, "classification")
    assert len(drawn.classes) == 10
    assert "100 images" in drawn.description and "CIFAR-10.1 isn't in" in drawn.description
    study = drawn.draw(0, 0, 100, 0).study
    assert sorted(study.X.rows) == list(range(100))


def test_labels_belong_to_their_images(draw, population):
    draw(n_classes=2)
    study = population().draw(0, 0, 100, 0).study
    means = study.X.read().mean(axis=(1, 2))
    spread = np.ptp([means[study.y == label].mean(0) for label in (0, 1)], axis=0).max()
    assert all(means[study.y == label].std(0).max() < spread / 10 for label in (0, 1))


def test_cifar10_1_is_the_benchmarking_set(draw, write, population):
    draw()
    images, labels = write()
    drawn = population()
    assert (drawn.n_pool, drawn.n_bench) == (100, 2000)
    assert drawn.description.endswith("CIFAR-10.1 as benchmarking set")
    bench = drawn.draw(0, 0, 50, 10).bench
    np.testing.assert_array_equal(bench.X[np.array([3, 1])].read(), images[[3, 1]])
    assert bench.X[np.array([3])].content() == [images[3].tobytes()]
    np.testing.assert_array_equal(bench.y, labels)


@pytest.mark.parametrize(("n_bench", "told"), [(30, "30 of them"), (0, "no benchmarking set")])
def test_part_of_the_pool_or_none_instead(draw, write, population, n_bench, told):
    draw()
    write()
    drawn = population(n_bench=n_bench)
    assert (drawn.n_pool, drawn.n_bench) == (100 - n_bench, n_bench)
    assert told in drawn.description


def test_the_first_images_alone(draw, population):
    draw(damage=lambda row, file: file[:50] if row == 70 else file)
    drawn = population(n_images=70, n_bench=30)
    assert (drawn.n_pool, drawn.n_bench) == (40, 30)
    sets = drawn.draw(0, 0, 40, 0)
    assert sorted([*sets.study.X.rows, *sets.bench.X.rows]) == list(range(70))


def test_another_copy_is_another_state(draw, write, component):
    dataset = component("dataset", "cifar10")
    states = [dataset.depends_on()]
    for change in (draw, write, lambda: draw(n_test=41), lambda: write(labels=np.zeros(2000))):
        change()
        states.append(dataset.depends_on())
    assert all(a != b for a, b in zip(states, states[1:], strict=False))


def test_damaged_images_are_refused_or_dropped(draw, population):
    draw(damage=lambda row, file: file[:50] if row in (7, 80) else file)
    with pytest.raises(InputError, match="2 of 100 images of 'img'.*row 7.*row 80"):
        population()
    drawn = population(damaged="drop")
    assert drawn.n_pool == 98 and "98 images, 2 damaged ones left out" in drawn.description


@pytest.mark.parametrize(("name", "value"), [
    ("n_bench", -1), ("n_bench", 2.5), ("n_bench", "all"), ("n_bench", 100),
    ("n_images", 0), ("n_images", 101), ("n_images", "few"),
])
def test_wrong_parameters(draw, population, name, value):
    draw()
    with pytest.raises(InputError, match=str(value)):
        population(**{name: value})


@pytest.mark.parametrize(("files", "message"), [
    (dict(data=np.zeros((2021, 32, 32, 3), np.uint8)), rf"{DATA} holds \(2021.*not \(2000, 32"),
    (dict(data=np.zeros(SHAPE)), f"{DATA} holds .* of float64, not .* of uint8"),
    (dict(labels=np.zeros(1999, int)), rf"{LABELS} holds \(1999,\)"),
    (dict(labels=np.zeros(2000)), f"{LABELS} holds .* of float64, not .* of integers"),
    (dict(labels=np.arange(2000) - 1), f"{LABELS} holds -1 to 1998, not labels from 0 to 9"),
    (dict(labels=None), f"{LABELS} can't be read.*No such file"),
    (dict(data=np.array([{}])), f"{DATA} can't be read.*allow_pickle"),
])
def test_bad_files_of_cifar10_1(draw, write, population, files, message):
    draw()
    write(**files)
    with pytest.raises(InputError, match=f"{message}.*n_bench=0"):
        population()


class TestPrepare:
    @pytest.fixture
    def fetched(self, monkeypatch, write, home, tmp_path):
        """The addresses that were asked for; what comes are drawn files."""
        fetched = []

        def fetch(url, path):
            fetched.append(url)
            name = url.removeprefix(URL)
            Path(path).write_bytes((tmp_path / "remote" / name).read_bytes())

        write()
        (home / "cifar10_1").rename(tmp_path / "remote")
        monkeypatch.setattr(urllib.request, "urlretrieve", fetch)
        return fetched

    def test_gets_what_is_missing(self, draw, component, fetched, home):
        draw()
        dataset = component("dataset", "cifar10")
        dataset.prepare()
        assert fetched == [URL + DATA, URL + LABELS]
        assert sorted(path.name for path in (home / "cifar10_1").iterdir()) == [DATA, LABELS]
        (home / "cifar10_1" / LABELS).unlink()
        dataset.prepare()
        assert fetched[2:] == [URL + LABELS]
        assert dataset.get_population().n_bench == 2000

    def test_says_what_to_do_without_a_network(self, draw, component, home, monkeypatch):
        def fetch(url, path):
            raise urllib.request.URLError("no network")

        monkeypatch.setattr(urllib.request, "urlretrieve", fetch)
        draw()
        with pytest.raises(OSError, match=f"{URL}{DATA} can't be.*no network.*n_bench=0"):
            component("dataset", "cifar10").prepare()
        assert not list((home / "cifar10_1").iterdir())


@pytest.mark.skipif(not REAL.exists(), reason=f"there is no {REAL}")
def test_the_real_images(home, population):
    home.mkdir()
    (home / "cifar10").symlink_to(REAL)
    drawn = population()
    study = drawn.draw(0, 0, 1000, 0).study
    assert drawn.classes[:3] == ["airplane", "automobile", "bird"]
    assert np.bincount(study.y).tolist() == pytest.approx([100] * 10, abs=1)
    # The brightest are ships and airplanes, before sea and sky.
    brightness = [study.X.read()[study.y == label].mean() for label in range(10)]
    assert set(np.argsort(brightness)[-2:]) == {0, 8}
