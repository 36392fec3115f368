"""Jin et al.: figures that bear every claim out, and how to make each false."""

from __future__ import annotations

from typing import Any

from figures import Edit, ends, put, times


def panels(figures: dict[str, Any]) -> list[dict[str, Any]]:
    return [figures["synthetic"]["Pk-topk"], *figures["icebergs"].values()]


def ideal(figures: dict[str, Any]) -> None:
    bytes_of = {"CSQ": 20.0, "CCSQ": 20.0, "SCSQ": 30.0, "SCSQ-Buffer": 40.0}
    for panel in panels(figures):
        for row in panel["by_k"]:
            k, name = row["k"], row["synopsis"]
            power = 2 if name == "CSQ" else 1
            row["bytes"] = 6.0 * row["window"] if name == "BS" else bytes_of[name] * k**power
            row["microseconds"] = {
                "BS": 1.0, "CSQ": 0.1 * k**3, "CCSQ": 0.11 * k**3, "SCSQ": 0.2 * k**2,
                "SCSQ-Buffer": 0.1,
            }[name]  # fmt: skip
        for row in panel["by_window"]:
            name = row["synopsis"]
            row["bytes"] = (
                6.0 * row["window"]
                if name == "BS"
                else 10 * bytes_of[name] * (1 + 9 * (name == "CSQ"))
            )
            row["microseconds"] = {
                "BS": 1.0, "CSQ": 100.0, "CCSQ": 110.0, "SCSQ": 20.0, "SCSQ-Buffer": 0.1,
            }[name]  # fmt: skip


def differ(name: str) -> Edit:
    return lambda figures: figures["example"]["agreement"].update({name: False})


def wrong(figures: dict[str, Any]) -> None:
    figures["exact"]["runs"][0]["same"] = False


def compact(factor: Any, **where: Any) -> Edit:
    def edit(figures: dict[str, Any]) -> None:
        rows = figures["compact"]["runs"]
        put(rows, "mean", lambda r: r["mean"] * (r["k"] if factor == "k" else factor), **where)

    return edit


def at(
    part: str, last: bool, key: str, factor: float, synopsis: str, meaning: str | None = None
) -> Edit:
    """Multiply at the last value of k or of the window, or at the first; on synthetic data unless a
    meaning on icebergs is named."""

    def edit(figures: dict[str, Any]) -> None:
        of = figures["icebergs"][meaning] if meaning else figures["synthetic"]["Pk-topk"]
        rows, varied = of[part], "k" if part == "by_k" else "window"
        times(rows, key, factor, synopsis=synopsis, **{varied: ends(rows, varied)[last]})

    return edit


def slower(synopsis: str) -> Edit:
    """By one power of k less than the paper says."""

    def edit(figures: dict[str, Any]) -> None:
        rows = figures["synthetic"]["Pk-topk"]["by_k"]
        put(rows, "microseconds", lambda r: r["microseconds"] / r["k"], synopsis=synopsis)

    return edit


def segments(figures: dict[str, Any]) -> None:
    rows = figures["segments"]
    times(rows, "mean", 3.0, synopsis="SCSQ", window=ends(rows, "window")[1])


TIME = "microseconds"
FALSE: dict[str, list[Edit]] = {
    "table_1": [differ("table_1"), differ("windows_of_3")],
    "example_3_1": [differ("example_3_1")],
    "example_4_1": [differ("example_4_1")],
    "exact": [wrong],
    "compact": [
        compact("k", meaning="Pk-topk", stream="synthetic"),
        compact(1_000, meaning="Pk-topk", stream="synthetic"),
    ],
    "compact_others": [compact(1_000, meaning="U-Topk", stream="icebergs")],
    "space_csq": [
        at("by_k", True, "bytes", 4.0, "CSQ"),
        at("by_window", True, "bytes", 1e3, "CSQ"),
    ],
    "space_small": [at("by_window", True, "bytes", 100.0, "SCSQ-Buffer")],
    "space_alike": [
        at("by_k", True, "bytes", 4.0, "SCSQ-Buffer"),
        at("by_window", False, "bytes", 0.25, "CSQ"),
    ],
    "space_bs": [at("by_k", True, "bytes", 1.3, "BS")],
    "time_order": [
        at("by_k", False, TIME, 0.2, "CCSQ"),
        at("by_window", True, TIME, 0.04, "SCSQ"),
        at("by_window", True, TIME, 20.0, "SCSQ-Buffer"),
    ],
    "time_window": [
        at("by_window", True, TIME, 1.4, name) for name in ("CSQ", "CCSQ", "SCSQ", "SCSQ-Buffer")
    ],
    "time_window_bs": [at("by_window", True, TIME, 1.8, "BS")],
    "time_k": [slower("CSQ"), slower("CCSQ"), slower("SCSQ")],
    "icebergs": [at("by_window", True, TIME, 20.0, "SCSQ-Buffer", "Pk-topk")],
    "meanings": [
        at("by_window", True, TIME, 20.0, "SCSQ-Buffer", name)
        for name in ("PT-k", "U-kRanks", "U-Topk")
    ],
    "segments": [segments],
    "table_2": [
        at("by_window", True, TIME, 3.0, "BS"),
        at("by_window", True, "bytes", 4.0, "CSQ"),
        at("by_k", True, TIME, 4.0, "SCSQ"),
        at("by_k", True, "bytes", 10.0, "CCSQ"),
    ],
}

APART: dict[str, set[str]] = {}
