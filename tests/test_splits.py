import re

import numpy as np
import pytest

from benchmark_utils.errors import InputError
from benchmark_utils.splits import PROCEDURES, Sizes, make_splits, split_sizes

SIZES = Sizes(study=60, train=36, val=12, test=12)
WITHOUT_VAL = Sizes(study=60, train=48, val=0, test=12)
LABELS = np.repeat([0, 1, 2], [30, 20, 10])[np.random.default_rng(0).permutation(60)]

every_procedure = pytest.mark.parametrize("procedure", PROCEDURES)
every_partition = pytest.mark.parametrize(
    "procedure", [p for p in PROCEDURES if p != "bootstrap"]
)
every_kind = pytest.mark.parametrize("sizes", [WITHOUT_VAL, SIZES], ids=["test", "val"])
both_ways = pytest.mark.parametrize("labels", [None, LABELS], ids=["random", "stratified"])


def same(a, b):
    return all(
        np.array_equal(x, y)
        for x, y in ((a.train, b.train), (a.val, b.val), (a.test, b.test))
    )


class TestSizes:
    @pytest.mark.parametrize("train_size, test_size, val_size, expected", [
        # n_study = train_size / (1 − test_size)
        (100, 0.2, 0.0, Sizes(125, 100, 0, 25)),
        (1000, 0.2, 0.0, Sizes(1250, 1000, 0, 250)),
        (90, 0.1, 0.0, Sizes(100, 90, 0, 10)),
        (50, 0.5, 0.0, Sizes(100, 50, 0, 50)),
        # Validation comes out of train_size: 0.2 · 125 = 25.
        (100, 0.2, 0.2, Sizes(125, 75, 25, 25)),
        (50, 0.5, 0.25, Sizes(100, 25, 25, 50)),
        # 100 / (2/3) = 150; 10 / 0.7 = 14.29, of which 10 for training
        (100, 1 / 3, 0.0, Sizes(150, 100, 0, 50)),
        (10, 0.3, 0.0, Sizes(14, 10, 0, 4)),
        # 41 / 0.8 = 51.25, and 0.1 · 51 = 5.1
        (41, 0.2, 0.1, Sizes(51, 36, 5, 10)),
    ])
    def test_by_hand(self, train_size, test_size, val_size, expected):
        assert split_sizes("mccv", train_size, test_size, val_size, 5000) == expected

    def test_all(self):
        assert split_sizes("mccv", "max", 0.2, 0.0, 500) == Sizes(500, 400, 0, 100)
        # 0.3 · 101 = 30.3, 0.2 · 101 = 20.2
        assert split_sizes("mccv", "max", 0.3, 0.2, 101) == Sizes(101, 51, 20, 30)

    def test_bootstrap(self):
        # As many training examples as study examples; 1/e is left on average, half for each part.
        assert split_sizes("bootstrap", 100, 0.2, 0.0, 5000) == Sizes(100, 100, 18, 18)
        assert split_sizes("bootstrap", "max", 0.2, 0.0, 1000) == Sizes(1000, 1000, 184, 184)

    @every_procedure
    def test_train_size_keeps_its_meaning_for_every_rounding(self, procedure):
        for train_size in range(30, 200):
            for test_size in (0.1, 0.2, 0.25, 1 / 3, 0.5):
                sizes = split_sizes(procedure, train_size, test_size, 0.1, 10_000)
                if procedure == "bootstrap":
                    assert sizes.train == sizes.study == train_size
                else:
                    assert sizes.train + sizes.val == train_size
                    assert sizes.train + sizes.val + sizes.test == sizes.study
                    assert abs(sizes.test - test_size * sizes.study) <= 0.5 + 1e-9
                    assert abs(sizes.val - 0.1 * sizes.study) <= 0.5 + 1e-9


