"""Fine-tuning: tokens made once, fresh heads, and the whole path for each kind of model, offline,
with checkpoints of random weights and a few words."""
import shutil
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("datasets")
pytest.importorskip("torch")
pytest.importorskip("transformers")

import pyarrow as pa
import pyarrow.parquet as pq
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, processors

import datasets
from benchmark_utils import checkpoints, network_training, tokens
from benchmark_utils.errors import InputError
from benchmark_utils.population import PoolPopulation
from benchmark_utils.sequence_classifier import Classifier, load_tokenizer
from benchmark_utils.text_solver import batches_by_length, linear_schedule
from benchmark_utils.texts import TextSource
from benchmark_utils.tokens import Tokens
from benchmark_utils.views import View

WORDS = "a the film is was not very good bad fine dull cat dog sat ran on mat".split()
N_POSITIONS = 24
SIZES = dict(hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=24)
#: kind -> what its configuration needs
KINDS = {
    "bert": SIZES,
    "xlm-roberta": SIZES,
    "albert": SIZES | dict(embedding_size=8),
    "electra": SIZES | dict(embedding_size=8),
    "mobilebert": SIZES | dict(embedding_size=8, intra_bottleneck_size=8, true_hidden_size=8),
    "distilbert": dict(dim=16, n_layers=1, n_heads=2, hidden_dim=24),
    "xlnet": dict(d_model=16, n_layer=1, n_head=2, d_inner=24),
    "roberta": SIZES,
    "deberta-v2": SIZES | dict(relative_attention=True, position_buckets=4, type_vocab_size=0,
                               pos_att_type=["p2c", "c2p"], share_att_key=True),
}


def save_checkpoint(folder, kind="bert", tokenizer=True, seed=0, model="masked", **config):
    """Save a model of one kind, with a masked-language-model or another head, and its tokenizer."""
    made = _tokenizer(kind)
    # RoBERTa and its kin count positions from behind that of the padding.
    n_positions = N_POSITIONS + (made.pad_token_id + 1 if "roberta" in kind else 0)
    config = transformers.AutoConfig.for_model(
        kind, vocab_size=len(made), pad_token_id=made.pad_token_id,
        **({} if kind == "xlnet" else {"max_position_embeddings": n_positions}),
        **KINDS[kind] | config,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        if model == "masked" and kind != "xlnet":
            transformers.AutoModelForMaskedLM.from_config(config).save_pretrained(folder)
        else:
            transformers.AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
    if tokenizer:
        made.save_pretrained(folder)
    return folder


def _tokenizer(kind):
    if kind in ("roberta", "xlm-roberta"):
        special, form = ["<s>", "<pad>", "</s>", "<unk>", "<mask>"], (
            "<s> $A </s>", "<s> $A </s> </s> $B </s>")
        cls, pad, sep, unk, mask = special
    elif kind == "xlnet":
        special = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>"]
        form = "$A:0 <sep>:0 <cls>:2", "$A:0 <sep>:0 $B:1 <sep>:1 <cls>:2"
        unk, _, _, cls, sep, pad, mask = special
    else:
        special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
        form = "[CLS]:0 $A:0 [SEP]:0", "[CLS]:0 $A:0 [SEP]:0 $B:1 [SEP]:1"
        pad, unk, cls, sep, mask = special
    vocabulary = {token: i for i, token in enumerate([*special, *WORDS])}
    core = Tokenizer(models.WordLevel(vocabulary, unk_token=unk))
    core.pre_tokenizer = pre_tokenizers.Whitespace()
    core.post_processor = processors.TemplateProcessing(
        single=form[0], pair=form[1],
        special_tokens=[(token, vocabulary[token]) for token in special],
    )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=core, pad_token=pad, unk_token=unk, cls_token=cls, sep_token=sep,
        mask_token=mask, padding_side="left" if kind == "xlnet" else "right",
        pad_token_type_id=3 if kind == "xlnet" else 0,
    )


