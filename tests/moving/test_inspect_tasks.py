"""Tasks of Inspect as specs: the same messages, the same scores, and holes where there is no counterpart."""

from __future__ import annotations

import json
import math
import subprocess
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.field.running import figures_in
from tests.interchange.tools import inspect_python
from tripos.importing.spec_text import ImportedTask
from tripos.importing.tasks import inspect_scorers
from tripos.importing.tasks.inspect import inspect_spec, read_inspect_task

TASKS = Path(__file__).parents[1] / "data" / "inspect_tasks"
REPLY = "ANSWER: A\nGRADE: C"


def told(name: str) -> dict[str, Any]:
    """Return what Inspect said of a task."""
    found: dict[str, Any] = json.loads((TASKS / f"{name}.json").read_text("utf-8"))
    return found


def hows(made: ImportedTask) -> dict[str, str]:
    """Return how each part was translated."""
    return {each.part: each.how for each in made.notes}


SCORERS: Mapping[str, Callable[[str, list[str], Mapping[str, Any]], float]] = {
    "includes": lambda reply, targets, given: inspect_scorers.includes_target(
        reply, targets, given.get("ignore_case", True)
    ),
    "match": lambda reply, targets, given: inspect_scorers.matches_target(
        reply, targets, given["location"], given["ignore_case"], given["numeric"]
    ),
    "exact": lambda reply, targets, _: inspect_scorers.same_words(reply, targets),
    "f1": lambda reply, targets, _: inspect_scorers.shared_words(reply, targets),
    "answer": lambda reply, targets, given: inspect_scorers.answers(reply, targets, given["pattern"]),
    "pattern": lambda reply, targets, given: inspect_scorers.finds(
        reply, targets, given["pattern"], given["ignore_case"], given["match_all"]
    ),
    "choice": lambda reply, targets, given: inspect_scorers.chooses(reply, targets, 4, given["several"]),
}


def test_scores_are_those_of_inspect_for_odd_replies() -> None:
    cases = json.loads((TASKS / "scores.json").read_text("utf-8"))
    wrong = [case for case in cases if float(SCORERS[case[0]](case[2], case[3], case[1])) != case[4]]
    assert (wrong, {case[0] for case in cases}) == ([], set(SCORERS))
    assert len({case[4] for case in cases}) > 2


@pytest.mark.parametrize(
    ("said", "menu", "own", "value"),
    [
        ("GRADE: C\nGRADE: I", "CI", False, 0.0),
        ("grade : correct.", "CI", False, 1.0),
        ("GRADE: P", "CPI", False, 0.5),
        ("GRADE: P", "CI", False, None),
        ("GRADE: CI", "CI", False, None),
        ("GRADE: CI", "CPI", True, 1.0),
        ("downgrade: C", "CI", False, None),
        ("", "CI", False, None),
    ],
)
def test_the_last_grade_of_the_menu_counts(said: str, menu: str, own: bool, value: float | None) -> None:
    assert inspect_scorers.grade(said, menu, own) == value


@pytest.mark.parametrize("name", ["sums", "letters", "words"])
def test_a_spec_sends_what_the_task_sends(name: str, tmp_path: Path) -> None:
    task = told(name)
    made = inspect_spec(task, "lessons.py")
    assert made.is_complete and hows(made)["solvers"] == "exactly"
    sent: list[tuple[str, ...]] = []

    def answers(messages: list[str]) -> str:
        sent.append(tuple(messages))
        return REPLY

    graded = {"grader": answers} if "role grader" in made.text else {}
    figures_in(tmp_path, made.text, made.files, answers, graded)
    wanted = [tuple(message["content"] for message in call) for calls in task["calls"].values() for call in calls]
    many = task["epochs"] if task["epochs"] > 1 else 1
    assert sorted(sent) == sorted(wanted * many)


def test_other_messages_than_those_of_the_task_are_told() -> None:
    task = told("letters")
    task["calls"]["1"][0][0]["content"] += "!"
    assert hows(inspect_spec(task, "lessons.py"))["solvers"] == "approximately"
    task["calls"], task["failed"] = {}, "it needs a key"
    [note] = [each for each in inspect_spec(task, "lessons.py").notes if each.part == "solvers"]
    assert (note.how, note.why) == ("approximately", "the messages were not compared: it needs a key")


def test_what_has_no_counterpart_is_a_hole_with_its_original() -> None:
    made = inspect_spec(told("own"), "lessons.py")
    assert not made.is_complete
    assert "# HOLE: the solvers of the task:" in made.text and "state.user_prompt.text.upper()" in made.text
    task = told("words")
    task["scorers"][1] = {"name": "lab/tone", "params": {}, "source": "def tone():\n    ...", "metrics": ["grouped"]}
    task["config"] = {"logit_bias": {"1": 2}, "max_tokens": 9}
    task["reducers"] = ["median"]
    made = inspect_spec(task, "lessons.py")
    assert {part for part, how in hows(made).items() if how == "not"} == {
        "scorer tone", "metrics of tone", "setting logit_bias", "epochs",
    }  # fmt: skip
    assert "# HOLE: a scorer of the task: def tone():" in made.text and "max_tokens 9" in made.text


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda task: task["samples"][0].update(files=True), "samples with files or a sandbox"),
        (lambda task: task.update(sandbox=True), "a sandbox, or tools that somebody approves"),
        (lambda task: task["samples"][0].update(input="?"), "samples that begin with a chat of several turns"),
        (
            lambda task: task["samples"][0]["input"][1].update(content=None),
            "samples with images, recordings or calls of tools",
        ),
        (
            lambda task: task["solvers"].insert(0, {"name": "inspect_ai/basic_agent", "params": {}}),
            "the solver `basic_agent`",
        ),
        (lambda task: task.update(solvers=[]), "a chain that asks nothing"),
    ],
)
def test_a_hole_says_what_is_lacking(change: Callable[[dict[str, Any]], object], why: str) -> None:
    task = told("words")
    change(task)
    [note] = [each for each in inspect_spec(task, "lessons.py").notes if each.how == "not"]
    assert (note.part, note.why) == ("solvers", why)


