"""What of the answers must be the same, brought into one form.

None of the rivals breaks ties, so of windows on time only the end, the rank and the price (and the
symbol, where it is the group) are compared. After every record no two scores are equal, and the
records themselves are compared. Needs nothing but pyarrow, since every system does it for itself.
"""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.rivals.question import Asked, EveryRecord


def comparable(answer: pa.Table, q: Asked) -> pa.Table:
    """An answer in the form in which those of all systems are the same."""
    return tops(answer) if isinstance(q, EveryRecord) else compared(answer, q.by)


def compared(answer: pa.Table, by: bool) -> pa.Table:
    """What all must agree on: window_end, symbol (where it is the group), rank and price.

    An answer may also hold one row for each window, with its prices, best first, in a list.
    """
    if "prices" in answer.column_names:
        answer = _ranked(answer, "prices", "price")
    ends = answer.column("window_end")
    if pa.types.is_timestamp(ends.type):
        ends = ends.cast(pa.timestamp("us", "UTC")).cast(pa.int64())
    values = {"window_end": ends.cast(pa.int64())}
    if by:
        values["symbol"] = pc.cast(answer.column("symbol"), pa.string())
    values["rank"] = answer.column("rank").cast(pa.int64())
    values["price"] = answer.column("price")
    order = [(name, "ascending") for name in values]
    return pa.table(values).sort_by(order).combine_chunks()


def tops(answer: pa.Table) -> pa.Table:
    """The top k after every record that changed it: `at` (how many there were), rank and id.

    An answer holds one row for each such record, with the ids in the list `best`, or what changed:

    >>> lists = pa.table({"at": [1, 2], "best": [[0], [1, 0]]})
    >>> tops(lists).column("id").to_pylist()
    [0, 1, 0]
    >>> told = pa.table({
    ...     "at": [1, 2, 2], "id": [0, 1, 0], "rank": [1, 1, 2], "previous_rank": [None, None, 1],
    ... })
    >>> tops(told).equals(tops(lists))
    True
    """
    if "best" not in answer.column_names:
        answer = _replayed(answer)
    ranked = _ranked(answer, "best", "id").select(["at", "rank", "id"])
    whole = ranked.cast(pa.schema([(name, pa.int64()) for name in ranked.column_names]))
    return whole.sort_by([("at", "ascending"), ("rank", "ascending")]).combine_chunks()


def _ranked(answer: pa.Table, lists: str, name: str) -> pa.Table:
    """One row for each value of the lists, with its rank."""
    column = pa.concat_arrays(answer.column(lists).chunks or [pa.array([], pa.list_(pa.int64()))])
    parents = pc.list_parent_indices(column)
    sizes = pc.fill_null(pc.list_value_length(column), 0).to_pylist()
    ranks = [rank for size in sizes for rank in range(1, size + 1)]
    values = answer.drop_columns([lists]).take(parents)
    values = values.append_column("rank", pa.array(ranks, pa.int64()))
    return values.append_column(name, pc.list_flatten(column))


def _replayed(changes: pa.Table) -> pa.Table:
    """The top k after each `at`: clear every previous rank, then fill every rank."""
    names = ("at", "rank", "previous_rank", "id")
    columns = (changes.column(name).to_pylist() for name in names)
    by_moment: dict[int, list[tuple[int | None, int | None, int]]] = {}
    for at, rank, previous, number in zip(*columns, strict=True):
        by_moment.setdefault(at, []).append((rank, previous, number))
    standing: dict[int, int] = {}
    best = []
    for told in by_moment.values():
        for _, previous, _ in told:
            standing.pop(previous or 0, None)
        standing |= {rank: number for rank, _, number in told if rank is not None}
        best.append([standing[rank] for rank in sorted(standing)])
    return pa.table({"at": list(by_moment), "best": pa.array(best, pa.list_(pa.int64()))})


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether an answer is right as far as it goes, and how many windows at the end it lacks."""

    agrees: bool
    windows: int
    missing: int = 0


def judged(answer: pa.Table, right: pa.Table, may_lack: int = 0) -> Verdict:
    """Compare what `comparable` gave.

    Windows that end after the last one that is due do not count: some systems close all windows
    when the input ends. Streams keep the last windows until something newer comes; so many of them
    may be lacking at the end.
    """
    moment = "at" if "at" in right.column_names else "window_end"
    if answer.column_names != right.column_names or not len(right):
        return Verdict(False, 0)
    due = pc.max(right.column(moment))
    answer = answer.filter(pc.less_equal(answer.column(moment), due))
    last = pc.max(answer.column(moment))
    if not last.is_valid:
        return Verdict(False, 0)
    given = right.filter(pc.less_equal(right.column(moment), last))
    windows = len(pc.unique(right.column(moment)))
    missing = windows - len(pc.unique(given.column(moment)))
    agrees = missing <= may_lack and answer.combine_chunks().equals(given.combine_chunks())
    return Verdict(bool(agrees), windows - missing, missing)
