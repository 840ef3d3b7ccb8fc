"""Many modules at once give what each would give alone, and what a plain loop gives."""
import gc
import weakref
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

torch = pytest.importorskip("torch")
from benchmark_utils import batched_training  # noqa: E402
from benchmark_utils.batched_training import (  # noqa: E402
    Training,
    cross_entropy,
    negative_squares,
    squared_error,
    train,
)
from benchmark_utils.errors import is_of_the_machine, is_out_of_memory  # noqa: E402
from benchmark_utils.networks import ResidualMLP  # noqa: E402

N, D, C = 90, 6, 3
RNG = np.random.default_rng(0)
X = RNG.standard_normal((N, D)).astype(np.float32)
Y = (X[:, 0] > 0).astype(int) + (X[:, 1] > 0)


def training(seed=0, rate=0.01, decay=0.0, weight_decay=1e-3, n_steps=12, batch_size=16,
             widths=(8, 8), rows=None, y=None, build=None):
    rows = np.arange(N) if rows is None else rows
    build = build or partial(ResidualMLP, (D,), list(widths), C)
    return Training(
        build, X, rows, (Y if y is None else y)[rows],
        rate * np.exp(-decay * np.arange(n_steps)), weight_decay, batch_size, seed,
    )


def different():
    """Trainings that share nothing but the shapes."""
    rng = np.random.default_rng(5)
    return [
        training(seed, rate=10.0 ** -(seed % 3 + 1), decay=0.05 * seed, weight_decay=0.01 * seed,
                 rows=rng.integers(0, N, 40 + 7 * seed))
        for seed in range(6)
    ]


def plain_loop(of, loss):
    """The training in a loop of its own, on the same batches, by PyTorch's own optimiser."""
    torch.manual_seed(of.seed)
    module = of.build()
    optimizer = torch.optim.Adam(module.parameters(), lr=1.0, weight_decay=of.weight_decay)
    rng, order = np.random.default_rng(of.seed), np.arange(0)
    for rate in of.learning_rates:
        while len(order) < of.batch_size:
            order = np.concatenate([order, rng.permutation(len(of.rows))])
        batch, order = order[:of.batch_size], order[of.batch_size:]
        for group in optimizer.param_groups:
            group["lr"] = float(rate)
        optimizer.zero_grad()
        x, y = torch.from_numpy(of.X[of.rows[batch]]), torch.from_numpy(of.y[batch])
        loss(module(x), y).backward()
        optimizer.step()
    with torch.no_grad():
        return module.eval()(torch.from_numpy(of.X))


def outputs(trainings, loss=cross_entropy, **options):
    return [made.outputs(X) for made in train(trainings, loss, **options)]