class TestSizesThatCannotBe:
    @pytest.mark.parametrize("test_size", [0, 1, 1.5, -0.1, 20])
    def test_test_size_is_no_fraction(self, test_size):
        with pytest.raises(InputError, match=f"test_size={test_size} is not a fraction"):
            split_sizes("mccv", 100, test_size, 0.0, 1000)

    @pytest.mark.parametrize("val_size", [-0.1, 0.8, 0.9, 1])
    def test_val_size_leaves_nothing_for_training(self, val_size):
        with pytest.raises(InputError, match=f"val_size={val_size} .* test_size=0.2"):
            split_sizes("mccv", 100, 0.2, val_size, 1000)

    @pytest.mark.parametrize("train_size", [1, 0, -5, 10.5, "most", None])
    def test_train_size_is_no_number_of_examples(self, train_size):
        with pytest.raises(InputError, match=f"train_size={train_size!r} is neither"):
            split_sizes("mccv", train_size, 0.2, 0.0, 1000)

    def test_one_test_example(self):
        # 4 / 0.8 = 5 examples, one of them for test
        with pytest.raises(InputError, match=r"test_size=0.2 .* leaves 1 test example"):
            split_sizes("mccv", 4, 0.2, 0.0, 1000)
        with pytest.raises(InputError, match=r"test_size=0.1 .* leaves 1 test example"):
            split_sizes("mccv", "max", 0.1, 0.0, 12)

    def test_no_validation_example(self):
        # 0.01 · 25 = 0.25
        with pytest.raises(InputError, match="val_size=0.01 .* no validation example"):
            split_sizes("mccv", 20, 0.2, 0.01, 1000)

    def test_one_training_example(self):
        # Of 10 examples, 4 for test and 5 for validation.
        with pytest.raises(InputError, match="leaves 1 training example.* raise train_size"):
            split_sizes("mccv", 6, 0.4, 0.5, 1000)

    def test_unknown_procedure(self):
        with pytest.raises(InputError, match="procedure='loo' is none of mccv, "):
            split_sizes("loo", 100, 0.2, 0.0, 1000)

    @every_procedure
    def test_the_largest_train_size_it_names_works(self, procedure):
        for n_pool in (60, 99, 100, 101, 997, 1000):
            for test_size in (0.1, 0.2, 0.3, 1 / 3, 0.5, 0.6):
                with pytest.raises(InputError) as error:
                    split_sizes(procedure, 1000, test_size, 0.0, n_pool - 1)
                message = str(error.value)
                assert "train_size=1000" in message and f"only {n_pool - 1} lie" in message
                largest = int(re.search(r"use train_size=(\d+) or less", message)[1])
                assert split_sizes(procedure, largest, test_size, 0.0, n_pool - 1).study < n_pool
                # And it isn't needlessly small.
                with pytest.raises(InputError):
                    split_sizes(procedure, largest + 2, test_size, 0.0, n_pool - 1)


@every_partition
@every_kind
@both_ways
class TestPartitions:
    def test_parts_are_disjoint_and_complete_and_of_their_sizes(self, procedure, sizes, labels):
        for split in make_splits(procedure, sizes, 12, 1, labels):
            parts = (split.train, split.val, split.test)
            assert sorted(np.concatenate(parts)) == list(range(60))
            assert [len(part) for part in parts] == [sizes.train, sizes.val, sizes.test]

    def test_seeds_differ(self, procedure, sizes, labels):
        a = make_splits(procedure, sizes, 1, 1, labels)[0]
        b = make_splits(procedure, sizes, 1, 2, labels)[0]
        assert set(a.test) != set(b.test)


@every_procedure
@every_kind
@both_ways
def test_first_splits_do_not_depend_on_how_many_follow(procedure, sizes, labels):
    many = make_splits(procedure, sizes, 200, 1, labels)
    for n_splits in (1, 7, 20):
        few = make_splits(procedure, sizes, n_splits, 1, labels)
        assert len(few) == (1 if procedure == "holdout" else n_splits)
        assert all(map(same, few, many))
    assert len(many) == (1 if procedure == "holdout" else 200)


