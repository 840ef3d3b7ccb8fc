"""Sizes and index arrays of the splits of a study set."""
from dataclasses import dataclass

import numpy as np
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    ShuffleSplit,
    StratifiedGroupKFold,
    StratifiedKFold,
    StratifiedShuffleSplit,
)

from benchmark_utils.errors import InputError
from benchmark_utils.seeds import Role, generator, integer_seed

MIN_BOOTSTRAP = 30
PROCEDURES = ("mccv", "repeated_kfold", "holdout", "fixed_split", "bootstrap")


@dataclass(frozen=True)
class Split:
    """Positions in the study set: three integer arrays without common elements that cover it.

    Only the training part of a bootstrap holds an example more than once.
    """
    train: np.ndarray
    val: np.ndarray
    test: np.ndarray


@dataclass(frozen=True)
class Sizes:
    study: int
    train: int
    val: int
    test: int


def split_sizes(procedure, train_size, test_size, val_size, n_pool):
    """Sizes of the study set and of the parts of its splits.

    Parameters
    ----------
    procedure : str, see `make_splits`
    train_size : int or "max"
        Training plus validation examples per split. The study set holds
        round(train_size / (1 − test_size)) examples; with "max", every example
        outside the benchmarking set. For "bootstrap", the size of the study set.
    test_size, val_size : float, fractions of the study set; "bootstrap" has no use for them
    n_pool : int, how many examples there are to draw the study set from

    Raises
    ------
    InputError
        When the sizes leave no usable split; says which parameter to change.
    """
    if procedure not in PROCEDURES:
        raise InputError(f"procedure={procedure!r} is none of {', '.join(PROCEDURES)}")
    if procedure == "bootstrap":
        # The whole study set is drawn from, and on average a share of 1/e is left for both parts.
        test_size = val_size = 0.5 * np.exp(-1)
    if not 0 < test_size < 1:
        raise InputError(f"test_size={test_size} is not a fraction between 0 and 1")
    if not 0 <= val_size < 1 - test_size:
        raise InputError(
            f"val_size={val_size} must be at least 0 and leave, with test_size={test_size}, "
            "a part of the study set for training"
        )
    if train_size == "max":
        n_study = n_pool
        n_test = round(test_size * n_study)
    elif not isinstance(train_size, (int, np.integer)) or train_size < 2:
        raise InputError(f"train_size={train_size!r} is neither an integer ≥ 2 nor 'max'")
    elif procedure == "bootstrap":
        n_study, n_test = train_size, round(test_size * train_size)
    else:
        n_study = round(train_size / (1 - test_size))
        n_test = n_study - train_size
    if n_study > n_pool:
        largest = n_pool
        while procedure != "bootstrap" and round(largest / (1 - test_size)) > n_pool:
            largest -= 1
        raise InputError(
            f"train_size={train_size} needs a study set of {n_study} examples, but only {n_pool} "
            f"lie outside the benchmarking set; use train_size={largest} or less, or 'max'"
        )
    if procedure == "bootstrap" and n_study < MIN_BOOTSTRAP:
        raise InputError(
            f"a bootstrap needs a study set of {MIN_BOOTSTRAP} examples to leave some for "
            f"validation and test, not {n_study}: raise train_size"
        )
    if n_test < 2:
        raise InputError(
            f"test_size={test_size} of a study set of {n_study} leaves {n_test} test example(s); "
            "at least 2 are needed: raise test_size or train_size"
        )
    n_val = round(val_size * n_study)
    if val_size and n_val < 1:
        raise InputError(
            f"val_size={val_size} of a study set of {n_study} leaves no validation example: "
            "raise val_size or train_size"
        )
    n_train = n_study if procedure == "bootstrap" else n_study - n_test - n_val
    if n_train < 2:
        raise InputError(
            f"a study set of {n_study} leaves {n_train} training example(s) after {n_test} for "
            f"test and {n_val} for validation: raise train_size"
        )
    return Sizes(n_study, n_train, n_val, n_test)


def make_splits(procedure, sizes, n_splits, seed, labels=None, classes=None, fold_seed=None,
                groups=None):
    """The splits of one study set.

    The first splits do not depend on how many follow.

    Parameters
    ----------
    procedure : str
        "mccv", Monte-Carlo cross-validation: independent random partitions;
        "repeated_kfold": n_test-sized folds, reshuffled when all were used;
        "holdout": the first partition of "mccv" alone, whatever n_splits;
        "fixed_split": that partition n_splits times, as a control;
        "bootstrap": as many training examples as there are, drawn with
        replacement, those not drawn halved into validation and test, unstratified.
    sizes : Sizes
    n_splits : int
    seed : int, the repetition's seed
    labels : array of shape (n_study,), to stratify by; None not to
    classes : names of the classes 0 … C−1, for messages
    fold_seed : int, seed of the first folds of "repeated_kfold"; None to derive it from `seed`
    groups : array of int of shape (n_study,), or None
        No group is on both sides of a split. The sizes of its parts are then shares of the
        groups, and only folds are stratified.

    Returns
    -------
    list of Split

    Raises
    ------
    InputError
        For n_splits < 1, for folds that don't come out even, for a class with fewer
        members than stratified splits need, and for fewer groups than parts.
    """
    if not isinstance(n_splits, (int, np.integer)) or n_splits < 1:
        raise InputError(f"n_splits={n_splits!r} is not an integer ≥ 1")
    n_folds = None
    if procedure == "repeated_kfold":
        n_folds = round(sizes.study / sizes.test)
        if n_folds < 2 or abs(sizes.study / n_folds - sizes.test) >= 1:
            raise InputError(
                f"repeated_kfold cuts the study set into equal folds, and {sizes.study} examples "
                f"can't be cut into folds of {sizes.test}: use test_size = 1/2, 1/3, 1/4, 1/5, …"
            )
    if groups is not None:
        _check_groups(groups, procedure, sizes, n_folds)
    if procedure == "bootstrap":
        return [_bootstrap(sizes.study, seed, k) for k in range(n_splits)]
    if groups is not None and procedure != "repeated_kfold":
        labels = None
    if labels is not None and groups is None:
        _check_class_counts(labels, classes, sizes, n_folds)

    if procedure == "repeated_kfold":
        return [
            _with_validation(fold_train, fold_test, sizes, labels, classes, groups, seed, k)
            for k, (fold_train, fold_test) in enumerate(
                _folds(sizes.study, n_folds, n_splits, labels, groups, seed, fold_seed)
            )
        ]
    if procedure == "mccv":
        return [_random_split(sizes, labels, classes, groups, seed, k) for k in range(n_splits)]
    repeats = 1 if procedure == "holdout" else n_splits
    return [_random_split(sizes, labels, classes, groups, seed, 0)] * repeats


