"""The algorithms with a grid over attributes: the universal checks with scores that have a
geometry, over coordinates that are awkward."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import crestline
from crestline import planner
from crestline.certain.preferences import (
    AttributeDistance,
    Distance,
    Haversine,
    Preference,
    WeightedSum,
)
from crestline.language.expression import Expression
from crestline.language.ranking import OVER_ATTRIBUTES, attributes_of
from crestline.planner.attributes import preference_of
from crestline.testing import Spec
from hostile import SCORES
from local import engines
from local.engines import Algorithm, catalogue, examples
from runtime import checks
from strategies import Case
from tiers import TIERS, in_tier

GRIDS = [a for a in catalogue() if a.name in OVER_ATTRIBUTES]
COORDINATES = ("x0", "x1", "x2", "x3")
POOLS: tuple[tuple[Any, ...], ...] = (
    (0.0, 1.0, 2.0), tuple(range(12)), (0.25, 0.5, 7.0, None), (*SCORES, 0.5, 2.0, None),
)  # fmt: skip
WEIGHTS = (1.0, 0.5, 3.0, 0.1, -1.0, -2.5)


@dataclass(frozen=True)
class PointSpec(Spec):
    """A query whose first term is an expression; the judge finds its value in ``val``."""

    ranking: str = ""

    def text(self, using: str | None = None, stream: str = "s") -> str:
        return super().text(using, stream).replace("ORDER BY `val`", f"ORDER BY {self.ranking}", 1)


class PointCase(Case):
    """A stream that also has coordinates."""

    @property
    def table(self) -> pa.Table:
        table = super().table
        for name in COORDINATES:
            column = pa.array([record[name] for record in self.records], pa.float64())
            table = table.append_column(name, column)
        return table


def a_ranking(draw: checks.Draw, dimensions: int) -> tuple[str, bool | None]:
    """An expression, and whether it descends; None: either way."""
    columns = ", ".join(COORDINATES[:dimensions])
    numbers = [repr(draw(st.sampled_from(WEIGHTS))) for _ in range(2 * dimensions)]
    point = ", ".join(numbers[:dimensions])
    weights = ", ".join(number.lstrip("-") for number in numbers[dimensions:])
    terms = zip(numbers[:dimensions], COORDINATES, strict=False)
    return draw(
        st.sampled_from(
            [
                (f"DISTANCE(({columns}), ({point}))", False),
                (f"WEIGHTED_DISTANCE(({columns}), ({point}), ({weights}))", False),
                (f"ATTRIBUTE_DISTANCE(({columns}), ({point}), ({weights}))", False),
                (" + ".join(f"{weight} * {name}" for weight, name in terms), None),
            ]
        )
    )


def with_points(case: Case, draw: checks.Draw) -> PointCase:
    """The same records with coordinates, from which the engine computes their scores."""
    ranking, descending = a_ranking(draw, draw(st.integers(2, 4)))
    pool = draw(st.sampled_from(POOLS))
    codes = st.integers(0, len(pool) ** len(COORDINATES) - 1)
    count = len(case.records)
    records = []
    for record, code in zip(
        case.records, draw(st.lists(codes, min_size=count, max_size=count)), strict=True
    ):
        point = {}
        for name in COORDINATES:
            code, choice = divmod(code, len(pool))
            point[name] = None if pool[choice] is None else float(pool[choice])
        records.append(record | point)
    first, *further = case.spec.order
    order = (("val", first[1] if descending is None else descending), *further)
    known = {field.name: getattr(case.spec, field.name) for field in fields(Spec)}
    known |= {"order": order, "numbered": False, "columns": ()}
    spec = PointSpec(**known, ranking=ranking)
    bare = PointCase(spec, [record | {"val": None} for record in records], False, case.unit)
    assert attributes_of(crestline.language.parse(spec.text("SMA")))
    engine = duckdb.connect()
    engine.register("points", bare.table.select(list(COORDINATES)))
    values = engine.sql(f"SELECT {Expression(ranking).to('duckdb')} FROM points").fetchall()
    scored = [record | {"val": value} for record, (value,) in zip(records, values, strict=True)]
    return replace(bare, records=scored)


CROSSED = [
    pytest.param(algorithm, check, count, id=f"{algorithm.name}-{check.__name__}")
    for algorithm in GRIDS
    for check, count in checks.UNIVERSAL
    if not (algorithm.family == "arrival" and "revision" in check.__name__)
]


@pytest.fixture
def pointed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the checks draw cases with points."""
    a_case, rejects_of = checks.a_case, engines.rejects_of
    monkeypatch.setattr(
        checks,
        "a_case",
        lambda algorithm, draw, *how, **more: with_points(
            a_case(algorithm, draw, *how, **more), draw
        ),
    )
    # The judge knows the score as a column.
    monkeypatch.setattr(
        engines,
        "rejects_of",
        lambda answer: [
            (row, "val" if "x0" in column else column, reason)
            for row, column, reason in rejects_of(answer)
        ],
    )


