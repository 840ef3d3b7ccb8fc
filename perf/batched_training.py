"""Time of one training of each perceptron of the MNIST-1D experiment: many at once, as the suite
does, against the plain PyTorch loop, one after the other.

Both train on the GPU, if there is one, and otherwise with PyTorch's own number of threads. Also
printed: the arithmetic of the batched products (6 operations per weight and example), as a share
of the rate that a large single-precision product reaches on the same machine.

Run by hand from the repository root: python perf/batched_training.py [architecture …]
"""
import statistics
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch
from benchopt.benchmark import Benchmark

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmark_utils.batched_training import Training, cross_entropy, train
from benchmark_utils.networks import ResidualMLP
from benchmark_utils.torch_solver import GROUP_SIZE

N_STEPS, BATCH, N_EXAMPLES, REPEATS = 8000, 128, 4000, 5
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
# The share of the steps that is timed: all of them on a GPU, where a group is large.
N_TIMED = {"cpu": 500, "cuda": 2000}[DEVICE]


def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_EXAMPLES, 40), np.float32)
    return X, rng.integers(0, 10, N_EXAMPLES)


def plain_loop(widths):
    """Seconds a training, as one would write it."""
    X, y = (torch.from_numpy(array).to(DEVICE) for array in data())
    model = ResidualMLP((40,), widths, 10).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, np.exp(-1e-4))
    loss = torch.nn.CrossEntropyLoss()
    started, done = time.perf_counter(), 0
    while done < N_TIMED:
        for rows in torch.randperm(N_EXAMPLES, device=DEVICE).split(BATCH):
            optimizer.zero_grad()
            loss(model(X[rows]), y[rows]).backward()
            optimizer.step()
            scheduler.step()
            done += 1
            if done == N_TIMED:
                break
    synchronise()
    return (time.perf_counter() - started) * N_STEPS / N_TIMED


def batched(widths):
    """Seconds a training, in a full group."""
    X, y = data()
    rng = np.random.default_rng(1)
    trainings = [
        Training(
            partial(ResidualMLP, (40,), widths, 10), X, rng.integers(0, N_EXAMPLES, N_EXAMPLES), y,
            1e-3 * np.exp(-1e-4 * np.arange(N_TIMED)), 1e-4, BATCH, seed,
        )
        for seed in range(GROUP_SIZE[DEVICE])
    ]
    made = train(trainings, cross_entropy, DEVICE, len(trainings))
    return statistics.mean(of.seconds for of in made) * N_STEPS / N_TIMED


def arithmetic(widths):
    """Operations of a training."""
    weights = sum(a * b for a, b in zip([40, *widths], [*widths, 10], strict=True))
    return 6 * weights * BATCH * N_STEPS


def matrix_rate():
    """Operations a second of a large product."""
    a, b = torch.randn(2, 4096, 4096, device=DEVICE)
    seconds = []
    for _ in range(REPEATS + 1):
        started = time.perf_counter()
        a @ b
        synchronise()
        seconds.append(time.perf_counter() - started)
    return 2 * 4096**3 / statistics.median(seconds[1:])


def synchronise():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def main(architectures):
    solvers = Benchmark(Path(__file__).parents[1]).get_solvers()
    solver = next(solver for solver in solvers if solver.name == "residual_mlp")
    all_widths = sys.modules[solver.__module__].WIDTHS
    rate = matrix_rate()
    threads = f"{torch.get_num_threads()} threads"
    print(f"{torch.cuda.get_device_name() if DEVICE == 'cuda' else threads}, {rate / 1e9:.0f} "
          f"GFLOP/s in a large product; {GROUP_SIZE[DEVICE]} trainings at once")
    for name in architectures or all_widths:
        widths = all_widths[name]
        plain, ours = [], []
        for _ in range(REPEATS):
            plain.append(plain_loop(widths))
            ours.append(batched(widths))
        plain, ours = statistics.median(plain), statistics.median(ours)
        print(f"{name}: plain loop {plain:.2f} s a training, batched {ours:.3f} s; "
              f"ratio {plain / ours:.1f}; {arithmetic(widths) / ours / rate:.0%} of that rate",
              flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
