import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import numpy as np
import pytest

from benchmark_utils import store as store_module
from benchmark_utils.store import Store, entry_key

ROOT = Path(__file__).parents[1]
KEYS = [entry_key(i) for i in range(3)]
RECORDS = [{"status": "ok", "score_test": i / 7} for i in range(3)]


@pytest.fixture
def path(tmp_path):
    """A journal with three records."""
    path = tmp_path / "fits" / "ridge" / "a.journal"
    with Store(path) as store:
        for key, record in zip(KEYS, RECORDS, strict=True):
            store.put(key, record)
    return path


def open_and_complete(path):
    """What a run does: take what is there, make the rest.

    Returns which records were there, and the number of warnings.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with Store(path) as store:
            found = []
            for i, key in enumerate(KEYS):
                record = store.get(key)
                if record is None:
                    store.put(key, RECORDS[i])
                else:
                    assert record == RECORDS[i]
                    found.append(i)
            assert (store.n_found, store.n_made) == (len(found), 3 - len(found))
    assert all("damaged" in str(w.message) and str(path) in str(w.message) for w in caught)
    return found, len(caught)


class TestFindingAgain:
    def test_a_later_store_finds_what_an_earlier_one_kept(self, path):
        assert open_and_complete(path) == ([0, 1, 2], 0)

    def test_what_is_not_there(self, path):
        with Store(path) as store:
            assert store.get(entry_key("other")) is None
            assert (store.n_found, store.n_made) == (0, 0)

    def test_within_one_store(self, path):
        with Store(path) as store:
            store.put(entry_key("new"), {"a": 1})
            assert store.get(entry_key("new")) == {"a": 1}
            # Made here, so not found.
            assert (store.n_found, store.n_made) == (0, 1)

    def test_entered_again(self, path):
        """Inside itself, and later, when others have added to the file meanwhile."""
        store = Store(path)
        with store:
            with store:
                store.put(entry_key("mine"), {"a": 1})
            assert entry_key("mine") in store
            store.put(entry_key("mine too"), {"a": 2})
        with Store(path) as other:
            assert other.get(entry_key("mine")) == {"a": 1}
            other.put(entry_key("theirs"), {"b": 1})
        with store:
            assert store.get(entry_key("theirs")) == {"b": 1}
            assert store.get(entry_key("mine too")) == {"a": 2}
            assert (store.n_found, store.n_made) == (1, 2)
        assert entry_key("nobody's") not in store

    def test_without_a_file_it_keeps_what_it_was_given(self):
        store = Store(None)
        with store:
            store.put(entry_key("new"), {"a": 1})
        with store:
            assert store.get(entry_key("new")) == {"a": 1}

    def test_counts_are_per_store(self, path):
        with Store(path) as store:
            assert [store.get(key) for key in KEYS] == RECORDS
            assert store.get(entry_key("other")) is None
            store.put(entry_key("other"), {})
            assert (store.n_found, store.n_made) == (3, 1)

    def test_in_memory_only(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        with Store(None) as store:
            store.put("key", {"a": 1})
            assert store.get("key") == {"a": 1}
        with Store(None) as store:
            assert store.get("key") is None
        assert not list(tmp_path.iterdir())

    def test_each_record_is_on_disk_as_soon_as_it_is_put(self, path):
        before = path.stat().st_size
        with Store(path) as store:
            for i in range(4, 9):
                store.put(entry_key(i), {"i": i})
                assert path.stat().st_size > before
                before = path.stat().st_size

    def test_an_exception_keeps_what_was_put_and_frees_the_store(self, path):
        with pytest.raises(KeyboardInterrupt), Store(path) as store:
            store.put(entry_key("new"), {"a": 1})
            raise KeyboardInterrupt
        with Store(path) as store:
            assert store.get(entry_key("new")) == {"a": 1}


def test_records_come_back_as_they_were(tmp_path):
    record = {
        "status": "failed", "message": "ValueError: two\nlines, 100 % ∞ \x00",
        "score_test": float("nan"), "score_bench": float("-inf"), "zero": -0.0,
        "tenth": np.float64(0.1), "n": 2**70, "nothing": None,
        "test_scores": np.array([1, np.nan, -np.inf, -0.0, 1e-40], np.float32),
        "outer_deltas": [0.1, float("inf"), 1 / 3], "shape": np.zeros((2, 0, 3), bool),
    }
    path = tmp_path / "a.journal"
    with Store(path) as store:
        store.put("0" * 32, record)
    with Store(path) as store:
        found = store.get("0" * 32)
    assert found.keys() == record.keys()
    for name, value in record.items():
        assert type(found[name]) is type(value)
        # Bits, so that the sign of zero counts and NaN equals itself.
        a, b = np.asarray(value), np.asarray(found[name])
        assert (a.dtype, a.shape) == (b.dtype, b.shape)
        assert a.tolist() == b.tolist() if a.dtype == object else a.tobytes() == b.tobytes()


class TestDamage:
    def test_a_write_cut_short_anywhere(self, path):
        content = path.read_bytes()
        start = content[:-1].rindex(b"\n") + 1
        for end in range(start, len(content)):
            path.write_bytes(content[:end])
            # The last byte is the newline: without it, the entry is whole.
            # Without anything of it, nothing is damaged.
            if end < len(content) - 1:
                assert open_and_complete(path) == ([0, 1], 0 if end == start else 1)
            else:
                assert open_and_complete(path)[0][:2] == [0, 1]
            # What was made again is found from then on, and no longer warned of.
            assert open_and_complete(path) == ([0, 1, 2], 0), f"cut at byte {end - start}"

    @pytest.mark.parametrize("damage", [
        lambda byte: byte ^ 1, lambda byte: byte ^ 0x80, lambda byte: ord("\n"),
    ], ids=["one bit", "no ASCII", "newline"])
    def test_any_byte_of_an_entry(self, path, damage):
        content = path.read_bytes()
        start = content.index(b"\n") + 1
        end = content.index(b"\n", start)
        for at in range(start, end):
            damaged = bytearray(content)
            damaged[at] = damage(content[at])
            path.write_bytes(damaged)
            found, n_warnings = open_and_complete(path)
            assert found == [0, 2], f"byte {at - start}"
            assert n_warnings >= 1, f"byte {at - start}"
            assert open_and_complete(path) == ([0, 1, 2], 0), f"byte {at - start}"

    def test_the_end_of_a_line(self, path):
        # Its two neighbours can't be told apart, but no other is lost, and nothing silently.
        content = bytearray(path.read_bytes())
        content[content.index(b"\n")] = ord("x")
        path.write_bytes(content)
        found, n_warnings = open_and_complete(path)
        assert 2 in found and len(found) < 3
        assert n_warnings >= 1
        assert open_and_complete(path) == ([0, 1, 2], 0)

    def test_a_file_of_something_else(self, path):
        path.write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)))
        found, n_warnings = open_and_complete(path)
        assert found == [] and n_warnings >= 1
        assert open_and_complete(path) == ([0, 1, 2], 0)

    def test_an_empty_file(self, path):
        path.write_bytes(b"")
        assert open_and_complete(path) == ([], 0)
        assert open_and_complete(path) == ([0, 1, 2], 0)


PROCESS = """
import os, sys, time
from pathlib import Path
from benchmark_utils.store import Store, entry_key

