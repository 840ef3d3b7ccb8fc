"""What the result page and the terminal report say of tuning rules.

The unit is the run: one seed. With several splits per seed, a run's scores are
means over its splits, and a run with a failed split is a failed run.
"""
import json

import numpy as np
import pandas as pd

from benchmark_utils.analysis.frames import memoised, select
from benchmark_utils.analysis.gap import MIN_RUNS, gap_by_budget, gap_statistics
from benchmark_utils.analysis.optimism import optimism, search_benefit
from benchmark_utils.analysis.ranking import ranking
from benchmark_utils.analysis.summary import tidy

#: what each rule reports as its score: a column, and whether of the refitted predictor's row
REPORTED = {
    "default": ("score_test", False), "val": ("score_val", False), "test": ("score_test", False),
    "cv": ("score_test", True), "nested": ("score_test", False),
}
KEYS = ["algorithm", "tuning", "n_configs"]
SCORES = ["score_val", "score_test", "score_bench", "score_bench_best"]


@memoised
def runs(results, dataset, setting):
    """One row per algorithm, rule, n_configs, budget and seed.

    Returns
    -------
    DataFrame
        `algorithm`, `tuning`, `n_configs`, `search`, `budget`, `seed`, `is_refit`, the means
        of `score_*` over the splits that all searches of the algorithm made, and `chosen`, the
        choices of these splits.
    """
    rows = select(tidy(results), dataset=dataset, setting=setting)
    # A search that stopped earlier than another of the same algorithm is compared on its splits.
    last = rows.groupby(["untuned", "learner", "seed"], observed=True)["split"].max()
    common = last.groupby(["untuned", "seed"], observed=True).min().rename("common")
    rows = rows.join(common, on=["untuned", "seed"])
    rows = rows[rows["split"] <= rows["common"]]
    rows = rows.assign(is_refit=rows["split"] < 0).sort_values("split", kind="stable")
    by = [*KEYS, "search", "budget", "seed", "is_refit"]
    groups = rows.groupby(by, observed=True, sort=False)
    means = groups[SCORES].mean()
    all_ok = groups["status"].agg(lambda status: (status == "ok").all())
    means[~all_ok] = np.nan
    means["chosen"] = groups["config"].agg(tuple)
    return means.reset_index()


def algorithms(results, dataset, setting):
    """Labels of the algorithms with comparable runs under both the val and the test rule."""
    return [name for name in _tuned_by_both(results, dataset, setting)
            if not inconsistent_seeds(results, dataset, setting, name)]


def _tuned_by_both(results, dataset, setting):
    names = dict.fromkeys(runs(results, dataset, setting)["algorithm"])
    return [name for name in names if len(_largest(results, dataset, setting, name))]


@memoised
def inconsistent_seeds(results, dataset, setting, algorithm):
    """Seeds whose val-tuned configuration has a higher test score than the test-tuned one, which
    can't be if both chose among the same fits."""
    if _is_adaptive(results, dataset, setting, algorithm):
        return []
    val, test = _val_and_test(results, dataset, setting, algorithm)
    return val.index[(val > test).any(axis=1)].tolist()


@memoised
def gap_of(results, dataset, setting, algorithm):
    """Gap and GapByBudget of one algorithm's largest search."""
    val, test = _val_and_test(results, dataset, setting, algorithm)
    last = val.columns[-1]
    is_adaptive = _is_adaptive(results, dataset, setting, algorithm)
    kwargs = dict(rng=np.random.default_rng(0), same_configurations=not is_adaptive)
    chosen_val, chosen_test = (
        _by_seed_and_budget(results, dataset, setting, algorithm, rule, "chosen")
        .reindex(val.index)[last].map(str)
        for rule in ("val", "test")
    )
    # After adaptive searches, the same index isn't the same configuration.
    choices = () if is_adaptive else (chosen_val, chosen_test)
    return (
        gap_statistics(val[last], test[last], *choices, **kwargs),
        gap_by_budget(val.to_numpy(), test.to_numpy(), val.columns.to_numpy(), **kwargs),
    )


def per_run(results, dataset, setting, algorithm):
    """Test scores of the val-tuned and of the test-tuned configuration, two Series by seed."""
    val, test = _val_and_test(results, dataset, setting, algorithm)
    return val.iloc[:, -1], test.iloc[:, -1]


