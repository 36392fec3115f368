"""Yang et al.: figures that bear every claim out, and how to make each false."""

from __future__ import annotations

from typing import Any

from figures import Edit, put, times

TIME = "microseconds_a_record"
COSTS = {"MinTopk": 0.01, "PreTopk": 0.0135, "SMA": 0.1}


def ideal(figures: dict[str, Any]) -> None:
    put(figures["kept"]["multiples_of_k"], "mean", 2.0)
    by_k, by_slide = figures["by_k"]["runs"], figures["by_slide"]["runs"]
    tenth, fixed = figures["by_window"]["tenth"], figures["by_window"]["fixed"]
    for rows in (by_k, by_slide, tenth, fixed):
        for name, cost in COSTS.items():
            put(rows, TIME, cost, algorithm=name)
        put(rows, "kept_mean", lambda row: 0.02 * row.get("window", 1_000_000), algorithm="MinTopk")
    for k, rate in {10: 0.23, 100: 0.3, 1_000: 0.4, 10_000: 0.56}.items():
        put(by_k, "recomputed_a_slide", rate, k=k, algorithm="SMA")
    put(tenth, TIME, lambda row: 0.1 * (row["window"] / 1_000) ** 0.5, algorithm="SMA")
    put(by_slide, TIME, lambda row: 0.0135 * 100_000 / row["slide"], algorithm="PreTopk")
    for panel in figures["held"].values():
        for name, count in {"MinTopk": 100, "PreTopk": 150, "SMA": 10_000}.items():
            put(panel, "bytes", count, algorithm=name)
    for row in figures["by_arrival"]["runs"]:
        row["mean_ms"] = 1.0 if row["algorithm"] == "MinTopk" else 2.0
        row["sd_ms"] = {1: 0.5, 10: 0.4, 100: 0.3}[row["seconds"]] * row["mean_ms"]


def cost(panel: str, value: float, part: str = "runs", **where: Any) -> Edit:
    return lambda figures: put(figures[panel][part], TIME, value, **where)


def share(panel: str, kept: float, part: str = "runs", **where: Any) -> Edit:
    """MinTopk keeps this share of what SMA keeps."""

    def edit(figures: dict[str, Any]) -> None:
        rows = figures[panel][part]
        (sma,) = [
            row["kept_mean"]
            for row in rows
            if row["algorithm"] == "SMA" and all(row[k] == v for k, v in where.items())
        ]
        put(rows, "kept_mean", kept * sma, algorithm="MinTopk", **where)

    return edit


def held(panel: str, name: str, count: float) -> Edit:
    return lambda figures: put(figures["held"][panel], "bytes", count, algorithm=name)


def rates(*values: float) -> Edit:
    def edit(figures: dict[str, Any]) -> None:
        for k, rate in zip((10, 100, 1_000, 10_000), values, strict=True):
            put(figures["by_k"]["runs"], "recomputed_a_slide", rate, k=k, algorithm="SMA")

    return edit


def arrival(key: str, factor: float, **where: Any) -> Edit:
    return lambda figures: times(figures["by_arrival"]["runs"], key, factor, **where)


def differ(figures: dict[str, Any]) -> None:
    figures["example"]["agreement"][next(iter(figures["example"]["agreement"]))] = False


def kept(key: str, factor: float) -> Edit:
    return lambda figures: times(figures["kept"]["multiples_of_k"][:1], key, factor)


def sma_memory(figures: dict[str, Any]) -> None:
    put(figures["by_window"]["tenth"], "kept_mean", 1_000, algorithm="SMA")


def below_sma(figures: dict[str, Any]) -> None:
    put(figures["by_slide"]["runs"], TIME, 1_000, slide=100, algorithm="SMA")


FALSE: dict[str, list[Edit]] = {
    "example": [differ],
    "kept": [kept("mean", 1.4), kept("mean", 0.9)],
    "kept_extremes": [kept("rising", 1.1), kept("falling", 0.9)],
    "cpu_all": [
        cost("by_k", 0.02, k=10, algorithm="MinTopk"),
        cost("by_window", 0.02, "tenth", window=1_000, algorithm="MinTopk"),
        cost("by_slide", 0.02, slide=100, algorithm="MinTopk"),
    ],
    "cpu_k": [cost("by_k", 0.016, k=10_000, algorithm="MinTopk")],
    "cpu_k_pretopk": [cost("by_k", 0.016, k=10_000, algorithm="PreTopk")],
    "cpu_window": [cost("by_window", 0.07, "tenth", window=1_000, algorithm="MinTopk")],
    "cpu_window_pretopk": [cost("by_window", 0.07, "tenth", window=1_000, algorithm="PreTopk")],
    "cpu_slide": [cost("by_slide", 0.077, slide=100, algorithm="MinTopk")],
    "pretopk": [cost("by_k", 0.0125, algorithm="PreTopk")],
    "pretopk_all": [cost("by_k", 0.009, k=10, algorithm="PreTopk")],
    "memory_pretopk": [held("k", "PreTopk", 140)],
    "memory_k": [share("by_k", 0.06, k=10_000), held("k", "MinTopk", 600)],
    "memory_window": [
        share("by_window", 1.0, "tenth", window=1_000),
        held("window", "MinTopk", 7e3),
    ],
    "memory_slide": [share("by_slide", 0.7, slide=100), held("slide", "MinTopk", 7e3)],
    "recomputed": [
        rates(0.04, 0.06, 0.04, 0.04),
        rates(0.4, 0.35, 0.33, 0.3),
        rates(0.05, 0.3, 0.4, 0.56),
        rates(0.2, 0.2, 0.2, 0.25),
    ],
    "window": [
        cost("by_window", 0.005, "tenth", window=1_000_000, algorithm="MinTopk"),
        cost("by_window", 0.03, "tenth", window=1_000, algorithm="PreTopk"),
    ],
    "window_alone": [cost("by_window", 0.015, "fixed", window=3_000_000, algorithm="MinTopk")],
    "sma_window": [
        sma_memory,
        cost("by_window", 0.5, "tenth", window=1_000_000, algorithm="SMA"),
    ],
    "slide_pretopk": [
        cost("by_slide", 0.03, slide=100_000, algorithm="PreTopk"),
        cost("by_slide", 0.12, slide=100, algorithm="PreTopk"),
        below_sma,
    ],
    "slide_mintopk": [cost("by_slide", 0.52, slide=100, algorithm="MinTopk")],
    "slide_sma": [cost("by_slide", 0.34, slide=100, algorithm="SMA")],
    "response": [
        arrival("mean_ms", 0.7, seconds=10, algorithm="SMA"),
        arrival("mean_ms", 0.7, seconds=1, algorithm="PreTopk"),
    ],
    "response_spread": [arrival("sd_ms", 2.0, seconds=100, algorithm="SMA")],
}

#: Figures that may be missing, and the claims that then cannot be judged.
APART: dict[str, set[str]] = {"held": {"memory_pretopk"}, "recomputed": set()}


def drop(figures: dict[str, Any], part: str) -> None:
    del figures[part]
