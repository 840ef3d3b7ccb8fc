"""Base class of solvers that fine-tune a transformer on texts.

It can be imported without PyTorch and transformers, so that Benchopt can say what is missing.
"""
import math
import warnings
from contextlib import suppress
from functools import lru_cache, partial

import numpy as np
from scipy.special import softmax
from scipy.stats import loguniform, randint, uniform

from benchmark_utils.checkpoints import checkpoint_folder, checkpoint_version
from benchmark_utils.errors import InputError, check_boolean
from benchmark_utils.needs import versions
from benchmark_utils.solver import SplitSolver
from benchmark_utils.texts import not_texts
from benchmark_utils.tokens import Tokens, truncation
from benchmark_utils.torch_solver import torch_and_device

CLIP = 1.0  # largest norm of the gradient
EVAL_BATCH = 128
SPREAD = 1.5  # largest ratio of lengths of texts that may come in either order


class TransformerSolver(SplitSolver):
    """Fine-tuning of all parameters of a checkpoint, with a fresh classification head.

    AdamW (no decay of biases and norms) with a learning rate that rises linearly over the first
    `warmup_ratio` of the steps and then falls linearly to zero, gradients clipped at norm 1, in
    half precision on a GPU where the model is safe in it. The default recipe is that of the Yelp
    experiment of "Crossing the Validation Crisis" (arXiv 2606.12552); with best_epoch=False and
    the search space, it is that of the GLUE experiment of "On Hyperparameter Tuning on the Test
    Set" (arXiv 2610.05902).

    Texts are tokenised once (`benchmark_utils.tokens`), and batches hold texts of similar length.
    """
    tasks = ("classification",)
    takes_views = True
    parameters = {
        **SplitSolver.parameters,
        # a sequence-classification model of transformers: a folder, or a name on the hub
        "checkpoint": [None],
        "learning_rate": [5e-5], "weight_decay": [0.0], "warmup_ratio": [0.0],
        "n_epochs": [3], "batch_size": [32],
        # keep the weights of the epoch with the best validation accuracy, if there is a validation
        # part; False: the last weights
        "best_epoch": [True],
        # in tokens, of a text or pair: longer ones lose their end
        "max_length": [512],
    }
    search_space = {
        "learning_rate": loguniform(5e-6, 1e-4),
        "weight_decay": loguniform(1e-5, 1e-1),
        "warmup_ratio": uniform(0, 0.2),
        "n_epochs": randint(2, 11),
    }

    def skip(self, problem, **objective):
        problem = problem or not_texts(self.name, objective["study"])
        if problem is None:
            from benchmark_utils.sequence_classifier import load_tokenizer

            try:
                check_boolean("best_epoch", self.best_epoch)
                tokenizer = load_tokenizer(checkpoint_folder(self.checkpoint))
            except InputError as error:
                problem = str(error)
            else:
                is_pair = objective["study"].X.source.is_pair
                n_special = tokenizer.num_special_tokens_to_add(pair=is_pair)
                if not isinstance(self.max_length, int) or self.max_length <= n_special:
                    problem = (f"max_length={self.max_length!r} is no integer above {n_special}, "
                               "the special tokens: nothing of a text would be left")
        return super().skip(problem=problem, **objective)

    def fit(self, train, val, config, seed):
        import torch

        from benchmark_utils.network_training import get_device, predict_network, train_network

        classifier, tokens = self._loaded()
        if tokens.n_truncated:
            warnings.warn(truncation(tokens.n_truncated, len(tokens.lengths), tokens.max_length),
                          stacklevel=1)
        options = dict(device=get_device(), mixed_precision=classifier.is_safe_in_half_precision)

        def outputs(module, rows):
            order = np.argsort(-tokens.lengths[rows], kind="stable")
            batches = (
                classifier.inputs(tokens.padded(rows[order[start:start + EVAL_BATCH]]))
                for start in range(0, len(rows), EVAL_BATCH)
            )
            return predict_network(module, batches, **options).numpy()[np.argsort(order)]

        def accuracy(module):
            made = outputs(module, val.X.rows)
            return (made.argmax(1) == val.y).mean() if np.isfinite(made).all() else np.nan

        def batches(epoch):
            rng = np.random.default_rng([seed, epoch])
            lengths = tokens.lengths[train.X.rows]
            for part in batches_by_length(lengths, config["batch_size"], rng):
                inputs = classifier.inputs(tokens.padded(train.X.rows[part]))
                yield inputs, torch.from_numpy(train.y[part])

        module = classifier.fresh(seed)
        decay = config["weight_decay"]
        optimizer = torch.optim.AdamW([
            {"params": [p for p in module.parameters() if p.ndim > 1], "weight_decay": decay},
            {"params": [p for p in module.parameters() if p.ndim <= 1], "weight_decay": 0.0},
        ], lr=config["learning_rate"])
        n_steps = config["n_epochs"] * math.ceil(len(train) / config["batch_size"])
        module = train_network(
            module, batches, torch.nn.functional.cross_entropy, optimizer, config["n_epochs"],
            seed=seed, schedule=partial(linear_schedule, n_steps, config["warmup_ratio"]),
            validate=accuracy if config["best_epoch"] and len(val) else None, clip=CLIP, **options,
        )
        return lambda X: softmax(outputs(module, X.rows).astype(float), axis=1)

    # Before the clock of the first fit starts. What can't be loaded makes each fit fail.
    def _fit_ahead(self, tuner):
        with self.store:
            is_found = all(self._key(*fit) in self.store for fit in tuner.planned())
        if not is_found:
            with suppress(Exception):
                self._loaded()

    def _loaded(self):
        """The pretrained model and the tokens of all texts."""
        from benchmark_utils.network_training import get_device

        cache = self._cache()
        return _loaded(
            self.study.X.source, checkpoint_folder(self.checkpoint),
            checkpoint_version(self.checkpoint), self.n_classes, get_device(), self.max_length,
            None if cache is None else cache / "tokens",
        )

    def depends_on(self):
        # Results differ in the last digits between devices.
        return {
            "torch": torch_and_device(), "checkpoint": checkpoint_version(self.checkpoint),
            "packages": versions("transformers", "tokenizers"),
        }


def batches_by_length(lengths, batch_size, rng):
    """Batches of texts of similar length, in random order, each text in one of them.

    Texts are sorted by their lengths times random factors, so that batches differ each time.

    Parameters
    ----------
    lengths : integer array of shape (n,)
    batch_size : int
    rng : numpy Generator

    Returns
    -------
    list of integer arrays, positions in `lengths`
    """
    order = np.argsort(lengths * rng.uniform(1, SPREAD, len(lengths)))
    starts = rng.permutation(np.arange(0, len(order), batch_size))
    return [order[start:start + batch_size] for start in starts]


def linear_schedule(n_steps, warmup_ratio, step):
    """Share of the learning rate at a step of 0 … n_steps − 1: from 0 to 1, then to 0."""
    n_warmup = math.ceil(warmup_ratio * n_steps)
    if step < n_warmup:
        return step / n_warmup
    return (n_steps - step) / (n_steps - n_warmup)


@lru_cache(1)
def _loaded(source, folder, version, n_classes, device, max_length, cache):
    from benchmark_utils.sequence_classifier import Classifier, load_tokenizer

    tokenizer = load_tokenizer(folder)
    classifier = Classifier(folder, n_classes, device)
    longest = min(max_length, tokenizer.model_max_length, classifier.max_length)
    return classifier, Tokens(source, tokenizer, longest, version, cache)
