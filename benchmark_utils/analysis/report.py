"""The tables of a result file, in the terminal, as CSV or as LaTeX.

    python -m benchmark_utils.analysis.report [FILE] [--table NAME] [--csv FILE] [--latex FILE]
"""
import argparse
import os
import sys
from pathlib import Path

import pandas as pd
from benchopt.results import read_results

from benchmark_utils.analysis.advice import advice_notes, advice_table
from benchmark_utils.analysis.comparison import comparison_notes, comparison_table
from benchmark_utils.analysis.frames import digits
from benchmark_utils.analysis.redundancy_table import redundancy_table
from benchmark_utils.analysis.searches import (
    optimism_table,
    ranking_notes,
    ranking_table,
    winners_table,
)
from benchmark_utils.analysis.summary import notes, table, tidy
from benchmark_utils.analysis.triage import triage_notes, triage_table
from benchmark_utils.analysis.views import heading

#: name -> (function that makes it, function that makes the lines above it)
TABLES = {
    "summary": (table, lambda *_: []),
    "ranking": (ranking_table, lambda *of: [
        "Ranking under both tuning rules", *(f"  {note}" for note in ranking_notes(*of)),
    ]),
    "optimism": (optimism_table, lambda *_: [
        "What each rule reports, the truth, and what tuning bought",
    ]),
    "winners": (winners_table, lambda *_: [
        "Where the winning configurations lie in their ranges (0 … 1)",
    ]),
    "comparisons": (comparison_table, lambda *of: [
        "Paired comparisons of learners", *(f"  {note}" for note in comparison_notes(*of)),
    ]),
    "advice": (advice_table, lambda *of: [
        "Advice from the study sets alone", *(f"  {note}" for note in advice_notes(*of)),
    ]),
    "redundancy": (redundancy_table, lambda *_: [
        "Redundancy of the splits by metric, from the study sets alone",
    ]),
}
#: the same of tables of all data sets and settings together
OVERALL = {
    "triage": (triage_table, lambda results: [
        "What early redundancy says of the gain", *(f"  {note}" for note in triage_notes(results)),
    ]),
}
#: why a table may be missing, where nothing else says it
NEEDS = {
    "summary": "no run has a result",
    "ranking": "it needs runs of one algorithm with tuning=val and tuning=test",
    "optimism": "it needs a search, that is tuning other than default, and a benchmarking set",
    "winners": "it needs a search, that is tuning other than default",
    "comparisons": "no run has a result",
    "advice": "every split of every learner failed",
    "redundancy": "it needs two or more successful splits",
    "triage": "it needs three runs or more of 20 splits or more, several seeds, and a benchmarking "
              "set",
}
#: what is printed unasked
USUAL = ("summary", "ranking", "optimism", "winners")
OUTPUTS = Path(__file__).parents[2] / "outputs"
LATEX = {
    r"ρ\_δ": r"$\rho_\delta$", "ω": r"$\omega$", "Ĝ": r"$\hat{G}$", "≥": r"$\geq$",
    "–": "--", "−": "$-$",
}


def main(arguments=None):
    """Print the summary of a result file; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmark_utils.analysis.report",
        description="Print the tables of a result file.",
    )
    parser.add_argument(
        "file", nargs="?", type=Path, help="result file; by default the newest in outputs/"
    )
    parser.add_argument(
        "--table", choices=[*TABLES, *OVERALL], default="summary",
        help="the table for --csv and --latex; also printed",
    )
    parser.add_argument("--csv", type=Path, help="also write the table as CSV")
    parser.add_argument("--latex", type=Path, help="also write the table as LaTeX")
    options = parser.parse_args(arguments)

    path = options.file or _newest()
    if path is None:
        print(f"No result file in {OUTPUTS}: run the benchmark first, or name a file.",
              file=sys.stderr)
        return 1
    if not path.is_file():
        print(f"There is no result file {path}.", file=sys.stderr)
        return 1
    if path.suffix != ".parquet":
        print(f"{path} is not one of Benchopt's parquet files.", file=sys.stderr)
        return 1
    try:
        results = read_results(path)
    except (OSError, ValueError) as error:
        print(f"{path} can't be read: {error}", file=sys.stderr)
        return 1
    if not {"objective_split", "solver_name"} <= set(results):
        print(f"{path} holds no results of this benchmark.", file=sys.stderr)
        return 1
    if options.file is None:
        print(f"The newest results: {path}")

    chosen = print_tables(results, dict.fromkeys([*USUAL, options.table]))[options.table]
    if not chosen and (options.csv or options.latex):
        says = TABLES[options.table][1] if options.table in TABLES else lambda *_: []
        reasons = {
            reason.strip() for of in _combinations(results) for reason in says(results, *of)[1:]
        } or {NEEDS[options.table]}
        print(f"These results have no table {options.table}: {'; '.join(sorted(reasons))}",
              file=sys.stderr)
        return 1
    combined = pd.concat(chosen) if chosen else None
    if chosen:
        first = [name for name in ("dataset", "setting") if name in combined]
        combined = combined[[*first, *(c for c in combined.columns if c not in first)]]
    for written, text in ((options.csv, lambda table: table.to_csv(index=False)),
                          (options.latex, to_latex)):
        if written is None:
            continue
        try:
            written.write_text(text(combined), encoding="utf-8")
        except OSError as error:
            print(f"\n{written} can't be written: {error.strerror}", file=sys.stderr)
            return 1
        print(f"\nWritten to {written}")
    return 0


def print_tables(results, names):
    """Print the tables of these names, of each data set and setting where they are made so, with
    what must be known.

    Returns
    -------
    dict, name -> list of those tables that have rows, with data set and setting
    """
    printed = {name: [] for name in names}
    for dataset, setting in _combinations(results):
        print(f"\n{heading(dataset, setting)}")
        for note in notes(results, dataset, setting):
            print(f"  {note}")
        for name in (name for name in names if name in TABLES):
            made = _print(*TABLES[name], results, dataset, setting)
            if not made.empty:
                printed[name].append(made.assign(dataset=dataset, setting=setting))
    for name in (name for name in names if name in OVERALL):
        made = _print(*OVERALL[name], results)
        if not made.empty:
            printed[name].append(made)
    return printed


def _print(make, says, *of):
    made, lines = make(*of), says(*of)
    # Below the heading of a table that is missing may stand why.
    if not made.empty or len(lines) > 1:
        print("\n".join(["", *lines]))
    if not made.empty:
        print(made.to_string(index=False, float_format=_number, na_rep=""))
    return made


def to_latex(summary):
    """A summary table as a LaTeX tabular that needs no package."""
    text = summary.to_latex(index=False, escape=True, float_format=_number, na_rep="")
    for symbol, command in LATEX.items():
        text = text.replace(symbol, command)
    for rule, line in {"toprule": "hline", "midrule": "hline", "bottomrule": "hline"}.items():
        text = text.replace(f"\\{rule}", f"\\{line}")
    return text


def _combinations(results):
    pairs = tidy(results)[["dataset", "setting"]].drop_duplicates()
    return list(pairs.itertuples(index=False, name=None))


def _newest():
    files = sorted(OUTPUTS.glob("*.parquet"), key=lambda path: path.stat().st_mtime)
    return files[-1] if files else None


def _number(value):
    return digits(value, 4)


if __name__ == "__main__":
    try:
        code = main()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, such as head, has seen enough; Python writes what is left when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)
