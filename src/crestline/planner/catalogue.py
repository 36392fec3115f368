"""Every algorithm that ``USING`` can name: one line each, written out.

A new algorithm is one module, one line here, one page of docs and one benchmark entry. The names of
families whose engine is still to come stand here too, so that the planner can say so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from crestline.certain import SMA, TMA, MinTopK, Naive, PreTopK
from crestline.core.operator import Operator
from crestline.core.window import Window


def _any_window(window: Window) -> bool:
    return True


def _few_future_windows(window: Window) -> bool:
    """Bounded, in steps, and not so many of them to a window that a list for each is absurd."""
    panes = window.panes
    return not (panes.unbounded or panes.on_arrival) and panes.width <= 1_000_000 * panes.slide


@dataclass(frozen=True, slots=True)
class Algorithm:
    """A line of the catalogue; without an ``operator`` it is not available yet."""

    name: str
    family: str
    summary: str
    cost: str = ""
    keeps: str = ""
    operator: Callable[..., Operator] | None = None
    supports: Callable[[Window], bool] = _any_window
    exact: bool = True

    @property
    def available(self) -> bool:
        return self.operator is not None


#: What the families are called in sentences.
FAMILIES = {
    "certain": "certain streams, windows that slide in steps",
    "arrival": "certain streams, a result after every arrival",
    "uncertain": "uncertain streams (WITH PROBABILITY)",
    "incomplete": "incomplete streams (COMBINE)",
    "sharing": "plans for several queries (FREQUENCY)",
}

CATALOGUE: tuple[Algorithm, ...] = (
    Algorithm(
        "MINTOPK",
        "certain",
        "keeps the minimal candidate set in one list (Yang et al. 2011); the default",
        "a scan of each pane, then k + M a slide",
        "M = k H_C on average, k C at worst",
        MinTopK,
    ),
    Algorithm(
        "PRETOPK",
        "certain",
        "keeps a predicted result for each future window (Yang et al. 2011)",
        "log k for each of up to C windows a record",
        "the minimal candidate set, and C k references to it",
        PreTopK,
        _few_future_windows,
    ),
    Algorithm(
        "SMA",
        "certain",
        "keeps the window in a grid and a skyband above it (Mouratidis et al. 2006)",
        "the grid for each record, a recomputation when the skyband runs short",
        "the whole window",
        SMA,
    ),
    Algorithm(
        "TMA",
        "certain",
        "keeps the window in a grid and the top k above it (Mouratidis et al. 2006)",
        "the grid for each record, a recomputation when a result expires",
        "the whole window",
        TMA,
    ),
    Algorithm(
        "NAIVE",
        "certain",
        "sorts the whole window for every result: the yardstick",
        "n log n a slide",
        "the whole window",
        Naive,
    ),
    Algorithm("RAPF", "arrival", "relaxed skyband behind a probabilistic filter"),
    Algorithm("PA", "arrival", "probabilistic skyband, for APPROXIMATE", exact=False),
    Algorithm("SA", "arrival", "strict skyband"),
    Algorithm("RA", "arrival", "relaxed skyband, pruned lazily"),
    Algorithm("SASF", "arrival", "strict skyband behind a strict filter"),
    Algorithm("SARF", "arrival", "strict skyband behind a relaxed filter"),
    Algorithm("SAPF", "arrival", "strict skyband behind a probabilistic filter"),
    Algorithm("RASF", "arrival", "relaxed skyband behind a strict filter"),
    Algorithm("RARF", "arrival", "relaxed skyband behind a relaxed filter"),
    Algorithm("SNN", "arrival", "skyband rival"),
    Algorithm("CPM", "arrival", "conceptual partitioning, a rival"),
    Algorithm("SCSQ_BUFFER", "uncertain", "shared compact sets, batched"),
    Algorithm("SCSQ", "uncertain", "shared compact sets in segments"),
    Algorithm("CCSQ", "uncertain", "compact sets, differences only"),
    Algorithm("CSQ", "uncertain", "a compact set for each suffix"),
    Algorithm("BS", "uncertain", "the basic synopsis"),
    Algorithm("EAA", "incomplete", "early aggregation with interval dominance"),
    Algorithm("CORRELATED", "incomplete", "dominance by estimated appearance", exact=False),
    Algorithm("SLA", "incomplete", "sorted lists and the threshold algorithm"),
    Algorithm("DP", "sharing", "the optimal execution plan"),
    Algorithm("GREEDY", "sharing", "a plan within twice the optimum"),
    Algorithm("INCO", "sharing", "groups combined pairwise"),
    Algorithm("IN", "sharing", "sharing within groups only"),
    Algorithm("NS", "sharing", "no sharing"),
)


def algorithms() -> list[Algorithm]:
    """The whole catalogue, in its order."""
    return list(CATALOGUE)


def named(name: str) -> Algorithm | None:
    """The algorithm of that name, in any case."""
    return next((a for a in CATALOGUE if a.name == name.upper()), None)
