import numpy as np
import pytest

from benchmark_utils.seeds import Role, generator, integer_seed

STREAMS = [
    (seed, role, *key)
    for seed in (0, 1, 2**32 - 2) for role in Role for key in ((), (0,), (1,), (0, 0), (0, 1))
]


def test_same_stream_for_same_arguments():
    for stream in STREAMS:
        assert integer_seed(*stream) == integer_seed(*stream)
        assert (generator(*stream).random(5) == generator(*stream).random(5)).all()


def test_streams_differ_by_seed_role_and_key():
    # 75 draws of 32 bits are all different except with probability 7·10⁻⁷.
    assert len({integer_seed(*stream) for stream in STREAMS}) == len(STREAMS)
    assert len({generator(*stream).random() for stream in STREAMS}) == len(STREAMS)


def test_streams_are_uncorrelated():
    draws = np.array([generator(*stream).random(2000) for stream in STREAMS])
    correlation = np.corrcoef(draws)[np.triu_indices(len(STREAMS), k=1)]
    # Each of the 2775 is normal with standard deviation 1/√2000 = 0.022.
    assert np.abs(correlation).max() < 6 / np.sqrt(2000)


def test_integer_seeds_are_in_range_and_use_it():
    seeds = [integer_seed(0, Role.TRAINING, k) for k in range(200)]
    assert all(isinstance(seed, int) and 0 <= seed < 2**32 for seed in seeds)
    # scikit-learn takes them as random_state.
    np.random.RandomState(max(seeds))
    # None of 200 uniform draws lies in the upper (lower) tenth with probability 7·10⁻¹⁰.
    assert max(seeds) > 0.9 * 2**32 and min(seeds) < 0.1 * 2**32


def test_key_may_be_numpy_integers():
    assert integer_seed(3, Role.SPLITS, np.int64(7)) == integer_seed(3, Role.SPLITS, 7)


def test_negative_seed_is_refused():
    with pytest.raises(ValueError):
        integer_seed(-1, Role.SPLITS)
