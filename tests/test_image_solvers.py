"""Pretrained networks on images: their features, their weights, frozen and fine-tuned."""
import re
from functools import partial
from itertools import groupby
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("torchvision")
pytest.importorskip("datasets")

import torch
import torchvision

from benchmark_utils.backbones import Backbone, check_weights, count_features, find_weights
from benchmark_utils.errors import InputError
from benchmark_utils.images import ImageSource
from benchmark_utils.labels import read_labels
from benchmark_utils.population import PoolPopulation
from benchmark_utils.scoring import Score
from benchmark_utils.views import View
from datasets import Dataset

ROOT = Path(__file__).parents[1]
#: architecture, module of the last layer, number of features, published number of parameters
NETWORKS = {
    "densenet": ("densenet121", "classifier", 1024, 7_978_856),
    "mobilenet": ("mobilenet_v2", "classifier", 1280, 3_504_872),
    "wide_resnet": ("wide_resnet101_2", "fc", 2048, 126_886_696),
    "vit": ("vit_b_16", "heads", 768, 86_567_656),
}
MOBILENET = NETWORKS["mobilenet"][:2]
DENSENET = NETWORKS["densenet"][:2]


def drawn_images(n, size=32):
    return np.random.default_rng(0).integers(0, 256, (n, size, size, 3), np.uint8)


def apply(module, images):
    with torch.no_grad():
        return module.eval()(torch.from_numpy(images))


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """As in a run; more are many times slower where others want the processors too."""
    n = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n)


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """PyTorch's cache, Benchopt's, and the folder of data, are the tests' own."""
    monkeypatch.setenv("BENCHOPT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("BENCHOPT_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "torch"))
    folder = tmp_path / "torch" / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    return folder


def save(path, architecture="mobilenet_v2", seed=1, **options):
    """A file of weights as torchvision publishes them."""
    torch.manual_seed(seed)
    network = torchvision.models.get_model(architecture, weights=None, **options)
    torch.save(network.state_dict(), path)
    return path, network


class TestBackbone:
    @pytest.mark.parametrize("name", NETWORKS)
    def test_is_the_published_network_without_its_last_layer(self, component, name):
        architecture, head, n_features, n_parameters = NETWORKS[name]
        solver = component("solver", name)
        assert (solver.architecture, solver.head) == (architecture, head)
        with torch.device("meta"):
            backbone = Backbone(architecture, head)
        assert backbone.n_features == count_features(architecture, head) == n_features
        n_left = sum(parameter.numel() for parameter in backbone.parameters())
        assert n_left + (n_features + 1) * 1000 == n_parameters

    @pytest.mark.parametrize(("architecture", "head"), [MOBILENET, DENSENET])
    def test_features_are_what_the_last_layer_sees(self, tmp_path, architecture, head):
        path, network = save(tmp_path / "weights.pth", architecture)
        images = drawn_images(3)
        features = apply(Backbone(architecture, head, weights=path), images)
        last = getattr(network, head)
        pixels = torch.from_numpy(images).permute(0, 3, 1, 2) / 255
        with torch.no_grad():
            expected = network.eval()(pixels)
            torch.testing.assert_close(last.eval()(features), expected)

    def test_images_are_resized_where_one_size_is_taken(self):
        backbone = Backbone(*MOBILENET, input_size=64)
        grey = np.full((1, 48, 48, 3), 100, np.uint8)
        torch.testing.assert_close(
            apply(backbone, grey), apply(backbone, np.full((1, 64, 64, 3), 100, np.uint8))
        )

    def test_random_weights_follow_the_seed_alone(self):
        images, state = drawn_images(2), torch.random.get_rng_state()
        a, b, c = (apply(Backbone(*MOBILENET, seed=seed), images) for seed in (0, 0, 1))
        assert torch.equal(a, b) and not torch.equal(a, c)
        assert torch.equal(torch.random.get_rng_state(), state)


