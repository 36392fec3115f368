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

import ast
import contextlib
import io
import re
import shlex
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.main import get_command
from typer.testing import CliRunner

import crestline
from crestline import planner
from crestline.cli import app
from crestline.language import query as language
from crestline.language.functions import FUNCTIONS
from crestline.streams import KINDS, generate

ROOT = Path(__file__).resolve().parent.parent
FOLDERS = (ROOT, ROOT / "src" / "crestline")
DOCUMENTS = sorted(ROOT.glob("*.md"))
DOCUMENTS += sorted((ROOT / "docs").rglob("*.md"))
DOCUMENTS += sorted((ROOT / "papers").glob("*/README.md")) + [ROOT / "examples" / "README.md"]
ENDINGS = (".py", ".md", ".sh", ".png", ".json", ".toml")
#: Commands of crestline that are short enough to run, and those whose output is always the same.
RUN, SAME = {"generate", "run", "explain", "algorithms"}, {"explain"}
#: Commands of others that a block which is not run may show.
OTHERS = {".", "pip", "spark-submit", "venv-pack", ".venv/bin/pre-commit"}
NOT_RUN = "not run"
#: What the documents name and others define, or a reader makes.
ELSEWHERE = {
    *("numpy.max", "ruff format", "reproduce_failure", "NUMBA_DISABLE_JIT", "make"),
    *("certain/foo.py", "kernels/foo.py", "docs/algorithms/foo.md", ".venv", "crestline-demo"),
    *("SparkSession", "StreamingQueryListener", "checkpointLocation", "spark-defaults.conf"),
    *("inputRowsPerSecond", "processedRowsPerSecond", "durationMs", "stateOperators"),
    *("lastProgress", "observedMetrics", "offsets", "commits", "--archives"),
    *("--py-files", "job.py", "max_by", "heapq.nlargest", "row_number", "HOP"),
    *("crestline.json", "_crestline.json", "site/", ".rivals/", ".rivals/out", ".compat/"),
    *("windowby", "sorted_tuple", "group_by_dynamic", "top_k_by"),
}


@dataclass(frozen=True)
class Block:
    """A fenced block, the marker in a comment before it, and the text block right below it."""

    language: str
    text: str
    line: int
    marker: str
    printed: str | None


FENCE = re.compile(
    r"(?:^<!-- (?P<marker>[^\n]*) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$"
    r"(?=(?:\n\n```text\n(?P<printed>.*?)^```$)?)",
    re.MULTILINE | re.DOTALL,
)


def blocks(document: str) -> list[Block]:
    return [
        Block(f["language"], f["text"], line, f["marker"] or "", f["printed"])
        for f in FENCE.finditer(document)
        for line in [document.count("\n", 0, f.start()) + 1]
    ]


def block_problems(document: str) -> list[str]:
    """Blocks that no test would look at: of another language, indented, or with other fences."""
    found = [
        f"line {block.line}: a block of {block.language or 'no language'}"
        for block in blocks(document)
        if block.language not in ("sql", "python", "sh", "text")
    ]
    for number, line in enumerate(without_blocks(document).splitlines(), start=1):
        if re.match(r"\s*(```|~~~)", line):
            found.append(f"line {number}: a block begins or ends in a way that is not understood")
    return found


def without_blocks(document: str) -> str:
    """The document with its blocks blanked, lines kept."""
    return FENCE.sub(lambda found: "\n" * found[0].count("\n"), document)


def commands(text: str) -> Iterator[list[str]]:
    """The commands of a shell block, in words; quotes and backslashes may carry over lines."""
    gathered = ""
    for line in text.replace("\\\n", " ").splitlines(keepends=True):
        gathered += line
        try:
            words = shlex.split(gathered, comments=True)
        except ValueError:  # a quote is still open
            continue
        if words:
            yield words
        gathered = ""
    assert not gathered.strip(), f"an unfinished command: {gathered}"


# --- what exists ---------------------------------------------------------------------------------


@cache
def make_targets() -> frozenset[str]:
    text = (ROOT / "Makefile").read_text()
    return frozenset(re.findall(r"^([a-z]+):(?!=)", text, re.MULTILINE))


@cache
def options() -> dict[str, frozenset[str]]:
    """The options of each command of crestline; those before any command under ''."""
    root: Any = get_command(app)
    found = {name: command.params for name, command in root.commands.items()} | {"": root.params}
    return {
        name: frozenset([*(o for p in params for o in (*p.opts, *p.secondary_opts)), "--help"])
        for name, params in found.items()
    }


@cache
def python_names() -> frozenset[str]:
    """Every module, function, class, argument, attribute and variable that the project defines,
    and every text constant that is a name, such as those of columns."""
    names: set[str] = set()
    for folder in ("src", "tests", "benchmarks", "papers", "examples", "docs"):
        for file in (ROOT / folder).rglob("*.py"):
            if file == Path(__file__):
                continue
            names.add(file.stem)
            for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
                match node:
                    case ast.FunctionDef() | ast.ClassDef():
                        names.add(node.name)
                    case ast.arg(arg=name) | ast.Name(id=name, ctx=ast.Store()):
                        names.add(name)
                    case ast.Attribute(attr=name, ctx=ast.Store()):
                        names.add(name)
                    case ast.Constant(value=str(text)):
                        names.update([text] if text.isidentifier() else ())
    return frozenset(names)


