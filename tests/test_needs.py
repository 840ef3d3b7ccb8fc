import sys
from pathlib import Path

import numpy as np
import pytest

from benchmark_utils import needs
from benchmark_utils.needs import need, versions

ROOT = Path(__file__).parents[1]


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


@pytest.mark.parametrize("version, is_enough", [
    ("1.9.3", False), ("1.10", True), ("1.10.0a0+nv24", True), ("1.11.1+cpu", True), (None, True),
])
def test_a_version_that_is_too_old(version, is_enough, tmp_path, monkeypatch):
    (tmp_path / "some_package").mkdir()
    (tmp_path / "some_package" / "__init__.py").touch()
    if version:
        info = tmp_path / f"some_package-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(
            f"Metadata-Version: 2.1\nName: some-package\nVersion: {version}\n"
        )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(needs.OLDEST, "some_package", "1.10")
    if is_enough:
        need("some_package")
    else:
        with pytest.raises(ImportError, match=r"some_package 1\.9\.3 is too old: pip install"):
            need("some_package")


@pytest.mark.parametrize("package", needs.OLDEST)
def test_oldest_versions_are_those_of_the_requirements(package):
    files = ("requirements.txt", "requirements-test.txt")
    lines = [line for file in files for line in (ROOT / file).read_text().splitlines()]
    assert f"{package.replace('_', '-')}>={needs.OLDEST[package]}" in lines


def test_versions():
    assert versions("numpy", "no_such_package") == (np.__version__, None)
