"""What is asked of the benchmark that runs."""
import time

from benchopt.benchmark import get_running_benchmark


def when_set_up(ask):
    """What `ask()` returns, also in a thread.

    Benchopt's components are pickled in a thread of their own. While one is copied in another
    thread, the benchmark that runs is, for some milliseconds, one that is still being set up.
    """
    for _ in range(200):
        try:
            return ask()
        except AttributeError:
            time.sleep(0.01)
    return ask()


def cache_folder():
    """Benchopt's cache folder; None where no benchmark runs, or without cache."""
    def ask():
        benchmark = get_running_benchmark()
        return None if benchmark is None else benchmark.get_cache_location()

    return when_set_up(ask)
