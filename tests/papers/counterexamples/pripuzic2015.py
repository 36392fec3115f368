"""Pripuzic et al.: figures that bear every claim out, and how to make each false."""

from __future__ import annotations

from math import log
from typing import Any

from papers.pripuzic2015.queries import KINDS

from figures import Edit, ends, put, times

NS, US = "nanoseconds", "microseconds"
#: One query: what an arrival costs, and what a k more costs besides.
ONE = {
    "PA": (5, 0),
    "RAPF2": (5.5, 0),
    "RAPF": (6, 0),
    "SAPF": (7, 0),
    "RARF": (40, 1),
    "SARF": (41, 1),
    "RA": (42, 1),
    "RASF": (200, 5),
    "SASF": (210, 5),
    "SA": (220, 5),
    "SNN": (100, 20),
    "CPM": (20, 5),
}
REFERENCES = {
    "PA": 2.5,
    "RAPF2": 8.5,
    "RAPF": 8.5,
    "SAPF": 8,
    "RARF": 8.5,
    "SARF": 8,
    "RA": 11,
    "RASF": 8.5,
    "SASF": 8,
    "SA": 10,
    "SNN": 8,
    "CPM": 1,
}
#: 400 queries with a grid, at k = 1 and at the largest k.
MANY = {
    "PA": (5, 5),
    "RAPF2": (6, 6),
    "RAPF": (7, 7),
    "SAPF": (8, 8),
    "RARF": (10, 50),
    "SARF": (10, 50),
    "RASF": (18, 900),
    "SASF": (20, 1_000),
    "SNN": (9, 700),
    "CPM": (8, 70),
}
STREAMS = {"uniform": 1.0, "clustered": 1.2, "stations, shuffled": 1.1, "stations": 3.0}
PLAIN = ("PA", "RAPF", "SASF")


def ideal(figures: dict[str, Any]) -> None:
    for run in figures["fewer_candidates"]["runs"]:
        run["wrong_a_run"] = run["missed_a_run"] / 10
    _ideal_one(figures)
    _ideal_many(figures)
    figures["many_by_k"] = many_by_k()


def _ideal_one(figures: dict[str, Any]) -> None:
    strict = {}
    for run in figures["kept"]["runs"]:
        k, n, gamma = run["k"], run["n"], run["gamma"]
        if run["algorithm"] == "SA":
            run["mean"] = strict[k, n, gamma] = k * log(n / k)
        else:
            run["mean"] = (1 + gamma / 2) * strict[k, n, gamma] - gamma / 2 * k
    for runs in figures["by_k"].values():
        for run in runs:
            base, slope = ONE[run["algorithm"]]
            run[NS] = base + slope * run["k"]
            run["references"] = REFERENCES[run["algorithm"]] * run["k"]
    first, last = ends(figures["by_n"], "n")
    for run in figures["by_n"]:
        part = (run["n"] - first) / (last - first)
        run[NS] = 10 - 5 * part if run["algorithm"] == "PA" else 10 + 2 * part
    for runs in figures["by_buffer"].values():
        put(runs, NS, lambda run: 45 + 13_750 / run["b"])
    for runs in figures["by_gamma"].values():
        put(runs, NS, lambda run: 100 if run["gamma"] <= 0.2 else 95)


def _ideal_many(figures: dict[str, Any]) -> None:
    for run in figures["by_queries"]:
        cost = {"PA": 1, "RAPF": 2}.get(run["algorithm"], 3)
        run[US] = run["queries"] * cost * (1 if run["grid"] else 5)
    for run in figures["by_dimensions"]:
        fast = run["algorithm"] in ("PA", "RAPF", "SAPF")
        run[US] = (1 + 0.2 * (run["dimensions"] - 2)) * (1 if fast else 10)
    figures["by_resolution"]["runs"] = [
        {"algorithm": name, "resolution": at, US: 1.0 + abs(at - 10)}
        for name in ("PA", "RAPF", "SASF")
        for at in range(2, 12)
    ]
    figures["stored"] = {"n": 40_000, "b": 2_000, "queries": 400, "runs": [
        {"algorithm": name, "k": k, "objects": objects + (15 if name == "PA" and k == 1 else 0)}
        for name in ("SA", "RA", "SASF", "SAPF", "RAPF", "PA")
        for k, objects in {1: 10.0, 9: 40.0, 81: 90.0}.items()
    ]}  # fmt: skip


def many_by_k() -> dict[str, Any]:
    """Figure 9, as the paper has it."""
    runs = {
        kind: [
            {"algorithm": name, "grid": True, "k": k, US: slow * cost}
            for name, costs in MANY.items()
            for k, cost in zip((1, 81), costs, strict=True)
        ]
        for kind, slow in STREAMS.items()
    }
    for kind, slow in list(STREAMS.items())[:3]:
        for name in PLAIN:
            for k, cost, pays in zip((1, 81), MANY[name], (2.0, 0.9), strict=True):
                gain = 2.0 if kind == "uniform" else pays
                run = {"algorithm": name, "grid": False, "k": k, US: slow * cost * gain}
                runs[kind].append(run)
    return {"n": 40_000, "queries": 400, "runs": runs}


