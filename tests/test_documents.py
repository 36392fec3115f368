"""The documents tell the truth: what they name exists, what they show runs, and prints just that.

- `code spans`: files and folders, make targets, commands and options of crestline, names of Python.
- ```sql blocks run over generated streams that are called after their kinds. `<!-- error -->` above
  one: it must not parse.
- ```python and ```sh blocks of a document run in their order in one folder; of ```sh the short
  commands of crestline, the others are looked up.
- A ```text block right below one of those holds what it prints (of ```sh only what depends on no
  generated stream). There are no blocks of other languages.
- `<!-- not run -->` above a ```python or ```sh block, for what takes Spark, a cluster or a long
  time: Python must compile, commands are looked up.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import crestline
from crestline import planner
from crestline.cli import app
from crestline.language import query as language
from crestline.language.functions import FUNCTIONS
from crestline.streams import KINDS, generate
from documents import (
    DOCUMENTS,
    NOT_RUN,
    OTHERS,
    ROOT,
    RUN,
    SAME,
    Block,
    blocks,
    commands,
    make_targets,
    options,
    problems,
)

DOCUMENTS += sorted((ROOT / "docs").rglob("*.md"))

DOCUMENTS += sorted((ROOT / "papers").glob("*/README.md")) + [ROOT / "examples" / "README.md"]


@cache
def streams() -> dict[str, pa.Table]:
    return {kind: pa.Table.from_batches(generate(kind, 2_000, seed=1)) for kind in KINDS}


def check_sql(block: Block) -> None:
    if block.marker == "error":
        with pytest.raises(crestline.QueryError) as caught:
            crestline.parse_all(block.text)
        assert block.printed in (None, f"{caught.value}\n")
        return
    assert not block.marker, f"what does {block.marker!r} mean?"
    results = crestline.run(block.text, streams())
    assert all(metrics.result_rows for metrics in results.by_query.values()), "a query without rows"


def run_python(block: Block, names: dict[str, Any]) -> None:
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block.text, f"block at line {block.line}", "exec"), names)
    if block.printed is not None:
        assert printed.getvalue() == block.printed


def run_shell(block: Block) -> None:
    for words in commands(block.text):
        if words[0] == "crestline" and words[1] in RUN:
            result = CliRunner().invoke(app, words[1:])
            assert result.exit_code == 0, result.output
            if block.printed is not None and words[1] in SAME:
                assert result.stdout == block.printed


def run_block(block: Block, names: dict[str, Any]) -> None:
    assert block.marker in ("", NOT_RUN, "error"), f"what does {block.marker!r} mean?"
    assert block.marker != "error" or block.language == "sql", "only SQL may be wrong on purpose"
    match block.language:
        case "sql":
            check_sql(block)
        case "python" if block.marker == NOT_RUN:
            compile(block.text, f"block at line {block.line}", "exec")
        case "python":
            run_python(block, names)
        case "sh" if block.marker != NOT_RUN:
            unknown = [words[0] for words in commands(block.text) if words[0] in OTHERS]
            assert not unknown, f"{unknown[0]} is not run: say so above the block"
            run_shell(block)


each_document = pytest.mark.parametrize(
    "path", [pytest.param(path, id=str(path.relative_to(ROOT))) for path in DOCUMENTS]
)


@each_document
def test_what_a_document_names_exists(path: Path) -> None:
    assert problems(path.read_text(), path.parent) == []


def spark_writes_into(folder: Path) -> None:
    """Let a Spark that other tests have started resolve relative paths here: its Java process
    keeps the working directory in which it began."""
    module = sys.modules.get("pyspark.sql")
    session = None if module is None else module.SparkSession.getActiveSession()
    if session is not None:
        session._jvm.java.lang.System.setProperty("user.dir", str(folder))
        hadoop = session._jvm.org.apache.hadoop.fs
        files = hadoop.FileSystem.get(session._jsc.hadoopConfiguration())
        files.setWorkingDirectory(hadoop.Path(str(folder)))


@each_document
def test_what_a_document_shows_runs(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    spark_writes_into(tmp_path)
    names: dict[str, Any] = {"__name__": "example"}
    for block in blocks(path.read_text()):
        try:
            run_block(block, names)
        except Exception as error:
            error.add_note(f"the block at {path.relative_to(ROOT)}:{block.line}")
            raise


def test_every_algorithm_has_its_page_and_no_page_is_left_over() -> None:
    available = {a.name.lower() for a in planner.algorithms()}
    assert available == {page.stem for page in (ROOT / "docs" / "algorithms").glob("*.md")}


def test_the_index_links_every_page() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    pages = [page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")]
    assert [str(p) for p in pages if f"]({p})" not in index] == ["index.md"]


def test_the_architecture_names_every_package_and_the_language_every_function() -> None:
    packages = [p.parent.name for p in (ROOT / "src" / "crestline").glob("*/__init__.py")]
    architecture = (ROOT / "ARCHITECTURE.md").read_text()
    assert [name for name in packages if f"| `{name}/` |" not in architecture] == []
    language = (ROOT / "docs" / "language.md").read_text()
    assert [name for name in FUNCTIONS if not re.search(rf"\b{name}\b", language)] == []


def test_the_language_page_has_a_query_for_everything_that_can_be_said() -> None:
    page = blocks((ROOT / "docs" / "language.md").read_text())
    texts = [b.text for b in page if b.language == "sql" and b.marker != "error"]
    queries = [query for text in texts for query in crestline.parse_all(text)]
    windows = {
        tuple(re.findall(r"RANGE|ROWS|UNBOUNDED|SLIDE|ON\b", window))
        for window in (str(query).split("[")[1].split("]")[0] for query in queries)
    }
    assert windows >= {
        ("RANGE", "SLIDE", "ON"),
        ("RANGE", "ON"),
        ("ROWS", "SLIDE"),
        ("ROWS",),
        ("ROWS", "SLIDE", "ON"),
        ("UNBOUNDED", "SLIDE", "ON"),
        ("UNBOUNDED", "SLIDE", "ROWS"),
    }
    asked = [query.probability for query in queries if query.probability is not None]
    assert {each.semantics for each in asked} == set(language.SEMANTICS)
    combined = [query.combine for query in queries if query.combine is not None]
    assert {each.function for each in combined} == set(language.COMBINATIONS)
    assert {query.using for query in queries} - {None} == {a.name for a in planner.algorithms()}
    options = {(a.name, option) for a in planner.algorithms() for option in a.options}
    used = {(query.using, option) for query in queries for option, _ in query.options}
    assert used <= options
    assert {option for _, option in used} == {option for _, option in options}
    for said in (
        *("CREATE QUERY", "WHERE", "PARTITION BY", "KEY (", "FREQUENCY", "EXCLUSIVE BY", "ERROR"),
        *("BY SUM OF PROBABILITY", "LATE DROP", "LATE REVISE", "EMIT SNAPSHOTS", "EMIT CHANGES"),
        "EMIT ENTRIES",
        *("VALUES BETWEEN", "REPEATS", " IN (", "TOP(", "TOP-", "EXACT", "APPROXIMATE"),
    ):
        assert any(said in text for text in texts), f"no query says {said}"


def test_the_page_of_the_command_line_tells_every_option_where_it_belongs() -> None:
    page = (ROOT / "docs" / "reference" / "command-line.md").read_text()
    sections = dict(re.findall(r"^## (?:crestline )?(.+?)\n(.*?)(?=^## |\Z)", page, re.M | re.S))
    sections[""] = sections.pop("Without a command")
    assert sections.keys() == options().keys()
    for command, text in sections.items():
        told = set(re.findall(r"`(--?[a-z][a-z-]*)", text))
        wanted = {option for option in options()[command] if option.startswith("-")}
        assert wanted - told == {"--help"}, f"crestline {command} has more options"
        cells = "".join(re.findall(r"^\| (.*?) \|", text, re.M))
        listed = set(re.findall(r"`(--?[a-z][a-z-]*)", cells))
        assert listed <= wanted, f"crestline {command} has no {sorted(listed - wanted)}"


def test_the_contributor_sees_every_target() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text()
    hidden = {"java"}  # made by others, not listed by make help either
    assert [t for t in make_targets() - hidden if f"`make {t}`" not in text] == []


WRONG = [
    "see `core/nothing.py`",
    "see `tests/nowhere/`",
    "run `make everything`",
    "run `crestline walk`",
    "run `crestline run --faster`",
    "use `--no-such-option`",
    "call `crestline.certain.MaxTopK`",
    "call `crestline.runs`",
    "call `Session.rewind`",
    "call `tie_breaks`",
    "write `USING MAXTOPK`",
    "[a page](docs/nothing.md)",
    "[a heading](README.md#no-such-heading)",
    "```sh\ncrestline run --query q.sql --strickt\n```",
    "```sh\nmake demonstration\n```",
    "```sh\npython papers/yang2011_mintopk/walk.py\n```",
    "```\nno language\n```",
    "```java\nint i;\n```",
    "~~~python",
    "- indented\n\n  ```python",
    "![a picture](docs/pictures/nothing.png 'title')",
    '<img src="docs/pictures/nothing.png">',
    "[outside](../../etc/passwd)",
    "<!-- not run -->\n```sh\ncrestline run --fallow\n```",
]


@pytest.mark.parametrize("text", WRONG)
def test_a_wrong_name_is_noticed(text: str) -> None:
    assert len(problems(text + "\n")) == 1


@pytest.mark.parametrize(
    "text",
    [
        "```sql\nSELECT TOP 3 symbol FROM trades [ROWS 3] ORDER price DESC\n```",
        "```sql\nSELECT TOP 3 symbol FROM trades [ROWS 3] ORDER BY prize DESC\n```",
        "<!-- some day -->\n```sql\nSELECT TOP 1 id FROM random [ROWS 3] ORDER BY score\n```",
        "```python\nimport crestline\ncrestline.walk()\n```",
        "```python\nprint(1)\n```\n\n```text\n2\n```",
        "```sh\ncrestline explain 'SELECT TOP'\n```",
        "```sh\ncrestline explain 'SELECT TOP 1 a FROM s [ROWS 3] ORDER BY x'\n```\n\n```text\n```",
        "```sh\npip install crestline\n```",
        "<!-- not run -->\n```python\nimport import\n```",
        "<!-- not run -->\n```sql\nSELECT TOP 1 id FROM random [ROWS 3] ORDER BY score\n```",
        "<!-- error -->\n```python\nprint(1)\n```",
    ],
)
def test_a_wrong_block_is_noticed(text: str) -> None:
    block = blocks(text + "\n")[0]
    noticed = (
        *(AssertionError, AttributeError, SyntaxError),
        *(crestline.CrestlineError, pytest.fail.Exception),
    )
    with pytest.raises(noticed):
        run_block(block, {})
