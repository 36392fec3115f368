"""Plans for several queries: when each is computed, and which of them together."""

from crestline.sharing.agenda import SharedAgenda
from crestline.sharing.demand import Demand, Group, combined, groups
from crestline.sharing.plan import Cycle, Execution, ExecutionPlan
from crestline.sharing.plans import PLANS
from crestline.sharing.schedule import Change, Schedule

__all__ = [
    "PLANS",
    "Change",
    "Cycle",
    "Demand",
    "Execution",
    "ExecutionPlan",
    "Group",
    "Schedule",
    "SharedAgenda",
    "combined",
    "groups",
]
