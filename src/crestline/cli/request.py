"""The arguments of ``crestline run``, checked as far as possible without reading data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crestline.cli.errors import Misuse

if TYPE_CHECKING:
    from crestline.language import Query


@dataclass(frozen=True, slots=True)
class Request:
    """Queries over streams, and where their rows go."""

    queries: Mapping[str, Query]
    streams: Mapping[str, Any]
    out: str | None = None
    rejects: str | None = None
    strict: bool = False
    as_json: bool = False
    quiet: bool = False
    show: int = 40
    master: str | None = None
    conf: Mapping[str, str] | None = None
    #: Whether approximate answers are compared with exact ones.
    audit: bool = False

    def __post_init__(self) -> None:
        streams = {name.casefold() for name in self.streams}
        for name in (name for query in self.queries.values() for name in query.inputs):
            if name.casefold() not in streams:
                names = ", ".join(map(repr, self.streams)) or "none"
                raise Misuse(
                    f"the query reads the stream {name!r}, but the streams given are"
                    f" {names}: add --stream {name}=PATH"
                )


__all__ = ["Request"]
