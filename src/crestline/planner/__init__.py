"""Query to plan: the algorithm, the panes, what is kept; and the plan in words."""

from crestline.planner.algorithm import Algorithm
from crestline.planner.catalogue import FAMILIES, algorithms, named
from crestline.planner.explain import Explanation, explain
from crestline.planner.explain_sharing import execution_plans
from crestline.planner.facts import QueryFacts
from crestline.planner.plan import Plan, QueryPlan, harmonic, plan
from crestline.planner.shared import Bundle, SharedPlan, Standing, arrange
from crestline.planner.standing import StandingPlan

__all__ = [
    "FAMILIES",
    "Algorithm",
    "Bundle",
    "Explanation",
    "Plan",
    "QueryFacts",
    "QueryPlan",
    "SharedPlan",
    "Standing",
    "StandingPlan",
    "algorithms",
    "arrange",
    "execution_plans",
    "explain",
    "harmonic",
    "named",
    "plan",
]
