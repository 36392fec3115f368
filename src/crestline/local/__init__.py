"""The in-process engine: bounded runs, sessions, following, in one Python process."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crestline.local.bounded import BoundedRun, run_bounded
    from crestline.local.session import Session

__all__ = ["BoundedRun", "Session", "run_bounded"]

#: Modules are loaded at first use: a bounded run needs no sessions.
_HOMES = {"BoundedRun": "bounded", "Session": "session", "run_bounded": "bounded"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'crestline.local' has no attribute {name!r}")
    return getattr(import_module(f"crestline.local.{_HOMES[name]}"), name)
