"""The tasks that the page of ten tasks shows, held against the installed lm-eval."""

from __future__ import annotations

import re
from pathlib import Path

import yaml

from tests.bench.peers.tasks.agree import prepared
from tests.interchange.tools import LM_EVAL, lm_eval_python
from tests.moving.agreement import Compared, compare
from tripos.importing.tasks.lm_eval import read_task, spec_of

PAGE = Path(__file__).parents[2] / "docs/reference/interchange.md"
SECTION = re.compile(
    r"^#### (?P<name>\w+)\n\n`(?P<path>\S+)`\..*?^```yaml fragment\n(?P<task>.*?)^```\n\n^```tripos fragment\n(?P<spec>.*?)^```",
    re.MULTILINE | re.DOTALL,
)
SECTIONS = {each["name"]: each for each in SECTION.finditer(PAGE.read_text("utf-8"))}


def test_the_page_has_ten_tasks_and_each_of_lm_eval_is_shown() -> None:
    rows = re.findall(
        r"^\| \[\w+\]\(([^)]+)\) \| (lm-eval|Inspect|promptfoo) \|", PAGE.read_text("utf-8"), re.MULTILINE
    )
    assert len(rows) == 10
    assert {place.removeprefix("#") for place, tool in rows if tool == "lm-eval"} == set(SECTIONS)
    assert LM_EVAL.name in PAGE.read_text("utf-8")


def test_each_line_is_that_of_the_task_and_of_its_import_and_both_programs_agree(tmp_path: Path) -> None:
    python = lm_eval_python()
    [folder] = (Path(python).parents[1] / "lib").glob("python*/site-packages/lm_eval/tasks")
    tasks: dict[str, Compared] = {}
    for name, section in SECTIONS.items():
        task = read_task(folder / section["path"])
        assert task.name == name
        for key, value in yaml.safe_load(section["task"]).items():
            there = task.get(key)
            kept = {each: there[each] for each in value} if isinstance(value, dict) else there
            assert kept == value, (name, key)
        made = spec_of(task, (tmp_path,))
        assert made.is_complete
        lines = {" ".join(line.split()) for line in made.text.splitlines()}
        lacking = [line for line in section["spec"].splitlines() if " ".join(line.split()) not in lines]
        assert lacking == [], name
        compared = prepared(task, tmp_path / name)
        assert compared is not None
        tasks[name] = compared
    assert compare(tasks, python, tmp_path) == {name: [] for name in tasks}
    assert sum((value or 0) > 0 for each in tasks.values() for value in each.figures.values()) >= len(tasks)
