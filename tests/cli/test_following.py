"""``crestline run --follow`` in this process: growing files, folders, checkpoints."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import crestline as library
from cli.command import BEST, SCORES, TOP, crestline, environment, process, write_scores
from crestline.core.errors import RecordError, SourceError
from crestline.local.follow import Follow
from crestline.runtime.queries import named_queries
from crestline.runtime.rounds import Checkpoint, Round

EACH = "SELECT TOP 2 id, x FROM s [ROWS 3 SLIDE 1] ORDER BY x DESC"
NOW = ("--follow", "--trigger", "available-now")


class Followed:
    """A run over one path; ``more`` takes what is new and returns its rows."""

    def __init__(self, query: str, path: Path, **how: object) -> None:
        self.rounds: list[Round] = []
        paths = {"s": str(path)}
        self.run = Follow(named_queries(query), paths, self.rounds.append, "available-now", **how)  # type: ignore[arg-type]
        self.run.start()

    def more(self) -> list[dict[str, object]]:
        before = len(self.rounds)
        while not self.run.wait(5):
            pass
        return [row for round in self.rounds[before:] for row in round.rows["query"].to_pylist()]

    def rejects(self) -> list[dict[str, object]]:
        return [row for round in self.rounds for row in round.rejects.to_pylist()]


def append(file: Path, text: str) -> None:
    with file.open("a") as opened:
        opened.write(text)


def test_appended_lines_give_the_rows_of_the_whole_file(tmp_path: Path) -> None:
    file = write_scores(tmp_path / "s.jsonl", SCORES[:2])
    followed = Followed(EACH, file)
    rows = followed.more()
    assert followed.more() == []
    for name, x in SCORES[2:]:
        append(file, json.dumps({"id": name, "x": x}))
        assert followed.more() == [] and "has no line end yet" in followed.run.notes[-1]
        append(file, "\n")
        rows += followed.more()
    assert rows == library.run(EACH, {"s": file}).to_arrow().to_pylist()


def test_types_stay_what_they_were_or_widen(tmp_path: Path) -> None:
    """A portion may be one line, from which other types would be inferred."""
    file = tmp_path / "s.csv"
    file.write_text("id,x\nab,1\n")
    followed = Followed(EACH, file)
    followed.more()
    for line in ("007,3", "2024-01-01,2.5", "true,inf", "last,1e400"):
        append(file, line + "\n")
        last = followed.more()
    ids = [row["id"] for round in followed.rounds for row in round.rows["query"].to_pylist()]
    assert {"ab", "007", "2024-01-01", "true"} <= set(ids)
    assert last[0]["x"] == float("inf")
    assert any("x is double from now on" in note for note in followed.run.notes)


def test_bad_lines_are_set_aside_with_their_rows(tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    file.write_text("id,x\na,1\nb,2\n")
    followed = Followed(EACH, file)
    followed.more()
    append(file, "c,oh\nd,4\n")
    followed.more()
    append(file, "e,5,6\nf,\n")
    followed.more()
    assert {(row["row"], row["column"], row["reason"]) for row in followed.rejects()} >= {
        (2, "x", "not a number"), (4, None, "not a well-formed line"),
    }  # fmt: skip
    assert followed.rounds[-1].metrics["query"].rejected == {
        "not a number": 1, "not a well-formed line": 1, "score is NULL": 1,
    }  # fmt: skip


def test_a_strict_run_ends_at_the_first_bad_line(tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    file.write_text("id,x\na,1\nb,2\n")
    followed = Followed(EACH, file, strict=True)
    followed.more()
    append(file, "c,oh\n")
    with pytest.raises(RecordError, match="not a number"):
        followed.more()


def test_a_line_end_inside_quotes_ends_no_line(tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    file.write_text("id,x\na,1\n")
    followed = Followed(EACH, file)
    followed.more()
    append(file, '"b\n')
    assert followed.more() == []
    append(file, 'c, ""d""",7\n')
    assert followed.more()[0]["id"] == 'b\nc, "d"'


def test_a_header_waits_for_its_first_record(tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    file.write_text("id;x\n")
    followed = Followed(EACH, file)
    assert followed.more() == []
    append(file, "a;1\nb;2\n")
    assert [row["id"] for row in followed.more()] == ["a", "b", "a"]


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda file: file.write_text("id,x\n"), "has shrunk"),
        (lambda file: (file.rename(f"{file}.1"), file.write_text("id,x\nz,9\n" * 9)), "replaced"),
        (lambda file: file.unlink(), "cannot go on reading"),
    ],
)
def test_a_file_that_does_not_just_grow_is_an_error(
    tmp_path: Path, change: Callable[[Path], object], told: str
) -> None:
    file = tmp_path / "s.csv"
    file.write_text("id,x\na,1\nb,2\n")
    followed = Followed(EACH, file)
    followed.more()
    change(file)
    with pytest.raises(SourceError, match=told):
        followed.more()


def test_a_folder_is_followed_file_by_file(tmp_path: Path) -> None:
    rows = [{"id": name, "x": x} for name, x in SCORES]
    pq.write_table(pa.Table.from_pylist(rows[:3]), tmp_path / "b.parquet")
    followed = Followed(TOP, tmp_path)
    found = followed.more()
    pq.write_table(pa.Table.from_pylist(rows[3:]), tmp_path / "a.parquet")
    (tmp_path / ".hidden.parquet").write_text("not yet complete")
    found += followed.more()
    assert [row["id"] for row in found] == BEST