def holds(algorithm: Algorithm, check: checks.Check, count: int) -> None:
    @examples(count)
    @given(st.data())
    def always(data: st.DataObject) -> None:
        with in_tier(data.draw(st.sampled_from(TIERS))):
            check(algorithm, data.draw)

    always()


@pytest.mark.usefixtures("pointed")
@pytest.mark.parametrize(("algorithm", "check", "count"), CROSSED)
def test_every_algorithm_with_points(algorithm: Algorithm, check: checks.Check, count: int) -> None:
    holds(algorithm, check, max(1, count // 20))


@pytest.mark.stress
@pytest.mark.usefixtures("pointed")
@pytest.mark.parametrize(("algorithm", "check", "count"), CROSSED)
def test_every_algorithm_with_points_at_length(
    algorithm: Algorithm, check: checks.Check, count: int
) -> None:
    holds(algorithm, check, count)


def test_the_language_names_the_algorithms_that_have_a_grid() -> None:
    grids = [a.name for a in planner.algorithms() if "attributes" in a.options]
    assert sorted(grids) == sorted(OVER_ATTRIBUTES)


@pytest.mark.parametrize(
    ("ending", "over"),
    [
        ("DISTANCE((x, y), (1, 2)) ASC USING CPM", Distance((1.0, 2.0))),
        ("DISTANCE((x, y), (1, 2)) DESC USING CPM", None),
        ("DISTANCE((x, y), (1, 2)) ASC USING RAPF", None),
        ("DISTANCE((x, y), (1, 2)) ASC", None),
        ("DISTANCE((x, y), (1, 2)) ASC USING CPM (attributes => FALSE)", None),
        ("DISTANCE((x), (1)) ASC USING CPM", None),
        ("DISTANCE((a, b, c, d, e, f, g), (1, 2, 3, 4, 5, 6, 7)) ASC USING CPM", None),
        ("WEIGHTED_DISTANCE((x, y), (1, 2), (1, -1)) ASC USING SNN", None),
        ("ATTRIBUTE_DISTANCE((x, y), (1, 2)) USING SNN", AttributeDistance((1.0, 2.0), (1.0, 1.0))),
        ("2 * x - y DESC USING SMA", WeightedSum((2.0, -1.0))),
        ("2 * x - y ASC USING TMA", WeightedSum((-2.0, 1.0))),
        ("x * y DESC USING TMA", None),
        ("HAVERSINE(x, y, 91, 0) ASC USING SNN", None),
        ("HAVERSINE(x, y, 9, 0) ASC USING SNN", Haversine((9.0, 0.0))),
    ],
)
def test_which_queries_have_cells_of_attributes(ending: str, over: Preference | None) -> None:
    query = crestline.language.parse(f"SELECT TOP 1 id FROM s [ROWS 9] ORDER BY {ending}")
    assert preference_of(query) == over
    assert planner.plan(query).make_operator() is not None
