"""The best records of several queries, kept in order while one walk goes through the records.

A *top* is a list of records by their rounded values, the largest first; ties go to the record that
ranks higher. As long as fewer than k records exist, the value of a record is its own probability.
So one top, that of probabilities, gives each query its first k records in order. Of every further
record it is clear at once whether it enters the top, and which one it drives out: the last of the
first records, or the last of those that came later, which are a list of their own. When a query
closes, both together are the answer: there is no heap, and nothing is sorted at the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.kernels.common.ascending import ascending
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.kernels.uncertain.closing import rounded
from crestline.types import Floats, Ints


class Tops(NamedTuple):
    """Tops one after the other, each with the same room; the last is that of probabilities."""

    #: The records that a top began with.
    key: Floats
    record: Ints
    #: Those that entered it later.
    later_key: Floats
    later_record: Ints
    #: By top: how many it holds of both.
    size: Ints
    later: Ints


class Groups(NamedTuple):
    """The groups of records in rank order, numbered as they first appear."""

    #: By record.
    number: Ints
    #: By group: its first record.
    first: Ints


@kernel
def no_tops(count: int, room: int) -> Tops:
    """Return so many empty tops, and the one of probabilities."""
    total = (count + 1) * room
    size, later = np.zeros(count + 1, np.int64), np.zeros(count + 1, np.int64)
    return Tops(
        np.empty(total), np.empty(total, np.int64), np.empty(total), np.empty(total, np.int64),
        size, later,
    )  # fmt: skip


@borrowing_kernel
def _put(keys: Floats, records: Ints, first: int, size: int, key: float, record: int) -> None:
    """Put a record in its place among ``size`` others from ``first`` on; there must be room."""
    place = first + size
    while place > first and (
        keys[place - 1] < key or (keys[place - 1] == key and records[place - 1] > record)
    ):
        keys[place], records[place] = keys[place - 1], records[place - 1]
        place -= 1
    keys[place], records[place] = key, record


@borrowing_kernel
def enter_first(tops: Tops, top: int, most: int, key: float, record: int) -> None:
    """Put a record among the first ones, if it is one of the ``most`` best so far."""
    size, first = tops.size[top], top * (len(tops.key) // len(tops.size))
    if size == most:
        if key <= tops.key[first + most - 1]:
            return
        size -= 1
    _put(tops.key, tops.record, first, size, key, record)
    tops.size[top] = size + 1


@borrowing_kernel
def last_key(tops: Tops, top: int) -> float:
    """Return the least value in a top; infinity, if it is empty."""
    first = top * (len(tops.key) // len(tops.size))
    least = np.inf
    if tops.size[top] > 0:
        least = tops.key[first + tops.size[top] - 1]
    if tops.later[top] > 0:
        least = min(least, tops.later_key[first + tops.later[top] - 1])
    return least


@borrowing_kernel
def enter(tops: Tops, top: int, most: int, key: float, record: int) -> None:
    """Let a record enter a top of at most so many, behind whose records it ranks."""
    size, later = tops.size[top], tops.later[top]
    first = top * (len(tops.key) // len(tops.size))
    if size + later == most:
        if key <= last_key(tops, top):
            return
        if later > 0 and (
            size == 0 or tops.later_key[first + later - 1] <= tops.key[first + size - 1]
        ):
            later -= 1
        else:
            tops.size[top] = size - 1
    _put(tops.later_key, tops.later_record, first, later, key, record)
    tops.later[top] = later + 1


@borrowing_kernel
def begin(tops: Tops, top: int, most: int, least: float, value: Floats, start: int) -> None:
    """Fill a top with the records of the top of probabilities whose rounded values are ``least`` or
    more; ``value[start + i]`` is that of record i.

    The two orders differ by rounding errors at most, so that this takes one pass.
    """
    if most == 0:
        return
    last = len(tops.size) - 1
    first = last * (len(tops.key) // len(tops.size))
    for j in range(tops.size[last]):
        record = tops.record[first + j]
        key = rounded(value[start + record])
        if key >= least:
            enter_first(tops, top, most, key, record)


@borrowing_kernel
def write_top(tops: Tops, top: int, records: Ints, start: int) -> int:
    """Write the records of a top, the best first; return how many there are."""
    size, later = tops.size[top], tops.later[top]
    first = top * (len(tops.key) // len(tops.size))
    a = b = 0
    for j in range(size + later):
        if b == later or (a < size and tops.key[first + a] >= tops.later_key[first + b]):
            records[start + j] = tops.record[first + a]
            a += 1
        else:
            records[start + j] = tops.later_record[first + b]
            b += 1
    return int(size + later)


@kernel
def number_groups(group: Ints) -> Groups:
    """Number the groups of records as they first appear."""
    count = len(group)
    order = ascending(group)
    representative, number = np.empty(count, np.int64), np.empty(count, np.int64)
    for j in range(count):
        i = order[j]
        same = j > 0 and group[order[j - 1]] == group[i]
        representative[i] = representative[order[j - 1]] if same else i
    first, groups = np.empty(count, np.int64), 0
    for i in range(count):
        if representative[i] == i:
            first[groups], number[i] = i, groups
            groups += 1
        else:
            number[i] = number[representative[i]]
    return Groups(number, first[:groups])


@kernel
def enter_groups(
    tops: Tops, top: int, most: int, groups: Groups, value: Floats, weight: Floats
) -> None:
    """Fill a top with the groups of the largest sums of values, each as its first record;
    ``weight`` becomes the sums."""
    count = 0
    for i in range(len(value)):
        number = groups.number[i]
        if number == count:
            weight[count] = 0.0
            count += 1
        weight[number] += value[i]
    for number in range(count):
        enter_first(tops, top, most, rounded(weight[number]), groups.first[number])


__all__ = [
    "Groups", "Tops", "begin", "enter", "enter_first", "enter_groups", "last_key", "no_tops",
    "number_groups", "write_top",
]  # fmt: skip
