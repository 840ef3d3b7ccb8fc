"""Progress of long searches in the terminal, without flooding a log file."""
import sys
import time

from tqdm import tqdm

TERMINAL_SECONDS, LOG_SECONDS = 0.2, 60.0
DELAY_SECONDS = 5.0  # shorter runs show no progress
_TOLD = set()


class Progress:
    """Which split and configuration a run is at, elapsed and expected time, on standard error.

    A terminal shows one line that is rewritten; a log file gets a line a minute.

    Parameters
    ----------
    label : str, the solver's name
    total : int, number of fits
    unit : str, what else is counted
    """

    def __init__(self, label, total, unit="fit"):
        self._label, self._part = label, 0.0
        is_terminal = sys.stderr.isatty()
        self._interval = TERMINAL_SECONDS if is_terminal else LOG_SECONDS
        self._bar = tqdm(
            total=total, desc=label.partition("[")[0], unit=unit, leave=False,
            delay=DELAY_SECONDS, mininterval=self._interval,
            miniters=1,  # else tqdm refreshes after ten seconds, whatever mininterval
            file=sys.stderr, dynamic_ncols=is_terminal,
        )

    def __enter__(self):
        self._started = time.monotonic()
        self._next = self._started + max(DELAY_SECONDS, self._interval)
        return self

    def __exit__(self, *_):
        self._bar.close()

    def step(self, job, index):
        """One more fit is there: of a job, with the configuration of an index."""
        where = f"split {job.seed_key[1]}, " if len(job.seed_key) > 1 else ""
        self._bar.set_postfix_str(f"{where}configuration {index}", refresh=False)
        self._bar.update()
        self._next = max(self._next, time.monotonic() + self._interval)

    def advance(self, n, where=""):
        """Some more are there, or parts of them."""
        self._bar.set_postfix_str(where, refresh=False)
        self._part += n
        whole = int(self._part + 1e-9)
        self._part -= whole
        self._bar.update(whole)

    def within(self, where):
        """Where a long fit is at."""
        self._bar.set_postfix_str(where, refresh=False)
        now = time.monotonic()
        if now >= self._next:
            self._next = now + self._interval
            self._bar.refresh()

    def found(self, n_found, n_made):
        """Say how many fits a run found and made, if it resumed what another had begun.

        Short runs of one solver say so once a process.
        """
        is_long = time.monotonic() - self._started > DELAY_SECONDS
        if n_found and n_made and (is_long or self._label not in _TOLD):
            _TOLD.add(self._label)
            self._bar.clear()
            print(f"{self._label}: {n_found} fits found, {n_made} made", file=sys.stderr)
