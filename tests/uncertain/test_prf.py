"""PRF: what is particular to it. The universal checks of uncertain streams ask it as well."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import crestline
from local.engines import ask
from tiers import TIERS, in_tier
from uncertain.cases import each_algorithm
from uncertain.objections import int_log2
from uncertain.worlds import ByFormulas, Record, rounded


def query(alpha: float, k: int, window: str, more: str = "") -> str:
    return (
        f"SELECT TOP {k} id FROM s [{window}] WITH PROBABILITY p EXCLUSIVE BY rule"
        f" AS PRF({alpha!r}) ORDER BY val DESC {more}"
    )


def falling(value: Fraction) -> tuple[int, float]:
    """A key that sorts the largest first, to 40 bits, however small it is."""
    power = int_log2(value)
    mantissa = rounded(value / Fraction(2) ** power)
    while mantissa >= 1:
        power, mantissa = power + 1, mantissa / 2
    while mantissa < 0.5:
        power, mantissa = power - 1, mantissa * 2
    return -power, -mantissa


def records_of(rng: np.random.Generator, count: int, rules: int) -> list[dict[str, Any]]:
    """Best first. Sixteenths are exact; the records of a rule add up to 1 at most."""
    found = []
    left: dict[int, int] = {}
    for number in range(count):
        sixteenths, rule = int(rng.integers(1, 17)), int(rng.integers(0, rules + 1))
        room = left.setdefault(rule, 16)
        alone = rule == 0 or sixteenths > room
        left[rule] = room if alone else room - sixteenths
        found.append(
            {"id": number, "val": -number, "p": sixteenths / 16, "rule": None if alone else rule}
        )
    return found


@each_algorithm
@pytest.mark.parametrize("alpha", [1e-9, 5e-324, 0.5])
def test_values_below_all_floats_are_in_order(using: str, alpha: float) -> None:
    """The last of these records have values of about alpha to the 30."""
    rng = np.random.default_rng(7)
    for tier in TIERS:
        records = records_of(rng, 60, rules=4)
        judge = ByFormulas([Record(r["id"], r["val"], 0, r["p"], r["rule"]) for r in records], 60)
        values = judge.discounted(alpha)
        wanted = sorted(range(60), key=lambda place: (*falling(values[place]), place))
        with in_tier(tier):
            rows = ask(query(alpha, 60, "ROWS 60 SLIDE 60", f"USING {using}"), records)
        assert [row["id"] for row in rows] == wanted
        shown = {row["id"]: row["probability"] for row in rows}
        assert all(value == pytest.approx(float(values[place]), rel=1e-12, abs=1e-320)
                   for place, value in shown.items())  # fmt: skip


def test_extremes_of_alpha() -> None:
    """Close to 1 the own probability decides, close to 0 that of being first."""
    chances = (0.4, 0.6, 0.6, 1.0, 0.7)
    records = [{"id": i, "val": -i, "p": p, "rule": None} for i, p in enumerate(chances)]
    by_alpha = {a: ask(query(a, 5, "ROWS 5 SLIDE 5"), records) for a in (1 - 1e-9, 1e-9)}
    ids = {a: [row["id"] for row in rows] for a, rows in by_alpha.items()}
    assert ids == {1 - 1e-9: [3, 4, 1, 2, 0], 1e-9: [0, 1, 2, 3, 4]}
    first = by_alpha[1e-9][1]
    assert first["probability"] == pytest.approx(1e-9 * 0.6 * 0.6)


def test_ranks_behind_k_count() -> None:
    """Two certain records rank before c: the others do not hide it for k = 1 or 2."""
    records = [{"id": i, "val": -n, "p": p, "rule": None}
               for n, (i, p) in enumerate([("a", 1.0), ("b", 0.1), ("c", 1.0)])]  # fmt: skip
    rows = ask(query(0.5, 2, "ROWS 3 SLIDE 3"), records)
    assert [(row["id"], row["probability"]) for row in rows] == [
        ("a", 0.5), ("c", pytest.approx(0.5 * 0.5 * 0.95)),
    ]  # fmt: skip


@each_algorithm
def test_little_is_kept(using: str) -> None:
    """Not so by those that keep the window."""
    rng = np.random.default_rng(1)
    count = 4_000
    table = {"id": np.arange(count), "val": rng.random(count), "p": 1 - rng.random(count),
             "rule": np.full(count, "")}  # fmt: skip
    text = query(0.8, 5, "ROWS 1000 SLIDE 50", f"USING {using}").replace(" EXCLUSIVE BY rule", "")
    results = crestline.run(text, {"s": table}, engine="local")
    small = using not in ("BS", "NAIVE")
    assert (results.metrics.kept_peak < 500) == small


def test_the_value_is_the_sum_over_the_ranks_of_all_worlds() -> None:
    """Worlds written down by hand: a and c exclude one another."""

    def worlds() -> Iterator[tuple[list[str], Fraction]]:
        for first, chance in (("a", 0.5), ("c", 0.25), ("", 0.25)):
            for second, more in (("b", 0.25), ("", 0.75)):
                ranked = sorted(name for name in (first, second) if name)
                yield ranked, Fraction(chance) * Fraction(more)

    alpha, value = Fraction(0.75), dict.fromkeys("abc", Fraction(0))
    for ranked, chance in worlds():
        for rank, name in enumerate(ranked, start=1):
            value[name] += alpha**rank * chance
    records = [{"id": "a", "val": 3, "p": 0.5, "rule": "x"}, {"id": "b", "val": 2, "p": 0.25,
               "rule": None}, {"id": "c", "val": 1, "p": 0.25, "rule": "x"}]  # fmt: skip
    rows = ask(query(0.75, 3, "ROWS 3 SLIDE 3"), records)
    assert {row["id"]: row["probability"] for row in rows} == {
        n: float(v) for n, v in value.items()
    }
