"""Networks for small images, trained from scratch: rows, failures, schedule, compilation."""
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import loguniform
from threadpoolctl import threadpool_limits

pytest.importorskip("torch")

import torch

from benchmark_utils import network_training
from benchmark_utils.population import Examples, PoolPopulation

REAL = Path(__file__).parents[2] / "shared" / "data" / "cifar10"
SOLVERS = ("resnet", "vgg", "mobilenet_v2", "resnet9", "shake_shake")
# Fewer layers than the smallest published residual network, few steps and small batches.
SMALL = dict(depth=8, steps=30, batch_size=16)
HOLDOUT = dict(train_size=80, val_size=0.2, n_splits=1)


def coloured(n=240, n_classes=3, n_bench=40):
    """Noise around a colour for each class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, n_classes, n)
    colours = rng.integers(60, 196, (n_classes, 3))
    pixels = rng.normal(colours[y][:, None, None], 30, (n, 32, 32, 3))
    return PoolPopulation(
        pixels.clip(0, 255).astype(np.uint8), y, "classification", n_bench, "drawn",
        classes=list(range(n_classes)),
    )


@pytest.fixture(autouse=True)
def one_thread():
    """As a run has it."""
    with threadpool_limits(limits=1):
        yield


@pytest.fixture
def rows(component, solve):
    """rows(solver, population=…, objective=…, **parameters): what `solve` gives, less the times."""
    def rows(name="resnet", population=None, objective=HOLDOUT, **parameters):
        if name == "resnet":
            parameters = {**SMALL, **parameters}
        solver = component("solver", name, **parameters)
        made = solve(population or coloured(), solver, **objective)
        return made[[c for c in made if not c.endswith("_seconds")]]

    return rows


@pytest.fixture
def fit(component):
    """fit(**parameters): a predictor of the drawn images."""
    def fit(seed=0, **parameters):
        solver = component("solver", "resnet", **{**SMALL, **parameters})
        examples = coloured().draw(0, 0, 60, 0).study
        solver.n_classes, solver._progress = 3, Shown()
        return solver.fit(examples, examples[:0], solver.config, seed)

    return fit


class Shown(list):
    def within(self, where):
        self.append(where)


class TestRows:
    def test_it_learns(self, rows):
        made = rows(steps=60)
        assert made["status"].tolist() == ["ok"] and made["message"].tolist() == [""]
        assert made["score_test"][0] > 0.6 and made["score_bench"][0] > 0.6
        assert made["neg_log_loss_bench"].notna().all()

    @pytest.mark.parametrize("name", SOLVERS[1:])
    def test_every_architecture(self, rows, name):
        made = rows(name, steps=1, batch_size=4, population=coloured(n_bench=5, n=60),
                    objective=dict(HOLDOUT, train_size=20))
        assert made["status"].tolist() == ["ok"], made["message"][0]

    @pytest.mark.parametrize("name", SOLVERS)
    def test_every_architecture_in_half_precision(self, rows, name, half_precision):
        made = rows(name, steps=2, batch_size=4, population=coloured(n_bench=5, n=60),
                    objective=dict(HOLDOUT, train_size=20))
        assert made["status"].tolist() == ["ok"], made["message"][0]

    def test_the_seed_decides(self, rows):
        state = torch.get_rng_state()
        first = rows(steps=3)
        assert torch.equal(torch.get_rng_state(), state)
        torch.manual_seed(5)
        pd.testing.assert_frame_equal(rows(steps=3), first)

    def test_rules_and_budgets(self, rows):
        val, test = (
            rows(tuning=rule, n_configs=2, step_scale=1e-4, objective=dict(
                train_size=100, procedure="bootstrap", n_splits=1
            )) for rule in ("val", "test")
        )
        assert (val["budget"].tolist(), test["budget"].tolist()) == ([1, 2], [1, 2])
        assert (test["score_test"] >= val["score_test"]).all()

    def test_views_are_read_part_by_part(self, rows, draw_cifar10, component, tmp_path,
                                         monkeypatch):
        pytest.importorskip("datasets")
        pytest.importorskip("PIL")
        monkeypatch.setenv("BENCHOPT_DATA_HOME", str(tmp_path))
        draw_cifar10(tmp_path / "cifar10")
        population = component("dataset", "cifar10", n_bench=20).get_population()
        made = rows(population=population, steps=2, objective=dict(HOLDOUT, train_size=50))
        assert made["status"].tolist() == ["ok"]
        assert made["n_bench"].tolist() == [20]


    def test_a_run_from_files_to_the_gap(self, run, draw_cifar10, tmp_path, monkeypatch):
        pytest.importorskip("datasets")
        pytest.importorskip("PIL")
        monkeypatch.setenv("BENCHOPT_DATA_HOME", str(tmp_path / "data"))
        draw_cifar10(tmp_path / "data" / "cifar10", n_train=120, n_test=60)
        results, printed = run(
            "-d", "cifar10[n_bench=60]", "-r", 2,
            "-o", "score trust[procedure=bootstrap,train_size=120,n_splits=1]",
            "-s", "resnet[depth=8,step_scale=2e-5,batch_size=8,tuning=[val,test,benchmark],"
            "n_configs=2]",
        )
        assert results is not None, printed
        assert set(results["objective_status"]) == {"ok"}
        by_rule = results.pivot(
            index=["idx_rep", "objective_budget"], columns="p_solver_tuning",
            values=["objective_score_test", "objective_score_bench"],
        )
        assert len(by_rule) == 4
        test, bench = by_rule["objective_score_test"], by_rule["objective_score_bench"]
        assert (test["test"] >= test["val"]).all()
        assert (bench["benchmark"] >= bench[["val", "test"]].max(axis=1)).all()
        # Rules share their fits: two configurations of each of two repetitions.
        journals = list((tmp_path / "cache").rglob("fits/resnet/*.journal"))
        assert [len(path.read_bytes().splitlines()) for path in journals] == [2, 2]


class TestTraining:
    def test_steps_and_schedule(self, fit, monkeypatch):
        asked = {}

        def note(module, batches, loss, optimizer, n_epochs, **options):
            asked.update(options, n=len(list(batches(0))) * n_epochs, of=optimizer.defaults)

        monkeypatch.setattr(network_training, "train_network", note)
        fit(steps=1000, step_scale=0.004, learning_rate=0.3, momentum=0.85, weight_decay=0.01)
        assert asked["n"] == 4
        np.testing.assert_allclose(
            [asked["schedule"](step) for step in (0, 1, 2, 4)], [1, (1 + 0.5**0.5) / 2, 0.5, 0],
            atol=1e-12,
        )
        expected = dict(lr=0.3, momentum=0.85, weight_decay=0.01, nesterov=True)
        assert expected.items() <= asked["of"].items()

    def test_search_space_of_the_paper(self, component):
        space = component("solver", "vgg").search_space
        assert {name: values.support() for name, values in space.items()} == {
            "learning_rate": (5e-3, 0.5), "weight_decay": (1e-5, 1e-2),
            "momentum": (0.8, pytest.approx(0.99)), "steps": (75_000, 141_000),
        }
        steps = space["steps"].rvs(random_state=0)
        assert isinstance(steps, int)
        assert space["steps"].cdf(steps) == pytest.approx(
            loguniform(75_000, 141_000).cdf(steps), abs=1e-4
        )

    def test_tells_where_it_is_at(self, component):
        solver = component("solver", "resnet", **{**SMALL, "steps": 3})
        solver.n_classes, solver._progress = 3, Shown()
        examples = coloured().draw(0, 0, 60, 0).study
        solver.fit(examples, examples[:0], solver.config, 0)
        assert solver._progress == [f"step {step} of 3" for step in (1, 2, 3)]

    def test_where_compiling_fails_it_goes_on_without(self, fit, monkeypatch):
        """With the same result, as the attempts leave nothing behind."""
        X = coloured().draw(0, 0, 60, 0).study.X
        plain = fit(compiled=False, steps=3)(X)

        def compile(module, **options):
            calls = []

            def fails(x):
                calls.append(x)
                if len(calls) > 1:
                    raise RuntimeError("no compiler")
                return module(x)

            return fails

        monkeypatch.setattr(torch, "compile", compile)
        with pytest.warns(RuntimeWarning, match="not compiled: no compiler"):
            tried = fit(compiled=True, steps=3)(X)
        np.testing.assert_array_equal(tried, plain)

    def test_what_is_compiled_is_trained(self, fit, monkeypatch):
        X, asked = coloured().draw(0, 0, 60, 0).study.X, []
        monkeypatch.setattr(
            torch, "compile", lambda module, **options: asked.append(options) or module
        )
        np.testing.assert_array_equal(fit(compiled=True, steps=3)(X), fit(steps=3)(X))
        assert len(asked) == 1


class TestFailures:
    def test_a_diverged_training_is_a_status(self, rows):
        made = rows(learning_rate=1e20, steps=5)
        assert made["status"].tolist() == ["diverged"]
        assert made["score_test"].isna().all()

    @pytest.mark.parametrize("depth", [21, 2, "deep"])
    def test_other_depths(self, component, depth):
        skip, reason = component("solver", "resnet", depth=depth).skip(problem=None)
        assert skip and f"depth={depth!r} is not 6n + 2" in reason

    @pytest.mark.parametrize("X", [
        np.zeros((9, 4), np.uint8), np.zeros((9, 8, 8, 3)), np.zeros((9, 8, 8, 1), np.uint8),
        pd.DataFrame({"x": range(9)}),
    ], ids=["flat", "floats", "grey", "table"])
    def test_what_isnt_images_is_skipped(self, component, X):
        skip, reason = component("solver", "resnet").skip(
            problem=None, study=Examples(X, np.zeros(9, int))
        )
        assert skip and "resnet needs images" in reason


@pytest.mark.skipif(not REAL.exists(), reason=f"there is no {REAL}")
def test_learns_the_real_images(rows, component, tmp_path, monkeypatch):
    pytest.importorskip("datasets")
    pytest.importorskip("PIL")
    monkeypatch.setenv("BENCHOPT_DATA_HOME", str(tmp_path))
    (tmp_path / "cifar10").symlink_to(REAL)
    population = component("dataset", "cifar10", n_images=3000, n_bench=500).get_population()
    made = rows(population=population, steps=100, batch_size=32,
                objective=dict(HOLDOUT, train_size=2000))
    # Ten classes; one guess in ten is right.
    assert made["score_bench"][0] > 0.2 and made["score_test"][0] > 0.2
