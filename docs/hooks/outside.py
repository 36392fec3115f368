"""Files outside of docs/ that pages link to become part of the site, below ``project/``.

The documents are read in two places: where the sources are, and in the site. In the former a link
such as ``../README.md`` leads out of docs/, which MkDocs cannot follow. So whatever is reached by
such links is added to the site under ``project/`` and its path in the repository, and the links of
all pages are rewritten to where things are in the site. Markdown becomes a page, pictures and
notebooks are copied, and other texts become a page that shows them.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files, InclusionLevel
from mkdocs.structure.pages import Page

#: What a link or a picture leads to, in Markdown and in HTML.
TARGET = re.compile(r'(?<=\]\()[^)\s]+(?=[)\s])|(?<=\bsrc=")[^"]+|(?<=\bhref=")[^"]+')
CODE = re.compile(r"^```.*?^```$|``.+?``|`[^`\n]+`", re.MULTILINE | re.DOTALL)
#: How texts that are no Markdown are coloured.
SHOWN = {
    ".py": "python",
    ".sql": "sql",
    ".sh": "sh",
    ".toml": "toml",
    ".json": "json",
    ".cff": "yaml",
    "": "text",
}
BELOW = "project"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add what is linked outside of docs/, and what that links in turn."""
    root = _root(config)
    waiting = [_repository_path(f, config) for f in files.documentation_pages()]
    seen = set(waiting)
    while waiting:
        path = waiting.pop()
        for target in _targets((root / path).read_text(encoding="utf-8")):
            found = _resolved(target, path, root)
            if found is None or found in seen or found.startswith("docs/"):
                continue
            seen.add(found)
            files.append(_added(found, root, config))
            if found.endswith(".md"):
                waiting.append(found)
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead the links of a page to where things are in the site."""
    root, here = _root(config), _repository_path(page.file, config)
    folder = posixpath.dirname(page.file.src_uri)

    def rewritten(match: re.Match[str]) -> str:
        target, hash_sign, anchor = match[0].partition("#")
        found = _resolved(target, here, root)
        if found is None:
            return match[0]
        return posixpath.relpath(_site_path(found), folder or ".") + hash_sign + anchor

    pieces, after = [], 0
    for code in CODE.finditer(markdown):
        pieces += [TARGET.sub(rewritten, markdown[after : code.start()]), code[0]]
        after = code.end()
    return "".join([*pieces, TARGET.sub(rewritten, markdown[after:])])


def _root(config: MkDocsConfig) -> Path:
    return Path(config.docs_dir).parent


def _targets(markdown: str) -> list[str]:
    return [target.partition("#")[0] for target in TARGET.findall(CODE.sub("", markdown))]


def _resolved(target: str, here: str, root: Path) -> str | None:
    """The path in the repository that a link of the file ``here`` leads to; None if none."""
    if not target or re.match(r"[a-z]+:", target) or target.startswith("/"):
        return None
    path = posixpath.normpath(posixpath.join(posixpath.dirname(here), target))
    if (root / path).is_dir():
        path = posixpath.join(path, "README.md")
    if path.startswith("..") or not (root / path).is_file():
        return None
    return path


def _site_path(path: str) -> str:
    """Where a file of the repository is in the site.

    >>> _site_path("docs/spark.md"), _site_path("README.md"), _site_path("examples/flows.py")
    ('spark.md', 'project/README.md', 'project/examples/flows.py.md')
    """
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    shown = Path(path).suffix in SHOWN
    return posixpath.join(BELOW, path + (".md" if shown else ""))


def _repository_path(file: File, config: MkDocsConfig) -> str:
    if file.abs_src_path is not None:
        return Path(file.abs_src_path).relative_to(_root(config)).as_posix()
    return file.src_uri.removeprefix(f"{BELOW}/").removesuffix(".md")  # a text that is shown


def _added(path: str, root: Path, config: MkDocsConfig) -> File:
    source = root / path
    more: dict[str, Any] = {"abs_src_path": str(source)}
    if source.suffix in SHOWN:
        text = source.read_text(encoding="utf-8")
        if re.search(r"^ {0,3}````", text, re.MULTILINE):
            raise PluginError(f"{path} has a line that begins with ````: it cannot be shown")
        head = f"---\nsearch:\n  exclude: true\n---\n# {path}\n\n"
        more = {"content": f"{head}````{SHOWN[source.suffix]}\n{text.rstrip()}\n````\n"}
    return File.generated(config, _site_path(path), inclusion=InclusionLevel.NOT_IN_NAV, **more)
