"""Verdicts in the form that a judge's prompt states: what is sent, what is read, and what is never a score."""

from __future__ import annotations

import asyncio
import csv
import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings, strategies as st

from tests.conftest import Command
from tests.each import each
from tests.lengths import sized
from tests.runtime.small_runs import SmallRun, run_small
from tripos_compiler.plan import BoolType, ChoiceType, IntegerType, NumberType, Type
from tripos_runtime.models.base import Message, ModelError, Reply, Request, StatedReply
from tripos_runtime.models.mocks import open_mock
from tripos_runtime.reading.verdicts import read_verdict

AB = ChoiceType(values=("A", "B", "tie"))
SIGNS = ChoiceType(values=("A>>B", "A>B", "A=B", "B>A", "B>>A"))
TEN = IntegerType(low=1, high=10)

READ: list[tuple[Type, str, str, Any]] = [
    (AB, "[[{}]]", "A is longer, B is right. [[B]]", "B"),
    (AB, "[[{}]]", "**[[B]]**", "B"),
    (AB, "[[{}]]", "[[**b**]]", "B"),
    (AB, "[[{}]]", "[[ TIE ]]", "tie"),
    (AB, "[[{}]]", r"So \[\[A\]\].", "A"),
    (AB, "[[{}]]", "［［Ａ］］", "A"),
    (AB, "[[{}]]", "I say [[A]], as I said: [[A]]", "A"),
    (AB, "[[{}]]", "<think>[[A]]?</think> [[B]]", "B"),
    (AB, "My final verdict is: {}", "My final verdict is: **tie**.", "tie"),
    (AB, "My final verdict is: {}", "My **final verdict** is:\nA, because it is right.", "A"),
    (AB, "<verdict>{}</verdict>", "<verdict>\nB\n</verdict>", "B"),
    (AB, '"verdict": "{}"', '{"why": "short", "verdict": "A"}', "A"),
    (SIGNS, "[[{}]]", "A is better. [[A>>B]]", "A>>B"),
    (SIGNS, "[[{}]]", "[[A > B]]", "A>B"),
    (TEN, "Rating: [[{}]]", "It is short.\n\nRating: [[5]]", 5),
    (TEN, "Rating: [[{}]]", "**Rating:** [[5]]", 5),
    (TEN, "Rating: [[{}]]", "In the form Rating: [[rating]] this is Rating: [[8]]", 8),
    (TEN, "Rating: [[{}]]", "rating：[[10]]", 10),
    (TEN, "[[{}]]", "[[8/10]]", 8),
    (TEN, "Score: {}", "Score: 4", 4),
    (TEN, "Score: {}", "Score: **4**. It has 2 faults.", 4),
    (TEN, "Score: {}", "Score: 4/10", 4),
    (TEN, "Score: {}/10", "Score: 7 / 10", 7),
    (TEN, "评分：{}", "理由充分。最终评分: 9分", 9),
    (NumberType(), "Score: {}", "Score: 4.5", 4.5),
    (BoolType(), "Correct: {}", "Correct: Yes, it is.", True),
    (AB, "Verdict: {}", "Verdict: A | it is longer", "A"),
    (AB, "Verdict: {}", "Verdict: A. B is too long.", "A"),
    (AB, "Verdict: {}", "Verdict: B, a clearer answer", "B"),
    (AB, "Verdict: {}", "Verdict: 'B', as A's answer is short", "B"),
    (TEN, "评分……{}", "评分……5", 5),
    (TEN, "№ {}", "№ 5", 5),
    (TEN, "Score: {}", "Score: 4 (2 faults)", 4),
    (BoolType(), "[[{}]]", "[[no]]", False),
    (BoolType(), "结论：{}", "结论：错误。", False),
    (BoolType(), "[[{}]]", "[[Yes, true]]", True),
    (TEN, "Score: {}", "Score: 8, 2 points lost", 8),
    (TEN, "Score: {}", "Score: 8, 2 points deducted for style", 8),
    (TEN, "Score: {}", 'Score: "8"/10', 8),
    (AB, "Verdict: {}", "Verdict: B, A lacks depth", "B"),
    (AB, "Verdict: {}", "Verdict: **A**, B does not answer the question.", "A"),
]
UNREAD: list[tuple[Type, str, str, str]] = [
    (AB, "[[{}]]", "A is better.", "states no verdict in the form `[[{}]]`"),
    (AB, "[[{}]]", "", "states no verdict"),
    (AB, "[[{}]]", "[[A]] at first, then [[B]]", "different verdicts: A, B"),
    (AB, "[[{}]]", "[[C]]", "`C` is none of A, B, tie"),
    (AB, "[[{}]]", "[[A]] or [[neither]]", "`neither` is none of"),
    (AB, "[[{}]]", "<think>[[A]]</think> I cannot tell.", "states no verdict"),
    (AB, "My final verdict is: {}", "My final verdict is: A tie.", "is none of"),
    (AB, "My final verdict is: {}", "My final verdict is: a little better", "is none of"),
    (TEN, "Rating: [[{}]]", "Rating: [[11]]", "11 is not in 1..10"),
    (TEN, "Rating: [[{}]]", "Rating: [[7.5]]", "7.5 is not a whole number"),
    (TEN, "Rating: [[{}]]", "Rating: [[7 or 8]]", "is not one number"),
    (TEN, "Rating: [[{}]]", "Rating: [[7]]. On reflection, Rating: [[6]]", "different verdicts: 7, 6"),
    (AB, "Verdict: {}", "Verdict: A's argument is weak, so B wins", "is none of"),
    (AB, "Better: {}", "Better: A, B are equally good", "is none of"),
    (ChoiceType(values=("1", "2")), "Better: {}", "Better: 1.5", "is none of"),
    (TEN, "Score: {}", "Score: 4, 5 for style", "is not one number"),
    (TEN, "Score: {}", "Score: 2 + 2 = 4", "is not one number"),
    (TEN, "Score: {}", "Score: 4½", "states no verdict"),
    (TEN, "Score: {}", "Score: 4.5½", "states no verdict"),
    (BoolType(), "Correct: {}", "Correct: yes, no", "is not one of yes and no"),
    (BoolType(), "Correct: {}", "Correct: yes/no", "yes/no"),
    (TEN, "Score: {}", "Score: 4-5", "is not one number"),
    (TEN, "Score: {}", "Score: four", "states no verdict"),
    (TEN, "Score: {}", "Underscore: 4", "states no verdict"),
    (TEN, "Score: {}/10", "Score: 7/100", "states no verdict"),
    (BoolType(), "[[{}]]", "[[yes]] [[no]]", "different verdicts: true, false"),
    (BoolType(), "[[{}]]", "[[Yes, but no]]", "is not one of yes and no"),
    (BoolType(), "[[{}]]", "[[Yes, no]]", "is not one of yes and no"),
    (TEN, "Score: {}", "Score: 8, 2", "is not one number"),
    (TEN, "Score: {}", "Score: 8 or higher", "states no verdict"),
    (AB, "Verdict: {}", "Verdict: B, A is better", "is none of"),
    (AB, "Verdict: {}", "Verdict: B, A is also good", "is none of"),
    (AB, "Verdict: {}", "Verdict: A → B", "is none of"),
]