PROGRAM = """
import json, sys
sys.path.insert(0, sys.argv[1])
import lessons, inspect_ai
from inspect_ai.model import get_model, ModelOutput, ModelUsage
replies = json.loads(sys.argv[3])

def answer(messages, *_):
    text = "\\n".join(each.text for each in messages)
    output = ModelOutput.from_content(model="mockllm/model", content=replies[sum(map(ord, text)) % len(replies)])
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output

[log] = inspect_ai.eval(getattr(lessons, sys.argv[2])(), model=get_model("mockllm/model", custom_outputs=answer),
                        display="none", log_dir=sys.argv[4])
found = {}
for score in log.results.scores:
    found.setdefault(score.name, []).append(score.metrics.get("accuracy", score.metrics.get("mean")).value)
print(json.dumps(found))
"""
REPLIES = {
    "sums": [
        "0 and 2.\nANSWER: 2",
        "4, 6, 8, 10\nANSWER: 10",
        "12 14",
        "GRADE: C",
        "GRADE: P",
        "GRADE: I",
        "",
        "ANSWER: 0",
    ],
    "letters": ["ANSWER: A", "answer: a, c", "ANSWER: B and C.", "**C**", "ANSWER: C\n", "ANSWER: D", "ANSWER: AC"],
    "words": ["The co-op", "A river!", "river", "the co op, yes", "a river", "co-op"],
}


@pytest.mark.parametrize("name", ["sums", "letters", "words"])
def test_figures_are_those_of_inspect_on_the_same_replies(name: str, tmp_path: Path) -> None:
    python = inspect_python()
    command = [python, "-B", "-c", PROGRAM, str(TASKS), name, json.dumps(REPLIES[name]), str(tmp_path / "logs")]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    theirs: dict[str, list[float]] = json.loads(ended.stdout.strip().splitlines()[-1])
    made = inspect_spec(read_inspect_task(TASKS / "lessons.py", name, Path(python), {}), "lessons.py")

    def answers(messages: list[str]) -> str:
        return REPLIES[name][sum(map(ord, "\n".join(messages))) % len(REPLIES[name])]

    figures = figures_in(
        tmp_path / "spec", made.text, made.files, answers, {"grader": answers} if "grader" in made.text else {}
    )
    ours = defaultdict(list)
    for measure, [row] in figures.rows.items():
        ours[measure.removeprefix("mean_")].append(math.nan if row.value is None else row.value)
    assert {name: pytest.approx(values, abs=1e-9, nan_ok=True) for name, values in theirs.items()} == ours
    assert any(0 < value < 1 for values in theirs.values() for value in values)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "is a program, and only running it tells what the task is"),
        (("--run-python", "--python", "nowhere/python"), "`nowhere/python` cannot be run"),
        (("--run-python", "--shots", "2"), "`--shots` is for a task of the Harness"),
        (("--run-python", "--argument", "hint"), "`--argument hint` has no value"),
        (("--python", "python3"), "`--python` needs `--run-python`"),
    ],
)
def test_a_module_is_run_only_if_the_user_says_so(
    words: tuple[str, ...], said: str, tmp_path: Path, tripos: Command
) -> None:
    done = tripos("import", "task", str(TASKS / "lessons.py"), "-o", str(tmp_path / "out"), *words)
    assert (done.code, said in " ".join(done.err.split())) == (2, True), done.err
    assert not (tmp_path / "out").exists()


def test_a_module_without_inspect_says_what_to_do(tmp_path: Path, tripos: Command) -> None:
    (tmp_path / "task.py").write_text("import nothing_of_that_name\n", "utf-8")
    done = tripos("import", "task", str(tmp_path / "task.py"), "--run-python", "-o", str(tmp_path / "out"))
    assert done.code == 2 and "install what it needs into a Python" in " ".join(done.err.split())
    assert tripos("import", "task", str(tmp_path / "none.py"), "--run-python").code == 2


def test_a_task_is_imported_by_the_command(tmp_path: Path, tripos: Command) -> None:
    words = ("import", "task", str(TASKS / "lessons.py"), "--run-python", "--python", inspect_python())
    several = tripos(*words)
    assert several.code == 2 and "tasks: letters, own, sums, words" in " ".join(several.err.split())
    assert "did you mean `sums`?" in tripos(*words, "--task", "sum").err
    done = tripos(*words, "--task", "sums", "--argument", "hint=count", "-o", str(tmp_path / "out"))
    assert done.code == 0, done.err
    assert "the messages of 8 samples are equal" in done.out
    assert "Hint: count" in (tmp_path / "out" / "sums.tripos").read_text("utf-8")
    assert tripos("check", str(tmp_path / "out")).code == 0
    assert tripos(*words, "--task", "own", "-o", str(tmp_path / "own")).code == 1
