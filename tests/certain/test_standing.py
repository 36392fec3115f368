"""Many queries on one stream: each is answered as if it stood alone, and few look at a record."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crestline.certain.standing import (
    ALGORITHMS,
    AttributeDistance,
    Cosine,
    Distance,
    Given,
    Haversine,
    Preference,
    StandingQueries,
    WeightedDistance,
    WeightedSum,
)
from crestline.core.errors import CrestlineError, StateError
from crestline.core.state import pack, unpack
from crestline.kernels.certain.scoring import (
    ATTRIBUTE_DISTANCE,
    COSINE,
    DISTANCE,
    HAVERSINE,
    WEIGHTED_DISTANCE,
    WEIGHTED_SUM,
    best_in_box,
    score_of,
)
from hostile import FINITE, RANGES, WEIGHTS, spiked

EXACT = [name for name in ALGORITHMS if name != "PA"]
#: Bands are read from cells, in the order of a distance or a sum.
FROM_CELLS = ("CPM", "SNN")
Answers = list[tuple[int, list[int]]]


def given_twice(queries: StandingQueries) -> None:
    for _ in range(2):
        queries.add(Given(0), 1, 10**5)


#: Scores that stand behind the coordinates of a point.
GIVEN = 2


def score(preference: Preference, x: Any) -> float | None:
    """The definition, written down once more; None where that is no number."""
    with np.errstate(all="ignore"):
        found = _score(preference, x)
    return None if np.isnan(found) else found


def _score(preference: Preference, x: Any) -> float:
    everything, x = x, x[: len(x) - GIVEN]
    if isinstance(preference, Distance):
        return -float(np.sqrt(((x - np.array(preference.point)) ** 2).sum()))
    if isinstance(preference, WeightedDistance):
        squares = np.array(preference.weights) * (x - np.array(preference.point)) ** 2
        return -float(np.sqrt(squares.sum()))
    if isinstance(preference, AttributeDistance):
        return -float((np.array(preference.weights) * np.abs(x - preference.point)).max())
    if isinstance(preference, WeightedSum):
        return float((np.array(preference.weights) * x).sum())
    if isinstance(preference, Given):
        return float(everything[len(x) + preference.column])
    assert isinstance(preference, Cosine)
    vector = np.array(preference.vector)
    length = np.sqrt((x * x).sum()) * np.sqrt((vector * vector).sum())
    return float((x * vector).sum() / length) if length else np.nan


@dataclass
class Asked:
    preference: Preference
    k: int
    window: int
    timed: bool
    since: int
    until: int | None = None

    def answers(self, points: Any, times: Any) -> Answers:
        """The answer after every record (moment), where it differs from the one before."""
        found: Answers = []
        last: list[int] = []
        scores = [score(self.preference, x) for x in points[: self.until]]
        seen = [j for j in range(self.since, len(scores)) if scores[j] is not None]
        for place, i in enumerate(seen):
            if self.timed and place + 1 < len(seen) and times[seen[place + 1]] == times[i]:
                continue
            inside = seen[max(0, place + 1 - self.window) : place + 1]
            if self.timed:
                inside = [j for j in seen[: place + 1] if times[j] > times[i] - self.window]
            top = sorted(inside, key=lambda j: (scores[j], j), reverse=True)[: self.k]
            if top != last:
                found.append((int(times[i]) if self.timed else self.since + place + 1, top))
            last = top
        return found


def preferences(rng: np.random.Generator, dimensions: int, from_cells: bool) -> Preference:
    some = lambda low, high, *wild: tuple(  # noqa: E731
        spiked(rng, rng.integers(low, high, dimensions).astype(float), *wild).tolist()
    )
    point, weights = some(0, 7, FINITE), some(0, 3, WEIGHTS)
    kinds: list[Preference] = [
        Distance(point), WeightedDistance(point, weights), AttributeDistance(point, weights),
        WeightedSum(some(-2, 3, FINITE)),
    ]  # fmt: skip
    vector = some(-2, 3, FINITE)
    if any(vector) and not from_cells:
        kinds.append(Cosine(vector))
    return kinds[rng.integers(len(kinds))]


@pytest.mark.parametrize("algorithm", EXACT)
@given(st.integers(0, 2**32))
def test_each_query_is_answered_as_if_alone(algorithm: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    dimensions, n = int(rng.integers(1, 4)), int(rng.integers(5, 70))
    points = rng.normal(3, 2, (n, dimensions))
    if rng.random() < 0.5:
        points = rng.integers(0, 6, (n, dimensions)).astype(float)  # many ties
    points = spiked(rng, points, FINITE)
    if rng.random() < 0.3:
        points = np.sort(points, axis=0)
    given = spiked(rng, rng.integers(0, 9, (n, GIVEN)).astype(float))
    given[rng.random((n, GIVEN)) < rng.choice([0.0, 0.3])] = np.nan
    points = np.hstack((points, given))
    times = np.sort(rng.integers(0, 60, n))
    buffer = int(rng.integers(1, 6))
    corners = (0.0, 6.0) if rng.random() < 0.6 else RANGES[rng.integers(len(RANGES))]
    board = StandingQueries(
        dimensions, algorithm=algorithm, low=corners[0], high=corners[1], buffer=buffer,
        resolution=None if rng.random() < 0.5 else int(rng.integers(1, 6)),
        error=float(rng.uniform(0.01, 0.9)), gamma=float(rng.random()),
    )  # fmt: skip
    board._recent.widen(GIVEN)
    asked: dict[int, Asked] = {}
    got: dict[int, Answers] = {}
    cuts = {0, n, *np.searchsorted(times, times[rng.integers(0, n, 3)]).tolist()}
    edges = sorted(cuts)
    for start, stop in zip(edges, edges[1:], strict=False):
        for _ in range(int(rng.integers(0, 4))):
            timed = bool(rng.random() < 0.4)
            from_cells = algorithm in FROM_CELLS
            window = int(rng.integers(1 if timed or from_cells else 2 * buffer - 1, 30))
            preference, k = preferences(rng, dimensions, from_cells), int(rng.integers(1, 5))
            if not from_cells and rng.random() < 0.4 and board.free_column() < GIVEN:
                preference = Given(board.free_column())
            number = board.add(preference, k, window, timed=timed)
            asked[number], got[number] = Asked(preference, k, window, timed, start), []
        standing = [number for number, query in asked.items() if query.until is None]
        if standing and rng.random() < 0.3:
            gone = int(rng.choice(standing))
            board.remove(gone)
            asked[gone].until = start
        part = slice(start, stop)
        for snapshots in board.take(points[part], times[part], np.arange(start, stop)):
            for number, end, ids, _ in snapshots:
                got[number].append((end, ids.tolist()))
        board._check()
        board = StandingQueries.from_state(unpack(pack(board.state())))
    for number, query in asked.items():
        told = [a for i, a in enumerate(got[number]) if i == 0 or a[1] != got[number][i - 1][1]]
        assert told == query.answers(points, times), (query, number)


@given(st.integers(0, 2**32))
def test_no_point_of_a_box_beats_its_bound(seed: int) -> None:
    """The grid may leave a query out of a cell only if nothing there can matter to it."""
    rng = np.random.default_rng(seed)
    dimensions = int(rng.integers(1, 5))
    low, high = np.sort(spiked(rng, rng.normal(0, 2, (2, dimensions)), FINITE), axis=0)
    share = rng.random((50, dimensions))
    points = np.clip(low * (1 - share) + high * share, low, high)
    points[:5] = np.where(rng.random((5, dimensions)) < 0.5, low, high)
    points[5:25] = np.clip(rng.choice(FINITE, (20, dimensions)), low, high)
    point = spiked(rng, rng.normal(0, 2, (1, dimensions)), FINITE)
    weight = spiked(rng, rng.random((1, dimensions)), WEIGHTS)
    with np.errstate(all="ignore"):
        length = float(np.sqrt((point * point).sum()))
    open_low = np.where(rng.random(dimensions) < 0.3, -np.inf, low)
    open_high = np.where(rng.random(dimensions) < 0.3, np.inf, high)
    for kind in (DISTANCE, WEIGHTED_DISTANCE, ATTRIBUTE_DISTANCE, WEIGHTED_SUM, COSINE):
        bound = best_in_box(kind, point, weight, length, 0, open_low, open_high)
        for row in range(len(points)):
            found = score_of(kind, point, weight, length, 0, points, row, np.empty(dimensions))
            assert not found > bound, (kind, found, bound)


def test_cosine_and_points_without_direction() -> None:
    board = StandingQueries(2, low=-1, high=1, buffer=1)
    number = board.add(Cosine((1.0, 1.0)), k=2, window=4)
    board.observe(np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 2.0], [-1.0, 0.0]]))
    ids, scores = board.top(number)
    assert ids.tolist() == [2, 0]
    assert scores.tolist() == pytest.approx([1.0, 1 / np.sqrt(2)])


@given(st.integers(0, 2**32))
def test_no_place_of_a_box_is_nearer_on_earth(seed: int) -> None:
    rng = np.random.default_rng(seed)
    south, west = rng.uniform(-90, 80), rng.uniform(-200, 170)
    low = np.array([south, west])
    high = low + np.array([rng.uniform(0, 90 - south), rng.exponential(40)])
    if rng.random() < 0.3:
        low[1], high[1] = np.sort(rng.choice([*FINITE, -1e17, 3.3e15, 1e9], 2))
    share = rng.random((60, 2))
    points = np.clip(low * (1 - share) + high * share, low, high)
    points[:8] = np.where(rng.random((8, 2)) < 0.5, low, high)
    point = np.array([[rng.uniform(-90, 90), rng.choice([rng.uniform(-180, 180), 1e17, 5e-324])]])
    bound = best_in_box(HAVERSINE, point, np.ones((1, 2)), 0.0, 0, low, high)
    for row in range(len(points)):
        assert score_of(HAVERSINE, point, point, 0.0, 0, points, row, np.empty(2)) <= bound


def test_neighbours_on_earth_across_the_date_line() -> None:
    rng = np.random.default_rng(6)
    points = np.column_stack((rng.uniform(-80, 80, 3000), rng.uniform(-180, 180, 3000)))
    places = [(70.0, 179.5), (0.0, -179.9), (37.77, -122.42)]
    told = []
    for resolution in (1, 12):
        board = StandingQueries(
            2, low=(-90, -180), high=(90, 180), buffer=200, resolution=resolution
        )
        numbers = [board.add(Haversine(place), k=3, window=1000) for place in places]
        board.observe(points)
        told.append([board.top(number)[0].tolist() for number in numbers])
    assert told[0] == told[1]
    for place, best in zip(places, told[0], strict=True):
        x, y = np.radians(points[2000:]), np.radians(place)
        cosine = np.sin(x[:, 0]) * np.sin(y[0])
        cosine += np.cos(x[:, 0]) * np.cos(y[0]) * np.cos(x[:, 1] - y[1])
        assert (np.argsort(-cosine)[:3] + 2000).tolist() == best


def test_the_grid_spares_most_meetings() -> None:
    rng = np.random.default_rng(3)
    points = rng.random((6000, 2))
    places = [tuple(place) for place in rng.random((60, 2)).tolist()]
    met, told = {}, {}
    for resolution in (1, None):
        board = StandingQueries(2, resolution=resolution, buffer=500)
        for place in places:
            board.add(Distance(place), k=3, window=2000)
        reported = board.observe(points)
        met[resolution] = board.touched
        told[resolution] = [(q, e, i.tolist()) for q, e, i, _ in reported]
        assert board.resolution > 1 or resolution == 1
    assert told[1] == told[None]
    assert met[1] == 2 * 60 * (6000 - 250)
    assert met[None] < met[1] / 6


@pytest.mark.parametrize("algorithm", EXACT)
@pytest.mark.parametrize("k", [1, 3])
def test_cells_that_a_query_leaves_change_no_answer(algorithm: str, k: int) -> None:
    rng = np.random.default_rng(5)
    points = np.cumsum(rng.normal(0, 0.02, (1_500, 1)), axis=0) % 1
    told = []
    for resolution in (1, 16, None):
        board = StandingQueries(1, algorithm=algorithm, resolution=resolution, buffer=20, gamma=8)
        number = board.add(Distance((0.0,)), k, window=60)
        answers = []
        for start in range(0, len(points), 100):
            for query, end, ids, _ in board.observe(points[start : start + 100]):
                if query == number:
                    answers.append((end, ids.tolist()))
            board._check()
            if start % 300 == 0:  # one with another k, so that cells of another width are laid
                board.add(Distance((0.5,)), 1 + 5 * (start % 4), window=60)
        told.append(answers)
    assert told[0] == told[1] == told[2]


def test_a_probable_filter_looks_little_further_than_its_kth() -> None:
    rng = np.random.default_rng(4)
    points, places = rng.random((6_000, 2)), rng.random((40, 2))
    met = {}
    for algorithm in ("RAPF", "RASF"):
        board = StandingQueries(2, algorithm=algorithm, buffer=1_000)
        for place in places.tolist():
            board.add(Distance(tuple(place)), k=9, window=2_000)
        board.observe(points)
        met[algorithm] = board.touched
    assert met["RAPF"] <= 1.4 * met["RASF"], met  # as far as its last candidate: 1.9


def test_points_outside_the_corners_count_too() -> None:
    board = StandingQueries(1, low=0, high=1, resolution=4, buffer=1)
    far = board.add(Distance((50.0,)), k=1, window=3)
    board.observe(np.array([[49.0], [-7.0], [0.5]]))
    assert board.top(far)[0].tolist() == [0]


@pytest.mark.parametrize("algorithm", FROM_CELLS)
def test_a_cell_as_far_as_the_kth_is_read_too(algorithm: str) -> None:
    """Of equal scores the later ranks first, and it may be in the cell that is read last."""
    board = StandingQueries(1, algorithm=algorithm, resolution=4)
    number = board.add(AttributeDistance((0.5,), (1.0,)), k=1, window=4)
    for _ in range(7):  # SNN has no threshold before
        board.observe(np.array([[0.5]]))
    board.observe(np.array([[0.25], [0.75], [0.0]]))
    assert board.top(number)[0].tolist() == [6]
    board.observe(np.array([[0.0]]))
    assert board.top(number)[0].tolist() == [8]


@pytest.mark.parametrize("algorithm", FROM_CELLS)
def test_records_without_a_score_make_a_window_reach_further_back(algorithm: str) -> None:
    board = StandingQueries(2, algorithm=algorithm)
    number = board.add(WeightedSum((1.0, 1.0)), k=1, window=3)
    infinite = [np.inf, -np.inf]  # their sum is no number
    points = [[9.0, 0.0], [5.0, 0.0], [1.0, 0.0], *[infinite] * 200, [2.0, 0.0], [3.0, 0.0]]
    points.append([0.0, 0.0])
    told = []
    for at, point in enumerate(points):  # one by one, so that all that can go is let go
        list(board.take(np.array([point]), np.zeros(1, np.int64), np.array([at])))
        board._check()
        told.append((*board.top(number)[0].tolist(), board.buffered))
    assert told[202:] == [(0, 203), (1, 203), (204, 203), (204, 3)]


@pytest.mark.parametrize("algorithm", FROM_CELLS)
def test_cells_read_again_show_no_record_from_before_the_query(algorithm: str) -> None:
    """On time, a record that was known before the query may count after it."""
    board = StandingQueries(1, algorithm=algorithm)
    late = board.add(Distance((0.0,)), k=1, window=5, timed=True, since=10)
    points, serials = np.array([[0.1], [0.2], [0.3], [0.9]]), np.array([10, 3, 11, 12])
    told = [
        ids.tolist()
        for s in board.take(points, np.array([0, 1, 2, 5]), serials)
        for *_, ids, _ in s
    ]
    assert told == [[0], [2]] and board.top(late)[0].tolist() == [2]


@pytest.mark.parametrize("algorithm", FROM_CELLS)
def test_cells_hold_the_longest_window_and_no_more(algorithm: str) -> None:
    board = StandingQueries(2, algorithm=algorithm)
    points = np.random.default_rng(1).random((3_000, 2))
    long, short = (board.add(Distance((0.5, 0.5)), k=2, window=n) for n in (700, 30))
    board.observe(points)
    assert board.buffered == 700
    assert board.ids().tolist() == list(range(2_300, 3_000))
    board.remove(long)
    board.observe(points[:1])
    assert board.buffered == 30
    board.remove(short)
    timed = board.add(Distance((0.5, 0.5)), k=2, window=9, timed=True)
    board.observe(points[:90], np.repeat(np.arange(30), 3))
    assert board.buffered == 27 and len(board.top(timed)[0]) == 2
    board._check()


def test_a_skyband_with_a_threshold_reads_cells_less_often() -> None:
    """CPM reads them whenever one of the k best expires, SNN where fewer than k are left."""
    rng = np.random.default_rng(4)
    points, places = rng.random((6_000, 2)), rng.random((40, 2)).tolist()
    met, kept = {}, {}
    for algorithm in FROM_CELLS:
        board = StandingQueries(2, algorithm=algorithm)
        for place in places:
            board.add(Distance(tuple(place)), k=9, window=2_000)
        board.observe(points)
        met[algorithm], kept[algorithm] = board.touched, board.candidates / len(places)
    assert 2 * met["SNN"] < met["CPM"] < 40 * 6_000 / 5, met
    assert kept["CPM"] == 9 < kept["SNN"] < 3 * 9, kept


def test_a_query_sees_later_records_only() -> None:
    board = StandingQueries(1, buffer=2)
    board.observe(np.array([[0.5]]))
    first = board.add(Distance((0.5,)), k=1, window=4)
    board.observe(np.array([[0.1]]))
    second = board.add(Distance((0.5,)), k=1, window=4)
    board.observe(np.array([[0.0]]))
    assert board.top(first)[0].tolist() == [1] and board.top(second)[0].tolist() == [2]
    board.remove(first)
    assert len(board) == 1
    with pytest.raises(CrestlineError, match="was removed"):
        board.top(first)


def test_a_place_used_again_knows_nothing_of_the_query_before() -> None:
    """What was noted for a query that counts records once expired a later one's, on time."""
    board = StandingQueries(1, buffer=1)
    counting = board.add(Distance((0.5,)), k=1, window=10)
    board.observe(np.array([[0.5]]), np.array([0]))  # noted: expires with record 10
    board.remove(counting)
    timed = board.add(Distance((0.5,)), k=1, window=8, timed=True)
    board.observe(np.array([[0.5]]), np.array([2]))  # expires at the time 10
    board.observe(np.full((11, 1), 0.9), np.full(11, 5))
    assert board.top(timed)[0].tolist() == [1]
    board.observe(np.array([[0.9]]), np.array([10]))
    assert board.top(timed)[0].tolist() == [13]


