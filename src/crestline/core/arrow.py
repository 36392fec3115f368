"""Arrow without pandas, as long as nobody else imports pandas.

With its first array Arrow imports pandas, if it is installed, to recognise values of pandas. That
takes half a second. ``put_off_pandas`` lets this one import fail, so that Arrow goes on without
pandas. A finder on ``sys.meta_path`` stays: when somebody imports pandas, it makes Arrow import it
too. Arrow looks only once by itself. Without the finder ``pyarrow.array`` would not recognise a
Series in programs that import pandas after Crestline.

Before that, a time with nanoseconds has no Python value: ``to_pylist`` raises an error, as it does
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
    """Makes the import of pandas fail in one thread; in others, lets Arrow import pandas too."""

    def __init__(self) -> None:
        self.failing_thread: int | None = get_ident()

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "pandas":
            return None
        if self.failing_thread == get_ident():
            raise ModuleNotFoundError("pandas is not looked for yet", name=name)
        others = (finder for finder in list(sys.meta_path) if finder is not self)
        specs = (finder.find_spec(name, path, target) for finder in others)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                execute(module)
                with suppress(ImportError):  # a pandas too old for Arrow
                    pa.lib._pandas_api.pd  # noqa: B018  (this lets Arrow import pandas)

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def put_off_pandas() -> None:
    """Keep Arrow from importing pandas until somebody else does."""
    if "pandas" in sys.modules or any(isinstance(each, _Finder) for each in sys.meta_path):
        return
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    pa.array([0])  # Arrow tries to import pandas once, here
    finder.failing_thread = None


__all__ = ["put_off_pandas"]
