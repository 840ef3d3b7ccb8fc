"""Networks for small images, made for CIFAR-10, from (batch, 3, height, width) to logits.

Each is the published definition; parameter counts are for ten classes. All end in global pooling,
which for images of 32 × 32 is the pooling of the definition, so that they take larger ones too.
"""
import torch
from torch import nn
from torch.nn.functional import pad


class ResNet(nn.Module):
    """Residual network of 6n + 2 layers with shortcuts without parameters (He, Zhang, Ren, Sun
    2016, section 4.2, option A): 269,722 parameters for depth 20, 464,154 for 32, 658,586 for 44,
    853,018 for 56.

    Parameters
    ----------
    depth : int, 6n + 2
    n_outputs : int
    """

    def __init__(self, depth, n_outputs):
        super().__init__()
        blocks, n_before = [], 16
        for n_channels in (16, 32, 64):
            for _ in range((depth - 2) // 6):
                blocks.append(_ResidualBlock(n_before, n_channels))
                n_before = n_channels
        self.layers = nn.Sequential(
            _convolution(3, 16), nn.BatchNorm2d(16), nn.ReLU(), *blocks, _average(),
            nn.Linear(64, n_outputs),
        )
        self.apply(_initialise_as_he)

    def forward(self, x):
        return self.layers(x)


class _ResidualBlock(nn.Module):
    """Two convolutions, the first with stride 2 where there are more channels than before."""

    def __init__(self, n_before, n_channels):
        super().__init__()
        self.n_more = n_channels - n_before
        self.stride = 2 if self.n_more else 1
        self.branch = nn.Sequential(
            _convolution(n_before, n_channels, stride=self.stride), nn.BatchNorm2d(n_channels),
            nn.ReLU(), _convolution(n_channels, n_channels), nn.BatchNorm2d(n_channels),
        )

    def forward(self, x):
        branch = self.branch(x)
        if self.n_more:
            # Every other pixel, and zeros for the new channels, half of them on either side.
            half = self.n_more // 2
            x = pad(x[:, :, ::2, ::2], (0, 0, 0, 0, half, self.n_more - half))
        return torch.relu(branch + x)


class VGG(nn.Module):
    """The VGG network that became customary for CIFAR-10: the 13 convolutions of VGG-16 and two
    linear layers, 15 layers with weights, all but the last with batch normalisation, and dropout
    in between (Liu, Deng 2015; Zagoruyko 2015): 14,991,946 parameters.

    Parameters
    ----------
    n_outputs : int
    """
    # Channels of each stage's convolutions, and the dropout between them.
    STAGES = ((2, 64, 0.3), (2, 128, 0.4), (3, 256, 0.4), (3, 512, 0.4), (3, 512, 0.4))

    def __init__(self, n_outputs):
        super().__init__()
        layers, n_before = [], 3
        for n_convolutions, n_channels, dropout in self.STAGES:
            for i in range(n_convolutions):
                layers += [nn.Dropout(dropout)] if i else []
                layers += [
                    nn.Conv2d(n_before, n_channels, 3, padding=1),
                    nn.BatchNorm2d(n_channels, eps=1e-3), nn.ReLU(),
                ]
                n_before = n_channels
            layers.append(nn.MaxPool2d(2, ceil_mode=True))
        self.layers = nn.Sequential(
            *layers, _average(), nn.Dropout(0.5), nn.Linear(512, 512), nn.BatchNorm1d(512),
            nn.ReLU(), nn.Dropout(0.5), nn.Linear(512, n_outputs),
        )
        self.apply(_initialise_as_he)

    def forward(self, x):
        return self.layers(x)


class MobileNetV2(nn.Module):
    """MobileNetV2 (Sandler et al. 2018) as it is used for CIFAR-10: no stride in the first
    convolution and in the second stage, ReLU, and shortcuts with a 1 × 1 convolution where only
    the number of channels changes: 2,296,922 parameters.

    Parameters
    ----------
    n_outputs : int
    """
    # Expansion, channels, blocks and first stride of each stage.
    STAGES = (
        (1, 16, 1, 1), (6, 24, 2, 1), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2),
        (6, 320, 1, 1),
    )

    def __init__(self, n_outputs):
        super().__init__()
        blocks, n_before = [], 32
        for expansion, n_channels, n_blocks, stride in self.STAGES:
            for i in range(n_blocks):
                blocks.append(
                    _InvertedBlock(n_before, n_channels, expansion, 1 if i else stride)
                )
                n_before = n_channels
        self.layers = nn.Sequential(
            *_normalised(3, 32), nn.ReLU(), *blocks, *_normalised(320, 1280, 1), nn.ReLU(),
            _average(), nn.Linear(1280, n_outputs),
        )

    def forward(self, x):
        return self.layers(x)


class _InvertedBlock(nn.Module):
    def __init__(self, n_before, n_channels, expansion, stride):
        super().__init__()
        n_inside = expansion * n_before
        self.branch = nn.Sequential(
            *_normalised(n_before, n_inside, 1), nn.ReLU(),
            *_normalised(n_inside, n_inside, stride=stride, groups=n_inside), nn.ReLU(),
            *_normalised(n_inside, n_channels, 1),
        )
        self.shortcut = None
        if stride == 1:
            changes = n_before != n_channels
            self.shortcut = nn.Sequential(
                *(_normalised(n_before, n_channels, 1) if changes else [])
            )

    def forward(self, x):
        branch = self.branch(x)
        return branch if self.shortcut is None else branch + self.shortcut(x)


