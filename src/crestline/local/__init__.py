"""The in-process engine: bounded runs, sessions, following, boards, in one Python process."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crestline.local.board import Board
    from crestline.local.session import BoundedRun, Session, run_bounded

__all__ = ["Board", "BoundedRun", "Session", "run_bounded"]

#: Loaded when first asked for: who runs a query needs no board.
_HOMES = {"Board": "board"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'crestline.local' has no attribute {name!r}")
    return getattr(import_module(f"crestline.local.{_HOMES.get(name, 'session')}"), name)
