"""Tasks of lm-eval over rows of a script: what is asked, and what the task's own scorer says of replies."""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parents[2] / "moving"))

from harness import task_of

Reply = Callable[[int, str, list[str]], list[Any]]
"""What a model says: the number of a row, the text, and the options after it; a reply or likelihoods for each."""


def verdicts(path: str, rows: Mapping[str, Sequence[Mapping[str, Any]]], reply: Reply, shots: int | None = None) -> Any:
    """Return for each row the text that lm-eval sends, the options, the replies, and the scores after each filter.
    `path` is that of a task below lm_eval's folder of tasks."""
    spec = find_spec("lm_eval")
    assert spec is not None and spec.submodule_search_locations is not None
    place = Path(spec.submodule_search_locations[0], "tasks", path)
    task = task_of({"path": str(place), "rows": rows, "shots": shots})
    grouped = defaultdict(list)
    for each in task.instances:
        grouped[each.doc_id].append(each)
    found = []
    for number, some in sorted(grouped.items()):
        some.sort(key=lambda each: each.idx)
        text = some[0].args[0]
        options = [each.args[1] for each in some] if task.OUTPUT_TYPE != "generate_until" else []
        said = reply(number, text, options)
        for each, one in zip(some, said, strict=True):
            each.resps = [one]
        found.append({"number": number, "text": text, "options": options, "said": said})
    task.apply_filters()
    for each, some in zip(found, (grouped[number] for number in sorted(grouped)), strict=True):
        each["scores"] = {
            name: task.process_results(some[0].doc, [one.filtered_resps[name] for one in some])
            for name in some[0].filtered_resps
        }
    return found