class ResNet9(nn.Module):
    """The nine layers of the fast DAWNBench entry (Page 2018): two of three stages hold a residual
    pair of convolutions; logits are an eighth of the last layer's outputs: 6,573,120 parameters.

    Parameters
    ----------
    n_outputs : int
    """

    def __init__(self, n_outputs):
        super().__init__()
        self.layers = nn.Sequential(
            *_normalised(3, 64), nn.ReLU(),
            *_normalised(64, 128), nn.ReLU(), nn.MaxPool2d(2), _ResidualPair(128),
            *_normalised(128, 256), nn.ReLU(), nn.MaxPool2d(2),
            *_normalised(256, 512), nn.ReLU(), nn.MaxPool2d(2), _ResidualPair(512),
            nn.AdaptiveMaxPool2d(1), nn.Flatten(), nn.Linear(512, n_outputs, bias=False),
        )

    def forward(self, x):
        return self.layers(x) / 8


class _ResidualPair(nn.Module):
    def __init__(self, n_channels):
        super().__init__()
        self.branch = nn.Sequential(
            *_normalised(n_channels, n_channels), nn.ReLU(),
            *_normalised(n_channels, n_channels), nn.ReLU(),
        )

    def forward(self, x):
        return x + self.branch(x)


class ShakeShake(nn.Module):
    """Residual network of 26 layers whose two branches of 32, 64 and 128 channels are mixed at
    random, image by image and anew in the backward pass (Gastaldi 2017, 26 2 × 32d
    "Shake-Shake-Image"): 2,923,162 parameters.

    Parameters
    ----------
    n_outputs : int
    """

    def __init__(self, n_outputs):
        super().__init__()
        blocks, n_before = [], 16
        for n_channels, stride in ((32, 1), (64, 2), (128, 2)):
            for i in range(4):
                blocks.append(_ShakeBlock(n_before, n_channels, 1 if i else stride))
                n_before = n_channels
        self.layers = nn.Sequential(
            *_normalised(3, 16), *blocks, nn.ReLU(), _average(), nn.Linear(128, n_outputs)
        )
        self.apply(_initialise_as_he)

    def forward(self, x):
        return self.layers(x)


class _ShakeBlock(nn.Module):
    def __init__(self, n_before, n_channels, stride):
        super().__init__()
        self.branches = nn.ModuleList(
            nn.Sequential(
                nn.ReLU(), *_normalised(n_before, n_channels, stride=stride),
                nn.ReLU(), *_normalised(n_channels, n_channels),
            )
            for _ in range(2)
        )
        changes = n_before != n_channels
        self.shortcut = _ShiftedShortcut(n_before, n_channels, stride) if changes else nn.Identity()

    def forward(self, x):
        a, b = (branch(x) for branch in self.branches)
        if not self.training:
            return self.shortcut(x) + (a + b) / 2
        forwards, backwards = torch.rand(2, len(a), 1, 1, 1, dtype=a.dtype, device=a.device)
        return self.shortcut(x) + _Shake.apply(a, b, forwards, backwards)


class _Shake(torch.autograd.Function):
    """forwards · a + (1 − forwards) · b, with the gradient that `backwards` would have."""

    @staticmethod
    def forward(context, a, b, forwards, backwards):
        context.save_for_backward(backwards)
        return torch.lerp(b, a, forwards)

    @staticmethod
    def backward(context, gradient):
        (backwards,) = context.saved_tensors
        of_a = backwards * gradient
        return of_a, gradient - of_a, None, None


class _ShiftedShortcut(nn.Module):
    """Two 1 × 1 convolutions, one of them of the image shifted by a pixel to the right and down."""

    def __init__(self, n_before, n_channels, stride):
        super().__init__()
        self.stride = stride
        self.straight = nn.Conv2d(n_before, n_channels // 2, 1, bias=False)
        self.shifted = nn.Conv2d(n_before, n_channels // 2, 1, bias=False)
        self.normalisation = nn.BatchNorm2d(n_channels)

    def forward(self, x):
        x = torch.relu(x)
        shifted = pad(x, (1, -1, 1, -1))
        x, shifted = (of[:, :, ::self.stride, ::self.stride] for of in (x, shifted))
        return self.normalisation(torch.cat([self.straight(x), self.shifted(shifted)], 1))


def _convolution(n_before, n_channels, size=3, **options):
    return nn.Conv2d(n_before, n_channels, size, padding=size // 2, bias=False, **options)


def _normalised(n_before, n_channels, size=3, **options):
    return _convolution(n_before, n_channels, size, **options), nn.BatchNorm2d(n_channels)


def _average():
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten())


def _initialise_as_he(layer):
    if isinstance(layer, nn.Conv2d):
        nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
        if layer.bias is not None:
            nn.init.zeros_(layer.bias)
