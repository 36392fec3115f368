"""How queries would be run, and why."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from crestline.language import Query
from crestline.planner.explain_sharing import blocks, facts_by_query, usual_bundles
from crestline.planner.facts import Block, QueryFacts
from crestline.planner.shared import Bundle


@dataclass(frozen=True, kw_only=True, repr=False)
class Explanation(QueryFacts):
    """How queries would be run: printed as ``crestline explain`` does, with the facts as fields.

    For several queries, the fields are those of the first one; ``by_query`` has all of them.
    """

    #: The queries by their names.
    queries: Mapping[str, Query]
    #: The facts of each query.
    by_query: Mapping[str, QueryFacts]
    #: Which of them share a structure.
    bundles: Sequence[Bundle]

    def blocks(self, width: int = 78) -> list[Block]:
        """What is told, part by part; drawings are up to ``width`` characters wide."""
        return blocks(self.queries, self.bundles, width)

    def to_text(self, width: int = 78) -> str:
        """What ``crestline explain`` prints; drawings are up to ``width`` characters wide."""
        return "\n\n".join(map(str, self.blocks(width)))

    def __str__(self) -> str:
        return self.to_text()

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<div>{'<br>'.join(block.html() for block in self.blocks())}</div>"


def explain(queries: Mapping[str, Query], bundles: Sequence[Bundle] | None = None) -> Explanation:
    """Explain how the queries would be run; PlanError if one of them cannot be. Without ``bundles``
    they are those of a stream whose numbers are doubles."""
    bundles = usual_bundles(queries) if bundles is None else bundles
    by_query = facts_by_query(queries, bundles)
    first = next(iter(by_query.values()))
    return Explanation(**first.to_dict(), queries=queries, by_query=by_query, bundles=bundles)


__all__ = ["Explanation", "explain"]
