"""The inputs of a followed run: new files, read in the layout that the first ones had.

Columns keep their types from the first round on. A value of a later file that does not fit is
rejected. Text is read in the dialect of the first file.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from crestline.core import sound
from crestline.core.errors import SourceError
from crestline.language import Expression, Query
from crestline.runtime.projection import resolve
from crestline.runtime.roles import columns_of
from crestline.sources import Source, source, stores
from crestline.sources.endings import TEXT, ending_of
from crestline.sources.growing import new_files
from crestline.sources.merging import SharedColumns
from crestline.sources.text import TextLayout
from crestline.spark.history import Files
from crestline.spark.scans import INPUT_BITS, common_where, layout_of
from crestline.spark.stages import Layout, NumberedPiece


class FollowedInputs:
    """The inputs of queries, by name, each a file, a folder or a glob."""

    def __init__(self, paths: Mapping[str, str]) -> None:
        self._paths = dict(paths)
        self._opened: dict[str, Source] = {}
        self._texts: dict[str, TextLayout] = {}
        self._where: Expression | None = None

    def columns(self, name: str) -> list[str]:
        """The columns of an input."""
        return list(self._open(name).schema.names)

    def _open(self, name: str) -> Source:
        if name not in self._opened:
            self._opened[name] = source(self._paths[name], name)
            if not self._opened[name].schema.names:
                raise SourceError(
                    f"stream {name!r}: {self._paths[name]} holds only empty files so far"
                )
        return self._opened[name]

    def settle(self, queries: Mapping[str, Query], settings: dict[str, Any] | None) -> None:
        """Fix the layout: as the checkpoint says, or by the files that are there."""
        self._where = common_where(queries)
        if settings is not None:
            with sound.reading(pa.ArrowException):
                self._restore(settings)
            return
        inputs = {name: self._open(name) for name in self._paths}
        self.layout = layout_of(queries, inputs)
        names = list(dict.fromkeys(n for query in queries.values() for n in columns_of(query)))
        for name, opened in inputs.items():
            wanted = [n for n in names if n != self.layout.across]
            if self.layout.shared is None:
                columns = list(resolve(wanted, opened.schema, name).values())
            else:
                spelled = resolve(wanted, self.layout.schema, name).values()
                columns = [self.layout.shared.spelled[name][n] for n in spelled]
            if not opened.typed:
                self._texts[name] = TextLayout.of(self._paths[name], name, columns)

    def settings(self) -> dict[str, Any]:
        """The layout as plain values, for the checkpoint."""
        layout = self.layout
        return {
            "schema": _encoded(layout.schema),
            "typed": layout.typed,
            "across": layout.across,
            "shared": None if layout.shared is None else
            {"schema": _encoded(layout.shared.schema), "spelled": layout.shared.spelled},
            "texts": {name: texts.to_plain() for name, texts in self._texts.items()},
        }  # fmt: skip

    def _restore(self, settings: dict[str, Any]) -> None:
        shared = settings["shared"]
        if shared is not None:
            shared = SharedColumns(_decoded(shared["schema"]), shared["spelled"])
        schema = _decoded(settings["schema"])
        self.layout = Layout(schema, settings["typed"], shared, settings["across"])
        self._texts = {
            name: TextLayout.from_plain(plain) for name, plain in settings["texts"].items()
        }

    def new_files(self, taken: Mapping[str, set[str]]) -> Files:
        """The files of all inputs that were not taken yet, oldest first."""
        return {
            name: new_files(path, name, taken.get(name, set()))
            for name, path in self._paths.items()
        }

    def gone(self, files: Files) -> set[str]:
        """The files of a round that are no longer there: a round may be repeated much later."""
        gone = set()
        for file in (file for names in files.values() for file in names):
            try:
                stores.status(file)
            except FileNotFoundError:
                gone.add(file)
        return gone

    def pieces(self, files: Files) -> list[NumberedPiece]:
        """The pieces of a round's files."""
        pieces = []
        for number, (name, names) in enumerate(files.items()):
            found = [piece for file in names for piece in self._pieces_of(name, file)]
            pieces += [
                NumberedPiece((number << INPUT_BITS) + position, name, piece)
                for position, piece in enumerate(found)
            ]
        return pieces

    def _pieces_of(self, name: str, file: str) -> list[Any]:
        ending = ending_of(file)
        if (ending in TEXT) != (name in self._texts):
            raise SourceError(
                f"stream {name!r}: {file} is of another kind than the files before:"
                " name one kind with a glob, such as folder/*.parquet"
            )
        if name in self._texts:
            return self._texts[name].pieces(file, name)
        opened = source(file, name)
        assert opened.pieces is not None, "a path has pieces"
        same = all(  # else a value that does not fit must be rejected
            field.type == self.layout.schema.field(field.name).type
            for field in opened.schema
            if field.name in self.layout.schema.names
        )
        return list(opened.pieces(self._where if same else None))


def _encoded(schema: pa.Schema) -> str:
    return b64encode(schema.serialize().to_pybytes()).decode()


def _decoded(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(b64decode(text)))


__all__ = ["FollowedInputs"]
