"""Arrow without pandas, for as long as nobody else imports it.

At its first array Arrow imports pandas where it is installed, only to ask whether the values are
pandas'. That takes half a second. Here Arrow is told that there is no pandas; as soon as somebody
imports pandas, Arrow is told of it. Conversions to pandas import it as ever.

Until then a time finer than a microsecond has no Python value: ``to_pylist`` refuses it, as it does
where pandas is not installed.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from threading import get_ident
from types import ModuleType

import pyarrow as pa


class _Finder(MetaPathFinder):
    """Finds no pandas in the thread that asks Arrow to look for it; elsewhere, tells Arrow."""

    def __init__(self) -> None:
        self.hiding_from: int | None = get_ident()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "pandas":
            return None
        if self.hiding_from == get_ident():
            raise ModuleNotFoundError("pandas is not looked for yet", name=name)
        others = (finder for finder in list(sys.meta_path) if finder is not self)
        specs = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                with suppress(ImportError):  # too old for Arrow
                    pa.lib._pandas_api.pd  # noqa: B018  (imports it)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def put_off_pandas() -> None:
    """Let Arrow do without pandas until somebody imports it."""
    if "pandas" in sys.modules or any(isinstance(each, _Finder) for each in sys.meta_path):
        return
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    pa.array([0])  # Arrow looks for pandas once
    finder.hiding_from = None


__all__ = ["put_off_pandas"]
