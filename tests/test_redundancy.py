import numpy as np
import pytest

from benchmark_utils.redundancy import cumulative_redundancy


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
