"""The kinds of streams: each is a description and a function that makes blocks of rows.

A kind's function takes the options, a clock and a random generator for what stays fixed (starting
prices, station offsets), and returns the maker of blocks. A maker keeps what continues from block
to block (prices, the clock). It is called once for each block, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa

from crestline.streams.draw import (
    TEXT,
    TIME,
    EventClock,
    Popularity,
    Rng,
    heavy_tail,
    letters,
    text,
    times,
    walk,
    zipf,
)
from crestline.streams.overlap import Overlap
from crestline.types import Floats, Ints

#: (random generator of this block, number of its first row, rows) -> columns
Maker = Callable[[Rng, int, int], list[Any]]

VENUES = ("XNAS", "XNYS", "ARCX", "BATS", "EDGX", "BATY", "EDGA", "IEXG", "MEMX", "XBOS", "XPHL")
PROTOCOLS = ("TCP", "UDP", "ICMP", "ARP")
BERG_SIZES = ("GR", "BB", "SM", "MED", "LG", "VLG")
#: By method of observation: the probability that it is right (Jin et al.), and its share.
METHODS = {
    "R/V": (0.8, 0.15),
    "VIS": (0.7, 0.40),
    "RAD": (0.6, 0.15),
    "SAT-LOW": (0.5, 0.05),
    "SAT-MED": (0.4, 0.08),
    "SAT-HIGH": (0.3, 0.12),
    "EST": (0.4, 0.05),
}
DAY = 86_400e6


@dataclass(frozen=True, slots=True)
class Option:
    """A number that shapes a kind of stream: its default, its bounds and what it means."""

    default: int | float
    low: float
    high: float
    meaning: str


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of stream; `rate` is its default number of records per second."""

    name: str
    description: str
    schema: Any
    rate: float
    open: Callable[[Mapping[str, Any], EventClock, Rng], Maker]
    options: Mapping[str, Option] = field(default_factory=dict)


def _trades(options: Mapping[str, Any], clock: EventClock, rng: Rng) -> Maker:
    names = letters(options["symbols"])
    symbols, venues = Popularity(zipf(len(names))), Popularity(zipf(len(VENUES)))
    log_price = rng.normal(np.log(50), 1.0, len(names))

    def block(rng: Rng, first: int, rows: int) -> list[Any]:
        ts, symbol = clock.tick(rng, rows), symbols.draw(rng, rows)
        price = np.exp(walk(rng, symbol, log_price, step=5e-4))
        price = np.maximum(np.rint(price * 100), 1) / 100  # whole cents
        size = heavy_tail(rng, rows, alpha=1.5).astype(np.int64) * 100  # round lots
        venue = text(venues.draw(rng, rows), VENUES)
        return [times(ts), text(symbol, names), venue, pa.array(price), pa.array(size)]

    return block


def _flows(options: Mapping[str, Any], clock: EventClock, rng: Rng) -> Maker:
    routers, hosts = options["routers"], options["hosts"]
    router_names = [f"router-{i + 1}" for i in range(routers)]
    addresses = [f"10.{i >> 16 & 255}.{i >> 8 & 255}.{i & 255}" for i in range(1, hosts + 1)]
    popular, protocols = Popularity(zipf(hosts)), Popularity([70, 25, 4, 1])
    flows_before = 0

    def block(rng: Rng, first: int, rows: int) -> list[Any]:
        nonlocal flows_before
        seen = 1 + rng.binomial(routers - 1, 0.5, rows)  # how many routers see a flow
        flows = int(np.searchsorted(np.cumsum(seen), rows)) + 1
        seen = seen[:flows]
        start = clock.tick(rng, flows, records_each=(routers + 1) / 2)
        # A flow enters at some router and passes from router to router, a little later at each.
        flow = np.repeat(np.arange(flows), seen)[:rows]
        hop: Ints = np.arange(rows) - (np.cumsum(seen) - seen)[flow]
        ts = start[flow] + hop * rng.integers(100, 1_000, flows)[flow]
        order = np.argsort(ts, kind="stable")
        ts, flow, hop = ts[order], flow[order], hop[order]
        clock.move_to(int(ts[-1]))  # the next block begins after the last hop of this one

        router = (rng.integers(0, routers, flows)[flow] + hop) % routers
        sent = heavy_tail(rng, flows, alpha=1.1)[flow]
        packets = np.ceil(sent * rng.uniform(0.97, 1.0, rows)).astype(np.int64)  # some get lost
        size = packets * rng.integers(40, 1_500, flows)[flow]
        source, target = popular.draw(rng, flows), popular.draw(rng, flows).astype(np.int64)
        target = (target + (target == source)) % hosts  # not to itself, if there are others
        columns = [
            times(ts),
            text(router, router_names),
            pa.array(flow + flows_before),
            text(source[flow], addresses),
            text(target[flow], addresses),
            text(protocols.draw(rng, flows)[flow], PROTOCOLS),
            pa.array(packets),
            pa.array(size),
        ]
        flows_before += flows
        return columns

    return block


