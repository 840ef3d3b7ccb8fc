"""Gap and ranking statistics against the plain loop over scipy, for a study as published.

8 algorithms, 30 paired runs, 100,000 resamples: 8 intervals of the win probability, and those of
both rank correlations and of the line. The loop makes fewer resamples, and its time is scaled.
Run by hand from the repository root: python perf/ranking_statistics.py
"""
import statistics
import sys
import time
from pathlib import Path

import numpy as np
from scipy import stats

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmark_utils.analysis.gap import gap_statistics
from benchmark_utils.analysis.ranking import ranking

N_RESAMPLES, N_LOOP, REPEATS = 100_000, 500, 7


def loop_gaps(val_tuned, test_tuned, rng):
    for wins in np.where(test_tuned > val_tuned, 1, 0.5):
        np.quantile([rng.choice(wins, len(wins)).mean() for _ in range(N_LOOP)], [0.025, 0.975])


def loop_ranking(val_tuned, test_tuned, rng):
    n_algorithms, n_runs = val_tuned.shape
    mean_val, mean_test = val_tuned.mean(axis=1), test_tuned.mean(axis=1)
    resampled = []
    for _ in range(N_LOOP):
        runs = rng.integers(0, n_runs, val_tuned.shape)
        x = np.take_along_axis(val_tuned, runs, axis=1).mean(axis=1)
        y = np.take_along_axis(test_tuned, runs, axis=1).mean(axis=1)
        drawn = rng.integers(0, n_algorithms, n_algorithms)
        line = stats.linregress(mean_val[drawn], mean_test[drawn])
        resampled.append([stats.spearmanr(x, y).statistic, stats.kendalltau(x, y).statistic,
                          line.slope, line.intercept])
    np.quantile(resampled, [0.025, 0.975], axis=0)


def ours_gaps(val_tuned, test_tuned, rng):
    for scores in zip(val_tuned, test_tuned, strict=True):
        gap_statistics(*scores, rng=rng, n_resamples=N_RESAMPLES)


def ours_ranking(val_tuned, test_tuned, rng):
    ranking(val_tuned, test_tuned, rng=rng, n_resamples=N_RESAMPLES)


def main():
    rng = np.random.default_rng(0)
    val_tuned = np.arange(54, 70, 2)[:, None] + rng.normal(0, 2, (8, 30))
    test_tuned = val_tuned + rng.exponential(2, (8, 30)) * (rng.random((8, 30)) < 0.6)

    seconds = {f: [] for f in (ours_gaps, ours_ranking, loop_gaps, loop_ranking)}
    for _ in range(REPEATS):       # interleaved, so that whatever else runs slows all of them
        for function, measured in seconds.items():
            start = time.perf_counter()
            function(val_tuned, test_tuned, rng)
            scale = N_RESAMPLES / N_LOOP if function in (loop_gaps, loop_ranking) else 1
            measured.append(scale * (time.perf_counter() - start))

    print(f"8 algorithms, 30 runs, {N_RESAMPLES:,} resamples; loop: {N_LOOP} resamples, scaled by "
          f"{N_RESAMPLES // N_LOOP}; median of {REPEATS}, smallest to largest in brackets")
    ours = [seconds[ours_gaps], seconds[ours_ranking]]
    loop = [seconds[loop_gaps], seconds[loop_ranking]]
    for both in (ours, loop):
        both.append([sum(repeat) for repeat in zip(*both, strict=True)])
    for name, *measured in zip(("gap intervals", "rank correlations and line", "together"),
                               ours, loop, strict=True):
        fast, slow = (statistics.median(times) for times in measured)
        spread = [f"[{min(times):.3g}, {max(times):.3g}]" for times in measured]
        print(f"{name:27} {fast:.3g} s {spread[0]:16} loop {slow:.3g} s {spread[1]:12} "
              f"ratio {slow / fast:.0f}")


if __name__ == "__main__":
    main()
