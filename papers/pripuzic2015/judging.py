"""The bounds by which the claims are judged, ours where the paper gives no number, and what the
verdicts share."""

from __future__ import annotations

from functools import partial
from typing import Any

from papers.pripuzic2015.example import EXPECTED
from papers.reproduction import judged, values_by

CLAIMS = EXPECTED["claims"]
#: How far the mean number of records kept may be from the formula.
TOLERANCE = 0.05
#: "Little gain": less than this share of the cost. "Hardly changes": at most this factor.
LITTLE, HARDLY = 0.15, 1.5
#: A number of the paper is met if ours is as close as this share of it.
CLOSE = 0.25
#: "Almost no difference", "no significant difference", "slightly more": less than this factor.
ALIKE = 1.25
#: "Similar": at most this factor.
SIMILAR = 2.0
#: "Much worse": this factor at least.
MUCH = 2.0
#: "Slightly slower": at most this factor.
SLIGHTLY = 1.5
#: One order of magnitude, two: these factors.
ORDER, TWO_ORDERS = 10, 100
#: "Linearly": this share of the variance, at least, is on a line.
LINEAR = 0.99
#: "High-dimensional": from so many dimensions on.
HIGH_DIMENSIONS = 6
#: "Approach": at least this share of the limit at the largest k.
APPROACH = 0.75

#: "Large k": from here on, or the largest there is.
LARGE_K = 27

RIVALS = ("SNN", "CPM")
#: The exact algorithms of sections 4 and 5 with the paper's buffer.
EXACT = ("RAPF", "SAPF", "RARF", "SARF", "RASF", "SASF", "RA", "SA")
Runs = list[dict[str, Any]]
#: Algorithm -> what was varied -> the value.
Costs = dict[str, dict[Any, float]]
entry = partial(judged, CLAIMS)
by_algorithm = partial(values_by, "algorithm")


def split(runs: Runs, grid: bool) -> Runs:
    return [run for run in runs if run["grid"] == grid]


def all_values(values: Costs) -> list[float]:
    return [value for of in values.values() for value in of.values()]


def far_ahead(cost: Costs, ours: tuple[str, ...]) -> tuple[str, bool]:
    """Ours ahead of both rivals for all k; RAPF2 up to one order of magnitude of CPM, two of SNN.

    >>> costs = {"RAPF2": {1: 1.0}, "CPM": {1: 12.0}, "SNN": {1: 37.0}}
    >>> far_ahead(costs, ("RAPF2",))[1]
    False
    """
    times = {rival: [cost[rival][k] / cost["RAPF2"][k] for k in cost["RAPF2"]] for rival in RIVALS}
    got = "; ".join(
        f"{rival} takes {min(of):.1f} to {max(of):.1f} times RAPF2's time"
        for rival, of in times.items()
    )
    ahead = all(
        cost[name][k] < cost[rival][k] for name in ours for rival in RIVALS for k in cost[name]
    )
    return got, ahead and max(times["CPM"]) >= ORDER and max(times["SNN"]) >= TWO_ORDERS


def best_exact(name: str, setting: str, costs: dict[str, Costs]) -> dict[str, Any]:
    """For large k, stream by stream: whether RAPF is the fastest exact algorithm."""
    best, told = set(), []
    for kind, cost in costs.items():
        ks = list(cost["RAPF"])
        for k in [k for k in ks if k >= min(LARGE_K, max(ks))]:
            fastest = min((cost[who][k], who) for who in EXACT if who in cost)[1]
            best.add(fastest)
            told.append(
                f"{kind}, k = {k}: {fastest} {cost[fastest][k]:.1f}, RAPF {cost['RAPF'][k]:.1f}"
            )
    return entry(name, f"{setting}, the fastest: " + "; ".join(told), best == {"RAPF"})
