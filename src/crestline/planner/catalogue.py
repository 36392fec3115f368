"""Every algorithm that ``USING`` can name: one line each, written out.

A new algorithm is one module, one line here, one page of docs and one benchmark entry.
"""

from __future__ import annotations

from crestline.certain import (
    CPM,
    PA,
    RA,
    RAPF,
    RARF,
    RASF,
    SA,
    SAPF,
    SARF,
    SASF,
    SMA,
    SNN,
    TMA,
    MinTopK,
    Naive,
    PreTopK,
)
from crestline.core.window import RowsWindow, Window
from crestline.incomplete import EAA, SLA, Correlated
from crestline.incomplete import Naive as IncompleteNaive
from crestline.language import Query
from crestline.planner.algorithm import Algorithm
from crestline.planner.rehearsals import (
    AT_ARRIVALS,
    ATTRIBUTES_AT_ARRIVALS,
    ATTRIBUTES_IN_STEPS,
    COMBINED,
    IN_STEPS,
    QUESTIONS,
    SHARED,
    STANDING,
    UNCERTAIN,
)
from crestline.uncertain import BS, CCSQ, CSQ, SCSQ, SCSQBuffer
from crestline.uncertain import Naive as UncertainNaive


def reports_every_arrival(window: Window) -> bool:
    """``[ROWS n]`` and ``[RANGE w ON ts]``."""
    if isinstance(window, RowsWindow):
        return window.slide == 1
    return window.panes.on_arrival


def _few_future_windows(window: Window) -> bool:
    """Whether the window is bounded, slides in steps, and spans few enough of them for a list for
    each."""
    panes = window.panes
    return not (panes.unbounded or panes.on_arrival) and panes.width <= 1_000_000 * panes.slide


#: What the families are called in sentences.
FAMILIES = {
    "certain": "certain streams, windows that slide in steps",
    "arrival": "certain streams, a result after every arrival",
    "uncertain": "uncertain streams (WITH PROBABILITY)",
    "incomplete": "incomplete streams (COMBINE)",
    "sharing": "plans for several queries (FREQUENCY)",
}

_STEPS = "a window that slides in steps or is unbounded"

