"""The same questions on what users would pick instead: `make rivals`.

One module for each system (`with_duckdb.py` and so on) says how it is asked. They import their
system only when they ask, since each runs in an environment of its own (`.rivals/`), which holds no
Crestline. *Panes first* is what an expert writes: the k best of every pane of `slide` seconds, and
then the windows over panes. *Obvious* is what the manuals suggest and users write: every row goes
into every window that holds it.

The suites `local`, `partitions` and others ask DuckDB and Polars too, in this environment; what
they use is named here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from benchmarks.rivals import with_arrow, with_crestline, with_duckdb, with_polars
from benchmarks.rivals.question import Question
from benchmarks.rivals.with_crestline import crestline_run

if TYPE_CHECKING:
    import pyarrow as pa

QuerySpec = Callable[[Question], "pa.Table"]

#: Who takes part in the suite `local`, by kind.
PANES_FIRST: dict[str, QuerySpec] = {**with_duckdb.PANES_FIRST, **with_polars.PANES_FIRST}
OBVIOUS: dict[str, QuerySpec] = {**with_duckdb.OBVIOUS, **with_polars.OBVIOUS}
PARTIAL: dict[str, QuerySpec] = with_polars.PARTIAL
CONTENDERS: dict[str, QuerySpec] = {
    **with_crestline.CRESTLINE,
    **PANES_FIRST,
    **OBVIOUS,
    **PARTIAL,
    **with_arrow.LIMIT,
}

__all__ = ["CONTENDERS", "OBVIOUS", "PANES_FIRST", "PARTIAL", "Question", "crestline_run"]
