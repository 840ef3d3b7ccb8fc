"""A search that is killed, or whose store is damaged, and started again."""
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from benchmark_utils.store import Store

ROOT = Path(__file__).parents[1]
DATA = "simulated[family=classification,n_samples=2000,n_bench=1000]"


def journals(cache):
    """Complete entries of each journal, which end with a newline."""
    return {
        path: [line for line in path.read_bytes().splitlines(keepends=True) if line[-1:] == b"\n"]
        for path in sorted(cache.rglob("*.journal"))
    }


def records(path, keys):
    with Store(path) as store:
        found = {key: store.get(key) for key in keys}
    assert None not in found.values()
    return found


def without_times(results):
    return results.drop(columns=[
        c for c in results.columns
        if c in ("time", "run_date") or c.endswith("_seconds") or c.startswith(("env-", "system-"))
    ])


def assert_same_result(a, b):
    a, b = without_times(a), without_times(b)
    for frame in (a, b):
        frame["objective_outer_deltas"] = [
            None if v is None else repr(list(v)) for v in frame["objective_outer_deltas"]
        ]
    pd.testing.assert_frame_equal(a, b, check_exact=True)


# A search of 12 fits, which take long enough to be interrupted.
LONG = (
    "-d", DATA, "-o", "score trust[n_splits=2]", "-r", "1",
    "-s", "gradient_boosting[tuning=test,n_configs=6]",
)


@pytest.fixture(scope="module")
def uninterrupted(run_session):
    results, printed = run_session(*LONG)
    assert results is not None, printed
    assert len(results) == 2 * 6
    assert "fits found" not in printed
    return results


def kill_half_way(folder, n_entries, arguments):
    """Start a run, and kill it and all its processes once it has kept that many fits."""
    config = folder / "benchopt.yml"
    config.write_text(f"cache: {folder / 'cache'}\n")
    config.chmod(0o600)
    with open(folder / "killed.txt", "wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "benchopt", "run", str(ROOT), "--no-plot",
             "--output", str(folder / "killed.parquet"), *arguments],
            cwd=folder, env={**os.environ, "BENCHOPT_CONFIG": str(config)},
            stdout=log, stderr=log, start_new_session=True,
        )
        try:
            while sum(map(len, journals(folder / "cache").values())) < n_entries:
                assert process.poll() is None, (folder / "killed.txt").read_text()
                time.sleep(0.005)
        finally:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert process.returncode == -signal.SIGKILL
    assert not (folder / "killed.parquet").exists()


def test_a_killed_run_goes_on_where_it_was(uninterrupted, run, tmp_path):
    kill_half_way(tmp_path, 4, LONG)
    (kept,) = journals(tmp_path / "cache").values()
    assert 4 <= len(kept) < 12
    results, printed = run(*LONG)
    assert f"{len(kept)} fits found, {12 - len(kept)} made" in printed
    assert_same_result(results, uninterrupted)
    # Nothing of what was kept was made again.
    (entries,) = journals(tmp_path / "cache").values()
    assert len(entries) == 12 and entries[:len(kept)] == kept


def test_a_damaged_store_costs_the_damaged_fits(run, tmp_path):
    # Two rules that share their fits, so that Benchopt itself has nothing to find.
    arguments = ("-d", DATA, "-o", "score trust[n_splits=2,val_size=0.2]", "-r", 1)
    run(*arguments, "-s", "k_neighbors[tuning=val,n_configs=5]")
    ((path, entries),) = journals(tmp_path / "cache").items()
    before = records(path, [re.search(rb"\b[0-9a-f]{32}\b", e)[0].decode() for e in entries])
    assert len(before) == 10
    # One entry with a wrong byte in the middle, and the last cut short.
    damaged = bytearray(b"".join(entries))
    damaged[len(b"".join(entries[:4])) + len(entries[4]) // 2] ^= 1
    path.write_bytes(damaged[:-30])

    _, printed = run(*arguments, "-s", "k_neighbors[tuning=test,n_configs=5]")
    assert re.search(r"k_neighbors\[.*tuning=test.*\]: 8 fits found, 2 made", printed), printed
    assert re.search(rf"{path.name} had 2 damaged entries", printed), printed
    # The whole search is there again, as it was at first.
    again = records(path, before)
    for key, record in before.items():
        assert again[key].keys() == record.keys()
        for name in record.keys() - {"fit_seconds", "predict_seconds", "test_scores"}:
            np.testing.assert_array_equal(again[key][name], record[name])
        for metric, scores in record["test_scores"].items():
            np.testing.assert_array_equal(again[key]["test_scores"][metric], scores)
