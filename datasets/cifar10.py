from benchopt import safe_import_context

from benchmark_utils import cifar10_1
from benchmark_utils.errors import InputError
from benchmark_utils.hub import HubData
from benchmark_utils.images import ImageSource
from benchmark_utils.labels import read_labels
from benchmark_utils.needs import need
from benchmark_utils.population import PoolPopulation, PopulationDataset
from benchmark_utils.views import View

with safe_import_context() as import_ctx:
    need("datasets", "PIL")

CLASSES = [
    "airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck",
]
HUB = HubData("cifar10", "uoft-cs/cifar10", ("train", "test"), config="plain_text")


class Dataset(PopulationDataset):
    """CIFAR-10, training and test part joined, 60,000 images of 32 × 32 in ten classes: the pool
    of the experiment of "On Hyperparameter Tuning on the Test Set" (arXiv 2610.05902), to be used
    with ``procedure=bootstrap``.

    The benchmarking set is CIFAR-10.1, where its two files lie in the folder that Benchopt's
    configuration names for cifar10_1 in `data_paths`, by default data/cifar10_1; without them
    there is none.
    """
    name = "cifar10"
    requirements = ["pip::datasets", "pip::pillow"]
    parameters = {
        # instead of CIFAR-10.1, so many images of the pool; 0 for no benchmarking set
        "n_bench": [None],
        # how many images to begin with, the first ones; None for all
        "n_images": [None],
        # what to do about images that can't be read: refuse or drop
        "damaged": ["refuse"],
    }
    test_config = {"n_bench": 0}
    prepare_cache_ignore = ("n_bench", "n_images", "damaged", "base_seed")

    def prepare(self):
        HUB.download()
        cifar10_1.download()

    def get_population(self):
        n_bench, n_images = self.n_bench, self.n_images
        if n_bench is not None and (not isinstance(n_bench, int) or n_bench < 0):
            raise InputError(f"n_bench={n_bench!r} is neither None nor an integer ≥ 0")
        data = HUB.load(["img", "label"])
        if n_images is not None:
            if not isinstance(n_images, int) or not 2 <= n_images <= len(data):
                raise InputError(f"n_images={n_images!r} is neither None nor an integer from 2 to "
                                 f"{len(data)}")
            data = data.select(range(n_images))
        y, classes = read_labels(data, "label", CLASSES)
        source = ImageSource(data, "img", (32, 32), (HUB.version, n_images))
        rows = source.usable_rows(self.damaged)
        bench, bench_is = None, "no benchmarking set"
        if n_bench:
            bench_is = f"{n_bench:,} of them as benchmarking set"
        elif n_bench is None and cifar10_1.is_present():
            bench, bench_is = cifar10_1.load(), "CIFAR-10.1 as benchmarking set"
        elif n_bench is None:
            bench_is = "no benchmarking set: CIFAR-10.1 isn't in the folder cifar10_1 of data_paths"
        n_left_out = len(data) - len(rows)
        left_out = f", {n_left_out:,} damaged ones left out" if n_left_out else ""
        return PoolPopulation(
            View(source, rows), y[rows], "classification", n_bench or 0,
            f"CIFAR-10, {len(rows):,} images{left_out}, {bench_is}", classes=classes, bench=bench,
        )

    def depends_on(self):
        return {"hub": HUB.version, "cifar10_1": cifar10_1.version()}