class TestWeights:
    def test_a_file_comes_before_the_cache(self, cache, tmp_path, benchmark):
        name = "mobilenet_v2-b0353104.pth"
        for folder in (cache, tmp_path / "data" / "mobilenet", tmp_path):
            folder.mkdir(parents=True, exist_ok=True)
            (folder / name).touch()
        given = find_weights(str(tmp_path / name), "mobilenet_v2", "mobilenet")
        assert given == tmp_path / name
        configured = tmp_path / "data" / "mobilenet" / name
        assert find_weights("imagenet", "mobilenet_v2", "mobilenet") == configured
        configured.unlink()
        assert find_weights("imagenet", "mobilenet_v2", "mobilenet") == cache / name
        assert find_weights(None, "mobilenet_v2", "mobilenet") is None

    def test_nowhere_says_how_to_get_them(self, benchmark):
        with pytest.raises(InputError) as raised:
            find_weights("imagenet", "vit_b_16", "vit")
        message = str(raised.value)
        code, = re.findall(r'python -c "(.*?)"', message)
        compile(code, "command", "exec")
        assert "vit_b_16(weights='IMAGENET1K_V1')" in code and "data_paths: {vit:" in message
        with pytest.raises(InputError, match="weights='imagnet' is no file"):
            find_weights("imagnet", "vit_b_16", "vit")

    @pytest.mark.parametrize("n_classes", [2, 1000])
    def test_of_any_number_of_classes(self, tmp_path, n_classes):
        path, _ = save(tmp_path / "weights.pth", num_classes=n_classes)
        check_weights(*MOBILENET, path)

    def test_names_of_the_published_densenet(self, tmp_path):
        path, network = save(tmp_path / "weights.pth", "densenet121")
        old = {
            re.sub(r"(denselayer\d+\.(norm|conv))(\d)", r"\1.\3", name): tensor
            for name, tensor in network.state_dict().items() if "num_batches" not in name
        }
        assert "features.denseblock1.denselayer1.norm.1.weight" in old
        torch.save(old, tmp_path / "old.pth")
        images = drawn_images(2)
        a, b = (
            apply(Backbone(*DENSENET, weights=weights), images)
            for weights in (path, tmp_path / "old.pth")
        )
        assert torch.equal(a, b)

    def test_of_another_architecture(self, tmp_path):
        path, _ = save(tmp_path / "mine.pth")
        with pytest.raises(InputError, match="mine.pth doesn't hold weights of densenet121: it "
                                             "lacks .*features.conv0.weight"):
            check_weights(*DENSENET, path)

    def test_of_another_width(self, tmp_path):
        path, _ = save(tmp_path / "mine.pth", width_mult=0.5)
        with pytest.raises(InputError, match="mine.pth doesn't hold weights of mobilenet_v2: size "
                                             "mismatch"):
            check_weights(*MOBILENET, path)

    @pytest.mark.parametrize("content", [b"", b"no weights", torch.nn.Linear(1, 1), [1, 2]],
                             ids=["empty", "text", "module", "list"])
    def test_files_that_hold_no_weights(self, tmp_path, content):
        path = tmp_path / "mine.pth"
        if isinstance(content, bytes):
            path.write_bytes(content)
        else:
            torch.save(content, path)
        with pytest.raises(InputError, match="mine.pth can't be read as a file of weights"):
            check_weights(*MOBILENET, path)

    def test_a_truncated_file(self, tmp_path):
        path, _ = save(tmp_path / "mine.pth")
        path.write_bytes(path.read_bytes()[:-5000])
        with pytest.raises(InputError, match="mine.pth can't be read as a file of weights"):
            check_weights(*MOBILENET, path)


@pytest.fixture
def drawn(draw_pcam, component, tmp_path):
    """A population of 30 drawn images, 16 of them its benchmarking set."""
    draw_pcam(tmp_path / "data" / "pcam", n_train=20, n_valid=10)
    return component("dataset", "pcam", n_bench=16).get_population()


