"""Tasks of lm-eval that are drawn at random, over rows that are made up: the same prompts and figures as in lm-eval.

What differs is told as approximate by the report of the import. Without lm-eval it is skipped
(tests/interchange/tools.py).
"""

from __future__ import annotations

from pathlib import Path

from tests.bench.peers.tasks.agree import approximations, sampled
from tests.interchange.tools import lm_eval_python
from tests.lengths import sized
from tests.moving.agreement import compare

SEED = 2
LEAST_AGREEING = 0.9


def test_sampled_tasks_agree_with_lm_eval_or_the_report_tells_what_differs(tmp_path: Path) -> None:
    python = lm_eval_python()
    [folder] = (Path(python).parents[1] / "lib").glob("python*/site-packages/lm_eval/tasks")
    tasks = sampled(folder, SEED, sized(10, 40), tmp_path)
    found = compare(tasks, python, tmp_path)
    assert {name: each for name, each in found.items() if each and not approximations(tasks[name])} == {}
    assert sum(not each for each in found.values()) >= LEAST_AGREEING * len(tasks) >= 1