@each("gives, form, reply, value", READ)
def test_a_verdict_is_read_from_its_form(gives: Type, form: str, reply: str, value: Any) -> None:
    found = read_verdict(gives, form, reply)
    assert (found.value, found.error) == (value, None), reply


@each("gives, form, reply, error", UNREAD)
def test_what_is_no_single_verdict_is_an_error(gives: Type, form: str, reply: str, error: str) -> None:
    found = read_verdict(gives, form, reply)
    assert found.value is None and found.status == "parse_failure"
    assert error in str(found.error), found.error


def test_the_first_or_the_last_counts_if_the_author_says_so() -> None:
    reply = "[[A]] at first, then [[C]], at last [[B]]"
    assert read_verdict(AB, "[[{}]]", reply, "first").value == "A"
    assert read_verdict(AB, "[[{}]]", reply, "last").value == "B"
    assert read_verdict(AB, "[[{}]]", "[[A]] and [[C]]", "last").error == "`C` is none of A, B, tie"


def test_the_reason_is_the_text_before_the_verdict_or_else_after_it() -> None:
    assert read_verdict(AB, "[[{}]]", "B is right.\n\n**[[B]]**").reason == "B is right."
    assert read_verdict(AB, "[[{}]]", "[[B]]: it is right.").reason == ": it is right"
    assert read_verdict(AB, "[[{}]]", "[[B]]").reason is None


