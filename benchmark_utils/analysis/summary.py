"""What the result page and the terminal report both say of one data set and setting."""
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmark_utils.analysis.frames import (
    by_learner,
    memoised,
    outer_matrix,
    score_matrix,
    select,
    tidy,
)
from benchmark_utils.analysis.gain import SampleGain, proxy_gain, sample_gain
from benchmark_utils.analysis.variance import VarianceComponents, variance_components
from benchmark_utils.scoring import PRIMARY

#: share of the pool above which the study sets of different seeds are no longer nearly independent
MAX_STUDY_SHARE = 0.5
#: below it, 95 % intervals of the gain cover 85 to 90 % (tests/analysis/test_gain.py)
FEW_SEEDS = 50


@dataclass(frozen=True)
class LearnerSummary:
    """One learning algorithm on one data set and setting.

    Attributes
    ----------
    n_seeds : seeds with at least one successful split
    n_ok, n_rows : successful splits, and all
    score_test, score_bench : mean over seeds of the mean over splits
    n_test : test examples per split
    ceiling : n_study / n_test, the gain if every study example were a test example of one split
    raw, deltas : VarianceComponents of test scores and of deltas
    gain : SampleGain, or None; of the splits that all seeds made
    stopped : str, where and why splits were left out, "" if none were
    redundancy : mean over seeds of ω after the last split
    seconds : mean time of one fit
    message : first message of a split that isn't ok, or else first warning
    """
    n_seeds: int
    n_ok: int
    n_rows: int
    score_test: float
    score_bench: float
    n_test: int
    ceiling: float
    raw: VarianceComponents
    deltas: VarianceComponents
    gain: SampleGain | None
    stopped: str
    redundancy: float
    seconds: float
    message: str


@memoised
def learners(results, dataset, setting):
    """Summaries of all learners of one data set and setting.

    Parameters
    ----------
    results : DataFrame, as Benchopt saves it
    dataset, setting : labels, see `frames.labels`

    Returns
    -------
    dict, learner's label -> LearnerSummary, in the order of the results
    """
    rows = final_rows(results, dataset, setting)
    return {learner: _summarise(part) for learner, part in by_learner(rows)}


def final_rows(results, dataset, setting):
    """Tidy rows of the splits at each learner's full budget, without refitted predictors."""
    rows = select(tidy(results), dataset=dataset, setting=setting)
    full = rows.groupby("learner", observed=True)["budget"].transform("max")
    return rows[(rows["split"] >= 0) & (rows["budget"] == full)]


def splits_made(rows):
    """K, for the names of columns: "all" where some learner made fewer of some seed's splits."""
    made = rows.groupby(["learner", "seed"], observed=True).size().unique()
    return made[0] if len(made) == 1 else "all"


def _is_gain_guessed(rows):
    """Whether raw scores alone say something of the gain: those of several seeds and splits."""
    return not rows["n_bench"].any() and rows["seed"].nunique() > 1 and splits_made(rows) != 1


def _summarise(rows):
    rng = np.random.default_rng(0)
    ok = rows["status"] == "ok"
    test, bench = score_matrix(rows, "score_test"), score_matrix(rows, "score_bench")
    delta = score_matrix(rows, "delta")
    messages = rows["message"][~ok].tolist() or [m for m in rows["message"] if m]
    last = rows[ok].sort_values("split").groupby("seed")["redundancy"].last()
    n_test = int(rows["n_test"].iloc[0])
    made = rows.groupby("seed").size()
    K, first_reason = made.min(), next((reason for reason in rows["stopped"] if reason), "")
    return LearnerSummary(
        n_seeds=int(np.isfinite(test).any(axis=1).sum()), n_ok=int(ok.sum()), n_rows=len(rows),
        score_test=_mean_of_means(test), score_bench=_mean_of_means(bench),
        n_test=n_test, ceiling=rows["n_study"].iloc[0] / n_test,
        raw=variance_components(test, rng), deltas=variance_components(delta, rng),
        gain=sample_gain(
            delta[:, :K], outer_matrix(rows), n_test, rng, n_splits=reported_splits(K),
        ),
        stopped=f"{_range(made)} splits were made; seed {rows['seed'].iloc[0]} {first_reason}"
        if first_reason else "",
        redundancy=last.mean(),
        seconds=rows["fit_seconds"].mean(), message=messages[0] if messages else "",
    )


def _mean_of_means(scores):
    scores = scores[np.isfinite(scores).any(axis=1)]
    return np.nanmean(scores, axis=1).mean() if len(scores) else np.nan


def reported_splits(n_splits):
    """The numbers of splits K to report: all up to 10, then about ten per decade, and the last."""
    grid = [k for k in (*range(1, 11), 12, 15, 20, 25, 30, 40, 50, 70) if k < n_splits]
    decade = 100
    while decade < n_splits:
        grid += [k for k in (decade, decade * 3 // 2, 2 * decade, 3 * decade, 5 * decade,
                             7 * decade) if k < n_splits]
        decade *= 10
    return [*grid, n_splits]