@pytest.fixture
def small_images(draw_pcam, tmp_path):
    """A population of images of 32 × 32."""
    folder = draw_pcam(tmp_path / "small", n_train=20, size=32)
    examples = Dataset.from_parquet(str(folder / "train-00000-of-00001.parquet"))
    source = ImageSource(examples, "image", (32, 32), "small")
    y, classes = read_labels(examples, "label", ["a", "b"])
    return PoolPopulation(View(source), y, "classification", 8, "small", classes=classes)


SMALL = dict(train_size=8, val_size=0.2, n_splits=2, stratify=False)


@pytest.fixture
def predictors(monkeypatch):
    """(split, function) of every predictor that is scored."""
    kept, score = [], Score.__call__

    def keep(self, predict, split, *args):
        kept.append((split, predict))
        return score(self, predict, split, *args)

    monkeypatch.setattr(Score, "__call__", keep)
    return kept


@pytest.fixture
def smaller(monkeypatch):
    """Smaller networks of the same families in place of the two large ones."""
    get_model, families = torchvision.models.get_model, {
        "wide_resnet101_2": torchvision.models.resnet18,
        "vit_b_16": partial(torchvision.models.VisionTransformer, 224, 16, 1, 2, 16, 32),
    }
    monkeypatch.setattr(
        torchvision.models, "get_model",
        lambda name, weights: families.get(name, partial(get_model, name, weights=weights))(),
    )
    count_features.cache_clear()
    yield
    count_features.cache_clear()


class TestFrozen:
    @pytest.mark.parametrize("name", NETWORKS)
    def test_predicts_as_each_image_through_backbone_and_head(
        self, name, drawn, component, solve, predictors, smaller
    ):
        solver = component("solver", name, weights=None, n_epochs=200, learning_rate=0.01)
        rows = solve(drawn, solver, **SMALL)
        assert set(rows["status"]) == {"ok"}, rows["message"][0]
        assert len(predictors) == 2
        backbone = Backbone(solver.architecture, solver.head, solver.input_size).eval()
        n, bench = backbone.n_features, drawn.draw(0, 0, 10, 4).bench
        for _, predict in predictors:
            # The head, from what it makes of one feature at a time: arrays are features.
            head = torch.from_numpy(np.log(predict(np.vstack([np.zeros(n), np.eye(n)]))))
            weights, bias = (head[1:] - head[0]).float(), head[0].float()
            for i, probability in enumerate(predict(bench.X)):
                features = apply(backbone, bench.X[i:i + 1].read())
                direct = (features @ weights + bias).softmax(1)
                np.testing.assert_allclose(direct[0], probability, atol=2e-3)

    def test_images_go_through_the_network_once(self, drawn, component, solve, monkeypatch):
        """Whatever the splits and configurations; and only those needed."""
        forward, seen = Backbone.forward, []

        def watched(self, images):
            seen.extend(image.tobytes() for image in images.numpy())
            return forward(self, images)

        def n_passed():
            # A batch that isn't full is filled up with its last image.
            return len([image for image, _ in groupby(seen)])

        monkeypatch.setattr(Backbone, "forward", watched)
        solver = component("solver", "mobilenet", weights=None, n_epochs=2, tuning="val",
                           n_configs=3)
        solve(drawn, solver, **{**SMALL, "n_splits": 3})
        assert len(set(seen)) == n_passed() == 30
        seen.clear()
        some = component("dataset", "pcam", n_bench=16, max_bench=5).get_population()
        solve(some, solver, **SMALL)
        assert len(set(seen)) == n_passed() == 5 + 10 + 4

    def test_half_precision_that_overflows_is_diverged(self, drawn, component, solve, tmp_path):
        path, network = save(tmp_path / "large.pth", "densenet121")
        network.features.norm5.bias.data += 1e6
        torch.save(network.state_dict(), path)
        rows = solve(drawn, component("solver", "densenet", weights=str(path)), **SMALL)
        assert set(rows["status"]) == {"diverged"} and rows["score_test"].isna().all()

    def test_follows_the_epochs_of_a_plain_loop(self, component):
        recipe = component("solver", "densenet").recipe
        config = {"n_epochs": 30, "batch_size": 64, "learning_rate": 1e-3}
        for n_train, n_batches, size in [(22, 1, 22), (64, 1, 64), (65, 2, 33), (600, 10, 60)]:
            made = recipe(config, n_train)
            assert len(made.learning_rates) == 30 * n_batches and made.check_every == n_batches
            assert made.batch_size == size and set(made.learning_rates) == {1e-3}


