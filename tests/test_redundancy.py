import numpy as np
import pytest

from benchmark_utils.errors import InputError
from benchmark_utils.redundancy import Redundancy, Stopping, predicted_gain
from benchmark_utils.splits import Split


def held_out(row):
    return np.flatnonzero(~np.isnan(row))


def cumulative_redundancy(losses, test_fraction):
    """ω after each split; one whose losses are all NaN failed."""
    running = Redundancy(*losses.shape, test_fraction)
    omegas = []
    for row in losses:
        test = held_out(row)
        if len(test):
            running.add(test, [row[test]])
        omegas.append(running.omega[0])
    return np.array(omegas)


def held_out_losses(K=6, n_study=20, n_test=8, seed=0):
    """Losses of K random splits: correlated across splits, NaN where not held out."""
    rng = np.random.default_rng(seed)
    losses = rng.normal(size=n_study) + rng.normal(size=(K, n_study))
    for row in losses:
        row[rng.permutation(n_study)[n_test:]] = np.nan
    return losses


def by_definition(losses, test_fraction):
    """ω after the last of these splits, pair by pair."""
    covariances, variances = [], []
    for a in range(len(losses)):
        for b in range(a + 1, len(losses)):
            shared = np.isfinite(losses[a]) & np.isfinite(losses[b])
            if shared.sum() < 2:
                continue
            x, y = losses[a, shared], losses[b, shared]
            covariances.append(np.cov(x, y)[0, 1])
            variances.append((np.var(x, ddof=1) + np.var(y, ddof=1)) / 2)
    if not covariances:
        return np.nan
    return test_fraction * np.mean(covariances) / np.mean(variances)


def test_by_hand():
    # Splits 0 and 1 share examples 1, 2, 3, with losses (1, 2, 3) and (2, 2, 5):
    # covariance ((−1)(−1) + 0·(−1) + 1·2)/2 = 1.5, variances 1 and 3, ρ_e = 1.5/2.
    # Splits 0 and 2 share 0, 1: (4, 1) and (0, 2): covariance −3, variances 4.5 and 2.
    # Splits 1 and 2 share 1 only. Together ρ_e = (1.5 − 3)/(2 + 3.25).
    x = np.nan
    losses = np.array([[4, 1, 2, 3, x], [x, 2, 2, 5, 0], [0, 2, x, x, x]])
    assert cumulative_redundancy(losses, 0.5) == pytest.approx(
        [x, 0.5 * 0.75, 0.5 * -1.5 / 5.25], nan_ok=True
    )


@pytest.mark.parametrize("seed", range(5))
def test_equals_the_definition_after_each_split(seed):
    losses = held_out_losses(seed=seed)
    omega = cumulative_redundancy(losses, 0.4)
    for k in range(6):
        assert omega[k] == pytest.approx(by_definition(losses[:k + 1], 0.4), nan_ok=True)


def test_first_split_has_none():
    assert np.isnan(cumulative_redundancy(held_out_losses(), 0.4)[0])
    assert np.isnan(cumulative_redundancy(held_out_losses(K=1), 0.4)).tolist() == [True]


def test_later_splits_change_nothing_before():
    losses = held_out_losses(K=9)
    assert cumulative_redundancy(losses, 0.4)[:4] == pytest.approx(
        cumulative_redundancy(losses[:4], 0.4), nan_ok=True
    )


def test_repeated_split_with_equal_losses():
    # Every pair has covariance = variance: ρ_e = 1, ω = t.
    losses = np.tile(held_out_losses(K=1), (5, 1))
    assert cumulative_redundancy(losses, 0.4)[1:] == pytest.approx(4 * [0.4])


def test_opposite_losses():
    losses = np.tile(held_out_losses(K=1), (2, 1))
    losses[1] *= -1
    assert cumulative_redundancy(losses, 0.4)[1] == pytest.approx(-0.4)


