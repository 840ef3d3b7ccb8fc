"""Advice to someone with one study set: whether more splits pay off, and which learner is better.

Nothing here needs a benchmarking set or more than one seed; with several seeds, each figure is the
median over them: what a typical study set says.
"""
import math

import numpy as np
import pandas as pd

from benchmark_utils.analysis.comparison import (
    comparisons,
    corrected_resampled_ttest,
    test_to_train_ratio,
)
from benchmark_utils.analysis.frames import by_learner, digits, score_matrix
from benchmark_utils.analysis.summary import final_rows, splits_made
from benchmark_utils.redundancy import predicted_gain

#: going on pays off while it promises to multiply the gain by more than that
WORTHWHILE = 1.2
FEW, MANY = 20, 200
#: tuning rules that choose by the test scores which they report
CHOSEN_BY_SCORE = ("test", "cv", "memorise")
EARLY = (3, 5)


def splits_worth_making(redundancy, test_fraction, procedure="mccv"):
    """The smallest K from which going on to 200 splits multiplies the predicted gain by ≤ 1.2.

    Returns
    -------
    int, or None where the redundancy is NaN
    """
    if math.isnan(redundancy):
        return None
    gain = predicted_gain(redundancy, np.arange(1, MANY + 1), test_fraction, procedure)
    return 1 + int(np.argmax(gain[-1] <= WORTHWHILE * gain))


def advice_table(results, dataset, setting):
    """One row per learner.

    Parameters
    ----------
    results : DataFrame, as Benchopt saves it
    dataset, setting : labels, see `frames.labels`

    Returns
    -------
    DataFrame
        Mean test score and its 95 % interval, by the corrected resampled t-test's variance
        (1/K + n_test/n_train)·s², which allows for splits that share examples; whether to go
        on, to the number of splits from which going further promises little; redundancy ω
        after the first splits and after all; Ĝ, the gain that it predicts for 20 and 200 splits.
    """
    rows = final_rows(results, dataset, setting)
    table_rows = []
    for learner, part in by_learner(rows):
        ok = part[part["status"] == "ok"]
        if ok.empty:
            continue
        first = part.iloc[0]
        K = part.groupby("seed").size().min()
        fraction = part["n_test"].mean() / first["n_study"]
        tests = [
            corrected_resampled_ttest(scores, np.zeros(len(scores)), test_to_train_ratio(part))
            for scores in score_matrix(part, "score_test")
        ]
        low, high = (pd.Series([getattr(test, end) for test in tests]).median()
                     for end in ("low", "high"))
        omega = part.groupby("split")["redundancy"].median()
        last = ok.sort_values("split").groupby("seed")["redundancy"].last().median()
        enough = splits_worth_making(last, fraction, first["procedure"])
        table_rows.append({
            "learner": learner,
            "score": np.nanmedian([test.mean_difference for test in tests]),
            "95 %": "" if math.isnan(low) else f"[{digits(low)}, {digits(high)}]",
            "go on": "" if enough is None else "no" if enough <= K else f"to {enough} splits",
            **{f"ω_{k}": omega.get(k - 1, math.nan) for k in EARLY},
            f"ω_{splits_made(rows)}": last,
            **{f"Ĝ_{n}": predicted_gain(last, n, fraction, first["procedure"])
               for n in (FEW, MANY)},
        })
    return pd.DataFrame(table_rows)


def advice_notes(results, dataset, setting):
    """Which scores to distrust, and whether the leading learner of each tuning rule is better than
    each other under that rule, as far as it can be told.

    Returns
    -------
    list of str, one sentence per other learner after those on scores
    """
    said, scores = [], advice_table(results, dataset, setting)
    if scores.empty:
        return said
    rows = final_rows(results, dataset, setting)
    rule = scores["learner"].map(rows.drop_duplicates("learner").set_index("learner")["tuning"])
    if (chosen := [name for name in CHOSEN_BY_SCORE if name in rule.array]):
        said.append(
            f"Scores under tuning={' and '.join(chosen)} are those that configurations were chosen "
            "by: they and their intervals lie too high."
        )
    leaders = set(scores.loc[scores.groupby(rule)["score"].idxmax(), "learner"])
    for (a, b), pair in comparisons(results, dataset, setting).items():
        if not leaders & {a, b}:
            continue
        if math.isnan(pair.p):
            said.append(f"{a} and {b} " + (
                "can't be compared from one split." if rows["split"].nunique() < 2
                else "have no split in common: no test." if not pair.n_splits
                else "were compared on one partition only: no test."
                if math.isnan(test_to_train_ratio(rows))
                else "have equal scores: no test."
                if pair.outperforms.low == pair.outperforms.high == 0.5
                else "differ by the same on each split"
                + (" in half of the seeds or more" if rows["seed"].nunique() > 1 else "")
                + f", on average by {digits(abs(pair.mean_difference))}: no variation to test it "
                "by."
            ))
            continue
        difference, mean = pair.typical_difference, pair.mean_difference
        low, high = pair.low, pair.high
        if difference < 0:
            a, b, difference, low, high, mean = b, a, -difference, -high, -low, -mean
        wins = max(pair.outperforms.value, 1 - pair.outperforms.value)
        text = f"by {digits(difference)} [{digits(low)}, {digits(high)}]"
        if difference == 0:
            text = f"{a} and {b} have equal mean scores [{digits(low)}, {digits(high)}]"
            if mean:
                text += (f" in a typical study set, but over all seeds {a if mean > 0 else b} has "
                         f"the higher mean, by {digits(abs(mean))}")
        elif pair.p < 0.05:
            text = f"{a} is better than {b} {text}, p = {pair.p:.2g}"
        elif math.isinf(pair.splits_needed):
            text = (f"{a} leads {b} {text}, which is not resolved, and no number of splits would "
                    "resolve it: it takes more data")
        else:
            text = (f"{a} leads {b} {text}, which is not resolved: it would take about "
                    f"{math.ceil(pair.splits_needed)} splits")
        if mean < 0 < difference:
            text += (f"; but over all seeds {b} has the higher mean, by {digits(-mean)}, as "
                     f"{a} fails badly on a few")
        elif pair.opposed and difference:
            text += f"; but {b} wins {wins:.0%} of the splits, ties counting half"
            if pair.outperforms.low >= 0.5 or pair.outperforms.high <= 0.5:
                text += f", so {a}'s lead rests on a few in which {b} fails badly"
        said.append(text + ".")
    return said
