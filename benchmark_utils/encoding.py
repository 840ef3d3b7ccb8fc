"""Encoding of tables into numbers, fitted on training parts only."""
from pandas.api.types import is_bool_dtype, is_numeric_dtype
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler

MAX_CATEGORIES = 50


def column_kinds(table):
    """Column names of a table by kind: dict with lists "numeric", "boolean", "categorical"."""
    kinds = {"numeric": [], "boolean": [], "categorical": []}
    for name, column in table.items():
        if is_bool_dtype(column):
            kinds["boolean"].append(name)
        elif is_numeric_dtype(column):
            kinds["numeric"].append(name)
        else:
            kinds["categorical"].append(name)
    return kinds


def table_encoder(table):
    """An unfitted transformer of tables like this one into arrays of floats.

    Numbers: missing ones replaced by the training median, with an indicator
    column, then standardised. Booleans: 0 and 1, missing ones as the more
    frequent value. Categories: one indicator each, missing being one of them;
    at most 50 per column, the rarest together, as are those unseen in training.

    Parameters
    ----------
    table : DataFrame, of which only the columns' names and types are used
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
    categorical = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=MAX_CATEGORIES, sparse_output=False,
    )
    encoders = {"numeric": numeric, "boolean": boolean, "categorical": categorical}
    return ColumnTransformer(
        [(kind, encoders[kind], names) for kind, names in kinds.items() if names],
        verbose_feature_names_out=False,
    )


def _as_float(table):
    return table.astype(object).where(table.notna(), float("nan")).astype(float)

