"""Object stores and web servers give the rows that the same files give on disk, or one sentence."""

from __future__ import annotations

import bz2
import gzip
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.fs
import pyarrow.parquet as pq
import pytest

import crestline
from cli.command import TOP, run_here
from cli.command import crestline as command
from crestline.core.errors import MissingExtraError, SourceError
from crestline.sources import find_files, stores
from crestline.sources.growing import grows_by_lines
from crestline.sources.reaching import connect
from sources.conftest import Bucket, Site

QUERY = "SELECT TOP 3 id, x FROM s [ROWS 40 SLIDE 20] ORDER BY x DESC"
BY_DAY = "SELECT TOP 1 id, x, day FROM s [ROWS 40 SLIDE 20] PARTITION BY day ORDER BY x DESC"


def records(seed: int, rows: int = 100) -> pa.Table:
    drawn = np.random.default_rng(seed)
    names = pa.array([f"{seed}-{row}" for row in range(rows)])
    return pa.table({"id": names, "x": drawn.random(rows), "other": drawn.random(rows)})


def parquet(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(table, sink, row_group_size=30)
    return sink.getvalue().to_pybytes()


def csv(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    pa.csv.write_csv(table, sink)
    return sink.getvalue().to_pybytes()


def lines(table: pa.Table) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in table.to_pylist()).encode()


#: Files by name, and how the bytes of each are made.
FORMATS: dict[str, Callable[[pa.Table], bytes]] = {
    ".parquet": parquet,
    ".csv": csv,
    ".jsonl": lines,
    ".csv.gz": lambda table: gzip.compress(csv(table)),
    ".jsonl.bz2": lambda table: bz2.compress(lines(table)),
    ".json": lambda table: json.dumps(table.to_pylist()).encode(),
}


def write_folder(folder: Path, ending: str) -> None:
    """Three files, of which two are in folders that name a day, and a hidden one."""
    names = ["day=1/a b", "day=2/c%20d", "day=2/deep/e", "day=1/_hidden"]
    for seed, name in enumerate(names):
        file = folder / f"{name}{ending}"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(FORMATS[ending](records(seed)))


def rows(data: Any, query: str = QUERY, **how: Any) -> list[dict[str, Any]]:
    return crestline.run(query, data, **how).to_arrow().to_pylist()


def message(data: Any) -> str:
    """What is said of a stream that cannot be read: one sentence, soon."""
    began = time.monotonic()
    with pytest.raises(SourceError) as error:
        rows(data)
    said = str(error.value)
    assert time.monotonic() - began < 20
    assert "\n" not in said and "<" not in said and "Request ID" not in said
    assert "hunter2" not in said
    return said


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# -- the rows are those from disk -----------------------------------------------------------------


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("path", ["day=1/a b{}", "day=2", "day=*/*{}", "**/*{}", ""])
def test_objects_give_the_rows_of_files(
    path: str, ending: str, bucket: Bucket, tmp_path: Path
) -> None:
    write_folder(tmp_path, ending)
    bucket.put_folder(tmp_path)
    named = path.format(ending)
    on_disk = rows(tmp_path / named, BY_DAY)
    assert on_disk and rows(bucket.at(named), BY_DAY) == on_disk
    files = [file.removeprefix(f"{tmp_path}/") for file in find_files(str(tmp_path / named), "s")]
    assert find_files(bucket.at(named), "s") == [bucket.at(file) for file in files]


def test_globs_leave_out_what_begins_with_a_dot(bucket: Bucket, tmp_path: Path) -> None:
    for name in ("a.csv", ".tmp/b.csv", "c/.d.csv", "c/e.csv", "c/f.txt", "c/.g/h.csv"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(b"id,x\n1,2\n")
    bucket.put_folder(tmp_path)
    for pattern in ("*.csv", "*/*.csv", "**/*.csv", "c/**", ".tmp/*.csv", "[ab].csv", "?/e.csv"):
        try:
            wanted = find_files(str(tmp_path / pattern), "s")
        except SourceError as error:
            with pytest.raises(SourceError) as other:
                find_files(bucket.at(pattern), "s")
            assert str(other.value) == str(error).replace(f"{tmp_path}/", bucket.at(""))
        else:
            names = [bucket.at(file.removeprefix(f"{tmp_path}/")) for file in wanted]
            assert find_files(bucket.at(pattern), "s") == names


def test_a_list_may_mix_this_disk_and_a_store(bucket: Bucket, tmp_path: Path) -> None:
    near, far = tmp_path / "near.parquet", tmp_path / "far.parquet"
    near.write_bytes(parquet(records(1)))
    far.write_bytes(parquet(records(2)))
    mixed = [near.as_uri(), bucket.put("far.parquet", far.read_bytes())]
    assert rows(mixed) == rows([near, far])


def test_another_encoding_and_empty_objects(bucket: Bucket, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes("id,x\nMüller,2\nÖhm,3\n".encode("latin-1"))
    (tmp_path / "b.csv").write_bytes(b"")
    bucket.put_folder(tmp_path)
    top = "SELECT TOP 1 id FROM s [ROWS 2 SLIDE 2] ORDER BY x DESC"
    far = rows(bucket.at("*.csv"), top, encoding="latin-1")
    assert far == rows(tmp_path, top, encoding="latin-1")
    assert [row["id"] for row in far] == ["Öhm"]
    assert rows(bucket.at("b.csv"), top) == rows(tmp_path / "b.csv", top) == []


def test_copies_are_removed(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert rows(bucket.put("a.csv", csv(records(1))))
    assert not list(tmp_path.iterdir())


def test_any_process_opens_a_name(bucket: Bucket) -> None:
    name = bucket.put("day=1/a.parquet", parquet(records(1)))
    script = (
        "import sys, pyarrow.parquet as pq; from crestline.sources import stores;"
        "file = pq.ParquetFile(stores.open_file(sys.argv[1]));"
        "print(file.metadata.num_rows, file.read_row_group(3).num_rows, stores.size(sys.argv[1]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, name], capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["100", "10", str(len(parquet(records(1))))]


def test_local_paths_load_nothing_of_stores(tmp_path: Path) -> None:
    (tmp_path / "a.parquet").write_bytes(parquet(records(1)))
    (tmp_path / "a.csv").write_bytes(csv(records(1)))
    script = (
        "import sys, crestline\n"
        f"for file in sys.argv[1:]: crestline.run({QUERY!r}, file)\n"
        "print([name for name in sys.modules if name.split('.')[0] in ('fsspec', 'aiohttp') or"
        " name in ('crestline.sources.reaching', 'crestline.sources.web')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "a.parquet", tmp_path / "a.csv"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout == "[]\n"


# -- web servers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("ranges", [True, False])
@pytest.mark.parametrize("ending", FORMATS)
def test_web_addresses_give_the_rows_of_files(ending: str, ranges: bool, site: Site) -> None:
    site.ranges = ranges
    write_folder(site.folder, ending)
    names = [f"day=1/a b{ending}", f"day=2/deep/e{ending}"]
    on_disk = rows([site.folder / name for name in names], BY_DAY)
    assert rows([f"{site.address}/{name}" for name in names], BY_DAY) == on_disk


def test_only_the_needed_columns_of_parquet_are_sent(site: Site) -> None:
    file = site.folder / "wide.parquet"
    wide = {f"c{column}": np.random.default_rng(column).random(20_000) for column in range(40)}
    pq.write_table(pa.table({**wide, "id": range(20_000)}), file, row_group_size=5_000)
    query = "SELECT TOP 3 id FROM s [ROWS 4000 SLIDE 4000] ORDER BY c7 DESC"
    assert rows(f"{site.address}/wide.parquet", query) == rows(file, query)
    assert sum(site.sent) < file.stat().st_size / 5


def test_a_server_of_whole_files_sends_a_parquet_file_once(site: Site) -> None:
    site.ranges = False
    file = site.folder / "a.parquet"
    pq.write_table(records(1, 600_000), file, row_group_size=100_000)
    query = "SELECT TOP 3 id FROM s [ROWS 100000 SLIDE 100000] ORDER BY x DESC"
    assert rows(f"{site.address}/a.parquet", query) == rows(file, query)
    # The request for a range is answered by the beginning of the file; then all of it comes.
    assert len(site.sent) <= 2


def test_what_web_servers_refuse(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    (site.folder / "a.csv").write_bytes(csv(records(1)))
    address = f"{site.address}/a.csv"
    host = site.address.removeprefix("http://")
    assert message(f"{site.address}/b.csv").endswith(f"json lines file at {site.address}/b.csv")
    site.forbids = True
    assert message(address) == (
        f"{address} cannot be reached: {host} denied access: put the user and the password of the"
        " host into ~/.netrc"
    )
    (site.folder / "netrc").write_text("machine 127.0.0.1 login me password hunter2")
    monkeypatch.setenv("NETRC", str(site.folder / "netrc"))
    assert rows(address) == rows(site.folder / "a.csv")
    gone = f"http://127.0.0.1:{closed_port()}/a.csv"
    assert message(gone).startswith(f"{gone} cannot be reached: no answer from 127.0.0.1:")
    for odd in (f"{address}?download=1", f"{site.address}/*.csv"):
        assert "of which only files are read" in message(odd)
    assert "must not hold credentials" in message(f"http://me:hunter2@{host}/a.csv")
    site.forbids = False
    assert "cannot tell what" in message(f"{site.address}/")
    monkeypatch.setitem(sys.modules, "fsspec", None)
    stores._store.cache_clear()
    with pytest.raises(MissingExtraError, match=r"fsspec.*pip install 'crestline\[stores\]'"):
        rows(address)


def test_a_silent_web_server_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("crestline.sources.web._READ_SECONDS", 0.2)
    stores._store.cache_clear()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}/a.csv"
        assert "no answer from 127.0.0.1" in message(address)


def test_a_silent_store_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stores, "_PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{silent.getsockname()[1]}")
        said = message("gs://anonymous@bucket/a.csv")
    assert "no answer from Google Cloud Storage (nothing came within 0.5 seconds)" in said


# -- one sentence ---------------------------------------------------------------------------------


def test_what_is_not_in_a_store(bucket: Bucket) -> None:
    bucket.put("day/readme.txt", b"hello")
    kinds = "parquet, csv or json lines file"
    for key in ("a.csv", "day", "day/*.csv", "night/**/*.csv"):
        assert message(bucket.at(key)) == f"stream 's': there is no {kinds} at {bucket.at(key)}"
    assert "cannot tell what" in message(bucket.at("day/readme.txt"))
    for key in ("a.csv", "day/*.csv", ""):
        missing = f"s3://not-{bucket.name}/{key}"
        assert message(missing) == (
            f"{missing} cannot be reached: there is no bucket not-{bucket.name}: check its name"
        )
    assert message(bucket.put("a.parquet", b"PAR1 nonsense")).startswith(
        f"stream 's': {bucket.at('a.parquet')} is not a parquet file"
    )


def test_a_closed_port(bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    assert rows(bucket.put("a.csv", csv(records(1))))
    endpoint = f"http://127.0.0.1:{closed_port()}"
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", endpoint)  # a new setting counts at once
    assert message(bucket.at("a.csv")) == (
        f"{bucket.at('a.csv')} cannot be reached: no answer from {endpoint} (Could not connect to"
        " server): check the network, AWS_ENDPOINT_URL and AWS_REGION"
    )
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", "http://me:hunter2@127.0.0.1:1")
    assert "AWS_ENDPOINT_URL_S3 must not hold credentials" in message(bucket.at("a.csv"))


def test_wrong_credentials(bucket: Bucket) -> None:
    address = bucket.put("a.csv", csv(records(1)))
    bucket.check_credentials(True)
    try:
        assert message(address) == (
            f"{address} cannot be reached: {bucket.endpoint} denied access: set AWS_ACCESS_KEY_ID"
            " and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE, to an account that may read it"
        )
    finally:
        bucket.check_credentials(False)


def test_credentials_come_from_the_environment(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = bucket.put("a.csv", csv(records(1)))
    user = bucket.user()
    file = tmp_path / "credentials"
    file.write_text("\n".join(["[mine]", *(f"{name.lower()} = {user[name]}" for name in user)]))
    bucket.check_credentials(True)
    try:
        with monkeypatch.context() as keys:
            for name, value in user.items():
                keys.setenv(name, value)
            assert rows(address)
        assert "denied access" in message(address)
        for name in user:
            monkeypatch.delenv(name)
        monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
        monkeypatch.setenv("AWS_PROFILE", "mine")
        assert rows(address)
    finally:
        bucket.check_credentials(False)


@pytest.mark.parametrize(
    "address",
    ["s3://key:hunter2@bucket/a.csv", "s3://key:sec/hunter2@bucket/a.csv", "s3://key@bucket/a",
     "gs://key:hunter2@bucket/a.csv", "abfs://c:hunter2@account.dfs.core.windows.net/a.csv",
     "hdfs://me:hunter2@host:8020/a.csv", "https://me:hunter2@host/a.csv", "s3://bucket/a.csv?secret_key=hunter2",
     "https://host/a.csv?X-Amz-Signature=hunter2", "S3://k:hunter2@b/*.csv"],
)  # fmt: skip
def test_credentials_in_an_address_are_refused(address: str) -> None:
    assert "must not hold credentials" in message(address)
    result = run_here(TOP, "-s", f"s={address}", "--follow", code=3)
    assert "must not hold credentials" in result.stderr and "hunter2" not in result.output


def test_unknown_schemes() -> None:
    assert message("ftp://host/a.csv").startswith("ftp:// is not read: give a path on this disk or")
    assert "must name a bucket or host" in message("s3:///a.csv")
    assert "a Path drops one of its slashes" in message(Path("s3://bucket/a.csv"))
    assert "is on another machine" in message("file://host/a.csv")


@pytest.mark.parametrize(
    ("scheme", "authority", "kind", "root"),
    [
        ("gs", "bucket", "GcsFileSystem", "bucket/"),
        ("gcs", "anonymous@bucket", "GcsFileSystem", "bucket/"),
        ("abfs", "box@account.dfs.core.windows.net", "AzureFileSystem", "box/"),
        ("abfss", "box", "AzureFileSystem", "box/"),
        ("abfs", "account.dfs.core.windows.net", "AzureFileSystem", ""),
        ("s3a", "bucket", "S3FileSystem", "bucket/"),
    ],
)
def test_which_file_system_a_scheme_means(
    scheme: str, authority: str, kind: str, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT", "account")
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    files, begins = connect(scheme, authority)
    assert (type(files), begins) == (getattr(pyarrow.fs, kind), root)


def test_stores_that_cannot_be_reached_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{closed_port()}")
    monkeypatch.setattr("crestline.sources.reaching._RETRY_SECONDS", 0.1)
    said = message("gs://anonymous@bucket/a.csv")
    assert "cannot be reached: no answer from Google Cloud Storage" in said
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT", raising=False)
    assert "names no account: set AZURE_STORAGE_ACCOUNT" in message("abfs://box/a.csv")
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert "Hadoop's client cannot be loaded" in message("hdfs://namenode:8020/day/*.csv")


# -- following ------------------------------------------------------------------------------------


def taken(folder: Path) -> list[str]:
    parts = sorted(folder.glob("*.jsonl"))
    return [json.loads(line)["id"] for part in parts for line in part.read_text().splitlines()]


@pytest.mark.parametrize("ending", [".jsonl", ".csv.gz", ".parquet"])
def test_each_object_of_a_followed_folder_is_read_once(
    ending: str, bucket: Bucket, tmp_path: Path
) -> None:
    def put(name: str, *scores: tuple[str, float]) -> None:
        ids, numbers = zip(*scores, strict=True)
        table = pa.table({"id": ids, "x": numbers})
        bucket.put(f"in/{name}{ending}", FORMATS[ending](table))

    top = "SELECT TOP 1 id FROM s [ROWS 2 SLIDE 2] ORDER BY x DESC"
    run = (top, "-s", f"s={bucket.at('in')}", "--follow", "--trigger", "available-now",
           "--checkpoint", tmp_path / "checkpoint", "--out", tmp_path / "out.jsonl")  # fmt: skip
    put("z", ("a", 1), ("b", 2))
    bucket.put("in/empty.jsonl", b"")
    run_here(*run)
    assert taken(tmp_path / "out.jsonl") == ["b"]
    time.sleep(1.1)  # the server tells times in seconds
    put("y", ("c", 4), ("d", 3))
    time.sleep(1.1)
    put("x", ("e", 5), ("f", 6))
    run_here(*run)
    assert taken(tmp_path / "out.jsonl") == ["b", "c", "f"]
    run_here(*run)
    assert taken(tmp_path / "out.jsonl") == ["b", "c", "f"]


def test_a_run_that_follows_waits_for_objects_but_not_for_stores(
    bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    follow = (TOP, "--follow", "-s")
    said = run_here(*follow, f"s={bucket.at('in')}", "--trigger", "available-now", code=3).stderr
    assert "there is no parquet" in said
    said = run_here(*follow, f"s=s3://not-{bucket.name}/in", code=3).stderr
    assert "there is no bucket" in said and "waiting" not in said


def test_single_objects_do_not_grow(bucket: Bucket, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"")
    assert grows_by_lines((tmp_path / "a.csv").as_uri())
    assert not grows_by_lines(bucket.at("a.csv")) and not grows_by_lines("https://host/a.csv")


# -- the command line -----------------------------------------------------------------------------


def test_addresses_are_no_paths(
    bucket: Bucket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    address = bucket.put("in/a.csv", b"id,x\na,1\nb,2\nc,0\n")
    run_here(TOP, "-s", f"s={address}", "--out", "top.jsonl")
    assert taken(tmp_path) == ["b", "a"]
    for option in ("--out", "--rejects", "--checkpoint"):
        said = run_here(TOP, "-s", f"s={address}", "--follow", option, bucket.at("out"), code=2)
        assert f"{option} writes on this disk, not to s3://" in said.stderr
    command("generate", "trades", "--rows", 10, "--out", bucket.at("out.csv"), code=2)
    own = tmp_path / "top.jsonl"
    said = run_here(TOP, "-s", f"s={own.as_uri()}", "--out", own, code=2).stderr
    assert "is part of the stream 's'" in said
    said = run_here(TOP, "-s", f"s={tmp_path.as_uri()}", "--out", "new.jsonl", code=2).stderr
    assert "would become part of the stream 's'" in said
    assert os.listdir(tmp_path) == ["top.jsonl"]


@pytest.mark.parametrize("opening", [1, 2])
def test_a_failure_in_the_middle_is_one_sentence(
    opening: int, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = bucket.put("a.parquet", parquet(records(1)))
    opened = stores.open_file
    openings = []

    def vanishing(name: str) -> pa.NativeFile:
        openings.append(opened(name))
        if len(openings) == opening:
            bucket.remove("a.parquet")
        return openings[-1]

    monkeypatch.setattr(stores, "open_file", vanishing)
    said = message(address)
    assert said.startswith(f"{address} cannot be read: {bucket.endpoint} says:"), said
    assert len(openings) == opening
