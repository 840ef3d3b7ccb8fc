"""Shared by all tests: the benchmark itself, and ways to run it, or a part of it."""
import io
import os
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from benchopt.benchmark import Benchmark
from benchopt.results import read_results
from benchopt.utils.run_context import RunContext

ROOT = Path(__file__).parents[1]
# No test reaches a hub, or fills the user's cache of one.
HF_HOME = tempfile.TemporaryDirectory(prefix="hf_home_")
os.environ |= {"HF_HUB_OFFLINE": "1", "HF_HOME": HF_HOME.name}


HIDE = """
import sys

class Hide:
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in {}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Hide)
"""


@pytest.fixture(scope="session")
def benchmark():
    return Benchmark(ROOT, seed=0)


@pytest.fixture
def component(benchmark):
    """component("dataset", "simulated", noise=2.0): an instance of a data set or solver."""
    def get(kind, name, **parameters):
        classes = benchmark.get_datasets() if kind == "dataset" else benchmark.get_solvers()
        return next(c for c in classes if c.name == name).get_instance(**parameters)

    return get


def run_in(folder, *arguments, root=ROOT, output=None, cache=None, timeout=300, without=()):
    """`benchopt run`, in a process and with a cache of its own, as if the packages `without` were
    not installed.

    Returns the results (None where there are none) and what was printed.
    """
    output, cache = output or folder / "results.parquet", cache or folder / "cache"
    output.unlink(missing_ok=True)
    config = folder / "benchopt.yml"
    config.write_text(f"cache: {cache}\n")
    config.chmod(0o600)
    if without:
        (folder / "sitecustomize.py").write_text(HIDE.format(tuple(without)))
    done = subprocess.run(
        [sys.executable, "-m", "benchopt", "run", str(root), "--no-plot",
         "--output", str(output), *map(str, arguments)],
        capture_output=True, text=True, timeout=timeout, cwd=folder,
        env={**os.environ, "BENCHOPT_CONFIG": str(config), "COLUMNS": "200",
             **({"PYTHONPATH": str(folder)} if without else {})},
    )
    printed = done.stdout + done.stderr
    return (read_results(output) if output.exists() else None), printed


@pytest.fixture
def run(tmp_path):
    """run("-d", "simulated", …), see `run_in`; runs of one test share a cache."""
    return partial(run_in, tmp_path)


@pytest.fixture(scope="session")
def run_session(tmp_path_factory):
    """The same for fixtures that several tests share; every call has a cache of its own."""
    return lambda *arguments, **options: run_in(
        tmp_path_factory.mktemp("run"), *arguments, **options
    )


@pytest.fixture(scope="session")
def result_file(tmp_path_factory):
    """Result file of a small run: two data sets, two settings, three learners, four seeds."""
    folder = tmp_path_factory.mktemp("results")
    results, printed = run_in(
        folder, "-d", "simulated[family=[linear,classification],n_samples=1500,n_bench=1000]",
        "-o", "score trust[train_size=40,n_splits=[3,5]]",
        "-s", "ridge", "-s", "decision_tree[max_depth=[None,3]]", "-r", 4,
    )
    assert results is not None, printed
    return folder / "results.parquet"


@pytest.fixture
def solve(benchmark):
    """solve(population, solver, repetition=0, **parameters of the objective): a frame of rows.

    As Benchopt would call them, in this process and without any cache.
    """
    def solve(population, solver, repetition=0, **parameters):
        objective = benchmark.get_benchmark_objective().get_instance(**parameters)
        RunContext(base_seed="0", dataset_name="tested", repetition=repetition).attach(
            objective, None, solver
        )
        skip, reason = objective.skip(population=population, problem=None)
        assert not skip, reason
        objective.set_data(population, None)
        objective._repetition = repetition
        described = {**objective.get_objective(), "data_key": None}
        skip, reason = solver.skip(**described)
        assert not skip, reason
        solver.set_objective(**described)
        solver.run_once()
        rows = pd.DataFrame(objective(solver.get_result()))
        return rows.rename(columns=lambda name: name.removeprefix("objective_"))

    return solve


@pytest.fixture
def half_precision(monkeypatch):
    """Where a GPU would compute in bfloat16, the CPU does."""
    import torch

    from benchmark_utils import network_training

    monkeypatch.setattr(
        network_training, "_autocast",
        lambda device, is_mixed: torch.autocast(device, torch.bfloat16, enabled=is_mixed),
    )


@pytest.fixture(scope="session")
def draw_pcam():
    """draw_pcam(folder, …): files in PatchCamelyon's layout, see `_draw_pcam`."""
    return _draw_pcam


def _draw_pcam(folder, n_train=40, n_valid=20, size=96, validation="valid", damage=None):
    """Files in the layout of PatchCamelyon on the hub, of drawn images: pink noise, and for the
    second class a dark spot in the middle.

    `damage` is a function of (row, bytes of the file, label) that returns what to write instead.
    """
    from PIL.Image import fromarray

    from datasets import Dataset, Features, Image, Value

    rng = np.random.default_rng(0)
    y, x = np.mgrid[:size, :size] / size - 0.5
    spot = 90 * (x**2 + y**2 < 0.06)[:, :, None]
    folder.mkdir(parents=True, exist_ok=True)
    first = 0
    for part, n in (("train", n_train), (validation, n_valid)):
        files, labels = [], []
        for row in range(first, first + n):
            label, buffer = bool(rng.random() < 0.5), io.BytesIO()
            pixels = rng.normal([200, 150, 180], 25, (size, size, 3)) - label * spot
            fromarray(pixels.clip(0, 255).astype(np.uint8)).save(buffer, "PNG")
            file, label = (damage or (lambda _, *same: same))(row, buffer.getvalue(), label)
            files.append({"bytes": file, "path": None})
            labels.append(label)
        first += n
        kinds = Features({"image": Image(), "label": Value("bool")})
        if not all(isinstance(label, bool) for label in labels):
            kinds["label"] = Value("int64")
        Dataset.from_dict({"image": files, "label": labels}, kinds).to_parquet(
            folder / f"{part}-00000-of-00001.parquet"
        )
    return folder


@pytest.fixture(scope="session")
def draw_cifar10():
    """draw_cifar10(folder, …): files in CIFAR-10's layout, see `_draw_cifar10`."""
    return _draw_cifar10


def _draw_cifar10(folder, n_train=60, n_test=40, n_classes=10, damage=None):
    """Files in the layout of CIFAR-10 on the hub, of drawn images: a colour for each class, and
    noise.

    `damage` is a function of (row, bytes of the file) that returns what to write instead.
    """
    from PIL.Image import fromarray

    from datasets import ClassLabel, Dataset, Features, Image

    rng = np.random.default_rng(0)
    colours = np.random.default_rng(1).integers(40, 216, (n_classes, 3))
    kinds = Features({"img": Image(), "label": ClassLabel(10)})
    folder.mkdir(parents=True, exist_ok=True)
    row = 0
    for part, n in (("train", n_train), ("test", n_test)):
        files, labels = [], rng.integers(0, n_classes, n)
        for label in labels:
            buffer = io.BytesIO()
            pixels = rng.normal(colours[label], 25, (32, 32, 3)).clip(0, 255)
            fromarray(pixels.astype(np.uint8)).save(buffer, "PNG")
            file = damage(row, buffer.getvalue()) if damage else buffer.getvalue()
            files.append({"bytes": file, "path": None})
            row += 1
        Dataset.from_dict({"img": files, "label": labels}, kinds).to_parquet(
            folder / f"{part}-00000-of-00001.parquet"
        )
    return folder
