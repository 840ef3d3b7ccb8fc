import os
import random
from importlib.metadata import PackageNotFoundError, version

import numpy as np
from benchopt import safe_import_context
from benchopt.config import get_data_path

from benchmark_utils.errors import InputError
from benchmark_utils.needs import need
from benchmark_utils.population import Examples, PoolPopulation, PopulationDataset

with safe_import_context() as import_ctx:
    need("mnist1d")

N_POOL = {"standard": 4_000, "large": 70_000}
POOL_SEED, BENCH_SEED = 42, 43  # the first is the generator's default


class Dataset(PopulationDataset):
    """MNIST-1D: ten classes of noisy, shifted and stretched signals of 40 points.

    ``variant=standard`` is the pool of 4,000 of the first experiment of "On Hyperparameter Tuning
    on the Test Set" (arXiv 2610.05902), to be used with ``procedure=bootstrap``;
    ``variant=large`` that of 70,000 of its rerun with more data, with ``procedure=holdout``. The
    benchmarking set are `n_bench` examples of another seed. Generating takes half a millisecond an
    example; what was generated is kept in the folder that Benchopt's configuration names for
    mnist1d in `data_paths`, by default data/mnist1d.
    """
    name = "mnist1d"
    requirements = ["pip::mnist1d"]
    parameters = {"variant": ["standard"], "n_bench": [20_000]}
    test_config = {"n_bench": 1000}

    def prepare(self):
        for n, seed in self._parts():
            _examples(n, seed)

    def get_population(self):
        (n_pool, pool_seed), (n_bench, bench_seed) = self._parts()
        pool = _examples(n_pool, pool_seed)
        return PoolPopulation(
            pool.X, pool.y, "classification", 0,
            f"MNIST-1D, a pool of {n_pool:,} examples",
            classes=list(range(10)), bench=_examples(n_bench, bench_seed),
        )

    def _parts(self):
        if self.variant not in N_POOL:
            raise InputError(f"variant={self.variant!r} is none of {', '.join(N_POOL)}")
        if not isinstance(self.n_bench, int) or self.n_bench < 10 or self.n_bench % 10:
            raise InputError(f"n_bench={self.n_bench!r} is not a multiple of 10, as of ten classes")
        return (N_POOL[self.variant], POOL_SEED), (self.n_bench, BENCH_SEED)

    def depends_on(self):
        return {"mnist1d": _version()}


def _examples(n, seed):
    """Generated examples, the generator's training part first; kept on disk."""
    folder = get_data_path("mnist1d")
    path = folder / f"{n}_seed{seed}_{_version()}.npz"
    try:
        with np.load(path) as kept:
            return Examples(kept["X"], kept["y"])
    except Exception as error:
        # Missing, or damaged: neither keeps a run from going on.
        if path.exists():
            print(f"{path} can't be read ({error}) and is made anew")
    from mnist1d.data import get_dataset_args, make_dataset

    args = get_dataset_args()
    args.num_samples, args.seed = n, seed
    of_numpy, of_python = np.random.get_state(), random.getstate()  # noqa: NPY002
    try:
        made = make_dataset(args)
    finally:
        np.random.set_state(of_numpy)  # noqa: NPY002
        random.setstate(of_python)
    X = np.concatenate([made["x"], made["x_test"]])
    y = np.concatenate([made["y"], made["y_test"]])
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f"{path.stem}.{os.getpid()}.npz"
    np.savez(temporary, X=X, y=y)
    temporary.replace(path)
    return Examples(X, y)


def _version():
    try:
        return version("mnist1d")
    except PackageNotFoundError:
        return None