def _sensors(options: Mapping[str, Any], clock: EventClock, rng: Rng) -> Maker:
    stations, faults = options["stations"], options["faults"]
    names = [f"station-{i + 1:02}" for i in range(stations)]
    warmth, windiness = rng.normal(8, 4, stations), rng.gamma(4, 1, stations)

    def measured(rng: Rng, values: Floats) -> Any:
        faulty = rng.random(len(values)) < faults
        return pa.array(np.where(faulty, np.nan, np.round(values, 2)))

    def block(rng: Rng, first: int, rows: int) -> list[Any]:
        ts, station = clock.tick(rng, rows), rng.integers(0, stations, rows)
        sun = np.sin((ts % DAY / DAY - 0.375) * 2 * np.pi)  # highest in the afternoon
        temperature = warmth[station] + 5 * sun + rng.normal(0, 0.8, rows)
        humidity = np.clip(70 - 15 * sun + rng.normal(0, 6, rows), 0, 100)
        wind = windiness[station] * rng.weibull(2, rows)
        measures = [measured(rng, values) for values in (temperature, humidity, wind)]
        return [times(ts), text(station, names), *measures]

    return block


def _icebergs(options: Mapping[str, Any], clock: EventClock, rng: Rng) -> Maker:
    bergs, life = options["bergs"], 60 * DAY
    latitude, longitude = rng.uniform(52, 60, bergs), rng.uniform(-58, -48, bergs)
    south, east = rng.uniform(0.02, 0.16, bergs), rng.normal(0.03, 0.05, bergs)  # degrees per day
    size, born = Popularity([8, 10, 30, 28, 16, 8]).draw(rng, bergs), rng.uniform(-life, 0, bergs)
    trust = np.array([probability for probability, _ in METHODS.values()])
    methods = Popularity([share for _, share in METHODS.values()])

    def block(rng: Rng, first: int, rows: int) -> list[Any]:
        ts, berg = clock.tick(rng, rows), rng.integers(0, bergs, rows)
        method = methods.draw(rng, rows)
        # After its life a berg melts, and one with a new number takes its place.
        generation, age = np.divmod(ts - clock.start - born[berg], life)
        days = age / DAY
        north = latitude[berg] - south[berg] * days + rng.normal(0, 0.05, rows)
        west = longitude[berg] + east[berg] * days + rng.normal(0, 0.05, rows)
        return [
            times(ts),
            pa.array(berg + bergs * generation.astype(np.int64)),
            pa.array(np.round(north, 3)),
            pa.array(np.round(west, 3)),
            text(method, tuple(METHODS)),
            text(size[berg], BERG_SIZES),
            pa.array(trust[method]),
        ]

    return block


def _readings(options: Mapping[str, Any], clock: EventClock, rng: Rng) -> Maker:
    sensors = options["sensors"]
    names = [f"sensor-{i + 1}" for i in range(sensors)]
    most = min(3, sensors)  # sensors that see the same car
    usual = rng.normal(90, 12, sensors)  # mean speeds
    cars_before = 0

    def block(rng: Rng, first: int, rows: int) -> list[Any]:
        nonlocal cars_before
        seen = 1 + rng.binomial(most - 1, 0.5, rows)
        cars = int(np.searchsorted(np.cumsum(seen), rows)) + 1
        seen = seen[:cars]
        start = clock.tick(rng, cars, records_each=(most + 1) / 2)
        car = np.repeat(np.arange(cars), seen)
        hop: Ints = np.arange(len(car)) - (np.cumsum(seen) - seen)[car]
        ts = start[car] + hop * rng.integers(1_000, 20_000, cars)[car]
        first_seen = rng.integers(0, sensors, cars)
        sensor = (first_seen[car] + hop) % sensors
        speed = np.abs(usual[first_seen] + rng.normal(0, 15, cars))[car]
        speed = np.round(speed * rng.uniform(0.8, 1.2, len(car)), 1)
        # The probabilities of a car's readings add up to its worth, which is at most 1.
        worth, weight = rng.uniform(0.5, 1.0, cars), rng.uniform(0.2, 1.0, len(car))
        share = weight / np.bincount(car, weight)[car]
        probability = np.floor(1_000 * worth[car] * share) / 1_000
        order = np.argsort(ts[:rows], kind="stable")
        columns = [
            times(ts[order]),
            text(sensor[order], names),
            pa.array(speed[order]),
            pa.array(car[order] + cars_before),
            pa.array(probability[order]),
        ]
        clock.move_to(int(ts[:rows].max()))  # the next block begins after the last of this one
        cars_before += cars
        return columns

    return block


