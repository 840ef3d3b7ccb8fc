"""Data of the hub: a local copy first, then the cache, never the network."""
import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("datasets")

from benchmark_utils import hub
from benchmark_utils.errors import InputError
from benchmark_utils.hub import HubData
from benchmark_utils.views import View

COMMIT = "0123456789abcdef0123456789abcdef01234567"
DATA = HubData("toy", "someone/toy", ("train", "validation"), config="small")


@pytest.fixture
def local(tmp_path, monkeypatch):
    monkeypatch.setattr(hub, "get_data_path", lambda key: tmp_path / "local" / key)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "local" / "toy"


@pytest.fixture
def cache(local, tmp_path):
    """Folder of a snapshot in the hub's cache, as a download leaves it."""
    repo = tmp_path / "hub" / "datasets--someone--toy"
    (repo / "refs").mkdir(parents=True)
    (repo / "refs" / "main").write_text(COMMIT)
    folder = repo / "snapshots" / COMMIT
    folder.mkdir(parents=True)
    return folder


def write(folder, part="train", shard=0, n_shards=1, n=3, columns=("text", "label")):
    folder.mkdir(parents=True, exist_ok=True)
    table = {"text": [f"{part} {shard} {i}" for i in range(n)], "label": list(range(n))}
    path = folder / f"{part}-{shard:05d}-of-{n_shards:05d}.parquet"
    pq.write_table(pa.table({new: table[old] for new, old in zip(columns, table, strict=True)}),
                   path)
    return path


def write_all(folder, **options):
    return [write(folder, part, **options) for part in DATA.parts]


def damage(path, place):
    content = bytearray(path.read_bytes())
    if place == "end":
        del content[-20:]
    else:
        content[200:600] = bytes(400)
    path.write_bytes(content)


@pytest.mark.parametrize("place", [".", "data", "small"])
def test_a_local_copy_in_any_layout(local, place):
    write_all(local / place)
    loaded = DATA.load(["text", "label"])
    assert loaded["text"][:] == [f"{part} 0 {i}" for part in DATA.parts for i in range(3)]
    assert loaded["label"][:] == [0, 1, 2] * 2


@pytest.mark.parametrize("place", ["data", "small"])
def test_the_hubs_cache(local, cache, place):
    write_all(cache / place)
    assert DATA.load(["label"])["label"][:] == [0, 1, 2] * 2


@pytest.mark.parametrize("change", [
    {"config": "large"}, {"parts": ("train",)}, {"revision": "old"},
])
def test_subsets_parts_and_commits_in_the_hubs_cache_have_versions_of_their_own(cache, change):
    old = cache.with_name(COMMIT[::-1])
    (cache.parents[1] / "refs" / "old").write_text(old.name)
    for folder in (cache / "small", cache / "large", old / "small"):
        write_all(folder)
    other = replace(DATA, **change)
    assert other.version is not None and other.version != DATA.version
    assert replace(DATA).version == DATA.version


def test_the_local_copy_comes_first(local, cache):
    write_all(cache / "small", n=5)
    write_all(local, n=2)
    assert len(DATA.load(["label"])) == 4


def test_shards_in_order(local):
    write(local, "validation")
    for shard in (2, 0, 1):
        write(local, "train", shard, 3, n=1)
    assert DATA.load(["text"])["text"][:3] == [f"train {i} 0" for i in range(3)]


def test_a_local_copy_without_a_shard_is_not_used(local, cache, capsys):
    write_all(cache / "small", n=5)
    write(local, "validation")
    write(local, "train", 0, 2)
    assert len(DATA.load(["label"])) == 10
    assert "doesn't hold someone/toy (small)" in capsys.readouterr().out


def test_a_file_that_is_there_twice_stands_for_no_other(local):
    write(local, "validation")
    first = write(local, "train", 0, 2)
    first.with_name("train-00000-of-00002-0a1b.parquet").write_bytes(first.read_bytes())
    with pytest.raises(InputError, match="isn't on this machine"):
        DATA.files()


def test_nothing_says_how_to_get_it(local):
    with pytest.raises(InputError, match=re.escape("benchopt prepare . --force -d toy")) as raised:
        DATA.files()
    assert "data_paths: {toy:" in str(raised.value) and "someone/toy (small)" in str(raised.value)
    assert DATA.version is None


def test_a_snapshot_that_is_there_in_part(local, cache):
    write(cache / "small", "train")
    with pytest.raises(InputError, match="isn't on this machine"):
        DATA.files()


