"""A stream of parquet files through Spark: Crestline against Spark's own operators.

All contenders share one session of Spark on this machine's cores, with as many shuffle partitions
as cores and Spark's default state store (the growth tables tell what others do for the rivals). The
session warms up first, unless the run is a quick one: every contender runs a few micro-batches that
do not count. Then the contenders take turns; the turn with the quickest steady state counts.
*First* is the first micro-batch of the first turn (cold: the plan is compiled, Python workers
start), *steady* the median of all but the first two. Times are Spark's own (see `spark_stream`),
and goals are judged by addBatch: the work on a micro-batch, without what planning and logging cost
every plan alike. Contenders that copy every row a hundred times run a few smaller micro-batches,
and their time is scaled by rows: this counts what a micro-batch costs whatever its size too often,
a little to their disadvantage. Before times count, all contenders answer a small stream, and an
answer that differs does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchmarks import spark_files, spark_frames
from benchmarks.measure import Say, goal, machine
from benchmarks.spark_files import Sizes
from benchmarks.spark_growth import SOME, asking, growth
from benchmarks.spark_rivals import (
    CONTENDERS,
    OBVIOUS,
    PANES_FIRST,
    Answer,
    Asked,
    collect,
    crestline_topk,
    prices,
    until,
)
from benchmarks.spark_stream import (
    Plan,
    Stream,
    batch_seconds,
    better,
    collected,
    in_order,
    measure,
    open_session,
    state_sizes,
)
from benchmarks.spark_table import table
from benchmarks.trades import trades

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS, QUICK_ROWS, FILES, FILES_A_BATCH = 10_000_000, 1_000_000, 20, 2
TURNS = 1
#: Micro-batches of the contenders that copy every row a hundred times.
FEW = 3
#: The small stream on which answers are compared.
CHECKED = {"rows": 20_000, "rate": 100, "symbols": 50, "files": 20}
#: What "hardly changing" means: the least speed at slide 1 s as a share of that at slide 10 s.
HARDLY = 0.8
#: At most three times reading only, and at least so many times as fast as panes first.
OF_READING, TIMES_PANES = 1 / 3, 1.5
SECTIONS = ("files", "frames", "cases", "stages", "growth", "batch")


@dataclass(frozen=True, slots=True)
class Case:
    """A query to run, and how many times as fast as the obvious rival to be."""

    name: str
    asked: Asked
    obvious: float

    def is_slow(self, contender: str) -> bool:
        """Whether it takes too long for ten micro-batches of a million rows."""
        copies = self.asked.width // self.asked.slide
        return copies >= 100 and (contender in OBVIOUS or (contender in PANES_FIRST and self.by))

    @property
    def by(self) -> bool:
        return self.asked.by


CASES = (
    Case("slide 10 s", Asked(10), obvious=6),
    Case("slide 1 s", Asked(1), obvious=50),
    Case("slide 10 s by symbol", Asked(10, by=True), obvious=6),
    Case("slide 1 s by symbol", Asked(1, by=True), obvious=50),
)


def run(
    *,
    quick: bool,
    say: Say,
    rows: int | None = None,
    rate: float = 10_000,
    cases: tuple[Case, ...] = CASES,
    turns: int | None = None,
    sections: tuple[str, ...] = SECTIONS,
    session: SparkSession | None = None,
) -> dict[str, Any]:
    """Measure. `rows`, `cases`, `turns` and `sections` make it smaller.

    `rate` is the number of trades in a second of event time. Without a `session` there is one for
    the time of the run.
    """
    if session is None:
        from crestline.spark.session import stop

        session = open_session()
        try:
            return run(quick=quick, say=say, rows=rows, rate=rate, cases=cases, turns=turns,
                       sections=sections, session=session)  # fmt: skip
        finally:
            stop(session)
    rows = rows or (QUICK_ROWS if quick else ROWS)
    turns = turns or (1 if quick else TURNS)
    folder = in_order(trades(rows, say, files=FILES, rate=rate))
    checked = in_order(trades(CHECKED["rows"], say, **_without_rows(CHECKED)))
    stream = Stream(session, folder, FILES_A_BATCH)
    result: dict[str, Any] = {
        "suite": "spark",
        "machine": machine() | {"versions": machine()["versions"] | {"spark": session.version}},
        "session": _session_facts(session),
        "rows": rows,
        "rows_a_batch": rows * FILES_A_BATCH // FILES,
    }
    if "files" in sections:
        result["files"] = spark_files.files(session, spark_files.QUICK if quick else Sizes(), say)
        result["goals"] = result["files"]["goals"]
    if "frames" in sections:
        sizes = spark_frames.QUICK if quick else spark_frames.Sizes()
        result["frames"] = spark_frames.frames(session, sizes, say)
        result["goals"] = [*result.get("goals", ()), *result["frames"]["goals"]]
    if "cases" in sections:
        agreed = {case.name: _compare(case, checked, session, say) for case in cases}
        if not quick:
            _warm_up(stream, say)
        # A tenth of the rows in as many files, so at the same rate in micro-batches of a tenth.
        tenth = in_order(trades(rows // 10, say, files=FILES, rate=rate))
        small = Stream(session, tenth, FILES_A_BATCH)
        measured = [_case(case, stream, small, agreed[case.name], turns, say) for case in cases]
        result["cases"] = measured
        result["goals"] = [*result.get("goals", ()), *_goals(cases, measured)]
    if "stages" in sections:
        result["stages"] = [_stages(case, stream, say) for case in cases]
    if "growth" in sections:
        result["growth"] = growth(stream, folder, quick, say)
    if "batch" in sections:
        result["batch"] = [
            _batch(case, stream, rows, turns, say) for case in cases if case.asked.slide == 10
        ]
    return result


def _without_rows(sizes: dict[str, int]) -> dict[str, int]:
    return {name: value for name, value in sizes.items() if name != "rows"}


def _session_facts(session: SparkSession) -> dict[str, str]:
    store = session.conf.get("spark.sql.streaming.stateStore.providerClass")
    return {
        "master": session.conf.get("spark.master"),
        "driver memory": session.conf.get("spark.driver.memory", "-"),
        "shuffle partitions": session.conf.get("spark.sql.shuffle.partitions"),
        "state store": store.rpartition(".")[2],
        "Arrow rows a batch": session.conf.get("spark.sql.execution.arrow.maxRecordsPerBatch"),
    }


# -- contenders side by side --------------------------------------------------------------------


def _compare(case: Case, folder: Path, session: SparkSession, say: Say) -> dict[str, Any]:
    """Which contenders give the windows and prices that Crestline gives, and of how many windows.

    They may have come to different ends when the stream stops, so windows up to the earliest of
    these ends are compared; up to there, none may be missing.
    """
    stream = Stream(session, folder, files_a_batch=4)
    answers: dict[str, Answer] = {}
    for name in ("crestline", *PANES_FIRST, *OBVIOUS):
        say(f"{case.name}: the answer of {name} to a small stream")

        def plan(frame: DataFrame, name: str = name) -> DataFrame:
            return prices(name, CONTENDERS[name](frame, case.asked), case.asked)

        answers[name] = collect(collected(stream, plan))
    last = min(max((end for end, _ in answer), default=0) for answer in answers.values())
    judge = until(answers["crestline"], last)
    agrees = {name: until(answer, last) == judge for name, answer in answers.items()}
    return {"windows": len(judge), "agrees": {n: bool(judge) and ok for n, ok in agrees.items()}}


def _warm_up(stream: Stream, say: Say) -> None:
    for name, formulation in CONTENDERS.items():
        say(f"warming up (not counted): {name}")
        measure(stream, asking(formulation, Asked(10)), batches=FEW)


def _case(
    case: Case, stream: Stream, small: Stream, agreed: dict[str, Any], turns: int, say: Say
) -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = {}
    kept: dict[str, Any] = {}
    for turn in range(turns):
        for name, formulation in CONTENDERS.items():
            slow = case.is_slow(name)
            if slow and turn:
                continue
            say(f"{case.name}: {name} (turn {turn + 1} of {1 if slow else turns})")
            mine = name == "crestline"
            answer = measure(
                small if name in OBVIOUS and slow else stream,
                asking(formulation, case.asked),
                batches=FEW if slow else SOME if name in OBVIOUS else None,
                look=(lambda folder: state_sizes(stream.session, folder)) if mine else None,
            )
            if mine:
                kept = _state(case, answer.pop("seen"))
            found[name] = better(found.get(name), answer)
    for name, entry in found.items():
        entry["agrees"] = agreed["agrees"].get(name)
        _scale(entry, found["reading only"]["rows_a_batch"])
    facts = {"name": case.name, "slide": case.asked.slide, "by": case.by, "contenders": found}
    return facts | {"windows_compared": agreed["windows"], "state": kept} | _ratios(found)


def _scale(entry: dict[str, Any], rows: float) -> None:
    """Seconds for a micro-batch of `rows`, if it was measured on smaller ones."""
    if "steady" in entry and entry["rows_a_batch"] != rows:
        factor = rows / entry["rows_a_batch"]
        entry["scaled_from_rows"] = entry["rows_a_batch"]
        entry["steady"] *= factor
        entry["steady_trigger"] *= factor


def _state(case: Case, sizes: list[int]) -> dict[str, Any]:
    """What Crestline's state weighs, against the k H_C records that are expected for each key."""
    from crestline.planner import harmonic

    asked = case.asked
    keys = 500 if case.by else 1
    expected = asked.k * harmonic(asked.width // asked.slide)
    return {
        "values": len(sizes),
        "bytes": sum(sizes),
        "keys": keys,
        "bytes_a_key": sum(sizes) / keys,
        "expected_records_a_key": expected,
        "bytes_an_expected_record": sum(sizes) / keys / expected,
    }


def _ratios(found: dict[str, dict[str, Any]]) -> dict[str, Any]:
    def fastest(names: Iterator[str]) -> str | None:
        fit = [n for n in names if found[n].get("agrees") and "steady" in found[n]]
        return min(fit, key=lambda n: found[n]["steady"], default=None)

    def times(name: str | None, which: str) -> float | None:
        return found[name][which] / found["crestline"][which] if name else None

    panes, plain = fastest(iter(PANES_FIRST)), fastest(iter(OBVIOUS))
    ratios: dict[str, Any] = {"best_panes_first": panes, "best_obvious": plain}
    for which in ("steady", "steady_trigger"):
        ratios[f"reading_{which}"] = times("reading only", which)
        ratios[f"panes_first_{which}"] = times(panes, which)
        ratios[f"obvious_{which}"] = times(plain, which)
    return ratios


def _goals(cases: tuple[Case, ...], measured: list[dict[str, Any]]) -> list[dict[str, Any]]:
    goals = []
    for case, got in zip(cases, measured, strict=True):
        name = f"{case.name}: reading only as a share of ours"
        goals.append(goal(name, round(OF_READING, 3), got["reading_steady"]))
        if got["panes_first_steady"]:
            name = f"{case.name}: times {got['best_panes_first']}"
            goals.append(goal(name, TIMES_PANES, got["panes_first_steady"]))
        if got["obvious_steady"]:
            name = f"{case.name}: times {got['best_obvious']}"
            goals.append(goal(name, case.obvious, got["obvious_steady"]))
    mine = {(got["slide"], got["by"]): got["contenders"]["crestline"]["steady"] for got in measured}
    for by, where in ((False, ""), (True, ", by symbol")):
        if (1, by) in mine and (10, by) in mine:
            name = f"speed at slide 1 s as a share of that at slide 10 s{where}"
            goals.append(goal(name, HARDLY, mine[10, by] / mine[1, by]))
    agreeing = all(
        entry["agrees"] is not False for got in measured for entry in got["contenders"].values()
    )
    return [*goals, goal("all answers agree (1 is yes)", 1, float(agreeing))]


# -- where the time goes ------------------------------------------------------------------------


def _stages(case: Case, stream: Stream, say: Say) -> dict[str, Any]:
    """The plan cut off after each of its stages.

    Stages overlap (Java writes while Python reads), so what a stage adds to the time on the clock
    is its share, not the processor time that it uses.
    """
    found = {}
    for name, plan in _cut_plans(case.asked).items():
        say(f"{case.name}: {name}")
        found[name] = measure(stream, plan, batches=SOME)["steady"]
    seconds = list(found.values())
    added = [now - before for now, before in zip(seconds, [0.0, *seconds], strict=False)]
    return {
        "name": case.name,
        "seconds": found,
        "added": dict(zip(found, added, strict=True)),
        "shares": {name: more / seconds[-1] for name, more in zip(found, added, strict=True)},
    }


def _cut_plans(asked: Asked) -> dict[str, Plan]:
    from crestline.runtime.queries import named_queries
    from crestline.spark.pipeline import pipeline

    def transferred(frame: DataFrame) -> DataFrame:
        def swallow(batches: Iterator[Any]) -> Iterator[Any]:
            import pyarrow

            count = sum(batch.num_rows for batch in batches)
            yield pyarrow.record_batch({"rows": pyarrow.array([count], pyarrow.int64())})

        projected = pipeline(frame, named_queries(asked.text)).projected
        return projected.frame.mapInArrow(swallow, "rows bigint")

    def pruned(frame: DataFrame) -> DataFrame:
        from crestline.spark.spread import BUCKETS
        from crestline.spark.stages import Prune

        buckets = BUCKETS if asked.by else 1
        projected = pipeline(frame, named_queries(asked.text), buckets=buckets).projected
        return projected.frame.mapInArrow(
            Prune(projected.members, buckets), "bucket int, payload binary"
        )

    return {
        "JVM: read and project": lambda frame: (
            pipeline(frame, named_queries(asked.text)).projected.frame
        ),
        "Arrow: move to Python": transferred,
        "Python: prune panes": pruned,
        "shuffle, state, report": asking(crestline_topk, asked),
    }


# -- the same as one bounded table --------------------------------------------------------------


def _batch(case: Case, stream: Stream, rows: int, turns: int, say: Say) -> dict[str, Any]:
    """All rows at once."""
    seconds: dict[str, float] = {}
    for turn in range(turns):
        for name, formulation in CONTENDERS.items():
            if name in OBVIOUS:
                continue
            say(f"bounded, {case.name}: {name} (turn {turn + 1})")
            took = batch_seconds(stream, asking(formulation, case.asked))
            seconds[name] = min(took, seconds.get(name, took))
    return {
        "name": case.name,
        "seconds": seconds,
        "million_rows_a_second": {name: rows / took / 1e6 for name, took in seconds.items()},
    }


__all__ = ["run", "table"]