def one(kind: str, key: str, factor: float, **where: Any) -> Edit:
    return lambda figures: times(figures["by_k"][kind], key, factor, **where)


def several(kind: str, factor: float, **where: Any) -> Edit:
    return lambda figures: times(figures["many_by_k"]["runs"][kind], US, factor, **where)


def everywhere(factor: float, **where: Any) -> Edit:
    def edit(figures: dict[str, Any]) -> None:
        for kind in STREAMS:
            several(kind, factor, **where)(figures)

    return edit


def rows(part: str, key: str, factor: float, **where: Any) -> Edit:
    return lambda figures: times(figures[part], key, factor, **where)


def runs_of(part: str, key: str, factor: float, **where: Any) -> Edit:
    return lambda figures: times(figures[part]["runs"], key, factor, **where)


def differ(name: str) -> Edit:
    return lambda figures: figures["example"]["agreement"].update({name: False})


def refused(figures: dict[str, Any]) -> None:
    figures["refused"]["reason"] = "not refused"


def errors(key: str) -> Edit:
    return lambda figures: put(figures["errors"]["runs"], key, 0.04, k=81)


def wrongly(figures: dict[str, Any]) -> None:
    put(figures["fewer_candidates"]["runs"], "wrong_a_run", lambda run: run["missed_a_run"] * 0.6)


def no_errors(figures: dict[str, Any]) -> None:
    put(figures["fewer_candidates"]["runs"], "missed_a_run", 0.0)


def ordered(key: str, value: int) -> Edit:
    return lambda figures: put(figures["in_order"]["runs"], key, value, stream="falling")


def inexact(figures: dict[str, Any]) -> None:
    figures["exact"]["runs"][0]["same"] = False


def another_stream(of: str, **where: Any) -> Edit:
    """One of the result streams of this kind is not the judge's."""

    def edit(figures: dict[str, Any]) -> None:
        runs = figures["queries"][of]
        next(run for run in runs if where.items() <= run.items())["same"] = False

    return edit


def no_entries(figures: dict[str, Any]) -> None:
    figures["queries"]["active"][0]["entries"] = 0


def inexact_long(figures: dict[str, Any]) -> None:
    figures["exact"]["long"]["runs"][0]["different"] = 1


def by_setting(part: str, factor: float, **where: Any) -> Edit:
    def edit(figures: dict[str, Any]) -> None:
        times(next(iter(figures[part].values())), NS, factor, **where)

    return edit


def same_for_all_buffers(figures: dict[str, Any]) -> None:
    for runs in figures["by_buffer"].values():
        put(runs, NS, 50.0)


def steep(figures: dict[str, Any]) -> None:
    put(figures["by_dimensions"], US, lambda run: run[US] * run["dimensions"], algorithm="RAPF")


def curved(figures: dict[str, Any]) -> None:
    put(figures["by_queries"], US, lambda run: run["queries"] ** 2, algorithm="SASF", grid=True)


def shrinking(figures: dict[str, Any]) -> None:
    put(figures["by_queries"], US, lambda run: 9_000 - run["queries"], algorithm="SASF", grid=True)


