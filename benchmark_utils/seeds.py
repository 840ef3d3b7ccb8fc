"""Where all randomness comes from.

One integer seed stands for one repetition. Each use of it has a role, and each
role its own independent stream, so that asking for more of one thing (another
split, another configuration) changes nothing else.
"""
from enum import IntEnum

import numpy as np


class Role(IntEnum):
    POPULATION = 0  # which examples form the study and outer sets
    SPLITS = 1      # key: index of the split
    TRAINING = 2    # key: kind of fit, indices of split and fold, index of the configuration
    SEARCH = 3      # key: index of the configuration
    SAMPLER = 4     # key: index of the split, for adaptive searches
    INNER = 5       # key: index of the split whose training part is cross-validated
    OUTER = 6       # in which order the outer set is cut into chunks
    NESTED = 7      # the outer splits of nested cross-validation, where they are its own


def generator(seed, role, *key):
    """Generator of the stream (seed, role, key)."""
    return np.random.default_rng(_sequence(seed, role, key))


def integer_seed(seed, role, *key):
    """The stream (seed, role, key) as one integer in [0, 2**32), for libraries that take one."""
    return int(_sequence(seed, role, key).generate_state(1)[0])


def _sequence(seed, role, key):
    return np.random.SeedSequence(seed, spawn_key=(int(role), *map(int, key)))
