from pathlib import Path

import pytest
import yaml
from benchopt.benchmark import _list_parametrized_classes
from benchopt.cli.main import run as run_command
from benchopt.parallel_backends import DISTRIBUTED_BACKENDS
from benchopt.utils.run_context import RunContext

from benchmark_utils.analysis.searches import optimism_table

ROOT = Path(__file__).parents[1]
CONFIGS = sorted((ROOT / "configs").glob("*.yml"))
BACKENDS = sorted((ROOT / "configs" / "backends").glob("*.yml"))
#: data sets that are generated or come with scikit-learn
OFFLINE = {"simulated", "gaussian"}
BUNDLED = {"breast_cancer", "digits", "wine", "diabetes"}
#: best cross-validated, true and nested accuracy by the number of cells, as published
OPTIMISM = {
    "signal": {1: (0.646, 0.659, 0.653), 4: (0.628, 0.648, 0.633)},
    "noise": {1: (0.519, 0.501, 0.524), 4: (0.552, 0.500, 0.529)},
}
every_config = pytest.mark.parametrize("path", CONFIGS, ids=lambda path: path.stem)


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def as_list(value):
    return value if isinstance(value, list) else [value]


def test_there_are_some():
    assert {"quick"} <= {path.stem for path in CONFIGS}


@every_config
class TestConfig:
    def test_options_are_those_of_benchopt_run(self, path):
        known = {parameter.name for parameter in run_command.params}
        config = read(path)
        assert {name.replace("-", "_") for name in config} <= known
        assert isinstance(config.get("n-repetitions", 1), int) and config.get("n-jobs", 1) >= 1

    def test_says_what_it_is_for(self, path):
        assert path.read_text(encoding="utf-8").startswith("# ")

    @pytest.mark.filterwarnings("error::UserWarning")
    def test_patterns_are_accepted(self, benchmark, path):
        # They raise for an unknown name or parameter, and warn of a value that may be a mistake.
        config = read(path)
        assert benchmark.check_dataset_patterns(as_list(config["dataset"]))
        assert benchmark.check_solver_patterns(as_list(config["solver"]))
        assert benchmark.check_objective_filters(as_list(config["objective"]))

    def test_every_solver_and_objective_can_be_made(self, benchmark, path):
        config = read(path)
        solvers = benchmark.check_solver_patterns(as_list(config["solver"]))
        objectives = benchmark.check_objective_filters(as_list(config["objective"]))
        made = [
            *_list_parametrized_classes(*solvers),
            *_list_parametrized_classes(*objectives, check_installed=False),
        ]
        assert len({str(instance) for instance, _ in made}) == len(made) >= 2

    def test_runs_of_offline_data_are_not_skipped(self, benchmark, path):
        """Population, sizes, splits and tuning rule go together, for each combination."""
        config = read(path)
        datasets = benchmark.check_dataset_patterns(as_list(config["dataset"]))
        n_offline = 0
        for dataset, _ in _list_parametrized_classes(*datasets):
            if not (dataset.name in OFFLINE or getattr(dataset, "dataset", None) in BUNDLED):
                continue
            n_offline += 1
            data = dataset.get_data()
            assert data["problem"] is None
            objectives = benchmark.check_objective_filters(as_list(config["objective"]))
            for objective, _ in _list_parametrized_classes(*objectives, check_installed=False):
                assert objective.skip(**data) == (False, None)
                self.check_solvers(benchmark, config, dataset, objective)
        assert n_offline or path.stem not in ("quick", "tuning_optimism", "sample_gain_simulated")

    def check_solvers(self, benchmark, config, dataset, objective):
        RunContext().set_run_context(objective, dataset, "any", repetition=0, base_seed=0)
        objective._set_dataset(dataset)
        described = objective.get_objective()
        solvers = benchmark.check_solver_patterns(as_list(config["solver"]))
        for solver, _ in _list_parametrized_classes(*solvers):
            skip, reason = solver.skip(**described)
            assert not skip, f"{solver}: {reason}"


@pytest.mark.parametrize("path", BACKENDS, ids=lambda path: path.stem)
def test_back_end(path):
    config = read(path)
    assert config["backend"] in DISTRIBUTED_BACKENDS
    # Its options are prefixed with its name: dask_…, slurm_….
    prefix = {"dask": "dask_", "submitit": "slurm_"}.get(config["backend"], "")
    assert all(name == "backend" or name.startswith(prefix) for name in config)


@pytest.mark.slow
def test_published_optimism(run):
    """`tuning_optimism`, without its larger grids, which take half an hour."""
    svm = "svm[C=1.0,gamma=0.1,search=grid,tuning=[cv,nested],n_configs=[1,4]]"
    results, printed = run(
        "--config", ROOT / "configs" / "tuning_optimism.yml", "-s", svm, timeout=1500,
    )
    assert results is not None, printed
    for labels, published in OPTIMISM.items():
        table = optimism_table(results, f"gaussian (labels={labels})", "as configured")
        assert table["runs"].eq(20).all()
        measured = table.set_index(["rule", "configurations"])
        for n_cells, (best, true, nested) in published.items():
            assert measured.loc[("cv", n_cells), "reported"] == pytest.approx(best, abs=0.004)
            assert measured.loc[("cv", n_cells), "true"] == pytest.approx(true, abs=0.004)
            # Its folds are shuffled by other seeds than the published ones.
            assert measured.loc[("nested", n_cells), "reported"] == pytest.approx(
                nested, abs=0.015)
