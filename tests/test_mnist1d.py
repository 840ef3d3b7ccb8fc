import random
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip("mnist1d")

from benchmark_utils.splits import split_sizes

ROOT = Path(__file__).parents[1]
N_BENCH = 100


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("data") / "mnist1d"


@pytest.fixture
def dataset(component, folder, monkeypatch):
    """dataset(**parameters), whose data folder is the tests' own."""
    def get(**parameters):
        dataset = component("dataset", "mnist1d", **{"n_bench": N_BENCH, **parameters})
        monkeypatch.setattr(module_of(dataset), "get_data_path", lambda key: folder)
        return dataset

    return get


@pytest.fixture
def make(dataset):
    """make(n, seed), which generates examples or finds them."""
    return module_of(dataset())._examples


def module_of(component):
    return sys.modules[type(component).__module__]


class TestStandard:
    def test_is_the_generators_with_4000_examples(self, dataset):
        from mnist1d.data import get_dataset_args, make_dataset

        population = dataset().get_population()
        args = get_dataset_args()
        args.num_samples = 4000
        state = np.random.get_state()  # noqa: NPY002
        made = make_dataset(args)
        np.random.set_state(state)  # noqa: NPY002
        sets = population.draw(1, 0, 4000, 0)
        expected = np.concatenate([made["x"], made["x_test"]])
        assert sets.study.X.shape == (4000, 40) and len(sets.outer) == 0
        as_sets = [sorted(map(tuple, X)) for X in (sets.study.X, expected)]
        assert as_sets[0] == as_sets[1]
        label = dict(zip(map(tuple, expected), [*made["y"], *made["y_test"]], strict=True))
        assert all(label[tuple(x)] == y for x, y in zip(sets.study.X, sets.study.y, strict=True))

    def test_benchmarking_set_is_fresh(self, dataset):
        population = dataset().get_population()
        a, b = population.draw(1, 0, 3000, 500), population.draw(2, 1, 3000, 500)
        assert population.n_bench == N_BENCH == len(a.bench) and population.n_pool == 4000
        np.testing.assert_array_equal(a.bench.X, b.bench.X)
        assert not set(map(tuple, a.bench.X)) & set(map(tuple, a.study.X))
        assert not np.array_equal(a.study.X, b.study.X)
        # Ten classes, as many of each, on the same scale.
        assert np.bincount(a.bench.y).tolist() == [N_BENCH // 10] * 10
        assert abs(a.bench.X.mean()) < 1e-9 and a.bench.X.std() == pytest.approx(1)

    def test_generating_leaves_the_global_random_state_alone(self, make):
        np.random.seed(1)  # noqa: NPY002
        random.seed(1)
        expected = np.random.rand(), random.random()  # noqa: NPY002
        np.random.seed(1)  # noqa: NPY002
        random.seed(1)
        make(20, 5)
        assert (np.random.rand(), random.random()) == expected  # noqa: NPY002


class TestKept:
    def test_generated_once(self, make, folder):
        first = make(30, 7)
        (path,) = folder.glob("30_seed7_*.npz")
        written = path.stat().st_mtime_ns
        again = make(30, 7)
        np.testing.assert_array_equal(first.X, again.X)
        np.testing.assert_array_equal(first.y, again.y)
        assert path.stat().st_mtime_ns == written
        assert not list(folder.glob("*.tmp*"))

    @pytest.mark.parametrize("content", [b"", b"not an archive"])
    def test_a_damaged_file_is_made_anew(self, make, folder, content, capsys):
        first = make(40, 7)
        (path,) = folder.glob("40_seed7_*.npz")
        path.write_bytes(content)
        np.testing.assert_array_equal(make(40, 7).X, first.X)
        assert path.name in capsys.readouterr().out
        np.testing.assert_array_equal(np.load(path)["X"], first.X)

    def test_prepare_makes_what_get_data_reads(self, dataset, folder):
        dataset(n_bench=50).prepare()
        assert list(folder.glob("50_seed43_*.npz")) and list(folder.glob("4000_seed42_*.npz"))


@pytest.mark.parametrize(("parameters", "what"), [
    ({"variant": "huge"}, "variant='huge' is none of standard, large"),
    ({"n_bench": 0}, "n_bench=0 is not a multiple of 10"),
    ({"n_bench": 0.5}, "n_bench=0.5 is not a multiple of 10"),
    ({"n_bench": 1005}, "n_bench=1005 is not a multiple of 10"),
])
def test_wrong_parameters(dataset, parameters, what):
    data = dataset(**parameters).get_data()
    assert data["population"] is None and what in data["problem"]


def test_large_variant_draws_three_sets_of_10000(benchmark):
    config = yaml.safe_load((ROOT / "configs" / "test_tuning_mnist1d_t100.yml").read_text())
    ((_, parameters),) = benchmark.check_objective_filters(config["objective"])
    names = ("procedure", "train_size", "test_size", "val_size")
    sizes = split_sizes(*(parameters[name] for name in names), n_pool=70_000)
    assert (sizes.study, sizes.train, sizes.val, sizes.test) == (30_000, *[10_000] * 3)
