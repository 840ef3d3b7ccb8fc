"""Architectures of CIFAR-10: published sizes, and what sets each apart."""
import pytest

pytest.importorskip("torch")

import torch

from benchmark_utils.image_networks import (
    VGG,
    MobileNetV2,
    ResNet,
    ResNet9,
    ShakeShake,
    _ResidualBlock,
    _Shake,
    _ShakeBlock,
)

# Published counts: He et al. round to 0.27, 0.46, 0.66 and 0.85 million, Gastaldi to 2.9.
COUNTS = {
    "resnet20": (lambda: ResNet(20, 10), 269_722),
    "resnet32": (lambda: ResNet(32, 10), 464_154),
    "resnet44": (lambda: ResNet(44, 10), 658_586),
    "resnet56": (lambda: ResNet(56, 10), 853_018),
    "vgg": (lambda: VGG(10), 14_991_946),
    "mobilenet_v2": (lambda: MobileNetV2(10), 2_296_922),
    "resnet9": (lambda: ResNet9(10), 6_573_120),
    "shake_shake": (lambda: ShakeShake(10), 2_923_162),
}
LAYERS = {"resnet20": 20, "resnet32": 32, "resnet44": 44, "resnet56": 56, "vgg": 15, "resnet9": 9}
every_network = pytest.mark.parametrize("name", COUNTS)


@every_network
def test_number_of_parameters(name):
    build, count = COUNTS[name]
    assert sum(parameter.numel() for parameter in build().parameters()) == count


@pytest.mark.parametrize("name", LAYERS)
def test_number_of_layers_with_weights(name):
    layers = COUNTS[name][0]().modules()
    weighted = [m for m in layers if isinstance(m, torch.nn.Conv2d | torch.nn.Linear)]
    assert len(weighted) == LAYERS[name]


@every_network
def test_logits_and_gradients_of_every_parameter(name):
    torch.manual_seed(0)
    module = COUNTS[name][0]()
    outputs = module(torch.randn(2, 3, 32, 32))
    assert outputs.shape == (2, 10)
    torch.nn.functional.cross_entropy(outputs, torch.tensor([0, 1])).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in module.parameters())


def test_shortcut_of_the_residual_network_has_no_parameters():
    """Where the branch gives zeros, every other pixel is left, between channels of zeros."""
    block = _ResidualBlock(16, 32)
    for parameter in block.parameters():
        torch.nn.init.zeros_(parameter)
    x = torch.rand(2, 16, 6, 6)
    y = block(x)
    assert y.shape == (2, 32, 3, 3)
    torch.testing.assert_close(y[:, 8:24], x[:, :, ::2, ::2])
    assert not y[:, :8].any() and not y[:, 24:].any()


class TestShakeShake:
    def test_value_and_gradient_are_mixed_apart(self):
        a, b = torch.tensor([[1.0], [2.0]], requires_grad=True), torch.zeros(2, 1).requires_grad_()
        forwards, backwards = torch.tensor([[0.25], [1.0]]), torch.tensor([[0.5], [0.125]])
        mixed = _Shake.apply(a, b, forwards, backwards)
        assert mixed.flatten().tolist() == [0.25, 2.0]
        mixed.sum().backward()
        assert a.grad.flatten().tolist() == [0.5, 0.125]
        assert b.grad.flatten().tolist() == [0.5, 0.875]

    def test_branches_are_averaged_once_trained(self):
        block, x = _ShakeBlock(4, 4, 1).eval(), torch.randn(3, 4, 5, 5)
        a, b = (branch(x) for branch in block.branches)
        torch.testing.assert_close(block(x), x + (a + b) / 2)

    def test_each_image_is_mixed_anew_in_training(self):
        block, x = _ShakeBlock(4, 4, 1), torch.randn(1, 4, 5, 5).repeat(2, 1, 1, 1)
        first, second = block(x)
        assert not torch.allclose(first, second)


@pytest.mark.parametrize("network", [lambda: ResNet(20, 3), lambda: VGG(3)])
def test_larger_images(network):
    assert network().eval()(torch.randn(1, 3, 48, 40)).shape == (1, 3)
