"""Images a second in training a ResNet-20 on CIFAR-10's shape: as the solver does, against the
plain loop over a DataLoader with torchvision's transforms.

Both train on the GPU, if there is one, and otherwise with PyTorch's own number of threads; the
plain loop is given the number of loading processes, of none and two, with which it is faster.

Run by hand from the repository root: python perf/image_throughput.py
"""
import statistics
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
from benchopt.benchmark import Benchmark
from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmark_utils.image_networks import ResNet
from benchmark_utils.network_training import get_device
from benchmark_utils.population import Examples

BATCH, N_IMAGES = 128, 50_000
DEVICE = get_device()
# Steps before the clock starts, steps timed, and how often all is measured.
N_BEFORE, N_TIMED, REPEATS = {"cpu": (2, 15, 5), "cuda": (200, 2000, 5)}[DEVICE]
N_STEPS = N_BEFORE + N_TIMED


class Clock:
    """Images a second between the end of the first steps and of the last."""

    def step(self, done):
        if done in (N_BEFORE, N_STEPS):
            if DEVICE == "cuda":
                torch.cuda.synchronize()
            self._times = [*getattr(self, "_times", []), time.perf_counter()]

    def rate(self):
        start, end = self._times
        return N_TIMED * BATCH / (end - start)


def data():
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (N_IMAGES, 32, 32, 3), np.uint8)
    return images, rng.integers(0, 10, N_IMAGES)


def by_the_solver(images, y):
    solvers = Benchmark(Path(__file__).parents[1]).get_solvers()
    solver = next(solver for solver in solvers if solver.name == "resnet").get_instance(
        steps=N_STEPS, compiled=DEVICE == "cuda"
    )
    clock = Clock()
    solver.n_classes = 10
    solver._progress = SimpleNamespace(within=lambda where: clock.step(int(where.split()[1])))
    solver.fit(Examples(images, y), Examples(images[:0], y[:0]), solver.config, seed=0)
    return clock.rate()


class Images(Dataset):
    """As torchvision's CIFAR10, which holds arrays and makes an image of one when asked."""
    transform = transforms.Compose([
        transforms.RandomCrop(32, padding=4), transforms.RandomHorizontalFlip(),
        transforms.ToTensor(), transforms.Normalize((0.5,) * 3, (0.25,) * 3),
    ])

    def __init__(self, images, y):
        self.images, self.y = images, y

    def __len__(self):
        return len(self.y)

    def __getitem__(self, i):
        return self.transform(Image.fromarray(self.images[i])), int(self.y[i])


def by_a_plain_loop(images, y, n_workers):
    loader = DataLoader(Images(images, y), BATCH, shuffle=True, num_workers=n_workers,
                        pin_memory=DEVICE == "cuda", drop_last=True)
    model = ResNet(20, 10).to(DEVICE).train()
    optimizer = torch.optim.SGD(
        model.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4, nesterov=True
    )
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, N_STEPS)
    loss, clock, done = torch.nn.CrossEntropyLoss(), Clock(), 0
    while done < N_STEPS:
        for x, target in loader:
            x, target = x.to(DEVICE, non_blocking=True), target.to(DEVICE, non_blocking=True)
            optimizer.zero_grad()
            loss(model(x), target).backward()
            optimizer.step()
            scheduler.step()
            done += 1
            clock.step(done)
            if done == N_STEPS:
                break
    return clock.rate()


def main():
    images, y = data()
    ways = {
        "solver": by_the_solver,
        "no loading process": lambda *data: by_a_plain_loop(*data, 0),
        "two loading processes": lambda *data: by_a_plain_loop(*data, 2),
    }
    rates = {name: [] for name in ways}
    for _ in range(REPEATS):
        for name, way in ways.items():
            rates[name].append(way(images, y))
    medians = {name: statistics.median(of) for name, of in rates.items()}
    for name, rate in medians.items():
        print(f"{name}: {rate:,.0f} images/s, from {min(rates[name]):,.0f} to "
              f"{max(rates[name]):,.0f}")
    ours, *plain = medians.values()
    name = torch.cuda.get_device_name() if DEVICE == "cuda" else (
        f"{torch.get_num_threads()} threads"
    )
    print(f"{name}: ratio {ours / max(plain):.2f}")


if __name__ == "__main__":
    main()
