"""The in-process engine: sources, plan, results, in one Python process."""

from crestline.local.board import Board
from crestline.local.metrics import Metrics
from crestline.local.results import Results
from crestline.local.session import BoundedRun, Session, named_queries, run_bounded

__all__ = ["Board", "BoundedRun", "Metrics", "Results", "Session", "named_queries", "run_bounded"]