def _sightings(options: Mapping[str, Any], clock: EventClock, rng: Rng) -> Maker:
    names = [f"camera-{i + 1}" for i in range(options["streams"])]
    objects = Overlap(options["streams"], options["xi"], options["recent"])

    def block(rng: Rng, first: int, rows: int) -> list[Any]:
        ts, camera = clock.tick(rng, rows), rng.integers(0, len(names), rows)
        seen = pa.array(objects.draw(rng, camera))
        return [times(ts), seen, text(camera, names), pa.array(rng.random(rows))]

    return block


def _scores(score: Callable[[Ints, Floats], Floats]) -> Callable[..., Maker]:
    """Make a kind of plain scores from row numbers and uniform random numbers."""

    def open_scores(options: Mapping[str, Any], clock: EventClock, rng: Rng) -> Maker:
        def block(rng: Rng, first: int, rows: int) -> list[Any]:
            numbers = np.arange(first, first + rows)
            ts = clock.tick(rng, rows)
            return [times(ts), pa.array(numbers), pa.array(score(numbers, rng.random(rows)))]

        return block

    return open_scores


def _schema(**columns: Any) -> Any:
    return pa.schema(list(columns.items()))


_NUMBER, _COUNT = pa.float64(), pa.int64()
_SCORES = _schema(ts=TIME, id=_COUNT, score=_NUMBER)
_MANY = 10_000_000

#: Every kind of stream, by name.
KINDS: Mapping[str, Kind] = {
    kind.name: kind
    for kind in (
        Kind(
            "trades",
            "trades of many symbols: prices walk at random, a few sizes are huge",
            _schema(ts=TIME, symbol=TEXT, venue=TEXT, price=_NUMBER, size=_COUNT),
            10_000,
            _trades,
            {"symbols": Option(500, 1, _MANY, "how many symbols are traded")},
        ),
        Kind(
            "flows",
            "network flows, most of them seen at several routers, a little later at each",
            _schema(
                start=TIME,
                router=TEXT,
                flow=_COUNT,
                src=TEXT,
                dst=TEXT,
                protocol=TEXT,
                packets=_COUNT,
                bytes=_COUNT,
            ),
            1_000,
            _flows,
            {
                "routers": Option(3, 1, 1_000, "how many routers report"),
                "hosts": Option(1_000, 1, _MANY, "how many addresses there are"),
            },
        ),
        Kind(
            "sensors",
            "weather stations with a daily rhythm; now and then a sensor fails and reports NaN",
            _schema(ts=TIME, station=TEXT, temperature=_NUMBER, humidity=_NUMBER, wind=_NUMBER),
            100,
            _sensors,
            {
                "stations": Option(23, 1, _MANY, "how many stations report"),
                "faults": Option(0.01, 0, 1, "the share of measurements that are NaN"),
            },
        ),
        Kind(
            "icebergs",
            "sightings of drifting icebergs, each real with a probability given by its method",
            _schema(
                ts=TIME,
                berg=_COUNT,
                latitude=_NUMBER,
                longitude=_NUMBER,
                method=TEXT,
                size=TEXT,
                probability=_NUMBER,
            ),
            0.01,
            _icebergs,
            {"bergs": Option(1_000, 1, _MANY, "how many icebergs drift at a time")},
        ),
        Kind(
            "readings",
            "speeds of cars; several sensors see a car, and at most one reading of it is right",
            _schema(ts=TIME, sensor=TEXT, speed=_NUMBER, car=_COUNT, probability=_NUMBER),
            100,
            _readings,
            {"sensors": Option(12, 1, _MANY, "how many sensors there are")},
        ),
        Kind(
            "sightings",
            "objects seen by several cameras, once by each at most; some are seen by one only",
            _schema(ts=TIME, object=_COUNT, camera=TEXT, value=_NUMBER),
            1_000,
            _sightings,
            {
                "streams": Option(3, 1, 1_000, "how many cameras there are"),
                "xi": Option(0.5, 0, 1, "how likely a camera sees what another has seen lately"),
                "recent": Option(50, 1, _MANY, "how many objects of each camera are recent"),
            },
        ),
        Kind(
            "random",
            "scores in random order, uniform between 0 and 1: the common case",
            _SCORES,
            10_000,
            _scores(lambda numbers, uniform: uniform),
        ),
        Kind(
            "rising",
            "every score above the one before: each record enters the top k at once",
            _SCORES,
            10_000,
            _scores(lambda numbers, uniform: numbers + uniform / 2),
        ),
        Kind(
            "falling",
            "every score below the one before: each record may yet matter, none can be dropped",
            _SCORES,
            10_000,
            _scores(lambda numbers, uniform: -(numbers + uniform / 2)),
        ),
    )
}