@every_kind
@both_ways
class TestProcedures:
    def test_mccv_splits_differ(self, sizes, labels):
        splits = make_splits("mccv", sizes, 50, 1, labels)
        assert len({tuple(sorted(split.test)) for split in splits}) == 50
        if sizes.val:
            assert len({tuple(sorted(split.val)) for split in splits}) == 50

    def test_mccv_tests_every_example_equally_often(self, sizes, labels):
        splits = make_splits("mccv", sizes, 400, 1, labels)
        often = np.bincount(np.concatenate([split.test for split in splits]), minlength=60)
        # Binomial counts, 400 with p = 0.2, within 6 standard deviations.
        assert np.abs(often - 80).max() < 6 * np.sqrt(400 * 0.2 * 0.8)

    def test_holdout_is_the_first_split_of_mccv(self, sizes, labels):
        holdout = make_splits("holdout", sizes, 20, 1, labels)
        assert len(holdout) == 1
        assert same(holdout[0], make_splits("mccv", sizes, 20, 1, labels)[0])

    def test_fixed_split_repeats_it(self, sizes, labels):
        first = make_splits("mccv", sizes, 20, 1, labels)[0]
        fixed = make_splits("fixed_split", sizes, 20, 1, labels)
        assert len(fixed) == 20 and all(same(split, first) for split in fixed)

    def test_repeated_kfold(self, sizes, labels):
        splits = make_splits("repeated_kfold", sizes, 15, 1, labels)
        repeats = [splits[:5], splits[5:10], splits[10:]]
        for repeat in repeats:
            assert sorted(np.concatenate([split.test for split in repeat])) == list(range(60))
        folds = {frozenset(split.test) for split in splits}
        assert len(folds) == 15


class TestStratification:
    @every_partition
    @every_kind
    def test_parts_are_proportional(self, procedure, sizes):
        # Half, a third and a sixth of each part, which divide its size.
        for split in make_splits(procedure, sizes, 20, 1, LABELS):
            for part in (split.train, split.val, split.test):
                expected = len(part) * np.array([3, 2, 1]) / 6
                assert np.array_equal(np.bincount(LABELS[part], minlength=3), expected)

    @every_partition
    def test_to_within_one_example_where_it_does_not_divide(self, procedure):
        labels = np.repeat([0, 1, 2], [31, 18, 11])
        for split in make_splits(procedure, SIZES, 20, 1, labels):
            for part in (split.train, split.val, split.test):
                expected = len(part) * np.array([31, 18, 11]) / 60
                # Two cuts, each to within one example.
                assert np.abs(np.bincount(labels[part], minlength=3) - expected).max() < 2

    def test_without_it_parts_vary(self):
        splits = make_splits("mccv", WITHOUT_VAL, 50, 1)
        assert len({np.bincount(LABELS[split.test], minlength=3)[0] for split in splits}) > 3


class TestBootstrap:
    SIZES = Sizes(study=60, train=60, val=11, test=11)

    def test_parts(self):
        for split in make_splits("bootstrap", self.SIZES, 50, 1):
            assert len(split.train) == 60
            held_out = np.concatenate([split.val, split.test])
            assert sorted({*split.train} | {*held_out}) == list(range(60))
            assert not {*split.train} & {*held_out}
            assert len(set(held_out)) == len(held_out)
            assert len(split.test) - len(split.val) in (0, 1) and len(split.val) > 0

    def test_share_left_out(self):
        splits = make_splits("bootstrap", self.SIZES, 2000, 1)
        left = np.mean([len(split.val) + len(split.test) for split in splits]) / 60
        # (1 − 1/60)⁶⁰ = 0.365; the standard deviation of the mean is below 0.06/√2000 = 0.0014.
        assert abs(left - (1 - 1 / 60) ** 60) < 0.006

    def test_splits_differ(self):
        splits = make_splits("bootstrap", self.SIZES, 50, 1)
        assert len({tuple(split.train) for split in splits}) == 50

    def test_study_set_of_which_nothing_may_be_left(self):
        with pytest.raises(InputError, match="a bootstrap needs a study set of 30 .* not 29"):
            split_sizes("bootstrap", 29, 0.2, 0.0, 1000)
        sizes = split_sizes("bootstrap", 30, 0.2, 0.0, 1000)
        for seed in range(200):
            for split in make_splits("bootstrap", sizes, 20, seed):
                assert min(len(split.val), len(split.test)) >= 1