def test_several_inputs_are_followed_together(tmp_path: Path) -> None:
    query = (
        "SELECT TOP 1 id FROM north, south [ROWS 4 ON ts]"
        " COMBINE SUM(v) ACROSS place OBJECT id VALUES BETWEEN 0 AND 10"
    )
    paths = {}
    for name, v in (("north", 4), ("south", 5)):
        paths[name] = str(tmp_path / f"{name}.jsonl")
        Path(paths[name]).write_text(
            json.dumps({"ts": f"2024-01-01T00:00:0{v}", "id": "a", "v": v}) + "\n"
        )
    rounds: list[Round] = []
    run = Follow(named_queries(query), paths, rounds.append, "available-now")
    run.start()
    while not run.wait(5):
        pass
    assert [r.rows["query"].column("score").to_pylist() for r in rounds] == [[], [4.0]]


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_a_run_goes_on_from_its_checkpoint(tmp_path: Path, ending: str) -> None:
    """Killed after every round, before or after it was remembered: each row is there once."""
    file = tmp_path / f"s.{ending}"
    queries = named_queries(EACH)
    lines = [f"{name},{x}" if ending == "csv" else json.dumps({"id": name, "x": x})
             for name, x in SCORES]  # fmt: skip
    file.write_text(("id,x\n" if ending == "csv" else "") + f"{lines[0]}\n{lines[1]}\n")
    parts: dict[int, list[dict[str, object]]] = {}

    def sink(round: Round) -> None:
        parts[round.number] = round.rows["query"].to_pylist()
        if round.number % 2 and round.number not in killed:
            killed.add(round.number)
            raise KeyboardInterrupt

    killed: set[int] = set()
    for line in [*lines[2:], None]:
        run = Follow(
            queries, {"s": str(file)}, sink, "available-now",
            checkpoint=Checkpoint.at(tmp_path / "checkpoint", queries),
        )  # fmt: skip
        run.start()
        try:
            while not run.wait(5):
                pass
        except KeyboardInterrupt:
            pass
        run.stop()
        if line is not None:
            append(file, line + "\n")
    assert killed
    rows = [row for number in sorted(parts) for row in parts[number]]
    assert rows == library.run(EACH, {"s": file}).to_arrow().to_pylist()


# -- the command ----------------------------------------------------------------------------------


def test_the_command_follows_a_single_file_here_and_says_so(tmp_path: Path) -> None:
    """Whatever else lies in its folder."""
    file = write_scores(tmp_path / "s.jsonl")
    (tmp_path / "other.jsonl").write_text("no json\n")
    (tmp_path / "other.csv").write_text("a,b\n")
    result = crestline("run", TOP, "-s", f"s={file}", *NOW)
    assert [line.split("\t")[4] for line in result.stdout.splitlines()[1:]] == BEST
    assert "local, in this process; where a file is followed line by line" in result.stderr
    told = json.loads(crestline("run", TOP, "-s", f"s={file}", *NOW, "--json").stderr)
    assert (told["engine"], told["rounds"]) == ("local", 1) and "line by line" in told[
        "engine_chosen"
    ]


def test_parts_and_rejects_of_a_followed_file_go_on(tmp_path: Path) -> None:
    file = write_scores(tmp_path / "s.jsonl", SCORES[:3])
    words = ("run", TOP, "-s", f"s={file}", *NOW, "--checkpoint", tmp_path / "state",
             "--out", tmp_path / "top.jsonl", "--rejects", tmp_path / "bad.jsonl")  # fmt: skip
    crestline(*words)
    append(file, '{"id": "z", "x": null}\n')
    append(file, "".join(json.dumps({"id": n, "x": x}) + "\n" for n, x in SCORES[3:]))
    assert "since the checkpoint began" in crestline(*words).stderr
    assert "Nothing new came in" in crestline(*words).stderr
    parts = sorted((tmp_path / "top.jsonl").glob("part-*"))
    rows = [json.loads(line) for part in parts for line in part.read_text().splitlines()]
    assert len(parts) == 2 and [row["id"] for row in rows] == BEST
    (bad,) = (tmp_path / "bad.jsonl").glob("part-*")
    assert json.loads(bad.read_text())["reason"] == "score is NULL"
    other = crestline(*words, "--engine", "spark", code=3).stderr
    assert "was made with --engine local" in other


def test_an_interrupt_ends_a_followed_file_well(tmp_path: Path) -> None:
    file = write_scores(tmp_path / "s.jsonl", SCORES[:3])
    run = subprocess.Popen(
        process("run", TOP, "-s", f"s={file}", "--follow", "--trigger", "50 ms"),
        env=environment(PYTHONUNBUFFERED="1"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert run.stdout is not None
    lines = [run.stdout.readline() for _ in range(3)]
    append(file, "".join(json.dumps({"id": n, "x": x}) + "\n" for n, x in SCORES[3:]))
    lines += [run.stdout.readline() for _ in range(2)]
    os.kill(run.pid, signal.SIGINT)
    time.sleep(0.1)
    _, told = run.communicate(timeout=30)
    assert [line.split("\t")[4] for line in lines[1:]] == BEST
    assert run.returncode == 0 and "rounds" in told