@pytest.mark.parametrize("seed", range(20))
def test_bounds(seed):
    omega = cumulative_redundancy(held_out_losses(seed=seed), 0.4)[1:]
    assert (np.abs(omega) <= 0.4 + 1e-9).all()


@pytest.mark.parametrize("scale", [-1, 1e-9, 1e-6, 1e-3, 1e3, 1e9, -1e9])
@pytest.mark.parametrize("shift", [0, 100])
def test_sign_scale_and_offset_do_not_matter(scale, shift):
    losses = held_out_losses()
    assert cumulative_redundancy(scale * (losses + shift), 0.4) == pytest.approx(
        cumulative_redundancy(losses, 0.4), nan_ok=True, rel=1e-6
    )


@pytest.mark.parametrize("scale", [1e-9, 1, 1e9])
def test_losses_that_do_not_vary(scale):
    losses = held_out_losses()
    # Each split has one loss for all examples, a third of the split's index.
    constant = np.where(np.isfinite(losses), np.arange(6)[:, None] / 3, np.nan)
    assert np.isnan(cumulative_redundancy(scale * constant, 0.4)).all()


def test_failed_splits_count_for_nothing():
    losses = held_out_losses(K=7)
    failed = [0, 3]
    with_failures = losses.copy()
    with_failures[failed] = np.nan
    omega = cumulative_redundancy(with_failures, 0.4)
    expected = cumulative_redundancy(np.delete(losses, failed, axis=0), 0.4)
    assert omega[[1, 2, 4, 5, 6]] == pytest.approx(expected, nan_ok=True)
    # A failed split leaves ω where it was.
    assert omega[3] == omega[2]
    assert np.isnan(omega[0])


def test_all_splits_failed():
    assert np.isnan(cumulative_redundancy(np.full((4, 20), np.nan), 0.4)).all()


def test_pairs_of_disjoint_test_sets_are_skipped():
    rng = np.random.default_rng(0)
    losses = rng.normal(size=20) + rng.normal(size=(8, 20))
    for k in range(8):
        repeat, fold = divmod(k, 4)
        order = np.random.default_rng(repeat).permutation(20)
        losses[k, np.delete(order, np.arange(5 * fold, 5 * fold + 5))] = np.nan
    omega = cumulative_redundancy(losses, 0.25)
    # Within the first repeat no two folds share an example.
    assert np.isnan(omega[:4]).all()
    assert omega[7] == pytest.approx(by_definition(losses, 0.25))


def test_pairs_that_share_one_example_are_skipped():
    losses = np.full((3, 10), np.nan)
    losses[0, :5], losses[1, 4:9], losses[2, :5] = range(5), range(5), [0, 2, 1, 3, 4]
    omega = cumulative_redundancy(losses, 0.5)
    assert np.isnan(omega[1])
    # corr((0,1,2,3,4), (0,2,1,3,4)) = 1 − 6·2/(5·24) = 0.9
    assert omega[2] == pytest.approx(0.5 * 0.9)


def test_order_of_examples_does_not_matter():
    losses = held_out_losses()
    order = np.random.default_rng(1).permutation(20)
    assert cumulative_redundancy(losses[:, order], 0.4) == pytest.approx(
        cumulative_redundancy(losses, 0.4), nan_ok=True
    )


def test_order_of_splits_does_not_matter_in_the_end():
    losses = held_out_losses()
    assert cumulative_redundancy(losses[::-1], 0.4)[-1] == pytest.approx(
        cumulative_redundancy(losses, 0.4)[-1]
    )


def test_zero_one_losses():
    losses = held_out_losses()
    wrong = np.where(np.isfinite(losses), losses > 0.3, np.nan)
    omega = cumulative_redundancy(wrong, 0.4)
    assert omega[5] == pytest.approx(by_definition(wrong, 0.4))
    assert omega[1:] == pytest.approx(cumulative_redundancy(1 - wrong, 0.4)[1:])


