"""The questions asked of Crestline in this process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from benchmarks.rivals.question import EveryRecord, Question

if TYPE_CHECKING:
    import pyarrow as pa


def crestline_run(q: Question) -> pa.Table:
    import crestline

    return crestline.run(q.text, {"trades": q.files}).to_arrow()


def crestline_changes(q: EveryRecord) -> pa.Table:
    """What changes in the top k, record by record: `at`, `change`, `rank`, `previous_rank`, id."""
    import crestline

    return crestline.run(q.text, {"records": q.files}).to_arrow()


CRESTLINE: dict[str, Callable[[Question], pa.Table]] = {"crestline": crestline_run}
EVERY_RECORD: dict[str, Callable[[EveryRecord], pa.Table]] = {"crestline": crestline_changes}
