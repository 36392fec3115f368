"""Tools for testing an algorithm of your own: an oracle, and the Spark pipeline without Spark.

``expect`` recomputes every due result from the complete list of records. It shares no code with
the engine. ``PipelineByHand`` (in ``crestline.testing.pipeline``) runs a query through the stages
of the Spark engine in this process; it needs the extra ``spark``.

>>> import crestline
>>> records = [{"id": n, "ts": n * 1_000_000, "val": n % 3} for n in range(10)]
>>> spec = Spec(2, "range_slide", width=4_000_000, slide=2_000_000, ts="ts", order=(("val", True),))
>>> table = to_table(records, times=["ts"])
>>> results = crestline.run(spec.text(using="PRETOPK"), {"s": table}).to_arrow()
>>> assert_same_rows(rows_of(results), expect(spec, records).rows)
"""

from crestline.testing.oracle import Expected, admit, comparable, expect
from crestline.testing.ordering import Arrived, Cell, sort_key
from crestline.testing.rows import assert_same_rows, rows_of, sorted_rows, to_table
from crestline.testing.spec import FOREVER, Kind, Record, Row, Spec

__all__ = [
    "FOREVER",
    "Arrived",
    "Cell",
    "Expected",
    "Kind",
    "Record",
    "Row",
    "Spec",
    "admit",
    "assert_same_rows",
    "comparable",
    "expect",
    "rows_of",
    "sort_key",
    "sorted_rows",
    "to_table",
]
