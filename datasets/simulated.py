import numpy as np
from scipy.special import expit

from benchmark_utils.errors import InputError
from benchmark_utils.population import GeneratedPopulation, PopulationDataset


class Dataset(PopulationDataset):
    """Independent standard-normal features; coefficients and noise redrawn per seed.

    Families, with X the features and ε standard normal noise:

    - ``linear``: y = Xβ + noise·ε, β standard normal;
    - ``interactions``: y = Xβ + Σ_{a<b} γ_ab X_a X_b + noise·ε, β and γ standard normal;
    - ``nonlinear``: y = Σ_a α_a sin(X_a + φ_a) + X₁X₂ + noise·ε, α standard normal, φ uniform on
      [0, 2π);
    - ``classification``: P(y = 1) = 1 / (1 + exp(−logit_scale · Xβ)), β standard normal; `noise`
      has no part in it.

    The first two are the regression tasks of "Crossing the Validation Crisis"
    (arXiv 2606.12552, E.1).
    """
    name = "simulated"
    parameters = {
        "family": ["linear"],
        "noise": [1.0],
        "logit_scale": [1.0],
        "n_features": [5],
        "n_samples": [150_000],
        "n_bench": [100_000],
    }
    test_config = {"n_samples": 2000, "n_bench": 1000}

    def get_population(self):
        families = ("linear", "interactions", "nonlinear", "classification")
        if self.family not in families:
            raise InputError(f"family={self.family!r} is none of {', '.join(families)}")
        for name in ("n_features", "n_samples", "n_bench"):
            if not isinstance(getattr(self, name), int):
                raise InputError(f"{name}={getattr(self, name)!r} is not an integer")
        if self.noise < 0:
            raise InputError(f"noise={self.noise} is negative")
        if self.n_features < 1:
            raise InputError(f"n_features={self.n_features} is not at least 1")
        if not 0 <= self.n_bench < self.n_samples:
            raise InputError(
                f"n_bench={self.n_bench} leaves nothing of n_samples={self.n_samples} to draw "
                "study sets from"
            )
        is_classification = self.family == "classification"
        strength = f"logit scale {self.logit_scale}" if is_classification else f"σ = {self.noise}"
        return GeneratedPopulation(
            self._generate,
            task="classification" if is_classification else "regression",
            n_pool=self.n_samples - self.n_bench, n_bench=self.n_bench,
            classes=[0, 1] if is_classification else None,
            description=f"simulated {self.family}, {self.n_features} features, {strength}",
        )

    def _generate(self, rng, n):
        X = rng.standard_normal((n, self.n_features))
        beta = rng.standard_normal(self.n_features)
        if self.family == "classification":
            p = expit(self.logit_scale * (X @ beta))
            return X, (rng.random(n) < p).astype(int)
        if self.family == "nonlinear":
            phase = rng.uniform(0, 2 * np.pi, self.n_features)
            signal = np.sin(X + phase) @ beta + X[:, 0] * X[:, min(1, self.n_features - 1)]
        else:
            signal = X @ beta
        if self.family == "interactions":
            a, b = np.triu_indices(self.n_features, k=1)
            gamma = rng.standard_normal(len(a))
            for weight, i, j in zip(gamma, a, b, strict=True):
                signal += weight * X[:, i] * X[:, j]
        return X, signal + self.noise * rng.standard_normal(n)