FALSE: dict[str, list[Edit]] = {
    "tables": [differ("table_v"), differ("table_x")],
    "example": [differ("table_ii"), differ("table_iii_grid")],
    "buffer_limit": [refused],
    "errors": [errors("missed_at_most"), errors("wrong_at_most")],
    "false_positives": [wrongly, no_errors],
    "sorted": [
        ordered("PA_missed", 100),
        ordered("adaptive_missed", 1),
        ordered("adaptive_wrong", 1),
    ],
    "exact": [inexact, inexact_long],
    "result_stream": [another_stream("result_stream", window=each) for each in ("rows", "time")],
    "active": [another_stream("active"), no_entries],
    "scores": [another_stream("result_stream", kind=each) for each in KINDS],
    "kept": [runs_of("kept", "mean", 1.1, algorithm="SA")],
    "relaxed": [runs_of("kept", "mean", 1.1, algorithm="RA")],
    "fig9_similar": [several("clustered", 3.0, k=1, algorithm="SNN", grid=True)],
    "fig9_rapf2": [several("uniform", 0.3, k=81, algorithm="CPM", grid=True)],
    "fig9_pa_rivals": [everywhere(0.1, k=81, algorithm="CPM", grid=True)],
    "fig9_correlated_rivals": [
        several("stations", 0.5, k=81, algorithm="CPM", grid=True),
        several("stations", 0.3, k=81, algorithm="SNN", grid=True),
        several("stations", 2.0, k=1, algorithm="RAPF", grid=True),
    ],
    "fig9_pa": [several("clustered", 2.0, k=1, algorithm="PA", grid=True)],
    "fig9_slowest": [several("stations", 0.1, k=81, algorithm="SASF", grid=True)],
    "fig9_clustered": [several("clustered", 0.8, k=81, algorithm="RAPF", grid=True)],
    "fig9_correlated": [several("stations", 0.6, k=1, algorithm="SASF", grid=True)],
    "best_exact_usual": [
        rows("by_queries", US, 0.5, queries=400, algorithm="RASF", grid=True),
    ],
    "best_exact_indexed": [several("clustered", 0.001, k=81, algorithm="RASF", grid=True)],
    "grid": [
        rows("by_queries", US, 9.0, queries=400, algorithm="RASF", grid=True),
        several("uniform", 0.4, k=81, algorithm="PA", grid=False),
    ],
    "grid_elsewhere": [
        several("clustered", 2.0, k=81, algorithm="PA", grid=False),
        several("stations, shuffled", 0.4, k=1, algorithm="RAPF", grid=False),
    ],
    "by_dimensions": [rows("by_dimensions", US, 0.01, dimensions=10, algorithm="SASF")],
    "by_dimensions_growth": [steep],
    "by_resolution": [
        lambda figures: put(figures["by_resolution"]["runs"], US, 0.1, resolution=4, algorithm="PA")
    ],
    "by_queries": [curved, shrinking],
    "by_queries_best": [rows("by_queries", US, 0.1, queries=10, algorithm="RASF", grid=True)],
    "stored_alike": [runs_of("stored", "objects", 3.0, k=1, algorithm="SASF")],
    "stored_pa": [runs_of("stored", "objects", 0.2, k=1, algorithm="PA")],
    "stored_limit": [
        runs_of("stored", "objects", 0.5, k=81),
        runs_of("stored", "objects", 1.2, k=81, algorithm="SA"),
        runs_of("stored", "objects", 5.0, k=9, algorithm="RA"),
    ],
    "rivals_one": [one("random", NS, 0.1, k=1, algorithm="CPM")],
    "rivals_gap_one": [one("random", NS, 0.01, k=81, algorithm="SNN")],
    "correlated_rivals_one": [
        one("stations", NS, 0.1, algorithm="SNN"),
        one("stations", NS, 0.1, algorithm="CPM"),
        one("stations", NS, 0.2, k=1, algorithm="CPM"),
    ],
    "speed": [
        one("random", NS, 2.0, k=3, algorithm="PA"),
        one("random", NS, 20.0, k=3, algorithm="RAPF"),
        one("random", NS, 9.0, k=3, algorithm="RA"),
    ],
    "groups": [
        one("random", NS, 50.0, k=81, algorithm="SAPF"),
        one("random", NS, 0.1, k=81, algorithm="SASF"),
    ],
    "flat": [one("random", NS, 2.0, k=81, algorithm="PA")],
    "alike": [one("clustered", NS, 1.44, algorithm="RAPF")],
    "best_exact": [one("clustered", NS, 0.5, k=81, algorithm="SAPF")],
    "by_buffer": [
        same_for_all_buffers,
        by_setting("by_buffer", 0.01, b=20_000, algorithm="RAPF"),
    ],
    "by_gamma": [by_setting("by_gamma", 0.5, gamma=0.5, algorithm="RA")],
    "by_window": [rows("by_n", NS, 3.0, n=160_000, algorithm="PA")],
    "by_window_others": [
        rows("by_n", NS, 0.5, n=160_000, algorithm="RAPF"),
        rows("by_n", NS, 3.0, n=160_000, algorithm="SNN"),
    ],
    "space_pa": [one("random", "references", 2.0, algorithm="PA")],
    "space_ra": [runs_of("kept", "mean", 1.06, algorithm="RA", k=9)],
    "space_filters": [one("random", "references", 2.0, k=81, algorithm="SARF")],
    "space_alike": [one("random", "references", 1.4, k=1, algorithm="SNN")],
    "space_rapf": [
        one("random", "references", 1.4, k=1, algorithm="RAPF"),
        one("random", "references", 0.9, k=1, algorithm="RAPF"),
    ],
    "space_cpm": [one("random", "references", 2.0, k=1, algorithm="CPM")],
}

#: Figures that may be missing, and the claims that then cannot be judged.
APART: dict[str, set[str]] = {
    "many_by_k": {
        "fig9_similar",
        "fig9_rapf2",
        "fig9_pa_rivals",
        "fig9_correlated_rivals",
        "fig9_pa",
        "fig9_slowest",
        "fig9_clustered",
        "fig9_correlated",
        "best_exact_indexed",
        "grid_elsewhere",
    },
    # SASF may be the slowest of those that there are figures for.
    "CPM and SNN": {
        "fig9_similar",
        "fig9_rapf2",
        "fig9_pa_rivals",
        "fig9_correlated_rivals",
        "fig9_slowest",
    },
    "by_resolution": {"by_resolution"},
    "stored": {"stored_alike", "stored_pa", "stored_limit"},
}


def drop(figures: dict[str, Any], part: str) -> None:
    if part != "CPM and SNN":
        del figures[part]
        return
    for kind, runs in figures["many_by_k"]["runs"].items():
        kept = [run for run in runs if run["algorithm"] not in ("CPM", "SNN")]
        figures["many_by_k"]["runs"][kind] = kept
