"""Crestline: continuous top-k queries over sliding windows.

>>> import crestline
>>> trades = [{"symbol": "A", "price": 3.0}, {"symbol": "B", "price": 5.0}]
>>> results = crestline.run(
...     "SELECT TOP 1 symbol, price FROM trades [ROWS 100 SLIDE 2] ORDER BY price DESC",
...     {"trades": trades},
... )
>>> results.to_arrow().to_pylist()[0]["symbol"]
'B'
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from crestline.core.errors import (
    CrestlineError,
    LateRecordsWarning,
    MissingExtraError,
    PlanError,
    QueryError,
    RecordError,
    SourceError,
    StateError,
)

if TYPE_CHECKING:
    from crestline.language import Query, parse, parse_all
    from crestline.local import Session
    from crestline.planner import Explanation
    from crestline.running import Engine, explain, run
    from crestline.running import open as open  # noqa: PLC0414
    from crestline.runtime.metrics import Metrics
    from crestline.runtime.results import Results

__version__ = "0.1.0"

#: Without ``open``: ``from crestline import *`` leaves Python's own alone.
__all__ = [
    "CrestlineError",
    "Engine",
    "Explanation",
    "LateRecordsWarning",
    "Metrics",
    "MissingExtraError",
    "PlanError",
    "Query",
    "QueryError",
    "RecordError",
    "Results",
    "Session",
    "SourceError",
    "StateError",
    "explain",
    "parse",
    "parse_all",
    "run",
]

#: Loaded when first asked for: the engine brings numba, Arrow and DuckDB, which takes a second.
_HOMES = {
    "Engine": "running",
    "Explanation": "planner",
    "Metrics": "runtime.metrics",
    "Query": "language",
    "Results": "runtime.results",
    "explain": "running",
    "open": "running",
    "parse": "language",
    "parse_all": "language",
    "run": "running",
}


def __getattr__(name: str) -> Any:
    if name not in __dir__():
        raise AttributeError(f"module 'crestline' has no attribute {name!r}")
    return getattr(import_module(f"crestline.{_HOMES.get(name, 'local')}"), name)


def __dir__() -> list[str]:
    """The public names, and nothing that this module needs itself."""
    return sorted([*__all__, "__version__", "open"])
