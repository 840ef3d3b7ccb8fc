"""The summary table of a result file, in the terminal, as CSV or as LaTeX.

    python -m benchmark_utils.report [FILE] [--csv FILE] [--latex FILE]
"""
import argparse
import sys
from pathlib import Path

import pandas as pd
from benchopt.results import read_results

from benchmark_utils.analysis.summary import notes, table, tidy
from benchmark_utils.analysis.views import heading

OUTPUTS = Path(__file__).parents[1] / "outputs"
LATEX = {
    r"ρ\_δ": r"$\rho_\delta$", "ω": r"$\omega$", "≥": r"$\geq$", "–": "--", "−": "$-$",
}


def main(arguments=None):
    """Print the summary of a result file; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmark_utils.report",
        description="Print the summary table of a result file.",
    )
    parser.add_argument(
        "file", nargs="?", type=Path, help="result file; by default the newest in outputs/"
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
    results = read_results(path)

    tables = []
    for dataset, setting in _combinations(results):
        summary = table(results, dataset, setting)
        print(f"\n{heading(dataset, setting)}")
        for note in notes(results, dataset, setting):
            print(f"  {note}")
        print()
        print(summary.to_string(index=False, float_format=_number, na_rep=""))
        tables.append(summary.assign(dataset=dataset, setting=setting))
    combined = pd.concat(tables)
    first = ["dataset", "setting", "learner"]
    combined = combined[[*first, *(c for c in combined.columns if c not in first)]]
    if options.csv:
        combined.to_csv(options.csv, index=False)
        print(f"\nWritten to {options.csv}")
    if options.latex:
        options.latex.write_text(to_latex(combined), encoding="utf-8")
        print(f"\nWritten to {options.latex}")
    return 0


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
    return f"{value:.4g}"


if __name__ == "__main__":
    sys.exit(main())