path, me, other = Path(sys.argv[1]), Path(sys.argv[2]), Path(sys.argv[3])
me.touch()
while not other.exists():
    time.sleep(0.001)
with Store(path) as store:
    for i in range(40):
        if store.get(entry_key(i)) is None:
            time.sleep(0.001)
            store.put(entry_key(i), {"i": i, "pid": os.getpid()})
print(store.n_found, store.n_made)
"""


def test_two_processes_that_want_the_same_fits_make_each_once(tmp_path):
    path, a, b = tmp_path / "a.journal", tmp_path / "a", tmp_path / "b"
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS, path, *names], cwd=ROOT, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for names in ((a, b), (b, a))
    ]
    outputs = [process.communicate(timeout=60) for process in processes]
    assert sorted(out.split() for out, _ in outputs) == [["0", "40"], ["40", "0"]], outputs
    with Store(path) as store:
        records = [store.get(entry_key(i)) for i in range(40)]
    assert [record["i"] for record in records] == list(range(40))
    assert len(path.read_bytes().splitlines()) == 40


class TestKeys:
    BASE = (np.arange(4), np.arange(0), np.arange(4, 6), [("C", 1.0), ("depth", None)], 7, True)

    def test_equal_parts_equal_keys(self):
        again = (np.arange(4), np.arange(0), np.arange(4, 6), [("C", 1.0), ("depth", None)], 7,
                 True)
        assert entry_key(*again) == entry_key(*self.BASE)
        # Whatever their layout in memory.
        assert entry_key(np.arange(8)[::2]) == entry_key(np.array([0, 2, 4, 6]))

    @pytest.mark.parametrize("at, other", [
        (0, np.arange(5)), (0, np.arange(4)[::-1]), (0, np.arange(4, dtype=np.int32)),
        (0, np.arange(4).reshape(2, 2)), (1, np.arange(1)), (2, np.arange(3, 5)),
        (3, [("C", 1.0000000000000002), ("depth", None)]), (3, [("C", 1), ("depth", None)]),
        (3, [("C", "1.0"), ("depth", None)]), (3, [("C", 1.0), ("depth", 0)]),
        (3, [("c", 1.0), ("depth", None)]), (4, 8), (5, False),
    ])
    def test_any_other_part_another_key(self, at, other):
        parts = list(self.BASE)
        parts[at] = other
        assert entry_key(*parts) != entry_key(*self.BASE)

    def test_parts_do_not_run_into_one_another(self):
        assert entry_key(1, 23) != entry_key(12, 3) != entry_key(123)
        assert entry_key(np.arange(2), np.arange(2, 4)) != entry_key(np.arange(4))
        assert entry_key(np.arange(4), np.arange(0)) != entry_key(np.arange(0), np.arange(4))


def test_says_that_it_waits(path, monkeypatch, capsys):
    monkeypatch.setattr(store_module, "WAIT_SECONDS", 0.05)
    with Store(path):
        other = threading.Thread(target=lambda: Store(path).__enter__().__exit__())
        other.start()
        deadline = time.monotonic() + 20
        printed = ""
        while "waiting for another process" not in printed and time.monotonic() < deadline:
            time.sleep(0.05)
            printed += capsys.readouterr().err
    other.join(20)
    assert str(path) in printed and not other.is_alive()
