"""Generated streams: the same rows for the same seed, in order, of the shape each kind promises."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from crestline.core.errors import SourceError
from crestline.streams import BLOCK, KINDS, generate, write
from crestline.streams import generator as generator_module
from crestline.streams.draw import Popularity, letters, walk, zipf
from crestline.streams.kinds import METHODS

every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> int:
    """Blocks so small that a short stream has many of them."""
    monkeypatch.setattr(generator_module, "BLOCK", 64)
    return 64


def table(kind: str, rows: int, seed: int = 0, **more: object) -> pa.Table:
    batches = generate(kind, rows, seed, **more)  # type: ignore[arg-type]
    return pa.Table.from_batches(batches, schema=KINDS[kind].schema)


def times(stream: pa.Table) -> np.ndarray:
    return stream.column(0).cast(pa.int64()).to_numpy()


def plain(stream: pa.Table) -> pa.Table:
    """Without dictionaries and zones, as other readers give it back."""
    columns = []
    for column in stream.columns:
        if pa.types.is_dictionary(column.type):
            columns.append(column.cast(pa.string()))
        elif pa.types.is_timestamp(column.type):
            columns.append(column.cast(pa.int64()))
        else:
            columns.append(column)
    return pa.table(columns, names=stream.column_names)


def same(left: pa.Table, right: pa.Table) -> bool:
    """Equal, where NaN equals NaN."""
    rows = zip(plain(left).to_pylist(), plain(right).to_pylist(), strict=True)
    return left.column_names == right.column_names and all(repr(a) == repr(b) for a, b in rows)


@every_kind
@pytest.mark.usefixtures("small_blocks")
class TestEveryKind:
    def test_seed_decides(self, kind: str) -> None:
        first = table(kind, 500, seed=3)
        assert same(first, table(kind, 500, seed=3))
        assert not same(first, table(kind, 500, seed=4))

    @pytest.mark.parametrize("batch_rows", [1, 63, 64, 65, 200, 10_000])
    def test_batches_do_not_matter(self, kind: str, batch_rows: int) -> None:
        batches = list(generate(kind, 500, seed=1, batch_rows=batch_rows))
        sizes = [batch.num_rows for batch in batches]
        assert sizes[:-1] == [batch_rows] * (len(sizes) - 1)
        assert 0 < sizes[-1] <= batch_rows
        assert same(pa.Table.from_batches(batches), table(kind, 500, seed=1))

    def test_shorter_is_beginning_of_longer(self, kind: str) -> None:
        assert same(table(kind, 100), table(kind, 500).slice(0, 100))

    def test_schema_and_time_order(self, kind: str) -> None:
        stream = table(kind, 2_000)
        assert stream.schema == KINDS[kind].schema
        assert stream.schema.field(0).type == pa.timestamp("us", tz="UTC")
        assert stream.num_rows == 2_000
        assert all(column.null_count == 0 for column in stream.columns)
        assert (np.diff(times(stream)) >= 0).all()
        stream.validate(full=True)

    def test_no_rows(self, kind: str) -> None:
        assert list(generate(kind, 0)) == []

    def test_rate_and_start(self, kind: str) -> None:
        start = datetime(1969, 12, 31, 23, tzinfo=UTC)
        stream = times(table(kind, 4_000, rate=50, start=start))
        begin = int(start.timestamp() * 1e6)
        assert stream[0] >= begin
        assert (stream[-1] - begin) / 1e6 == pytest.approx(4_000 / 50, rel=0.15)
        naive = times(table(kind, 4_000, rate=50, start=start.replace(tzinfo=None)))
        assert (naive == stream).all()


class TestKinds:
    def test_trades(self) -> None:
        stream = table("trades", BLOCK + 1)
        assert len(pc.unique(stream["symbol"])) == 500
        assert pc.min(stream["price"]).as_py() >= 0.01
        cents = stream["price"].to_numpy() * 100
        assert np.allclose(cents, np.rint(cents), atol=1e-6)
        sizes = stream["size"].to_numpy()
        assert sizes.min() == 100
        assert sizes.max() > 500 * np.median(sizes)  # a heavy tail

    def test_prices_walk_on_across_blocks(self, small_blocks: int) -> None:
        prices = table("trades", 20 * small_blocks, symbols=1)["price"].to_numpy()
        assert np.abs(np.diff(np.log(prices))).max() < 0.01
        assert len(np.unique(prices)) > 1

    def test_number_of_symbols(self) -> None:
        stream = table("trades", 5_000, symbols=3)
        assert len(pc.unique(stream["symbol"])) == 3

    def test_flows_are_seen_at_several_routers_once_each(self) -> None:
        stream = table("flows", 20_000)
        flow, router = stream["flow"].to_numpy(), stream["router"].cast(pa.string()).to_numpy()
        seen = set(zip(flow.tolist(), router.tolist(), strict=True))
        assert len(seen) == 20_000
        assert len(np.unique(router)) == 3
        sightings = np.bincount(flow)
        assert 0.6 < (sightings[sightings > 0] > 1).mean() < 0.9
        whole = plain(stream).group_by("flow").aggregate([("src", "count_distinct")])
        assert pc.max(whole["src_count_distinct"]).as_py() == 1
        assert not pc.any(pc.equal(plain(stream)["src"], plain(stream)["dst"])).as_py()
        assert pc.all(pc.greater_equal(stream["bytes"], stream["packets"])).as_py()

    @pytest.mark.parametrize("option", ["routers", "hosts"])
    def test_flows_with_only_one(self, option: str) -> None:
        column = {"routers": "router", "hosts": "src"}[option]
        assert len(pc.unique(table("flows", 1_000, **{option: 1})[column])) == 1

    def test_flow_numbers_go_on_across_blocks(self, small_blocks: int) -> None:
        stream = table("flows", 20 * small_blocks)
        sightings = stream.group_by(["flow", "router"]).aggregate([])
        assert len(sightings) == 20 * small_blocks
        first_seen = stream.group_by("flow").aggregate([("start", "min")]).sort_by("flow")
        assert len(first_seen) == first_seen["flow"][-1].as_py() + 1
        assert (np.diff(first_seen["start_min"].cast(pa.int64()).to_numpy()) >= 0).all()

    def test_sensor_faults(self) -> None:
        measures = ["temperature", "humidity", "wind"]
        for faults, low, high in [(0.0, 0, 0), (0.1, 0.08, 0.12), (1.0, 1, 1)]:
            stream = table("sensors", 20_000, faults=faults).select(measures)
            missing = np.isnan(stream.to_pandas().to_numpy()).mean()
            assert low <= missing <= high
        clean = table("sensors", 20_000, faults=0)
        assert 0 <= pc.min(clean["humidity"]).as_py() <= pc.max(clean["humidity"]).as_py() <= 100

    def test_icebergs_carry_the_probability_of_their_method(self) -> None:
        stream = plain(table("icebergs", 20_000))
        pairs = set(zip(*(stream[c].to_pylist() for c in ("method", "probability")), strict=True))
        assert pairs == {(method, probability) for method, (probability, _) in METHODS.items()}
        assert dict(pairs)["R/V"] == 0.8  # as Jin et al. have it
        assert dict(pairs)["SAT-HIGH"] == 0.3

    def test_icebergs_drift_south_and_keep_their_size(self) -> None:
        stream = plain(table("icebergs", 30_000, bergs=1, rate=0.005))  # about 70 days
        oldest = pc.equal(stream["berg"], 0)
        latitude = stream.filter(oldest)["latitude"].to_numpy()
        assert latitude[:100].mean() > latitude[-100:].mean()
        sizes = stream.group_by("berg").aggregate([("size", "count_distinct")])
        assert len(sizes) == 2  # it melts and another takes its place
        assert pc.max(sizes["size_count_distinct"]).as_py() == 1

    def test_readings_of_a_car_exclude_one_another(self, small_blocks: int) -> None:
        stream = plain(table("readings", 40 * small_blocks, sensors=5))
        probability = stream["probability"].to_numpy()
        assert probability.min() > 0 and probability.max() <= 1
        cars = stream.group_by("car").aggregate(
            [("probability", "sum"), ("sensor", "count"), ("sensor", "count_distinct")]
        )
        assert pc.max(cars["probability_sum"]).as_py() <= 1 + 1e-12
        assert cars["sensor_count"].to_pylist() == cars["sensor_count_distinct"].to_pylist()
        assert set(cars["sensor_count"].to_pylist()) == {1, 2, 3}
        assert pc.min(stream["speed"]).as_py() >= 0

    def test_sightings_are_once_a_camera(self, small_blocks: int) -> None:
        stream = plain(table("sightings", 40 * small_blocks, streams=4, xi=0.6, recent=5))
        assert len(stream.group_by(["object", "camera"]).aggregate([])) == 40 * small_blocks
        assert len(pc.unique(stream["camera"])) == 4
        objects = stream["object"].to_numpy()
        _, first = np.unique(objects, return_index=True)  # numbered as they are first seen
        assert (objects[np.sort(first)] == np.arange(len(first))).all()
        assert 0 <= pc.min(stream["value"]).as_py() < pc.max(stream["value"]).as_py() < 1

    @pytest.mark.parametrize("recent", [1, 3, 50])
    def test_sightings_are_of_something_recent(self, recent: int) -> None:
        """A camera sees something for the first time, or what is recent on another camera."""
        stream = plain(table("sightings", 5_000, xi=0.7, recent=recent))
        lately: dict[str, list[int]] = {f"camera-{i}": [] for i in (1, 2, 3)}
        newest = -1
        for thing, camera in zip(
            *(stream[c].to_pylist() for c in ("object", "camera")), strict=True
        ):
            others = [seen for name, seen in lately.items() if name != camera]
            assert thing == newest + 1 or any(thing in seen for seen in others)
            newest = max(newest, thing)
            lately[camera] = [*lately[camera][1 - recent :], thing] if recent > 1 else [thing]

    def test_overlap_of_sightings(self) -> None:
        rows = 20_000
        for xi in (0.0, 0.3, 0.5):  # with three cameras nothing keeps the share from being xi
            objects = table("sightings", rows, xi=xi)["object"].to_numpy()
            assert 1 - (objects.max() + 1) / rows == pytest.approx(xi, abs=0.02)
        for cameras in (1, 2, 3):  # at most all of them see an object
            objects = table("sightings", rows, xi=1.0, streams=cameras)["object"].to_numpy()
            assert np.bincount(objects).max() == cameras
            assert np.bincount(objects).mean() == pytest.approx(cameras, rel=0.05)

    def test_sorted_and_random_scores(self) -> None:
        rows = BLOCK + 1_000
        streams = {kind: table(kind, rows) for kind in ("random", "rising", "falling")}
        scores = {kind: stream["score"].to_numpy() for kind, stream in streams.items()}
        assert (np.diff(scores["rising"]) > 0).all()
        assert (np.diff(scores["falling"]) < 0).all()
        assert len(np.unique(scores["random"])) == rows
        assert abs(np.corrcoef(scores["random"], np.arange(rows))[0, 1]) < 0.02
        for stream in streams.values():
            assert (stream["id"].to_numpy() == np.arange(rows)).all()


class TestDraw:
    @pytest.mark.parametrize("count", [1, 2, 5_000, 70_000])
    def test_every_code_can_be_drawn(self, count: int) -> None:
        drawn = Popularity(zipf(count)).draw(np.random.default_rng(0), 200 * count)
        assert drawn.max() == count - 1
        assert len(np.unique(drawn)) > 0.95 * count

    def test_letters_are_distinct(self) -> None:
        assert len(set(letters(20_000))) == 20_000

    def test_walks_equal_one_walk_after_another(self) -> None:
        codes = np.random.default_rng(1).integers(0, 5, 300).astype(np.uint16)
        level = np.arange(5.0)
        values = walk(np.random.default_rng(2), codes, level, step=1.0)
        steps = iter(np.random.default_rng(2).standard_normal(300))
        for code in range(5):
            expected = code + np.cumsum([next(steps) for _ in range((codes == code).sum())])
            assert values[codes == code] == pytest.approx(expected)
            assert level[code] == pytest.approx(expected[-1])


class TestFiles:
    @every_kind
    @pytest.mark.parametrize("suffix", [".parquet", ".csv", ".jsonl", ".ndjson"])
    def test_read_back(self, kind: str, suffix: str, tmp_path: Path) -> None:
        path = tmp_path / f"stream{suffix}"
        write(kind, 300, path, seed=5)
        expected = plain(table(kind, 300, seed=5))
        found = plain(duckdb.sql(f"SELECT * FROM '{path}'").to_arrow_table())
        assert found.column_names == expected.column_names
        for name in expected.column_names:
            values = expected[name].to_pylist()
            if suffix in (".jsonl", ".ndjson"):
                values = [None if repr(value) == "nan" else value for value in values]
            assert repr(found[name].to_pylist()) == repr(values), name
        assert [entry.name for entry in tmp_path.iterdir()] == [path.name]

    def test_json_lines_have_null_for_nan(self, tmp_path: Path) -> None:
        write("sensors", 2, tmp_path / "faulty.jsonl", faults=1.0)
        assert '"temperature":null' in (tmp_path / "faulty.jsonl").read_text()

    @pytest.mark.parametrize("rows", [0, 2, 1_000, BLOCK + 7])
    def test_folder_of_parts(self, rows: int, tmp_path: Path) -> None:
        write("trades", rows, tmp_path / "new" / "trades", files=3)
        parts = sorted((tmp_path / "new" / "trades").iterdir())
        assert [part.name for part in parts] == [f"part-0000{i}.parquet" for i in range(3)]
        sizes = [pq.read_metadata(part).num_rows for part in parts]
        assert sum(sizes) == rows
        assert max(sizes) - min(sizes) <= 1
        found = pa.concat_tables(pq.read_table(part) for part in parts)
        assert plain(found).equals(plain(table("trades", rows)))

    @pytest.mark.parametrize("suffix", [".parquet", ".csv"])
    def test_empty_file_has_the_columns(self, suffix: str, tmp_path: Path) -> None:
        path = tmp_path / f"none{suffix}"
        write("trades", 0, path)
        relation = duckdb.sql(f"SELECT * FROM '{path}'")
        assert relation.columns == KINDS["trades"].schema.names
        assert len(relation.fetchall()) == 0

    def test_progress_adds_up(self, tmp_path: Path) -> None:
        steps: list[int] = []
        write("random", BLOCK + 5, tmp_path / "one.parquet", progress=steps.append)
        assert steps == [BLOCK, 5]
        steps.clear()
        write("random", 10, tmp_path / "parts", files=2, progress=steps.append)
        assert steps == [5, 5]

    def test_replaces_a_file_whole_or_not_at_all(self, tmp_path: Path) -> None:
        path = tmp_path / "stream.csv"
        write("random", 3, path)
        before = path.read_bytes()

        def fail(rows: int) -> None:
            raise RuntimeError("interrupted")

        with pytest.raises(RuntimeError, match="interrupted"):
            write("random", 9, path, progress=fail)
        with pytest.raises(RuntimeError, match="interrupted"):
            write("random", 9, tmp_path / "parts", progress=fail)
        assert [entry.name for entry in tmp_path.iterdir()] == ["stream.csv"]
        assert path.read_bytes() == before
        write("random", 9, path)
        assert len(path.read_text().splitlines()) == 10


def mistakes() -> Iterator[object]:
    trades = {"kind": "trades", "rows": 10}
    for wrong, message in [
        ({"kind": "stocks"}, "'stocks'; choose one of: trades, flows, sensors, icebergs, readings"),
        ({"rows": -1}, "rows is -1; it must be a whole number of at least 0"),
        ({"rows": 1.5}, "rows is 1.5; it must be a whole number"),
        ({"seed": -3}, "seed is -3; it must be a whole number of at least 0"),
        ({"batch_rows": 0}, "batch_rows is 0; it must be a whole number of at least 1"),
        ({"rate": 0}, "rate is 0; it must be between"),
        ({"rate": float("nan")}, "rate is nan; it must be between"),
        ({"symbols": 0}, "symbols is 0; it must be a whole number between 1 and 10,000,000"),
        ({"symbols": 2.5}, "symbols is 2.5; it must be a whole number"),
        ({"faults": 0.1}, "trades has no option 'faults'; its options: symbols"),
        ({"kind": "random", "symbols": 1}, "random has no option 'symbols'; its options: none"),
        ({"kind": "sensors", "faults": 1.5}, "faults is 1.5; it must be a number between 0 and 1"),
        ({"kind": "sightings", "xi": -0.1}, "xi is -0.1; it must be a number between 0 and 1"),
    ]:
        yield pytest.param({**trades, **wrong}, message, id=message[:30])


class TestMistakes:
    @pytest.mark.parametrize(("arguments", "message"), [*mistakes()])
    def test_generate(self, arguments: dict[str, object], message: str) -> None:
        with pytest.raises(SourceError) as raised:
            generate(**arguments)  # type: ignore[arg-type]
        assert message in str(raised.value)

    def test_unknown_extension(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match=r"'\.xlsx'; allowed are \.parquet, \.csv, \.jsonl"):
            write("random", 3, tmp_path / "stream.xlsx")
        assert list(tmp_path.iterdir()) == []

    def test_several_files_need_a_folder(self, tmp_path: Path) -> None:
        with pytest.raises(SourceError, match="name a folder: 'stream'"):
            write("random", 3, tmp_path / "stream.parquet", files=2)
        with pytest.raises(SourceError, match="files is 0"):
            write("random", 3, tmp_path / "stream", files=0)

    def test_what_exists_is_not_overwritten_by_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "stream").mkdir()
        write("random", 3, tmp_path / "stream")
        with pytest.raises(SourceError, match="exists and is not empty"):
            write("random", 3, tmp_path / "stream")
        (tmp_path / "folder.csv").mkdir()
        with pytest.raises(SourceError, match="is a folder"):
            write("random", 3, tmp_path / "folder.csv")

    def test_place_that_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        with pytest.raises(SourceError, match="cannot write .*out.csv"):
            write("random", 3, tmp_path / "file" / "out.csv")
