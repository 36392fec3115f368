"""The best records of several queries, kept in order while one walk goes through the records.

A *top* is a list of records by their rounded values, the largest first; ties go to the record that
ranks higher. As long as fewer than k records exist, the value of a record is its own probability.
So one top, that of probabilities, gives each query its first k records in order. Every further
record is put in its place or passed over. When a query closes its top is the answer, and the last
value is what the bound is compared with: there is no heap, and nothing is sorted at the end.
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

    key: Floats
    record: Ints
    #: By top: how many records it holds.
    size: Ints


class Groups(NamedTuple):
    """The groups of records in rank order, numbered as they first appear."""

    #: By record.
    number: Ints
    #: By group: its first record.
    first: Ints


@kernel
def no_tops(count: int, room: int) -> Tops:
    """Return so many empty tops, and the one of probabilities."""
    size = np.zeros(count + 1, np.int64)
    return Tops(np.empty((count + 1) * room), np.empty((count + 1) * room, np.int64), size)


@borrowing_kernel
def enter(tops: Tops, top: int, most: int, key: float, record: int) -> None:
    """Put a record in its place, if it is one of the ``most`` best so far."""
    size = tops.size[top]
    first = top * (len(tops.key) // len(tops.size))
    if size == most:
        if key <= tops.key[first + most - 1]:
            return
        size -= 1
    place = first + size
    while place > first and (
        tops.key[place - 1] < key
        or (tops.key[place - 1] == key and tops.record[place - 1] > record)
    ):
        tops.key[place] = tops.key[place - 1]
        tops.record[place] = tops.record[place - 1]
        place -= 1
    tops.key[place], tops.record[place] = key, record
    tops.size[top] = size + 1


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
            enter(tops, top, most, key, record)


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


__all__ = ["Groups", "Tops", "begin", "enter", "enter_groups", "no_tops", "number_groups"]
