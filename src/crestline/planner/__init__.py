"""Query to plan: which algorithm, which panes, what is kept; and the plan in words."""

from crestline.planner.catalogue import FAMILIES, Algorithm, algorithms, named
from crestline.planner.explain import explain, facts
from crestline.planner.explain_sharing import execution_plans, explain_all, sharing_facts
from crestline.planner.plan import Plan, harmonic, plan
from crestline.planner.shared import Bundle, SharedPlan, arrange

__all__ = [
    "FAMILIES",
    "Algorithm",
    "Bundle",
    "Plan",
    "SharedPlan",
    "algorithms",
    "arrange",
    "execution_plans",
    "explain",
    "explain_all",
    "facts",
    "harmonic",
    "named",
    "plan",
    "sharing_facts",
]
