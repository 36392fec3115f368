"""Encoders: the numbers that an operator sees of a record."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from crestline.core.errors import SourceError
from crestline.language import parse
from crestline.planner import plan
from crestline.runtime.admitted import AdmittedBatch
from crestline.runtime.encoders import Encoder, encoder_for
from crestline.runtime.encoders.incomplete import IncompleteEncoder
from crestline.runtime.encoders.object_keys import object_keys
from crestline.runtime.encoders.uncertain import UncertainEncoder
from crestline.runtime.rejects import Rejects

STEPS = "RANGE 9 s SLIDE 3 s ON ts"
CERTAIN = f"SELECT TOP 1 id FROM s [{STEPS}] ORDER BY x DESC"
UNCERTAIN = f"SELECT TOP 1 id FROM s [{STEPS}] WITH PROBABILITY p EXCLUSIVE BY y ORDER BY x DESC"
INCOMPLETE = f"SELECT TOP 1 id FROM s [{STEPS}] COMBINE SUM(x) ACROSS way OBJECT id"
ROLES = pa.schema([("x", pa.string()), ("o", pa.string()), ("s", pa.string())])


def encoder(text: str) -> Encoder:
    query = parse(text)
    planned = plan(query)
    return encoder_for(planned, ROLES, planned.make_operator(), Rejects(query, strict=False))


def records(times: list[int], **columns: list[Any]) -> AdmittedBatch:
    count = len(times)
    table = pa.table(columns)
    score = np.arange(count, dtype=np.float64)
    return AdmittedBatch(table, range(count), score, np.array(times), np.full(count, 0.5))


def test_each_family_has_its_encoder() -> None:
    found = [type(encoder(text)) for text in (CERTAIN, UNCERTAIN, INCOMPLETE)]
    assert found == [Encoder, UncertainEncoder, IncompleteEncoder]
    assert [encoder(text).in_order for text in (CERTAIN, UNCERTAIN, INCOMPLETE)] == [
        False, False, True,
    ]  # fmt: skip


def test_an_encoder_drives_operators_of_its_family_only() -> None:
    with pytest.raises(AssertionError):
        encoder(UNCERTAIN).drive(plan(parse(CERTAIN)).make_operator())
    with pytest.raises(AssertionError):
        encoder(INCOMPLETE).drive(plan(parse(CERTAIN)).make_operator())


def test_rules_are_small_integers_and_null_is_none() -> None:
    _, batch = encoder(UNCERTAIN).encode(records([1, 2, 3, 4], x=["b", None, "a", "b"]), None, 0)
    assert batch.uncertainty is not None
    assert batch.uncertainty.rule.tolist() == [0, -1, 2, 0]
    assert batch.uncertainty.group.tolist() == [0, 0, 0, 0]


def test_observations_of_one_moment_count_by_object() -> None:
    given = records([5, 5, 5], o=[3, 1, 2], s=["u", "v", "u"])
    ordered, batch = encoder(INCOMPLETE).encode(given, np.array([7, 8, 9]), 4)
    assert ordered.columns.column("o").to_pylist() == [1, 2, 3]
    assert batch.partitions is not None and batch.partitions.tolist() == [8, 9, 7]
    assert batch.observations is not None and batch.observations.stream.tolist() == [1, 0, 0]
    assert batch.number_from == 4


def test_too_many_streams_are_refused() -> None:
    names = [f"way {i}" for i in range(1000)]
    with pytest.raises(SourceError, match="COMBINE goes across at most"):
        encoder(INCOMPLETE).check(records([1] * 1000, o=names, s=names))


@pytest.mark.parametrize(
    "values",
    [
        pa.array([3, -1, 3]), pa.array([1 << 63, 2, 1 << 63], pa.uint64()),
        pa.array([True, False, True]), pa.array(["b", "a", "b"]), pa.array([b"b", b"a", b"b"]),
        pa.array([0.0, -1.5, -0.0]), pa.array(["b", "a", "b"]).dictionary_encode(),
        pa.array([datetime.date(2020, 1, 2), datetime.date(1960, 1, 1)] * 2)[:3],
    ],
    ids=lambda values: str(values.type),
)  # fmt: skip
def test_equal_objects_have_equal_keys(values: pa.Array) -> None:
    for column in (pa.chunked_array([values]), pa.chunked_array([values[:1], values[1:]])):
        high, low, code = object_keys(column)
        keys = list(zip(high.tolist(), low.tolist(), strict=True))
        assert keys[0] == keys[2] != keys[1]
        assert code[0] == code[2] >= code[1]  # in their order, or all the same
