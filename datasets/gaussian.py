import numpy as np

from benchmark_utils.errors import InputError
from benchmark_utils.population import Examples, Population, PopulationDataset, Sets
from benchmark_utils.seeds import Role, generator

N_FEATURES, N_BENCH, BENCH_SEED, FIRST_STUDY_SEED = 10, 20_000, 99, 1000
# Study and outer examples are generated as they are asked for; this only bounds the outer set.
N_POOL = 50_000


class Dataset(PopulationDataset):
    """Two overlapping classes in ten dimensions, or coin-flip labels, with fixed seeds.

    ``labels=signal``: P(y = 1) = 1/2, class 0 ~ N(0, I), class 1 ~ N((0.6, 0, …, 0), I/2 + AAᵀ/2)
    with A = 0.3 Z and Z the first 10 × 10 standard-normal draw of ``default_rng(0)``; Bayes error
    0.268. ``labels=noise``: standard-normal features and labels that don't depend on them.

    The task of the grid-search experiment on the optimism of the best score:
    the study set of repetition r is drawn from seed 1000 + r (signal) or r
    (noise), and its first folds are shuffled by seed r, whatever Benchopt's
    ``--seed``.
    """
    name = "gaussian"
    parameters = {"labels": ["signal"]}

    def get_population(self):
        if self.labels not in ("signal", "noise"):
            raise InputError(f"labels={self.labels!r} is neither signal nor noise")
        return _Gaussian(is_noise=self.labels == "noise")


class _Gaussian(Population):
    def __init__(self, is_noise):
        what = "coin-flip labels" if is_noise else "two Gaussian classes"
        super().__init__(
            "classification", [0, 1], N_POOL, N_BENCH, f"{what} in {N_FEATURES} dimensions"
        )
        self._is_noise = is_noise

    def fold_seed(self, repetition):
        return repetition

    def draw(self, seed, repetition, n_study, n_outer):
        outer_rng = generator(seed, Role.POPULATION)
        if self._is_noise:
            rng = np.random.default_rng(repetition)
            study, bench = _noise(rng, n_study), _noise(rng, N_BENCH)
            return Sets(study, _noise(outer_rng, n_outer), bench)
        return Sets(
            _two_classes(np.random.default_rng(FIRST_STUDY_SEED + repetition), n_study),
            _two_classes(outer_rng, n_outer),
            _two_classes(np.random.default_rng(BENCH_SEED), N_BENCH),
        )


def _two_classes(rng, n):
    A = 0.3 * np.random.default_rng(0).standard_normal((N_FEATURES, N_FEATURES))
    mean = np.zeros(N_FEATURES)
    mean[0] = 0.6
    y = rng.integers(0, 2, n)
    X0 = rng.multivariate_normal(np.zeros(N_FEATURES), np.eye(N_FEATURES), n)
    X1 = rng.multivariate_normal(mean, np.eye(N_FEATURES) / 2 + A @ A.T / 2, n)
    return Examples(np.where(y[:, None] == 1, X1, X0), y)


def _noise(rng, n):
    X = rng.standard_normal((n, N_FEATURES))
    return Examples(X, rng.integers(0, 2, n))