@pytest.mark.parametrize(
    ("make", "part"),
    [
        (lambda: StandingQueries(2, algorithm="SMA"), "standing queries know"),
        (lambda: StandingQueries(-1), "dimensions 0"),
        (lambda: StandingQueries(0, algorithm="CPM"), "CPM and SNN: 1"),
        (
            lambda: StandingQueries(2, algorithm="SNN").add(Cosine((1.0, 2.0)), 3, 10),
            "order of a distance or a weighted sum, not of Cosine",
        ),
        (lambda: StandingQueries(2, low=1, high=1), "low must lie below high"),
        (lambda: StandingQueries(8, resolution=9), "choose a lower resolution"),
        (lambda: StandingQueries(2, error=2), "error lies between"),
        (
            lambda: StandingQueries(2).add(Distance((1.0, 2.0)), 3, 10),
            "too long for a window of 10",
        ),
        (lambda: StandingQueries(2).add(Distance((1.0,)), 3, 10**5), "needs 2 finite numbers"),
        (lambda: StandingQueries(1).add(Cosine((0.0,)), 3, 10**5), "no direction"),
        (
            lambda: StandingQueries(1).add(WeightedDistance((0.0,), (-1.0,)), 3, 10**5),
            "must not be negative",
        ),
        (lambda: StandingQueries(1).remove(3), "there is no query 3"),
        (lambda: given_twice(StandingQueries(1)), "column 0 has the scores of another query"),
        (lambda: StandingQueries(2).observe(np.zeros((3, 1))), "array of 2 columns"),
        (lambda: StandingQueries(1).observe(np.array([[np.nan]])), "finite"),
    ],
)
def test_refusals(make: Any, part: str) -> None:
    with pytest.raises(CrestlineError, match=part):
        make()


def test_times_must_come_and_ascend() -> None:
    board = StandingQueries(1, buffer=1)
    board.add(Distance((0.5,)), k=1, window=10, timed=True)
    with pytest.raises(CrestlineError, match="needs the times"):
        board.observe(np.array([[0.5]]))
    board.observe(np.array([[0.5]]), np.array([5]))
    with pytest.raises(CrestlineError, match="in the order of their times"):
        board.observe(np.array([[0.5]]), np.array([4]))


def test_a_cursor_with_the_entries_of_before_is_refused() -> None:
    """Until version 7 of states it also counted what was written."""
    state = StandingQueries(1).state()
    StandingQueries.from_state(state)
    with pytest.raises(StateError, match=r"cursor has \[4\] entries, not 3"):
        StandingQueries.from_state(state | {"cursor": np.zeros(4, np.int64)})
