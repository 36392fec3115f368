"""The pipeline of `crestline.testing` for the cases that the strategies draw."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from crestline.testing import FOREVER, Row, Spec, sorted_rows
from crestline.testing.pipeline import PipelineByHand
from strategies import Case


class ByHand(PipelineByHand):
    """The query of a case on ``buckets`` buckets."""

    def __init__(
        self, case: Case, buckets: int, bounded: bool, using: str | None = None, **how: Any
    ) -> None:
        super().__init__(case.spec.text(using), case.table.schema, buckets, bounded, **how)
        self.spec = case.spec

    def sorted_rows(self) -> list[Row]:
        return sorted_rows(self.spec, self.rows)


def without_late(spec: Spec) -> Spec:
    """The same question where nothing can be too late."""
    return replace(spec, lateness=FOREVER) if spec.ts else spec