class TestSeveralLosses:
    def losses(self, n_losses=3):
        """Of the same splits: array of shape (n_losses, K, n_study)."""
        first = held_out_losses()
        others = np.random.default_rng(2).normal(size=(n_losses - 1, *first.shape))
        return np.stack([first, *(np.where(np.isnan(first), np.nan, first + x) for x in others)])

    def add_all(self, losses, test_fraction=0.4):
        running = Redundancy(losses.shape[1], losses.shape[2], test_fraction, len(losses))
        for k in range(losses.shape[1]):
            test = held_out(losses[0, k])
            running.add(test, losses[:, k, test])
        return running

    def test_each_is_what_it_is_alone(self):
        losses = self.losses()
        assert self.add_all(losses).omega == pytest.approx(
            [cumulative_redundancy(loss, 0.4)[-1] for loss in losses]
        )

    def test_a_missing_one_leaves_the_others_alone(self):
        losses = self.losses()
        missing = losses.copy()
        missing[1] = np.where(np.isnan(losses[1]), np.nan, np.nan)
        omega = self.add_all(missing).omega
        assert np.isnan(omega[1])
        assert omega[[0, 2]] == pytest.approx(self.add_all(losses).omega[[0, 2]])

    def test_first_definition_by_hand(self):
        # As in test_by_hand: ρ_e = −1.5/5.25; pairs share 3, 2 and 1 examples, 2 on average.
        # Predictions of the pairs with two or more: (1, 2, 6) and (0, 3, 3), covariance 3;
        # (5, 1) and (1, 3), covariance −4: −1/2 on average.
        x = np.nan
        losses = np.array([[4, 1, 2, 3, x], [x, 2, 2, 5, 0], [0, 2, x, x, x]])
        predictions = np.array([[5, 1, 2, 6, x], [x, 0, 3, 3, 9], [1, 3, x, x, x]])
        running = self.add_all(np.stack([losses, predictions]), 0.5)
        assert running.product(prediction=1, loss=0) == pytest.approx(-0.5 * (-1.5 / 5.25) * 2)

    def test_first_definition_needs_a_pair(self):
        assert np.isnan(self.add_all(self.losses(2)[:, :1]).product(1, 0))


class TestPredictedGain:
    def test_by_hand(self):
        # 10 / (1 + 9 · 0.1); f = 1 − 0.1/0.2 = 0.5: 1 / (0.5 · 0.2 + 0.5/10).
        assert predicted_gain(0.1, 10, 0.2) == pytest.approx(10 / 1.9)
        assert predicted_gain(0.1, 10, 0.2, "repeated_kfold") == pytest.approx(1 / 0.15)

    @pytest.mark.parametrize("procedure", ["mccv", "repeated_kfold"])
    def test_limits(self, procedure):
        assert predicted_gain(0.0, 20, 0.25, procedure) == pytest.approx(20)
        assert predicted_gain(-0.1, 20, 0.25, procedure) == pytest.approx(20)
        # Equal errors: every study example in the test set, n_study / n_test, in the end.
        assert predicted_gain(0.25, 10**9, 0.25, procedure) == pytest.approx(4)
        assert predicted_gain(0.1, 1, 0.25, procedure) == pytest.approx(1)
        assert np.isnan(predicted_gain(np.nan, 20, 0.25, procedure))

    def test_grows_with_splits_and_falls_with_redundancy(self):
        for procedure in ("mccv", "repeated_kfold"):
            by_splits = predicted_gain(0.1, np.arange(2, 100), 0.2, procedure)
            assert (np.diff(by_splits) > 0).all()
            by_omega = predicted_gain(np.linspace(0, 0.2, 30), 20, 0.2, procedure)
            assert (np.diff(by_omega) < 0).all()

    def test_disjoint_folds_of_one_repeat_are_worth_as_many(self):
        for omega in (0.01, 0.04):
            assert predicted_gain(omega, np.arange(1, 26), 0.04, "repeated_kfold") == pytest.approx(
                np.arange(1, 26))

    def test_one_partition_repeated(self):
        # Equal errors on equal test sets: nothing is gained. Half correlated: 1 / (½ + ½/K).
        assert predicted_gain(0.2, np.array([1, 20]), 0.2, "fixed_split") == pytest.approx([1, 1])
        assert predicted_gain(0.1, 20, 0.2, "fixed_split") == pytest.approx(1 / 0.525)

    def test_is_the_variance_ratio_of_equally_correlated_errors(self):
        """Mean of K splits whose errors on any example have covariance ρ, n_test of n_study."""
        n_study, n_test, K, rho = 12, 3, 4, 0.7
        # Var(mean of K) with test sets drawn at random: every pair of splits shares n_test²/n_study
        # examples on average, each with covariance ρ; all in units of one example's variance.
        variance = (K * n_test + K * (K - 1) * rho * n_test**2 / n_study) / (K * n_test) ** 2
        assert predicted_gain(rho * n_test / n_study, K, n_test / n_study) == pytest.approx(
            (1 / n_test) / variance
        )


