"""Cascades: a cheap judge is asked several times, and a stronger one where it is unsure."""

from __future__ import annotations

from pathlib import Path

from tests.runtime.small_runs import Script, SmallRun, run_small
from tripos_runtime.models.base import ModelError, Request

SPEC = """\
benchmark judged "1.0.0" { languages en }
role candidate compared
role cheap
role strong
dataset item from "items.jsonl" { question text }
scorer kind(reply: text) by cheap then strong when unsure {
  prompt  "Is this kind? {{ reply }}"
  gives   bool
  samples 3
  unsure  below 0.9
}
scenario once {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score kind = kind(reply)
}
"""
ITEMS = [{"question": "sure"}, {"question": "unsure"}]


def judge(request: Request) -> str | ModelError:
    """The cheap judge is unsure of one reply, of which most of its verdicts are true; the strong one says false."""
    text = request.messages[-1].content
    if request.model == "a":
        return text
    if request.model == "strong":
        return '{"value": false}'
    return '{"value": false}' if "unsure" in text and request.number == 1 else '{"value": true}'


def run(folder: Path, spec: str = SPEC, script: Script = judge, before: SmallRun | None = None) -> SmallRun:
    return run_small(folder, spec, {"items.jsonl": ITEMS}, script=script, before=before, cheap="cheap", strong="strong")


def test_the_stronger_judge_is_asked_where_the_cheap_one_is_unsure(tmp_path: Path) -> None:
    found = run(tmp_path)
    assert found.asked == {"a": 2, "cheap": 6, "strong": 1}
    assert sorted((row["value"], row["evaluator"]) for row in found.table("scores")) == [
        (0.0, "cheap then strong"),
        (1.0, "cheap then strong"),
    ]
    by_name = {row["judgement_id"]: row for row in found.table("judgements")}
    deciding = {row["value"]: by_name[row["judgement_id"]]["evaluator"] for row in found.table("scores")}
    assert deciding == {0.0: "strong", 1.0: "cheap"}, "a score names the verdict that decided"


def test_the_plan_says_at_least_none_and_at_most_all(tmp_path: Path) -> None:
    counts = {count.role: (count.least, count.most) for count in run(tmp_path).plan.calls}
    assert counts == {"candidate": (2, 2), "cheap": (0, 6), "strong": (0, 2)}


def test_a_second_run_asks_nothing_and_a_higher_threshold_only_what_is_new(tmp_path: Path) -> None:
    first = run(tmp_path)
    again = run(tmp_path, before=first)
    assert again.asked == {"a": 0, "cheap": 0, "strong": 0}
    lower = run(tmp_path, SPEC.replace("0.9", "0.6"), before=first)
    assert lower.asked == {"a": 0, "cheap": 0, "strong": 0}
    assert {row["value"] for row in lower.table("scores") if row not in first.table("scores")} == {1.0}


def test_a_verdict_that_did_not_arrive_is_asked_again_before_anything_escalates(tmp_path: Path) -> None:
    def failing(request: Request) -> str | ModelError:
        failed = request.model == "cheap" and request.number == 2
        return ModelError("R0111", "busy", "wait") if failed else judge(request)

    first = run(tmp_path, script=failing)
    assert first.asked["strong"] == 0
    assert {row["status"] for row in first.table("scores")} == {"provider_error"}
    second = run(tmp_path, before=first)
    assert second.asked == {"a": 0, "cheap": 2, "strong": 1}


def test_a_verdict_that_cannot_be_read_agrees_with_none(tmp_path: Path) -> None:
    def mumbling(request: Request) -> str | ModelError:
        return "Hm." if request.model == "cheap" and request.number == 2 else judge(request)

    found = run(tmp_path, script=mumbling)
    assert found.asked["strong"] == 2
    assert {row["value"] for row in found.table("scores")} == {0.0}
