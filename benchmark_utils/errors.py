"""What can go wrong without being a bug, and how messages list names."""
import re
from difflib import SequenceMatcher

LONGEST_LIST = 5


class InputError(ValueError):
    """The data or parameters can't be used; the message says which, where and what to do.

    Data sets and the objective turn it into Benchopt's "skip", so that it stops
    nothing else in the same command.
    """


class Diverged(ArithmeticError):
    """A predictor returned NaN or infinite predictions."""


def check_boolean(name, value):
    """InputError for anything else: Benchopt's command line makes text of false and no."""
    if not isinstance(value, bool):
        raise InputError(f"{name}={value!r} is neither True nor False")


#: what PyTorch says in a RuntimeError where memory runs out, and of a GPU that fails
OUT_OF_MEMORY = re.compile(
    r"out of memory|can't allocate memory|STATUS_ALLOC_FAILED", re.IGNORECASE,
)
OF_A_GPU = re.compile(r"(CUDA|CUDNN) error|(CUBLAS|CUDNN)_STATUS_", re.IGNORECASE)


def is_out_of_memory(error):
    """Whether an exception says that memory ran out, of a GPU or the machine."""
    return isinstance(error, MemoryError) or _says(error, OUT_OF_MEMORY)


def is_of_the_machine(error):
    """Whether an exception is due to the state of the machine, and may not come again."""
    return (isinstance(error, ImportError | OSError) or is_out_of_memory(error)
            or _says(error, OF_A_GPU))


def _says(error, pattern):
    return isinstance(error, RuntimeError) and pattern.search(str(error)) is not None


def listed(items, longest=LONGEST_LIST):
    """The first items of a list as text."""
    shown = ", ".join(map(str, items[:longest]))
    return f"{shown}, …" if len(items) > longest else shown


def suggestion(wrong, names):
    """What a name that is none of `names` may have meant, closest first, as text."""
    def similarity(name):
        return SequenceMatcher(None, str(wrong).lower(), name.lower()).ratio()

    if not names:
        return "there are none"
    closest = sorted(names, key=similarity, reverse=True)
    guess = f"did you mean {closest[0]!r}? " if similarity(closest[0]) > 0.6 else ""
    return f"{guess}there are {listed(closest, 20)}"
