"""TF-IDF weights of texts whose words are counted once, whatever the number of training parts."""
from functools import lru_cache

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.feature_extraction.text import HashingVectorizer, TfidfTransformer

# Terms are told by a hash of 31 bits, so that no vocabulary of a large source is in memory: of a
# million terms, one in two thousand shares its hash with another.
N_HASHES = 2**31 - 1
AT_A_TIME = 10_000  # texts in memory
N_KEPT = 4  # tables of counts


class Tfidf(TransformerMixin, BaseEstimator):
    """What scikit-learn's TfidfVectorizer makes of texts, from a View of them.

    The two texts of a pair are joined to one.

    Parameters
    ----------
    ngrams : int, of how many neighbouring words a term is made at most
    sublinear : bool, whether 1 + log(frequency) counts instead of a term's frequency in a text
    """

    def __init__(self, ngrams, sublinear=False):
        self.ngrams, self.sublinear = ngrams, sublinear

    def fit(self, X, y=None):
        counts = _counts(X.source, self.ngrams)[X.rows]
        self._terms = np.unique(counts.indices)
        self._weights = TfidfTransformer(sublinear_tf=self.sublinear).fit(counts[:, self._terms])
        return self

    def transform(self, X):
        counts = _counts(X.source, self.ngrams)[X.rows]
        return self._weights.transform(counts[:, self._terms].astype(float))


@lru_cache(N_KEPT)
def _counts(source, ngrams):
    """How often each term is in each text of a source: sparse, of shape (len(source), n_terms)."""
    count = HashingVectorizer(
        n_features=N_HASHES, ngram_range=(1, ngrams), alternate_sign=False, norm=None,
        dtype=np.float32,
    )
    parts = []
    for start in range(0, len(source), AT_A_TIME):
        texts = source.read(np.arange(start, min(start + AT_A_TIME, len(source))))
        parts.append(count.transform([" ".join(text) for text in texts]
                                     if source.is_pair else texts))
    counts = sparse.vstack(parts, format="csr")
    terms, indices = np.unique(counts.indices, return_inverse=True)
    return sparse.csr_array(
        (counts.data, indices.astype(np.int32), counts.indptr), (len(source), len(terms))
    )