# Drawn replies

OPENINGS = ("", "Rating: ", "Final verdict:", "My final verdict is: ", "评分：", "Score = ")
BRACKETS = (("[[", "]]"), ("<v>", "</v>"), ("\\boxed{", "}"), ("«", "»"))
CHOICES = (
    ("A", "B", "tie"),
    ("A>>B", "A>B", "A=B", "B>A", "B>>A"),
    ("good", "very good", "bad"),
    ("好", "不好", "一般"),
)
SENTENCES = (
    "The first answer is longer.",
    "It has 3 faults, and 2 of them matter.",
    "A is better than B in style, but not in substance",
    "两个回答都正确，但是第二个更清楚。",
    "I would have said 7 out of 10",
    "- good structure\n- bad grammar",
)
MARKS = ("", "**", "*", "`", "__")


@st.composite
def drawn(draw: st.DrawFn) -> tuple[Type, str, list[str]]:
    """Draw a type, a form, and two different verdicts of the type as they are written in it."""
    opening = draw(st.sampled_from(OPENINGS))
    closed = not opening or draw(st.booleans())
    left, right = draw(st.sampled_from(BRACKETS)) if closed else ("", "")
    kind = draw(st.sampled_from(("choice", "integer", "number", "bool")))
    if kind == "choice":
        names = draw(st.sampled_from(CHOICES))
        verdicts = draw(st.permutations(names))[:2]
        return ChoiceType(values=names), f"{opening}{left}{{}}{right}", list(verdicts)
    if kind == "bool":
        words = draw(st.sampled_from((("yes", "no"), ("true", "false"), ("是", "否"))))
        return BoolType(), f"{opening}{left}{{}}{right}", list(draw(st.permutations(words)))
    high = draw(st.sampled_from((5, 10, 100)))
    numbers = draw(st.lists(st.integers(1, high), min_size=2, max_size=2, unique=True))
    gives: Type = IntegerType(low=1, high=high) if kind == "integer" else NumberType()
    return gives, f"{opening}{left}{{}}{right}", [str(number) for number in numbers]


@st.composite
def written(draw: st.DrawFn, form: str, verdict: str) -> str:
    """Draw a verdict in its form, in any case and emphasis, at the end of a line."""
    mark = draw(st.sampled_from(MARKS))
    inner = draw(st.sampled_from(("", "**")))
    text = form.replace("{}", f"{inner}{verdict}{inner}")
    text = draw(st.sampled_from((text, text.swapcase() if verdict.swapcase() != verdict else text)))
    return f"{mark}{text}{mark}{draw(st.sampled_from(('', '.', '。')))}"


def read_value(gives: Type, verdict: str) -> Any:
    if isinstance(gives, ChoiceType):
        return verdict
    return verdict in ("yes", "true", "是") if isinstance(gives, BoolType) else float(verdict)


