"""A pytest plugin: tests run as if there were a GPU, whose tensors lie in this machine's memory.

As on a GPU, an operation on tensors of which some lie on the device and others don't fails, and
what lies there must be brought back to become an array. What it doesn't show is what a GPU
computes: mixed precision, compilation, its own random numbers, memory running out.
"""
from contextlib import nullcontext

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import (
    _DummyBackendModule,
    _setup_privateuseone_for_python_backend,
)

from benchmark_utils import network_training, scratch_solver, text_solver, torch_solver

NAME = "pretended"


class _Backend(_DummyBackendModule):
    def get_rng_state(self, device=None):
        return torch.get_rng_state()

    def set_rng_state(self, state, device=None):
        pass


_setup_privateuseone_for_python_backend(NAME, _Backend())
DEVICE, HERE = torch.device(NAME, 0), torch.device("cpu")
MOVES = (torch.ops.aten.copy_.default, torch.ops.aten._to_copy.default)
#: takes positions that lie on the CPU, on a GPU as well
INDEX = (torch.ops.aten.index.Tensor, torch.ops.aten.index_put_.default)
n_operations = 0


class DeviceName(str):
    """The device's name, which our code takes for that of a GPU."""

    def __eq__(self, other):
        return other == "cuda" or super().__eq__(other)

    def __hash__(self):
        return hash("cuda")


class There(torch.Tensor):
    """A tensor on the device; its values are `here`."""

    @staticmethod
    def __new__(cls, here):
        return torch.Tensor._make_wrapper_subclass(
            cls, here.size(), strides=here.stride(), storage_offset=here.storage_offset(),
            dtype=here.dtype, layout=here.layout, device=DEVICE,
        )

    def __init__(self, here):
        self.here = here

    def __repr__(self, *, tensor_contents=None):
        return f"There({self.here!r})"

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        return _apply(function, args, kwargs or {})


class _Device(TorchDispatchMode):
    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if any(map(_is_there, tree_leaves((args, kwargs)))):
            return _apply(function, args, kwargs)
        return function(*args, **kwargs)


def _is_there(value):
    return isinstance(value, There) or isinstance(value, torch.device) and value.type == NAME


def _apply(function, args, kwargs):
    global n_operations
    if torch._C._dispatch_has_kernel_for_dispatch_key(function.name(), "CompositeImplicitAutograd"):
        with _Device():
            return function.decompose(*args, **kwargs)
    n_operations += 1
    tensors = [value for value in tree_leaves((args, kwargs)) if isinstance(value, torch.Tensor)]
    there = {id(tensor.here): tensor for tensor in tensors if isinstance(tensor, There)}
    elsewhere = [t for t in tensors if not isinstance(t, There) and t.ndim]
    if there and elsewhere and function not in (*MOVES, *INDEX):
        raise RuntimeError(f"{function}: tensors on {DEVICE} and of shape "
                           f"{tuple(elsewhere[0].shape)} on the CPU")

    def here(value):
        if isinstance(value, There):
            return value.here
        return HERE if _is_there(value) else value

    made = function(*tree_map(here, args), **tree_map(here, kwargs))
    if function is torch.ops.aten.copy_.default:
        return args[0]
    target = kwargs.get("device")
    is_there = bool(there) if target is None else _is_there(torch.device(target))

    def back(value):
        if not isinstance(value, torch.Tensor) or not is_there:
            return value
        return there[id(value)] if id(value) in there else There(value)

    return tree_map(back, made)


# `torch.tensor(…, device=…)` goes past the mode.
library = torch.library.Library("aten", "IMPL")


@torch.library.impl(library, "empty_strided", "PrivateUse1")
def empty_strided(size, stride, dtype=None, **_):
    return There(torch.empty_strided(size, stride, dtype=dtype))


@torch.library.impl(library, "_copy_from", "PrivateUse1")
def copy_from(source, target, non_blocking=False):
    target.here.copy_(source)
    return target


@pytest.fixture(autouse=True)
def other_device(monkeypatch):
    name = DeviceName(NAME)
    monkeypatch.setattr(network_training, "get_device", lambda: name)
    for module in (torch_solver, text_solver, scratch_solver):
        monkeypatch.setattr(module, "torch_and_device", lambda: ("1.0", name))
    monkeypatch.setattr(network_training, "_autocast", lambda *_: nullcontext())
    # Tensors of ours have no versions, which inference mode asks for.
    monkeypatch.setattr(torch, "inference_mode", torch.no_grad)
    before = n_operations
    with _Device():
        yield
    assert n_operations > before
