"""Training one network: best epoch, schedules, divergence, and memory that runs out."""
import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from benchmark_utils.errors import Diverged  # noqa: E402
from benchmark_utils.network_training import (  # noqa: E402
    get_device,
    predict_network,
    train_network,
)

N, D, C = 48, 5, 3
RNG = np.random.default_rng(0)
X = torch.from_numpy(RNG.standard_normal((N, D)).astype(np.float32))
Y = (X[:, 0] > 0).long() + (X[:, 1] > 0).long()
loss = torch.nn.functional.cross_entropy


def network(*layers):
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(D, 8), torch.nn.ReLU(), *layers,
                               torch.nn.Linear(8, C))


def batches(size=16):
    def of_epoch(epoch):
        order = torch.from_numpy(np.random.default_rng(epoch).permutation(N))
        for part in order.split(size):
            yield X[part], Y[part]

    return of_epoch


def trained(module=None, n_epochs=3, lr=0.1, of_epoch=None, **options):
    module = module or network()
    optimizer = torch.optim.SGD(module.parameters(), lr=lr)
    return train_network(module, of_epoch or batches(), loss, optimizer, n_epochs,
                         **{"device": "cpu", "seed": 0, **options})


def weights(module):
    return torch.cat([p.detach().reshape(-1) for p in module.parameters()])


def plain_loop(n_epochs=3, lr=0.1, factor=lambda step: 1.0, clip=None):
    module, step = network(), 0
    for epoch in range(n_epochs):
        for x, y in batches()(epoch):
            module.zero_grad()
            loss(module(x), y).backward()
            if clip:
                torch.nn.utils.clip_grad_norm_(module.parameters(), clip)
            with torch.no_grad():
                for p in module.parameters():
                    p -= lr * factor(step) * p.grad
            step += 1
    return module


class TestAgainstAPlainLoop:
    def test_weights(self):
        torch.testing.assert_close(weights(trained()), weights(plain_loop()))

    def test_schedule(self):
        def factor(step):
            return 1 / (1 + step)

        torch.testing.assert_close(weights(trained(schedule=factor)),
                                   weights(plain_loop(factor=factor)))

    def test_clipping(self):
        torch.testing.assert_close(weights(trained(clip=0.05)), weights(plain_loop(clip=0.05)))
        assert not torch.allclose(weights(trained(clip=0.05)), weights(trained()))

    def test_inputs_by_name(self):
        class Named(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = network()

            def forward(self, points):
                return self.inner(points)

        def of_epoch(epoch):
            return (({"points": x}, y) for x, y in batches()(epoch))

        module = trained(Named(), of_epoch=of_epoch)
        torch.testing.assert_close(weights(module), weights(plain_loop()))
        outputs = predict_network(module, [{"points": X}], "cpu")
        torch.testing.assert_close(outputs, module.inner(X).detach())


class TestBestEpoch:
    def kept(self, scores):
        """How many epochs the kept weights were trained for."""
        given = iter(scores)
        module = trained(n_epochs=len(scores), validate=lambda module: next(given))
        assert not module.training
        match = [n for n in range(1, len(scores) + 1)
                 if torch.equal(weights(module), weights(trained(n_epochs=n)))]
        assert len(match) == 1
        return match[0]

    @pytest.mark.parametrize("scores, expected", [
        ([0.1, 0.5, 0.3], 2), ([0.5, 0.5, 0.4], 1), ([0.1, 0.2, 0.3], 3),
        ([math.nan, 0.2, 0.1], 2), ([math.nan, math.nan, math.nan], 3),
    ])
    def test_is_kept(self, scores, expected):
        assert self.kept(scores) == expected

    def test_with_its_running_averages(self):
        given = iter([1.0, 0.0])
        module = trained(network(torch.nn.BatchNorm1d(8)), 2, validate=lambda m: next(given))
        once = trained(network(torch.nn.BatchNorm1d(8)), 1)
        torch.testing.assert_close(module[2].running_mean, once[2].running_mean)
        assert module[2].num_batches_tracked == 3

    def test_is_scored_in_evaluation_mode_and_trained_in_the_other(self):
        modes = []
        module = network(torch.nn.Dropout(0.5))
        trained(module, validate=lambda m: modes.append(m.training) or 0.0,
                on_step=lambda step, epoch: modes.append(module.training))
        assert modes == [True, True, True, False] * 3


class TestRandomNumbers:
    def test_come_from_the_seed(self):
        a, b, c = (weights(trained(network(torch.nn.Dropout(0.5)), seed=seed))
                   for seed in (1, 1, 2))
        assert torch.equal(a, b) and not torch.equal(a, c)

    def test_are_afterwards_as_they_were(self):
        module = network(torch.nn.Dropout(0.5))
        torch.manual_seed(7)
        expected = torch.rand(3)
        torch.manual_seed(7)
        trained(module)
        assert torch.equal(torch.rand(3), expected)


class TestDivergence:
    def test_stops_the_training(self):
        steps = []
        with pytest.raises(Diverged, match="the training loss is NaN or infinite by step"):
            trained(lr=1e30, n_epochs=100, on_step=lambda *step: steps.append(step))
        assert len(steps) <= 50


class OutOfMemory(torch.nn.Module):
    """Refuses batches above a size, as a GPU does."""

    def __init__(self, inner, largest):
        super().__init__()
        self.inner, self.largest, self.sizes = inner, largest, []

    def forward(self, x):
        if len(x) > self.largest:
            raise torch.OutOfMemoryError("CUDA out of memory")
        self.sizes.append(len(x))
        return self.inner(x)


class TestMemory:
    @pytest.mark.parametrize("largest", [15, 5, 1])
    def test_smaller_batches_give_the_same(self, largest):
        module = trained(OutOfMemory(network(), largest))
        torch.testing.assert_close(weights(module), weights(plain_loop()), rtol=1e-4, atol=1e-5)
        outputs = predict_network(module, X.split(20), "cpu")
        torch.testing.assert_close(outputs, module.inner(X).detach())
        assert max(module.sizes) <= largest

    def test_a_size_that_fits_is_kept(self):
        module = OutOfMemory(network(), 4)
        trained(module, n_epochs=1)
        assert module.sizes == [4] * 12

    def test_batch_normalisation_forbids_it(self):
        with pytest.raises(MemoryError, match="lower batch_size"):
            trained(OutOfMemory(network(torch.nn.BatchNorm1d(8)), 8))

    def test_a_frozen_one_does_not(self):
        norm = torch.nn.BatchNorm1d(8)
        norm.train = lambda mode=True: norm
        norm.eval()
        norm.training = False
        trained(OutOfMemory(network(norm), 8))

    def test_one_example_that_does_not_fit(self):
        with pytest.raises(MemoryError):
            trained(OutOfMemory(network(), 0))
        with pytest.raises(MemoryError):
            predict_network(OutOfMemory(network(), 0), [X], "cpu")

    def test_other_errors_are_not_taken_for_it(self):
        with pytest.raises(RuntimeError, match="shapes"):
            trained(torch.nn.Sequential(torch.nn.Linear(D + 1, C)))


def test_device():
    assert get_device() == ("cuda" if torch.cuda.is_available() else "cpu")
