"""Labels of data sets on the hub: codes, or the names of classes."""
import numpy as np
import pytest

pytest.importorskip("datasets")

import datasets
from benchmark_utils.errors import InputError
from benchmark_utils.labels import read_labels

ABC = datasets.ClassLabel(names=["a", "b", "c"])


def labelled(values, feature=None):
    features = None if feature is None else datasets.Features({"label": feature})
    return datasets.Dataset.from_dict({"label": values}, features=features)


@pytest.mark.parametrize(("values", "feature", "classes", "expected"), [
    ([1, 0, 2], ABC, None, ["a", "b", "c"]),
    ([1, 0, 2], ABC, ["x", "y", "z"], ["a", "b", "c"]),
    ([1, 0, 1], None, ["no", "yes"], ["no", "yes"]),
    ([True, False, True], None, ["no", "yes"], ["no", "yes"]),
    ([1, 0, 3], None, None, [0, 1, 2, 3]),
])
def test_codes_and_classes(values, feature, classes, expected):
    y, found = read_labels(labelled(values, feature), "label", classes)
    assert y.tolist() == [int(value) for value in values] and y.dtype == np.int64
    assert found == expected


@pytest.mark.parametrize("kind", ["string", "large_string"])
def test_names_of_classes(kind):
    names = labelled(["yes", "no", "yes"], datasets.Value(kind))
    y, classes = read_labels(names, "label", ["no", "yes"])
    assert y.tolist() == [1, 0, 1] and classes == ["no", "yes"]


@pytest.mark.parametrize(("values", "message"), [
    ([0, 1, -1], "the label -1 in row 2 of column 'label' .*1 such rows.*isn't public"),
    ([0, 2, 1], "the label 2 in row 1 .*expected 0 to 1"),
    ([0, None, 1], "no label in row 1"),
    (["yes", None, "no"], "no label in row 1"),
    (["yes", "nope"], "holds 'nope', which is no class: did you mean 'no'"),
    ([0.5, 1.0], "holds double, no class labels"),
])
def test_labels_that_are_none(values, message):
    with pytest.raises(InputError, match=message):
        read_labels(labelled(values), "label", ["no", "yes"])


def test_names_without_classes():
    with pytest.raises(InputError, match="holds string, no class labels"):
        read_labels(labelled(["a", "b"]), "label")


def test_a_class_label_of_minus_one():
    with pytest.raises(InputError, match="the label -1 in row 1.*isn't public"):
        read_labels(labelled([0, -1], ABC), "label")


def test_another_number_of_classes():
    with pytest.raises(InputError, match="has 3 classes, a, b, c, instead of 2: no, yes"):
        read_labels(labelled([0, 1], ABC), "label", ["no", "yes"])


def test_another_name():
    with pytest.raises(InputError, match="no column 'labels': did you mean 'label'"):
        read_labels(labelled([0, 1]), "labels")