class TestSplitsThatCannotBe:
    @pytest.mark.parametrize("n_splits", [0, -3, 2.5, "many", None])
    def test_number_of_splits(self, n_splits):
        with pytest.raises(InputError, match=f"n_splits={n_splits!r} is not an integer"):
            make_splits("mccv", SIZES, n_splits, 1)

    @pytest.mark.parametrize("sizes", [
        # 100/30 and 60/25 are far from integers; a single fold leaves nothing for training.
        Sizes(100, 70, 0, 30), Sizes(60, 35, 0, 25), Sizes(60, 20, 0, 40),
    ])
    def test_folds_that_do_not_divide(self, sizes):
        message = f"{sizes.study} examples can't be cut into folds of {sizes.test}: use test_size"
        with pytest.raises(InputError, match=message):
            make_splits("repeated_kfold", sizes, 5, 1)

    def test_the_test_sizes_it_suggests_work(self):
        for denominator in (2, 3, 4, 5, 7, 10):
            for train_size in range(30, 120):
                sizes = split_sizes("repeated_kfold", train_size, 1 / denominator, 0.0, 1000)
                # Rounding may leave a fold less: 36 examples in tenths are 9 folds of 4.
                n_folds = round(sizes.study / sizes.test)
                assert abs(n_folds - denominator) <= 1
                splits = make_splits("repeated_kfold", sizes, n_folds, 1)
                tested = sorted(np.concatenate([split.test for split in splits]))
                assert tested == list(range(sizes.study))
                # Folds differ by at most one example.
                assert all(abs(len(split.test) - sizes.test) <= 1 for split in splits)

    @pytest.mark.parametrize("procedure, sizes, count, needed", [
        ("mccv", WITHOUT_VAL, 1, 2), ("mccv", SIZES, 2, 3), ("holdout", SIZES, 2, 3),
        ("fixed_split", WITHOUT_VAL, 1, 2), ("repeated_kfold", WITHOUT_VAL, 4, 5),
        ("repeated_kfold", SIZES, 5, 6),
    ])
    def test_class_with_too_few_members(self, procedure, sizes, count, needed):
        labels = np.array([0] * (60 - count) + [1] * count)
        message = f"class 'rare' has {count} member.* need {needed}: .* set stratify=False"
        with pytest.raises(InputError, match=message):
            make_splits(procedure, sizes, 5, 1, labels, ["common", "rare"])
        # One more, and without stratification, works.
        labels[0] = 1
        assert make_splits(procedure, sizes, 5, 1, labels, ["common", "rare"])
        assert make_splits(procedure, sizes, 5, 1, None, ["common", "rare"])

    @pytest.mark.parametrize("procedure", ["mccv", "holdout", "fixed_split"])
    def test_more_classes_than_the_smallest_part_has_examples(self, procedure):
        # 20 classes with three members each, and 12 examples for test.
        labels = np.arange(60) % 20
        message = "at least one example of each of the 20 classes .* the smallest part has 12"
        with pytest.raises(InputError, match=message):
            make_splits(procedure, WITHOUT_VAL, 5, 1, labels)

    def test_class_of_which_the_test_set_takes_all_but_one(self):
        # Half of the three members, rounded up, may leave a single one for two more parts.
        sizes, labels = Sizes(40, 12, 8, 20), np.array([0] * 37 + [1] * 3)
        message = "leave 1 member.* of class 'rare' to cut once more: .* set stratify=False"
        with pytest.raises(InputError, match=message):
            make_splits("mccv", sizes, 200, 1, labels, ["common", "rare"])

    @every_procedure
    def test_no_other_error_for_any_labels(self, procedure):
        # Whatever can't be split is said as an InputError: anything else would stop all runs.
        rng, n_made = np.random.default_rng(0), 0
        for seed in range(250):
            n_classes = rng.integers(2, 6)
            train_size, test_size = int(rng.integers(4, 60)), rng.choice([0.1, 0.2, 0.25, 0.5, 0.6])
            try:
                sizes = split_sizes(
                    procedure, train_size, test_size, rng.choice([0, 0.1, 0.2, 0.3]), 1000
                )
                labels = rng.choice(
                    n_classes, size=sizes.study, p=rng.dirichlet(np.ones(n_classes))
                )
                n_made += len(make_splits(procedure, sizes, 4, seed, labels))
            except InputError:
                continue
        assert n_made > 100


