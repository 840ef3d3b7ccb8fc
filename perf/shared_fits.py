"""What rules that share their fits cost together, and what keeping the fits costs.

- The rules default, val, test and benchmark of one algorithm in one command, against test alone.
  Both start with an empty cache; Benchopt's own start-up is measured by a run of one fit and
  subtracted. To reach: at most 1.15 times as much, in processor time, which depends less than
  elapsed time does on what else runs.
- Writing the records of ridge's fits to the store, and reading them again, against the time of the
  run that made them.

Run by hand from the repository root: python perf/shared_fits.py
"""
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmark_utils.store import Store

ROOT = Path(__file__).parents[1]
DATA = "simulated[family=classification]"
SMALL = "simulated[n_samples=2000,n_bench=1000]"
ALONE, TOGETHER = "test", "[default,val,test,benchmark]"
REPEATS = 5


def benchopt(folder, solver, n_splits, data=DATA, n_seeds=1):
    """Processor and elapsed seconds of one `benchopt run` whose cache is the folder."""
    config = Path(folder) / "benchopt.yml"
    config.write_text(f"cache: {folder}/cache\n")
    started, used = time.perf_counter(), processor_seconds()
    done = subprocess.run(
        [sys.executable, "-m", "benchopt", "run", str(ROOT), "-d", data, "-s", solver,
         "-o", f"score trust[train_size=200,val_size=0.2,n_splits={n_splits}]",
         "-r", str(n_seeds), "--no-plot", "--output", f"{folder}/results.parquet"],
        env={**os.environ, "BENCHOPT_CONFIG": str(config)}, cwd=folder,
        capture_output=True, text=True,
    )
    if done.returncode or not (Path(folder) / "results.parquet").exists():
        raise RuntimeError(f"benchopt run of {solver} failed: {done.stdout}{done.stderr}")
    return processor_seconds() - used, time.perf_counter() - started


def processor_seconds():
    """Of all child processes that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def fresh(*arguments):
    with tempfile.TemporaryDirectory() as folder:
        return benchopt(folder, *arguments)


def medians(runs):
    return [statistics.median(values) for values in zip(*runs, strict=True)]


def compare(algorithm, n_configs, n_splits):
    base, alone, together = [], [], []
    for _ in range(REPEATS):
        base.append(fresh("ridge", 1, SMALL))
        for runs, rules in ((alone, ALONE), (together, TOGETHER)):
            runs.append(fresh(f"{algorithm}[tuning={rules},n_configs={n_configs}]", n_splits))
    for kind, base_, alone_, together_ in zip(
        ("processor", "elapsed"), *map(medians, (base, alone, together)), strict=True
    ):
        print(f"{algorithm}, {n_splits} split(s) x {n_configs} configurations, {kind} time: "
              f"tuning={ALONE} {alone_ - base_:.2f} s beyond the start-up of {base_:.2f} s, "
              f"tuning={TOGETHER} {together_ - base_:.2f} s; "
              f"ratio {(together_ - base_) / (alone_ - base_):.3f}", flush=True)


def cost_of_the_store(n_splits, n_seeds):
    with tempfile.TemporaryDirectory() as folder:
        _, base = medians(fresh("ridge", 1, SMALL) for _ in range(3))
        _, seconds = benchopt(folder, "ridge", n_splits, "simulated", n_seeds)
        seconds -= base
        entries = [
            (path, key) for path in Path(folder).rglob("*.journal")
            for key in re.findall(r"\b[0-9a-f]{32}\b", path.read_text("ascii"))
        ]
        copies = {path: path.with_suffix(".copy") for path, _ in entries}
        written, read = [], []
        for _ in range(REPEATS):
            records, started = {}, time.perf_counter()
            for path in copies:
                with Store(path) as store:
                    records[path] = {key: store.get(key) for of, key in entries if of == path}
            read.append(time.perf_counter() - started)
            started = time.perf_counter()
            for path, copy in copies.items():
                with Store(copy) as store:
                    for key, record in records[path].items():
                        store.put(key, record)
            written.append(time.perf_counter() - started)
            for copy in copies.values():
                copy.unlink()
    if len(entries) != n_splits * n_seeds:
        raise RuntimeError(f"{len(entries)} records of {n_splits * n_seeds} fits")
    written, read = map(statistics.median, (written, read))
    print(f"ridge, {n_seeds} seeds x {n_splits} splits without search: {seconds:.2f} s beyond the "
          f"start-up; its {len(entries)} records are written to the store in "
          f"{1000 * written:.1f} ms ({written / seconds:.2%}) and read in {1000 * read:.1f} ms")


def main():
    compare("gradient_boosting", n_configs=30, n_splits=1)
    compare("decision_tree", n_configs=30, n_splits=20)
    cost_of_the_store(n_splits=200, n_seeds=3)


if __name__ == "__main__":
    main()
