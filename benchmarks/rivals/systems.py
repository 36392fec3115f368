"""The systems that take part: where each runs, and what it must be told."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from benchmarks.rivals.child import formulations

_REQUIREMENTS = Path(__file__).resolve().parent / "requirements"


@dataclass(frozen=True, slots=True)
class System:
    """A system by name, and by the name that people know."""

    name: str
    title: str
    #: Whose versions are told.
    packages: tuple[str, ...]
    #: Minor versions of Python 3 that it supports; none: it runs in this environment.
    pythons: tuple[int, ...] = ()
    #: The form of the csv file that it reads instead of parquet.
    csv: str | None = None
    #: Whether more than one turn is taken, at different times of the run.
    quick: bool = False
    #: How often a question is asked at least: one small question does not warm up a Java process.
    at_least: int = 1
    #: How many windows at the end of a stream it may keep to itself (only of names with "stream").
    may_lack: int = 0

    @property
    def module(self) -> str:
        return f"with_{self.name}"

    @property
    def requirements(self) -> Path:
        return _REQUIREMENTS / f"{self.name}.txt"

    def contenders(self, kind: str) -> list[str]:
        """The names of its formulations of one kind."""
        return list(formulations(self.module)[kind])


_ALL = (11, 12, 13, 14)
SYSTEMS = (
    System("arrow", "only reading, Arrow", ("pyarrow",), quick=True),
    System("crestline", "Crestline", ("numpy", "numba", "pyarrow", "duckdb"), quick=True),
    System("duckdb", "DuckDB", ("duckdb",), _ALL, quick=True),
    System("polars", "Polars", ("polars",), _ALL, quick=True),
    System("sortedcontainers", "sortedcontainers", ("sortedcontainers",), _ALL),
    System("crestline_on_spark", "Crestline on Spark", ("pyspark",), at_least=2, may_lack=1),
    System("spark", "Spark", ("pyspark",), _ALL, at_least=2, may_lack=1),
    System("flink", "Flink SQL", ("apache-flink",), (11, 12), csv="plain"),
    System("pathway", "Pathway", ("pathway",), (11, 12, 13), csv="headed"),
)
NAMES = tuple(system.name for system in SYSTEMS)