def fold_splitter(labels, groups):
    """scikit-learn's class of shuffled folds, by whether to stratify and to keep groups together.
    """
    if groups is not None:
        return GroupKFold if labels is None else StratifiedGroupKFold
    return KFold if labels is None else StratifiedKFold


def _random_split(sizes, labels, classes, groups, seed, k):
    everything = np.arange(sizes.study)
    rest, test = _cut(everything, sizes.test, sizes.study, labels, classes, groups, seed, k)
    return _with_validation(rest, test, sizes, labels, classes, groups, seed, k)


def _folds(n_study, n_folds, n_splits, labels, groups, seed, fold_seed):
    splitter = fold_splitter(labels, groups)
    for k in range(n_splits):
        repeat, fold = divmod(k, n_folds)
        if fold == 0:
            random_state = integer_seed(seed, Role.SPLITS, repeat)
            if repeat == 0 and fold_seed is not None:
                random_state = fold_seed
            folds = list(
                splitter(n_folds, shuffle=True, random_state=random_state)
                .split(np.zeros(n_study), labels, groups)
            )
        yield folds[fold]


def _bootstrap(n_study, seed, k):
    rng = generator(seed, Role.SPLITS, k)
    train = rng.integers(0, n_study, n_study)
    rest = rng.permutation(np.setdiff1d(np.arange(n_study), train))
    return Split(train, rest[:len(rest) // 2], rest[len(rest) // 2:])


def _with_validation(rest, test, sizes, labels, classes, groups, seed, k):
    if not sizes.val:
        return Split(rest, np.arange(0), test)
    n_rest = sizes.study - sizes.test
    train, val = _cut(rest, sizes.val, n_rest, labels, classes, groups, seed, k, 1)
    return Split(train, val, test)


def _cut(index, n_second, n, labels, classes, groups, seed, *key):
    """Cut n_second of n examples from the others, or that share of their groups."""
    random_state = integer_seed(seed, Role.SPLITS, *key)
    if groups is not None:
        splitter = GroupShuffleSplit(1, test_size=n_second / n, random_state=random_state)
        try:
            first, second = next(splitter.split(index, groups=groups[index]))
        except ValueError as error:
            raise InputError(
                f"a cut of {n_second} in {n} examples, rounded up to whole groups, takes all "
                f"{len(np.unique(groups[index]))} group(s) there are: lower test_size or val_size"
            ) from error
        return index[first], index[second]
    labels = None if labels is None else labels[index]
    splitter = (ShuffleSplit if labels is None else StratifiedShuffleSplit)(
        1, test_size=n_second, random_state=random_state,
    )
    try:
        first, second = next(splitter.split(index, labels))
        return index[first], index[second]
    except ValueError as error:
        codes, counts = np.unique(labels, return_counts=True)
        rarest = codes[counts.argmin()]
        raise InputError(
            f"stratified splits leave {counts.min()} member(s) of class "
            f"{rarest if classes is None else classes[rarest]!r} to cut once more: raise "
            "train_size, merge or drop the class, or set stratify=False"
        ) from error


def _check_groups(groups, procedure, sizes, n_folds):
    if procedure == "bootstrap":
        raise InputError("a bootstrap can't keep groups together: use procedure=mccv, "
                         "repeated_kfold or holdout")
    n_groups, needed = len(np.unique(groups)), n_folds or 2
    if sizes.val:
        needed = max(needed + (n_folds is not None), 3)
    if n_groups < needed:
        raise InputError(
            f"the study set has {n_groups} group(s), and its splits need {needed}: lower val_size "
            "or raise test_size or train_size"
        )


def _check_class_counts(labels, classes, sizes, n_folds):
    codes, counts = np.unique(labels, return_counts=True)
    # One member in each part of a split, where each part is drawn by its own
    # stratified cut, and one in each fold.
    needed = n_folds or 2
    if sizes.val:
        needed = max(needed, 3 if n_folds is None else n_folds + 1)
    for code, count in zip(codes, counts, strict=True):
        if count < needed:
            name = code if classes is None else classes[code]
            raise InputError(
                f"class {name!r} has {count} member(s) in the study set of {sizes.study}, and "
                f"stratified splits need {needed}: raise train_size, merge or drop the class, "
                "or set stratify=False"
            )
    smallest = min(part for part in (sizes.train, sizes.val, sizes.test) if part)
    if smallest < len(codes):
        raise InputError(
            f"stratified splits need at least one example of each of the {len(codes)} classes in "
            f"every part, and the smallest part has {smallest}: raise train_size, or set "
            "stratify=False"
        )
