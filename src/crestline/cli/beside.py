"""The folders that lie beside the sources: benchmarks and papers, which commands run."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

from crestline.cli.errors import Misuse
from crestline.core.errors import MissingExtraError
from crestline.core.extras import missing


def find(name: str, instead: str) -> Path:
    """The clone's folder, else the one that an installed package brings along."""
    package = Path(__file__).resolve().parent.parent
    for folder in (package.parent.parent / name, package / f"_{name}"):
        if (folder / "__init__.py").is_file():
            return folder
    raise Misuse(
        f"the {name} are not part of this installation: clone the project and run {instead} there"
    )


def as_package(name: str, folder: Path) -> ModuleType:
    """The folder as a package of this name, wherever it is."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(
            name, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


def imported(module: str, what: str) -> ModuleType:
    """A module of such a package; a clear word where it needs a package that is not there."""
    with telling_what_is_missing(what):
        return importlib.import_module(module)


@contextmanager
def telling_what_is_missing(what: str) -> Iterator[None]:
    """Inside, a package that is not installed is an error which says what to install."""
    try:
        yield
    except MissingExtraError:
        raise
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in ("", "benchmarks", "papers", "crestline"):
            raise
        raise missing(package, what) from error


__all__ = ["as_package", "find", "imported", "telling_what_is_missing"]
