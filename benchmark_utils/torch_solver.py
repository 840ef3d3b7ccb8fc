"""Base class of solvers that train PyTorch modules, many configurations at once.

It can be imported without PyTorch, so that Benchopt can say what is missing.
"""
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, cached_property, partial
from importlib.metadata import version
from itertools import groupby

import numpy as np
import pandas as pd
from filelock import FileLock, Timeout

from benchmark_utils.encoding import table_encoder
from benchmark_utils.progress import Progress
from benchmark_utils.solver import SplitSolver

#: how many are trained together, by kind of device; fewer where memory runs out
GROUP_SIZE = {"cpu": 64, "cuda": 1024}
N_KEPT = 4  # converted arrays to keep: the benchmarking set is asked for by every predictor


@dataclass(frozen=True)
class Recipe:
    """How one configuration is trained.

    Attributes
    ----------
    learning_rates : array of shape (n_steps,)
    batch_size : int
    weight_decay : float, times the parameters added to their gradients (L2)
    check_every : int, or None
        Steps after which the validation part is scored each time, to keep the weights with the best
        score (accuracy, or minus squared error); None, or no such part: the last weights are kept.
    """
    learning_rates: np.ndarray
    batch_size: int
    weight_decay: float = 0.0
    check_every: int | None = None


class TorchSolver(SplitSolver):
    """A PyTorch module and how it is trained.

    A solver derives from it with a `name`, `parameters`, a `search_space`, `build` and `recipe`.

    The configurations of one repetition, and of `runs_at_once` successive ones, are trained
    together (`benchmark_utils.batched_training`), on a GPU if PyTorch finds one. Which of them
    form a group depends neither on what the store of fits holds nor on the number of workers;
    workers that want the same fits share the groups among themselves.

    Tables are encoded inside each training part, and the targets of regression are standardised
    there; arrays go to the module as they are.
    """
    parameters = {
        **SplitSolver.parameters,
        # successive repetitions that are trained together, to fill a GPU
        "runs_at_once": [1],
    }
    protocol = tuple(parameters)

    def build(self, input_shape, n_outputs, config):
        """Return an untrained torch.nn.Module, from (batch, *input_shape) to (batch, n_outputs).

        Parameters
        ----------
        input_shape : tuple, shape of one example
        n_outputs : int, number of classes, for which it gives logits; 1 for regression
        config : dict, the hyperparameters
        """
        raise NotImplementedError

    def recipe(self, config, n_train):
        """Return the Recipe of a configuration, for a number of training examples."""
        raise NotImplementedError

    def loss(self, outputs, y):
        """Loss of one batch, a scalar: mean cross-entropy, or for regression squared error.

        Parameters
        ----------
        outputs : tensor of shape (batch, n_outputs)
        y : tensor of shape (batch,)
        """
        from benchmark_utils.batched_training import cross_entropy, squared_error

        return (cross_entropy if self.task == "classification" else squared_error)(outputs, y)

    def skip(self, problem, **objective):
        n_runs = self.runs_at_once
        if problem is None and (not isinstance(n_runs, (int, np.integer)) or n_runs < 1):
            problem = f"runs_at_once={n_runs!r} is not an integer ≥ 1"
        return super().skip(problem, **objective)

    def set_objective(self, **objective):
        super().set_objective(**objective)
        self._kept, self._inputs, self._failed = [], None, {}

    def _records(self, job, batch):
        group = [_Request(self, job, i, config) for i, config in batch]
        for part in self._groups(group):
            self._make(part)
        records = []
        for request in group:
            record = self.store.get(request.key)
            records.append(self._failed[request.key] if record is None else record)
            self._progress.step(job, request.index)
        return records

    def depends_on(self):
        # Results differ in the last digits between devices.
        return {"torch": torch_and_device()}

    def _fit_ahead(self, tuner):
        with self.store:
            if all(self._key(*fit) in self.store for fit in tuner.planned()):
                return
        first = self._repetition // self.runs_at_once * self.runs_at_once
        block = range(first, first + self.runs_at_once)
        runs = [run for run in map(self._run_of, block) if run is not None]
        groups = self._groups([
            _Request(run, *fit) for run in runs for fit in run._tuner().planned()
        ])
        with Progress(str(self), sum(map(len, groups))) as progress:
            wait, pending = False, list(enumerate(groups))
            while pending:
                busy = []
                for g, group in pending:
                    with _claim(runs[0].store.path, f"{self.runs_at_once}-{g}", wait) as is_ours:
                        if is_ours:
                            wait = False
                            self._make(group, progress)
                        else:
                            busy.append((g, group))
                # Where others make all that is left, wait for the first of it.
                wait, pending = len(busy) == len(pending), busy

    def _run_of(self, repetition):
        """This solver, set up for a repetition; None where that one is skipped."""
        if repetition == self._repetition:
            return self
        problem = self._problem_of(repetition)
        run = type(self).get_instance(**self._parameters)
        is_skipped, _ = run.skip(**problem)
        if is_skipped:
            return None
        run.set_objective(**problem)
        return run

    def _groups(self, requests):
        _, device = torch_and_device()
        size = GROUP_SIZE[device]
        return [requests[i:i + size] for i in range(0, len(requests), size)]

    def _make(self, group, progress=None):
        """Put into the stores what they lack of a group, which is trained as a whole."""
        missing = []
        for run, requests in groupby(group, lambda request: request.run):
            with run.store:
                missing += [
                    request for request in requests
                    if request.key not in run.store and request.key not in run._failed
                ]
        if not missing:
            if progress is not None:
                progress.advance(len(group))
            return
        inputs = [request.run._inputs_of(request.job.split) for request in group]
        trained = self._train_where_possible(group, inputs, progress)
        made = dict(zip(group, zip(inputs, trained, strict=True), strict=True))
        for run, requests in groupby(missing, lambda request: request.run):
            with run.store:
                for request in requests:
                    of, result = made[request]
                    record, is_lasting = run._make_record(
                        request.job, partial(run._predictor, of, result)
                    )
                    if record["status"] == "ok":
                        record["fit_seconds"] = result.seconds
                    if not is_lasting:
                        run._failed[request.key] = record
                    run._keep(request.key, record, is_lasting)

    def _train_where_possible(self, group, inputs, progress):
        """What was trained, or the exception that kept it from being so."""
        trainings = [
            of if isinstance(of, Exception) else request.run._training_of(request, of)
            for request, of in zip(group, inputs, strict=True)
        ]
        possible = [training for training in trainings if not isinstance(training, Exception)]
        trained = iter(self._train(possible, progress) if possible else ())
        return [of if isinstance(of, Exception) else next(trained) for of in trainings]

    def _train(self, trainings, progress=None):
        from benchmark_utils.batched_training import accuracies, negative_squares, train

        def on_steps(n_members, n_made, done, n_steps):
            if progress is not None:
                progress.advance(n_members * n_made / n_steps, f"step {done} of {n_steps}")

        _, device = torch_and_device()
        return train(
            trainings, self.loss, device=device, group_size=len(trainings), on_steps=on_steps,
            score=accuracies if self.task == "classification" else negative_squares,
        )

    def _training_of(self, request, inputs):
        """What to train, or the exception that says why it can't be."""
        try:
            return self._training(inputs, self.config | request.config, request.seed)
        except Exception as error:
            return error

    def _training(self, inputs, config, seed):
        from benchmark_utils.batched_training import Training

        recipe = self.recipe(config, len(inputs.rows))
        n_outputs = self.n_classes if self.task == "classification" else 1
        return Training(
            build=partial(self.build, inputs.X.shape[1:], n_outputs, config),
            X=inputs.X, rows=inputs.rows, y=inputs.y,
            learning_rates=np.asarray(recipe.learning_rates, float),
            weight_decay=recipe.weight_decay, batch_size=recipe.batch_size, seed=seed,
            val_rows=inputs.val_rows, val_y=inputs.val_y, check_every=recipe.check_every,
        )

    def _predictor(self, inputs, trained):
        if isinstance(trained, Exception):
            raise trained

        def predict(X):
            outputs = trained.outputs(self._array(X, inputs.encoder)).double()
            if self.task == "classification":
                return outputs.softmax(1).numpy()
            return outputs.numpy().reshape(len(X)) * inputs.scale + inputs.center

        return predict

    def _inputs_of(self, split):
        # Requests come split by split, so that one is enough to keep.
        if self._inputs is None or self._inputs[0] is not split:
            try:
                self._inputs = split, self._prepared(split)
            except Exception as error:
                self._inputs = split, error
        return self._inputs[1]

    def _prepared(self, split):
        """What the module sees of a split's training and validation parts."""
        study, rows, val_rows = self.study, split.train, split.val
        encoder, y, val_y = None, study.y[rows], study.y[val_rows]
        if isinstance(study.X, pd.DataFrame):
            encoder = table_encoder(study.X).fit(study.X.iloc[rows], y)
        X = self._array(study.X, encoder)
        if self.task == "classification":
            return _Inputs(X, rows, y, val_rows, val_y, encoder)
        center, scale = y.mean(), y.std() or 1.0
        y, val_y = ((target - center) / scale for target in (y, val_y))
        return _Inputs(X, rows, y, val_rows, val_y, encoder, center, scale)

    def _array(self, X, encoder):
        """X as an array for the module; the same array as long as it is kept."""
        kept = next((e for e in self._kept if e[0] is X and e[1] is encoder), None)
        if kept is None:
            kept = X, encoder, self._convert(X, encoder)
        # The most recently used first: validation and test parts come and go.
        self._kept = [kept, *(e for e in self._kept if e is not kept)][:N_KEPT]
        return kept[2]

    def _convert(self, X, encoder):
        return np.ascontiguousarray(X if encoder is None else encoder.transform(X), np.float32)


@dataclass(frozen=True, eq=False)
class _Inputs:
    """What is trained on: `rows` of X, with targets y = (the data's − center) / scale, and the
    same of the validation part."""
    X: np.ndarray
    rows: np.ndarray
    y: np.ndarray
    val_rows: np.ndarray
    val_y: np.ndarray
    encoder: object
    center: float = 0.0
    scale: float = 1.0


@dataclass(frozen=True, eq=False)
class _Request:
    """One fit of one run, which is the solver as set up for a repetition."""
    run: TorchSolver
    job: object
    index: int
    config: dict

    @cached_property
    def key(self):
        return self.run._key(self.job, self.index, self.config)

    @cached_property
    def seed(self):
        return self.run._training_seed(self.job, self.index)


@contextmanager
def _claim(path, name, wait):
    """Whether this process alone may work on something, named beside the path of a store."""
    if path is None:
        yield True
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path.with_suffix(f".{name}.lock"))
    try:
        lock.acquire(timeout=-1 if wait else 0)
    except Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


@cache
def torch_and_device():
    """PyTorch's version and the kind of device to train on, or None without PyTorch."""
    try:
        import torch
    except ImportError:
        return None
    return version("torch"), "cuda" if torch.cuda.is_available() else "cpu"
