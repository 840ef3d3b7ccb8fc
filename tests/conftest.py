"""Shared by all tests: the benchmark itself, and a way to run it as a user does."""
import os
import subprocess
import sys
from pathlib import Path

import pytest
from benchopt.benchmark import Benchmark
from benchopt.results import read_results

ROOT = Path(__file__).parents[1]


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


@pytest.fixture
def run(tmp_path):
    """run("-d", "simulated", …): `benchopt run`, in a process and with a cache of its own.

    Returns the results (None where there are none) and what was printed.
    """
    def run(*arguments, root=ROOT, output=None, cache=tmp_path / "cache", timeout=300):
        output = output or tmp_path / "results.parquet"
        output.unlink(missing_ok=True)
        config = tmp_path / "benchopt.yml"
        config.write_text(f"cache: {cache}\n")
        done = subprocess.run(
            [sys.executable, "-m", "benchopt", "run", str(root), "--no-plot",
             "--output", str(output), *map(str, arguments)],
            capture_output=True, text=True, timeout=timeout, cwd=tmp_path,
            env={**os.environ, "BENCHOPT_CONFIG": str(config), "COLUMNS": "200"},
        )
        printed = done.stdout + done.stderr
        return (read_results(output) if output.exists() else None), printed

    return run
