"""A forecast counts the calls that a run then makes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lengths import spread
from tests.runtime.foretelling import CLEAR, SPEC, Bench, calls, well
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.models.base import ModelError, Request

ASK = '  ask reply by candidate { prompt "{{ item.question }}" }\n'
SEVERAL = SPEC.replace(
    ASK,
    """  ask hint by helper { prompt "Hint at {{ item.question }}" }
  ask reply by candidate { prompt "{{ item.question }} {{ hint.text }}", samples 3 }
  ask check by candidate when contains(reply.text, "6") { prompt "Sure? {{ reply.text }}" }
  score sure = length(check.text)
""",
).replace("measure m", "measure s = mean(sure)\nmeasure m")
ARMS = (
    SPEC.replace("scenario sums {\n", "scenario sums {\n  arms hint\n")
    .replace("role helper\n", "role helper\narm hint { none, given }\n")
    .replace(
        ASK,
        """  ask help by helper when hint == given { prompt "Hint at {{ item.question }}" }
  ask first by candidate { prompt "First: {{ item.question }}" }
  ask reply by candidate {
    system "{{ help.text }}" when hint == given
    prompt "{{ item.question }} {{ first.text }}"
  }
""",
    )
)
FIELDS = SPEC.replace(
    ASK,
    '  ask draft by candidate { prompt "D {{ item.question }}", returns { sum integer } }\n'
    + ASK.replace("{{ item.question }}", "{{ item.question }} {{ draft.sum }}"),
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def broken(request: Request) -> str:
    text = request.messages[-1].content
    return CLEAR if "Grade:" in text else '{"sum": 4}' if text.startswith("D 6") else "no JSON from me"


def failing(request: Request) -> str | ModelError:
    if "1 + 1" in request.messages[-1].content:
        return ModelError("R0111", "down", "")
    return well(request)


def test_what_was_never_run_is_called_whole(bench: Bench) -> None:
    found = bench.foretell(models=("a", "b"), judges=("j", "k"))
    assert calls(found) == {
        ("candidate", "a"): (0, 3, 3),
        ("candidate", "b"): (0, 3, 3),
        ("judge", "j"): (0, 0, 6),
        ("judge", "k"): (0, 0, 6),
    }
    assert found.items == {"sums": 3}


def test_what_is_kept_is_reused_and_nothing_called(bench: Bench) -> None:
    bench.run()
    found = bench.foretell()
    assert calls(found) == {("candidate", "a"): (3, 0, 0), ("judge", "j"): (3, 0, 0)}
    assert (found.total.calls.high, found.scores, found.reasons) == (0, 0, ())


def test_a_helper_shared_by_models_and_samples_is_counted_once(bench: Bench) -> None:
    bench.write(SEVERAL)
    found = calls(bench.foretell(models=("a", "b")))
    assert found["helper", "h"] == (0, 3, 3)
    # three samples a row, unless there is no hint, and maybe a check of each
    assert found["candidate", "a"] == (0, 0, 18)


def test_a_condition_on_kept_replies_is_decided(bench: Bench) -> None:
    bench.write(SEVERAL)
    bench.run()
    checks = [line for where, line in bench.foretell().lines.items() if where.step == "check"]
    # only the reply to `6 * 7` has a six
    assert [(line.reused, line.certain, line.perhaps, line.ruled_out) for line in checks] == [(3, 0, 0, 6)]


def test_steps_shared_by_arms_are_counted_once_and_labelled(bench: Bench) -> None:
    bench.write(ARMS)
    found = bench.foretell()
    steps = {(where.step, where.arm): line.most for where, line in found.lines.items() if where.role != "judge"}
    assert steps == {("help", "hint given"): 3, ("first", ""): 3, ("reply", "hint none"): 3, ("reply", "hint given"): 3}


def test_what_builds_on_a_call_that_may_be_made_may_be_made(bench: Bench) -> None:
    more = 'ask third by helper { prompt "Third {{ check.text }}" }\n  score sure = length(third.text) + length(reply.text)\n'
    bench.write(SEVERAL.replace("score sure = length(check.text)\n", more))
    [line] = [line for where, line in bench.foretell().lines.items() if where.step == "third"]
    assert (line.certain, line.perhaps) == (0, 9)


def test_a_call_that_two_arms_make_on_different_conditions_is_counted_once(bench: Bench) -> None:
    text = SPEC.replace("role helper\n", "role helper\narm check { some, all }\n").replace(
        "over item\n", "over item\n  arms check\n"
    )
    when = 'check == all or contains(reply.text, "6")'
    second = f'  ask second by candidate when {when} {{ prompt "Sure? {{{{ reply.text }}}}" }}\n  score sure = length(second.text)\n'
    bench.write(text.replace(ASK, ASK + second).replace("measure m", "measure s = mean(sure)\nmeasure m"))
    [line] = [line for where, line in bench.foretell().lines.items() if where.step == "second"]
    assert (line.certain, line.most) == (0, 3)


def test_what_needs_a_field_that_a_kept_reply_lacks_is_ruled_out(bench: Bench) -> None:
    bench.write(FIELDS)
    bench.run(broken)
    bench.write(FIELDS.replace("{{ draft.sum }}", "= {{ draft.sum }}"))
    [line] = [line for where, line in bench.foretell().lines.items() if where.step == "reply"]
    assert (line.certain, line.perhaps, line.ruled_out) == (1, 0, 2)


def test_calls_that_failed_are_told_by_their_code_and_tried_again(bench: Bench) -> None:
    bench.run(failing)
    found = bench.foretell()
    failed: Counter[str] = Counter()
    for line in found.lines.values():
        failed.update(line.failed)
    assert failed == {"R0111": 1}
    assert calls(found) == {("candidate", "a"): (2, 1, 1), ("judge", "j"): (2, 0, 1)}


def test_scores_that_are_taken_from_kept_replies_cost_no_call(bench: Bench) -> None:
    bench.run()
    bench.write(SPEC.replace("length(reply.text) > 3", "length(reply.text) > 4"))
    found = bench.foretell()
    assert (found.certain, found.perhaps, found.scores) == (0, 0, 3)


SHARES = """\
benchmark t "1.0.0" { languages en }
role candidate compared
role helper
dataset item from "items.jsonl" { question text, answer text secret }
scenario sums {
  over item
  ask first by helper { prompt "Say yes or no: {{ item.question }}" }
  ask second by candidate {
    system "A share is {{ 1 / (words(item.question) - 3) }}" when contains(first.text, "yes")
    prompt "{{ item.question }}"
  }
  score right = contains(second.text, item.answer)
}
"""


def test_a_passage_without_a_value_rules_no_call_out_while_its_condition_is_pending(bench: Bench) -> None:
    bench.write(SHARES)
    found = calls(bench.foretell())
    made = bench.run(lambda request: "no")
    assert made["candidate", "a"] == 3
    assert found["candidate", "a"] == (0, 0, 3)


def test_a_limit_foretells_what_is_chosen(bench: Bench) -> None:
    found = bench.foretell(selection=Selection(limit=2))
    assert (found.items, found.certain, found.perhaps) == ({"sums": 2}, 2, 2)


@pytest.mark.parametrize("text", spread([SPEC, SEVERAL, ARMS, FIELDS], 2))
@pytest.mark.parametrize("before", ["nothing", "some", "all", "failures", "other model"])
@pytest.mark.parametrize("script", [well, broken], ids=["well", "broken"])
def test_a_run_asks_what_was_foretold(
    bench: Bench, text: str, before: str, script: Callable[[Request], str | ModelError]
) -> None:
    bench.write(text)
    match before:
        case "some":
            bench.run(script, selection=Selection(limit=1))
        case "all":
            bench.run(script)
        case "failures":
            bench.run(failing)
        case "other model":
            bench.run(script, models=("b",))
    found = bench.foretell(models=("a", "b"))
    kept = Counter(
        row.get("role", "judge")
        for row in bench.ledger.table("samples") + bench.ledger.table("judgements")
        if row["status"] != "provider_error"
    )
    bench.run(script, models=("a", "b"))
    tally = bench.tally
    for role in ("candidate", "judge", "helper"):
        lines = [line for where, line in found.lines.items() if where.role == role]
        asked = tally.asked[role, "sums"] + tally.failed[role, "sums"]
        certain, most = sum(line.certain for line in lines), sum(line.most for line in lines)
        assert certain <= asked <= most
        assert sum(line.reused for line in lines) == kept[role]
