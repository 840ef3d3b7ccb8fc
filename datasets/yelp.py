from benchopt import safe_import_context

from benchmark_utils.hub import HubData
from benchmark_utils.needs import need
from benchmark_utils.population import PopulationDataset
from benchmark_utils.texts import text_population

with safe_import_context() as import_ctx:
    need("datasets")

CLASSES = ["1 star", "2 star", "3 stars", "4 stars", "5 stars"]


class Dataset(PopulationDataset):
    """Yelp Review Full: reviews and the stars they give, from one to five.

    The train part of Yelp/yelp_review_full on the Hugging Face hub, 650,000 reviews, of which
    600,000 are the benchmarking set of "Crossing the Validation Crisis" (arXiv 2606.12552).
    """
    name = "yelp"
    requirements = ["pip::datasets"]
    parameters = {
        # reviews set aside as benchmarking set, and how many of them are used, None for all: fewer
        # cost less to predict, and leave study and outer sets as they are
        "n_bench": [600_000],
        "max_bench": [None],
        # a branch, tag or commit on the hub
        "revision": ["main"],
    }
    # The download depends on `revision` alone.
    prepare_cache_ignore = ("n_bench", "max_bench", "base_seed")

    def prepare(self):
        self._hub().download()

    def get_population(self):
        return text_population(
            "Yelp Review Full", self._hub(), ["text"], CLASSES, self.n_bench, self.max_bench
        )

    def _hub(self):
        return HubData(
            "yelp", "Yelp/yelp_review_full", ("train",), "yelp_review_full", self.revision
        )

    def depends_on(self):
        return {"content": self._hub().version}
