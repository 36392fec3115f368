"""The best records of several queries, kept in order while one walk goes through the records.

A *top* is a list of records by their rounded values, the largest first; ties go to the record that
ranks higher. As long as fewer than k records exist, the value of a record is its own probability.
So the order of probabilities, which all queries have in common, gives each its first k records in
order. Of every further record it is clear at once whether it enters the top, and which one it
drives out: the last of the first records, or the last of those that came later, which are a list of
their own. When a query closes, both together are the answer: there is no heap, and nothing is
sorted at the end.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from crestline.kernels.common.ascending import ascending
from crestline.kernels.jit.tiers import borrowing_kernel, kernel
from crestline.kernels.uncertain.closing import rounded
from crestline.types import Floats, Ints


class Tops(NamedTuple):
    """Tops one after the other, each with the same room."""

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
    """Return so many empty tops."""
    size, later = np.zeros(count, np.int64), np.zeros(count, np.int64)
    key, record = np.empty(count * room), np.empty(count * room, np.int64)
    return Tops(key, record, np.empty(count * room), np.empty(count * room, np.int64), size, later)


@borrowing_kernel
def enter(tops: Tops, top: int, most: int, key: float, record: int) -> None:
    """Put a record among those that a top began with, if it is one of the ``most`` best so far."""
    size, first = tops.size[top], top * (len(tops.key) // len(tops.size))
    if size == most:
        if key <= tops.key[first + most - 1]:
            return
        size -= 1
    place = first + size
    while place > first and (
        tops.key[place - 1] < key
        or (tops.key[place - 1] == key and tops.record[place - 1] > record)
    ):
        tops.key[place], tops.record[place] = tops.key[place - 1], tops.record[place - 1]
        place -= 1
    tops.key[place], tops.record[place] = key, record
    tops.size[top] = size + 1


@borrowing_kernel
def begin(
    tops: Tops, top: int, most: int, least: float, order: Ints, seen: int, value: Floats
) -> None:
    """Fill a top with those of the first ``seen`` records whose rounded values are ``least`` or
    more; the row ``top`` of ``value`` holds the values.

    ``order`` is that of probabilities. The two differ by rounding errors at most, so that this
    takes one pass.
    """
    if most == 0:
        return
    start = top * (len(value) // len(tops.size))
    for j in range(len(order)):
        record = order[j]
        if record < seen and rounded(value[start + record]) >= least:
            enter(tops, top, most, rounded(value[start + record]), record)


@borrowing_kernel
def least_of(key: Floats, later_key: Floats, first: int, size: int, later: int) -> float:
    """Return the least value in a top that begins at ``first``; infinity, if it is empty."""
    least = np.inf
    if size > 0:
        least = key[first + size - 1]
    if later > 0:
        least = min(least, later_key[first + later - 1])
    return least


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
        enter(tops, top, most, rounded(weight[number]), groups.first[number])


__all__ = [
    "Groups", "Tops", "begin", "enter", "enter_groups", "least_of", "no_tops", "number_groups",
    "write_top",
]  # fmt: skip
