"""One split of a fine-tuned transformer: tokens made once and batches padded to their longest text,
as the suite does, against the plain script, which tokenises the texts of every split and pads all
of them to the model's 512 tokens.

Both train a small BERT of random weights for one epoch and predict the benchmarking set, on the GPU
if there is one, otherwise on one thread, where processor time is measured. The texts are drawn: 130
words on average, as in Yelp's reviews, from 10 to 1,000.

Run by hand from the repository root: python perf/tokenising.py
"""
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from tokenizers import BertWordPieceTokenizer
from transformers import (
    AutoModelForSequenceClassification,
    AutoTokenizer,
    BertConfig,
    BertModel,
    BertTokenizer,
    logging,
)

from datasets import Dataset

sys.path.insert(0, str(Path(__file__).parents[1]))
from benchmark_utils.network_training import get_device
from benchmark_utils.population import Examples
from benchmark_utils.text_solver import EVAL_BATCH, TransformerSolver
from benchmark_utils.texts import TextSource
from benchmark_utils.tokens import Tokens
from benchmark_utils.views import View

N_TRAIN, N_BENCH, BATCH, LENGTH, REPEATS = 600, 2000, 32, 512, 3
N_WORDS = 5000
clock = time.perf_counter if get_device() == "cuda" else time.process_time


def drawn_texts(n):
    rng = np.random.default_rng(0)
    letters = np.array(list("abcdefghijklmnopqrstuvwxyz"))
    words = ["".join(rng.choice(letters, rng.integers(2, 10))) for _ in range(N_WORDS)]
    lengths = np.clip(rng.lognormal(np.log(130) - 0.32, 0.8, n), 10, 1000).astype(int)
    share = 1 / np.arange(1, N_WORDS + 1)
    return [" ".join(rng.choice(words, k, p=share / share.sum())) for k in lengths]


def save_checkpoint(folder, texts):
    trained = BertWordPieceTokenizer()
    trained.train_from_iterator(texts, vocab_size=8000, show_progress=False)
    tokenizer = BertTokenizer(vocab=trained.get_vocab(), model_max_length=LENGTH)
    tokenizer.save_pretrained(folder)
    BertModel(BertConfig(
        vocab_size=len(tokenizer), hidden_size=64, num_hidden_layers=1, num_attention_heads=1,
        intermediate_size=256,
    )).save_pretrained(folder)


class Tested(TransformerSolver):
    name = "tested"


def suite(folder, train, bench):
    """Seconds of the tokens of all texts, and of one split."""
    solver = Tested.get_instance(
        checkpoint=folder, n_epochs=1, batch_size=BATCH, max_length=LENGTH
    )
    solver.study, solver.n_classes, solver.data_key = train, 2, None
    started = clock()
    Tokens(train.X.source, AutoTokenizer.from_pretrained(folder), LENGTH, "")
    tokenised = clock() - started
    solver._loaded()
    started = clock()
    predict = solver.fit(train, train[np.arange(0)], solver.config, 0)
    predict(bench.X)
    return tokenised, clock() - started


def plain_script(folder, train, bench):
    """Seconds of the tokens of a split, and of the rest of it."""
    device = get_device()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2).to(device)
    started = clock()
    inputs = {
        part: tokenizer(of.X.read(), padding="max_length", truncation=True, return_tensors="pt")
        for part, of in (("train", train), ("bench", bench))
    }
    tokenised = clock() - started
    optimizer = torch.optim.AdamW(model.parameters(), lr=5e-5)
    y = torch.from_numpy(train.y)
    for rows in torch.randperm(len(train)).split(BATCH):
        optimizer.zero_grad()
        batch = {name: values[rows].to(device) for name, values in inputs["train"].items()}
        model(**batch, labels=y[rows].to(device)).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
        optimizer.step()
    model.eval()
    with torch.inference_mode():
        for rows in torch.arange(len(bench)).split(EVAL_BATCH):
            batch = {name: values[rows].to(device) for name, values in inputs["bench"].items()}
            model(**batch).logits.softmax(1).cpu()
    return tokenised, clock() - started - tokenised


def main():
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    if get_device() == "cpu":
        torch.set_num_threads(1)
    texts = drawn_texts(N_TRAIN + N_BENCH)
    source = TextSource(Dataset.from_dict({"text": texts}), ["text"], "drawn")
    y = np.random.default_rng(0).integers(0, 2, len(texts))
    train, bench = (
        Examples(View(source, rows), y[rows])
        for rows in np.split(np.arange(len(texts)), [N_TRAIN])
    )
    with tempfile.TemporaryDirectory() as folder:
        save_checkpoint(folder, texts)
        lengths = Tokens(source, AutoTokenizer.from_pretrained(folder), LENGTH, "").lengths
        ours, theirs = [], []
        for _ in range(REPEATS):
            ours.append(suite(folder, train, bench))
            theirs.append(plain_script(folder, train, bench))
    once, split = (statistics.median(values) for values in zip(*ours, strict=True))
    tokens, rest = (statistics.median(values) for values in zip(*theirs, strict=True))
    print(f"{len(texts):,} texts of {lengths.mean():.0f} tokens on average, at most {LENGTH}")
    print(f"plain script: {tokens:.2f} s of tokenising and {rest:.2f} s in each split")
    print(f"suite: {once:.2f} s of tokenising once, {split:.2f} s in each split; "
          f"ratio {(tokens + rest) / split:.1f}")


if __name__ == "__main__":
    main()
