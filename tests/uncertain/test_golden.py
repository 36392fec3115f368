"""The papers' own examples, through queries and through the judges: every algorithm, every number.

Jin et al. 2008, Table 1 with its four answers; Chen et al., Tables 1 to 3 and section 4.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from local.engines import ask, at, moment
from uncertain.replay import operators
from uncertain.worlds import ByFormulas, ByWorlds, Record

using = pytest.mark.parametrize("using", list(operators()))
#: Small enough that PT_K shows every record.
EVERYBODY = "PT_K(1e-9)"


def shown(rows: list[dict[str, Any]], column: str = "id", digits: int = 9) -> list[Any]:
    """``(record, probability)`` by rank."""
    assert [row["rank"] for row in rows] == list(range(1, len(rows) + 1))
    return [(row[column], round(row["probability"], digits)) for row in rows]


# --- Jin et al. 2008 ------------------------------------------------------------------------------

#: In the order in which they came: 10:33, 10:35, 10:37, 10:38.
RADAR = [
    {"speed": 5, "prob": 0.8, "car": "Honda"},
    {"speed": 6, "prob": 0.5, "car": "Toyota"},
    {"speed": 8, "prob": 0.4, "car": "Mazda"},
    {"speed": 2, "prob": 0.4, "car": "Benz"},
]


def radar(semantics: str, using: str, window: str = "ROWS 4 SLIDE 4", k: int = 2) -> Any:
    return ask(
        f"SELECT TOP {k} speed FROM s [{window}] WITH PROBABILITY prob AS {semantics}"
        f" ORDER BY speed DESC USING {using}",
        RADAR,
    )


def test_sixteen_worlds() -> None:
    records = [Record(r["speed"], r["speed"], 0, r["prob"]) for r in RADAR]
    ranked = sorted(records, key=lambda r: -r.score)
    worlds = {
        tuple(ranked[place].id for place in places): float(chance)
        for places, chance in ByWorlds(ranked, 2).worlds()
    }
    assert len(worlds) == 16
    assert sum(worlds.values()) == pytest.approx(1)
    assert worlds[6, 5] == pytest.approx(0.144)  # the tenth
    assert worlds[6, 5, 2] == pytest.approx(0.096)


@using
@pytest.mark.parametrize(
    ("semantics", "answer"),
    [
        ("PK_TOPK", [(5, 0.64), (6, 0.5)]),
        ("GLOBAL_TOPK", [(5, 0.64), (6, 0.5)]),
        ("PT_K(0.3)", [(5, 0.64), (6, 0.5), (8, 0.4)]),
        (EVERYBODY, [(5, 0.64), (6, 0.5), (8, 0.4), (2, 0.16)]),
        ("U_KRANKS", [(8, 0.4), (5, 0.4)]),
        ("U_TOPK", [(6, 0.24), (5, 0.24)]),
        # Not in the paper; by hand from the definition.
        ("EXPECTED_RANK", [(5, 0.98), (6, 1.0)]),
        # 0.5 * 0.8 * (0.8 * 0.75) for 5, 0.5 * 0.5 * 0.8 for 6, 0.5 * 0.4 for 8
        ("PRF(0.5)", [(5, 0.24), (8, 0.2)]),
    ],
)
def test_answers_to_the_four_radar_readings(using: str, semantics: str, answer: Any) -> None:
    assert shown(radar(semantics, using), "speed") == answer


@using
def test_a_window_of_three(using: str) -> None:
    """The fastest reading is not in the first answer, but in the second."""
    rows = radar("PK_TOPK", using, "ROWS 3")
    answers = {end: [r["speed"] for r in rows if r["window_end"] == end] for end in (3, 4)}
    assert {end: set(speeds) for end, speeds in answers.items()} == {3: {6, 5}, 4: {6, 8}}
    assert shown([r for r in rows if r["window_end"] == 4], "speed") == [(6, 0.5), (8, 0.4)]


# --- Chen et al. ----------------------------------------------------------------------------------

#: Table 1; readings of one moment by two sensors exclude one another.
SENSORS = [
    ("R1", "2013-01-01T09:05:00Z", 80, 0.3, None),
    ("R2", "2013-01-01T09:10:00Z", 65, 0.4, "GR1"),
    ("R3", "2013-01-01T09:10:00Z", 45, 0.5, "GR1"),
    ("R4", "2013-01-01T09:15:00Z", 30, 1.0, None),
    ("R5", "2013-01-01T09:20:00Z", 50, 0.8, "GR2"),
    ("R6", "2013-01-01T09:20:00Z", 25, 0.2, "GR2"),
]
#: Table 2: the readings of each world, its probability, its top 2 and its top 3 (as sets).
WORLDS = [
    ("R1 R2 R4 R5", 0.096, "R1 R2", "R1 R2 R5"),
    ("R1 R2 R4 R6", 0.024, "R1 R2", "R1 R2 R4"),
    ("R1 R3 R4 R5", 0.12, "R1 R5", "R1 R5 R3"),
    ("R1 R3 R4 R6", 0.03, "R1 R3", "R1 R3 R4"),
    ("R1 R4 R5", 0.024, "R1 R5", "R1 R4 R5"),
    ("R1 R4 R6", 0.006, "R1 R4", "R1 R4 R6"),
    ("R2 R4 R5", 0.224, "R2 R5", "R2 R4 R5"),
    ("R2 R4 R6", 0.056, "R2 R4", "R2 R4 R6"),
    ("R3 R4 R5", 0.28, "R5 R3", "R3 R4 R5"),
    ("R3 R4 R6", 0.07, "R3 R4", "R3 R4 R6"),
    ("R4 R5", 0.056, "R5 R4", "R4 R5"),
    ("R4 R6", 0.014, "R4 R6", "R4 R6"),
]
#: Table 3, but for R6's 0.173, which contradicts Table 2: the worlds add up to 0.146.
TOP_2 = {"R1": 0.3, "R2": 0.4, "R3": 0.38, "R4": 0.202, "R5": 0.704, "R6": 0.014}
TOP_3 = {"R1": 0.3, "R2": 0.4, "R3": 0.5, "R4": 0.784, "R5": 0.8, "R6": 0.146}


def sensors() -> list[Record]:
    records = [Record(id, speed, 0, prob, rule) for id, _, speed, prob, rule in SENSORS]
    return sorted(records, key=lambda r: -r.score)


def sensor(semantics: str, k: int, using: str) -> list[dict[str, Any]]:
    """The result at 9:20, of twenty minutes."""
    columns = ("id", "ts", "speed", "prob", "rule")
    data = [dict(zip(columns, reading, strict=True)) for reading in SENSORS]
    for record in data:
        record["ts"] = moment(at(record["ts"]))
    rows = ask(
        f"SELECT TOP {k} id FROM s [RANGE 20 MINUTES ON ts] WITH PROBABILITY prob"
        f" EXCLUSIVE BY rule AS {semantics} ORDER BY speed DESC USING {using}",
        data,
    )
    return [row for row in rows if row["window_end"] == at("2013-01-01T09:20:00Z")]


def test_twelve_worlds() -> None:
    ranked = sensors()
    possible = {
        frozenset(ranked[place].id for place in places): (places, float(chance))
        for places, chance in ByWorlds(ranked, 2).worlds()
        if chance > Fraction(1, 10**9)
    }
    assert len(possible) == len(WORLDS) == 12
    for readings, chance, top_2, top_3 in WORLDS:
        places, found = possible[frozenset(readings.split())]
        assert found == pytest.approx(chance)
        ids = [ranked[place].id for place in places]
        assert set(ids[:2]) == set(top_2.split())
        assert set(ids[:3]) == set(top_3.split())


@pytest.mark.parametrize(("k", "table"), [(2, TOP_2), (3, TOP_3)])
@pytest.mark.parametrize("judge", [ByWorlds, ByFormulas])
def test_the_judges_know_table_3(judge: Any, k: int, table: dict[str, float]) -> None:
    ranked = sensors()
    found = {r.id: float(p) for r, p in zip(ranked, judge(ranked, k).in_top, strict=True)}
    assert found == pytest.approx(table)


@using
@pytest.mark.parametrize(("k", "table"), [(2, TOP_2), (3, TOP_3)])
def test_probabilities_of_every_reading(using: str, k: int, table: dict[str, float]) -> None:
    wanted = sorted(table.items(), key=lambda pair: -pair[1])
    assert shown(sensor(EVERYBODY, k, using)) == wanted


@using
def test_answers_to_the_queries_of_the_introduction(using: str) -> None:
    assert shown(sensor("PK_TOPK", 3, using)) == [("R5", 0.8), ("R4", 0.784), ("R3", 0.5)]
    assert shown(sensor("PK_TOPK", 2, using)) == [("R5", 0.704), ("R2", 0.4)]


@using
def test_the_other_definitions_from_table_2(using: str) -> None:
    """Added up by hand from the worlds."""
    # Vectors of two: R5 R3 0.28, R2 R5 0.224, R1 R5 0.144, R1 R2 0.12, R3 R4 and others less.
    assert shown(sensor("U_TOPK", 2, using)) == [("R5", 0.28), ("R3", 0.28)]
    # First: R5 0.336, R1 0.3, R2 0.28, R3 0.07. Second: R5 0.368, R3 0.31, R4 0.188, R2 0.12.
    assert shown(sensor("U_KRANKS", 2, using)) == [("R5", 0.336), ("R5", 0.368)]


@using
def test_section_4(using: str) -> None:
    """Pr+(T, j) is the probability that j records rank higher than T: Pr_k(T) tells it."""
    chances = [0.7, 0.2, 1.0, 0.3, 0.5]
    data = [{"id": f"T{i}", "val": -i, "prob": p} for i, p in enumerate(chances, start=1)]
    top: list[dict[str, float]] = [{}]
    for k in (1, 2, 3):
        query = (
            f"SELECT TOP {k} id FROM s [ROWS 5 SLIDE 5] WITH PROBABILITY prob AS {EVERYBODY}"
            f" ORDER BY val DESC USING {using}"
        )
        top.append(dict(shown(ask(query, data))))

    def above(record: str, j: int) -> float:
        existing = chances[int(record[1]) - 1]
        return (top[j + 1].get(record, 0.0) - top[j].get(record, 0.0)) / existing

    assert [above("T1", j) for j in (0, 1)] == pytest.approx([1, 0])
    assert [above("T2", j) for j in (0, 1)] == pytest.approx([0.3, 0.7])
    assert [above("T3", j) for j in (0, 1, 2)] == pytest.approx([0.24, 0.62, 0.14])
    assert top[3]["T3"] == pytest.approx(1) and top[2]["T3"] == pytest.approx(0.86)
