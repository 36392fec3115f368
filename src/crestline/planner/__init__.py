"""Query to plan: which algorithm, which panes, what is kept; and the plan in words."""

from crestline.planner.catalogue import FAMILIES, Algorithm, algorithms, named
from crestline.planner.explain import explain, facts
from crestline.planner.plan import Plan, harmonic, plan

__all__ = [
    "FAMILIES",
    "Algorithm",
    "Plan",
    "algorithms",
    "explain",
    "facts",
    "harmonic",
    "named",
    "plan",
]
