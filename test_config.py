"""What `benchopt test` leaves out: solvers of images and texts, for which it has no data."""
import pytest


def check_test_solver_run(solver):
    if solver.takes_views:
        pytest.skip("needs images or texts; tests/ draws and writes some")
