"""Packages that come with extras only: looked for before they are used.

``pip install crestline`` brings what one process needs. What else there is says in one sentence
which extra it needs.
"""

from __future__ import annotations

import sys
from importlib.util import find_spec

from crestline.core.errors import MissingExtraError

#: The extra that installs a package.
_EXTRAS = {
    "aiohttp": "stores",
    "fsspec": "stores",
    "matplotlib": "plot",
    "pandas": "spark",
    "polars": "bench",
    "pyspark": "spark",
    "sortedcontainers": "bench",
}


def is_installed(package: str) -> bool:
    """Whether a package could be imported, without importing it.

    >>> is_installed("json"), is_installed("no_such_package")
    (True, False)
    """
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):  # kept from being found, or made without a spec
        return package in sys.modules


def need(package: str, what: str) -> None:
    """Raise MissingExtraError unless the package is installed; ``what`` needs it."""
    if not is_installed(package):
        raise missing(package, what)


def missing(package: str, what: str) -> MissingExtraError:
    """The error that a package is not installed.

    >>> print(missing("matplotlib", "a picture"))
    a picture needs matplotlib, which is not installed: pip install 'crestline[plot]'
    """
    extra = _EXTRAS.get(package)
    name = f"'crestline[{extra}]'" if extra else package
    return MissingExtraError(
        f"{what} needs {package}, which is not installed: pip install {name}", name=package
    )


__all__ = ["is_installed", "missing", "need"]
