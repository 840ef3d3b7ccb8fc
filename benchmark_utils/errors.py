"""The two things that can go wrong without being a bug."""


class InputError(ValueError):
    """The data or parameters can't be used; the message says which, where and what to do.

    Data sets and the objective turn it into Benchopt's "skip", so that it stops
    nothing else in the same command.
    """


class Diverged(ArithmeticError):
    """A predictor returned NaN or infinite predictions."""