class TestStopping:
    SIZES = dict(n_splits=20, n_study=20, n_test=8, procedure="mccv")

    def reasons(self, losses, **options):
        watch = Stopping(**{"ratio": 1.5, "min_splits": 3, **self.SIZES, **options}).watch()
        for row in losses:
            test = held_out(row)
            split = Split(np.flatnonzero(np.isnan(row)), np.arange(0), test)
            other = np.random.default_rng(1).normal(size=len(test))
            yield watch(split, {"status": "ok", "test_scores": {"first": row[test], "r": other}})

    def test_equal_losses_stop_it_as_early_as_it_may(self):
        # ω = 0.4: 3/(1 + 2·0.4) = 1.67 after 3 splits, 20/(1 + 19·0.4) = 2.33 after 20: 1.4 times.
        losses = np.tile(held_out_losses(K=1), (6, 1))
        reasons = list(self.reasons(losses))
        assert reasons[:2] == [None, None]
        assert reasons[2] == (
            "stopped after 3 of 20 splits: the predicted gain would rise from 1.67 to 2.33, "
            "by less than a factor of 1.5"
        )
        assert list(self.reasons(losses, min_splits=5))[:4] == [None] * 4
        # After 4 splits: 4/2.2 = 1.82, which 2.33 exceeds by 1.28; after 5: 1.92, by 1.21.
        assert [bool(r) for r in self.reasons(losses, ratio=1.25)] == [False] * 4 + [True] * 2

    def test_unrelated_losses_let_it_go_on(self):
        rng = np.random.default_rng(0)
        losses = rng.normal(size=(12, 20))
        for row in losses:
            row[rng.permutation(20)[8:]] = np.nan
        assert not any(self.reasons(losses))

    def test_the_last_split_needs_no_reason(self):
        losses = np.tile(held_out_losses(K=1), (4, 1))
        assert list(self.reasons(losses, n_splits=4, ratio=100, min_splits=4)) == [None] * 4

    def test_without_a_success_it_goes_on(self):
        watch = Stopping(ratio=10.0, min_splits=2, **self.SIZES).watch()
        split = Split(np.arange(12), np.arange(0), np.arange(12, 20))
        assert [watch(split, {"status": "failed"}) for _ in range(5)] == [None] * 5

    @pytest.mark.parametrize("change, message", [
        ({"ratio": 1}, "stop_when_redundant=1 is neither None nor a ratio > 1"),
        ({"ratio": "yes"}, "stop_when_redundant='yes'"),
        ({"min_splits": 1}, "min_splits=1 is not an integer ≥ 2"),
        ({"procedure": "bootstrap"}, "needs procedure=mccv or repeated_kfold, not bootstrap"),
    ])
    def test_what_cannot_be(self, change, message):
        with pytest.raises(InputError, match=message):
            Stopping(**{"ratio": 1.2, "min_splits": 3, **self.SIZES, **change})
