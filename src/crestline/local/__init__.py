"""The in-process engine: sources, plan, results, in one Python process."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from crestline.core.arrow import put_off_pandas

if TYPE_CHECKING:
    from crestline.local.board import Board
    from crestline.local.metrics import Metrics
    from crestline.local.results import Results
    from crestline.local.session import BoundedRun, Session, named_queries, run_bounded

__all__ = ["Board", "BoundedRun", "Metrics", "Results", "Session", "named_queries", "run_bounded"]

put_off_pandas()  # before any module makes an array

#: Loaded when first asked for: who runs a query needs no board.
_HOMES = {"Board": "board", "Metrics": "metrics", "Results": "results"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'crestline.local' has no attribute {name!r}")
    return getattr(import_module(f"crestline.local.{_HOMES.get(name, 'session')}"), name)
