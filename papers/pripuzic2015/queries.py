"""The processor of section 3, in the engine: queries in one text, which come and go.

The judge sorts the whole window after every arrival, in plain Python, and shares no code with the
engine. Coordinates are multiples of 1/64, so that ties come, and scores have the same last digit
everywhere; the vectors of relevance queries are not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any

import numpy as np
import pyarrow as pa

import crestline

Say = Callable[[str], None]
Record = Mapping[str, Any]
#: Records of the stream, and of a window on rows; seconds of a window on time.
RECORDS, ROWS, SECONDS = 1_500, 60, 45
#: Queries of each kind of score, and the largest k.
OF_A_KIND, MOST = 5, 7
STEP = 64
#: The scores of the paper.
KINDS = ("distance", "weighted attribute distance", "weighted sum", "relevance")


@dataclass(frozen=True)
class Asked:
    """A query: how its text ranks records, and how the judge does. ``direction`` is that of ORDER
    BY; ``score`` is what the paper defines."""

    kind: str
    k: int
    ranking: str
    direction: str
    score: Callable[[Record], float]

    def text(self, name: str, window: str, emit: str) -> str:
        return (
            f"CREATE QUERY {name} AS SELECT TOP {self.k} id FROM s {window}"
            f" ORDER BY {self.ranking} {self.direction} EMIT {emit}"
        )

    def rank(self, record: Record) -> float:
        """A number that is larger for the better record."""
        score = self.score(record)
        return score if self.direction == "DESC" else -score


def asked(seed: int = 1) -> list[Asked]:
    """Queries with each of the scoring functions of sections 3 and 6."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(OF_A_KIND):
        ks = rng.integers(1, MOST + 1, 4).tolist()
        px, py, cx, cy = (rng.integers(1, STEP, 4) / STEP).tolist()
        found += [
            Asked(KINDS[0], ks[0], f"DISTANCE((x, y), ({px}, {py}))", "ASC",
                  lambda r, p=(px, py): sqrt((r["x"] - p[0]) ** 2 + (r["y"] - p[1]) ** 2)),
            Asked(KINDS[1], ks[1],
                  f"ATTRIBUTE_DISTANCE((x, y), ({px}, {py}), ({cx}, {cy}))", "ASC",
                  lambda r, p=(px, py), c=(cx, cy): max(
                      c[0] * abs(r["x"] - p[0]), c[1] * abs(r["y"] - p[1]))),
            Asked(KINDS[2], ks[2], f"{cx} * x + {cy} * y", "DESC",
                  lambda r, c=(cx, cy): c[0] * r["x"] + c[1] * r["y"]),
            Asked(KINDS[3], ks[3], f"COSINE(ARRAY(u, v), ARRAY({px}, {py}))", "DESC",
                  lambda r, p=(px, py): (r["u"] * p[0] + r["v"] * p[1])
                  / (sqrt(r["u"] ** 2 + r["v"] ** 2) * sqrt(p[0] ** 2 + p[1] ** 2))),
        ]  # fmt: skip
    return found


def points(seed: int = 2) -> pa.Table:
    """Points with and without ties, in order of time, several of them in some seconds."""
    rng = np.random.default_rng(seed)
    x, y = rng.integers(0, STEP, (2, RECORDS)) / STEP
    u, v = rng.random((2, RECORDS)) + 0.01
    ts = np.sort(rng.integers(0, RECORDS, RECORDS)).astype("datetime64[s]")
    return pa.table({"id": np.arange(RECORDS), "ts": ts, "x": x, "y": y, "u": u, "v": v})


# -- the judge ------------------------------------------------------------------------------------


