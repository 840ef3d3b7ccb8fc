"""Training many modules of one architecture at once, as one batched computation.

The parameters of M modules lie in one array of shape (M, P), and every step makes the gradients of
all of them by one batched product per layer. Each member has its own initialisation, order of
data, learning rates and weight decay, none of which depends on what it is trained with.
"""
import gc
import time
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch
from torch.func import functional_call, grad, vmap
from torch.fx.experimental.proxy_tensor import make_fx

from benchmark_utils.errors import is_out_of_memory

STEPS_AT_A_TIME = 64
ROWS_AT_A_TIME = 8192


@dataclass(frozen=True, eq=False)
class Training:
    """What one module is trained on, and how.

    Attributes
    ----------
    build : callable () -> torch.nn.Module
        Called with PyTorch's random numbers seeded, so that its initialisation is this training's.
    X : array of shape (n, …), which trainings may share
    rows : integer array of shape (n_train,), the examples of X to train on
    y : array of shape (n_train,), the target of each of them: integers or floats
    learning_rates : array of shape (n_steps,)
    weight_decay : float, added to the gradient as weight_decay · parameter (L2)
    batch_size : int
        The examples come in random order, each once before any comes again; a batch may begin in
        one such pass and end in the next.
    seed : int, of the initialisation and the order of the examples
    val_rows, val_y : arrays of shape (n_val,), or None
        Examples of X and their targets, by which the best weights are told.
    check_every : int, or None
        After every so many steps, and after the last, the validation examples are scored, and the
        weights with the best score so far are kept, the earlier ones if equal. None, or no such
        examples: the last weights are.
    """
    build: object
    X: np.ndarray
    rows: np.ndarray
    y: np.ndarray
    learning_rates: np.ndarray
    weight_decay: float
    batch_size: int
    seed: int
    val_rows: np.ndarray | None = None
    val_y: np.ndarray | None = None
    check_every: int | None = None

    def __post_init__(self):
        if self.batch_size < 1 or not len(self.learning_rates):
            raise ValueError(
                f"{len(self.learning_rates)} steps of {self.batch_size} examples train nothing"
            )

    @property
    def is_checked(self):
        return self.check_every is not None and self.val_rows is not None and len(self.val_rows)


@dataclass(frozen=True, eq=False)
class Trained:
    """A trained member.

    Attributes
    ----------
    outputs : callable, array of shape (n, …) -> the module's outputs, tensor of shape (n, …)
    seconds : float, its share of the time that its group took
    """
    outputs: object
    seconds: float


def cross_entropy(outputs, y):
    """Mean cross-entropy of logits of shape (batch, n_classes); as PyTorch's, and several times as
    fast for few classes, as the sums run over the batch's contiguous axis."""
    log_probability = torch.log_softmax(outputs.T.contiguous(), 0)
    return -log_probability.gather(0, y[None]).mean()


def squared_error(outputs, y):
    """Mean squared error of outputs of shape (batch, 1) or (batch,)."""
    return (outputs.reshape(y.shape) - y).square().mean()


def accuracies(outputs, y):
    """Whether each of the logits of shape (batch, n_classes) is right; a NaN never is."""
    return (outputs.argmax(1) == y) & outputs.isfinite().all(1)


def negative_squares(outputs, y):
    """Minus the squared error of each output of shape (batch, 1) or (batch,)."""
    return -(outputs.reshape(y.shape) - y).square()


def train(trainings, loss, device="cpu", group_size=32, optimizer=torch.optim.Adam, on_steps=None,
          score=accuracies):
    """Train every module of a list.

    Neighbours in the list are trained together, where their modules and batches have the same
    shapes, at most `group_size` at a time: half as many for as long as memory runs out, and one by
    one where modules draw random numbers in training, as dropout does.

    Parameters
    ----------
    trainings : list of Training
    loss : callable (outputs, targets) -> scalar tensor
        Of one batch of one module, made of differentiable operations that don't depend on values.
    device : str or torch.device
    group_size : int
    optimizer : callable (parameters, lr=1.0) -> torch.optim.Optimizer
        One whose steps are proportional to its learning rate and made of the gradients alone: Adam
        or SGD, with momentum or without.
    on_steps : callable (members, steps just made, steps made so far, steps to make)
        Called now and then for each group.
    score : callable (outputs, targets) -> tensor of shape (batch,)
        Each validation example's score, higher is better; their mean tells the best weights.

    Returns
    -------
    list of Trained, or of the exception that kept a member from being trained
        A member that diverges is a Trained whose outputs are NaN or infinite.
    """
    results = [None] * len(trainings)
    for start in range(0, len(trainings), group_size):
        alike = {}
        for i in range(start, min(start + group_size, len(trainings))):
            try:
                module = _seeded(trainings[i])
            except Exception as error:
                results[i] = error
                continue
            alike.setdefault(_shape(trainings[i], module), []).append((i, module))
        for members in alike.values():
            index, modules = zip(*members, strict=True)
            group = [trainings[i] for i in index]
            for i, result in zip(
                index, _train_or_halve(group, modules, loss, device, optimizer, on_steps, score),
                strict=True,
            ):
                results[i] = result
    return results


