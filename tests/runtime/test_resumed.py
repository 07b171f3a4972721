"""A run that was killed and goes on sends what a run sends that never was: what is kept is read back as it arrived."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.generated_specs import generate
from tests.lengths import spread
from tests.plan_exactness import Benchmark, CountingCaller, LoggedLedger
from tests.runtime.in_memory import MemoryLedger
from tests.runtime.small_runs import Row, SmallRun, run_small
from tripos_compiler.plan import MODEL_DEFAULTS, IntegerType
from tripos_runtime.asking.ledger import KEY_COLUMNS
from tripos_runtime.asking.plan_questions import reply_reader
from tripos_runtime.asking.questions import Question
from tripos_runtime.asking.replies import answer_of
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.models.base import ModelError, Request

SPEC = """\
benchmark lessons "1.0.0" { languages en }
role candidate compared
role student
role judge
dataset item from "items.jsonl" { topic text }
scorer fair(exam: text, result: text) by judge { prompt "Is it fair? {{ exam }} {{ result }}", gives 1..5 }
scenario lesson {
  over item
  converse talk {
    candidate { system "Teach {{ item.topic }}." }
    student { system "Learn." }
    opens candidate
    until candidate says "bye"
    limit 9 turns
  }
  ask exam by student {
    continue talk
    prompt "What is it?"
    returns 1..9
  }
  ask review by candidate { prompt "Look at this: {{ exam.prompt }} {{ exam.text }}" }
  score fine = fair(exam.prompt, exam.text) > 2 and words(review.text) > 1
}
"""
FILES = {"items.jsonl": [{"topic": "sums"}, {"topic": "angles"}]}
CONTEXT = 90
"""More characters than that the student does not take."""


def forgetful(request: Request) -> str | ModelError:
    """Return a student who takes little, and replies in no form that was asked for before it is asked once more."""
    last = request.messages[-1].content
    if "could not be used" in last:
        return '{"value": 4}'
    if "What is it?" in last:
        size = sum(len(message.content) for message in request.messages[:-1])
        return ModelError("R0107", "too long", "") if size > CONTEXT else "four"
    if "Is it fair?" in last:
        return '{"value": 3}'
    return f"said {len(request.messages)} and more of that"


def lesson(folder: Path, before: SmallRun | None = None) -> SmallRun:
    return run_small(folder, SPEC, FILES, script=forgetful, before=before, student="s", judge="j")


def without(run: SmallRun, lost: Callable[[str, Row], bool]) -> SmallRun:
    """Return a run as it stood when some of its rows were not yet kept; nothing that follows from replies was,
    either."""
    ledger = MemoryLedger()
    for table, rows in run.ledger.kept.items():
        if table not in ("scores", "run_items", "items"):
            ledger.keep({table: [row for row in rows if not lost(table, row)]})
    return dataclasses.replace(run, ledger=ledger)


def is_step(*steps: str) -> Callable[[str, Row], bool]:
    return lambda table, row: (table == "samples" and row["step"] in steps) or table == "judgements"


@pytest.mark.parametrize(
    "lost",
    [
        is_step("review"),
        is_step("review", "exam"),
        is_step("review", "exam", "talk"),
        lambda table, row: is_step("review", "exam", "talk")(table, row) or (table == "turns" and row["number"] > 4),
        lambda table, row: is_step("review", "exam")(table, row) or table == "drafts",
    ],
    ids=["after the exam", "after its first reply", "before the end of the talk", "in the talk", "before the exam"],
)
def test_later_steps_are_sent_the_same_after_a_kill(tmp_path: Path, lost: Callable[[str, Row], bool]) -> None:
    fresh = lesson(tmp_path / "fresh")
    shortened = [row for row in fresh.table("samples") if row["step"] == "exam"]
    assert all("said 5" not in row["messages"] for row in shortened), "turns in the middle are left out"
    resumed = lesson(tmp_path / "resumed", without(fresh, lost))
    for table in ("samples", "judgements"):
        assert sent(resumed, table) == sent(fresh, table)
    for model in resumed.callers:
        assert set(resumed.sent(model)) <= set(fresh.sent(model))
    assert sum(resumed.asked.values()) < sum(fresh.asked.values())


def sent(run: SmallRun, table: str) -> dict[str, tuple[str, str]]:
    return {row[KEY_COLUMNS[table]]: (row["messages"], row["reply"]) for row in run.table(table)}


@pytest.mark.parametrize("seed", spread(range(0, 24, 2), 4))
def test_generated_benchmarks_end_alike_wherever_they_were_cut(seed: int, tmp_path: Path) -> None:
    bench = Benchmark(generate(seed, tmp_path))
    whole = LoggedLedger()
    asked = requests(bench.run(whole, bench.bound(), Selection()))
    for share in (0.2, 0.5, 0.8):
        ledger = whole.cut(share)
        assert requests(bench.run(ledger, bench.bound(), Selection())) <= asked
        assert contents(ledger) == contents(whole)


def requests(callers: dict[str, CountingCaller]) -> set[tuple[object, ...]]:
    # Vectors go in batches, as they come.
    every = [caller for name, caller in callers.items() if name != "mock/embedding"]
    return {(each.model, each.messages, str(each.schema), each.number) for one in every for each in one.asked}


def contents(ledger: MemoryLedger) -> dict[str, dict[str, tuple[object, ...]]]:
    """Return what every row says, but for when it was made and by which attempts."""
    columns = ("messages", "reply", "parsed", "status", "error", "text", "value", "item_id", "rejections")
    return {
        table: {row[key]: tuple(row.get(column) for column in columns) for row in ledger.table(table)}
        for table, key in KEY_COLUMNS.items()
        if table != "drafts"
    }


def test_a_kept_row_is_the_answer_that_it_was() -> None:
    row = {
        "status": "ok",
        "reply": '{"value": 4}',
        "finish_reason": "stop",
        "error": None,
        "messages": '[{"content":"Be brief.","role":"system"},{"content":"2 + 2?","role":"user"}]',
    }
    answer = answer_of(row, Question(None, None, MODEL_DEFAULTS, None, reply_reader(IntegerType(), (), "en")))
    assert (answer.status, answer.text, answer.value) == ("ok", '{"value": 4}', 4)
    assert answer.prompt == "Be brief.\n\n2 + 2?"
