"""TeachBench's lessons and sittings: how many there are, who is asked what, and that what a student learns is found.

Questions that were placed in a syllabus and worked examples stand in files here, in place of those that models make.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from math import comb
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from tests.conftest import Command
from tripos.cli.main import run_command
from tripos.runs.compilation import find_spec
from tripos_compiler.plan import Plan
from tripos_runtime.datasets.cases import CaseSource, planned_calls
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.models.mocks import Student
from tripos_runtime.program.binding import bind
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

SPECS = Path(__file__).parent.parent / "specs" / "teachbench"
SUBJECTS = ("mathematics", "physics", "chemistry", "biology", "history", "geography", "politics")
QUESTIONS, TEACHERS = 1089, 12
ITEMS = 16
"""Questions of the run that most tests look at."""
TAGGED = f"""\
axis subject {{ {", ".join(SUBJECTS)} }}
dataset question from "questions.jsonl" {{
  subject
  stem       text secret
  A          text secret
  B          text secret
  C          text secret
  D          text secret
  answer     choice(A, B, C, D) secret
  knowledge  list<path>
}}
"""
EXAMPLES = """\
dataset example from "examples.jsonl" { point path, statement text, answer text, solution text }
"""
STUDENT = "mock/student-40-30"
ROLES = ("--role", f"student={STUDENT}")


def question(number: int) -> dict[str, Any]:
    """Return a sum, with the right answer at one of four places."""
    one, other = 11 + 7 * number, 3 + number % 17
    options = [str(one + other + step) for step in (0, 1, 2, 10)]
    place = number % 4
    options[0], options[place] = options[place], options[0]
    return {
        "subject": SUBJECTS[number % 7],
        "stem": f"{one} + {other} = ?",
        **dict(zip("ABCD", options, strict=True)),
        "answer": "ABCD"[place],
        "knowledge": [f"数与运算 / 加法 / 第{number % 5}类"],
    }


def write(folder: Path, count: int, sittings: int = 64) -> None:
    """The benchmark with so many questions, and sittings after a lesson."""
    for name in ("teachbench", "lessons", "tables", "wording", "../common/choices"):
        text = (SPECS / f"{name}.tripos").read_text("utf-8").replace('"../common/', '"')
        text = re.sub(r"samples +64\b", f"samples {sittings}", text)
        if sittings < 64:
            text = re.sub(r"^ *published .*?^ *}\n", "", text, flags=re.DOTALL | re.MULTILINE)
            text = "\n".join(
                line for line in text.splitlines() if not re.search(r"(pass|gain|best)_at_(first_)?(16|64)", line)
            )
        (folder / Path(f"{name}.tripos").name).write_text(text, "utf-8")
    (folder / "questions_validation.tripos").write_text("# They are tagged already.\n", "utf-8")
    (folder / "tagging.tripos").write_text(TAGGED, "utf-8")
    (folder / "examples.tripos").write_text(EXAMPLES, "utf-8")
    rows(folder / "questions.jsonl", [question(number) for number in range(count)])
    rows(
        folder / "examples.jsonl",
        [
            {
                "point": f"数与运算 / 加法 / 第{kind}类",
                "statement": f"例题{kind}",
                "answer": "略",
                "solution": "先算个位。",
            }
            for kind in range(5)
        ],
    )


def rows(path: Path, found: Sequence[dict[str, Any]]) -> None:
    path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in found), "utf-8")


def compiled(folder: Path) -> tuple[Plan, CaseSource]:
    found = find_spec(str(folder / "teachbench.tripos"), [])
    compilation = found.compile()
    assert compilation.diagnostics == ()
    assert compilation.plan is not None
    return compilation.plan, CaseSource(
        compilation.plan, found.folders, tuple(each.path for each in compilation.sources)
    )


def ask(tripos: Command, query: str) -> list[dict[str, Any]]:
    answer = tripos("sql", query, "-o", "answer.json")
    assert answer.code == 0, answer.err
    found: list[dict[str, Any]] = json.loads(Path("answer.json").read_text("utf-8"))
    return found


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_spec_that_ships_is_well_formed() -> None:
    for name in ("teachbench", "test_split", "transfer"):
        found = find_spec(str(SPECS / f"{name}.tripos"), []).compile()
        assert found.diagnostics == ()


def test_the_answers_of_a_whole_benchmark_are_counted_exactly(folder: Path) -> None:
    write(folder, QUESTIONS)
    plan, source = compiled(folder)
    counted = {(count.step, *sorted(arm["teaching"] for arm in count.arms)): count for count in plan.calls}
    untaught = counted["sitting", "none"], counted["sitting", "knowledge"]
    taught = counted["sitting", "lesson"], counted["sitting", "lesson_with_examples"]
    assert {(each.least, each.calls, each.most) for each in untaught} == {(QUESTIONS * 64,) * 3}
    assert {(each.calls, each.most) for each in taught} == {(QUESTIONS * 3 * 64,) * 2}
    # An arm in which no teacher takes part is asked once, whoever teaches in the others.
    assert {each.times for each in untaught} == {()}
    assert {each.times for each in taught} == {("teacher",)}
    assert QUESTIONS * TEACHERS * 3 * 64 == 2_509_056
    models = [f"openai/teacher-{number}" for number in range(TEACHERS)]
    binding = bind(plan, models, {"student": ("openai/student",)})
    numbers = {role: len(names) for role, names in binding.models.items()}
    planned = planned_calls(plan, source.counts(Selection()), numbers)["learning_gain"]
    lessons = QUESTIONS * 3 * TEACHERS * 2  # three sessions in two arms, of fifteen turns of each side at most
    assert planned["teacher"] == 15 * lessons
    assert planned["student"] == 15 * lessons + 2 * 2_509_056 + 2 * QUESTIONS * 64


def test_a_plan_tells_the_count_to_whoever_asks(folder: Path, tripos: Command) -> None:
    write(folder, QUESTIONS)
    shown = tripos("plan", "teachbench.tripos")
    assert shown.code == 0
    lines = [" ".join(line.split()) for line in shown.out.splitlines()]
    assert f"teaching none 0 {QUESTIONS * 64:,}" in lines


@dataclass(frozen=True)
class Finished:
    """A run by two teachers: what it said, and what is in its store."""

    folder: Path
    report: dict[str, Any]

    def ask(self, query: str) -> list[tuple[Any, ...]]:
        """Return the rows of a query."""
        with connect(Store.open(self.folder / "results", create=False)) as connection:
            return connection.execute(query).fetchall()


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Finished:
    folder = tmp_path_factory.mktemp("teachbench")
    write(folder, ITEMS, sittings=4)
    store = ["--store", str(folder / "results")]
    spec = str(folder / "teachbench.tripos")
    heard = io.StringIO()
    with redirect_stdout(heard), redirect_stderr(heard):
        code = run_command(["run", spec, "--model", "mock/teacher:a,mock/teacher:b", *ROLES, *store])
    assert code == 0, heard.getvalue()
    told = io.StringIO()
    with redirect_stdout(told):
        assert run_command(["report", "--json", *store]) == 0
    return Finished(folder, json.loads(told.getvalue()))


@pytest.mark.long
def test_arms_without_a_teacher_run_once_and_not_once_a_teacher(finished: Finished) -> None:
    samples = finished.ask("select step, count(*) from main.samples group by all")
    assert dict(samples) == {"talk": ITEMS * 2 * 2 * 3, "sitting": ITEMS * 2 * (4 + 2 * 3 * 4)}
    # They stand under every teacher, who is measured against them.
    scores = finished.ask(
        "select model, teaching, count(*) from teachbench.scores where metric = 'correct' group by all"
    )
    assert {(model, str(arm)): count for model, arm, count in scores} == {
        (f"mock/teacher:{name}", arm): ITEMS * 4 * (1 if arm in ("none", "knowledge") else 3)
        for name in "ab"
        for arm in ("none", "knowledge", "lesson", "lesson_with_examples")
    }


def test_no_message_to_a_teacher_has_the_question(finished: Finished) -> None:
    told = finished.ask("select messages || reply from main.samples where step = 'talk'")
    assert len(told) == ITEMS * 2 * 2 * 3
    assert not any(question(number)["stem"] in text for (text,) in told for number in range(ITEMS))


def test_the_examples_are_told_in_their_arm_alone(finished: Finished) -> None:
    told = finished.ask(
        "select teaching, bool_and(messages like '%例题%'), bool_or(messages like '%例题%')"
        " from main.samples join teachbench.conversations on sample_id = conversation_id group by all order by 1"
    )
    assert [(str(arm), every, some) for arm, every, some in told] == [
        ("lesson", False, False),
        ("lesson_with_examples", True, True),
    ]


def test_lessons_end_when_the_teacher_says_so(finished: Finished) -> None:
    ended = finished.ask("select distinct ended, ended_by from teachbench.conversations")
    assert ended == [("said", "teacher")]
    lengths = finished.ask("select min(turns), max(turns) from teachbench.conversations")
    assert [1 <= least <= most <= 30 for least, most in lengths] == [True]


def test_a_run_finds_what_a_student_knows_and_learns(finished: Finished) -> None:
    found = {
        (measure["name"].partition(".")[2], row["model"], row["teaching"]): (row["low"], row["high"])
        for measure in finished.report["measures"]
        for row in measure["rows"]
        if "teaching" in row and "subject" not in row
    }
    student = Student(STUDENT, 0.4, 0.3)
    gain = student.rate * (1 - student.ability)
    for teacher in ("mock/teacher:a", "mock/teacher:b"):
        for name, arm, truth in (
            ("pass_at_1", "none", student.ability),
            ("gain", "lesson", gain),
            ("gain", "lesson_with_examples", gain),
        ):
            low, high = found[name, teacher, arm]
            assert low <= truth <= high
            assert high - low < 0.5


def test_an_unreadable_answer_is_wrong_where_the_spec_says_so_and_a_status_elsewhere(
    folder: Path, tripos: Command
) -> None:
    write(folder, 1, sittings=4)
    run = tripos("run", "teachbench.tripos", "--model", "mock/teacher", "--role", "student=mock/broken-json")
    assert run.code == 0, run.err
    query = "select distinct metric, status, value from teachbench.scores where metric like 'correct%' order by 1"
    assert [(row["metric"], row["status"], row["value"]) for row in ask(tripos, query)] == [
        ("correct", "scored", 0.0),
        ("correct_if_read", "parse_failure", None),
    ]


@pytest.mark.long
def test_what_the_teacher_says_of_a_question_is_flagged(
    folder: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(folder, 1, sittings=4)
    said = f"我们来看：{question(0)['stem']}\nTEACH DONE\n\n" + 5 * "好。TEACH DONE\n\n"
    monkeypatch.setattr("sys.stdin", io.StringIO(said))
    taught = tripos("teach", "teachbench.tripos", "--name", "anna", *ROLES)
    assert taught.code == 0, taught.err
    found = ask(tripos, "select value, sample_id from teachbench.scores where metric = 'echo' order by value desc")
    assert [row["value"] for row in found] == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert "flagged 1" in tripos("show", found[0]["sample_id"]).out


PAGE = SPECS.parents[1] / "docs/benchmarks/teachbench.md"


def test_the_best_of_three_lessons_is_that_of_each_question(folder: Path, tripos: Command) -> None:
    """The page's own example, computed again from its sittings."""
    blocks = re.findall(r"^```\w+ (\S+)\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    for name, text in dict(reversed(blocks)).items():
        (folder / name).write_text(text, "utf-8")
    spec = (folder / "lessons.tripos").read_text("utf-8")
    best_at_4 = "measure best_at_4 = pass_at(4, correct, conversations: best, missing: paired) by teaching"
    (folder / "lessons.tripos").write_text(spec.replace("  measure gain", f"  {best_at_4}\n  measure gain"), "utf-8")
    models = "mock/teacher:a,mock/teacher:b"
    run = ("run", "lessons.tripos", "--model", models, "--role", "student=mock/student-40-30", "--json")
    assert tripos(*run).code == 0
    sittings = ask(
        tripos,
        """select model, teaching::varchar as teaching, item_id, sample_number, value from lessons.scores
        join (select distinct sample_id, sample_number from main.samples) using (sample_id) where metric = 'correct'""",
    )
    shown = {each["name"].partition(".")[2]: each["rows"] for each in tripos("report", "--json").data["measures"]}
    for k in (1, 4):
        lessons: dict[tuple[str, str], dict[str, dict[int, list[float]]]] = {}
        for row in sittings:
            number = row["sample_number"] % 3 if row["teaching"].startswith("lesson") else 0
            items = lessons.setdefault((row["model"], row["teaching"]), {})
            items.setdefault(row["item_id"], {}).setdefault(number, []).append(row["value"])
        best = {
            key: fmean(max(chance(k, values) for values in each.values()) for each in items.values())
            for key, items in lessons.items()
        }
        told = {(row["model"], row["teaching"]): row["value"] for row in shown[f"best_at_{k}"]}
        assert told == pytest.approx(best)
        usual = {(row["model"], row["teaching"]): row["value"] for row in shown[f"pass_at_{k}"]}
        assert all(told[key] >= usual[key] for key in told)
        assert told != usual


def chance(k: int, values: list[float]) -> float:
    """Return the chance that one at least of k of these is right."""
    return 1 - comb(len(values) - round(sum(values)), k) / comb(len(values), k)
