"""Advice on one's own table: are the splits enough, and which learner is better?

    python -m benchmark_utils.analysis.advise FILE --target COLUMN --task TASK -s SOLVER [-s …]

FILE is a CSV or parquet file, or one of scikit-learn's data sets or the number of one on OpenML.
All examples (or those of --train-size) are split K times; none are set aside.
"""
import argparse
import sys
from pathlib import Path

from benchopt.results import read_results
from benchopt.runner import run_benchmark

from benchmark_utils.analysis.report import print_tables
from benchmark_utils.errors import suggestion
from benchmark_utils.table_files import BUNDLED, openml_id

ROOT = Path(__file__).parents[2]
TABLES = ("advice", "comparisons")


def main(arguments=None):
    """Run the solvers on the table and print the advice; returns the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmark_utils.analysis.advise",
        description="Are the splits enough, and which learner is better?",
    )
    parser.add_argument("file", help=f"CSV or parquet file, or one of {', '.join(BUNDLED)}, "
                        "or a number on OpenML")
    parser.add_argument("--target", help="column to predict")
    parser.add_argument("--task", choices=["classification", "regression"])
    parser.add_argument("--group", help="column of what rows belong together by, as patients")
    parser.add_argument("--sep", help="of a text file; by default a comma")
    parser.add_argument("--decimal", default=".", help="decimal mark of a text file")
    parser.add_argument("--encoding", default="utf-8-sig", help="of a text file")
    parser.add_argument(
        "-s", "--solver", action="append", required=True, help="as in benchopt run; may be repeated"
    )
    parser.add_argument("--splits", type=int, default=20, help="K, by default 20")
    parser.add_argument("--test-size", type=float, default=0.2, help="share, by default 0.2")
    parser.add_argument("--val-size", type=float, default=0.0,
                        help="share for solvers with tuning=val, by default 0")
    parser.add_argument(
        "--train-size", type=int, help="training examples; by default all but the test share"
    )
    parser.add_argument("-j", "--jobs", type=int, default=1, help="number of processes")
    parser.add_argument("--output", default="advice", help="name of the result file and page")
    options = parser.parse_args(arguments)
    if Path(options.output).name != options.output:
        parser.error(f"--output={options.output} is not a plain name: results go to outputs/")

    path = Path(options.file).expanduser()
    is_named = options.file in BUNDLED or openml_id(options.file) is not None
    if not (path.suffix or is_named or path.exists()):
        parser.error(f"{options.file} is neither a file nor a data set of scikit-learn: "
                     f"{suggestion(options.file, BUNDLED)}")

    data = dict(target=options.target, task=options.task, group=options.group)
    if is_named and not path.is_file():
        data |= dict(dataset=options.file)
    else:
        data |= dict(
            path=str(path.resolve()), sep=options.sep,
            decimal=options.decimal, encoding=options.encoding,
        )
    try:
        output = run_benchmark(
            str(ROOT), dataset_names=[{"tabular": {**data, "bench_size": 0}}],
            objective_filters=[{"score trust": {
                "train_size": options.train_size or "max", "test_size": options.test_size,
                "val_size": options.val_size, "n_splits": options.splits,
            }}],
            solver_names=options.solver, n_repetitions=1, n_jobs=options.jobs,
            output_file=options.output, display=False,
        )
    except RuntimeError:
        # Benchopt raises where every run was skipped, and has said why.
        print("There is no result: the reason is above.", file=sys.stderr)
        return 1
    print_tables(read_results(output), TABLES)
    return 0


if __name__ == "__main__":
    sys.exit(main())
