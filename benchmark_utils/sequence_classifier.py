"""Checkpoints of transformers for the classification of texts, with fresh heads."""
import copy
import math
from contextlib import contextmanager
from functools import lru_cache
from inspect import signature

import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer
from transformers.utils import logging

from benchmark_utils.batched_training import random_numbers
from benchmark_utils.errors import InputError

#: kinds of models whose activations are too large for half precision
UNSAFE_IN_HALF_PRECISION = ("mobilebert",)


@lru_cache(8)
def load_tokenizer(folder):
    """The fast tokenizer of a checkpoint.

    Raises
    ------
    InputError
        Where there is none.
    """
    try:
        tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    except Exception as error:
        raise InputError(
            f"the tokenizer of {folder} can't be loaded ({error}): save one there by its "
            "save_pretrained; one that is kept as a SentencePiece model needs `pip install "
            "sentencepiece protobuf`"
        ) from error
    if not tokenizer.is_fast:
        raise InputError(
            f"{folder} has no fast tokenizer ({type(tokenizer).__name__} is written in Python): "
            "use a checkpoint with a tokenizer.json"
        )
    if len(tokenizer) <= len(tokenizer.all_special_ids):
        # What transformers makes of a folder without a tokenizer's files.
        raise InputError(f"{folder} has no tokenizer: save one there by its save_pretrained")
    if tokenizer.pad_token_id is None:
        raise InputError(f"the tokenizer of {folder} has no padding token, which batches need")
    return tokenizer


class Classifier:
    """A pretrained model, loaded once, and how to make classifiers of it.

    Parameters
    ----------
    folder : Path, of a checkpoint
    n_classes : int
    device : str

    Attributes
    ----------
    is_safe_in_half_precision : bool
    max_length : int or infinity, the most tokens of one text that the model has positions for
    """

    def __init__(self, folder, n_classes, device):
        with _quiet(), random_numbers(0, "cpu"):
            # In single precision, whatever the weights were saved in, and without the compiled
            # kernels of the hub, which differ between machines and days.
            model, found = AutoModelForSequenceClassification.from_pretrained(
                folder, num_labels=n_classes, dtype=torch.float32, local_files_only=True,
                ignore_mismatched_sizes=True, output_loading_info=True, use_kernels=False,
            )
        base = f"{model.base_model_prefix}."
        self._fresh = {
            name for name, _ in model.named_parameters()
            if name in found["missing_keys"] or not name.startswith(base)
        }
        self._model, self._device = model.to(device), device
        self._inputs = signature(model.forward).parameters
        self.is_safe_in_half_precision = model.config.model_type not in UNSAFE_IN_HALF_PRECISION
        self.max_length = _n_positions(model.config)

    def fresh(self, seed):
        """A model with the pretrained weights, and a head that is drawn by the seed; its `logits`
        have the shape (batch, n_classes)."""
        model = copy.deepcopy(self._model)
        with random_numbers(seed, self._device):
            for name, part in model.named_modules():
                own = {f"{name}.{own}" for own, _ in part.named_parameters(recurse=False)}
                if own and own <= self._fresh:
                    model._init_weights(part)
        return model

    def inputs(self, arrays):
        """Tensors of those of a batch's arrays that the model has a use for."""
        return {
            name: torch.from_numpy(array) for name, array in arrays.items() if name in self._inputs
        }


def _n_positions(config):
    n = getattr(config, "max_position_embeddings", -1)
    if n <= 0:
        return math.inf
    # RoBERTa and its kin count positions from behind that of the padding.
    return n - config.pad_token_id - 1 if "roberta" in config.model_type else n


@contextmanager
def _quiet():
    """Without a progress bar, and the report that the head is missing, as it should be."""
    verbosity = logging.get_verbosity()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        logging.enable_progress_bar()
