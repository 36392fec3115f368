"""Whether the rows of a frame are pruned inside the JVM, and why."""

from __future__ import annotations

from dataclasses import dataclass

from crestline.core.errors import PlanError
from crestline.planner import Bundle
from crestline.spark.bounds import Bounds, bounds_of
from crestline.spark.catalyst import Projected
from crestline.spark.estimate import against_pruning

_STREAM = (
    "a stream is read once; crestline.spark.EachBatch can read a micro-batch twice; without"
    " partitions it is quicker"
)


@dataclass(frozen=True, slots=True)
class Decision:
    """The bounds that rows are held against, or None, and the reason in words."""

    bounds: Bounds | None
    why: str

    @property
    def told(self) -> str:
        """What was decided, as a sentence."""
        if self.bounds is None:
            return f"rows are not pruned inside the JVM: {self.why}"
        return f"rows are pruned inside the JVM, {self.why}"


def decide(projected: Projected, bundles: list[Bundle], prune: bool | None) -> Decision:
    """Decide for a projected frame; ``prune`` is that of ``topk``."""
    if prune is False:
        return Decision(None, "prune=False asks for it")
    streaming = projected.frame.isStreaming
    bounds = _STREAM if streaming else bounds_of(projected, bundles)
    if isinstance(bounds, str):
        if prune:
            raise PlanError(f"prune=True, but rows cannot be pruned inside the JVM: {bounds}")
        return Decision(None, bounds)
    against = None if prune else against_pruning(projected.frame, bounds)
    if against is not None:
        return Decision(None, against)
    asked = ", as prune=True asks" if prune else ""
    return Decision(bounds, f"by the best of {bounds.groups} groups a pane{asked}")


__all__ = ["Decision", "decide"]
