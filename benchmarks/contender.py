"""One contender in a process of its own: `python -m benchmarks.contender TASK`, the task as JSON.

It warms up on a small part of the data first (imports, compiled kernels, thread pools), which is
not timed, then answers `repeats` times. It prints the seconds of each and the peak memory, and
writes the last answer to a file if it is told to.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import pyarrow.feather

from benchmarks.measure import peak_memory
from benchmarks.rivals import CONTENDERS, Question
from benchmarks.rivals.answers import compared


def main(task: dict[str, Any]) -> dict[str, Any]:
    answer_to = CONTENDERS[task["contender"]]
    question = Question(**task["question"])
    answer_to(Question(**(task["question"] | {"files": task["warm_up"]})))
    before = peak_memory()
    seconds = []
    for _ in range(task["repeats"]):
        started = time.perf_counter()
        answer = answer_to(question)
        seconds.append(time.perf_counter() - started)
    result = {"seconds": seconds, "peak": peak_memory(), "before": before, "rows": len(answer)}
    if task.get("out"):
        pyarrow.feather.write_feather(compared(answer, question.by), task["out"])
    return result


if __name__ == "__main__":
    print(json.dumps(main(json.loads(sys.argv[1]))))