@settings(max_examples=sized(300, 5000), deadline=None)
@given(drawn(), st.data())
def test_a_drawn_verdict_is_read_and_none_or_two_are_never_a_score(
    sample: tuple[Type, str, list[str]], data: st.DataObject
) -> None:
    gives, form, (one, other) = sample
    before, after = (
        "\n".join(data.draw(st.lists(st.sampled_from(SENTENCES), max_size=3), label="reasons")) for _ in range(2)
    )
    first, second = (data.draw(written(form, verdict), label="verdict") for verdict in (one, other))
    once = read_verdict(gives, form, f"{before}\n{first}\n{after}")
    assert (once.value, once.error) == (read_value(gives, one), None)
    assert read_verdict(gives, form, f"{before}\n{first}\n{after}\n{first}").value == read_value(gives, one)
    twice = f"{before}\n{first}\n{after}\n{second}"
    both, none = read_verdict(gives, form, twice), read_verdict(gives, form, f"{before}\n{after}")
    assert both.value is None and both.status == "parse_failure"
    assert none.value is None and none.status == "parse_failure"
    assert read_verdict(gives, form, twice, "last").value == read_value(gives, other)
    assert read_verdict(gives, form, twice, "first").value == read_value(gives, one)


BESIDE = (", ", ",", "、", " and ", " & ", " or ", "/", " / ", "|", " | ", "–", "—", " + ", " vs ", "和", "或", " ")
"""What may stand between two verdicts of which neither counts."""


@settings(max_examples=sized(300, 5000), deadline=None)
@given(
    drawn(), st.sampled_from(BESIDE), st.sampled_from(("", "**", "'", '"')), st.sampled_from(("", ".", " are alike"))
)
def test_of_two_verdicts_in_one_place_none_is_a_score(
    sample: tuple[Type, str, list[str]], between: str, mark: str, after: str
) -> None:
    gives, form, verdicts = sample
    both = between.join(f"{mark}{verdict}{mark}" for verdict in verdicts)
    assume(not isinstance(gives, BoolType) or after != " are alike")
    assume(not isinstance(gives, IntegerType | NumberType) or "/" not in between)
    found = read_verdict(gives, form, f"It is short.\n{form.replace('{}', both + after)}\nThat is all.")
    assert found.value is None, found


@settings(max_examples=sized(100, 1000), deadline=None)
@given(st.text(max_size=300), st.sampled_from(("[[{}]]", "Score: {}", "评分：{}分", "A{}", "*{}*")))
def test_any_text_gives_a_value_of_the_type_or_an_error(text: str, form: str) -> None:
    for gives in (AB, TEN, BoolType(), NumberType()):
        found = read_verdict(gives, form, text)
        assert (found.value is None) == (found.error is not None)


# Runs

SPEC = """\
benchmark judged "1.0.0" { languages en }
role candidate compared
role judge PANEL
role strong
dataset item from "items.jsonl" { question text }
scorer good(question: text, reply: text) by judge CASCADE {
  prompt "Explain first, and end with [[yes]] or [[no]]. {{ question }} {{ reply }}"
  gives  bool in "[[{}]]"
  SAMPLES
}
scenario once {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score good = good(item.question, reply)
}
"""
ITEMS = [{"question": "one"}, {"question": "two"}]


def spec(panel: bool = False, cascade: bool = False) -> str:
    return (
        SPEC.replace(" PANEL", " panel" if panel else "")
        .replace(" CASCADE", " then strong when unsure" if cascade else "")
        .replace("SAMPLES", "samples 3, unsure below 0.9" if cascade else "")
    )


def run(folder: Path, script: Any, text: str | None = None, **roles: str) -> SmallRun:
    return run_small(folder, text or spec(), {"items.jsonl": ITEMS}, script=script, **(roles or {"judge": "judge"}))


def parsed(found: SmallRun) -> list[dict[str, Any]]:
    return [json.loads(row["parsed"])["verdict"] for row in found.table("judgements")]


