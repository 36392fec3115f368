"""The files around the code agree with each other: version, checks, Pythons, citations."""

from __future__ import annotations

import json
import re
import runpy
import tomllib
from graphlib import TopologicalSorter
from pathlib import Path
from typing import Any

import grimp
import yaml

import crestline

ROOT = Path(__file__).resolve().parent.parent
PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text())


def recipe(target: str) -> list[str]:
    """The commands of a target of the Makefile."""
    text = (ROOT / "Makefile").read_text()
    block = re.search(rf"^{target}:[^\n]*\n((?:\t[^\n]*\n)+)", text, re.MULTILINE)
    assert block is not None
    return [line.strip().replace("$(BIN)", ".venv/bin") for line in block[1].splitlines()]


def test_the_version_has_one_place() -> None:
    assert PROJECT["project"]["dynamic"] == ["version"] and "version" not in PROJECT["project"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "src/crestline/__init__.py"
    changelog = (ROOT / "CHANGELOG.md").read_text()
    assert f"## {crestline.__version__}" in changelog


def test_no_module_imports_itself_by_a_detour() -> None:
    graph = grimp.build_graph("crestline", exclude_type_checking_imports=True, cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()  # a CycleError names the modules


def test_a_commit_is_checked_as_make_check_does() -> None:
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())
    entries = [hook["entry"] for repo in config["repos"] for hook in repo["hooks"]]
    of_commit = [entry.removesuffix(" --force-exclude") for entry in entries]
    assert of_commit == [command.removesuffix(" src") for command in recipe("check")]


def test_the_workflow_runs_ci_on_every_python_that_is_promised() -> None:
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text())
    job = workflow["jobs"]["ci"]
    assert any(step.get("run") == ".ci/run" for step in job["steps"])
    promised = re.findall(
        r"Python :: (3\.\d+)", "\n".join(PROJECT["project"]["classifiers"]), re.MULTILINE
    )
    assert job["strategy"]["matrix"]["python"] == promised


def test_the_citation_names_the_five_papers() -> None:
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    cited = {paper["title"]: paper for paper in citation["references"]}
    papers = [json.loads(file.read_text())["paper"] for file in ROOT.glob("papers/*/expected.json")]
    assert len(papers) == len(cited) == 5
    for text in papers:
        names, rest = text.split(": ", maxsplit=1)
        (title,) = [title for title in cited if rest.startswith(title)]
        authors = [f"{a['given-names']} {a['family-names']}" for a in cited[title]["authors"]]
        assert names == ", ".join(authors)
        assert text.endswith(str(cited[title]["year"]))


def test_the_first_example_of_the_readme_has_its_output() -> None:
    script = runpy.run_path(str(ROOT / "scripts" / "check_wheel.py"))
    code, printed = script["first_example"]((ROOT / "README.md").read_text())
    assert "import crestline" in code and printed.count("\n") == 3
