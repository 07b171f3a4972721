"""Replies adopted under another name: once each, as they were, and by one process alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.reuse.counting import Bench, results
from tests.reuse.edits import EDITS
from tests.reuse.quiz import MODELS, ROLES, files
from tests.runtime.small_runs import SmallRun, run_small
from tests.warehouse.keeping import die, sample
from tripos.cli.progress import format_cost
from tripos_compiler.plan import Settings
from tripos_runtime.asking.questions import Adopted, Question, ReadOutcome, read_again
from tripos_runtime.models.base import Message, ModelError, Request
from tripos_runtime.program.adoption import NOWHERE, ReplyReuse, RunResults, Wanted
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.store.store import Store

SUMS = """\
benchmark sums "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, answer text secret }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}", samples 2 }
  score right = contains(reply.text, item.answer)
}
measure accuracy = mean(right)
"""
ITEMS = [{"question": "6 * 7?", "answer": "42"}, {"question": "2 + 2?", "answer": "4"}]
RENAMED = SUMS.replace("scenario sums", "scenario arithmetic")
BOTH = SUMS + RENAMED[RENAMED.index("scenario arithmetic") : RENAMED.index("measure")]


def run(folder: Path, spec: str, before: SmallRun | None = None, items: Any = ITEMS, **more: Any) -> SmallRun:
    return run_small(folder, spec, {"items.jsonl": items}, before=before, **more)


def adopted(done: SmallRun, before: SmallRun) -> list[Any]:
    return [row["adopted_from"] for row in done.table("samples")[len(before.table("samples")) :]]


def test_a_renamed_scenario_takes_over_every_reply_and_says_where_from(tmp_path: Path) -> None:
    first = run(tmp_path, SUMS)
    again = run(tmp_path, RENAMED, first)
    assert again.asked == {"a": 0}
    assert sorted(adopted(again, first)) == sorted(row["sample_id"] for row in first.table("samples"))
    assert again.engine.tally.done == again.engine.tally.total == 4
    assert (sum(again.engine.tally.reused.values()), format_cost(again.engine.tally)) == (4, "0.00 USD")


def test_what_was_taken_over_is_told_by_the_name_that_it_was_asked_for_under(tmp_path: Path) -> None:
    first = run(tmp_path, SUMS)
    second = run(tmp_path, RENAMED, first)
    third = run(tmp_path, SUMS.replace("scenario sums", "scenario counting"), second)
    assert third.asked == {"a": 0}
    assert sorted(adopted(third, second)) == sorted(row["sample_id"] for row in first.table("samples"))


def test_a_reply_that_the_run_has_itself_is_a_draw_of_its_own(tmp_path: Path) -> None:
    first = run(tmp_path, SUMS)
    assert run(tmp_path, BOTH, first).asked == {"a": 4}


def test_a_reply_is_taken_over_by_one_result_of_a_run_only(tmp_path: Path) -> None:
    first = run(tmp_path, SUMS)
    twice = BOTH.replace("scenario sums", "scenario counting")
    second = run(tmp_path, twice, first)
    assert second.asked == {"a": 4}
    taken = [name for name in adopted(second, first) if name is not None]
    assert len(set(taken)) == len(taken) == 4


def test_the_same_question_in_another_row_is_another_draw(tmp_path: Path) -> None:
    first = run(tmp_path, SUMS)
    again = run(tmp_path, SUMS, first, [*ITEMS, {"question": "6 * 7?", "answer": "six times seven"}])
    assert again.asked == {"a": 2}


def test_a_failed_call_is_nobodys_reply(tmp_path: Path) -> None:
    def fails(request: Request) -> str | ModelError:
        return ModelError("R0111", "down", "") if "6" in request.messages[0].content else "4"

    first = run(tmp_path, SUMS, script=fails)
    assert run(tmp_path, RENAMED, first).asked == {"a": 2}


def test_a_refusal_is_taken_over_as_one(tmp_path: Path) -> None:
    first = run(tmp_path, SUMS, script=lambda request: ModelError("R0108", "no", "", status="refused"))
    again = run(tmp_path, RENAMED, first)
    assert again.asked == {"a": 0}
    assert {row["status"] for row in again.table("samples")} == {"refused"}


def test_a_prompt_that_was_too_long_is_not_sent_again(tmp_path: Path) -> None:
    spec = """\