def some_texts(n, seed=0):
    """Texts of 2 to 17 words, of which more are of the class's own half of the words."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    texts = []
    for label in y:
        own, others = WORDS[label::2], WORDS[1 - label::2]
        n_own = rng.integers(2, 13)
        words = [*rng.choice(own, n_own), *rng.choice(others, rng.integers(0, n_own // 2 + 1))]
        texts.append(" ".join(rng.permutation(words)))
    return texts, y


def source(*columns):
    names = [str(i) for i in range(len(columns))]
    made = datasets.Dataset.from_dict(dict(zip(names, columns, strict=True)))
    return TextSource(made, names, repr(columns))


def population(n=240, n_bench=80):
    texts, y = some_texts(n)
    return PoolPopulation(
        View(source(texts)), y, "classification", n_bench, "texts", classes=["bad", "good"]
    )


SMALL = dict(train_size=96, val_size=0.2, n_splits=2)
QUICK = dict(n_epochs=8, learning_rate=1e-2, batch_size=8, warmup_ratio=0.3)


@pytest.fixture
def checkpoint(tmp_path):
    """checkpoint(kind, …): folder of a new one."""
    return lambda kind="bert", **options: save_checkpoint(tmp_path / kind, kind, **options)


class TestTokens:
    @pytest.mark.parametrize("kind", ["bert", "roberta", "xlnet"])
    @pytest.mark.parametrize("is_pair", [False, True])
    def test_are_those_of_the_tokenizer(self, checkpoint, kind, is_pair):
        tokenizer = load_tokenizer(checkpoint(kind))
        texts, _ = some_texts(30)
        texts[4] = ""
        of = source(texts, texts[::-1]) if is_pair else source(texts)
        made = Tokens(of, tokenizer, 12, "k")
        rows = np.array([4, 7, 7, 0, 29])
        own = transformers.AutoTokenizer.from_pretrained(tokenizer.name_or_path)
        expected = own(of.read(rows), truncation=True, max_length=12, padding=True,
                       return_tensors="np", return_token_type_ids=True)
        padded = made.padded(rows)
        assert set(padded) == set(expected)
        for name in expected:
            np.testing.assert_array_equal(padded[name], expected[name], err_msg=name)
        whole = own(of.read(np.arange(30)))["input_ids"]
        assert made.n_truncated == sum(len(ids) > 12 for ids in whole) > 0

    def test_are_made_once(self, checkpoint, tmp_path, monkeypatch):
        made = []
        tokenise = tokens._tokenise
        monkeypatch.setattr(
            tokens, "_tokenise", lambda *arguments: made.append(1) or tokenise(*arguments)
        )
        texts, _ = some_texts(20)
        tokenizer, rows = load_tokenizer(checkpoint()), np.arange(20)
        first, again, shorter, other = (
            Tokens(of, tokenizer, length, "k", tmp_path / "kept").padded(rows)["input_ids"]
            for of, length in ((source(texts), 16), (source(texts), 16), (source(texts), 8),
                               (source(texts[::-1]), 16))
        )
        assert len(made) == 3
        np.testing.assert_array_equal(first, again)
        assert shorter.shape[1] == 8 and not np.array_equal(first, other)


class TestBatches:
    def test_hold_each_text_once_and_texts_of_similar_length(self):
        rng = np.random.default_rng(0)
        lengths = rng.integers(2, 200, 1000)
        batches = batches_by_length(lengths, 32, rng)
        assert np.sort(np.concatenate(batches)).tolist() == list(range(1000))
        assert all(len(batch) <= 32 for batch in batches) and len(batches) <= 33
        padded = sum(lengths[batch].max() * len(batch) for batch in batches)
        assert padded < 1.3 * lengths.sum()

    def test_differ_each_time_and_come_in_random_order(self):
        lengths = np.random.default_rng(0).integers(5, 100, 500)
        a, b, again = (
            batches_by_length(lengths, 16, np.random.default_rng([seed, 0])) for seed in (1, 2, 1)
        )
        assert [batch.tolist() for batch in a] == [batch.tolist() for batch in again]
        assert {tuple(sorted(batch)) for batch in a}.isdisjoint(tuple(sorted(x)) for x in b)
        means = [lengths[batch].mean() for batch in a]
        assert abs(np.corrcoef(means, np.arange(len(means)))[0, 1]) < 0.6

    @pytest.mark.parametrize("n", [1, 15, 16, 17])
    def test_of_few_texts(self, n):
        batches = batches_by_length(np.full(n, 5), 16, np.random.default_rng(0))
        assert len(batches) == -(-n // 16)

    def test_schedule(self):
        rates = [linear_schedule(10, 0.2, step) for step in range(10)]
        assert rates == [0, 0.5, 1, 0.875, 0.75, 0.625, 0.5, 0.375, 0.25, 0.125]
        assert linear_schedule(4, 0.0, 0) == 1 and linear_schedule(1, 0.2, 0) == 0


class TestFreshModels:
    @pytest.mark.parametrize("kind", KINDS)
    def test_body_of_the_checkpoint_and_head_of_the_seed(self, checkpoint, kind):
        classifier = Classifier(checkpoint(kind), 3, "cpu")
        a, again, b = (classifier.fresh(seed).state_dict() for seed in (1, 1, 2))
        pretrained = classifier._model.state_dict()
        differ = {name for name in a if not torch.equal(a[name], b[name])}
        assert all(torch.equal(a[name], again[name]) for name in a)
        assert differ and all(name.endswith("weight") for name in differ)
        assert all(0.01 < float(a[name].std()) < 0.04 for name in differ)
        kept = set(a) - differ - {name.replace("weight", "bias") for name in differ}
        assert len(kept) > len(a) / 2
        assert all(torch.equal(a[name], pretrained[name]) for name in kept)

    def test_a_head_that_came_with_the_checkpoint_is_not_used(self, checkpoint):
        folder = checkpoint(model="classifier", num_labels=2)
        classifier = Classifier(folder, 2, "cpu")
        own = classifier._model.classifier.weight
        a, b = (classifier.fresh(seed).classifier.weight for seed in (1, 2))
        assert not torch.equal(a, own) and not torch.equal(a, b)
        assert Classifier(folder, 5, "cpu").fresh(1).classifier.weight.shape[0] == 5

    def test_weights_in_half_precision_are_trained_in_single(self, checkpoint):
        folder = checkpoint()
        transformers.AutoModelForMaskedLM.from_pretrained(folder, dtype=torch.float16) \
            .save_pretrained(folder)
        model = Classifier(folder, 2, "cpu").fresh(0)
        assert {parameter.dtype for parameter in model.parameters()} == {torch.float32}

    def test_no_kernels_of_the_hub_are_used(self, checkpoint):
        assert not Classifier(checkpoint(), 2, "cpu").fresh(0).train().use_kernels

    def test_random_numbers_are_left_alone(self, checkpoint):
        folder = checkpoint()
        torch.manual_seed(0)
        before = torch.get_rng_state()
        Classifier(folder, 2, "cpu").fresh(3)
        assert torch.equal(before, torch.get_rng_state())

    def test_only_mobilebert_is_kept_out_of_half_precision(self, checkpoint):
        is_safe = {
            kind: Classifier(checkpoint(kind), 2, "cpu").is_safe_in_half_precision
            for kind in ("bert", "mobilebert")
        }
        assert is_safe == {"bert": True, "mobilebert": False}


class TestWholePath:
    @pytest.mark.parametrize("kind", KINDS)
    def test_each_kind_of_model(self, checkpoint, component, solve, kind):
        solver = component("solver", "transformer", checkpoint=str(checkpoint(kind)), **QUICK)
        state, one = torch.get_rng_state(), SMALL | {"n_splits": 1}
        rows = solve(population(), solver, **one)
        assert torch.equal(state, torch.get_rng_state())
        assert rows["status"].item() == "ok" and rows["message"].item() == ""
        assert rows["score_bench"].item() > 0.8
        again = solve(population(), solver, **one)
        own = [column for column in rows if not column.endswith("_seconds")]
        assert rows[own].equals(again[own])

    @pytest.mark.parametrize("kind", KINDS)
    def test_each_kind_in_half_precision(self, checkpoint, component, solve, kind,
                                         half_precision):
        solver = component("solver", "transformer", checkpoint=str(checkpoint(kind)),
                           **QUICK | {"n_epochs": 1})
        rows = solve(population(60, 20), solver, **SMALL | {"train_size": 20, "n_splits": 1})
        assert rows["status"].tolist() == ["ok"], rows["message"][0]

    def test_pairs(self, checkpoint, component, solve):
        texts, y = some_texts(120)
        pool = PoolPopulation(View(source(texts, texts[::-1])), y, "classification", 0, "pairs",
                              classes=["bad", "good"])
        rows = solve(pool, component("solver", "bert", checkpoint=str(checkpoint())), **SMALL)
        assert rows["status"].tolist() == ["ok", "ok"], rows["message"][0]

    def test_search(self, checkpoint, component, solve):
        solver = component("solver", "albert", checkpoint=str(checkpoint("albert")), tuning="val",
                           n_configs=2, best_epoch=False)
        rows = solve(population(), solver, **SMALL)
        assert rows["status"].eq("ok").all() and rows["budget"].max() == 2
        assert '"warmup_ratio"' in rows["hyperparameters"].iloc[0]

    @pytest.mark.parametrize(("best_epoch", "val_size"), [(True, 0.2), (True, 0), (False, 0.2)])
    def test_epochs_are_compared_by_validation_accuracy(self, checkpoint, component, solve,
                                                        monkeypatch, best_epoch, val_size):
        found = []

        def train_network(module, *arguments, validate, **options):
            module = network_training.train_network(
                module, *arguments, validate=validate, **options
            )
            found.append(validate and validate(module))
            return module

        whole = SimpleNamespace(**vars(network_training) | {"train_network": train_network})
        monkeypatch.setitem(sys.modules, "benchmark_utils.network_training", whole)
        solver = component("solver", "transformer", checkpoint=str(checkpoint()), n_epochs=1,
                           best_epoch=best_epoch)
        rows = solve(population(), solver, **SMALL | {"val_size": val_size})
        is_checked = best_epoch and val_size
        assert found == (rows["score_val"].tolist() if is_checked else [None, None])

    def test_long_texts_are_counted(self, checkpoint, component, solve):
        pool = population()
        lengths = np.array([len(text.split()) + 2 for text in pool._examples.X.read()])
        folder = str(checkpoint())
        for max_length, longest in ((10, 10), (512, N_POSITIONS)):
            solver = component("solver", "transformer", checkpoint=folder, max_length=max_length)
            rows = solve(pool, solver, **SMALL)
            n = (lengths > longest).sum()
            expected = (f"UserWarning: {n} of 240 texts are longer than {longest} tokens and lose "
                        "their end" if n else "")
            assert rows["message"].tolist() == [expected] * 2

    def test_divergence_is_a_status(self, checkpoint, component, solve):
        solver = component("solver", "transformer", checkpoint=str(checkpoint()),
                           **QUICK | {"learning_rate": 1e30})
        rows = solve(population(), solver, **SMALL)
        assert set(rows["status"]) == {"diverged"} and rows["score_test"].isna().all()


class TestBadCheckpoints:
    @pytest.fixture
    def reason(self, component, solve):
        """Why a solver is skipped."""
        def reason(checkpoint, solver="transformer", **parameters):
            parameters |= {} if checkpoint is None else {"checkpoint": str(checkpoint)}
            with pytest.raises(AssertionError) as raised:
                solve(population(), component("solver", solver, **parameters), **SMALL)
            return str(raised.value)

        return reason

    def test_none_is_named(self, reason):
        assert "no model is named: checkpoint=" in reason(None)

    @pytest.mark.parametrize("max_length", [2, "many"])
    def test_max_length_that_leaves_nothing(self, reason, checkpoint, max_length):
        said = reason(checkpoint("bert"), max_length=max_length)
        assert f"max_length={max_length!r} is no integer above 2, the special tokens" in said

    def test_best_epoch_that_is_no_boolean(self, reason, checkpoint):
        said = reason(checkpoint("bert"), best_epoch="false")
        assert "best_epoch='false' is neither True nor False" in said

    def test_no_solver_of_texts_stops_the_others(self, run):
        results, printed = run(
            "-d", "simulated[family=classification,n_samples=500,n_bench=100]", "-s", "ridge",
            "-s", "transformer", "-s", "bert", "-s", "tfidf", "-s", "sentence_embedding",
            "-o", "score trust[n_splits=2]",
        )
        assert results is not None, printed
        assert set(results["solver_name"].str.partition("[")[0]) == {"ridge"}
        assert printed.count("takes texts only") == 4

    @pytest.mark.parametrize(("solver", "name"), [
        ("bert", "google-bert/bert-base-cased"), ("deberta", "microsoft/deberta-v3-small"),
    ])
    def test_neither_network_nor_cache(self, reason, solver, name):
        assert f"`python -m benchmark_utils.checkpoints {name}` puts it there" in reason(
            None, solver
        )

    def test_a_copy_in_data_paths(self, checkpoint, tmp_path, monkeypatch):
        made = checkpoint("roberta")
        monkeypatch.setattr(checkpoints, "get_running_benchmark", lambda: "some")
        monkeypatch.setattr(checkpoints, "data_path", lambda name: tmp_path / name)
        assert checkpoints.checkpoint_folder("roberta") == made
        before = checkpoints.checkpoint_version("roberta")
        checkpoint("roberta", seed=1)
        assert before != checkpoints.checkpoint_version("roberta")
        with pytest.raises(InputError, match="data_paths: {some/one: folder}"):
            checkpoints.checkpoint_folder("some/one")

    def test_the_hubs_cache(self, checkpoint, tmp_path, monkeypatch):
        monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
        commit = "0123456789abcdef0123456789abcdef01234567"
        repo = tmp_path / "hub" / "models--some--one"
        (repo / "refs").mkdir(parents=True)
        (repo / "refs" / "main").write_text(commit)
        made = checkpoint().rename(tmp_path / "made")
        (repo / "snapshots").mkdir()
        made.rename(repo / "snapshots" / commit)
        assert checkpoints.checkpoint_folder("some/one") == repo / "snapshots" / commit
        assert checkpoints.checkpoint_version("some/one") == commit
        (repo / "snapshots" / commit / "model.safetensors").unlink()
        with pytest.raises(InputError, match="nor in the hub's cache"):
            checkpoints.checkpoint_folder("some/one")

    def test_no_weights(self, reason, checkpoint):
        folder = checkpoint()
        (folder / "model.safetensors").unlink()
        assert f"{folder} is no checkpoint: it lacks" in reason(folder)

    def test_no_folder(self, reason, tmp_path):
        assert "there is no folder" in reason(tmp_path / "elsewhere")

    def test_no_tokenizer(self, reason, checkpoint):
        # transformers makes one without any words, and failed up to version 4.
        assert "save one there by its save_pretrained" in reason(checkpoint(tokenizer=False))

    def test_a_tokenizer_that_is_not_fast(self, reason, checkpoint):
        folder = checkpoint(tokenizer=False)
        transformers.CanineTokenizer().save_pretrained(folder)
        assert "no fast tokenizer (CanineTokenizer" in reason(folder)

    def test_a_tokenizer_without_padding(self, checkpoint):
        tokenizer = transformers.AutoTokenizer.from_pretrained(checkpoint())
        tokenizer.pad_token = None
        tokenizer.save_pretrained(folder := checkpoint("roberta", tokenizer=False))
        with pytest.raises(InputError, match="no padding token"):
            load_tokenizer(folder)

    def test_damaged_weights_are_a_failed_fit(self, checkpoint, component, solve):
        folder = checkpoint()
        (folder / "model.safetensors").write_bytes(b"nothing")
        rows = solve(population(), component("solver", "bert", checkpoint=str(folder)), **SMALL)
        assert set(rows["status"]) == {"failed"}

    def test_tables_are_no_texts(self, component, solve, checkpoint):
        wine = component("dataset", "tabular", dataset="wine").get_population()
        with pytest.raises(AssertionError, match="bert takes texts only"):
            solve(wine, component("solver", "bert", checkpoint=str(checkpoint())), train_size=100)


def test_three_repetitions_in_one_process_and_in_three(run, checkpoint, tmp_path, monkeypatch):
    texts, y = some_texts(160)
    for part in ("train", "validation"):
        folder = tmp_path / "data" / "glue" / "cola"
        folder.mkdir(parents=True, exist_ok=True)
        half = slice(0, 80) if part == "train" else slice(80, 160)
        pq.write_table(pa.table({"sentence": texts[half], "label": y[half]}),
                       folder / f"{part}-00000-of-00001.parquet")
    monkeypatch.setenv("BENCHOPT_DATA_HOME", str(tmp_path / "data"))
    solver = f"transformer[checkpoint='{checkpoint()}',n_epochs=2,learning_rate=0.01]"
    arguments = ("-d", "glue[task=cola]", "-o", "score trust[train_size=64,n_splits=2]",
                 "-s", solver, "-r", 3)
    results = []
    for n_jobs in (1, 3):
        found, printed = run(*arguments, "-j", n_jobs)
        assert found is not None, printed
        shutil.rmtree(tmp_path / "cache")
        own = [name for name in found if name.startswith("objective_")
               and not name.endswith(("_seconds", "_deltas"))]
        results.append(found.sort_values(["idx_rep", "objective_split"])[own])
    assert results[0].reset_index(drop=True).equals(results[1].reset_index(drop=True))
    assert (results[0]["objective_status"] == "ok").all()