def test_nothing_is_added_to_a_prompt_that_states_the_form(tmp_path: Path) -> None:
    found = run(tmp_path, lambda request: "It is short.\n\n**[[Yes]]**")
    sent = found.sent("judge")
    assert sent[0] == (("user", "Explain first, and end with [[yes]] or [[no]]. one It is short.\n\n**[[Yes]]**"),)
    assert all(request.schema is None for request in found.callers["judge"].asked)
    assert {row["value"] for row in found.table("scores")} == {1.0}
    assert parsed(found) == [{"score": 1.0, "reason": "It is short."}] * 2


def test_an_unreadable_verdict_is_asked_for_once_more_and_is_no_score(tmp_path: Path) -> None:
    def unsure(request: Request) -> str:
        return "[[yes]], or rather [[no]]" if request.model == "judge" else "a reply"

    found = run(tmp_path, unsure)
    assert found.asked["judge"] == 4
    last = max((request.messages for request in found.callers["judge"].asked), key=len)[-1].content
    assert last == (
        "That reply could not be used: the reply gives different verdicts: true, false. "
        "Reply again, and state one verdict in the form `[[{}]]`."
    )
    assert {(row["value"], row["status"]) for row in found.table("scores")} == {(None, "parse_failure")}


def test_a_repaired_reply_is_read(tmp_path: Path) -> None:
    def second(request: Request) -> str:
        return "[[no]]" if len(request.messages) > 1 else "I think so."

    assert {row["value"] for row in run(tmp_path, second).table("scores")} == {0.0}


def test_panels_and_cascades_judge_in_the_form(tmp_path: Path) -> None:
    def verdict(request: Request) -> str:
        return "[[no]]" if request.model == "b" or request.number == 1 else "Well. [[yes]]"

    panel = run(tmp_path / "panel", verdict, spec(panel=True), judge="a,b")
    assert sorted(row["value"] for row in panel.table("scores")) == [0.0, 0.0, 1.0, 1.0]
    cascade = run(tmp_path / "cascade", verdict, spec(cascade=True), judge="j", strong="b")
    assert {row["value"] for row in cascade.table("scores")} == {0.0}, (
        "three verdicts differ, so the strong one decides"
    )


PAIRS = """\
benchmark pairs "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { question text }
scorer better(a: text, b: text) by judge {
  blind to model
  prompt "A: {{ a }}\\nB: {{ b }}\\nExplain first, then say [[A]], [[B]] or [[C]] for a tie."
  gives  choice(A, B, C) in "[[{}]]"
}
scenario once {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  compare duel using better(first.reply, second.reply)
}
measure won = win_rate(duel)
"""


def test_a_comparison_in_both_orders_maps_the_verdict_to_the_models(tmp_path: Path) -> None:
    def longer(request: Request) -> str:
        if request.model != "judge":
            return "long and long" if request.model == "a" else "short"
        one, other = request.messages[-1].content.split("\n")[:2]
        return f"The longer one. [[{'A' if len(one) > len(other) else 'B'}]]"

    found = run_small(tmp_path, PAIRS, {"items.jsonl": ITEMS}, models=("a", "b"), script=longer, judge="judge")
    rows = found.table("comparisons")
    won = {(row["first_model"], row["second_model"]): row["value"] for row in rows}
    assert won == {("a", "b"): 1.0, ("b", "a"): 0.0}
    assert {each["choice"] for each in parsed(found)} == {"A", "B"}
    assert {each["reason"] for each in parsed(found)} == {"The longer one."}


RECORD = """\
benchmark records "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { question text }
scorer good(reply: text) by judge {
  prompt "Judge this. {{ reply }}"
  gives STATED { "analysis of A" text, notes text?, verdict choice(good, bad) }
}
scenario once {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score good = good(reply)
}
"""
ANSWER = '{"analysis of A": "It is right.", "notes": NOTES, "verdict": "good"}'


