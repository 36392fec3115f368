"""The state of many standing queries, as kernels see it; see ``kernels.certain.standing``.

Kernels take the named tuples below and unpack what they need once, at entry.
"""

from __future__ import annotations

from typing import NamedTuple

from crestline.types import Bools, Floats, Ints

#: Why ``take_records`` returned: all taken, or no room in a band, a filter, the report or the ring.
FINISHED, BAND_FULL, FILTER_FULL, REPORT_FULL, RING_FULL = range(5)
#: Kinds of bands beside those of ``kernels.certain.bands``: the k best (CPM), and the skyband of
#: what reaches a threshold (SNN). Where they run short they are read again from the cells, which
#: hold the whole window.
BEST, SKYBAND = 3, 4
#: The kind of a filter that is not there.
NO_FILTER = -1

#: Columns of ``Queries.table``: k, window, whether that is on time, candidates (probable lists),
#: the first record that is seen (its serial number), the birth of what expires first, whether there
#: is such a query, what it computes, and whether every record brings a report.
K, WIDTH, TIMED, CANDIDATES, SINCE, OLDEST, ACTIVE, KIND, EVERY = range(9)
#: How many records the query has no score for, the last one of them, the last one that it saw where
#: some query did not, whether its answer has changed since its last report, and whether the cells
#: may have more for a band that is read from them. Then the two lists, of which each has START,
#: ROOM and SIZE.
SKIPPED, HIDDEN, SAW, MARKED, MORE, BAND = range(9, 15)
START, ROOM, SIZE = range(3)
FILTER = BAND + 3
COLUMNS = FILTER + 3
#: Columns of ``Queries.values``: what the cells are good for, the length of the vector (or the
#: column of a score that is given), and of the lists the candidates that set off the next pruning
#: (relaxed) or the threshold (probable, BEST and SKYBAND).
COVERED, LENGTH, BAND_LIMIT, FILTER_LIMIT = range(4)
VALUES = 4
#: Rows of a list's integers: numbers in the stream, births (number or time; bands only) and
#: dominators (strict lists only).
NUMBER, BORN, DOMINATORS = range(3)
#: Entries of the cursor: the number of the buffer's first record, how often a query looked at a
#: record, and the last record that all queries saw.
HEAD, TOUCHED, PLAIN = range(3)


class Algorithm(NamedTuple):
    """Settings that all queries share."""

    #: Kinds of lists; see ``kernels.certain.bands``.
    band: int
    filter: int
    #: How many rows of the lists' integers are in use.
    band_rows: int
    filter_rows: int
    gamma: float
    additional: int
    #: The most records in the buffer, and the longest time that it spans.
    most: int
    span: int


class Queries(NamedTuple):
    """A row for each query."""

    table: Ints
    values: Floats
    point: Floats
    weight: Floats


class Lists(NamedTuple):
    """The bands or the filters of all queries, one after the other; each is sorted best first."""

    score: Floats
    ints: Ints


class Grid(NamedTuple):
    """Cells, and the queries that a point of a cell may reach.

    ``edges[i]`` are the inner borders of dimension i. Cell c's queries are ``members[c,
    :sizes[c]]``; ``entered[c, q]`` tells whether q is one of them. All cells of q lie from
    ``reach[0, q, i]`` to ``reach[1, q, i]`` in dimension i.
    """

    edges: Floats
    sizes: Ints
    members: Ints
    entered: Bools
    reach: Ints


class Buffer(NamedTuple):
    """A ring of the latest records."""

    point: Floats
    time: Ints
    cell: Ints
    serial: Ints


class Chains(NamedTuple):
    """The records of each cell, for bands that are read from the cells: ``newest[c]`` is the last
    record of cell c, ``older[n % ring]`` the one before record n in its cell. A chain ends where
    numbers fall below that of the first record in the ring, so nothing is taken out of it.

    All points lie between ``extent[0]`` and ``extent[1]``: outer cells are open, but hold no more
    than that. Other algorithms have empty chains.
    """

    newest: Ints
    older: Ints
    extent: Floats


class TimeOrder(NamedTuple):
    """The next expiries: a heap for the queries that count records, and one for those on time."""

    heaps: Ints
    sizes: Ints


class Standing(NamedTuple):
    """The state of all standing queries."""

    queries: Queries
    band: Lists
    filter: Lists
    grid: Grid
    buffer: Buffer
    chains: Chains
    order: TimeOrder
    #: The queries whose answer has changed: ``marks[1 : 1 + marks[0]]``.
    marks: Ints


class Points(NamedTuple):
    """Records that arrive, with numbers from ``first`` on.

    A point has its coordinates, and scores that are given. ``serial`` is the order in which the
    records became known, which on time may differ from the order in which they count.
    """

    point: Floats
    time: Ints
    serial: Ints
    first: int


class Scratch(NamedTuple):
    """Room to work in: for the terms of a score, two points and the births of a list's records."""

    terms: Floats
    low: Floats
    high: Floats
    latest: Ints
    #: For each column of given scores: what a query looks at when a record arrives and when it
    #: leaves the buffer (NaN: nothing), and the query.
    floors: Floats
    owner: Ints
    #: The queries that meet a record.
    meets: Ints
    #: Cells to be read, and the best score that each can hold: a heap.
    bounds: Floats
    cells: Ints
