"""Time and memory of many splits, against what a user would write by hand.

- The bare loop: draw the data, then fit, predict test, outer and benchmarking set and compute the
  same scores with scikit-learn, split by split.
- The layout "one Benchopt repetition per split".

Times leave out Benchopt's start-up: runs are made in this process, after a first one.
Run by hand from the repository root: python perf/split_loop.py
"""
import contextlib
import io
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from sklearn.ensemble import ExtraTreesRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import mean_absolute_error, mean_squared_error, r2_score
from sklearn.model_selection import ShuffleSplit
from threadpoolctl import threadpool_limits

ROOT = Path(__file__).parents[1]
N_STUDY, N_TEST, N_BENCH, N_SAMPLES = 1250, 250, 100_000, 150_000


def bare_loop(make_estimator, n_seeds, n_splits):
    for seed in range(n_seeds):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((N_SAMPLES, 5))
        y = X @ rng.standard_normal(5) + rng.standard_normal(N_SAMPLES)
        study, bench = slice(0, N_STUDY), slice(N_SAMPLES - N_BENCH, None)
        outer = slice(N_STUDY, N_STUDY + 194 * N_TEST)
        splitter = ShuffleSplit(n_splits, test_size=N_TEST, random_state=seed)
        for k, (train, test) in enumerate(splitter.split(X[study])):
            model = make_estimator(k).fit(X[train], y[train])
            for truth, prediction in (
                (y[test], model.predict(X[test])), (y[bench], model.predict(X[bench])),
            ):
                mean_squared_error(truth, prediction)
                mean_absolute_error(truth, prediction)
                r2_score(truth, prediction)
            if k == 0:
                ((y[outer] - model.predict(X[outer])) ** 2).reshape(194, N_TEST).mean(axis=1)


def arguments(solver, n_seeds, n_splits):
    return dict(
        dataset_names=["simulated"], solver_names=[solver],
        objective_filters=[f"score trust[train_size=1000,n_splits={n_splits}]"],
        n_repetitions=n_seeds, plot_result=False, show_progress=False,
    )


def benchopt(solver, n_seeds, n_splits):
    """Seconds of one uncached run, in this process, imports done."""
    shutil.rmtree(FOLDER / "cache", ignore_errors=True)
    output = FOLDER / "results.parquet"
    output.unlink(missing_ok=True)
    started = time.perf_counter()
    with contextlib.redirect_stdout(io.StringIO()):
        run_benchmark(
            str(ROOT), output_file=str(output), **arguments(solver, n_seeds, n_splits)
        )
    return time.perf_counter() - started


def peak_memory(solver, n_seeds, n_splits):
    """MB of one uncached run in a process of its own."""
    code = "from benchopt.runner import run_benchmark as r; r({!r}, output_file={!r}, **{!r})"
    with tempfile.TemporaryDirectory() as folder:
        process = subprocess.Popen(
            [sys.executable, "-c", code.format(
                str(ROOT), f"{folder}/results.parquet", arguments(solver, n_seeds, n_splits)
            )],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(folder),
        )
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        raise RuntimeError(f"the run of {solver} failed")
    return usage.ru_maxrss / 1024


def environment(folder):
    config = Path(folder) / "benchopt.yml"
    config.write_text(f"cache: {folder}/cache\n")
    config.chmod(0o600)
    return {**os.environ, "BENCHOPT_CONFIG": str(config)}


def timed(function, *arguments):
    started = time.perf_counter()
    with threadpool_limits(1):
        function(*arguments)
    return time.perf_counter() - started


def compare(name, make_estimator, n_seeds, n_splits, repeats):
    ours, bare = [], []
    for _ in range(repeats):
        ours.append(benchopt(name, n_seeds, n_splits))
        bare.append(timed(bare_loop, make_estimator, n_seeds, n_splits))
    ours, bare = statistics.median(ours), statistics.median(bare)
    print(f"{name}, {n_seeds} seeds x {n_splits} splits: {ours:.2f} s, bare loop {bare:.2f} s; "
          f"ratio {ours / bare:.2f}")


def compare_layouts(n_seeds, n_splits, n_repetitions, repeats):
    looped, repeated = [], []
    for _ in range(repeats):
        looped.append(benchopt("ridge", n_seeds, n_splits) / (n_seeds * n_splits))
        repeated.append(benchopt("ridge", n_repetitions, 1) / n_repetitions)
    looped, repeated = 1000 * statistics.median(looped), 1000 * statistics.median(repeated)
    print(f"one Benchopt repetition per split: {repeated:.1f} ms a split, here {looped:.2f} ms; "
          f"ratio {repeated / looped:.1f}")


def main():
    benchopt("ridge", 1, 1)
    compare("ridge", lambda k: Ridge(), 3, 100, repeats=7)
    compare("extra_trees", lambda k: ExtraTreesRegressor(random_state=k), 1, 10, repeats=3)
    compare_layouts(3, 100, 60, repeats=5)
    few, many = (statistics.median(peak_memory("ridge", 1, k) for _ in range(3)) for k in (20, 200))
    print(f"peak memory: K = 20 {few:.0f} MB, K = 200 {many:.0f} MB; {many - few:+.0f} MB")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        FOLDER = Path(folder)
        os.environ.update(environment(folder))
        # Benchopt reads its configuration when it is imported.
        from benchopt.runner import run_benchmark

        main()