@memoised
def ranking_of(results, dataset, setting):
    """(labels, Ranking) of all algorithms that were tuned by both rules; None below two."""
    names = algorithms(results, dataset, setting)
    if len(names) < 2:
        return names, None
    pairs = [per_run(results, dataset, setting, name) for name in names]
    seeds = sorted(set().union(*(val.index for val, _ in pairs)))
    val, test = (
        np.array([pair[rule].reindex(seeds) for pair in pairs], float) for rule in (0, 1)
    )
    return names, ranking(val, test, rng=np.random.default_rng(0))


def ranking_table(results, dataset, setting):
    """One row per algorithm: mean, sd and rank under each rule, and the gap; a DataFrame."""
    names, ranked = ranking_of(results, dataset, setting)
    table_rows = []
    for i, name in enumerate(names):
        gap, by_budget = gap_of(results, dataset, setting, name)
        table_rows.append({
            "algorithm": name,
            "val-tuned": gap.mean_val_tuned, "sd val": gap.sd_val_tuned,
            "rank val": np.nan if ranked is None else ranked.rank_val_tuned[i],
            "test-tuned": gap.mean_test_tuned, "sd test": gap.sd_test_tuned,
            "rank test": np.nan if ranked is None else ranked.rank_test_tuned[i],
            "gap": gap.mean_gap, "gap/sd": gap.gap_to_sd,
            "P(win)": gap.p_win,
            "95 %": f"{gap.p_win_low:.2f}–{gap.p_win_high:.2f}" if gap.n_runs > 1 else "",
            "zero gaps": gap.zero_share,
            "same choice": np.nan if gap.n_identical is None else gap.n_identical / gap.n_runs
            if gap.n_runs else np.nan,
            "first significant T": (by_budget.first_significant or "never")
            if gap.n_runs >= MIN_RUNS else "",
            "runs": f"{gap.n_runs}/{gap.n_runs + gap.n_failed}",
        })
    return pd.DataFrame(table_rows)


def ranking_notes(results, dataset, setting):
    """Sentences on rank correlations, the fitted line and the zero gaps; a list of str."""
    names, ranked = ranking_of(results, dataset, setting)
    said = []
    for name in _tuned_by_both(results, dataset, setting):
        seeds = inconsistent_seeds(results, dataset, setting, name)
        if seeds:
            said.append(
                f"{name} is left out: in seed {seeds[0]} its val-tuned configuration has the "
                "higher test score, so the rules chose among different fits; delete __cache__ and "
                "run both rules again"
            )
    gaps = [gap_of(results, dataset, setting, name)[0] for name in names]
    n_runs = sum(gap.n_runs for gap in gaps)
    if n_runs:
        zero = f"Zero gaps: {sum(gap.n_zero for gap in gaps) / n_runs:.1%} of {n_runs} runs; "
        if all(gap.n_runs < MIN_RUNS for gap in gaps):
            said.append(zero + f"fewer than {MIN_RUNS} runs each tell nothing of significance")
        else:
            said.append(zero + "significant overfitting in "
                        f"{sum(gap.significant for gap in gaps)} of {len(gaps)}")
    if ranked is not None:
        for name, estimate in (("Spearman", ranked.spearman), ("Kendall", ranked.kendall),
                               ("slope of the line", ranked.slope)):
            if np.isnan(estimate.value):
                said.append(f"{name} undefined")
                continue
            interval = f" [{estimate.low:.3f}, {estimate.high:.3f}]"
            if np.isnan(estimate.low):
                few = "two algorithms give" if estimate is ranked.slope else "one run each gives"
                interval = f", to which {few} no interval"
            said.append(f"{name} {estimate.value:.3f}{interval}")
    return said


def reported_and_true(results, dataset, setting, algorithm, rule):
    """Reported and true score of each run, at each budget or grid size.

    The reported score is the best validation score for `val`, the best test
    score for `test`, the best mean test score for `cv` and the mean outer score
    for `nested`. The true one is the benchmark score of the chosen predictor;
    for `cv` and `nested`, of the configuration that `cv` chose, refitted on the
    whole study set (where `cv` wasn't run with as many, `nested` is held against
    its own predictors).

    Returns
    -------
    dict, number of configurations -> DataFrame by seed with `reported`, `true`, `best`
        For grids, which don't nest, only at their full size.
    """
    of = runs(results, dataset, setting)
    of = of[of["algorithm"] == algorithm]
    column, of_refit = REPORTED[rule]
    refits = _refits(results, dataset, setting, algorithm, of["search"])
    searched = of[(of["tuning"] == rule) & (of["is_refit"] == of_refit)]
    curves = {}
    for n_configs, size_rows in _searches(searched):
        reported = size_rows.set_index("seed")[column]
        true = size_rows.set_index("seed")[["score_bench", "score_bench_best"]]
        if rule == "nested" and len(refits):
            # The refit of the same search: a grid by its size, a random search by the budget.
            budget = size_rows["budget"].iloc[0]
            same = refits[refits["budget"] == budget]
            same = same[same["n_configs"] == _matching(same, size_rows["n_configs"].iloc[0])]
            if len(same):
                true = same.set_index("seed")[["score_bench", "score_bench_best"]]
        curves[n_configs] = pd.DataFrame({
            "reported": reported, "true": true["score_bench"].reindex(reported.index),
            "best": true["score_bench_best"].reindex(reported.index),
        })
    return curves


