"""Modules of solvers that train neural networks."""
import math

import torch
from torch import nn


class ResidualMLP(nn.Module):
    """A multilayer perceptron with ReLU, in which hidden layer i + 1 adds to the output of layer i.

    Parameters
    ----------
    input_shape : tuple, shape of one example, which is flattened
    widths : list of int, of the hidden layers, equal where there are several
    n_outputs : int
    """

    def __init__(self, input_shape, widths, n_outputs):
        super().__init__()
        self.first = nn.Linear(math.prod(input_shape), widths[0])
        self.hidden = nn.ModuleList(
            nn.Linear(before, after) for before, after in zip(widths, widths[1:], strict=False)
        )
        self.last = nn.Linear(widths[-1], n_outputs)

    def forward(self, x):
        x = torch.relu(self.first(x.flatten(1)))
        for layer in self.hidden:
            x = x + torch.relu(layer(x))
        return self.last(x)