class TestFineTuned:
    @pytest.fixture
    def fit(self, drawn, component):
        """fit(seed): a network fine-tuned on five images and validated on nine, what it predicts
        for them all, and the two sets."""
        def fit(seed):
            study = drawn.draw(0, 0, 14, 0).study
            train, val = study[:5], study[5:]
            solver = component("solver", "mobilenet", weights=None, backbone="finetuned",
                               batch_size=3, n_epochs=3)
            solver.n_classes = 2
            predict = solver.fit(train, val, solver.config, seed)
            return predict(study.X), train, val

        return fit

    def test_is_the_plain_loop(self, fit):
        prediction, train, val = fit(7)
        torch.manual_seed(7)
        head = torch.nn.Linear(1280, 2)
        module = torch.nn.Sequential(Backbone(*MOBILENET, seed=7), head)
        optimizer, states, accuracies = torch.optim.Adam(module.parameters()), [], []
        images, y = (torch.from_numpy(array) for array in (train.X.read(), train.y))
        for epoch in range(3):
            order = np.random.default_rng([7, epoch]).permutation(5)
            module.train()
            for rows in (order[:3], order[3:]):
                optimizer.zero_grad()
                torch.nn.functional.cross_entropy(module(images[rows]), y[rows]).backward()
                optimizer.step()
            outputs = apply(module, val.X.read())
            accuracies.append((outputs.argmax(1).numpy() == val.y).mean())
            states.append({name: value.clone() for name, value in module.state_dict().items()})
        module.load_state_dict(states[np.argmax(accuracies)])
        for part, made in ((train, prediction[:5]), (val, prediction[5:])):
            direct = apply(module, part.X.read()).softmax(1)
            np.testing.assert_allclose(made, direct, rtol=1e-4)

    def test_follows_the_seed_alone(self, fit):
        a, b, c = (fit(seed)[0] for seed in (0, 0, 1))
        np.testing.assert_array_equal(a, b)
        assert not np.allclose(a, c)

    def test_rows(self, drawn, component, solve):
        solver = component("solver", "mobilenet", weights=None, backbone="finetuned", n_epochs=1)
        rows = solve(drawn, solver, **SMALL)
        assert set(rows["status"]) == {"ok"} and rows["score_bench"].notna().all()

    @pytest.mark.parametrize(("batch_size", "status"), [(4, "ok"), (3, "ok"), (2, "failed")])
    def test_no_batch_of_one_image(self, small_images, component, solve, batch_size, status):
        """Which batch normalisation refuses, where its layer is left with one pixel an image."""
        solver = component("solver", "mobilenet", weights=None, backbone="finetuned", n_epochs=1,
                           batch_size=batch_size)
        rows = solve(small_images, solver, **{**SMALL, "train_size": 7, "n_splits": 1})
        assert set(rows["n_train"]) == {5} and set(rows["status"]) == {status}
        assert ("more than 1 value per channel" in rows["message"][0]) == (status == "failed")

    def test_a_gpu_too_small_for_batch_normalisation_is_a_failed_row(
        self, drawn, component, solve, monkeypatch
    ):
        def no_memory(*_):
            raise torch.OutOfMemoryError("out of memory")

        monkeypatch.setattr(Backbone, "forward", no_memory)
        solver = component("solver", "mobilenet", weights=None, backbone="finetuned")
        rows = solve(drawn, solver, **SMALL)
        assert set(rows["status"]) == {"failed"}
        assert rows["message"].str.contains("lower batch_size").all()


