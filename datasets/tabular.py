from benchopt import safe_import_context

from benchmark_utils.fingerprint import file_fingerprint
from benchmark_utils.needs import need
from benchmark_utils.population import PopulationDataset
from benchmark_utils.table_files import openml_id, read_openml
from benchmark_utils.tables import load_population

with safe_import_context() as import_ctx:
    need("pandas")


class Dataset(PopulationDataset):
    """Real data: a bundled or OpenML data set, or the user's own table.

    What the table was taken for is in the column `data` of the results. On the
    command line, put every value but numbers and plain words in single quotes:

        -d "tabular[path='./my data/x.csv',target='born in',task=classification,sep=';']"
    """
    name = "tabular"
    requirements = ["pip::scikit-learn", "pip::pandas", "pip::pyarrow"]
    parameters = {
        # breast_cancer, digits, wine, diabetes, or an OpenML number: 31 or 'openml:31'
        "dataset": ["breast_cancer"],
        # of a .csv, .tsv, .txt, .parquet or .pq file; takes precedence over dataset
        "path": [None],
        # the target's column, and classification or regression: to be stated with a path;
        # task also with OpenML
        "target": [None],
        "task": [None],
        # a column whose equal values mark rows that belong together (a patient, a site)
        "group": [None],
        # of text files; sep None: a tab in .tsv, a comma otherwise
        "sep": [None],
        "decimal": ["."],
        "encoding": ["utf-8-sig"],
        # a number of examples, a fraction, or auto: 60 % if that is at least 1,000 examples
        "bench_size": ["auto"],
    }
    # Only downloads are prepared, and they depend on `dataset` alone.
    prepare_cache_ignore = (
        "path", "target", "task", "group", "sep", "decimal", "encoding", "bench_size", "base_seed",
    )

    def prepare(self):
        data_id = openml_id(self.dataset)
        if data_id is not None:
            read_openml(data_id, n_retries=3)

    def get_population(self):
        return load_population(
            self.dataset, self._path, self._content, self.target, self.task, self.sep,
            self.decimal, self.encoding, self.bench_size, self.group,
        )

    @property
    def _path(self):
        # The command line turns an unquoted 2024 into a number.
        return None if self.path is None else str(self.path)

    @property
    def _content(self):
        return None if self.path is None else file_fingerprint(self._path)

    def depends_on(self):
        return {"content": self._content}
