"""What the paper claims beside what was obtained. Where it gives no number, the bounds are ours."""

from __future__ import annotations

from functools import partial
from typing import Any

from papers.reproduction import judged, values_by
from papers.yang2011_mintopk.example import EXPECTED

CLAIMS = EXPECTED["claims"]
#: A mean number of records is met if ours is no further from it than this share.
TOLERANCE = 0.05
#: "Significantly less", "obvious superiority": by more than this share. The paper calls 23 % less
#: time and 33 % less memory "comparable performance".
SIGNIFICANT = 1 / 3
#: "Negligible": at most this share.
NEGLIGIBLE = 0.05
#: "Not affected": largest over smallest.
UNAFFECTED = 1.25
#: "As often", "comparable": at most this factor apart.
SIMILAR = 2.0
#: "Dramatically", of a window that has grown a thousand times and slides as much shorter.
DRAMATIC = 10.0
#: "Almost linearly": no further than this share from it.
LINEAR = 0.1

Runs = list[dict[str, Any]]
Values = dict[str, dict[Any, float]]
_entry = partial(judged, CLAIMS)
by_algorithm = partial(values_by, "algorithm")


def verdicts(obtained: dict[str, Any]) -> list[dict[str, Any]]:
    """One entry for each claim: where it stands, what it says, what was obtained, the verdict."""
    by_k, by_slide = obtained["by_k"]["runs"], obtained["by_slide"]["runs"]
    tenth, fixed = obtained["by_window"]["tenth"], obtained["by_window"]["fixed"]
    time = "microseconds_a_record"
    over_k, over_slide = by_algorithm(by_k, "k", time), by_algorithm(by_slide, "slide", time)
    over_window = by_algorithm(tenth, "window", time)
    kept_k = by_algorithm(by_k, "k", "kept_mean")
    kept_window = by_algorithm(tenth, "window", "kept_mean")
    kept_slide = by_algorithm(by_slide, "slide", "kept_mean")
    held = obtained.get("held")
    return [
        _example(obtained["example"]),
        *_kept(obtained["kept"]["multiples_of_k"]),
        _saved("cpu_all", CLAIMS["cpu_all"]["saving"],
               {"k": over_k, "window": over_window, "slide": over_slide}),
        _saved("cpu_k", CLAIMS["cpu_k"]["saving"], {"k": over_k}),
        _saved("cpu_k_pretopk", CLAIMS["cpu_k"]["saving"], {"k": over_k}, "PreTopk"),
        _saved("cpu_window", SIGNIFICANT, {"window": over_window}),
        _saved("cpu_window_pretopk", SIGNIFICANT, {"window": over_window}, "PreTopk"),
        _saved("cpu_slide", SIGNIFICANT, {"slide": over_slide}),
        *_against_pretopk(over_k, held),
        _memory("memory_k", 1 - NEGLIGIBLE, "k", kept_k, held),
        _memory("memory_window", SIGNIFICANT, "window", kept_window, held),
        _memory("memory_slide", SIGNIFICANT, "slide", kept_slide, held),
        _recomputed(by_k, obtained.get("recomputed")),
        *_window(over_window, by_algorithm(fixed, "window", time), fixed[0]["slide"]),
        _sma_window(over_window, kept_window),
        _slide_pretopk(over_slide),
        *[_unaffected(name, {who: over_slide[who]}, "slide") for name, who in
          (("slide_mintopk", "MinTopk"), ("slide_sma", "SMA"))],
        *_response(obtained["by_arrival"]["runs"]),
    ]  # fmt: skip


def harmonic(count: int) -> float:
    """1 + 1/2 + ... + 1/count."""
    return sum(1 / i for i in range(1, count + 1))


def savings(values: Values, ours: str, rival: str) -> dict[Any, float]:
    """What share of the rival's we do without, by what was varied."""
    return {at: 1 - values[ours][at] / values[rival][at] for at in values[ours]}


def _percents(shares: dict[Any, float], key: str) -> str:
    return ", ".join(f"{value:.0%} ({key} = {at:,})" for at, value in shares.items())


