"""The plans for several queries, by their names in ``USING``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

from crestline.sharing.demand import Demand
from crestline.sharing.dp import dp
from crestline.sharing.greedy import greedy
from crestline.sharing.inco import inco
from crestline.sharing.plan import ExecutionPlan
from crestline.sharing.unshared import unshared
from crestline.sharing.within import within

PLANS: Mapping[str, Callable[[Sequence[Demand]], ExecutionPlan]] = MappingProxyType(
    {"DP": dp, "GREEDY": greedy, "INCO": inco, "IN": within, "NS": unshared}
)