@pytest.mark.parametrize("stated", ["", "as stated"])
def test_of_a_record_one_field_is_the_verdict_and_the_others_are_kept_as_reasons(tmp_path: Path, stated: str) -> None:
    for notes, kept in (('"None."', {"analysis of A": "It is right.", "notes": "None."}), ("null", None)):
        folder = tmp_path / str(kept is None)
        reply = ANSWER.replace("NOTES", notes)
        found = run(folder, lambda request, reply=reply: reply, RECORD.replace("STATED", stated))
        prompt = found.sent("judge")[0][-1][1]
        assert ('"analysis of A": "<text>"' in prompt) == (not stated)
        [told, _] = parsed(found)
        assert told["choice"] == "good" and told.get("reasons") == kept
        assert told["reason"].startswith("It is right." if kept is None else "analysis of A: It is right.")


def test_a_record_without_its_reasons_is_no_score(tmp_path: Path) -> None:
    found = run(tmp_path, lambda request: '{"verdict": "good"}', RECORD.replace("STATED", ""))
    assert {(row["value"], row["status"]) for row in found.table("scores")} == {(None, "parse_failure")}


WEIGHED = """\
benchmark weighed "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" { question text }
scorer good(reply: text) by judge {
  prompt "Explain, and score it from 1 to 5: Score: 3. {{ reply }}"
  gives  GIVES
  top_logprobs 5
}
scenario once {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score good = good(reply)
}
"""


@each(
    "gives, tokens",
    [
        ('1..5 weighted in "Score: {}"', ["It has 4 faults", ". 评。 ", "Score", ": ", "4"]),
        ("weighted { why text, marks 1..5 }", ['{"why": "4 of 5", ', '"marks": ', "4", "}"]),
    ],
)
def test_a_scale_is_weighed_where_the_verdict_stands(tmp_path_factory: Any, gives: str, tokens: list[str]) -> None:
    place = tokens.index("4")
    halves = [{"token": mark, "logprob": math.log(0.5)} for mark in ("4", "2")]
    told = [
        {"token": token, "logprob": -0.1, "top_logprobs": halves if number == place else []}
        for number, token in enumerate(tokens)
    ]

    def judge(request: Request) -> str | Reply | ModelError:
        text = "".join(tokens)
        return Reply(text, "judge", "stop", 1, 1, 0.0, logprobs=json.dumps(told)) if "fair" in request.model else "x"

    found = run(tmp_path_factory.mktemp("run"), judge, WEIGHED.replace("GIVES", gives), judge="mock/fair")
    assert [row["value"] for row in found.table("scores")] == [pytest.approx(3.0)] * 2, found.table("judgements")


# Mocks


@pytest.mark.parametrize("character", ["careful", "fair", "severe", "student-80-10"])
def test_a_mock_judge_replies_in_the_stated_form(character: str) -> None:
    schema = {"type": "object", "properties": {"value": {"type": "integer", "minimum": 1, "maximum": 10}}}
    model = open_mock(character, asyncio.sleep)
    for number in range(10):
        message = Message("user", f"Rate {number} {random.Random(number).random()}")
        request = Request(model.name, (message,), stated=StatedReply(schema, "Rating: [[{}]]"))
        reply = asyncio.run(model.ask(request))
        found = read_verdict(TEN, "Rating: [[{}]]", reply.text)
        assert found.error is None and found.reason, reply.text


# The command line


def test_the_reasons_of_a_mock_judge_can_be_queried(tmp_path: Path, tripos: Command) -> None:
    (tmp_path / "items.jsonl").write_text("\n".join(map(json.dumps, ITEMS)), "utf-8")
    path = tmp_path / "s.tripos"
    path.write_text(spec(), "utf-8")
    store = ("--store", str(tmp_path / "results"))
    tripos("run", str(path), "--model", "mock/careful", "--role", "judge=mock/fair", *store)
    query = "select metric, value, reason from judged.rationales"
    found = tripos("sql", query, *store, "--format", "csv").out.strip().splitlines()[1:]
    assert len(found) == len(ITEMS)
    for row in csv.reader(found):
        assert row[0] == "good" and row[1] in ("0.0", "1.0") and row[2].endswith("."), row