class TestAgainstAPlainLoop:
    def test_classification(self):
        # Single precision: 1e-5 of outputs near 1 after twelve steps.
        for made, of in zip(outputs(different()), different(), strict=True):
            torch.testing.assert_close(
                made, plain_loop(of, torch.nn.functional.cross_entropy), rtol=1e-4, atol=2e-5
            )

    def test_regression(self):
        y = X[:, 0] * X[:, 1]
        build = partial(ResidualMLP, (D,), [8], 1)
        of = [training(seed, build=build, y=y) for seed in range(3)]
        for made, one in zip(outputs(of, squared_error), of, strict=True):
            expected = plain_loop(one, lambda out, y: torch.nn.functional.mse_loss(out[:, 0], y))
            torch.testing.assert_close(made, expected, rtol=1e-4, atol=2e-5)

    def test_another_optimiser(self):
        # One step of gradient descent from the same start moves against the same gradient.
        one = training(n_steps=1, weight_decay=0.0, batch_size=N)
        (made,) = train([one], cross_entropy, optimizer=partial(torch.optim.SGD, momentum=0.9))
        torch.manual_seed(0)
        module = one.build()
        loss = torch.nn.functional.cross_entropy(module(torch.from_numpy(X)), torch.from_numpy(Y))
        loss.backward()
        with torch.no_grad():
            for parameter in module.parameters():
                parameter -= 0.01 * parameter.grad
            torch.testing.assert_close(
                made.outputs(X), module(torch.from_numpy(X)), rtol=1e-5, atol=1e-6
            )

    def test_cross_entropy_is_pytorchs(self):
        logits, y = torch.randn(20, 4, dtype=torch.double), torch.randint(0, 4, (20,))
        expected = torch.nn.functional.cross_entropy(logits, y)
        torch.testing.assert_close(cross_entropy(logits, y), expected)

    @pytest.mark.slow
    def test_accuracy_after_8000_steps(self):
        """Means over seeds of the two ways differ by no more than chance allows."""
        rng = np.random.default_rng(2)
        x = rng.standard_normal((1500, 10)).astype(np.float32)
        y = (np.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.5 * rng.standard_normal(1500) > 0)
        x_test, y_test, y = x[500:], y[500:], y.astype(int)
        of = [
            Training(partial(ResidualMLP, (10,), [25], 2), x, np.arange(500), y[:500],
                     np.full(8000, 0.003), 1e-4, 128, seed)
            for seed in range(12)
        ]

        def accuracy(logits):
            return (logits.argmax(1).numpy() == y_test).mean()

        ours = [accuracy(made.outputs(x_test)) for made in train(of, cross_entropy)]
        # Other batches, so that the two are independent.
        plain = [
            accuracy(plain_loop(
                Training(one.build, x, one.rows, one.y, one.learning_rates, 1e-4, 128, 100 + s),
                torch.nn.functional.cross_entropy,
            )[500:])
            for s, one in enumerate(of)
        ]
        standard_error = np.sqrt((np.var(ours, ddof=1) + np.var(plain, ddof=1)) / len(of))
        assert abs(np.mean(ours) - np.mean(plain)) < 4 * standard_error
        assert min(ours) > 0.6


class TestIndependence:
    def test_of_the_others_in_the_group(self):
        together = outputs(different())
        for i, one in enumerate(different()):
            (alone,) = outputs([one])
            torch.testing.assert_close(alone, together[i], rtol=1e-5, atol=1e-6)

    def test_of_order_and_group_size(self):
        together = outputs(different())
        for made in (outputs(different()[::-1])[::-1], outputs(different(), group_size=4)):
            for a, b in zip(made, together, strict=True):
                torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)

    def test_of_one_that_diverges(self):
        bad = training(seed=9, rate=1e30)
        made = outputs([different()[0], bad, *different()[1:]])
        assert not torch.isfinite(made.pop(1)).all()
        for a, b in zip(made, outputs(different()), strict=True):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)

    def test_of_one_that_cannot_be_built(self):
        def build():
            raise ValueError("no such layer")

        made = train([training(1), training(2, build=build), training(3)], cross_entropy)
        assert isinstance(made[1], ValueError)
        for i in (0, 2):
            torch.testing.assert_close(made[i].outputs(X), outputs([training(i + 1)])[0])

    def test_of_other_shapes(self):
        mixed = [training(1), training(2, widths=(5,)), training(3, batch_size=8),
                 training(4, n_steps=3), training(5)]
        for made, one in zip(outputs(mixed), mixed, strict=True):
            torch.testing.assert_close(made, outputs([one])[0], rtol=1e-5, atol=1e-6)

    def test_same_again(self):
        for a, b in zip(outputs(different()), outputs(different()), strict=True):
            assert torch.equal(a, b)

    def test_random_numbers_of_others_stay_as_they_are(self):
        torch.manual_seed(3)
        expected = torch.rand(3)
        torch.manual_seed(3)
        train([training()], cross_entropy)
        assert torch.equal(torch.rand(3), expected)

    def test_modules_that_draw_random_numbers(self):
        def build():
            return torch.nn.Sequential(
                torch.nn.Linear(D, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, C)
            )

        of = [training(seed, build=build) for seed in range(3)]
        together = outputs(of)
        assert torch.equal(together[2], outputs(of[2:])[0])
        # Dropout is at work in training, and not in prediction.
        undisturbed = outputs([training(2, build=lambda: torch.nn.Sequential(
            torch.nn.Linear(D, 8), torch.nn.Identity(), torch.nn.Linear(8, C)
        ))])
        assert not torch.allclose(together[2], undisturbed[0], atol=1e-3)


def test_batch_normalisation_is_refused():
    def build():
        return torch.nn.Sequential(torch.nn.Linear(D, 8), torch.nn.BatchNorm1d(8))

    for made in train([training(seed, build=build) for seed in range(2)], cross_entropy):
        assert isinstance(made, ValueError) and "buffers" in str(made)


