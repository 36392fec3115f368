"""``benchmarks/`` and ``papers/`` of the clone that this package runs from.

They are not part of an installed package. ``make`` installs the clone in place, so that its
``crestline`` command finds them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from crestline.cli.errors import Misuse
from crestline.core.errors import MissingExtraError
from crestline.core.extras import missing

#: The folder that holds ``src``.
ROOT = Path(__file__).resolve().parents[3]


def import_from_clone(module: str, command: str) -> Any:
    """Import a module of ``benchmarks`` or ``papers``; raise Misuse where there is no clone."""
    package = module.partition(".")[0]
    if not (ROOT / package / "__init__.py").is_file():
        raise Misuse(
            f"crestline {command} needs a clone of the project, because {package}/ is not part of"
            f" the installed package: clone the repository and run 'make {command}' there"
        )
    if str(ROOT) not in sys.path:
        sys.path.insert(0, str(ROOT))
    with naming_missing_packages(module):
        return import_module(module)


def suites() -> dict[str, str]:
    """The suites by name, with what they measure, without importing them and their rivals."""
    described: dict[str, str] = import_from_clone("benchmarks", "bench").SUITES
    return described


def titles() -> dict[str, str]:
    """The papers' titles by name, without importing what runs and draws them."""
    papers: dict[str, str] = import_from_clone("papers", "reproduce").PAPERS
    return papers


@contextmanager
def naming_missing_packages(what: str) -> Iterator[None]:
    """Turn the import of a package that is not installed into an error that says what to do."""
    try:
        yield
    except MissingExtraError:
        raise
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "benchmarks", "papers", "crestline"):
            raise
        raise missing(package, what) from error


__all__ = ["ROOT", "import_from_clone", "naming_missing_packages", "suites", "titles"]