def optimism_of(results, dataset, setting, algorithm, rule):
    """dict, number of configurations -> Optimism; see `reported_and_true`."""
    return {
        n_configs: optimism(scores["reported"], scores["true"])
        for n_configs, scores in
        reported_and_true(results, dataset, setting, algorithm, rule).items()
    }


def optimism_table(results, dataset, setting):
    """One row per algorithm, rule and largest search of each size; a DataFrame.

    Reported and true scores, optimism with its standard error over runs, and
    what tuning bought: the true score of the chosen configuration minus that of
    the default one (the `default` rule's, or that of a grid of one cell) and
    minus the best in the search.
    """
    of = runs(results, dataset, setting)
    if set(of["tuning"]) == {"default"}:
        return pd.DataFrame()
    table_rows = []
    for algorithm in dict.fromkeys(of["algorithm"]):
        for rule in REPORTED:
            curves = reported_and_true(results, dataset, setting, algorithm, rule)
            is_grid = of[(of["algorithm"] == algorithm) & (of["tuning"] == rule)]["search"].eq(
                "grid").any()
            sizes = list(curves) if is_grid else list(curves)[-1:]
            for size in sizes:
                scores = curves[size]
                if scores["true"].isna().all():
                    continue
                measured = optimism(scores["reported"], scores["true"])
                base = _default_scores(results, dataset, setting, algorithm, rule)
                default = scores["true"] * np.nan if base is None else base.reindex(scores.index)
                bought = search_benefit(scores["true"], default, scores["best"])
                missed = search_benefit(scores["true"], scores["true"], scores["best"])
                table_rows.append({
                    "algorithm": algorithm, "rule": rule, "configurations": size,
                    "reported": measured.mean_reported, "true": measured.mean_true,
                    "optimism": measured.optimism, "se": measured.optimism_se,
                    "true − default": bought.over_default, "se default": bought.over_default_se,
                    "true − best": missed.over_best, "runs": measured.n_repetitions,
                })
    return pd.DataFrame(table_rows)


@memoised
def winners(results, dataset, setting, algorithm, rule):
    """Hyperparameters of the winners of one rule's largest search, over seeds and splits.

    Returns
    -------
    DataFrame with `hyperparameter`, `value` and `position` in its range (0 … 1)
    """
    rows = select(tidy(results), dataset=dataset, setting=setting, algorithm=algorithm)
    rows = rows[(rows["tuning"] == rule) & (rows["config"] >= 0)]
    if rule == "cv":
        rows = rows[rows["split"] < 0]
    rows = rows[rows["n_configs"] == rows["n_configs"].max()]
    rows = rows[rows["budget"] == rows["budget"].max()]
    return pd.DataFrame(
        [(name, value, position) for text in rows["hyperparameters"]
         for name, (value, position) in json.loads(text).items()],
        columns=["hyperparameter", "value", "position"],
    )


def winners_table(results, dataset, setting):
    """One row per algorithm, rule and hyperparameter; a DataFrame.

    The typical value of the winners (median, or most frequent), the quartiles of
    their positions in the range, and the share that lies in its outer tenth at
    either end: more than a tenth on one side asks for a wider range.
    """
    of = runs(results, dataset, setting)
    searched = of.loc[of["tuning"] != "default", ["algorithm", "tuning"]].drop_duplicates()
    table_rows = []
    for algorithm, rule in searched.itertuples(index=False):
        won = winners(results, dataset, setting, algorithm, rule)
        for name, part in won.groupby("hyperparameter", sort=True):
            # The default has none where it lies outside the range.
            position = part["position"].astype(float).dropna()
            low, middle, high = position.quantile([0.25, 0.5, 0.75])
            table_rows.append({
                "algorithm": algorithm, "rule": rule, "hyperparameter": name,
                "typical": typical(part["value"]),
                "position": f"{middle:.2f} [{low:.2f}–{high:.2f}]" if len(position) else "",
                "lowest tenth": (position <= 0.1).mean(),
                "highest tenth": (position >= 0.9).mean(), "winners": len(part),
            })
    return pd.DataFrame(table_rows)