def test_a_damaged_file_is_named(local):
    first, _ = write_all(local)
    damage(first, "end")
    with pytest.raises(InputError, match=f"{first.name} is damaged"):
        DATA.load(["label"])


def test_damage_inside_a_file(local):
    first, _ = write_all(local, n=1000)
    damage(first, "middle")
    with pytest.raises(InputError, match="toy.*can't be read"):
        DATA.load(["label", "text"])


def test_a_column_that_is_not_there(local):
    write_all(local, columns=("text", "labels"))
    with pytest.raises(InputError, match="no column 'label': did you mean 'labels'"):
        DATA.load(["label"])


def test_the_version_follows_the_files(local):
    path, _ = write_all(local)
    before = DATA.version
    assert DATA.version == before
    write(local, "train", n=4)
    assert DATA.version != before
    assert path.exists()


def test_download_leaves_what_is_there_alone(local, monkeypatch):
    write_all(local)
    monkeypatch.setattr("huggingface_hub.snapshot_download", None)
    DATA.download()


@pytest.mark.parametrize("place", ["end", "middle"])
def test_download_replaces_what_is_damaged_in_the_cache(local, cache, monkeypatch, place):
    first, _ = write_all(cache / "small", n=1000)
    damage(first, place)
    with pytest.raises(InputError, match="Where there is a network, `benchopt prepare . --force"):
        DATA.load(["label", "text"])
    asked = []

    def snapshot_download(repo, local_files_only=False, **options):
        if not local_files_only:
            asked.append(options["force_download"])
            write_all(cache / "small", n=1000)
        return str(cache)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    DATA.download()
    assert asked == [True] and len(DATA.load(["label"])) == 2000


def test_download_refuses_a_damaged_copy(local):
    first, _ = write_all(local, n=1000)
    damage(first, "middle")
    with pytest.raises(InputError, match=f"{first.name} is damaged.*Replace this copy; or delete"):
        DATA.download()


def test_only_what_is_not_found_is_told(local, cache, capsys):
    write(local, "train")
    write(local, "val")
    copies = [DATA, replace(DATA, parts=("train", "val"))]
    assert [copy.version is None for copy in copies] == [True, False]
    copies[1].load(["label"])
    assert capsys.readouterr().out == ""


def test_download_asks_for_the_parts_alone(local, cache, monkeypatch):
    asked = {}

    def snapshot_download(repo, local_files_only=False, **options):
        if not local_files_only:
            asked.update(options, repo=repo)
            write_all(cache / "small")
        return str(cache)

    monkeypatch.setattr("huggingface_hub.snapshot_download", snapshot_download)
    for path in cache.rglob("*.parquet"):
        path.unlink()
    DATA.download()
    assert asked["repo"] == "someone/toy" and asked["revision"] == "main"
    assert "small/train-*.parquet" in asked["allow_patterns"]
    assert not any("test" in pattern for pattern in asked["allow_patterns"])


class Numbers:
    key = "numbers"

    def __len__(self):
        return 10

    def read(self, rows):
        return 10 * rows

    def content(self, rows):
        return [b"%d" % row for row in rows]


class TestView:
    def test_indexing_keeps_the_identity_of_examples(self):
        view = View(Numbers())[np.array([3, 1, 4, 1])]
        assert len(view) == 4 and len(view[:2]) == 2
        assert view[np.array([2, 3])].rows.tolist() == [4, 1]
        assert view[np.array([2, 3])].read().tolist() == [40, 10]
        assert view.source.key == "numbers"
        assert view.content() == [b"3", b"1", b"4", b"1"]

    def test_duplicates_are_told_by_content(self):
        from benchmark_utils.population import Examples
        from benchmark_utils.rows import _duplicate_groups

        view = View(Numbers())
        assert _duplicate_groups(Examples(view, np.zeros(10, int))) is None
        drawn = Examples(view[np.array([3, 1, 3, 2])], np.array([0, 0, 0, 1]))
        assert _duplicate_groups(drawn).tolist() == [0, 1, 0, 2]


def test_folders_while_benchopt_sets_a_benchmark_up(monkeypatch, tmp_path):
    """As it does in one thread for each copy of a component, while another thread asks."""
    answers = iter([AttributeError("no name yet"), AttributeError("no name yet"), tmp_path])

    def get_data_path(key):
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer / key

    monkeypatch.setattr(hub, "get_data_path", get_data_path)
    assert hub.data_path("toy") == tmp_path / "toy"


def test_no_rows(local):
    write_all(local, n=0)
    with pytest.raises(InputError, match="train-.* holds no rows. .*benchopt prepare . --force"):
        DATA.load(["label"])
