from benchopt import safe_import_context

from benchmark_utils.errors import InputError
from benchmark_utils.hub import HubData
from benchmark_utils.needs import need
from benchmark_utils.population import PopulationDataset
from benchmark_utils.texts import text_population

with safe_import_context() as import_ctx:
    need("datasets")

# Columns of the texts, and classes in the order of their codes.
TASKS = {
    "rte": (["sentence1", "sentence2"], ["entailment", "not_entailment"]),
    "mrpc": (["sentence1", "sentence2"], ["not_equivalent", "equivalent"]),
    "cola": (["sentence"], ["unacceptable", "acceptable"]),
    "sst2": (["sentence"], ["negative", "positive"]),
}


class Dataset(PopulationDataset):
    """Four tasks of GLUE: does the second text follow (rte), do both say the same (mrpc), is a
    sentence grammatical (cola), is a phrase of a review positive (sst2).

    The train and validation parts of nyu-mll/glue on the Hugging Face hub, pooled, as in "On
    Hyperparameter Tuning on the Test Set" (arXiv 2610.05902): labels of the test parts are
    withheld.
    """
    name = "glue"
    requirements = ["pip::datasets"]
    parameters = {
        # rte, mrpc, cola or sst2
        "task": ["rte"],
        # examples set aside as benchmarking set: sst2, with 68,221, has room for 60,000
        "n_bench": [0],
        # a branch, tag or commit on the hub
        "revision": ["main"],
    }
    # All tasks are prepared, ten megabytes, so that the download depends on `revision` alone.
    prepare_cache_ignore = ("task", "n_bench", "base_seed")

    def prepare(self):
        for task in TASKS:
            self._hub(task).download()

    def get_population(self):
        if self.task not in TASKS:
            raise InputError(f"task={self.task!r} is none of {', '.join(TASKS)}")
        columns, classes = TASKS[self.task]
        return text_population(
            f"GLUE {self.task}", self._hub(self.task), columns, classes, self.n_bench
        )

    def _hub(self, task):
        return HubData("glue", "nyu-mll/glue", ("train", "validation"), task, self.revision)

    def depends_on(self):
        return {"content": self._hub(self.task).version}