CATALOGUE: tuple[Algorithm, ...] = (
    Algorithm(
        "MINTOPK",
        "certain",
        "keeps the minimal candidate set in one list (Yang et al. 2011); the default",
        "a scan of each pane, then k + M a slide, or for several small slides together",
        "M = k H_C on average, k C at worst",
        MinTopK,
        rehearsals=IN_STEPS + AT_ARRIVALS,
    ),
    Algorithm(
        "PRETOPK",
        "certain",
        "keeps a predicted result for each future window (Yang et al. 2011)",
        "log k for each of up to C windows a record",
        "the minimal candidate set, and C k references to it",
        PreTopK,
        _few_future_windows,
        refuses="a window that is unbounded, reports at every arrival or is more than a million"
        " slides long",
        rehearsals=IN_STEPS + AT_ARRIVALS,
    ),
    Algorithm(
        "SMA",
        "certain",
        "keeps the window in a grid and a skyband above it (Mouratidis et al. 2006)",
        "the grid for each record, a recomputation when the skyband runs short",
        "the whole window",
        SMA,
        rehearsals=IN_STEPS + AT_ARRIVALS + ATTRIBUTES_IN_STEPS,
    ),
    Algorithm(
        "TMA",
        "certain",
        "keeps the window in a grid and the top k above it (Mouratidis et al. 2006)",
        "the grid for each record, a recomputation when a result expires",
        "the whole window",
        TMA,
        rehearsals=IN_STEPS + AT_ARRIVALS + ATTRIBUTES_IN_STEPS,
    ),
    Algorithm(
        "NAIVE",
        "certain",
        "sorts the whole window for every result: the yardstick",
        "n log n a slide",
        "the whole window",
        Naive,
    ),
    Algorithm(
        "RAPF",
        "arrival",
        "a relaxed skyband behind a probabilistic filter (Pripuzic et al. 2015); the default",
        "a comparison for most records; log M for about k in every buffer",
        "the buffer and k (1 + ln(n / buffer)) on average, the window at worst",
        RAPF,
        reports_every_arrival,
        refuses=_STEPS,
        rehearsals=AT_ARRIVALS,
    ),
    Algorithm(
        "PA",
        "arrival",
        "a probabilistic skyband, for APPROXIMATE (Pripuzic et al. 2015)",
        "a comparison for nearly all records",
        "k and a few dozen candidates",
        PA,
        reports_every_arrival,
        exact=False,
        refuses=_STEPS,
        rehearsals=AT_ARRIVALS,
    ),
    Algorithm(
        "SA",
        "arrival",
        "a strict skyband (Boehm et al. 2007)",
        "M for each record",
        "M = k (1 + H_n - H_k) on average, the window at worst",
        SA,
        reports_every_arrival,
        refuses=_STEPS,
        rehearsals=AT_ARRIVALS,
    ),
    Algorithm(
        "RA",
        "arrival",
        "a relaxed skyband, pruned now and then (Pripuzic et al. 2015)",
        "log M and a share in the prunings, for each record",
        "up to 1 + gamma times SA's candidates",
        RA,
        reports_every_arrival,
        refuses=_STEPS,
        rehearsals=AT_ARRIVALS,
    ),
    Algorithm(
        "SASF",
        "arrival",
        "a strict skyband behind a strict filter",
        "F for each record; SA's for about k in every buffer",
        "the buffer and k (1 + ln(n / buffer)) on average, the window at worst",
        SASF,
        reports_every_arrival,
        refuses=_STEPS,
        rehearsals=AT_ARRIVALS,
    ),
    Algorithm(
        "SARF",
        "arrival",
        "a strict skyband behind a relaxed filter",
        "log F and a share in the prunings, for each record; SA's for about k in every buffer",
        "the buffer and k (1 + ln(n / buffer)) on average, the window at worst",
        SARF,
        reports_every_arrival,
        refuses=_STEPS,
        rehearsals=AT_ARRIVALS,
    ),
    Algorithm(
        "SAPF",
        "arrival",
        "a strict skyband behind a probabilistic filter",
        "a comparison for most records; SA's for about k in every buffer",
        "the buffer and k (1 + ln(n / buffer)) on average, the window at worst",
        SAPF,
        reports_every_arrival,
        refuses=_STEPS,
        rehearsals=AT_ARRIVALS,
    ),
    Algorithm(
        "RASF",
        "arrival",
        "a relaxed skyband behind a strict filter",
        "F for each record; RA's for about k in every buffer",
        "the buffer and k (1 + ln(n / buffer)) on average, the window at worst",
        RASF,
        reports_every_arrival,
        refuses=_STEPS,
        rehearsals=AT_ARRIVALS,
    ),
    Algorithm(
        "RARF",
        "arrival",
        "a relaxed skyband behind a relaxed filter",
        "log F and a share in the prunings, for each record; RA's for about k in every buffer",
        "the buffer and k (1 + ln(n / buffer)) on average, the window at worst",
        RARF,
        reports_every_arrival,
        refuses=_STEPS,
        rehearsals=AT_ARRIVALS,
    ),
    Algorithm(
        "SNN",
        "arrival",
        "keeps the window in a grid and a skyband above it (Mouratidis, Papadias 2007)",
        "the grid for each record, a recomputation when the skyband runs short",
        "the whole window",
        SNN,
        reports_every_arrival,
        refuses=_STEPS,
        rehearsals=AT_ARRIVALS + ATTRIBUTES_AT_ARRIVALS,
    ),
    Algorithm(
        "CPM",
        "arrival",
        "keeps the window in a grid and the top k above it (Mouratidis, Papadias 2007)",
        "the grid for each record, a recomputation when a result expires",
        "the whole window",
        CPM,
        reports_every_arrival,
        refuses=_STEPS,
        rehearsals=AT_ARRIVALS + ATTRIBUTES_AT_ARRIVALS,
    ),
    Algorithm(
        "SCSQ_BUFFER",
        "uncertain",
        "compact sets in segments, brought up to date in batches (Jin et al. 2008); the default",
        "a comparison for most records; a share in emptying the buffer",
        "segments of about 2 H records, log n of them, and a buffer (H: a compact set, about 2 k)",
        SCSQBuffer,
        rehearsals=UNCERTAIN + QUESTIONS,
    ),
    Algorithm(
        "SCSQ",
        "uncertain",
        "compact sets of few suffixes, with extras for those between (Jin et al. 2008)",
        "k H log n for each record",
        "segments of about 2 H records, log n of them",
        SCSQ,
        rehearsals=UNCERTAIN,
    ),
    Algorithm(
        "CCSQ",
        "uncertain",
        "a compact set for every suffix, as differences (Jin et al. 2008)",
        "k H^2 for each record",
        "H log n records, the least that any exact synopsis can",
        CCSQ,
        rehearsals=UNCERTAIN,
    ),
    Algorithm(
        "CSQ",
        "uncertain",
        "a compact set for every suffix of the window, written out (Jin et al. 2008)",
        "k H^2 for each record",
        "H log n compact sets of H records",
        CSQ,
        rehearsals=UNCERTAIN,
    ),
    Algorithm(
        "BS",
        "uncertain",
        "the base synopsis: the window in rank order (Jin et al. 2008)",
        "log n for each record, k H when a record of the compact set comes or goes",
        "the whole window",
        BS,
        rehearsals=UNCERTAIN,
    ),
    Algorithm(
        "NAIVE",
        "uncertain",
        "computes every probability from the whole window: the yardstick",
        "n k a result, n^2 k with rules",
        "the whole window",
        UncertainNaive,
    ),
    Algorithm(
        "EAA",
        "incomplete",
        "forgets values that cannot matter any more (Haghani et al. 2009); the default",
        "log n for each value that comes or goes, and a share in looking through what is kept",
        "the k dominance set, a part of the window that grows with it",
        EAA,
        rehearsals=COMBINED,
    ),
    Algorithm(
        "CORRELATED",
        "incomplete",
        "forgets values that will probably not matter (Haghani et al. 2009)",
        "as EAA, for less",
        "what will probably matter, and a sample of some 100 values",
        Correlated,
        exact=False,
        rehearsals=COMBINED,
    ),
    Algorithm(
        "SLA",
        "incomplete",
        "sorted lists and the threshold algorithm (Haghani et al. 2009)",
        "log n for each value that comes or goes, and a share in filling the view",
        "the whole window",
        SLA,
        rehearsals=COMBINED,
    ),
    Algorithm(
        "NAIVE",
        "incomplete",
        "works out every score from the whole window: the yardstick",
        "n a result",
        "the whole window",
        IncompleteNaive,
    ),
    Algorithm(
        "DP",
        "sharing",
        "the plan of least cost for queries with FREQUENCY (Chen et al.); the default",
        "once for each change of the queries: seconds, where frequencies differ widely",
        "what the queries share",
        rehearsals=SHARED + STANDING,
    ),
    Algorithm(
        "GREEDY",
        "sharing",
        "each group with the last computation of the one before it (Chen et al.)",
        "once for each change of the queries: at once; results cost at most twice those of DP",
        "what the queries share",
    ),
    Algorithm(
        "INCO",
        "sharing",
        "groups of one frequency, joined where that costs nothing (Chen et al.)",
        "each group at its own moments",
        "what the queries share",
    ),
    Algorithm(
        "IN",
        "sharing",
        "groups of one frequency (Chen et al.)",
        "each group at its own moments",
        "what the queries share",
    ),
    Algorithm(
        "NS",
        "sharing",
        "every query is computed alone (Chen et al.): the yardstick",
        "each query at its own moments",
        "what the queries share",
    ),
)


def algorithms() -> list[Algorithm]:
    """The whole catalogue, in its order."""
    return list(CATALOGUE)


def named(name: str, *families: str) -> Algorithm | None:
    """Return the algorithm of that name, in any case: of these families if there is one, else of
    any.

    >>> named("naive").family, named("naive", "uncertain").family
    ('certain', 'uncertain')
    """
    matches = [a for a in CATALOGUE if a.name == name.upper()]
    return next((a for a in matches if a.family in families), matches[0] if matches else None)


def families_for(query: Query) -> tuple[str, ...]:
    """The families that answer a query, as it has COMBINE, WITH PROBABILITY or neither."""
    if query.combine is not None:
        return ("incomplete",)
    return ("certain", "arrival") if query.probability is None else ("uncertain",)


def uncertain_default() -> Algorithm:
    """What answers a query WITH PROBABILITY that names no algorithm: the first one there is."""
    return next(a for a in CATALOGUE if a.family == "uncertain")