def _example(example: dict[str, Any]) -> dict[str, Any]:
    agrees = example["agreement"]
    got = "lists, marks, pointers and predicted results are equal at every step"
    if not all(agrees.values()):
        got = f"differs at {', '.join(name for name, same in agrees.items() if not same)}"
    return _entry("example", got, all(agrees.values()))


def _kept(runs: Runs) -> list[dict[str, Any]]:
    averages = {run["panes"]: run["mean"] for run in runs}
    told = ", ".join(f"{mean:.2f} k for C = {panes:,}" for panes, mean in averages.items())
    formula = max(abs(run["mean"] / run["h"] - 1) for run in runs)
    furthest = max(abs(run["mean"] / EXPECTED["kept"]["paper_average"] - 1) for run in runs)
    rising, falling = (
        {run[which] / run["panes"] for run in runs} for which in ("rising", "falling")
    )
    extremes = falling == {1.0} and all(run["rising"] == 1 for run in runs)
    return [
        _entry("kept", f"{told}; k H_C within {formula:.1%}", furthest <= TOLERANCE),
        _entry(
            "kept_extremes",
            "as the paper has them"
            if extremes
            else f"in k C: {sorted(rising)} rising, {sorted(falling)} falling",
            extremes,
        ),
    ]


# -- against SMA and PreTopk ----------------------------------------------------------------------


def _saved(name: str, least: float, panels: dict[str, Values], ours: str = "MinTopk") -> Any:
    """Whether we need that much less than SMA, everywhere in these panels."""
    shares = {key: savings(values, ours, "SMA") for key, values in panels.items()}
    got = "; ".join(_percents(of, key) for key, of in shares.items()) + " less than SMA"
    return _entry(name, got, min(min(of.values()) for of in shares.values()) >= least)


def _against_pretopk(cpu: Values, held: dict[str, Runs] | None) -> list[dict[str, Any]]:
    time = savings(cpu, "MinTopk", "PreTopk")
    mean = sum(time.values()) / len(time)
    told = f"{mean:.0%} less on average ({_percents(time, 'k')})"
    found = [
        _entry("pretopk", told, mean >= CLAIMS["pretopk"]["saving"]),
        _entry("pretopk_all", told, min(time.values()) > 0),
    ]
    if held is None:
        return [*found, _entry("memory_pretopk", "no figures", None)]
    memory = savings(by_algorithm(held["k"], "k", "bytes"), "MinTopk", "PreTopk")
    mean = sum(memory.values()) / len(memory)
    told = f"bytes: {mean:.0%} less on average ({_percents(memory, 'k')})"
    return [*found, _entry("memory_pretopk", told, mean >= CLAIMS["memory_pretopk"]["saving"])]


def _memory(
    name: str, least: float, key: str, kept: Values, held: dict[str, Runs] | None
) -> dict[str, Any]:
    """By records, and by bytes where they were measured: both must be that much less."""
    shares = [savings(kept, "MinTopk", "SMA")]
    got = f"records: {_percents(shares[0], key)} less than SMA"
    if held is not None:
        shares.append(savings(by_algorithm(held[key], key, "bytes"), "MinTopk", "SMA"))
        got += f"; bytes: {_percents(shares[1], key)} less"
    return _entry(name, got, min(min(of.values()) for of in shares) >= least)


def _recomputed(runs: Runs, counted: Runs | None) -> dict[str, Any]:
    sma = [run for run in runs if run["algorithm"] == "SMA"]
    rates = by_algorithm(sma, "k", "recomputed_a_slide")["SMA"]
    ends = rates[min(rates)], rates[max(rates)]
    near = all(
        rate / SIMILAR <= got <= rate * SIMILAR
        for rate, got in zip(CLAIMS["recomputed"]["rates"], ends, strict=True)
    )
    got = _percents(rates, "k") + " of the slides"
    if counted is not None:
        got += "; counted on random scores: " + "; ".join(
            f"who enters decided by the {rule}, {slides:,} slides: "
            + _percents(
                {
                    run["k"]: run["a_slide"]
                    for run in counted
                    if (run["rule"], run["slides"]) == (rule, slides)
                },
                "k",
            )
            for rule, slides in dict.fromkeys((run["rule"], run["slides"]) for run in counted)
        )
    return _entry("recomputed", got, ends[1] > ends[0] and near)


