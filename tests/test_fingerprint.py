"""What the keys of Benchopt's caches rest on."""
import os
import pickle

import pytest

from benchmark_utils.fingerprint import Fingerprinted, file_fingerprint


class Counted(Fingerprinted):
    """Depends on what a list gives, one at a time."""

    def __init__(self, *found):
        self.found = list(found)

    def depends_on(self):
        return {"file": self.found.pop(0)}

    def __reduce__(self):
        return Counted, (), self._get_state()


class TestFingerprinted:
    def test_files_are_looked_at_once(self):
        counted = Counted("a", "b")
        assert [counted._get_state() for _ in range(3)] == [{"file": "a"}] * 3

    def test_what_is_missing_is_looked_for_again(self):
        counted = Counted(None, None, "a", "b")
        found = [counted._get_state()["file"] for _ in range(4)]
        assert found == [None, None, "a", "a"]

    @pytest.mark.parametrize("found", ["a", None])
    def test_a_worker_knows_what_its_sender_found(self, found):
        sent = pickle.loads(pickle.dumps(Counted(found)))
        assert sent._get_state() == {"file": found}

    def test_nothing_by_itself(self):
        assert Fingerprinted()._get_state() == {}


def test_file_fingerprint(tmp_path):
    path = tmp_path / "data.csv"
    assert file_fingerprint(path) == "missing"
    found = []
    for text in ("a", "b", "a"):
        path.write_text(text)
        # Whatever the clock's resolution.
        os.utime(path, ns=(0, len(found)))
        found.append(file_fingerprint(path))
    assert found[0] == found[2] != found[1] and "missing" not in found
