from benchopt import safe_import_context

from benchmark_utils.errors import InputError, check_boolean
from benchmark_utils.hub import HubData
from benchmark_utils.images import ImageSource
from benchmark_utils.labels import read_labels
from benchmark_utils.needs import need
from benchmark_utils.population import PoolPopulation, PopulationDataset
from benchmark_utils.views import View

with safe_import_context() as import_ctx:
    need("datasets", "PIL")

# As the hub calls the second part, and as copies do.
VALIDATION = ("valid", "validation", "val")


class Dataset(PopulationDataset):
    """PatchCamelyon: 294,912 microscope images of lymph nodes, 96 × 96, with or without metastasis.

    The train and valid parts of 1aurent/PatchCamelyon on the Hugging Face hub, joined, as in
    "Crossing the Validation Crisis" (arXiv 2606.12552). Grey images are taken as RGB, transparency
    is ignored.
    """
    name = "pcam"
    requirements = ["pip::datasets", "pip::pillow"]
    parameters = {
        # images set aside as benchmarking set, and how many of them are used, None for all: fewer
        # cost less to predict, and leave study and outer sets as they are
        "n_bench": [244_912],
        "max_bench": [None],
        # image files that can't be read: refuse, or drop
        "damaged": ["refuse"],
        # whether images of another size are resized
        "resize": [False],
        # a branch, tag or commit on the hub
        "revision": ["main"],
    }
    # The download depends on `revision` alone.
    prepare_cache_ignore = ("n_bench", "max_bench", "damaged", "resize", "base_seed")

    def prepare(self):
        self._hub().download()

    def get_population(self):
        check_boolean("resize", self.resize)
        hub = self._hub()
        examples = hub.load(["image", "label"])
        source = ImageSource(examples, "image", (96, 96), hub.version, self.resize)
        y, classes = read_labels(examples, "label", ["normal", "metastasis"])
        rows = source.usable_rows(self.damaged)
        n_dropped = len(y) - len(rows)
        if not isinstance(self.n_bench, int) or not 0 <= self.n_bench < len(rows):
            raise InputError(
                f"n_bench={self.n_bench!r} images can't be set aside from {len(rows):,}: give a "
                f"smaller number, such as n_bench={len(rows) * 2 // 3}, or the whole data set"
            )
        return PoolPopulation(
            View(source, rows), y[rows], "classification", self.n_bench,
            f"PatchCamelyon, {len(rows):,} images of 96 × 96"
            + (f", {n_dropped:,} damaged left out" if n_dropped else ""),
            classes=classes, max_bench=self.max_bench,
        )

    def _hub(self):
        copies = [
            HubData("pcam", "1aurent/PatchCamelyon", ("train", part), revision=self.revision)
            for part in VALIDATION
        ]
        return next((copy for copy in copies if copy.version is not None), copies[0])

    def depends_on(self):
        return {"content": self._hub().version}
