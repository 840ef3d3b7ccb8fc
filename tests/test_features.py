"""Features of a frozen encoder: each example is encoded once, whoever asks."""
import numpy as np
import pytest

from benchmark_utils.features import Features
from benchmark_utils.population import PoolPopulation
from benchmark_utils.views import View

N, D = 60, 5
RNG = np.random.default_rng(0)
POINTS = RNG.standard_normal((N, 3)).astype(np.float32)
LABELS = (POINTS[:, 0] + 0.3 * RNG.standard_normal(N) > 0).astype(int)


class Source:
    def __init__(self, key="points", n=N):
        self.key, self.n = key, n

    def __len__(self):
        return self.n

    def read(self, rows):
        return POINTS[rows]

    def content(self, rows):
        return [POINTS[row].tobytes() for row in rows]


class Encoder:
    """Fixed random features; counts how often it is asked for each example."""
    n_features, batch_size = D, 8

    def __init__(self, key="encoder", scale=1.0):
        self.key, self.scale, self.seen, self.sizes = key, scale, [], []
        self.weights = np.random.default_rng(1).standard_normal((3, D))

    def __call__(self, examples):
        self.sizes.append(len(examples))
        self.seen += [tuple(example) for example in examples.tolist()]
        return self.scale * np.tanh(examples @ self.weights)

    @property
    def n_distinct(self):
        return len(set(self.seen))


def expected(rows, scale=1.0):
    return Encoder(scale=scale)(POINTS[rows]).astype(np.float16)


@pytest.fixture(params=["memory", "disk"])
def folder(request, tmp_path):
    return None if request.param == "memory" else tmp_path / "features"


class TestFeatures:
    def test_are_the_encoders_in_the_order_asked_for(self, folder):
        rows = np.array([7, 3, 50, 3])
        features = Features(Encoder(), folder)(View(Source(), rows))
        assert features.dtype == np.float16
        np.testing.assert_array_equal(features, expected(rows))

    def test_only_what_is_asked_for_is_encoded_and_once(self, folder):
        encoder = Encoder()
        features = Features(encoder, folder)
        view = View(Source())
        features(view[np.arange(10)])
        assert encoder.n_distinct == 10
        features(view[np.arange(5, 12)])
        assert encoder.n_distinct == 12 and len(encoder.sizes) == 3
        features(view[np.arange(12)])
        assert len(encoder.sizes) == 3

    def test_batches_are_always_full(self, folder):
        encoder = Encoder()
        Features(encoder, folder)(View(Source(), np.arange(19)))
        assert encoder.sizes == [8, 8, 8]

    def test_no_examples(self, folder):
        encoder = Encoder()
        assert Features(encoder, folder)(View(Source(), np.arange(0))).shape == (0, D)
        assert not encoder.sizes

    def test_sources_are_kept_apart(self, folder):
        encoder = Encoder()
        features = Features(encoder, folder)
        for source in (Source("a"), Source("b"), Source("a", N - 1)):
            features(View(source, np.arange(8)))
        assert len(encoder.sizes) == (3 if folder else 2)

    def test_what_half_precision_cannot_hold_is_infinite(self, folder):
        features = Features(Encoder(scale=1e6), folder)(View(Source()))
        assert np.isinf(features).any()

    def test_a_wrong_shape_is_an_error(self, folder):
        encoder = Encoder()
        encoder.n_features = D + 1
        with pytest.raises(ValueError, match=r"shape \(8, 5\), expected \(8, 6\)"):
            Features(encoder, folder)(View(Source()))


class TestOnDisk:
    def test_another_process_finds_them(self, tmp_path):
        Features(Encoder(), tmp_path)(View(Source(), np.arange(20)))
        encoder = Encoder()
        features = Features(encoder, tmp_path)(View(Source(), np.arange(24)))
        assert encoder.n_distinct == 4
        np.testing.assert_array_equal(features, expected(np.arange(24)))

    def test_another_encoder_does_not(self, tmp_path):
        Features(Encoder(), tmp_path)(View(Source()))
        encoder = Encoder("other", scale=2.0)
        features = Features(encoder, tmp_path)(View(Source()))
        np.testing.assert_array_equal(features, expected(np.arange(N), scale=2.0))

    @pytest.mark.parametrize("suffix", [".f16", ".known"])
    @pytest.mark.parametrize("damage", ["missing", "cut short"])
    def test_a_damaged_file_is_made_anew(self, tmp_path, suffix, damage):
        Features(Encoder(), tmp_path)(View(Source()))
        path, = tmp_path.glob(f"*{suffix}")
        if damage == "missing":
            path.unlink()
        else:
            path.write_bytes(path.read_bytes()[:-3])
        features = Features(Encoder(), tmp_path)(View(Source()))
        np.testing.assert_array_equal(features, expected(np.arange(N)))

    def test_an_encoder_that_fails_keeps_what_was_finished(self, tmp_path):
        class Failing(Encoder):
            def __call__(self, examples):
                if len(self.sizes) == 3:
                    raise RuntimeError("stopped")
                return super().__call__(examples)

        with pytest.raises(RuntimeError, match="stopped"):
            Features(Failing(), tmp_path)(View(Source()))
        encoder = Encoder()
        Features(encoder, tmp_path)(View(Source()))
        assert encoder.n_distinct == N - 24


class TestSolver:
    """Heads on features are what they would be on the features as a plain array."""

    @pytest.fixture
    def solver(self):
        pytest.importorskip("torch")
        from benchmark_utils.feature_solver import FeatureSolver
        from benchmark_utils.torch_solver import Recipe

        class Solver(FeatureSolver):
            name = "points"
            parameters = {**FeatureSolver.parameters, "scale": [1.0]}
            encoders = []

            def get_encoder(self):
                self.encoders.append(Encoder(scale=self.scale))
                return self.encoders[-1]

            def recipe(self, config, n_train):
                n_epoch = -(-n_train // 16)
                return Recipe(np.full(10 * n_epoch, 0.05), min(16, n_train), check_every=n_epoch)

        return Solver

    def population(self, X):
        return PoolPopulation(X, LABELS, "classification", 20, "points", classes=[0, 1])

    def rows(self, solve, solver, X, **parameters):
        rows = solve(self.population(X), solver.get_instance(**parameters), train_size=24,
                     val_size=0.2, n_splits=3)
        return rows.drop(columns=["fit_seconds", "predict_seconds", "message"])

    def test_rows_are_those_of_the_features_as_arrays(self, solve, solver):
        of_views = self.rows(solve, solver, View(Source()))
        features = expected(np.arange(N)).astype(np.float32)
        of_arrays = self.rows(solve, solver, features)
        assert (of_views["status"] == "ok").all()
        assert of_views["score_bench"].nunique() > 1
        drop = ["outer_deltas"]
        assert of_views.drop(columns=drop).equals(of_arrays.drop(columns=drop))

    def test_only_examples_that_are_scored_are_encoded(self, solve, solver):
        self.rows(solve, solver, View(Source()))
        encoder, = solver.encoders
        # A study set of 30, one outer chunk of 6 from the other 10, and a benchmarking set of 20.
        assert encoder.n_distinct == 56

    def test_features_beyond_half_precision_diverge(self, solve, solver):
        rows = self.rows(solve, solver, View(Source()), scale=1e6)
        assert (rows["status"] == "diverged").all() and rows["score_test"].isna().all()

    def test_an_encoder_that_fails_fails_the_fits(self, solve, solver):
        class Solver(solver):
            name = "failing"

            def get_encoder(self):
                raise ValueError("no weights")

        rows = self.rows(solve, Solver, View(Source()))
        assert (rows["status"] == "failed").all()