def test_a_gpu_out_of_memory_takes_smaller_batches(drawn, component, solve, monkeypatch):
    """With the same result: no more than three images at a time."""
    solver = component("solver", "mobilenet", weights=None, n_epochs=5)
    expected = solve(drawn, solver, **SMALL)
    forward, sizes = Backbone.forward, []

    def small(self, images):
        sizes.append(len(images))
        if len(images) > 3:
            raise torch.OutOfMemoryError("out of memory")
        return forward(self, images)

    monkeypatch.setattr(Backbone, "forward", small)
    rows = solve(drawn, component("solver", "mobilenet", weights=None, n_epochs=5), **SMALL)
    assert max(sizes) > 3
    for name in ("score_test", "score_bench", "neg_log_loss_bench"):
        np.testing.assert_allclose(rows[name], expected[name], atol=1e-3)


class TestSkips:
    @pytest.mark.parametrize(("parameters", "message"), [
        ({"backbone": "molten"}, "backbone='molten' is none of frozen, finetuned"),
        ({"weights": "imagenet"}, "ImageNet weights of mobilenet_v2 aren't on this machine"),
        ({"weights": "no.pth"}, "weights='no.pth' is no file"),
        ({"n_epochs": 0}, "n_epochs=0 is not an integer"),
        ({"batch_size": 0.5}, "batch_size=0.5 is not an integer"),
    ])
    def test_wrong_parameters(self, drawn, component, solve, parameters, message):
        solver = component("solver", "mobilenet", **{"weights": None, **parameters})
        with pytest.raises(AssertionError, match=re.escape(message)):
            solve(drawn, solver, **SMALL)

    def test_other_data(self, component, solve):
        population = component("dataset", "simulated", family="classification").get_population()
        with pytest.raises(AssertionError, match="mobilenet does images only"):
            solve(population, component("solver", "mobilenet", weights=None), **SMALL)


def test_small_configuration(draw_pcam, tmp_path, run):
    """End to end, all four networks, on images in the hub's layout."""
    draw_pcam(tmp_path / "data" / "pcam", n_train=12, n_valid=8)
    results, printed = run("--config", ROOT / "configs" / "sample_gain_pcam_small.yml")
    assert results is not None, printed
    assert (results["objective_status"] == "ok").all()
    assert set(results["solver_name"].str.partition("[")[0]) == set(NETWORKS)
    assert len(results) == 4 * 2 * 3 and results["objective_score_bench"].notna().all()
    assert results["p_solver_weights"].isna().all()
    sizes = results[["objective_n_train", "objective_n_val", "objective_n_test"]]
    assert sizes.drop_duplicates().to_numpy().tolist() == [[6, 2, 2]]


def test_a_contributed_network(draw_pcam, tmp_path, run):
    """Of torchvision, as CONTRIBUTING.md has it."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    code, = (block for block in re.findall(r"```python\n(.*?)```", text, re.S)
             if "ImageSolver" in block)
    (tmp_path / "own.py").write_text(code)
    draw_pcam(tmp_path / "data" / "pcam", n_train=12, n_valid=8)
    results, printed = run(
        "-d", "pcam[n_bench=10]", "-o", "score trust[train_size=8,val_size=0.2,n_splits=2]",
        "-s", f"{tmp_path / 'own.py'}[weights=None,tuning=[val,test],n_configs=3]",
    )
    assert results is not None, printed
    assert set(results["objective_status"]) == {"ok"} and len(results) == 2 * 2 * 3