@cache
def language_words() -> frozenset[str]:
    """Words in capitals that the language, the catalogue or the environment know."""
    words: set[str] = {name.upper() for name in KINDS}
    for folder in ("src", "tests", "benchmarks"):
        for file in (ROOT / folder).rglob("*.py"):
            if file != Path(__file__):
                words.update(re.findall(r"\b[A-Z][A-Z0-9_]*\b", file.read_text(encoding="utf-8")))
    words.update(re.findall(r"\b[A-Z][A-Z_]*\b", (ROOT / "scripts/ensure_java.sh").read_text()))
    return frozenset(words)


def exists(name: str, beside: Path) -> bool:
    return any(any(folder.glob(name.rstrip("/"))) for folder in (*FOLDERS, beside))


def resolves(dotted: str) -> bool:
    """Whether crestline.a.b can be imported or looked up."""
    parts = dotted.split(".")
    found: Any = import_module(parts[0])
    for at, part in enumerate(parts[1:], start=1):
        if not hasattr(found, part):
            try:
                import_module(".".join(parts[: at + 1]))
            except ModuleNotFoundError:
                return False
        found = getattr(found, part)
    return True


def command_problem(words: list[str]) -> str | None:
    """What is wrong with a command line, as far as it can be told without running it."""
    while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
        words = words[1:]
    program, *rest = words or [""]
    if program == "make":
        targets = [word for word in rest if "=" not in word]
        unknown = [target for target in targets if target not in make_targets()]
        return f"there is no target {unknown[0]!r}" if unknown else None
    if program == "python":
        missing = [word for word in rest if word.endswith(".py") and not (ROOT / word).is_file()]
        if not missing and "crestline.cli" in rest:
            return command_problem(["crestline", *rest[rest.index("crestline.cli") + 1 :]])
        return f"there is no file {missing[0]}" if missing else None
    if program in OTHERS:
        return None
    if program != "crestline":
        return f"a command that is not understood: {program!r}"
    command = rest[0] if rest and not rest[0].startswith("-") else ""
    if command not in options():
        return f"crestline has no command {command!r}"
    given = [word.split("=")[0] for word in rest if re.match(r"--?[a-z]", word)]
    unknown = [option for option in given if option not in options()[command]]
    return f"crestline {command} has no option {unknown[0]}" if unknown else None


def span_problem(span: str, beside: Path) -> str | None:
    """What is wrong with a code span, if it is of a kind that can be checked."""
    if span in ELSEWHERE or span.startswith(("[", "-- ", "/*", "spark.")):
        return None
    if re.match(r"(crestline|make|python) ", span):
        return command_problem(shlex.split(span))
    if span.startswith("--"):
        flag = span.split(maxsplit=1)[0]
        known = any(flag in given for given in options().values())
        return None if known else f"no command has the option {flag}"
    if re.fullmatch(r"crestline(\.\w+)+(\(.*\))?", span):
        return None if resolves(span.split("(", maxsplit=1)[0]) else f"there is no {span}"
    if re.fullmatch(r"[\w.*-]*(/[\w.*-]+)+/?|[\w.-]+/", span) or span.endswith(ENDINGS):
        return None if exists(span, beside) else f"there is no file or folder {span}"
    if (ROOT / span).is_file():
        return None
    if re.fullmatch(r"[A-Z][A-Z0-9_ ()=>.]*", span):
        unknown = set(re.findall(r"[A-Z][A-Z0-9_]*", span)) - language_words()
        return f"nothing knows {sorted(unknown)[0]}" if unknown else None
    if re.fullmatch(r"[A-Za-z_]\w*(\.\w+)*(\(\))?", span) and len(span) > 2:
        unknown = set(span.removesuffix("()").split(".")) - python_names()
        return f"nothing is called {sorted(unknown)[0]}" if unknown else None
    return None


def anchors(document: str) -> set[str]:
    """The anchors of the headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", without_blocks(document), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


def link_problem(target: str, document: str, beside: Path) -> str | None:
    if re.match(r"[a-z]+:", target):
        return None
    path, _, anchor = target.partition("#")
    file = beside / path
    if path and not (file.exists() and file.resolve().is_relative_to(ROOT)):
        return f"the link to {target} leads nowhere"
    if anchor:
        text = file.read_text() if path else document
        return None if anchor in anchors(text) else f"there is no heading for {target}"
    return None


def problems(document: str, beside: Path = ROOT) -> list[str]:
    """Whatever a document names that does not exist, with its line."""
    found = []
    for number, line in enumerate(without_blocks(document).splitlines(), start=1):
        told = [span_problem(span, beside) for span in re.findall(r"`([^`]+)`", line)]
        targets = re.findall(r"\]\(([^)\s]+)[^)]*\)", line) + re.findall(
            r'(?:src|href)="(.+?)"', line
        )
        told += [link_problem(target, document, beside) for target in targets]
        found += [f"line {number}: {problem}" for problem in told if problem]
    for block in blocks(document):
        if block.language == "sh":
            told = [command_problem(words) for words in commands(block.text)]
            found += [f"line {block.line}: {problem}" for problem in told if problem]
    return found + block_problems(document)


# --- what runs -----------------------------------------------------------------------------------


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


# --- nothing is left out -------------------------------------------------------------------------


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


# --- the checks can fail -------------------------------------------------------------------------

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
