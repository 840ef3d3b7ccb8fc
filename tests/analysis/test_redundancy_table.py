import numpy as np
import pandas as pd
import pytest

from benchmark_utils.analysis.redundancy_table import redundancy_table
from benchmark_utils.redundancy import predicted_gain

AT = ("own", "as configured")


def results(omegas, failed=()):
    """Result frame of one learner: omegas of shape (S, K); of log loss, half of it."""
    return pd.DataFrame([
        {
            "dataset_name": "own", "objective_name": "Score trust", "solver_name": "ridge",
            "idx_rep": seed, "p_obj_procedure": "mccv", "p_solver_tuning": "default",
            "p_solver_search": "random", "p_solver_n_configs": 30,
            "objective_split": k, "objective_budget": 1, "objective_n_test": 20,
            "objective_n_study": 100, "objective_task": "classification",
            "objective_status": "failed" if (seed, k) in failed else "ok",
            "objective_redundancy": omega, "objective_neg_log_loss_redundancy": omega / 2,
            "objective_neg_brier_score_redundancy": np.nan,
            "objective_redundancy_product": 7 * omega,
        }
        for seed, of_splits in enumerate(omegas) for k, omega in enumerate(of_splits)
    ])


def test_medians_over_seeds_by_hand():
    x = np.nan
    table = redundancy_table(results([[x, 0.1, 0.1, 0.08], [x, 0.2, 0.04, 0.1],
                                      [x, 0.0, 0.06, 0.18]]), *AT)
    assert table["metric"].tolist() == ["accuracy", "neg_log_loss"]
    assert list(table)[:6] == ["learner", "metric", "ω_3", "ω_5", "ω_4", "Ĝ_20"]
    assert table["ω_3"].tolist() == pytest.approx([0.06, 0.03])
    assert table["ω_4"].tolist() == pytest.approx([0.1, 0.05])
    assert table["ω_5"].isna().all()
    assert table["Ĝ_20"].tolist() == pytest.approx([20 / 2.9, 20 / 1.95])
    assert table["Ĝ_200"][0] == predicted_gain(0.1, 200, 0.2)
    assert table["product"].tolist() == pytest.approx([0.7, x], nan_ok=True)


def test_the_last_successful_split_counts():
    table = redundancy_table(results([[np.nan, 0.1, 0.15]], failed={(0, 2)}), *AT)
    assert table["ω_3"][0] == 0.1 and table["Ĝ_20"][0] == pytest.approx(20 / 2.9)


def test_without_any_redundancy_there_is_no_row():
    assert redundancy_table(results([[np.nan, np.nan]]), *AT).empty