def _seeded(training):
    with random_numbers(training.seed, "cpu"):
        return training.build().train()


@contextmanager
def random_numbers(seed, device):
    """PyTorch's random numbers from a seed, and afterwards as they were."""
    devices = [device] if torch.device(device).type == "cuda" else []
    with torch.random.fork_rng(devices):
        torch.manual_seed(seed)
        yield


def _shape(training, module):
    """What members of one group have in common."""
    return (
        training.X.shape[1:], training.y.dtype, training.batch_size, len(training.learning_rates),
        training.check_every if training.is_checked else None,
        tuple((name, parameter.shape) for name, parameter in module.named_parameters()),
    )


def _train_or_halve(group, modules, loss, device, optimizer, on_steps, score):
    started = time.perf_counter()
    try:
        outputs = _train_group(group, modules, loss, device, optimizer, on_steps, score)
    except Exception as error:
        is_random = len(group) > 1 and "randomness" in str(error)
        if "mutate a captured Tensor" in str(error):
            error = ValueError("the module changes its buffers in training, as batch normalisation "
                               "does, which can't be batched")
        if not is_random and not is_out_of_memory(error):
            return [error] * len(group)
        if len(group) == 1:
            return [MemoryError(str(error))]
        size = 1 if is_random else (len(group) + 1) // 2
    else:
        seconds = (time.perf_counter() - started) / len(group)
        return [Trained(member, seconds) for member in outputs]
    # Outside the handler, as the exception holds what was allocated; as do cycles of the tracer's.
    gc.collect()
    return [
        result for part in (slice(i, i + size) for i in range(0, len(group), size))
        for result in _train_or_halve(
            group[part], modules[part], loss, device, optimizer, on_steps, score
        )
    ]


def _train_group(group, modules, loss, device, optimizer, on_steps, score):
    n_steps, batch_size = len(group[0].learning_rates), group[0].batch_size
    batches = _Batches(group, device)
    parameters, unpack = _stack(modules, device)
    # A copy, as smaller groups may have to be made of the modules where they are.
    module = deepcopy(modules[0]).to(device)

    def member_loss(member, x, y):
        return loss(functional_call(module, member, (x,)), y)

    # A module that draws random numbers in training would depend on its group.
    randomness = "error" if len(group) > 1 else "different"
    member_gradients = vmap(grad(member_loss), randomness=randomness)

    def all_gradients(parameters, x, y):
        gradients = member_gradients(unpack(parameters), x, y)
        return torch.cat([g.reshape(len(group), -1) for g in gradients.values()], 1)

    # One optimiser for all members: it moves `step` from zero by a learning rate of one, and each
    # member's parameters move by its own learning rate times that.
    step = torch.nn.Parameter(torch.zeros_like(parameters))
    stepper = optimizer([step], lr=1.0, fused=True)
    rates = np.array([training.learning_rates for training in group], np.float32).T
    rates = torch.from_numpy(rates).to(device)[:, :, None]
    decay = torch.tensor([[training.weight_decay] for training in group], device=device)

    check_every, best = group[0].check_every if group[0].is_checked else None, None
    if check_every is not None:
        best = _Best(group, parameters, lambda member, x: functional_call(module, member, (x,)),
                     unpack, score, batches)
    gradients, done = None, 0
    with torch.no_grad(), random_numbers(group[0].seed, device):
        while done < n_steps:
            n_next = min(STEPS_AT_A_TIME, n_steps - done)
            if best is not None:
                n_next = min(n_next, check_every - done % check_every)
            for x, y in batches.take(n_next, batch_size):
                if gradients is None:
                    gradients = _traced(all_gradients, parameters, x, y)
                step.zero_()
                step.grad = gradients(parameters, x, y).addcmul_(parameters, decay)
                stepper.step()
                parameters.addcmul_(step, rates[done])
                done += 1
            if best is not None and (done % check_every == 0 or done == n_steps):
                module.eval()
                best.check(parameters)
                module.train()
            if on_steps is not None:
                on_steps(len(group), n_next, done, n_steps)
    if best is not None:
        parameters = best.parameters
    if parameters.is_cuda:
        torch.cuda.synchronize()  # else the time and a shortage of memory would show later
    module.eval()
    named = unpack(parameters)
    return [
        _Outputs(module, {name: values[m].clone() for name, values in named.items()})
        for m in range(len(group))
    ]


def _traced(function, *arguments):
    """The function as a flat list of operations, which runs with less overhead; or itself, where
    it can't be written so."""
    try:
        return make_fx(function)(*arguments)
    except Exception as error:
        if is_out_of_memory(error):
            raise
        return function


