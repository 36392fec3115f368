"""What the documents name: whether files, commands, options, links and names of Python exist."""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from typer.main import get_command

from crestline.cli import app
from crestline.streams import KINDS

ROOT = Path(__file__).resolve().parent.parent
#: They hold wrong names on purpose.
OURS = {Path(__file__), Path(__file__).with_name("test_documents.py")}

FOLDERS = (ROOT, ROOT / "src" / "crestline")

DOCUMENTS = sorted(ROOT.glob("*.md"))

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
    *("AWS_SESSION_TOKEN", "HTTPS_PROXY", "rounds.jsonl"),
}


FENCE = re.compile(
    r"(?:^<!-- (?P<marker>[^\n]*) -->\n)?^```(?P<language>\w*)\n(?P<text>.*?)^```$"
    r"(?=(?:\n\n```text\n(?P<printed>.*?)^```$)?)",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Block:
    """A fenced block, the marker in a comment before it, and the text block right below it."""

    language: str
    text: str
    line: int
    marker: str
    printed: str | None


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
            if file in OURS:
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
            if file not in OURS:
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
