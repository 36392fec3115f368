"""The state of an executor: saving, restoring, and what must hold of it.

``core.sound`` tells why: a state may have been altered, and compiled kernels do not check indices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from crestline.core import sound
from crestline.core.state import pack, unpack
from crestline.runtime.metrics import Metrics

if TYPE_CHECKING:
    from crestline.runtime.executor import BundleExecutor

#: Partitions without records that may be saved.
_SLACK = 64


def state_of(executor: BundleExecutor) -> dict[str, Any]:
    """The state of an executor, with as few records as possible."""
    candidates, views = executor.candidates, executor.views
    candidates.compact(views.log, slack=0)
    candidates.forget_partitions(views.log, slack=_SLACK)
    return {
        "queries": views.texts(),
        "result_rows": dict(views.result_rows),
        "latest": executor.latest,
        "arrived": executor.arrived,
        "operator": executor.plan.save_operator(candidates.operator),
        "candidates": candidates.state(),
        "turns": executor.turns.state(),
        "log": views.log.state(),
        "metrics": executor.metrics.as_dict() | {"seconds": 0.0},
    }


def restore(executor: BundleExecutor, state: dict[str, Any]) -> None:
    """Let a fresh executor continue from a state; StateError if it cannot."""
    with sound.reading(pa.ArrowException):
        _restore(executor, state)
        _check(executor, state)


def _restore(executor: BundleExecutor, state: dict[str, Any]) -> None:
    views = executor.views
    views.restore(state["queries"], state["result_rows"])
    executor.watermark.latest, executor.arrived = state["latest"], state["arrived"]
    operator = executor.plan.restore_operator(state["operator"], shard=executor.shard)
    executor.candidates.restore(state["candidates"], operator)
    executor.turns.restore(state["turns"])
    _restore_metrics(executor.metrics, state["metrics"])
    executor.rejects.counts = dict(executor.metrics.rejected)


def _restore_metrics(metrics: Metrics, state: dict[str, Any]) -> None:
    model = metrics.as_dict() | {"rejected": {}, "approximation": {}}
    sound.like(state, model, "metrics")
    for name, value in state.items():
        setattr(metrics, name, value)


def _check(executor: BundleExecutor, state: dict[str, Any]) -> None:
    """Refuse what refers to records or partitions that are not there, and numbers that are none;
    restore what was shown."""
    candidates = executor.candidates
    sound.moments("latest", np.array([state["latest"]]))
    sound.like(state["arrived"], 0, "arrived")
    for counts in (state["metrics"]["rejected"], state["result_rows"]):
        sound.like(counts, dict.fromkeys(counts, 0), "counts")
    _check_partitions(state["operator"], candidates.partition_count)
    candidates.check()
    for records in executor.turns.parts():
        sound.require(records.fits(executor.roles), "waiting records have other columns")
        candidates.encoder.check_saved(records)
    log = executor.views.log
    log.restore(state["log"], candidates.partition_count, len(candidates.table))


def _check_partitions(operator: dict[str, Any], count: int) -> None:
    """Refuse the state of an operator that knows more partitions than have values."""
    for band in operator.get("bands", {}).values():
        _check_partitions(band, count)
    if "arrays" in operator:
        sound.within("operator: partitions", operator["arrays"]["partition"], 0, count)
    for pairs in operator.get("pairs", {}).values():
        sound.within("operator: partitions", pairs[:, 0], 0, count)
    if isinstance(counts := operator.get("counts"), np.ndarray):
        sound.require(len(counts) <= count, "the operator knows partitions without values")
    if isinstance(partitions := operator.get("partitions"), dict):
        codes = np.array([*map(int, partitions)], np.int64)
        sound.within("operator: partitions", codes, 0, count)


def take_over(executor: BundleExecutor, other: BundleExecutor) -> None:
    """Let a fresh executor continue where another stopped whose columns had narrower types;
    CandidateMisfit if one of its values does not fit. The other one stays as it is."""
    state = unpack(pack(other.state()))
    state["candidates"] = executor.candidates.retyped(state["candidates"])
    executor.turns.retype(state["turns"], executor.roles)
    restore(executor, state)
    executor.metrics.seconds = other.metrics.seconds
    executor.watermark.horizon = other.watermark.horizon


__all__ = ["restore", "state_of", "take_over"]
