"""Defaults of streams: what a query means that does not say so itself.

They come from ``--default STREAM.KEY=VALUE`` and from a file beside the data,
``PATH.defaults.toml``. The option overrules the file.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from crestline.cli import completion
from crestline.cli.errors import Misuse

if TYPE_CHECKING:
    from crestline.language import StreamDefaults

#: What the file beside the data adds to its path.
ENDING = ".defaults.toml"
_EXAMPLE = "--default 'sensor.order_by=speed DESC'"

DefaultOption = Annotated[
    list[str] | None,
    typer.Option(
        "--default", metavar="STREAM.KEY=VALUE", autocompletion=completion.defaults,
        help="What queries on a stream mean that do not say so: on (the event time), order_by,"
        " probability or exclusive_by, such as 'sensor.order_by=speed DESC'. Repeat it for several."
        f" A file PATH{ENDING} beside the data of a stream has the same keys.",
    ),
]  # fmt: skip


def stream_defaults(
    options: Sequence[str], streams: Mapping[str, str] | None
) -> dict[str, StreamDefaults]:
    """The defaults of each stream, by its name in lower case. ``streams`` are their paths; None if
    an option may name any stream."""
    from crestline.language import StreamDefaults

    by_stream: dict[str, dict[str, str]] = {}
    for name, path in (streams or {}).items():
        by_stream[name.casefold()] = _beside(path)
    given: set[tuple[str, str]] = set()
    for text in options:
        stream, key, value = _read(text)
        if streams is not None and stream not in by_stream:
            names = ", ".join(streams) or "none"
            raise Misuse(f"--default {text!r}: there is no stream {stream!r}, only {names}")
        if (stream, key) in given:
            raise Misuse(f"--default gives {stream}.{key} twice")
        given.add((stream, key))
        by_stream.setdefault(stream, {})[key] = value
    return {stream: StreamDefaults(**values) for stream, values in by_stream.items()}


def _read(text: str) -> tuple[str, str, str]:
    """The stream in lower case, the key and the value of an option."""
    target, equals, value = text.partition("=")
    stream, dot, key = target.rpartition(".")
    if not (stream and dot and equals and value.strip()):
        raise Misuse(f"--default {text!r} is not STREAM.KEY=VALUE: write it like {_EXAMPLE}")
    return stream.casefold(), _known(key.strip().lower(), f"--default {text!r}"), value


def _known(key: str, where: str) -> str:
    if key in completion.DEFAULTS:
        return key
    near = get_close_matches(key, completion.DEFAULTS, n=1)
    hint = f": did you mean {near[0]}?" if near else ""
    known = ", ".join(completion.DEFAULTS)
    raise Misuse(f"{where}: there is no default {key!r}, only {known}{hint}")


def _beside(path: str) -> dict[str, str]:
    """The defaults in the file beside the data, if there is one."""
    if path == "-" or "://" in path:
        return {}
    file = Path(path.rstrip("/") + ENDING)
    try:
        values = tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise Misuse(f"cannot read {str(file)!r}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Misuse(f"{str(file)!r} is not UTF-8 text") from error
    except tomllib.TOMLDecodeError as error:
        raise Misuse(
            f'{str(file)!r} is no TOML: {error}: write lines like order_by = "speed DESC"'
        ) from error
    for key, value in values.items():
        _known(key, str(file))
        if not isinstance(value, str):
            raise Misuse(f'{file}: {key} is no text: write {key} = "..."')
    return values


__all__ = ["DefaultOption", "stream_defaults"]
