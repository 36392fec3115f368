"""How queries would be run on a DataFrame: the plan, and what Spark is asked to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crestline.language import Query, in_full
from crestline.planner import Explanation
from crestline.planner import explain as explain_queries
from crestline.planner.facts import Block
from crestline.runtime.queries import named_queries
from crestline.spark.catalyst import arranged_on, project
from crestline.spark.inputs import one_frame
from crestline.spark.pipeline import buckets_for
from crestline.spark.pruning import decide

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, kw_only=True, repr=False)
class FrameExplanation(Explanation):
    """What ``crestline.explain`` tells, and how Spark runs it on a frame."""

    #: Whether the frame is a stream.
    streaming: bool
    #: Over how many pieces of state partitions and objects are spread.
    buckets: int
    #: Whether rows are pruned inside the JVM before they move to Python.
    pruned: bool
    #: What was decided about this, and why, as a sentence.
    pruning: str

    def blocks(self, width: int = 78) -> list[Block]:
        frame = "a stream" if self.streaming else "a batch"
        pieces = "1 piece" if self.buckets == 1 else f"{self.buckets} pieces"
        lines = [("on Spark", f"{frame}, {pieces} of state"), ("pruning", self.pruning)]
        return [*super().blocks(width), Block(lines)]

    __repr__ = Explanation.__str__


def explain(
    frame: DataFrame | Mapping[str, DataFrame],
    query: str | Query,
    *,
    buckets: int | None = None,
    prune: bool | None = None,
) -> FrameExplanation:
    """Explain how ``topk`` with the same arguments would run. At most some rows are looked at.

    Shown, it is what ``crestline.explain`` shows, with the decisions that are made for the frame.
    """
    queries = named_queries(query)
    together = one_frame(frame, queries)
    queries = in_full(queries, together.columns)
    bundles = arranged_on(together, queries, bounded=not together.isStreaming)
    buckets = buckets_for(together, bundles, buckets)
    decision = decide(project(together, bundles, buckets), bundles, prune)
    plan = explain_queries(queries, bundles)
    return FrameExplanation(
        **plan.to_dict(),
        queries=plan.queries,
        by_query=plan.by_query,
        bundles=bundles,
        streaming=together.isStreaming,
        buckets=buckets,
        pruned=decision.bounds is not None,
        pruning=decision.told,
    )


__all__ = ["FrameExplanation", "explain"]