def out_of_memory_at_first(function):
    calls = []

    def called(*arguments):
        calls.append(len(calls))
        if len(calls) == 1:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return function(*arguments)

    return called


class TestMemory:
    def limit(self, monkeypatch, n):
        sizes, whole = [], batched_training._train_group

        def limited(group, *arguments):
            sizes.append(len(group))
            if len(group) > n:
                raise torch.OutOfMemoryError("CUDA out of memory")
            return whole(group, *arguments)

        monkeypatch.setattr(batched_training, "_train_group", limited)
        return sizes

    def test_smaller_groups(self, monkeypatch):
        expected = outputs(different())
        sizes = self.limit(monkeypatch, 2)
        for a, b in zip(outputs(different()), expected, strict=True):
            torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)
        assert sizes == [6, 3, 2, 1, 3, 2, 1]

    def test_on_another_device(self):
        """Where memory runs out in the first step, which is after the modules were moved."""
        made = train(
            different(), out_of_memory_at_first(cross_entropy), device="meta",
            optimizer=lambda parameters, lr, fused: torch.optim.Adam(parameters, lr=lr),
        )
        assert [type(one) for one in made] == [batched_training.Trained] * 6

    @pytest.mark.parametrize("where", ["loss", "optimiser"])
    def test_smaller_groups_find_the_memory_free(self, monkeypatch, where):
        stack, held = batched_training._stack, []
        loss = out_of_memory_at_first(cross_entropy)

        class Adam(torch.optim.Adam):
            step = out_of_memory_at_first(torch.optim.Adam.step)

        def watched(*arguments):
            stacked, unpack = stack(*arguments)
            assert not any(reference() is not None for reference in held)
            held.append(weakref.ref(stacked))
            return stacked, unpack

        monkeypatch.setattr(batched_training, "_stack", watched)
        gc.disable()  # which may happen to collect in time
        try:
            made = (train(different()[:2], loss) if where == "loss" else
                    train(different()[:2], cross_entropy, optimizer=Adam))
        finally:
            gc.enable()
        assert [type(one) for one in made] == [batched_training.Trained] * 2
        assert len(held) == 3

    def test_not_even_one(self, monkeypatch):
        self.limit(monkeypatch, 0)
        made = train(different(), cross_entropy)
        assert [type(one) for one in made] == [MemoryError] * 6

    @pytest.mark.parametrize(("message", "is_memory"), [
        ("CUDA error: out of memory", True), ("[enforce fail] can't allocate memory", True),
        ("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`", True),
        ("CUDA error: unspecified launch failure", False),
    ])
    def test_what_says_that_memory_ran_out(self, message, is_memory):
        assert is_out_of_memory(RuntimeError(message)) == is_memory
        assert is_of_the_machine(RuntimeError(message))

    def test_a_real_shortage(self):
        # Batches of 2⁴⁰ examples.
        (made,) = train([training(batch_size=2**40)], cross_entropy)
        assert isinstance(made, MemoryError)


class TestBatches:
    def test_each_example_once_before_any_again(self):
        rows = np.array([3, 3, 7, 20, 41])
        batches = batched_training._Batches([training(rows=rows)], "cpu")
        seen = torch.cat([x[0] for n_steps in (7, 3) for x, _ in batches.take(n_steps, 4)])
        assert len(seen) == 40
        for start in range(0, 40, 5):
            one_pass = seen[start:start + 5].numpy()
            assert sorted(map(tuple, one_pass)) == sorted(map(tuple, X[rows]))

    def test_targets_belong_to_their_examples(self):
        batches = batched_training._Batches(different(), "cpu")
        index = {tuple(row): i for i, row in enumerate(X)}
        for x, y in batches.take(5, 16):
            assert x.shape == (6, 16, D) and y.shape == (6, 16)
            for member in range(6):
                for row, label in zip(x[member].numpy(), y[member], strict=True):
                    assert Y[index[tuple(row)]] == label

    def test_progress_is_told(self):
        told = []
        train(different(), cross_entropy, group_size=4, on_steps=lambda *of: told.append(of))
        assert told == [(4, 12, 12, 12), (2, 12, 12, 12)]


