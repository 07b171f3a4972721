"""The engine on a ledger in memory: what is asked, what is not asked again, and what becomes of every failure."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.in_memory import MemoryLedger
from tests.runtime.small_runs import ScriptedCaller, ScriptedModel, no_sleep
from tripos.runs.compilation import find_spec
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.drivers.engine import Engine
from tripos_runtime.models.base import ModelError, Reply, Request
from tripos_runtime.program.binding import bind
from tripos_runtime.scheduling.budget import Stopped
from tripos_runtime.scheduling.calling import Called

SPEC = """\
benchmark t "1.0.0" { languages en }
role candidate compared
role judge panel
dataset item from "items.jsonl" { question text }
scorer grader(response: text) by judge {
  prompt "Grade: {{ response }}"
  gives 1..10
}
scenario sums {
  over item
  ask reply by candidate {
    prompt "{{ item.question }}"
    samples 2
  }
  score right = contains(reply.text, "42")
  score good = grader(response: reply.text)
}
measure m = mean(right)
"""
ITEMS = ("6 * 7", "40 + 2", "1 + 1")
GOOD = '{"verdict": 7}'

Script = Callable[[Request, int], str | ModelError | Reply]
"""What a model replies to a request, given how often it was asked the same."""


def counting(model: ScriptedModel, script: Script) -> ScriptedCaller:
    """Return a caller whose script is told how often the same was asked."""

    def said(request: Request) -> str | ModelError | Reply:
        same = sum(each.messages == request.messages and each.number == request.number for each in caller.asked)
        return script(request, same - 1)

    caller = ScriptedCaller(model, said)
    return caller


def judged(request: Request, before: int) -> str:
    return GOOD if request.messages[-1].content.startswith("Grade") else "it is 42"


@dataclass
class Ran:
    engine: Engine
    ledger: MemoryLedger
    callers: Mapping[str, ScriptedCaller]

    @property
    def asked(self) -> int:
        return sum(len(caller.asked) for caller in self.callers.values())


class Bench:
    """A small benchmark on disk, run with scripts for models."""

    def __init__(self, folder: Path, text: str = SPEC) -> None:
        (folder / "t.tripos").write_text(text, "utf-8")
        (folder / "items.jsonl").write_text("\n".join(json.dumps({"question": each}) for each in ITEMS), "utf-8")
        self.spec = find_spec(str(folder / "t.tripos"))
        plan = self.spec.compile().plan
        assert plan is not None
        self.plan = plan
        self.path = str(folder / "t.tripos")

    def engine(
        self,
        ledger: MemoryLedger,
        script: Script = judged,
        models: tuple[str, ...] = ("a",),
        judges: tuple[str, ...] = ("j",),
        **options: Any,
    ) -> tuple[Engine, dict[str, ScriptedCaller]]:
        callers = {name: counting(ScriptedModel(name, **options), script) for name in (*models, *judges)}
        others = {role.name: judges for role in self.plan.roles if role.name == "judge"}
        engine = Engine(
            plan=self.plan,
            binding=bind(self.plan, models, others),
            source=CaseSource(self.plan, self.spec.folders, (self.path,)),
            selection=Selection(),
            callers=callers,  # type: ignore[arg-type]
            ledger=ledger,
            run_id="run",
            workers=4,
            sleep=no_sleep,
        )
        return engine, callers

    def run(self, ledger: MemoryLedger | None = None, script: Script = judged, **options: Any) -> Ran:
        ledger = ledger or MemoryLedger()
        engine, callers = self.engine(ledger, script, **options)
        asyncio.run(engine.run())
        return Ran(engine, ledger, callers)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def once_each(ledger: MemoryLedger) -> bool:
    return all(
        most == 1 for table in ("samples", "judgements", "scores") for most in Counter(ledger.ids(table)).values()
    )


def test_every_sample_is_asked_and_judged_once(bench: Bench) -> None:
    ran = bench.run()
    assert ran.asked == 3 * 2 * 2
    assert len(ran.ledger.table("scores")) == 3 * 2 * 2
    assert once_each(ran.ledger)


def test_a_second_run_asks_nothing(bench: Bench) -> None:
    first = bench.run()
    again = bench.run(MemoryLedger(first.ledger))
    assert again.asked == 0
    assert again.engine.tally.reused.total() == 12
    assert again.engine.tally.scores == first.engine.tally.scores
    assert len(again.ledger.table("samples")) == 6


def test_an_added_model_runs_alone(bench: Bench) -> None:
    first = bench.run()
    again = bench.run(MemoryLedger(first.ledger), models=("a", "b"))
    assert {name: len(caller.asked) for name, caller in again.callers.items()} == {"a": 0, "b": 6, "j": 6}


def test_a_failed_call_is_tried_by_the_next_run_and_an_answered_sample_is_left_alone(bench: Bench) -> None:
    def fails(request: Request, before: int) -> str | ModelError:
        if request.messages[0].content == "1 + 1" and request.number == 1:
            return ModelError("R0111", "down", "")
        return judged(request, before)

    first = bench.run(script=fails)
    assert first.engine.tally.failed == {("candidate", "sums"): 1}
    assert first.engine.tally.errors == {"R0111": 1}
    again = bench.run(MemoryLedger(first.ledger))
    assert [request.messages[0].content for request in again.callers["a"].asked] == ["1 + 1"]
    assert len(again.callers["j"].asked) == 1
    statuses = Counter(row["status"] for row in again.ledger.table("samples"))
    assert statuses == {"ok": 6, "provider_error": 1}


def test_a_bad_answer_is_an_answer_and_is_not_asked_for_by_the_next_run(bench: Bench) -> None:
    first = bench.run(script=lambda request, before: "no grade from me")
    assert {row["status"] for row in first.ledger.table("judgements")} == {"parse_failure"}
    assert bench.run(MemoryLedger(first.ledger)).asked == 0


def test_a_draft_that_arrived_before_a_kill_is_repaired_and_not_asked_for_again(bench: Bench) -> None:
    def unreadable_first(request: Request, before: int) -> str:
        if not request.messages[0].content.startswith("Grade"):
            return "it is 42"
        return GOOD if len(request.messages) > 1 else "let me think"

    undisturbed = bench.run(script=unreadable_first)
    assert len(undisturbed.ledger.table("drafts")) == 6
    killed = MemoryLedger(undisturbed.ledger)
    killed.kept["judgements"] = []  # as if the process had died after the drafts
    killed.kept["scores"] = []
    again = bench.run(killed, script=unreadable_first)
    assert len(again.callers["a"].asked) == 0
    assert all(len(request.messages) == 3 for request in again.callers["j"].asked)
    assert len(again.callers["j"].asked) == 6
    assert _found(again.ledger, "judgements") == _found(undisturbed.ledger, "judgements")
    assert _found(again.ledger, "scores") == _found(undisturbed.ledger, "scores")


def test_the_usage_of_a_repaired_reply_is_that_of_both(bench: Bench) -> None:
    ran = bench.run(script=lambda request, before: GOOD if len(request.messages) > 1 else "42, I think")
    row = ran.ledger.table("judgements")[0]
    assert (row["tokens_in"], row["tokens_out"], row["attempts"], row["latency_s"]) == (20, 10, 2, 0.2)


def test_a_score_that_was_lost_is_computed_again_without_a_call(bench: Bench) -> None:
    first = bench.run()
    lost = MemoryLedger(first.ledger)
    lost.kept["scores"] = lost.kept["scores"][:5]
    again = bench.run(lost)
    assert again.asked == 0
    assert _found(again.ledger, "scores") == _found(first.ledger, "scores")
    assert once_each(again.ledger)


def test_one_request_brings_all_samples_where_the_provider_bills_it_so(bench: Bench) -> None:
    def several(request: Request, before: int) -> str | Reply:
        if request.messages[0].content.startswith("Grade"):
            return GOOD
        texts = [Reply(f"{each} 42", "a", "stop", 10 if each == 0 else 0, 5, 0.0) for each in range(request.samples)]
        return Reply("0 42", "a", "stop", 10, 5, 0.0, further_choices=tuple(texts[1:]))

    ran = bench.run(script=several, most_samples=8)
    assert [request.samples for request in ran.callers["a"].asked] == [2, 2, 2]
    found = {(row["item_id"], row["sample_number"], row["reply"]) for row in ran.ledger.table("samples")}
    assert {(number, reply) for _, number, reply in found} == {(0, "0 42"), (1, "1 42")}
    assert len(found) == 6


def test_of_several_samples_only_the_missing_ones_are_asked_for(bench: Bench) -> None:
    first = bench.run()
    lost = MemoryLedger(first.ledger)
    gone = lost.kept["samples"].pop()
    again = bench.run(lost, most_samples=8)
    assert [(each.samples, each.number) for each in again.callers["a"].asked] == [(1, gone["sample_number"])]


def test_a_reply_that_was_cut_off_has_a_status_of_its_own(bench: Bench) -> None:
    def cut(request: Request, before: int) -> Reply:
        text = "it is 42 and" if not request.messages[0].content.startswith("Grade") else '{"verdict": '
        return Reply(text, "m", "length", 10, 5, 0.0)

    ran = bench.run(script=cut)
    assert {row["status"] for row in ran.ledger.table("samples")} == {"truncated"}
    assert {row["status"] for row in ran.ledger.table("judgements")} == {"truncated"}
    assert Counter((row["metric"], row["status"]) for row in ran.ledger.table("scores")) == {
        ("right", "scored"): 6,  # a text that was cut is a text
        ("good", "truncated"): 6,
    }


def test_a_refusal_by_the_provider_is_kept_and_scored_as_one(bench: Bench) -> None:
    refused = ModelError("R0108", "refused", "", status="refused")
    ran = bench.run(script=lambda request, before: refused)
    assert {row["status"] for row in ran.ledger.table("samples")} == {"refused"}
    assert {row["status"] for row in ran.ledger.table("scores")} == {"refused"}
    assert bench.run(MemoryLedger(ran.ledger), script=judged).asked == 0


def test_an_item_that_another_process_works_on_is_put_off_and_then_taken_from_it(bench: Bench) -> None:
    done = bench.run()
    key = next(iter(_keys(bench)))
    ledger = MemoryLedger()
    ledger.others.add(key)

    def refresh() -> bool:
        """The other process commits all it had and lets go."""
        if ledger.others:
            ledger.others.clear()
            for table, rows in done.ledger.kept.items():
                ledger.keep({table: [row for row in rows if row.get("item_id") == done_item]})
            return True
        return False

    done_item = done.ledger.table("run_items")[0]["item_id"]
    ledger.refresh = refresh  # type: ignore[method-assign]
    again = bench.run(ledger)
    assert len(again.callers["a"].asked) == 2 * 2  # two of three items are ours
    assert once_each(again.ledger)


def test_what_cannot_go_on_stops_the_run_and_keeps_what_arrived(bench: Bench) -> None:
    asked = 0

    class Spent(ScriptedCaller):
        async def call(self, request: Request, lane: tuple[str, str]) -> Called:
            nonlocal asked
            asked += 1
            if asked > 4:
                raise Stopped("R0302", "the budget is spent", "")
            return await super().call(request, lane)

    ledger = MemoryLedger()
    engine, callers = bench.engine(ledger)
    engine.callers = {name: Spent(each.model, each.script) for name, each in callers.items()}  # type: ignore[assignment]
    with pytest.raises(Stopped):
        asyncio.run(engine.run())
    assert len(ledger.table("samples")) + len(ledger.table("judgements")) == 4
    assert ledger.claimed == [] or engine.stopping
    assert all(work.said is None for work in ledger.works.values())
    again = bench.run(MemoryLedger(ledger))
    assert again.asked == 12 - 4


def test_finished_work_is_noted_with_everything_it_consists_of(bench: Bench) -> None:
    ran = bench.run()
    (work,) = ran.ledger.works.values()
    assert work.said is not None
    assert work.said["run_id"] == "run"
    assert work.names == {each for table in ("samples", "judgements", "scores") for each in ran.ledger.ids(table)}


def test_work_with_a_failure_is_not_noted_as_finished(bench: Bench) -> None:
    ran = bench.run(script=lambda request, before: ModelError("R0111", "down", ""))
    (work,) = ran.ledger.works.values()
    assert work.said is None


def test_nothing_is_let_go_of_before_it_is_done(bench: Bench) -> None:
    assert bench.run().ledger.claimed == []


def _keys(bench: Bench) -> list[str]:
    ledger = MemoryLedger()
    keys: list[str] = []
    ledger.claim = lambda key, later=False: keys.append(key) or True  # type: ignore[assignment,method-assign,func-returns-value]
    ledger.release = lambda key: None  # type: ignore[assignment,method-assign]
    bench.run(ledger)
    return keys


def _found(ledger: MemoryLedger, table: str) -> list[dict[str, Any]]:
    hidden = {"created_at", "run_id", "latency_s", "attempts"}
    rows = [{key: value for key, value in row.items() if key not in hidden} for row in ledger.table(table)]
    return sorted(rows, key=lambda row: json.dumps(row, sort_keys=True))