def typical(values):
    """Median of a Series of numbers, else its most frequent value; as text."""
    is_number = values.map(lambda v: isinstance(v, int | float) and not isinstance(v, bool))
    if is_number.all():
        return f"{values.astype(float).median():.3g}"
    return values.map(str).mode()[0]


def _largest(results, dataset, setting, algorithm):
    """Runs of one algorithm's largest val and test searches of one size; where there is none of
    one size, those of nested searches at the budgets that both have. Of grids, which don't nest,
    all that both have, each at its full size."""
    of = runs(results, dataset, setting)
    of = of[(of["algorithm"] == algorithm) & of["tuning"].isin(["val", "test"])]
    sizes = of.groupby("n_configs")["tuning"].nunique()
    if of["search"].eq("grid").any():
        of = of[of["n_configs"].isin(sizes.index[sizes == 2])]
        full = of.groupby(["tuning", "n_configs"])["budget"].transform("max")
        # Budgets of different size may be capped at the same grid.
        return of[of["budget"] == full].drop_duplicates(["tuning", "budget", "seed"])
    if (sizes == 2).any():
        return of[of["n_configs"] == sizes[sizes == 2].index.max()]
    if of["tuning"].nunique() < 2:
        return of.iloc[:0]
    return of[of["n_configs"] == of.groupby("tuning")["n_configs"].transform("max")]


def _is_adaptive(results, dataset, setting, algorithm):
    return _largest(results, dataset, setting, algorithm)["search"].eq("tpe").any()


def _val_and_test(results, dataset, setting, algorithm):
    """Test scores by seed and budget under both rules, where both have them."""
    val, test = (
        _by_seed_and_budget(results, dataset, setting, algorithm, rule)
        for rule in ("val", "test")
    )
    return val.align(test, join="inner")


def _by_seed_and_budget(results, dataset, setting, algorithm, rule, column="score_test"):
    of = _largest(results, dataset, setting, algorithm)
    return of[of["tuning"] == rule].pivot(index="seed", columns="budget", values=column)


def _searches(searched):
    """(number of configurations tried, rows): each grid at its full size; of nested searches
    the largest, at every budget."""
    if searched.empty:
        return
    if searched["search"].eq("grid").any():
        for _, grid in searched.groupby("n_configs"):
            yield grid["budget"].max(), grid[grid["budget"] == grid["budget"].max()]
    else:
        largest = searched[searched["n_configs"] == searched["n_configs"].max()]
        yield from largest.groupby("budget")


def _matching(refits, n_configs):
    sizes = refits["n_configs"].unique()
    return n_configs if n_configs in sizes else max(sizes, default=n_configs)


def _refits(results, dataset, setting, algorithm, searches):
    """Runs of `cv`, refitted, of the same searches: of the algorithm itself, or else of one that
    differs in nothing but the inner folds, which `cv` doesn't have."""
    of = runs(results, dataset, setting)
    same = of["algorithm"].map(_untuned(results)).eq(_untuned(results)[algorithm])
    of = of[same & of["search"].isin(searches) & (of["tuning"] == "cv") & of["is_refit"]]
    own_first = of.iloc[np.argsort(of["algorithm"] != algorithm, kind="stable")]
    return own_first.drop_duplicates(["search", "n_configs", "budget", "seed"])


def _untuned(results):
    """Label of each algorithm without the parameters of its search."""
    return dict(tidy(results)[["algorithm", "untuned"]].drop_duplicates().to_numpy())


def _default_scores(results, dataset, setting, algorithm, rule):
    """True scores by seed of the default configuration on what `rule` trains on, or None."""
    of, untuned = runs(results, dataset, setting), _untuned(results)
    # Without a search, it doesn't matter which.
    of = of[of["algorithm"].map(untuned).eq(untuned[algorithm])]
    if rule in ("cv", "nested"):
        of = of[(of["tuning"] == "cv") & of["is_refit"] & (of["n_configs"] == 1)
                & (of["search"] == "grid")]
    else:
        of = of[of["tuning"] == "default"]
    return of.drop_duplicates("seed").set_index("seed")["score_bench"] if len(of) else None