benchmark talks "1.0.0" { languages en }
role candidate compared
role student
scenario lesson {
  converse talk {
    candidate { system "Teach." }
    student { system "Learn." }
    opens candidate
    until candidate says "bye"
    limit 6 turns
  }
  ask sitting by student { continue talk, prompt "What is it?" }
  ask after by candidate { prompt "You were asked: {{ sitting.prompt }}" }
  score long = words(after.text) > 0
}
measure m = mean(long)
"""

    def short(request: Request) -> str | ModelError:
        if len(request.messages) > 1 and sum(len(each.content) for each in request.messages) > 150:
            return ModelError("R0107", "too long", "")
        return f"{request.model} says {len(request.messages)} words or so, I think"

    first = run_small(tmp_path, spec, {}, student="s", script=short)
    assert any(row["left_out"] for row in first.table("turns"))
    renamed = spec.replace("scenario lesson", "scenario tuition")
    again = run_small(tmp_path, renamed, {}, student="s", script=short, before=first)
    assert again.asked == {"a": 0, "s": 0}
    told = [(row["step"], row["messages"], row["reply"]) for row in again.table("samples")]
    assert told[len(told) // 2 :] == told[: len(told) // 2]


def reads(errors: dict[str, str]) -> Question:
    """Return a question that cannot read some replies."""

    def reader(text: str) -> ReadOutcome:
        bad = errors.get(text)
        return ReadOutcome(None, None, bad, "parse_failure") if bad else ReadOutcome(text, text)

    return Question(None, None, Settings(), {"type": "object"}, reader)


KEPT = {"reply": "second", "finish_reason": None}
DRAFT = {**dict.fromkeys(("finish_reason", "model_served", "attempts", "tokens_in", "tokens_out")), "reply": "first"}
DRAFT |= {
    "thinking": None,
    "logprobs": None,
    "tokens_reasoning": None,
    "cost_usd": None,
    "latency_s": None,
    "error": "no JSON",
}


@pytest.mark.parametrize(
    ("errors", "draft", "value"),
    [
        ({}, None, "second"),
        ({"second": "no JSON"}, None, None),
        ({"first": "no JSON"}, DRAFT, "second"),
        ({"first": "no object"}, DRAFT, None),
        ({}, DRAFT, "first"),
    ],
)
def test_a_reply_is_read_anew_and_asked_for_once_more_where_a_fresh_run_would(
    errors: dict[str, str], draft: dict[str, Any] | None, value: str | None
) -> None:
    _, outcome = read_again(reads(errors), KEPT, draft)
    assert (None if outcome is None else outcome.value) == value


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """A store with one reply of another benchmark."""
    store = Store.open(tmp_path / "store", create=True)
    with open_ledger(store, {"other"}) as ledger:
        ledger.keep({"samples": [sample(1, request_digest="ab" * 16, fingerprint="other")]})
    return store


def adoption(ledger: Any, prints: frozenset[str] = frozenset()) -> ReplyReuse:
    """Adopts for a run that has everything of these fingerprints."""
    live = RunResults.__new__(RunResults)
    live.has = lambda name, row, here: row["fingerprint"] in prints  # type: ignore[method-assign]
    return ReplyReuse(ledger, live)


def wanted(number: object) -> Wanted:
    return Wanted("samples", sample(number)["sample_id"], "openai/gpt", "ab" * 16)


def test_two_processes_do_not_take_over_the_same_reply(store: Store) -> None:
    mine = frozenset({"mine"})
    with open_ledger(store, mine) as one, open_ledger(store, mine) as two:
        first, second = adoption(one, mine), adoption(two, mine)
        found = first.find(wanted(2), NOWHERE)
        assert isinstance(found, Adopted)
        assert second.find(wanted(3), NOWHERE) is None
        one.keep({"samples": [sample(2, request_digest="ab" * 16, fingerprint="mine", adopted_from=found.origin)]})
        first.record_kept(found)
        one.flush()
        assert second.find(wanted(3), NOWHERE) is None


def test_what_a_killed_process_took_over_is_not_taken_over_again(store: Store) -> None:
    mine = frozenset({"mine"})
    one = open_ledger(store, mine)
    found = adoption(one, mine).find(wanted(2), NOWHERE)
    assert found is not None
    one.keep({"samples": [sample(2, request_digest="ab" * 16, fingerprint="mine", adopted_from=found.origin)]})
    die(one)
    with open_ledger(store, mine) as two:
        assert two.statuses("samples", [wanted(2).name]) == ["ok"]
        assert adoption(two, mine).find(wanted(3), NOWHERE) is None


def test_a_reply_of_another_model_or_to_something_else_is_not_found(store: Store) -> None:
    with open_ledger(store, {"mine"}) as ledger:
        assert adoption(ledger).find(wanted(2)._replace(model="other"), NOWHERE) is None
        assert adoption(ledger).find(wanted(2)._replace(request="cd" * 16), NOWHERE) is None
        assert adoption(ledger).find(wanted(2)._replace(table="judgements"), NOWHERE) is None


def test_the_digest_of_a_request_is_of_all_that_is_sent_and_of_nothing_else() -> None:
    sent = (Message("user", "Why?"),)
    question = reads({})
    digest = question.digest("a", sent)
    assert digest == reads({"x": "y"}).digest("a", sent)
    others = [
        question.digest("b", sent),
        question.digest("a", (Message("system", "Why?"),)),
        question.digest("a", (*sent, Message("user", "Why?"))),
        Question(None, None, Settings(temperature=0), question.schema, question.reader).digest("a", sent),
        Question(None, None, Settings(), None, question.reader).digest("a", sent),
    ]
    assert len({digest, *others}) == 6


def test_edits_one_after_the_other_ask_for_what_is_new_only(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    bench = Bench(tmp_path / "a", MODELS, ROLES)
    bench.write(files())
    first = bench.run()
    changed = EDITS["a Chinese word of a prompt"](EDITS["another name of a scenario"](files()))
    bench.write(changed)
    second = bench.run()
    bench.write(files())
    assert (first.asked > second.asked > 0, bench.run().asked) == (True, 0)
    bench.write(EDITS["another alias of a row"](changed))
    assert bench.run().asked == 0
    assert not any(row["status"] == "provider_error" for row in results(bench).values() if "status" in row)
