import warnings

import numpy as np
import pandas as pd
import pytest

from benchmark_utils.encoding import MAX_CATEGORIES, column_kinds, table_encoder

# All that can be in a column, by kind, each with a missing value where its type has one.
COLUMNS = {
    "numeric": {
        "integer": [1, 2, 3, 4],
        "float": [1.0, np.nan, 3.0, 4.0],
        "nullable integer": pd.array([1, None, 3, 4], dtype="Int64"),
        "constant": [2.0, 2.0, 2.0, 2.0],
        "empty": [np.nan] * 4,
    },
    "boolean": {
        "boolean": [True, False, True, True],
        "nullable boolean": pd.array([True, None, False, True], dtype="boolean"),
        "empty boolean": pd.array([None] * 4, dtype="boolean"),
    },
    "categorical": {
        "text": pd.array(["a", None, "b", "a"], dtype="str"),
        "nullable text": pd.array(["a", None, "b", "a"], dtype="string"),
        "object": pd.array(["a", None, "b", "a"], dtype=object),
        "object of booleans": pd.array([True, None, False, True], dtype=object),
        "object of text and numbers": pd.array([1, None, "b", 1.5], dtype=object),
        "category": pd.Categorical(["a", None, "b", "a"]),
        "category of numbers": pd.Categorical([1, None, 2, 1]),
        "category of booleans": pd.Categorical([True, None, False, True]),
        "empty text": pd.array([None] * 4, dtype="str"),
    },
}


@pytest.fixture(autouse=True)
def warnings_are_errors():
    # A warning would be shown with the results of every split.
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def encode(train, test=None):
    encoder = table_encoder(train).fit(train)
    return encoder.transform(train if test is None else test)


@pytest.mark.parametrize("kind", COLUMNS)
def test_kinds(kind):
    assert column_kinds(pd.DataFrame(COLUMNS[kind]))[kind] == list(COLUMNS[kind])


@pytest.mark.parametrize(
    "name, column", [item for columns in COLUMNS.values() for item in columns.items()]
)
@pytest.mark.parametrize("train", [[0, 1, 2, 3], [0, 2], [1], [0, 0]])
def test_every_column_becomes_finite_floats(name, column, train):
    table = pd.DataFrame({name: column})
    encoded = encode(table.iloc[train], table)
    assert encoded.dtype == float and encoded.shape[0] == 4
    assert np.isfinite(encoded).all()


def test_columns_together():
    table = pd.DataFrame({k: v for columns in COLUMNS.values() for k, v in columns.items()})
    assert np.isfinite(encode(table)).all()


def test_numbers():
    # Median 3, so the column is 1, 3, 3, 5: mean 3, standard deviation √2. The indicator
    # is 0, 1, 0, 0: mean 1/4, standard deviation √3/4.
    encoded = encode(pd.DataFrame({"x": [1.0, np.nan, 3.0, 5.0]}))
    np.testing.assert_allclose(encoded[:, 0], np.array([-2, 0, 0, 2]) / np.sqrt(2))
    np.testing.assert_allclose(encoded[:, 1], np.array([-1, 3, -1, -1]) / np.sqrt(3))


def test_booleans():
    table = pd.DataFrame({"x": pd.array([True, None, True, False], dtype="boolean")})
    assert encode(table).tolist() == [[1], [1], [1], [0]]


def test_categories_missing_one_included():
    table = pd.DataFrame({"x": pd.array(["b", None, "a"], dtype="str")})
    assert encode(table).tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_category_unseen_in_training_has_no_indicator():
    train = pd.DataFrame({"x": ["a", "b"]})
    test = pd.DataFrame({"x": pd.array(["c", None, "b"], dtype="str")})
    assert encode(train, test).tolist() == [[0, 0], [0, 0], [0, 1]]


def test_rare_and_unseen_categories_go_together():
    common = [f"c{i}" for i in range(MAX_CATEGORIES - 1)] * 2
    train = pd.DataFrame({"x": [*common, "rare", "rarer"]})
    encoded = encode(train, pd.DataFrame({"x": ["rare", "rarer", "unseen", "c0"]}))
    assert encoded.shape == (4, MAX_CATEGORIES)
    assert encoded[:, -1].tolist() == [1, 1, 1, 0]


def test_test_values_do_not_reach_the_encoder():
    table = pd.DataFrame({"x": [1.0, 2.0, 3.0, np.nan], "y": ["a", "b", "a", "b"]})
    other = table.copy()
    other.loc[2:, "x"] = [-1e6, np.nan]
    other.loc[2:, "y"] = ["c", "d"]
    # Built from the whole table, as solvers do, but fitted on the first two rows.
    encoded = table_encoder(table).fit(table[:2]).transform(table[:2])
    np.testing.assert_array_equal(table_encoder(other).fit(other[:2]).transform(table[:2]), encoded)
    assert encoded.shape == (2, 3)
