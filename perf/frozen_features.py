"""Time of one more split with frozen features, as the suite makes it, against one split of the
plain script: in each epoch all training and validation images go through the network, and after
the last one the test and benchmarking images.

Both are of the same random network, on the same drawn images of 96 × 96, on the GPU if there is
one, and otherwise with one thread. Timed of the plain script are two epochs of 30 and all
predictions; of the suite, what 40 splits take longer than 20: training of heads, scores of all
sets, rows. Before that each image goes through the network once, which is printed too.

Run by hand from the repository root: python perf/frozen_features.py [solver …]
"""
import io
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from benchopt.benchmark import Benchmark
from benchopt.utils.run_context import RunContext
from PIL.Image import fromarray

from datasets import Dataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmark_utils.images import ImageSource
from benchmark_utils.network_training import get_device
from benchmark_utils.population import PoolPopulation
from benchmark_utils.views import View

N_BENCH, N_POOL, N_EPOCHS, N_TIMED, BATCH, REPEATS = 500, 325, 30, 2, 64, 5
DEVICE = get_device()


def drawn_population():
    """A study set of 125 images, 200 outer ones, and a benchmarking set."""
    rng = np.random.default_rng(0)
    files, y = [], rng.integers(0, 2, N_BENCH + N_POOL)
    for label in y:
        buffer = io.BytesIO()
        pixels = rng.normal(180 - 40 * label, 40, (96, 96, 3)).clip(0, 255)
        fromarray(pixels.astype(np.uint8)).save(buffer, "PNG")
        files.append(buffer.getvalue())
    source = ImageSource(Dataset.from_dict({"image": files}), "image", (96, 96), "drawn")
    return PoolPopulation(
        View(source), y, "classification", N_BENCH, "drawn images", classes=["a", "b"]
    )


def suite(benchmark, solver, population, n_splits):
    """Seconds of a run, with features kept and fits forgotten; and the objective."""
    shutil.rmtree(benchmark.get_cache_location() / "fits", ignore_errors=True)
    objective = benchmark.get_benchmark_objective().get_instance(
        train_size=100, val_size=0.2, n_splits=n_splits
    )
    RunContext(base_seed="0", dataset_name="drawn", repetition=0).attach(objective, None, solver)
    objective._dataset, objective._repetition = "drawn", 0
    objective.set_data(population, None)
    solver.set_objective(**objective.get_objective())
    started = time.perf_counter()
    solver.run_once()
    rows = objective(solver.get_result())
    seconds = time.perf_counter() - started
    assert len(rows) == n_splits and {row["objective_status"] for row in rows} == {"ok"}
    return seconds, objective


def plain_split(solver, objective):
    """Seconds of one split, as one would write it."""
    split, study, bench = objective.splits[0], objective.study, objective.score.sets.bench
    backbone = solver._backbone(seed=0).to(DEVICE).eval()
    head = torch.nn.Linear(backbone.n_features, 2).to(DEVICE)
    optimizer, loss = torch.optim.Adam(head.parameters()), torch.nn.functional.cross_entropy
    parts = {
        name: (torch.from_numpy(of.X.read()), torch.from_numpy(of.y)) for name, of in
        (("train", study[split.train]), ("val", study[split.val]), ("test", study[split.test]),
         ("bench", bench))
    }

    def features(images):
        with torch.no_grad():
            return backbone(images.to(DEVICE))

    def accuracy(part):
        images, y = parts[part]
        with torch.no_grad():
            right = [head(features(batch)).argmax(1).cpu() for batch in images.split(BATCH)]
        return (torch.cat(right) == y).float().mean()

    images, y = parts["train"]
    started = time.perf_counter()
    for _ in range(N_TIMED):
        for rows in torch.randperm(len(y)).split(BATCH):
            optimizer.zero_grad()
            loss(head(features(images[rows])), y[rows].to(DEVICE)).backward()
            optimizer.step()
        accuracy("val")
    epochs = (time.perf_counter() - started) / N_TIMED * N_EPOCHS
    started = time.perf_counter()
    accuracy("test")
    accuracy("bench")
    return epochs + time.perf_counter() - started


def main(names):
    torch.set_num_threads(1)
    benchmark, population = Benchmark(Path(__file__).parents[1]), drawn_population()
    print(f"{torch.cuda.get_device_name() if DEVICE == 'cuda' else 'one thread'}; 75 training, 25 "
          f"validation, 25 test, 200 outer, {N_BENCH} benchmarking images")
    for name in names or ["densenet", "mobilenet", "wide_resnet", "vit"]:
        solver = next(s for s in benchmark.get_solvers() if s.name == name)
        solver = solver.get_instance(weights=None)
        once, objective = suite(benchmark, solver, population, 20)
        more = [
            (suite(benchmark, solver, population, 40)[0]
             - suite(benchmark, solver, population, 20)[0]) / 20
            for _ in range(REPEATS)
        ]
        one_more, plain = statistics.median(more), plain_split(solver, objective)
        print(f"{name}: plain script {plain:.1f} s a split; features and 20 splits {once:.1f} s, "
              f"one more split {1000 * one_more:.1f} ms: {one_more / plain:.3%}", flush=True)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        os.environ["BENCHOPT_CACHE"] = folder
        main(sys.argv[1:])