class TestBestWeights:
    """With `check_every`, the weights with the best validation accuracy are kept."""

    VAL = np.arange(60, N)

    def checked(self, seed, n_steps=24, check_every=4, val=None, rate=0.05):
        val = self.VAL if val is None else val
        return replace(training(seed, rate=rate, n_steps=n_steps, rows=np.arange(50)),
                       val_rows=val, val_y=Y[val], check_every=check_every)

    def accuracy(self, outputs, val):
        return (outputs[val].argmax(1).numpy() == Y[val]).mean()

    def expected(self, of):
        """From trainings cut short at each of the checks, the first of the best."""
        checks = sorted({*range(of.check_every, len(of.learning_rates) + 1, of.check_every),
                         len(of.learning_rates)})
        candidates = [
            outputs([replace(of, check_every=None, learning_rates=of.learning_rates[:n])])[0]
            for n in checks
        ]
        scores = [self.accuracy(candidate, of.val_rows) for candidate in candidates]
        return candidates[int(np.argmax(scores))], scores

    def test_each_member_has_its_own(self):
        of = [self.checked(seed, rate=rate, val=self.VAL[:n])
              for seed, (rate, n) in enumerate([(0.05, 30), (0.5, 30), (1.0, 11), (0.01, 17)])]
        made = outputs(of)
        n_not_last = 0
        for one, member in zip(of, made, strict=True):
            expected, scores = self.expected(one)
            torch.testing.assert_close(member, expected, rtol=1e-3, atol=1e-4)
            n_not_last += int(np.argmax(scores)) < len(scores) - 1
        assert n_not_last

    def test_the_last_steps_are_checked_too(self):
        of = self.checked(0, n_steps=10, check_every=7)
        expected, scores = self.expected(of)
        assert len(scores) == 2
        torch.testing.assert_close(outputs([of])[0], expected, rtol=1e-3, atol=1e-4)

    def test_checks_in_pieces_are_the_same(self, monkeypatch):
        of = [self.checked(seed, rate=0.5) for seed in range(3)]
        whole = outputs(of)
        monkeypatch.setattr(batched_training, "ROWS_AT_A_TIME", 15)
        for a, b in zip(whole, outputs(of), strict=True):
            torch.testing.assert_close(a, b)

    def test_without_validation_examples_the_last_are_kept(self):
        none = np.arange(0)
        torch.testing.assert_close(
            outputs([self.checked(0, val=none)])[0],
            outputs([training(0, rate=0.05, n_steps=24, rows=np.arange(50))])[0],
        )

    def test_one_that_diverges_at_once_shows_it_and_leaves_the_others_alone(self):
        of = [self.checked(0), self.checked(1, rate=1e30), self.checked(2)]
        made = outputs(of)
        assert not made[1].isfinite().all()
        for i in (0, 2):
            torch.testing.assert_close(made[i], self.expected(of[i])[0], rtol=1e-3, atol=1e-4)

    def test_one_that_diverges_later_keeps_its_best(self):
        of = self.checked(0)
        late = replace(of, learning_rates=np.where(np.arange(24) < 12, 0.05, 1e30))
        expected, _ = self.expected(replace(of, learning_rates=of.learning_rates[:12]))
        assert outputs([late])[0].isfinite().all()
        torch.testing.assert_close(outputs([late])[0], expected, rtol=1e-3, atol=1e-4)

    def test_regression_is_scored_by_squared_error(self):
        y = X[:, 0] * X[:, 1]
        build = partial(ResidualMLP, (D,), [8], 1)
        of = replace(training(0, rate=0.05, n_steps=24, rows=np.arange(50), y=y, build=build),
                     val_rows=self.VAL, val_y=y[self.VAL], check_every=4)
        candidates = [
            outputs([replace(of, check_every=None, learning_rates=of.learning_rates[:n])],
                    squared_error)[0]
            for n in range(4, 25, 4)
        ]
        errors = [((c[self.VAL, 0].numpy() - y[self.VAL]) ** 2).mean() for c in candidates]
        made, = outputs([of], squared_error, score=negative_squares)
        torch.testing.assert_close(made, candidates[int(np.argmin(errors))], rtol=1e-3, atol=1e-4)