class TestGroups:
    GROUPS = np.random.default_rng(0).integers(0, 15, 60)
    LABELS = np.random.default_rng(1).integers(0, 2, 60)

    @pytest.mark.parametrize("procedure", ["mccv", "holdout", "fixed_split", "repeated_kfold"])
    @pytest.mark.parametrize("val", [0, 10])
    @pytest.mark.parametrize("is_stratified", [False, True])
    def test_no_group_is_on_two_sides(self, procedure, val, is_stratified):
        labels = self.LABELS if is_stratified else None
        splits = make_splits(procedure, Sizes(60, 48 - val, val, 12), 12, 3, labels,
                             groups=self.GROUPS)
        assert len(splits) == (1 if procedure == "holdout" else 12)
        for split in splits:
            parts = [set(self.GROUPS[part]) for part in (split.train, split.val, split.test)]
            assert sum(map(len, parts)) == 15 == len(set.union(*parts))
            assert parts[0] and parts[2] and bool(parts[1]) == bool(val)
            everything = np.concatenate([split.train, split.val, split.test])
            assert sorted(everything) == list(range(60))

    def test_shares_are_of_groups(self):
        # A fifth of 15 groups for test, and 3/12 of the other 12, rounded up, for validation.
        for split in make_splits("mccv", Sizes(60, 36, 12, 12), 20, 0, groups=self.GROUPS):
            sizes = [len(set(self.GROUPS[part])) for part in (split.train, split.val, split.test)]
            assert sizes == [9, 3, 3]

    def test_the_first_splits_do_not_depend_on_how_many_follow(self):
        few, many = (make_splits("mccv", Sizes(60, 48, 0, 12), n, 0, groups=self.GROUPS)
                     for n in (3, 9))
        for a, b in zip(few, many, strict=False):
            np.testing.assert_array_equal(a.test, b.test)

    @pytest.mark.parametrize("procedure, groups, message", [
        ("bootstrap", np.arange(60), "a bootstrap can't keep groups together"),
        ("mccv", np.zeros(60, int), "the study set has 1 group.s., and its splits need 2"),
        ("repeated_kfold", np.arange(60) % 4, "has 4 group.s., and its splits need 5"),
    ])
    def test_what_cannot_be(self, procedure, groups, message):
        with pytest.raises(InputError, match=message):
            make_splits(procedure, Sizes(60, 48, 0, 12), 3, 0, groups=groups)

    @pytest.mark.parametrize("procedure", ["mccv", "holdout", "fixed_split", "repeated_kfold"])
    @pytest.mark.parametrize("n_groups", [2, 3, 4, 5])
    def test_few_groups_give_splits_or_a_reason(self, procedure, n_groups):
        for test in range(6, 55, 6):
            for val in range(0, 60 - test, 6):
                sizes = Sizes(60, 60 - test - val, val, test)
                try:
                    splits = make_splits(procedure, sizes, 5, 0, groups=np.arange(60) % n_groups)
                except InputError:
                    continue
                for split in splits:
                    assert split.train.size and split.test.size
                    assert bool(split.val.size) == bool(val)
