"""One system in a process and an environment of its own: `python -m benchmarks.rivals.child TASK`.

The task is JSON: a module `with_...` and a list of items, each a formulation and a question. What
happened to each is told as one line of JSON as soon as it is known, so whoever waits can tell which
one takes too long. An item begins with a small question, which warms everything up and whose answer
is compared; only then the clock runs. It is asked again while that costs little, and every time
counts. Here only the standard library, pyarrow and the system itself can be imported.
"""

from __future__ import annotations

import json
import platform
import sys
import time
from importlib import import_module, metadata
from typing import Any

from benchmarks.rivals.question import Timed, asked


def formulations(module: str) -> dict[str, Any]:
    """All that a module can be asked, by name; a module may know one name for either question."""
    system = import_module(f"benchmarks.rivals.{module}")
    kinds = ("CRESTLINE", "PANES_FIRST", "OBVIOUS", "LIMIT", "EVERY_RECORD")
    return {kind: getattr(system, kind, {}) for kind in kinds}


def answered(module: str, item: dict[str, Any]) -> dict[str, Any]:
    """Ask once what is small, then what is asked, as often as the item says."""
    ask = formulations(module)[item["kind"]][item["name"]]
    _keep(_untimed(ask(asked(item["check"]))), item["check"], item.get("check_out"))
    question = asked(item["question"])
    seconds: list[float] = []
    while len(seconds) < item.get("at_least", 1) or (
        len(seconds) < item["repeats"] and sum(seconds) < item["budget"]
    ):
        began = time.perf_counter()
        answer = ask(question)
        took = time.perf_counter() - began
        seconds.append(answer.seconds if isinstance(answer, Timed) else took)
    answer = _untimed(answer)
    _keep(answer, item["question"], item.get("out"))
    return {"name": item["name"], "seconds": seconds, "result_rows": len(answer)}


def _untimed(answer: Any) -> Any:
    return answer.table if isinstance(answer, Timed) else answer


def _keep(answer: Any, question: dict[str, Any], out: str | None) -> None:
    if out:
        from pyarrow import feather

        from benchmarks.rivals.answers import comparable

        feather.write_feather(comparable(answer, asked(question)), out)


def main(task: dict[str, Any]) -> None:
    versions = {name: metadata.version(name) for name in task.get("packages", ())}
    _tell({"python": platform.python_version(), "versions": versions})
    for item in task["items"]:
        try:
            _tell(answered(task["module"], item))
        except Exception as error:  # whatever a system throws is its answer
            _tell({"name": item["name"], "error": reason(error)})


def reason(error: BaseException) -> str:
    """One line of why: of a Java stack trace the deepest cause.

    >>> reason(ValueError("it failed\\n  at java\\nCaused by: the disk\\n  at more java"))
    'ValueError: the disk'
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [""]
    causes = [line for line in lines if line.startswith("Caused by: ")]
    told = causes[-1].removeprefix("Caused by: ") if causes else lines[0]
    return f"{type(error).__name__}: {told}"[:300]


def _tell(line: dict[str, Any]) -> None:
    print(json.dumps(line), file=_OUT, flush=True)


#: What systems print themselves goes to stderr.
_OUT = sys.stdout

if __name__ == "__main__":
    sys.stdout = sys.stderr
    main(json.loads(sys.argv[1]))
