"""The top-k definitions that the paper lists, on the readings of Table 1, and its printed queries.

Each definition is applied to the twelve possible worlds of Table 2, one world after the other. The
engine is asked for the same, by one query and by queries that DP computes together.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import pyarrow as pa
from papers.chen_multi.example import DIGITS, EXPECTED, readings, worlds
from papers.reproduction import judged

import crestline
from crestline.language import StreamDefaults

World = tuple[list[str], float]
#: A record and its probability, or expected rank, as a row of an answer.
Row = list[Any]
THRESHOLD, ALPHA = 0.25, 0.8
DEFINITIONS = {
    "PK_TOPK": "Global-Topk (PK_TOPK)",
    f"PT_K({THRESHOLD})": "PT-k",
    "U_KRANKS": "U-kRanks",
    "U_TOPK": "U-Topk",
    "EXPECTED_RANK": "expected rank",
    f"PRF({ALPHA})": "PRF",
}
KS = (1, 2, 3)
#: As section 1 prints them, but for the quotes.
PRINTED = """
SELECT      top-{}
FROM        SENSOR [Range 20 mins]
WHERE       SENSOR.location='X'
FREQUENCY   {} mins
"""


def ranked_worlds() -> list[World]:
    """The worlds of Table 2 with their records, the fastest first."""
    speed = {id: speed for id, _, speed, *_ in EXPECTED["table_1"]["records"]}
    return [
        (sorted(names.split(), key=lambda id: -speed[id]), chance) for names, chance, *_ in worlds()
    ]


def answer(definition: str, k: int, known: list[World]) -> list[Row]:
    """The answer by the letter of the definition. Of equal records the faster is first."""
    speed = {id: speed for id, _, speed, *_ in EXPECTED["table_1"]["records"]}
    records = sorted(speed, key=lambda id: -speed[id])

    def weighed(value: Any) -> dict[str, float]:
        """The mean over all worlds of what a record has there."""
        return {id: sum(chance * value(id, world) for world, chance in known) for id in records}

    def first(values: Mapping[str, float], count: int) -> list[Row]:
        return [[id, values[id]] for id in sorted(records, key=lambda id: -_plain(values[id]))][
            :count
        ]

    name = definition.partition("(")[0]
    in_top = weighed(lambda id, world: id in world[:k])
    if name == "PK_TOPK":
        return first(in_top, k)
    if name == "PT_K":
        return [row for row in first(in_top, len(records)) if _plain(row[1]) >= THRESHOLD]
    if name == "U_KRANKS":
        at = [weighed(lambda id, world, i=i: world[i : i + 1] == [id]) for i in range(k)]
        return [first(values, 1)[0] for values in at]
    if name == "U_TOPK":
        vectors: dict[tuple[str, ...], float] = {}
        for world, chance in known:
            vectors[tuple(world[:k])] = vectors.get(tuple(world[:k]), 0.0) + chance
        best = max(vectors, key=lambda vector: _plain(vectors[vector]))
        return [[id, vectors[best]] for id in best]
    if name == "EXPECTED_RANK":
        ranks = weighed(lambda id, world: world.index(id) if id in world else len(world))
        return [[id, -rank] for id, rank in first({id: -r for id, r in ranks.items()}, k)]
    assert name == "PRF", definition
    return first(weighed(lambda id, w: ALPHA ** (w.index(id) + 1) if id in w else 0.0), k)


def _plain(value: float) -> float:
    """Without the last digits, by which sums in another order differ."""
    return round(value, DIGITS)


# -- the engine -----------------------------------------------------------------------------------


def definitions() -> list[dict[str, Any]]:
    """Every definition for every k: by its letter, by one query, and by queries that share."""
    known, table = ranked_worlds(), readings()
    found = []
    for definition, title in DEFINITIONS.items():
        names = {f"q{k}": k for k in KS}
        asked = {
            name: f"SELECT TOP {k} id FROM s [RANGE 20 MINUTES {{}} ON ts] WITH PROBABILITY p"
            f" EXCLUSIVE BY rule AS {definition} ORDER BY speed DESC"
            for name, k in names.items()
        }
        alone = {
            name: crestline.run(text.format("SLIDE 2 MINUTES"), {"s": table}).to_arrow()
            for name, text in asked.items()
        }
        shared = crestline.run(
            ";".join(
                f"CREATE QUERY {name} AS {text.format('')} FREQUENCY 2 MINUTES USING DP"
                for name, text in asked.items()
            ),
            {"s": table},
        )
        found += [
            {
                "definition": title,
                "k": k,
                "worlds": [[id, _plain(value)] for id, value in answer(definition, k, known)],
                "alone": _told(alone[name]),
                "shared": _told(shared.of(name)),
            }
            for name, k in names.items()
        ]
    return found


def printed() -> list[dict[str, Any]]:
    """Q1 to Q6 as they are printed, with what is known of the stream as its defaults: the last
    answer of each against the worlds of its window. The queries select nothing, so records are
    known by their scores."""
    table = readings()
    sensors = table.append_column("location", pa.array(["X"] * len(table)))
    by_speed = {row["speed"]: row["id"] for row in table.to_pylist()}
    defaults = StreamDefaults(on="ts", order_by="speed DESC", probability="p", exclusive_by="rule")
    found = []
    for name in (f"Q{number}" for number in range(1, 7)):
        frequency, k = EXPECTED["queries"][name]
        query = crestline.parse(PRINTED.format(k, frequency), {"sensor": defaults})
        rows = crestline.run(query, {"sensor": sensors}).to_arrow().to_pylist()
        end = max(row["window_end"] for row in rows)
        rows = [row for row in rows if row["window_end"] == end]
        held = {
            row["id"]
            for row in table.to_pylist()
            if rows[0]["window_start"] <= row["ts"] < rows[0]["window_end"]
        }
        known = [([id for id in w if id in held], chance) for w, chance in ranked_worlds()]
        found.append(
            {
                "query": name,
                "worlds": [[id, _plain(p)] for id, p in answer("PK_TOPK", k, known)],
                "engine": [[by_speed[row["score"]], _plain(row["probability"])] for row in rows],
            }
        )
    return found


def _told(results: pa.Table) -> list[Row]:
    """What was told at 9:22, when all six readings were in the window."""
    rows = [row for row in results.to_pylist() if row["window_end"].minute == 22]
    return [[row["id"], _plain(row["probability"])] for row in rows]


# -- the claims -----------------------------------------------------------------------------------


def verdicts(obtained: dict[str, Any]) -> list[dict[str, Any]]:
    """Whether the engine gives what the worlds say."""
    claim = partial(judged, EXPECTED["claims"])
    asked, given = obtained["definitions"], obtained["printed"]
    equal = [run for run in asked if run["worlds"] == run["alone"] == run["shared"] != []]
    names = dict.fromkeys(run["definition"] for run in asked)
    right = [run for run in given if run["worlds"] == run["engine"] != []]
    return [
        claim(
            "definitions",
            f"{len(equal)} of {len(asked)} answers equal to the count over the worlds of Table 2,"
            f" alone and by DP: {', '.join(names)}",
            len(equal) == len(asked),
        ),
        claim(
            "printed",
            f"{len(right)} of {len(given)} answer as the worlds say, with defaults of the stream",
            len(right) == len(given),
        ),
    ]
