"""The second judge against the first, on streams that both can take."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from crestline.testing import expect
from local.engines import assert_same_rows, examples
from strategies import Case, cases
from testing.by_sql import expected


@examples(40)
@given(cases(kinds=("range_slide",), bad=False, backward=False))
def test_both_judges_agree(case: Case) -> None:
    # A selected time is a number for one judge and a timestamp for the other.
    spec = replace(case.spec, select=("id", "txt"), name=None)
    assert_same_rows(expected(spec, case.table), expect(spec, case.records).rows, spec.text())