# -- windows and slides ---------------------------------------------------------------------------


def spread(values: dict[Any, float]) -> float:
    """Largest over smallest."""
    return max(values.values()) / min(values.values())


def _unaffected(name: str, values: Values, key: str) -> dict[str, Any]:
    got = "; ".join(
        f"{who} "
        + ", ".join(f"{value:.3g} us a record ({key} = {at:,})" for at, value in of.items())
        + f": largest over smallest {spread(of):.2f}"
        for who, of in values.items()
    )
    return _entry(name, got, max(map(spread, values.values())) <= UNAFFECTED)


def _window(tenth: Values, fixed: Values, slide: int) -> list[dict[str, Any]]:
    """As the paper has it, slide and window growing together; then the window alone."""
    ours = fixed["MinTopk"]
    wide, narrow = max(ours), min(ours)
    growth, h = ours[wide] / ours[narrow], harmonic(wide // slide) / harmonic(narrow // slide)
    got = (
        f"slide {slide:,}: {growth:.2f} times the CPU time a record for a window"
        f" {wide // narrow:,} times as wide (H_C grows {h:.2f} times)"
    )
    return [
        _unaffected("window", {who: tenth[who] for who in ("MinTopk", "PreTopk")}, "window"),
        _entry("window_alone", got, growth <= UNAFFECTED),
    ]


def _sma_window(cpu: Values, kept: Values) -> dict[str, Any]:
    time, records = cpu["SMA"], kept["SMA"]
    first, last = min(time), max(time)
    grown, more = time[last] / time[first], records[last] / records[first]
    got = (
        f"window {first:,} to {last:,}: {more:,.0f} times the records,"
        f" {grown:.2f} times the CPU time a record"
    )
    linear = abs(more / (last / first) - 1) <= LINEAR
    return _entry("sma_window", got, linear and grown >= DRAMATIC)


def _slide_pretopk(cpu: Values) -> dict[str, Any]:
    times = {slide: cpu["PreTopk"][slide] / cpu["MinTopk"][slide] for slide in cpu["MinTopk"]}
    finest, coarsest = min(times), max(times)
    sma = cpu["PreTopk"][finest] / cpu["SMA"][finest]
    grown = cpu["PreTopk"][finest] / cpu["PreTopk"][coarsest]
    got = (
        "PreTopk takes "
        + ", ".join(f"{t:.1f} times MinTopk's CPU time at slide {s:,}" for s, t in times.items())
        + f"; {sma:.1f} times SMA's at slide {finest:,}; {grown:,.0f} times as much at slide"
        f" {finest:,} as at {coarsest:,}"
    )
    shown = times[coarsest] <= SIMILAR and sma > 1 and grown >= DRAMATIC
    return _entry("slide_pretopk", got, shown)


# -- uneven arrival -------------------------------------------------------------------------------


def _response(runs: Runs) -> list[dict[str, Any]]:
    mean = by_algorithm(runs, "seconds", "mean_ms")
    sd = by_algorithm(runs, "seconds", "sd_ms")
    seconds = list(mean["MinTopk"])
    shares = [
        1 - mean["MinTopk"][s] / mean[rival][s] for rival in ("PreTopk", "SMA") for s in seconds
    ]
    got = "; ".join(
        f"slide {s} s: " + ", ".join(f"{name} {values[s]:.2f}" for name, values in mean.items())
        for s in seconds
    )
    relative = {name: [sd[name][s] / mean[name][s] for s in seconds] for name in mean}
    told = "; ".join(
        f"{name} " + ", ".join(f"{v:.2f} ({s} s)" for s, v in zip(seconds, of, strict=True))
        for name, of in relative.items()
    )
    falls = all(a > b for of in relative.values() for a, b in zip(of, of[1:], strict=False))
    return [
        _entry(
            "response",
            f"mean ms a window: {got}; {min(shares):.0%} less than the others at least",
            min(shares) >= SIGNIFICANT,
        ),
        _entry("response_spread", f"standard deviation over mean: {told}", falls),
    ]