def answers(
    records: Sequence[Record], query: Asked, timed: bool
) -> Iterator[tuple[Any, list[int]]]:
    """After every arrival, when it was, and the ids of the k best of the whole window.

    Of equal records the younger is first; of those of one moment the smaller id.
    """
    for i, last in enumerate(records):
        if timed:
            if i + 1 < len(records) and records[i + 1]["ts"] == last["ts"]:
                continue
            began = last["ts"].timestamp() - SECONDS
            window = [r for r in records[: i + 1] if r["ts"].timestamp() > began]
            order = sorted(window, key=lambda r: (-query.rank(r), -r["ts"].timestamp(), r["id"]))
        else:
            window = list(records[max(0, i + 1 - ROWS) : i + 1])
            order = sorted(window, key=lambda r: (-query.rank(r), -r["id"]))  # ids as they come
        yield last["ts"] if timed else i + 1, [r["id"] for r in order[: query.k]]


def entries(records: Sequence[Record], query: Asked, timed: bool) -> list[tuple[Any, int]]:
    """The result stream of Definition 3.6: each object once, when it first is one of the k best."""
    seen: set[int] = set()
    found = []
    for at, best in answers(records, query, timed):
        found += [(at, id) for id in best if id not in seen]
        seen.update(best)
    return found


# -- the engine -----------------------------------------------------------------------------------


def result_streams(say: Say) -> list[dict[str, Any]]:
    """``EMIT ENTRIES`` of all queries in one text, on rows and on time, against the judge."""
    table = points()
    records = table.to_pylist()
    found = []
    for name, window in (("rows", f"[ROWS {ROWS}]"), ("time", f"[RANGE {SECONDS} SECONDS ON ts]")):
        say(f"result streams: windows on {name}")
        queries = {f"q{i}": query for i, query in enumerate(asked())}
        text = ";".join(query.text(each, window, "ENTRIES") for each, query in queries.items())
        told = _entries(crestline.run(text, {"s": table}).to_arrow())
        for each, query in queries.items():
            right = entries(records, query, name == "time")
            found.append(
                {"window": name, "kind": query.kind, "k": query.k, "entries": len(right),
                 "same": told.get(each, []) == right}
            )  # fmt: skip
    return found


def active_periods(say: Say) -> list[dict[str, Any]]:
    """Queries of a session that come and go (Definitions 3.3 and 3.4), each against the judge on
    the records of its active period alone."""
    say("queries that come and go")
    table = points(seed=3)
    records = table.to_pylist()
    queries = {f"q{i}": query for i, query in enumerate(asked(seed=4))}
    cuts = np.linspace(0, RECORDS, len(queries) + 1).astype(int).tolist()
    names, window = list(queries), f"[ROWS {ROWS}]"
    # One comes with every piece of the stream; each leaves after a third of the pieces.
    stay = len(names) // 3
    text = queries[names[0]].text(names[0], window, "ENTRIES")
    told: dict[str, list[tuple[Any, int]]] = {}
    with crestline.open(text) as session:
        for piece, name in enumerate(names):
            if piece:
                session.add(queries[name].text(name, window, "ENTRIES"))
            if piece >= stay:
                session.remove(names[piece - stay])
            part = table.slice(cuts[piece], cuts[piece + 1] - cuts[piece])
            for each, rows in _entries(session.push(part)).items():
                told.setdefault(each, []).extend(rows)
        for each, rows in _entries(session.finish()).items():
            told.setdefault(each, []).extend(rows)
    found = []
    for piece, name in enumerate(names):
        active = records[cuts[piece] : cuts[min(piece + stay, len(names))]]
        right = entries(active, queries[name], timed=False)
        found.append({"query": name, "kind": queries[name].kind, "records": len(active),
                      "entries": len(right), "same": told.get(name, []) == right})  # fmt: skip
    return found


def _entries(rows: pa.Table) -> dict[str, list[tuple[Any, int]]]:
    """By query: when each record entered, and which; those of one moment by rank."""
    found: dict[str, list[tuple[Any, int]]] = {}
    for row in rows.to_pylist():
        at = row["at"].replace(tzinfo=None) if hasattr(row["at"], "replace") else row["at"]
        found.setdefault(row["query"], []).append((at, row["id"]))
    return found


def obtain(say: Say) -> dict[str, Any]:
    return {"result_stream": result_streams(say), "active": active_periods(say)}
