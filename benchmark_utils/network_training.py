"""Training one network that is too large, or too much of its own kind, to be trained in a batch of
many: fine-tuning, convolutional networks, transformers."""
import math
from contextlib import nullcontext

import torch
from torch.nn.modules.batchnorm import _BatchNorm

from benchmark_utils.batched_training import random_numbers
from benchmark_utils.errors import Diverged, is_out_of_memory

LOOK_EVERY = 50  # steps between looks at the loss, each of which waits for a GPU


def get_device():
    """"cuda" where PyTorch finds a GPU, otherwise "cpu"."""
    return "cuda" if torch.cuda.is_available() else "cpu"


def train_network(module, batches, loss, optimizer, n_epochs, *, device, seed, schedule=None,
                  validate=None, mixed_precision=False, clip=None, on_step=None):
    """Train a module in place.

    Parameters
    ----------
    module : torch.nn.Module, on the device
    batches : callable (epoch) -> iterable of (inputs, y)
        `inputs` is a tensor, or a dict of tensors for arguments by name, whose first axis is that
        of the examples, as is that of the tensor y.
    loss : callable (outputs, y) -> scalar tensor, the mean over the examples of a batch
    optimizer : torch.optim.Optimizer of the module's parameters
    n_epochs : int
    device : "cpu" or "cuda"
    seed : int, of all random numbers drawn in training; they are as before afterwards
    schedule : callable (step) -> what to multiply the optimizer's learning rates by, or None
    validate : callable (module in evaluation mode) -> score, or None
        Called after every epoch; the weights with the highest score are kept, the earliest if
        equal. NaN is never the highest.
    mixed_precision : bool, whether to compute in bfloat16 where that is safe, on a GPU
    clip : float, largest norm of the gradient, or None
    on_step : callable (step, epoch), called after every step, or None

    Returns
    -------
    the module, in evaluation mode

    Raises
    ------
    Diverged
        For a loss that is NaN or infinite.
    MemoryError
        Where memory runs out for a single example, or for a batch that can't be cut into smaller
        ones with the same result, which batch normalisation does not allow.
    """
    rates = [group["lr"] for group in optimizer.param_groups]
    best_score, best, step = -math.inf, None, 0
    cut, total = _Cut(module, loss, optimizer, device, mixed_precision), 0.0
    with random_numbers(seed, device):
        for epoch in range(n_epochs):
            module.train()
            for inputs, y in batches(epoch):
                if schedule is not None:
                    for group, rate in zip(optimizer.param_groups, rates, strict=True):
                        group["lr"] = rate * schedule(step)
                total += cut.gradients(_moved(inputs, device), y.to(device, non_blocking=True))
                if step % LOOK_EVERY == 0:
                    _check(total, step)
                if clip is not None:
                    torch.nn.utils.clip_grad_norm_(module.parameters(), clip)
                optimizer.step()
                step += 1
                if on_step is not None:
                    on_step(step, epoch)
            _check(total, step)
            module.eval()
            if validate is not None:
                score = validate(module)
                if score > best_score:
                    best_score = score
                    best = {name: value.clone() for name, value in module.state_dict().items()}
    if best is not None:
        module.load_state_dict(best)
    return module.eval()


def predict_network(module, batches, device, mixed_precision=False):
    """Outputs of a module in evaluation mode.

    Parameters
    ----------
    module : torch.nn.Module, on the device
    batches : iterable of inputs, see `train_network`

    Returns
    -------
    float32 tensor of shape (n, …), on the CPU

    Raises
    ------
    MemoryError
        Where memory runs out for a single example.
    """
    module.eval()
    with torch.inference_mode():
        return torch.cat([
            _outputs_in_pieces(module, inputs, device, mixed_precision) for inputs in batches
        ])


def _check(total, step):
    if not math.isfinite(total):
        raise Diverged(f"the training loss is NaN or infinite by step {step}")


class _Cut:
    """Gradients of batches that are cut into as many pieces as memory makes necessary."""

    def __init__(self, module, loss, optimizer, device, mixed_precision):
        self._module, self._loss, self._optimizer = module, loss, optimizer
        self._device, self._mixed_precision = device, mixed_precision
        self._n_pieces = 1

    def gradients(self, inputs, y):
        """Leave the gradient of a batch's loss with the parameters; return the loss, a tensor."""
        while True:
            self._optimizer.zero_grad(set_to_none=True)
            try:
                return self._accumulate(inputs, y)
            except Exception as error:
                if not is_out_of_memory(error):
                    raise
                message = str(error)
            # Outside the handler, as the exception holds what was allocated.
            if self._n_pieces >= len(y):
                raise MemoryError(message)
            if any(isinstance(m, _BatchNorm) and m.training for m in self._module.modules()):
                raise MemoryError(f"a batch of {len(y)} doesn't fit, and batch normalisation "
                                  f"doesn't allow to cut it: lower batch_size ({message})")
            self._n_pieces *= 2

    def _accumulate(self, inputs, y):
        total, size = 0.0, -(-len(y) // self._n_pieces)
        for start in range(0, len(y), size):
            part = slice(start, start + size)
            with _autocast(self._device, self._mixed_precision):
                outputs = _call(self._module, _sliced(inputs, part))
            share = self._loss(outputs.float(), y[part]) * (len(y[part]) / len(y))
            share.backward()
            total = total + share.detach()
        return total


def _outputs_in_pieces(module, inputs, device, mixed_precision):
    try:
        with _autocast(device, mixed_precision):
            return _call(module, _moved(inputs, device)).float().cpu()
    except Exception as error:
        if not is_out_of_memory(error):
            raise
        message = str(error)
    n = len(next(iter(inputs.values())) if isinstance(inputs, dict) else inputs)
    if n == 1:
        raise MemoryError(message)
    return torch.cat([
        _outputs_in_pieces(module, _sliced(inputs, part), device, mixed_precision)
        for part in (slice(0, n // 2), slice(n // 2, n))
    ])


def _call(module, inputs):
    """The module's outputs; of a Hugging Face model, its logits."""
    outputs = module(**inputs) if isinstance(inputs, dict) else module(inputs)
    return getattr(outputs, "logits", outputs)


def _moved(inputs, device):
    if isinstance(inputs, dict):
        return {name: value.to(device, non_blocking=True) for name, value in inputs.items()}
    return inputs.to(device, non_blocking=True)


def _sliced(inputs, part):
    if isinstance(inputs, dict):
        return {name: value[part] for name, value in inputs.items()}
    return inputs[part]


def _autocast(device, mixed_precision):
    if device == "cuda" and mixed_precision:
        return torch.autocast(device, torch.bfloat16)
    return nullcontext()
