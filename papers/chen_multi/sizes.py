"""How large the experiments are, and the points of the figures."""

from __future__ import annotations

from dataclasses import dataclass

#: In the order of the claim: the dearest first.
ORDER = ("NS", "IN", "INCO", "GREEDY", "DP")


@dataclass(frozen=True, slots=True)
class FigurePoint:
    """One point of a figure: x queries, k from ``ks``; n records a window, or of several streams
    ``n`` = N w records."""

    kind: str = "synthetic"
    x: int = 20
    n: int = 10_000
    ks: tuple[int, int] = (2, 100)
    queries: str = "uu"
    streams: int = 0

    @property
    def w(self) -> int:
        return self.n // self.streams if self.streams else 0


#: The defaults of section 10.1.
DEFAULTS = {
    "synthetic": FigurePoint(),
    "icebergs": FigurePoint("icebergs"),
    "streams": FigurePoint("streams", n=100 * 100, ks=(2, 20), streams=100),
    "seismic": FigurePoint("seismic", n=16 * 1000, ks=(2, 5), streams=16),
}


@dataclass(frozen=True, slots=True)
class Size:
    """How large the experiments are."""

    #: Sets of queries a point, and those that the engine runs; rounds of timing of walks and of the
    #: engine; seconds of stream that the engine is timed over, seconds that are replayed.
    sets: int = 4
    engine_sets: int = 2
    rounds: int = 4
    engine_rounds: int = 3
    seconds: int = 40
    horizon: int = 600
    x: tuple[int, ...] = (10, 20, 40, 60, 80, 100)
    n: tuple[int, ...] = (2_000, 4_000, 6_000, 8_000, 10_000)
    k: tuple[int, ...] = (200, 600, 1_000)
    few_x: tuple[int, ...] = (10, 20, 40)
    few_n: tuple[int, ...] = (2_000, 6_000, 10_000)
    few_k: tuple[int, ...] = (200, 400, 600)
    several: tuple[int, ...] = (20, 60, 100)
    several_k: tuple[int, ...] = (20, 60, 100)
    several_w: tuple[int, ...] = (20, 60, 100)
    seismic_n: tuple[int, ...] = (8, 12, 16)
    seismic_w: tuple[int, ...] = (200, 600, 1_000)
    #: Windows are divided by it; 1: the paper's.
    shrink: int = 1
    #: Sets for what is only planned, by distribution and number of queries.
    planned_sets: int = 300
    planned_x: tuple[int, ...] = (10, 20, 40, 60, 80, 100)
    frequencies: tuple[int, ...] = (10_000, 20_000, 30_000, 40_000)
    planning_sets: int = 20
    exact_queries: int = 8
    exact_window: int = 300
    #: The latency of the engine: sets of queries, and seconds of stream that it is followed for.
    latency_sets: int = 2
    latency_seconds: int = 200


SIZES = {
    "quick": Size(
        sets=2, engine_sets=1, rounds=2, engine_rounds=1, seconds=20, horizon=200, x=(10, 20, 40),
        n=(2_000, 10_000), k=(200, 400), few_x=(10, 20), few_n=(2_000, 10_000), few_k=(200,),
        several=(20, 100),        several_w=(20, 100), several_k=(20, 40),
        seismic_n=(8, 16), seismic_w=(200, 1_000), shrink=5, planned_sets=60,
        frequencies=(10_000, 20_000), planning_sets=2, latency_sets=1, latency_seconds=80,
    ),
    "default": Size(),
    "full": Size(
        sets=10, engine_sets=3, rounds=5,
        engine_rounds=4, seconds=60, horizon=3_600, x=tuple(range(10, 101, 10)),
        few_x=tuple(range(10, 101, 10)), k=(200, 400, 600, 800, 1_000),
        few_k=(200, 400, 600, 800, 1_000),
        few_n=(2_000, 4_000, 6_000, 8_000, 10_000), several=(20, 40, 60, 80, 100),
        several_k=(20, 40, 60, 80, 100), several_w=(20, 40, 60, 80, 100),
        seismic_n=(8, 10, 12, 14, 16), seismic_w=(200, 400, 600, 800, 1_000), planned_sets=2_000,
        planning_sets=50, latency_sets=10, latency_seconds=3_600,
    ),
}  # fmt: skip
