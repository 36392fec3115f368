"""Small lists of records, and queries, for the tests of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from crestline.kernels.jit.tiers import kernel
from crestline.kernels.uncertain.closing import PK_TOPK, U_KRANKS, U_KRANKS_WITH_RULES
from crestline.kernels.uncertain.lists import (
    CHANCE,
    FLOATS,
    GROUP,
    ID,
    INTS,
    LEAVES,
    RULE,
    SCORE,
    TIE,
    RecordList,
)
from crestline.kernels.uncertain.specs import answer_specs
from crestline.kernels.uncertain.steps import SynopsisQuery
from crestline.kernels.uncertain.worlds import PICK, weighing
from crestline.types import Floats, Ints
from uncertain.worlds import ByFormulas, Record


def records_of(
    scores: Any, chances: Any = None, leaves: Any = None, *, rules: Any = None, ids: Any = None
) -> RecordList:
    """A list in the order given; ids, and with them ties, count from 0."""
    count = len(scores)
    floats, ints = np.empty((FLOATS, count)), np.empty((INTS, count), np.int64)
    floats[SCORE] = scores
    floats[CHANCE] = 0.5 if chances is None else chances
    ints[ID] = np.arange(count) if ids is None else ids
    ints[TIE] = ints[ID]
    ints[RULE] = -1 if rules is None else rules
    ints[GROUP] = 0
    ints[LEAVES] = 1 << 40 if leaves is None else leaves
    return RecordList(floats, ints)


def random_records(rng: np.random.Generator, count: int, exclusive: float = 0.0) -> RecordList:
    """Records with some equal scores; those of a rule add up to no more than 1."""
    chances = 1.0 - rng.random(count)
    rules = np.where(rng.random(count) < exclusive, rng.integers(0, 3, count), -1)
    for rule in range(3):
        members = rules == rule
        if members.any():
            chances[members] /= max(1.0, chances[members].sum()) * (1 + 1e-12)
    return records_of(rng.integers(0, count, count), chances, rules=rules)


def best_first(records: RecordList) -> RecordList:
    order = np.lexsort((-records.ints[TIE], -records.floats[SCORE]))
    return chosen(records, order)


def chosen(records: RecordList, indices: Any) -> RecordList:
    floats, ints = records.floats[:, indices], records.ints[:, indices]
    return RecordList(np.ascontiguousarray(floats), np.ascontiguousarray(ints))


def ids(records: RecordList, count: int | None = None) -> list[int]:
    """The ids of the first records of a list."""
    listed: list[int] = records.ints[ID, :count].tolist()
    return listed


def judge_of(records: RecordList, k: int) -> ByFormulas:
    """What is true of records in rank order."""
    rows = zip(*records.floats.tolist(), *records.ints.tolist(), strict=True)
    return ByFormulas(
        [
            Record(id, score, tie, chance, None if rule < 0 else rule, group)
            for score, chance, tie, rule, group, _, id in rows
        ],
        k,
    )


def columns(records: RecordList) -> tuple[Any, Any, Any]:
    """Probabilities, rules and groups."""
    return records.floats[CHANCE], records.ints[RULE], records.ints[GROUP]


def query_of(
    k: int, kind: int = PK_TOPK, threshold: float = 0.0, *, exclusive: bool = False, **more: bool
) -> SynopsisQuery:
    """A query at every arrival, of which every snapshot is reported."""
    if exclusive and kind == U_KRANKS:
        kind = U_KRANKS_WITH_RULES
    how = {"every_step": False, "only_changes": False, "leave_together": True} | more
    weigh = weighing(kind, exclusive).address()
    return SynopsisQuery(kind=kind, k=k, threshold=threshold, weigh=weigh, pick=PICK.address(),
                         **how)  # fmt: skip


@kernel
def answer_at(
    addresses: tuple[int, int, int], kind: Ints, k: Ints, threshold: Floats, chance: Floats,
    rule: Ints, group: Ints, overfull: Ints, number: Ints, chosen: Ints, weight: Floats,
) -> int:  # fmt: skip
    """``answer_specs``, from Python."""
    found = answer_specs(
        addresses[0], addresses[1], addresses[2], kind, k, threshold, chance, rule, group, overfull,
        number, chosen, weight,
    )  # fmt: skip
    return int(found)
