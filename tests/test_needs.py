import sys

import numpy as np
import pytest

from benchmark_utils.needs import need, versions


def test_what_is_installed_is_not_imported(tmp_path, monkeypatch):
    (tmp_path / "some_package.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    need("numpy", "some_package")
    assert "some_package" not in sys.modules


def test_a_folder_of_that_name_is_no_package(tmp_path, monkeypatch):
    (tmp_path / "some_folder").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    for missing in ("some_folder", "not_there"):
        with pytest.raises(ImportError, match=f"{missing} isn't installed"):
            need("numpy", missing)


def test_versions():
    assert versions("numpy", "no_such_package") == (np.__version__, None)
