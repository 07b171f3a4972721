"""Judges that are asked several times about the same reply: what is asked, what is kept, and what the score is."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runtime.small_runs import Script, SmallRun, run_small
from tripos_runtime.models.base import ModelError, Request

SPEC = """\
benchmark judged "1.0.0" {{ languages en }}
role candidate compared
role judge
dataset item from "items.jsonl" {{ question text }}
scorer kind(reply: text) by judge {{ prompt "Is this kind? {{{{ reply }}}}", gives bool {kind} }}
scorer clear(reply: text) by judge {{ prompt "How clear is this? {{{{ reply }}}}", gives 1..5 {clear} }}
scorer better(one: text, two: text) by judge {{
  prompt "Which? {{{{ one }}}} or {{{{ two }}}}"
  gives choice(one, two, tie)
  {better}
}}
scenario once {{
  over item
  ask reply by candidate {{ prompt "{{{{ item.question }}}}" }}
  {scores}
}}
"""
CLEAR = (2, 5, 5)
KIND = ("false", "true", "true")
BETTER = ("tie", "one", "one")


def judge(request: Request) -> str | ModelError:
    """Say something else at every repeat."""
    text, number = request.messages[-1].content, request.number
    if request.model != "j":
        return f"{request.model} says much"
    if text.startswith("Is this kind"):
        return f'{{"value": {KIND[number]}}}'
    if text.startswith("Which"):
        return f'{{"value": "{BETTER[number]}"}}'
    return f'{{"value": {CLEAR[number]}}}'


def run(
    folder: Path,
    scores: str,
    samples: int = 3,
    script: Script = judge,
    before: SmallRun | None = None,
    models: tuple[str, ...] = ("a",),
) -> SmallRun:
    written = f", samples {samples}" if samples > 1 else ""
    spec = SPEC.format(kind=written, clear=written, better=written.lstrip(", "), scores=scores)
    items = {"items.jsonl": [{"question": "q"}]}
    return run_small(folder, spec, items, script=script, judge="j", before=before, models=models)


def values(found: SmallRun) -> dict[str, float | None]:
    return {row["metric"]: row["value"] for row in found.table("scores")}


def test_a_number_is_the_mean_of_the_repeats_and_a_truth_value_their_majority(tmp_path: Path) -> None:
    found = run(tmp_path, "score clear = clear(reply)\n  score kind = kind(reply)")
    assert values(found) == {"clear": 4.0, "kind": 1.0}
    assert found.planned == found.calls == {"candidate": 1, "judge": 6}


def test_every_repeat_is_a_row_with_its_number(tmp_path: Path) -> None:
    found = run(tmp_path, "score clear = clear(reply)")
    rows = sorted(found.table("judgements"), key=lambda row: row["repeat"])
    assert [row["repeat"] for row in rows] == [0, 1, 2]
    assert len({row["judgement_id"] for row in rows}) == len({row["binding"] for row in rows}) == 3
    assert len({row["request_digest"] for row in rows}) == len({row["fingerprint"] for row in rows}) == 1
    [score] = found.table("scores")
    assert score["judgement_id"] == rows[0]["judgement_id"]


def test_an_expression_sees_what_the_repeats_come_to(tmp_path: Path) -> None:
    found = run(tmp_path, "score good = kind(reply) and clear(reply) >= 4")
    assert values(found) == {"good": 1.0}
    assert found.planned == found.calls == {"candidate": 1, "judge": 6}


def test_a_comparison_is_what_most_repeats_said(tmp_path: Path) -> None:
    found = run(tmp_path, "compare duel using better(first.reply, second.reply)", models=("a", "b"))
    assert [row["value"] for row in found.table("comparisons")] == [1.0, 1.0]
    assert found.planned == found.calls == {"candidate": 2, "judge": 6}


def test_more_repeats_ask_for_no_more_than_those_that_are_new(tmp_path: Path) -> None:
    scores = "score clear = clear(reply)\n  score kind = kind(reply)"
    once = run(tmp_path, scores, samples=1)
    more = run(tmp_path, scores, samples=3, before=once)
    assert more.asked == {"a": 0, "j": 4}
    assert sorted(row["value"] for row in more.table("scores")) == [0.0, 1.0, 2.0, 4.0], "each count has its scores"
    assert run(tmp_path, scores, samples=3, before=more).asked == {"a": 0, "j": 0}


def test_one_sample_is_what_no_samples_are(tmp_path: Path) -> None:
    scores = "score clear = clear(reply)"
    plain = run(tmp_path, scores, samples=1)
    written = SPEC.format(kind="", clear=", samples 1", better="", scores=scores)
    items = {"items.jsonl": [{"question": "q"}]}
    one = run_small(tmp_path, written, items, script=judge, judge="j")
    assert one.plan.digest == plain.plan.digest
    names = [{row["judgement_id"] for row in each.table("judgements")} for each in (one, plain)]
    assert names[0] == names[1]


def test_a_repeat_that_cannot_be_read_is_left_out_while_most_can(tmp_path: Path) -> None:
    def mumbling(request: Request) -> str | ModelError:
        return "Hm." if request.model == "j" and request.number in lost else judge(request)

    lost: set[int] = {1}
    assert values(run(tmp_path, "score clear = clear(reply)", script=mumbling)) == {"clear": 3.5}
    lost = {0, 1}
    found = run(tmp_path, "score clear = clear(reply)", script=mumbling)
    assert [(row["value"], row["status"]) for row in found.table("scores")] == [(None, "parse_failure")]


def test_a_repeat_that_did_not_arrive_is_asked_for_again(tmp_path: Path) -> None:
    def failing(request: Request) -> str | ModelError:
        failed = request.model == "j" and request.number == 2
        return ModelError("R0111", "busy", "wait") if failed else judge(request)

    first = run(tmp_path, "score clear = clear(reply)", script=failing)
    assert {row["status"] for row in first.table("scores")} == {"provider_error"}
    second = run(tmp_path, "score clear = clear(reply)", before=first)
    assert second.asked == {"a": 0, "j": 1}
    assert values(second) == {"clear": 4.0}


@pytest.mark.parametrize("samples", [1, 3])
def test_the_proof_of_secrecy_does_not_depend_on_repeats(tmp_path: Path, samples: int) -> None:
    found = run(tmp_path, "score clear = clear(reply)", samples=samples)
    assert len({tuple(each) for each in found.sent("j")}) == 1, "each repeat is sent the same"
