"""What has no value: because of a reply it is `undefined`, because of the row it is `not_applicable`, and a call that
needs it is a result that says so."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.runtime.small_runs import SmallRun, run_small
from tripos_compiler.language.evaluation import InternalError
from tripos_compiler.library.registry import FUNCTIONS
from tripos_runtime.models.base import Request

SPEC = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role helper
role judge
scorer good(text: text) by judge { prompt "Is it good? {{ text }}", gives bool }
scorer marked(text: text) by judge { prompt "Mark it: {{ text }}", gives 1..5 }
dataset item from "items.jsonl" { question text, parts list<text>, n integer }
scenario one {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  STEPS
  score long = words(reply.text)
}
"""
ROWS = [{"question": f"q{n}", "parts": [], "n": 0} for n in range(4)]
NTH = "`nth` has no value: a list of 1 has no item at position 1"


def says(request: Request) -> str:
    """Answer the first question properly, and no other; a judge likes everything."""
    asked = request.messages[-1].content
    if "good?" in asked:
        return "yes"
    if "Mark it" in asked:
        return "5"
    return "so ANSWER: 4" if asked == "q0" else "no idea"


def run(folder: Path, steps: str, **options: Any) -> SmallRun:
    return run_small(
        folder, SPEC.replace("STEPS", steps), {"items.jsonl": ROWS}, script=says, helper="h", judge="j", **options
    )


def statuses(done: SmallRun, metric: str) -> dict[tuple[str, str | None], int]:
    found = Counter((row["status"], row["error"]) for row in done.table("scores") if row["metric"] == metric)
    return dict(found)


@pytest.mark.parametrize(
    ("score", "status"),
    [
        ('nth(split(reply.text, "ANSWER:"), 1) == "4"', "undefined"),
        ("reply.text == first(item.parts)", "not_applicable"),
        ("words(reply.text) / item.n", "not_applicable"),
        ("nth(item.parts, words(reply.text)) == reply.text", "undefined"),
        ('choose(reply.text == "no idea", first(item.parts), "") == "x"', "undefined"),
        ('reply.text == "no idea" and first(item.parts) == "x"', "undefined"),
        ('choose(item.n == 0, first(item.parts), "") == reply.text', "not_applicable"),
        ('nth(split(reply.text, "ANSWER:"), 1) == first(item.parts)', "not_applicable"),
        ('nth(split(reply.text, "ANSWER:"), 7) == choose(item.n == 0, first(item.parts), "")', "not_applicable"),
        ('nth(split(reply.text, "ANSWER:"), 7) == "x" or 1 / item.n > 1', "undefined"),
        ("default(reply.text == first(item.parts), words(reply.text) / item.n > 1)", "not_applicable"),
    ],
)
def test_the_status_says_whether_a_reply_or_the_row_is_the_reason(tmp_path: Path, score: str, status: str) -> None:
    found = statuses(run(tmp_path, f"score s = {score}"), "s")
    assert sum(count for (each, _), count in found.items() if each == status) >= 3
    assert {each for each, _ in found} <= {status, "scored"}


@pytest.mark.parametrize(
    ("score", "value"),
    [
        ("choose(words(reply.text) > 0, 1, 1 / item.n)", 1.0),
        ('default(nth(split(reply.text, "ANSWER:"), 7), "none") == "none"', 1.0),
        ("words(reply.text) > 100 and 1 / item.n > 0", 0.0),
    ],
)
def test_what_is_not_chosen_is_not_looked_at(tmp_path: Path, score: str, value: float) -> None:
    done = run(tmp_path, f"score s = {score}")
    assert {row["value"] for row in done.table("scores") if row["metric"] == "s"} == {value}


def test_an_unreadable_reply_is_one_where_a_value_is_undefined(tmp_path: Path) -> None:
    found = statuses(run(tmp_path, 'score s = readable(nth(split(reply.text, "ANSWER:"), 1)) == " 4"'), "s")
    assert found == {("scored", None): 1, ("parse_failure", NTH): 3}


STEP = 'ask again by helper { prompt """Look at {{ nth(split(reply.text, "ANSWER:"), 1) }}""" }\n  '


def test_a_call_whose_prompt_has_no_value_is_a_result_that_says_why(tmp_path: Path) -> None:
    done = run(tmp_path, f"{STEP}score s = again.text == reply.text")
    assert done.asked["h"] == 1
    asked = {row["status"]: row for row in done.table("samples") if row["step"] == "again"}
    assert (asked["undefined"]["error"], asked["undefined"]["reply"]) == (f"not asked: {NTH}", None)
    assert asked["undefined"]["attempts"] == 0 and asked["ok"]["reply"] is not None
    assert dict(done.engine.tally.unasked) == {("helper", NTH): 3}
    assert statuses(done, "s") == {("scored", None): 1, ("undefined", NTH): 3}


