"""Random queries over random tables: every clause and function, every type that Arrow has."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from random import Random
from typing import Any

import pyarrow as pa

from crestline.language.functions import ALIASES, CASTS, FUNCTIONS, TRUNCATIONS
from crestline.planner import algorithms

_MOMENT = datetime(2024, 2, 29, 13, 14, 15, 123456)
_INTEGERS = (pa.int8, pa.int16, pa.int32, pa.int64, pa.uint8, pa.uint16, pa.uint32, pa.uint64)
#: A type and values that it can hold; NULL comes in with all.
PLAIN: list[tuple[pa.DataType, list[Any]]] = [
    *((kind(), [0, 1, 2, 100]) for kind in _INTEGERS),
    (pa.int64(), [-(2**63), 2**63 - 1, 0]),
    (pa.uint64(), [2**64 - 1, 0]),
    *((kind(), [0.0, 1.5, float("nan"), float("inf")]) for kind in (pa.float16, pa.float32)),
    (pa.float64(), [0.0, -0.0, 1.5, 5e-324, 1.7e308, float("nan"), float("inf"), float("-inf")]),
    (pa.decimal32(9, 2), [Decimal("1.25"), Decimal("-9999999.99")]),
    (pa.decimal64(18, 4), [Decimal("1.25"), Decimal(0)]),
    (pa.decimal128(38, 10), [Decimal("1.25"), Decimal(10) ** 27]),
    (pa.decimal128(5, -2), [Decimal("100"), Decimal("1200")]),
    (pa.decimal256(76, 0), [Decimal(10) ** 75, Decimal(-1)]),
    (pa.bool_(), [True, False]),
    *((kind(), ["", "a", "1.5", "2024-01-01 10:11:12", "naïve 🙂"])
      for kind in (pa.string, pa.large_string, pa.string_view)),
    *((kind(), [b"", b"a", b"\xff\x00"]) for kind in (pa.binary, pa.large_binary, pa.binary_view)),
    (pa.binary(3), [b"abc", b"\x00\xff\x00"]),
    (pa.date32(), [date(2024, 2, 29), date(1, 1, 1), date(9999, 12, 31)]),
    (pa.date64(), [date(2024, 2, 29), date(1970, 1, 1)]),
    (pa.time32("s"), [time(1, 2, 3)]),
    (pa.time32("ms"), [time(1, 2, 3, 4000)]),
    (pa.time64("us"), [time(1, 2, 3, 4)]),
    (pa.time64("ns"), [time(1, 2, 3, 4)]),
    *((pa.timestamp(unit), [_MOMENT.replace(microsecond=0), datetime(1970, 1, 1)])
      for unit in ("s", "ms", "us", "ns")),
    (pa.timestamp("us", tz="UTC"), [_MOMENT.replace(tzinfo=UTC)]),
    (pa.timestamp("ms", tz="America/New_York"), [_MOMENT.replace(tzinfo=UTC, microsecond=0)]),
    *((pa.duration(unit), [timedelta(seconds=5)]) for unit in ("s", "ms", "us", "ns")),
    (pa.month_day_nano_interval(), [pa.MonthDayNano([1, 2, 3])]),
    (pa.null(), [None]),
]  # fmt: skip


def column(chance: Random, rows: int, depth: int = 0) -> pa.Array:
    """A column of any type, with values that the type can hold."""
    shape = chance.choice(["plain"] * 6 + ["dictionary", "list", "struct", "map", "other"])
    if shape == "plain" or depth > 1:
        kind, values = chance.choice(PLAIN)
        return pa.array([chance.choice([*values, None]) for _ in range(rows)], kind)
    if shape == "dictionary":
        kind, values = chance.choice(PLAIN)
        values = values[: 1 + (kind != pa.null())]
        indices = pa.array([chance.choice([0, None]) for _ in range(rows)], pa.int8())
        return pa.DictionaryArray.from_arrays(indices, pa.array(values, kind))
    inner = column(chance, rows, depth + 1)
    if shape == "struct":
        return pa.StructArray.from_arrays([inner, column(chance, rows, depth + 1)], ["a", "b"])
    if shape == "map":
        keys = pa.array([f"k{n}" for n in range(rows)])
        return pa.MapArray.from_arrays(list(range(rows + 1)), keys, inner)
    offsets = list(range(rows + 1))
    if shape == "list":
        kind = chance.choice([pa.ListArray, pa.LargeListArray])
        return kind.from_arrays(offsets, inner)
    if chance.random() < 0.5:
        return pa.FixedSizeListArray.from_arrays(inner, 1)
    try:
        return pa.RunEndEncodedArray.from_arrays(list(range(1, rows + 1)), inner)
    except (pa.ArrowException, ValueError):
        return inner


NAMES = ("x", "y", "z", "ts", "id", "p", "g", "two words", "Rank", "X")


def table(chance: Random) -> pa.Table:
    """Few rows; half of the columns have a type that fits the clause they are named after."""
    rows = chance.choice([0, 1, 2, 3, 5])
    usual = {
        "x": pa.array([float(n % 3) for n in range(rows)]),
        "y": pa.array(list(range(rows))),
        "ts": pa.array([n * 1_000_000 for n in range(rows)], pa.timestamp("us")),
        "id": pa.array([f"r{n}" for n in range(rows)]),
        "p": pa.array([0.5] * rows),
        "g": pa.array(["a", "b", None, "a", "b"][:rows]),
    }
    names = {"x", "ts", "p", *chance.sample(NAMES, chance.randint(3, len(NAMES)))}
    odd = chance.choice([0.05, 0.1, 0.5])
    return pa.table(
        {
            name: usual[name] if name in usual and chance.random() > odd else column(chance, rows)
            for name in sorted(names)
        }
    )


class Asking:
    """Draws queries on the columns of a table."""

    def __init__(self, chance: Random, columns: list[str]) -> None:
        self.chance = chance
        self.columns = [f"`{name}`" for name in columns]

    def query(self) -> str:
        chance = self.chance
        k = chance.choice(["1", "2", "3"] * 5 + ["1000000", "10000000", "0", "1e3"])
        named = chance.choice(["", "", "", "CREATE QUERY q AS "])
        select = self._aliased("c")
        select = chance.choice([select] * 7 + ["*", f"*, {select}", f"{select}, s.*"])
        text = f"{named}SELECT TOP {k} {select} FROM s [{self._window()}]"
        if chance.random() < 0.3:
            text += f" WHERE {self.expression(2)}"
        if chance.random() < 0.3:
            text += f" PARTITION BY {self._aliased('p')}"
        family = chance.choice(["certain"] * 6 + ["uncertain"] * 2 + ["incomplete"])
        if family == "incomplete":
            text += self._combine()
        if family == "uncertain":
            exclusive = chance.choice(["", "", f" EXCLUSIVE BY {self._column()}"])
            asked = chance.choice(
                ["PK_TOPK", "PT_K(0.3)", "U_KRANKS", "U_TOPK", "EXPECTED_RANK", "PRF(0.9)"]
            )
            text += f" WITH PROBABILITY {self._score('`p`')}{exclusive} AS {asked}"
        if family != "incomplete" or chance.random() < 0.1:
            text += f" ORDER BY {self._ranked('`x`')} {chance.choice(['', 'ASC', 'DESC'])}"
            if chance.random() < 0.3:
                text += f", {self._ranked(self._mostly_column())}"
        return text + self._small_clauses()

    def expression(self, depth: int) -> str:
        """Any expression; types fit by chance only."""
        chance = self.chance
        if depth == 0 or chance.random() < 0.2:
            return self._leaf()
        one, two = self.expression(depth - 1), self.expression(depth - 1)
        shape = chance.randrange(9)
        if shape == 0:
            return f"({one} {chance.choice(['+', '-', '*', '/', '%', 'DIV', '||'])} {two})"
        if shape == 1:
            return f"({one} {chance.choice(['=', '<', '>=', '<=>', 'AND', 'OR'])} {two})"
        if shape == 2:
            return f"(CASE WHEN {one} > {two} THEN {one} ELSE {self._leaf()} END)"
        if shape == 3:
            return f"CAST({one} AS {chance.choice(list(CASTS))})"
        if shape == 4:
            tests = ["IS NULL", "IN (1, 2)", "LIKE 'a%'", f"BETWEEN {two} AND 3", "IN ('a', NULL)"]
            return f"({one} {chance.choice(tests)})"
        if shape == 5:
            return f"({chance.choice(['-', 'NOT '])}({one}))"
        if shape == 6:
            return f"{self._column()}[{chance.randint(0, 2)}]"
        return self._call(one, two)

    def _call(self, one: str, two: str) -> str:
        chance = self.chance
        function = FUNCTIONS[ALIASES.get(name := chance.choice([*FUNCTIONS, *ALIASES]), name)]
        name = function.name
        special = {
            "ROUND": f"{one}, {chance.randint(0, 10)}",
            "SUBSTRING": f"{one}, 1, 2",
            "DATE_TRUNC": f"'{chance.choice(TRUNCATIONS)}', {one}",
            "CAST": f"{one} AS {chance.choice(list(CASTS))}",
            "DISTANCE": f"({one}, {two}), (1, 2)",
            "WEIGHTED_DISTANCE": f"({one}, {two}), (1, 2), (3, {one})",
            "ATTRIBUTE_DISTANCE": f"({one}, {two}), (1, 2), (3, {one})",
            "COSINE": f"{one}, ARRAY(1, 2)",
        }
        many = max(function.least, min(function.most, chance.randint(1, 4)))
        arguments = ", ".join(chance.choice([one, two, self._leaf()]) for _ in range(many))
        return f"{name}({special.get(name, arguments)})"

    def _leaf(self) -> str:
        literals = ["0", "1", "-1", "2.5", "1e300", "9223372036854775807", "NULL", "TRUE", "'a'"]
        literals += ["'1.5'", "DATE '2024-02-29'", "TIMESTAMP '2024-02-29 12:00:00'", "''"]
        literals += ["INTERVAL 5 MINUTES", "INTERVAL 7 MONTHS"]
        if self.chance.random() < 0.01:
            return "9" * self.chance.choice([20, 309])
        return self._column() if self.chance.random() < 0.75 else self.chance.choice(literals)

    def _column(self) -> str:
        return self.chance.choice(self.columns)

    def _mostly_column(self) -> str:
        return self._column() if self.chance.random() < 0.7 else self.expression(2)

    def _score(self, usual: str) -> str:
        return usual if self.chance.random() < 0.6 else self._mostly_column()

    def _ranked(self, usual: str) -> str:
        """Mostly a score, sometimes a name or number of the select list."""
        if self.chance.random() < 0.8:
            return self._score(usual)
        return self.chance.choice(["c0", "C1", "abs(c0)", "c0 + `x`", "1", "2", "s.`x`"])

    def _aliased(self, prefix: str) -> str:
        many = self.chance.choice([1, 1, 2, 3])
        return ", ".join(f"{self._mostly_column()} AS {prefix}{n}" for n in range(many))

    def _window(self) -> str:
        on = f"ON {self._column() if self.chance.random() < 0.2 else '`ts`'}"
        return self.chance.choice([
            "ROWS 2", "ROWS 3 SLIDE 2", f"ROWS 3 SLIDE 2 {on}", "ROWS 1000000000000 SLIDE 3",
            f"RANGE 3 SECONDS {on}", f"RANGE 3 SECONDS SLIDE 2 SECONDS {on}",
            f"RANGE 30000 DAYS SLIDE 30000 DAYS {on}", f"UNBOUNDED SLIDE 30000 DAYS {on}",
            "UNBOUNDED SLIDE 2 ROWS",
        ])  # fmt: skip

    def _combine(self) -> str:
        chance = self.chance
        function = chance.choice(["SUM", "AVG", "MIN", "MAX"])
        listed = chance.choice(["", "", " IN ('a', 'b')"])
        text = f" COMBINE {function}({self._score('`x`')}) ACROSS {self._column()}{listed}"
        text += f" OBJECT {self._column()}"
        return text + chance.choice(["", " VALUES BETWEEN 0 AND 3", " REPEATS MAX AT MOST 2"])

    def _small_clauses(self) -> str:
        chance, text = self.chance, ""
        if chance.random() < 0.2:
            text += f" KEY ({self._column()})"
        if chance.random() < 0.2:
            text += " LATENESS 1 SECOND" + chance.choice(["", " LATE DROP", " LATE REVISE"])
        if chance.random() < 0.1:
            text += " FREQUENCY 2 SECONDS"
        if chance.random() < 0.3:
            text += chance.choice([" EMIT SNAPSHOTS", " EMIT CHANGES", " EMIT ENTRIES"])
        if chance.random() < 0.1:
            text += chance.choice([" APPROXIMATE", " APPROXIMATE ERROR 0.01", " EXACT"])
        if chance.random() < 0.15:
            text += f" USING {chance.choice(algorithms()).name}"
            if chance.random() < 0.2:
                option = chance.choice(["buffer", "error", "gamma", "expect", "additional", "once"])
                text += (
                    f" ({option} => {chance.choice(['0', '0.5', '3', 'TRUE', '1e18', '9' * 30])})"
                )
        return text
