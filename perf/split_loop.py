"""Time and memory of many splits, against what a user would write by hand.

- The bare loop: draw the data, then fit, predict test, outer and benchmarking set and compute the
  same scores with scikit-learn, split by split.
- The layout "one Benchopt repetition per split".

Times are beyond Benchopt's own start-up, which is measured by a run of one split and subtracted.
Run by hand from the repository root: python perf/split_loop.py
"""
import os
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


def benchopt(solver, n_seeds, n_splits, data="simulated", train_size=1000):
    """Seconds and peak memory in MB of one uncached `benchopt run`."""
    with tempfile.TemporaryDirectory() as folder:
        config = Path(folder) / "benchopt.yml"
        config.write_text(f"cache: {folder}/cache\n")
        started = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, "-m", "benchopt", "run", str(ROOT), "-d", data, "-s", solver,
             "-o", f"score trust[train_size={train_size},n_splits={n_splits}]",
             "-r", str(n_seeds), "--no-plot", "--output", f"{folder}/results.parquet"],
            env={**os.environ, "BENCHOPT_CONFIG": str(config)},
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=folder,
        )
        _, status, usage = os.wait4(process.pid, 0)
        if status:
            raise RuntimeError(f"benchopt run of {solver} failed")
        return time.perf_counter() - started, usage.ru_maxrss / 1024


def start_up():
    return benchopt("ridge", 1, 1, "simulated[n_samples=2000,n_bench=1000]", 40)[0]


def timed(function, *arguments):
    started = time.perf_counter()
    with threadpool_limits(1):
        function(*arguments)
    return time.perf_counter() - started


def compare(name, make_estimator, n_seeds, n_splits, repeats):
    ours, bare, base = [], [], []
    for _ in range(repeats):
        base.append(start_up())
        ours.append(benchopt(name, n_seeds, n_splits)[0])
        bare.append(timed(bare_loop, make_estimator, n_seeds, n_splits))
    base = statistics.median(base)
    ours, bare = statistics.median(ours) - base, statistics.median(bare)
    print(f"{name}, {n_seeds} seeds x {n_splits} splits: {ours:.2f} s beyond the start-up of "
          f"{base:.2f} s; bare loop {bare:.2f} s; ratio {ours / bare:.2f}")
    return ours / (n_seeds * n_splits), base


def main():
    per_split, base = compare("ridge", lambda k: Ridge(), 3, 100, repeats=7)
    compare("extra_trees", lambda k: ExtraTreesRegressor(random_state=k), 1, 10, repeats=3)

    n = 60
    seconds = [(benchopt("ridge", n, 1)[0] - base) / n for _ in range(3)]
    layout = statistics.median(seconds)
    print(f"one Benchopt repetition per split: {1000 * layout:.1f} ms a split, here "
          f"{1000 * per_split:.2f} ms; ratio {layout / per_split:.1f}")

    few, many = (statistics.median(benchopt("ridge", 1, k)[1] for _ in range(3)) for k in (20, 200))
    print(f"peak memory: K = 20 {few:.0f} MB, K = 200 {many:.0f} MB; {many - few:+.0f} MB")


if __name__ == "__main__":
    main()
