"""Texts as the numbers of their tokens, made once per tokenizer and kept on disk."""
import hashlib
import os
import shutil

import numpy as np
from filelock import FileLock

AT_A_TIME = 10_000  # texts in memory


class Tokens:
    """The tokens of all texts of a source.

    Parameters
    ----------
    source : TextSource
    tokenizer : fast tokenizer of transformers
    max_length : int, tokens of a text or pair, of which longer ones lose their end
    key : str, stands for the tokenizer
    folder : Path or None
        Where to keep them; None: in memory.

    Attributes
    ----------
    lengths : integer array of shape (len(source),)
    n_truncated : int, texts that lost their end
    """

    def __init__(self, source, tokenizer, max_length, key, folder=None):
        self._pad_id, self._pad_type = tokenizer.pad_token_id, tokenizer.pad_token_type_id
        self.max_length, self._is_left = max_length, tokenizer.padding_side == "left"
        arrays = _kept(folder, (source.key, key, max_length),
                       lambda: _tokenise(source, tokenizer, max_length))
        self._ids, self._types, self.lengths, is_truncated = arrays
        self._ends = np.cumsum(self.lengths)
        self.n_truncated = int(is_truncated.sum())

    def padded(self, rows):
        """Texts side by side, padded to the longest of them.

        Returns
        -------
        dict with input_ids, attention_mask and token_type_ids, integer arrays of shape
            (len(rows), tokens of the longest)
        """
        lengths = self.lengths[rows][:, None]
        place = np.arange(lengths.max())
        is_token = place >= len(place) - lengths if self._is_left else place < lengths
        parts = [slice(end - n, end)
                 for end, n in zip(self._ends[rows], self.lengths[rows], strict=True)]
        made = {"attention_mask": is_token.astype(np.int64)}
        for name, values, padding in (
            ("input_ids", self._ids, self._pad_id), ("token_type_ids", self._types, self._pad_type),
        ):
            made[name] = np.full(is_token.shape, padding, np.int64)
            made[name][is_token] = np.concatenate([values[part] for part in parts])
        return made


def longest_of_each(source, tokenizer, key, folder=None):
    """Tokens of each text of a source, of a pair its longer text's, special ones included.

    Parameters
    ----------
    source, tokenizer, key, folder : see `Tokens`

    Returns
    -------
    integer array of shape (len(source),)
    """
    def count():
        encode = tokenizer.backend_tokenizer
        encode.no_padding()
        encode.no_truncation()
        lengths = []
        for start in range(0, len(source), AT_A_TIME):
            texts = source.read(np.arange(start, min(start + AT_A_TIME, len(source))))
            sides = zip(*texts, strict=True) if source.is_pair else [texts]
            lengths.append(np.max([
                [len(tokens) for tokens in encode.encode_batch_fast(list(side))] for side in sides
            ], axis=0))
        return [np.concatenate(lengths)]

    (lengths,) = _kept(folder, (source.key, key, "longest"), count)
    return lengths


def truncation(n_truncated, n_texts, max_length):
    """What results say of texts that are too long."""
    return (f"{n_truncated:,} of {n_texts:,} texts are longer than {max_length} tokens and lose "
            "their end")


def _tokenise(source, tokenizer, max_length):
    """Ids and types of all tokens, and each text's number of them and whether it lost its end."""
    encode = tokenizer.backend_tokenizer
    encode.no_padding()
    ids, types, lengths, is_truncated = [], [], [], []
    for start in range(0, len(source), AT_A_TIME):
        texts = source.read(np.arange(start, min(start + AT_A_TIME, len(source))))
        encode.no_truncation()
        tokens = encode.encode_batch_fast(texts)
        too_long = [i for i, of_text in enumerate(tokens) if len(of_text) > max_length]
        encode.enable_truncation(max_length)
        for i in too_long:
            tokens[i] = encode.encode_batch_fast(texts[i:i + 1])[0]
        ids += [np.array(of_text.ids, np.int32) for of_text in tokens]
        types += [np.array(of_text.type_ids, np.int8) for of_text in tokens]
        lengths += [len(of_text) for of_text in tokens]
        is_truncated.append(np.isin(np.arange(len(texts)), too_long))
    return (np.concatenate(ids), np.concatenate(types), np.array(lengths),
            np.concatenate(is_truncated))


def _kept(folder, key, make):
    """Arrays that are made once, by one process, and read by all."""
    if folder is None:
        return make()
    path = folder / hashlib.sha256(repr(key).encode()).hexdigest()[:32]
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(path.with_suffix(".lock")):
        if not path.exists():
            temporary = path.with_suffix(f".{os.getpid()}")
            shutil.rmtree(temporary, ignore_errors=True)
            temporary.mkdir()
            for i, array in enumerate(make()):
                np.save(temporary / f"{i}.npy", array)
            temporary.rename(path)
    n_arrays = len(list(path.glob("*.npy")))
    return [np.load(path / f"{i}.npy", mmap_mode="r") for i in range(n_arrays)]
