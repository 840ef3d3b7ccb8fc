import io
import re
import time
from types import SimpleNamespace

import pytest
from tqdm import tqdm

from benchmark_utils import progress
from benchmark_utils.progress import Progress
from benchmark_utils.splits import Split
from benchmark_utils.tuning import NOTHING, Job


class Stream(io.StringIO):
    """Standard error, as a log file or as a terminal; remembers when what was written."""

    def __init__(self, clock, is_terminal):
        super().__init__()
        self._clock, self._is_terminal, self.writes = clock, is_terminal, []

    def isatty(self):
        return self._is_terminal

    def write(self, text):
        if text.strip():
            self.writes.append((self._clock.now, text.strip()))
        return super().write(text)

    def lines(self):
        return [text for _, text in self.writes]


class Clock:
    """Time that passes only when a fit is made."""
    now = 1e6

    def __call__(self):
        return self.now

    monotonic = time = __call__


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("tqdm.std.time", clock)
    monkeypatch.setattr("tqdm._monitor.time", clock)
    monkeypatch.setattr(progress, "time", clock)
    monkeypatch.setattr(progress, "_TOLD", set())
    # tqdm's own thread, which refreshes lines that are late, looks around often.
    monkeypatch.setattr(tqdm, "monitor", None)
    monkeypatch.setattr(tqdm, "monitor_interval", 0.001)
    yield clock
    if tqdm.monitor is not None:
        tqdm.monitor.exit()


@pytest.fixture(params=[False, True], ids=["log file", "terminal"])
def stream(request, clock, monkeypatch):
    stream = Stream(clock, request.param)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    return stream


@pytest.fixture
def log_file(clock, monkeypatch):
    stream = Stream(clock, is_terminal=False)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
    return stream


def job(*seed_key):
    return Job(Split(NOTHING, NOTHING, NOTHING), seed_key)


def fits(clock, n, seconds, total=None, label="svm[C=1.0]", seed_key=(0, 3), pause=0.0):
    """A run of n fits; returns how long it took."""
    with Progress(label, total or n) as shown:
        for i in range(n):
            clock.now += seconds
            time.sleep(pause)
            shown.step(job(*seed_key), i % 30)
    return n * seconds


class TestLine:
    def test_short_runs_print_nothing(self, clock, stream):
        fits(clock, 400, 0.01)
        assert stream.getvalue() == ""

    def test_one_slow_fit_prints_nothing_before_it_is_there(self, clock, stream):
        with Progress("svm", 3):
            clock.now += 1000
            assert stream.lines() == []

    def test_a_slow_fit_tells_where_it_is_at(self, clock, stream):
        with Progress("resnet", 3) as shown:
            for step in range(1, 1001):
                clock.now += 0.5
                shown.within(f"step {step} of 1000")
        interval = progress.TERMINAL_SECONDS if stream.isatty() else progress.LOG_SECONDS
        at = [when - 1e6 for when, _ in stream.writes]
        assert at[0] == max(interval, progress.DELAY_SECONDS)
        assert "0/3" in stream.lines()[0] and f"step {int(2 * at[0])} of 1000" in stream.lines()[0]
        gaps = [later - earlier for earlier, later in zip(at, at[1:], strict=False)]
        assert len(at) >= 8 and min(gaps) >= interval
        # The line that says that it is there isn't followed by another at once.
        with Progress("resnet", 3) as shown:
            clock.now += 100
            shown.step(job(0, 0), 0)
            n_lines = len(stream.lines())
            shown.within("step 1 of 1000")
        assert len(stream.lines()) == n_lines

    def test_which_split_and_configuration_and_how_long(self, clock, stream):
        with Progress("svm[C=1.0,tuning=val]", 200) as shown:
            for i in range(70):
                clock.now += 1
                shown.step(job(0, i // 30), i % 30)
        line = next(line for line in stream.lines() if line.startswith("svm") and "60/200" in line)
        # 60 fits of a second each are done, the last the 30th of the second split; 140 remain.
        assert "split 1, configuration 29" in line
        assert re.search(r"\[01:00<02:(19|20|21),", line), line
        assert "tuning" not in line

    @pytest.mark.parametrize("seed_key, where", [
        ((0, 4), "split 4, configuration 0"),       # a split
        ((1,), "configuration 0"),                  # the refit on the study set
        ((2, 4, 1), "split 4, configuration 0"),    # an inner fold
        ((3, 4), "split 4, configuration 0"),       # a test fold memorised
    ])
    def test_every_kind_of_fit(self, clock, log_file, seed_key, where):
        fits(clock, 1, 100, total=10, seed_key=seed_key)
        assert log_file.lines()[0].endswith(f", {where}]")
        assert ("split" in log_file.lines()[0]) == ("split" in where)

    def test_the_terminal_is_left_clean(self, clock, monkeypatch):
        stream = Stream(clock, is_terminal=True)
        monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=stream))
        fits(clock, 100, 1)
        assert stream.lines() and "\n" not in stream.getvalue()
        # Blanks over the line, and the cursor at its start.
        assert re.search(r"\r *\r$", stream.getvalue())


class TestLogFile:
    @pytest.mark.parametrize("n, seconds", [(4000, 0.3), (40, 45), (12, 150)])
    def test_at_most_a_line_a_minute(self, clock, log_file, n, seconds):
        duration = fits(clock, n, seconds, total=2 * n, pause=0.0002 if n > 1000 else 0.01)
        at = [when for when, _ in log_file.writes]
        assert len(at) >= duration / 60 / 4
        gaps = [later - earlier for earlier, later in zip(at, at[1:], strict=False)]
        assert min(gaps) >= progress.LOG_SECONDS - 1e-6

    def test_the_settings_count(self, clock, log_file, monkeypatch):
        monkeypatch.setattr(progress, "LOG_SECONDS", 3.0)
        monkeypatch.setattr(progress, "DELAY_SECONDS", 30.0)
        fits(clock, 100, 1)
        at = [when - 1e6 for when, _ in log_file.writes]
        assert at == list(range(30, 101, 3))


class TestResumption:
    def found(self, clock, n_found, n_made, label="svm[C=1.0]", seconds=0.0):
        with Progress(label, n_found + n_made) as shown:
            clock.now += seconds
            shown.found(n_found, n_made)

    def test_says_what_was_found_and_made(self, clock, stream):
        self.found(clock, 12, 8)
        assert stream.lines() == ["svm[C=1.0]: 12 fits found, 8 made"]
        assert stream.getvalue().endswith("\n")

    def test_says_nothing_where_nothing_was_resumed(self, clock, stream):
        self.found(clock, 0, 20)
        self.found(clock, 20, 0)
        assert stream.getvalue() == ""

    def test_short_runs_of_one_solver_say_it_once(self, clock, stream):
        for _ in range(5):
            self.found(clock, 12, 8)
        self.found(clock, 3, 4, label="ridge")
        assert stream.lines() == ["svm[C=1.0]: 12 fits found, 8 made",
                                  "ridge: 3 fits found, 4 made"]

    def test_long_runs_say_it_each_time(self, clock, stream):
        for _ in range(3):
            self.found(clock, 12, 8, seconds=100)
        assert stream.lines() == ["svm[C=1.0]: 12 fits found, 8 made"] * 3
