"""Following files in this process: new records are pushed as they come, round by round.

A round takes one portion: the lines that were appended to a file, or a new file of a folder. Its
results go to a sink. Then the checkpoint stores the state of the queries together with the position
in the files. A run that was killed in between repeats the round under the same number.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from crestline.core import sound
from crestline.core.errors import StateError
from crestline.core.state import pack, unpack
from crestline.core.unfinished import files
from crestline.language import Query
from crestline.local.inputs import batches_for, run_schema
from crestline.runtime.encoders.uncertain import refuse_rules_above_one
from crestline.runtime.fitting import joined
from crestline.runtime.rounds import Checkpoint, Round, Sink, trigger_seconds
from crestline.runtime.stream_run import StreamRun
from crestline.sources import Source
from crestline.sources.growing import Growing, growing

#: The file of a checkpoint that holds the state.
_STATE = "state.bin"


@dataclass
class Follow:
    """Queries over growing files; ``start`` it, then ``wait``, and ``stop`` in any case.

    ``paths`` has a file, folder or glob for each input. All queries must read the same inputs.
    Without a ``checkpoint`` no state is stored.
    """

    queries: dict[str, Query]
    paths: Mapping[str, str]
    sink: Sink
    trigger: str = "1 second"
    strict: bool = False
    checkpoint: Checkpoint | None = None
    _run: StreamRun | None = field(default=None, init=False)
    _inputs: dict[str, Growing] = field(default_factory=dict, init=False)
    _number: int = field(default=0, init=False)
    _due: float = field(default=0.0, init=False)
    _stack: ExitStack = field(default_factory=ExitStack, init=False)

    def start(self) -> None:
        """Begin, or go on from the checkpoint."""
        scratch = Path(self._stack.enter_context(files.scratch("crestline-")))
        positions: dict[str, Any] = {}
        if self.checkpoint is not None and (saved := self.checkpoint.folder / _STATE).exists():
            positions = self._resume(saved)
        for name, path in self.paths.items():
            (scratch / name).mkdir()
            self._inputs[name] = growing(path, name, scratch / name, positions.get(name))

    def _resume(self, saved: Path) -> dict[str, Any]:
        with sound.reading(pa.ArrowException):
            state = unpack(saved.read_bytes())
            self._number = state["round"]
            self._run = StreamRun.from_state(self.queries, state["run"], strict=self.strict)
            positions: dict[str, Any] = state["inputs"]
        return positions

    def wait(self, seconds: float) -> bool:
        """Take portions that are due, for so many seconds; return whether the run has ended."""
        pause = trigger_seconds(self.trigger)
        until = time.monotonic() + seconds
        while (now := time.monotonic()) < until:
            if now < self._due:
                time.sleep(min(self._due, until) - now)
                continue
            if self._round():
                return False
            if pause is None:
                return True
            self._due = now + pause
        return False

    def stop(self) -> None:
        self._stack.close()

    @property
    def notes(self) -> list[str]:
        """Sentences for the end of the run: columns that have widened, incomplete lines."""
        left = [note for each in self._inputs.values() if (note := each.left()) is not None]
        return [*(self._run.notes if self._run is not None else []), *left]

    def _round(self) -> bool:
        """Take in the next portion; return whether there was one."""
        for name, stream in self._inputs.items():
            opened = stream.more()
            if opened is not None and opened.schema.names:
                self._take(name, opened)
                return True
        return False

    def _take(self, name: str, opened: Source) -> None:
        query = next(iter(self.queries.values()))
        if self._run is None:
            schema = run_schema(query, opened)
            self._run = StreamRun(self.queries, schema, typed=opened.typed, strict=self.strict)
        run = self._run
        rows: dict[str, list[pa.Table]] = {query: [] for query in self.queries}
        for batch in batches_for(run, query, opened, name, "a new file"):
            for called, table in run.take(run.admit(batch, opened.typed)):
                rows[called].append(table)
        run.add_rejects(opened.rejects())
        metrics = {called: run.metrics(called) for called in self.queries}
        if self.strict:
            for called, counts in metrics.items():
                refuse_rules_above_one(self.queries[called], counts.rules_above_one)
        tables = {called: joined(run.schema_of(called), parts) for called, parts in rows.items()}
        self.sink(Round(self._number, tables, run.take_rejects(), metrics))
        self._number += 1
        self._remember(run)

    def _remember(self, run: StreamRun) -> None:
        if self.checkpoint is None:
            return
        inputs = {name: stream.position() for name, stream in self._inputs.items()}
        state = pack({"round": self._number, "inputs": inputs, "run": run.state()})
        target = self.checkpoint.folder / _STATE
        partial = target.with_name(f".{_STATE}.partial")
        try:
            with open(partial, "wb") as file:
                file.write(state)
                file.flush()
                os.fsync(file.fileno())
            partial.replace(target)
        except OSError as error:
            raise StateError(
                f"cannot write the checkpoint {self.checkpoint.folder}: {error.strerror}"
            ) from error


__all__ = ["Follow"]
