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

from crestline.core.errors import (
    CrestlineError,
    PlanError,
    QueryError,
    RecordError,
    SourceError,
    StateError,
)
from crestline.language import Query, parse, parse_all
from crestline.local import Metrics, Results, Session, open, run

__version__ = "0.1.0"

__all__ = [
    "CrestlineError",
    "Metrics",
    "PlanError",
    "Query",
    "QueryError",
    "RecordError",
    "Results",
    "Session",
    "SourceError",
    "StateError",
    "open",
    "parse",
    "parse_all",
    "run",
]
