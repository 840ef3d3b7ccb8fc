"""What a component needs beyond requirements.txt."""
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec

from packaging.version import Version

#: what older versions lack: pandas a type of its own for text with missing values, the others
#: names that are used here
OLDEST = {"pandas": "3", "torch": "2.6", "transformers": "4.57", "sentence_transformers": "5.4"}


def need(*packages):
    """Raise ImportError for the first package that isn't installed, or is older than `OLDEST`,
    without importing any.

    To be called at the top of a component, in Benchopt's `safe_import_context`: Benchopt loads all
    components for every run, and PyTorch alone takes two seconds and half a gigabyte. The component
    imports what it needs in its methods.
    """
    for package in packages:
        spec = find_spec(package)
        # Without an origin it is a mere folder of that name, such as this benchmark's datasets.
        if spec is None or spec.origin is None:
            raise ImportError(f"{package} isn't installed", name=package)
        (found,), oldest = versions(package), OLDEST.get(package)
        # By their numbers alone: builds of vendors may be called 2.6.0a0.
        if oldest and found and Version(found).release < Version(oldest).release:
            raise ImportError(
                f"{package} {found} is too old: pip install '{package}>={oldest}'", name=package
            )


def versions(*packages):
    """Versions of packages, for the keys of caches; None for an absent one."""
    found = []
    for package in packages:
        try:
            found.append(version(package))
        except PackageNotFoundError:
            found.append(None)
    return tuple(found)
