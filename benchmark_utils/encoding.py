"""Encoding of tables into numbers, fitted on training parts only."""
import numpy as np
import pandas as pd
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

MAX_CATEGORIES = 50


def column_kinds(table):
    """Column names of a table by kind, which the columns' types decide.

    Parameters
    ----------
    table : DataFrame

    Returns
    -------
    dict with lists "numeric", "boolean" and "categorical", the last for all other types
    """
    kinds = {"numeric": [], "boolean": [], "categorical": []}
    for name, column in table.items():
        # pandas calls a categorical column whose categories are booleans a boolean one.
        if isinstance(column.dtype, pd.CategoricalDtype):
            kinds["categorical"].append(name)
        elif is_bool_dtype(column):
            kinds["boolean"].append(name)
        elif is_numeric_dtype(column):
            kinds["numeric"].append(name)
        else:
            kinds["categorical"].append(name)
    return kinds


def table_encoder(table):
    """An unfitted transformer of tables like this one into arrays of finite floats.

    Numbers: missing ones replaced by the training median, with an indicator
    column, then standardised; a column without any value becomes 0. Booleans: 0
    and 1, missing ones as the more frequent value. Categories: one indicator
    each, missing being one of them; at most 50 per column, the rarest together.
    Categories unseen in training count among the rarest, or else have no
    indicator.

    Parameters
    ----------
    table : DataFrame, of which only the columns' names and types are used

    Returns
    -------
    transformer of DataFrames with n rows into float arrays of shape (n, number of encoded columns)
    """
    kinds = column_kinds(table)
    numeric = make_pipeline(
        SimpleImputer(strategy="median", add_indicator=True, keep_empty_features=True),
        StandardScaler(),
    )
    boolean = make_pipeline(
        FunctionTransformer(_as_float),
        SimpleImputer(strategy="most_frequent", keep_empty_features=True),
    )
    categorical = make_pipeline(
        FunctionTransformer(_as_text),
        OneHotEncoder(
            handle_unknown="infrequent_if_exist", max_categories=MAX_CATEGORIES,
            sparse_output=False,
        ),
    )
    encoders = {"numeric": numeric, "boolean": boolean, "categorical": categorical}
    return ColumnTransformer(
        [(kind, encoders[kind], names) for kind, names in kinds.items() if names]
    )


def _as_float(table):
    return table.astype("boolean").to_numpy(dtype=float, na_value=np.nan)


def _as_text(table):
    # One type, with one marker of missing values, whatever the columns had.
    return table.astype("str")