def _stack(modules, device):
    """Parameters of M modules as one array of shape (M, P), and how to see it as theirs."""
    named = [dict(module.named_parameters()) for module in modules]
    shapes = {name: parameter.shape for name, parameter in named[0].items()}
    sizes = [shape.numel() for shape in shapes.values()]
    stacked = torch.stack([
        torch.cat([parameter.detach().reshape(-1) for parameter in member.values()])
        for member in named
    ]).to(device)

    def unpack(stacked):
        parts = stacked.split(sizes, 1)
        return {
            name: part.view(len(stacked), *shape)
            for (name, shape), part in zip(shapes.items(), parts, strict=True)
        }

    return stacked, unpack


class _Best:
    """The weights of each member at its best validation score so far.

    A member without a finite output keeps its last weights, which show that it diverged.
    """

    def __init__(self, group, parameters, outputs, unpack, score, batches):
        self.parameters = parameters.clone()
        self._best = torch.full((len(group), 1), -torch.inf, device=parameters.device)
        self._outputs, self._unpack, self._score = vmap(outputs), unpack, score
        self._batches, self._n = batches, [len(training.val_rows) for training in group]

    def check(self, parameters):
        sums = torch.zeros_like(self._best)
        named = self._unpack(parameters)
        for x, y, is_there in self._batches.validation(max(self._n)):
            scores = vmap(self._score)(self._outputs(named, x), y).float()
            sums += torch.where(is_there, scores, 0.0).sum(1, keepdim=True)
        means = sums / torch.tensor(self._n, device=sums.device)[:, None]
        never = ~self._best.isfinite()
        is_better = (means > self._best) | never
        self.parameters = torch.where(is_better, parameters, self.parameters)
        self._best = torch.where(is_better, means, self._best).nan_to_num(nan=-torch.inf)


class _Batches:
    """The batches of all members of a group, in each one's own order."""

    def __init__(self, group, device):
        self._device, self._group = device, group
        arrays = {id(training.X): training.X for training in group}
        starts = dict(zip(arrays, np.cumsum([0, *map(len, arrays.values())]), strict=False))
        self._X = torch.cat([
            torch.from_numpy(np.asarray(X, np.float32)) for X in arrays.values()
        ]).to(device)
        self._rows = [starts[id(training.X)] + training.rows for training in group]
        is_float = np.issubdtype(group[0].y.dtype, np.floating)
        self._dtype = np.float32 if is_float else np.int64
        self._y = [training.y.astype(self._dtype) for training in group]
        self._starts = starts
        self._rngs = [np.random.default_rng(training.seed) for training in group]
        self._left = [np.arange(0)] * len(group)

    def take(self, n_steps, batch_size):
        """Yield x of shape (M, batch_size, …) and y of shape (M, batch_size), n_steps times."""
        shape = (n_steps, len(self._group), batch_size)
        rows, y = np.empty(shape, np.int64), np.empty(shape, self._y[0].dtype)
        for m in range(len(self._group)):
            order = self._next(m, n_steps * batch_size).reshape(n_steps, batch_size)
            rows[:, m], y[:, m] = self._rows[m][order], self._y[m][order]
        rows, y = (torch.from_numpy(array).to(self._device) for array in (rows, y))
        for s in range(n_steps):
            x = self._X.index_select(0, rows[s].reshape(-1))
            yield x.view(*shape[1:], *x.shape[1:]), y[s]

    def validation(self, n_most):
        """Yield x of shape (M, n, …), y and whether there is such an example, of shape (M, n)."""
        M = len(self._group)
        at_a_time = max(ROWS_AT_A_TIME // M, 1)
        for start in range(0, n_most, at_a_time):
            n = min(at_a_time, n_most - start)
            rows, y = np.zeros((M, n), np.int64), np.zeros((M, n), self._dtype)
            is_there = np.zeros((M, n), bool)
            for m, training in enumerate(self._group):
                of_member = training.val_rows[start:start + n]
                is_there[m, :len(of_member)] = True
                rows[m, :len(of_member)] = self._starts[id(training.X)] + of_member
                y[m, :len(of_member)] = training.val_y[start:start + n]
            rows, y, is_there = (
                torch.from_numpy(array).to(self._device) for array in (rows, y, is_there)
            )
            x = self._X.index_select(0, rows.reshape(-1))
            yield x.view(M, n, *x.shape[1:]), y, is_there

    def _next(self, m, n):
        parts = [self._left[m]]
        while sum(map(len, parts)) < n:
            parts.append(self._rngs[m].permutation(len(self._rows[m])))
        order = np.concatenate(parts)
        self._left[m] = order[n:]
        return order[:n]


class _Outputs:
    def __init__(self, module, parameters):
        self._module, self._parameters = module, parameters

    def __call__(self, X):
        device = next(iter(self._parameters.values())).device
        with torch.no_grad():
            return torch.cat([
                functional_call(self._module, self._parameters, (part.to(device).float(),)).cpu()
                for part in torch.as_tensor(X).split(ROWS_AT_A_TIME)
            ])