def test_a_call_that_was_not_made_is_not_made_by_the_next_run_and_is_no_reply(tmp_path: Path) -> None:
    first = run(tmp_path, f"{STEP}score s = again.text == reply.text")
    again = run(tmp_path, f"{STEP}score s = again.text == reply.text", before=first)
    assert again.asked == {"a": 0, "h": 0, "j": 0}
    tally = again.engine.tally
    assert (tally.reused["helper", "one"], tally.skipped["helper", "one"]) == (1, 3)
    assert dict(tally.unasked) == {("helper", "what was to be asked has no value"): 3}
    assert len(again.table("samples")) == len(first.table("samples"))


def test_a_judge_that_is_given_no_value_is_not_asked_and_its_score_is_undefined(tmp_path: Path) -> None:
    done = run(tmp_path, 'score s = good(nth(split(reply.text, "ANSWER:"), 1))')
    assert done.asked["j"] == 1
    assert statuses(done, "s") == {("scored", None): 1, ("undefined", NTH): 3}
    assert Counter(row["status"] for row in done.table("judgements")) == {"ok": 1, "undefined": 3}


def test_a_verdict_that_is_given_no_value_leaves_its_expression_undefined(tmp_path: Path) -> None:
    done = run(tmp_path, 'score s = 2 * marked(nth(split(reply.text, "ANSWER:"), 1))')
    assert statuses(done, "s") == {("scored", None): 1, ("undefined", NTH): 3}


def test_a_hole_that_the_row_leaves_without_a_value_is_not_applicable(tmp_path: Path) -> None:
    done = run(
        tmp_path, 'ask again by helper { prompt "{{ first(item.parts) }}" }\n  score s = again.text == reply.text'
    )
    assert done.asked["h"] == 0
    assert {each for each, _ in statuses(done, "s")} == {"not_applicable"}
    assert Counter(row["status"] for row in done.table("samples") if row["step"] == "again") == {"not_applicable": 4}


def test_what_a_condition_rules_out_leaves_no_result(tmp_path: Path) -> None:
    done = run(tmp_path, 'ask again by helper when item.n > 0 { prompt "x" }\n  score s = again.text == reply.text')
    assert [row for row in done.table("samples") if row["step"] == "again"] == []
    assert {each for each, _ in statuses(done, "s")} == {"not_applicable"}


def test_a_condition_that_a_reply_leaves_undefined_makes_what_it_decides_on_undefined(tmp_path: Path) -> None:
    done = run(tmp_path, 'score s = words(reply.text) when nth(split(reply.text, "ANSWER:"), 1) == " 4"')
    assert statuses(done, "s") == {("scored", None): 1, ("undefined", NTH): 3}


def test_a_row_that_a_condition_rules_out_is_ruled_out_whatever_a_reply_leaves_undefined(tmp_path: Path) -> None:
    done = run(tmp_path, 'score s = words(reply.text) when nth(split(reply.text, "ANSWER:"), 1) == "" and item.n > 0')
    assert {each for each, _ in statuses(done, "s")} == {"not_applicable"}


def test_a_conversation_in_which_a_speaker_cannot_be_told_its_part_is_a_result_that_says_why(tmp_path: Path) -> None:
    talk = """let said = nth(split(reply.text, "ANSWER:"), 1)
  converse talk {
    candidate { system "Talk about {{ said }}" }
    helper { system "Talk." }
    opens helper
    until helper says "done"
    limit 2 turns
  }
  score s = words(talk.text)"""
    done = run(tmp_path, talk)
    held = Counter(row["status"] for row in done.table("samples") if row["step"] == "talk")
    assert held == {"ok": 1, "undefined": 3}
    assert statuses(done, "s") == {("scored", None): 1, ("undefined", NTH): 3}
    again = run(tmp_path, talk, before=done)
    assert again.asked == {"a": 0, "h": 0, "j": 0}


def test_a_function_that_fails_as_it_does_not_declare_ends_the_run_and_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(text: str) -> int:
        raise AttributeError("no such thing")

    monkeypatch.setitem(FUNCTIONS, "words", replace(FUNCTIONS["words"], python=broken, renamed="words"))
    with pytest.raises(BaseException) as raised:
        run(tmp_path, "score s = 1 == words(reply.text)")
    assert "the function `words` failed: AttributeError: no such thing" in str(raised.value)
    assert isinstance(raised.value, InternalError)