def table(results, dataset, setting):
    """Summary table, one row per learner.

    Returns
    -------
    DataFrame
        G_K with its 95 % bootstrap interval over seeds, with ≥ where the outer set ends,
        missing without benchmarking or outer set or with one seed, and without benchmarking
        set a guess, see `proxy_gain`; mean scores, higher is better; standard deviations
        over seeds of the test score of one split and of the mean of K; ρ_δ; ω after K
        splits; successful splits of all seeds; time of one fit. K is "all" where some
        splits were left out.
    """
    rows = final_rows(results, dataset, setting)
    if rows.empty:
        return pd.DataFrame()
    K = splits_made(rows)
    by_all = rows.groupby(["learner", "seed"], observed=True).size().groupby("learner").min()
    is_guessed = _is_gain_guessed(rows)
    table_rows = []
    for learner, summary in learners(results, dataset, setting).items():
        gain = summary.gain
        table_rows.append({
            "learner": learner,
            f"G_{K}": "" if gain is None else ("≥" if gain.at_least[-1] else "")
            + f"{gain.gain[-1]:.2f}",
            "95 %": "" if gain is None else _gain_interval(gain),
            **({f"proxy G_{K}": proxy_gain(summary.raw, by_all[learner])} if is_guessed else {}),
            "test": summary.score_test,
            "bench": summary.score_bench,
            "sd K=1": _root(summary.raw.total),
            f"sd K={K}": _root(summary.raw.between),
            "ρ_δ": summary.deltas.correlation,
            "ω": summary.redundancy,
            "splits ok": f"{summary.n_ok}/{summary.n_rows}",
            "fit s": summary.seconds,
        })
    return pd.DataFrame(table_rows)


def notes(results, dataset, setting):
    """What a reader of the figures must know: data, missing seeds or sets, failures, duplicates.

    Returns
    -------
    list of str
    """
    rows = final_rows(results, dataset, setting)
    if rows.empty:
        return ["No run of this data set and setting has a result."]
    first, n_seeds = rows.iloc[0], rows["seed"].nunique()
    primary = PRIMARY[first["task"]]
    up_to = "up to " if splits_made(rows) == "all" else ""
    # With groups, and in a bootstrap, splits differ in size.
    n_train, n_val, n_test = (_range(rows[part]) for part in ("n_train", "n_val", "n_test"))
    said = [
        str(first["data"]),
        f"Score: {primary} (higher is better); {_count(n_seeds, 'seed')}, "
        f"{up_to}{_count(rows['split'].max() + 1, 'split')} each of {n_train} training"
        + (f", {n_val} validation" if rows["n_val"].any() else "")
        + f" and {n_test} test examples; "
        + (f"benchmarking set of {first['n_bench']:,}." if first["n_bench"]
           else "no benchmarking set, so no truth to compare with: gain and ρ_δ are missing"
           + (", and proxy G is a guess from raw scores." if _is_gain_guessed(rows) else ".")),
    ]
    summaries = learners(results, dataset, setting)
    if all(s.n_ok == 0 for s in summaries.values()):
        message = next(iter(summaries.values())).message
        return [*said, f"Every split of every learner failed; the first said: {message}"]
    n_seeds_of = rows.groupby("learner", observed=True)["seed"].nunique()
    for learner, s in summaries.items():
        if s.n_ok < s.n_rows:
            said.append(
                f"{learner}: {s.n_rows - s.n_ok} of {s.n_rows} splits failed or diverged, and are "
                f"left out of the means; the first said: {s.message}"
            )
        elif s.message:
            said.append(f"{learner} warned: {s.message}")
        if n_seeds_of[learner] < n_seeds:
            said.append(f"{learner} has a result for {n_seeds_of[learner]} of {n_seeds} seeds "
                        "only: its figures are theirs.")
        if s.stopped:
            said.append(f"{learner}: {s.stopped}. Its G is that of the splits all seeds made.")
    for learner, part in by_learner(rows[rows["tuning"] != "default"]):
        n_failed = part["n_failed_configs"].sum()
        if n_failed:
            said.append(f"{learner}: {n_failed} of the {part['budget'].sum()} configurations tried "
                        "in all splits failed or diverged, and can't be chosen.")
    capped = rows[(rows["search"] == "grid") & (rows["budget"] < rows["n_configs"])
                  & (rows["tuning"] != "default")]
    for learner, part in by_learner(capped):
        said.append(
            f"{learner}: the grid has {_count(part['budget'].iloc[0], 'cell')}, so the budget of "
            f"{part['n_configs'].iloc[0]} configurations is capped at that."
            + (" With one, nothing was searched." if part["budget"].iloc[0] == 1 else "")
        )
    if n_seeds == 1:
        said.append(
            "One seed only: scores and ω are shown, but the gain is a ratio of variances over "
            "seeds." + (" Run with -r 30 or more to see it." if first["n_bench"] else "")
        )
    elif n_seeds < FEW_SEEDS:
        said.append(f"{n_seeds} seeds: intervals over seeds are wide, and still cover less than "
                    "they claim. 100 are enough.")
    if n_seeds > 1 and first["n_bench"] and rows["outer_deltas"].isna().all():
        said.append("There are too few examples for an outer set, so the gain is missing: lower "
                    "train_size.")
    if n_seeds > 1 and first["pool_share"] > MAX_STUDY_SHARE:
        said.append(
            f"Each study set holds {first['pool_share']:.0%} of the examples there are to draw "
            "from: seeds share most of them, so the variance over seeds is too small. Lower "
            "train_size."
        )
    duplicates = rows["n_duplicates"].max()
    if duplicates:
        said.append(
            f"Up to {duplicates} test examples of a split are exact copies of training examples."
        )
    return said


def _gain_interval(gain):
    return "–".join(("≥" if end >= gain.n_chunks else "") + f"{end:.1f}"
                    for end in (gain.low[-1], gain.high[-1]))


def _count(n, what):
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _range(counts):
    low, high = counts.min(), counts.max()
    return str(low) if low == high else f"{low} to {high}"


def _root(variance):
    return float(np.sqrt(variance)) if variance >= 0 else np.nan
