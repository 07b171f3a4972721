"""Replies that are read as any JSON: a value comes back as it is, however it is wrapped, and a broken one never does.

The oracle is Python's reader of JSON, held to what a store can keep: no name twice, whole numbers of 64 bits, finite
numbers, whole characters.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.lengths import sized
from tests.runtime.small_runs import run_small
from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.language.rendering import render
from tripos_compiler.plan import (
    Hole,
    IntegerType,
    JsonType,
    ListType,
    OptionalType,
    RecordType,
    Ref,
    Template,
    TextType,
)
from tripos_compiler.plan.outcomes import PENDING
from tripos_runtime.asking.questions import dumps, reply_parts
from tripos_runtime.forecast.sizes import DIGITS, LONGER, SizedPlaceholders
from tripos_runtime.models.base import Request
from tripos_runtime.reading.schema import format_note, schema_of
from tripos_runtime.reading.typed import read

WHOLE = st.integers(-(2**63), 2**63 - 1)
CHARACTERS = st.characters(exclude_categories=("Cs",))
TEXTS = st.text(CHARACTERS, max_size=4) | st.sampled_from(
    [
        "```json", "<think>{}</think>", '"', "\\", "[1]", '{"a": 1}', "}", "é", "\x00", "\u2028", "中", "😀", "NaN",
        "null",
    ]
)  # fmt: skip
SCALARS = st.booleans() | WHOLE | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS | st.none(), lambda of: st.lists(of, max_size=3) | st.dictionaries(TEXTS, of, max_size=3), max_leaves=8
)
BRACKETED = st.lists(VALUES, max_size=3) | st.dictionaries(TEXTS, VALUES, max_size=3)
BEFORE = (
    "", "\n ", "Here it is: ", "As [see Table 1] and \\frac{1}{2} say, the {name} is:\n", 'The "answer" follows.\n',
    '<think>maybe {"a": [1, 2}, or "so</think>\n', '好的，“结果”如下：', "1. First I count.\n2. Then I add.\n",
)  # fmt: skip
AFTER = ("", " \n", "\nIs that fine?", " (see [the page](x))", "。希望对你有帮助！", "\n\n---\nDone.")
FENCES = ("{}", "```json\n{}\n```", "```\n{}\n```", "``` JSON\n{}\n```", "```json\n\n{}```", "`{}`", "```json {} ```")
UNKEPT = {
    "NaN": "`NaN` is no JSON", "-Infinity": "`-Infinity` is no JSON", "1e999": "the number 1e999 is too large",
    "9223372036854775808": "the whole number 9223372036854775808… has more than 64 bits",
    "-" + "9" * 5000: "the whole number -9999999999999999999… has more than 64 bits",
    '"\\ud800"': "the escape \\ud800 is half of a character", '{"\\udc00x": 1}': "the escape \\udc00 is half of a character",
    '{"a": 1, "b": 2, "a": 1}': "an object of the JSON has one name twice",
    "[" * 10_000 + "]" * 10_000: "the JSON has more than 100 levels",
    '{"a":' * 10_000 + "1" + "}" * 10_000: "the JSON has more than 100 levels",
    "[" * 101 + "]" * 101: "the JSON has more than 100 levels",
}  # fmt: skip
"""JSON, or what many readers take for it, that cannot be kept as it stands, and what is said of it."""
BROKEN = (
    "tru", "'a'", "01", "1.", "+1", ".5", "None", "True", '"a\nb"', "[1,]", '{"a": 1,}', "{a: 1}", "/* c */ 1", '"\\x"',
    "{'a': 1}", '{"a" 1}', '{"a": "he said "hi" to me"}', '{"a"：1，"b"：2}', "[1 2]", "[1, ...]", '{"a": 1 // so\n}', "(1,)",
)  # fmt: skip
"""What is no JSON, and what a reader of records may well mend."""


def same(one: Any, other: Any) -> bool:
    """Return true if two values of JSON are one, also in the kinds of their numbers."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def is_printed(value: Any) -> bool:
    """Return true if an expression may have a value: a number past all bounds is none."""
    return not isinstance(value, float) or abs(value) <= 1e70


@st.composite
def spelt(draw: st.DrawFn, values: st.SearchStrategy[Any]) -> tuple[Any, str]:
    """Draw a value and one of the ways to write it."""
    value = draw(values)
    ends = draw(st.sampled_from([(", ", ": "), (",", ":"), (" ,\n", " : ")]))
    return value, json.dumps(
        value, ensure_ascii=draw(st.booleans()), indent=draw(st.sampled_from([None, 0, 2])), separators=ends
    )


@settings(max_examples=sized(50, 1500), deadline=None)
@given(spelt(BRACKETED), st.sampled_from(BEFORE), st.sampled_from(FENCES), st.sampled_from(AFTER))
def test_a_value_comes_back_from_every_wrapping(pair: tuple[Any, str], before: str, fence: str, after: str) -> None:
    value, text = pair
    reply = before + fence.replace("{}", text) + after
    for said in (reply, reply_parts(reply, "typed", exact=True).answer):
        found = read(JsonType(), said)
        assert found.error is None
        assert same(found.value, value)
    assert same(json.loads(dumps(found.value)), value)  # as the store has it


@settings(max_examples=sized(40, 1000), deadline=None)
@given(spelt(VALUES), st.sampled_from(("", " \n", '<think>[1, {"a": 2}]</think>')), st.booleans())
def test_a_text_and_a_number_come_back_on_their_own(pair: tuple[Any, str], before: str, fenced: bool) -> None:
    value, text = pair
    text = f"Fine:\n```json\n{text}\n```\nSo." if fenced else before + text
    found, optional = read(JsonType(), text), read(OptionalType(of=JsonType()), text)
    assert (optional.error, same(optional.value, value)) == (None, True)
    assert found.error == ("the value is null" if value is None else None)
    assert same(found.value, value)


@settings(max_examples=sized(100, 6000), deadline=None)
@given(spelt(VALUES), st.sampled_from(BEFORE), st.sampled_from(FENCES), st.sampled_from(AFTER), st.data())
def test_a_broken_value_is_no_other_value(
    pair: tuple[Any, str], before: str, fence: str, after: str, data: st.DataObject
) -> None:
    """One character lacks, is too many or another one, or an end is cut off."""
    text = pair[1]
    place = data.draw(st.integers(0, len(text)))
    other = data.draw(st.sampled_from('{}[]":,0 a\\'))
    broken = data.draw(
        st.sampled_from([text[:place] + text[place + 1 :], text[:place] + other + text[place:], text[:place] + other
                         + text[place + 1 :], text[:place], text[place:]])
    )  # fmt: skip
    found = read(JsonType(), before + fence.replace("{}", broken) + after)
    if found.error is None and not same(found.value, pair[0]):  # what is beside the brackets is text around them
        assert same(found.value, json.loads(broken))
    assert found.status in ("ok", "parse_failure")


@pytest.mark.parametrize("frame", ["{}", "[1, {}]", '{"x": {}, "y": 2}', "So:\n```json\n{}\n```", 'It is {"x": [{}]}.'])
def test_what_cannot_be_kept_is_told_and_read_as_nothing(frame: str) -> None:
    for text, error in UNKEPT.items():
        found = read(JsonType(), frame.replace("{}", text))
        assert (found.value, found.status, found.error) == (None, "parse_failure", error), text[:40]
    for text in BROKEN:
        found = read(JsonType(), frame.replace("{}", text))
        assert (found.value, found.status) == (None, "parse_failure"), text


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"a": 1} or rather {"a": 2}', "the reply holds 2 JSON values, and does not say which is meant"),
        ('{"a": 1}\n{"a": 2}\n{"a": 1}', "the reply holds 3 JSON values, and does not say which is meant"),
        ("[1] as a number is [1.0]", "the reply holds 2 JSON values, and does not say which is meant"),
        (
            'It asks for [1, 2].\n```json\n{"a": 1}\n```',
            "the reply holds 2 JSON values, and does not say which is meant",
        ),
        ('"args": {"a": 1}', "the JSON is a part of something that is none"),
        ('{"a": 1}, "b": {"a": 1}', "the JSON is a part of something that is none"),
        ('{\\"a\\": {}}', "the JSON is broken or cut off at character 2"),
        ("[1, 2", "the JSON is broken or cut off at character 6"),
        ("The capital is Rome.", "the reply holds no JSON"),
        ("<think>[1] and then", "the reply is empty"),
        (" \n", "the reply is empty"),
    ],
)
def test_one_of_several_values_and_a_part_of_one_are_no_value(text: str, error: str) -> None:
    found = read(JsonType(), text)
    assert (found.value, found.status, found.error) == (None, "parse_failure", error)


def test_a_value_that_stands_twice_is_one_and_a_refusal_none() -> None:
    assert read(JsonType(), '{"a": 1, "b": 2}, in short:\n```json\n{"b": 2, "a": 1}\n```').value == {"a": 1, "b": 2}
    assert read(JsonType(), "I'm sorry, but I can't help with that.").status == "refused"
    assert read(JsonType(), "\"I'm sorry, but I can't help with that.\"").status == "ok"


CALL = RecordType(fields={"name": TextType(), "n": IntegerType(), "arguments": JsonType()})


@pytest.mark.parametrize(
    ("type_", "text", "value"),
    [
        (CALL, 'So: {"Name": "f", "n": "3", "arguments": {"a": [1]}}', {"name": "f", "n": 3, "arguments": {"a": [1]}}),
        (CALL, '{"name": "f", "n": 3, "arguments": {"a": 1, "a": 2}}', "an object of the JSON has one name twice"),
        (CALL, "{'name': 'f', 'n': 3, 'arguments': {}}", "the JSON is broken or cut off at character 2"),
        (CALL, '{"name": "f", "n": 3, "arguments": null}', "`arguments`: the value is null"),
        (CALL, '{"name": "f", "n": 3}', "`arguments` is missing"),
        (RecordType(fields={"a": JsonType()}), '{"error": "none"}', "`a` is missing"),
        (RecordType(fields={"a": OptionalType(of=JsonType())}), '{"a": null}', {"a": None}),
        (ListType(of=JsonType()), '{"value": [1, "a, b", [2]]}', [1, "a, b", [2]]),
        (ListType(of=JsonType()), '[{"a": 1}]', [{"a": 1}]),
        (ListType(of=JsonType()), '{"value": "a, b"}', "a list was asked for"),
        (JsonType(), '{"value": [1]}', {"value": [1]}),
    ],
)
def test_parts_of_a_record_that_are_json_are_read_so_too(type_: Any, text: str, value: Any) -> None:
    found = read(type_, text)
    assert (found.value, found.error) == ((None, value) if isinstance(value, str) else (value, None))


def test_the_note_of_a_prompt_says_what_is_asked_for() -> None:
    assert schema_of(JsonType()) == schema_of(OptionalType(of=JsonType())) == {}
    assert format_note({}, "en") == "Answer with JSON only, with no text before or after it."
    assert format_note(schema_of(CALL), "zh-TW").endswith('"arguments": <任意 JSON>\n}')


@settings(max_examples=sized(50, 1500), deadline=None)
@given(spelt(BRACKETED | SCALARS.filter(is_printed) | st.sampled_from([-1e15, [1e15] * 3, 1e70, {"a": [1e9, 1e22]}])))
def test_a_value_is_printed_no_longer_than_a_forecast_says(pair: tuple[Any, str]) -> None:
    value, text = pair
    shortest = re.sub(r"\b10{9,}\.0\b", lambda found: f"1e{len(found[0]) - 3}", text)  # as a model may well write it
    hole = Hole(expr=Ref(path=("reply", "value")), type=JsonType())
    printed = render(Template(parts=(hole,)), {"reply": {"value": value}}, "en", {})
    assert len(printed) <= LONGER * len(shortest) + DIGITS
    for path, pending in (("value", ("reply",)), ("rest", ("reply:rest",))):
        placeholders = SizedPlaceholders({}, {})
        placeholders.hole(Hole(expr=Ref(path=("reply", path)), type=JsonType()), Unavailable("reply", PENDING))
        (size,) = placeholders.parts
        assert (size.pending, size.beyond, size.most) == (pending, ("reply",) * (LONGER - 1), DIGITS)


SPEC = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, key json secret }
scenario one {
  over item
  ask reply by candidate { prompt "{{ item.question }}", returns json }
  ask again by candidate { prompt "{{ json(reply) }} / {{ reply }}" }
  score same = reply == item.key
  score city = json_part(reply, "stops.1.city", text) == again.text
}
"""
SAID = {"q0": ['Sure:\n```json\n{"stops": [1, {"city": "Bern"}]}\n```'], "q1": ["{'stops': []}", '{"stops": [], }'],
        "q2": ['{"a": NaN}', "[1, 2]"], "q3": ["I'm sorry, but I can't help with that."]}  # fmt: skip
KEYS = ({"stops": [1, {"city": "Bern"}]}, {"stops": []}, [True, 2], {})


def test_a_run_asks_once_more_and_keeps_the_value_or_the_reason(tmp_path: Path) -> None:
    asked: list[str] = []

    def says(request: Request) -> str:
        first = request.messages[0].content[:2]
        if first not in SAID:
            return "Bern"
        asked.append(request.messages[-1].content)
        return SAID[first][min((len(request.messages) - 1) // 2, len(SAID[first]) - 1)]

    rows = [{"question": f"q{n}", "key": key} for n, key in enumerate(KEYS)]
    done = run_small(tmp_path, SPEC, {"items.jsonl": rows}, script=says)
    kept = [row for row in done.table("samples") if row["step"] == "reply"]
    found = {
        json.loads(row["messages"])[0]["content"][:2]: (row["status"], row["parsed"], row["error"]) for row in kept
    }
    assert found == {
        "q0": ("ok", '{"stops":[1,{"city":"Bern"}]}', None),
        "q1": ("parse_failure", None, "the JSON is broken or cut off at character 2"),
        "q2": ("ok", "[1,2]", None),
        "q3": ("refused", None, "the model refused to answer"),
    }
    again = [text for text in asked if "could not be used" in text]
    assert len(again) == 2
    assert any("`NaN` is no JSON" in text for text in again)
    sent = {message for messages in done.sent("a") for _, message in messages if " / " in message}
    assert sent == {f"{each} / {each}" for each in ('{"stops": [1, {"city": "Bern"}]}', "[1, 2]")}
    scores = {(row["metric"], row["status"], row["value"]) for row in done.table("scores")}
    assert ("same", "scored", 1) in scores  # q0
    assert ("same", "scored", 0) in scores  # q2: true is no 1
    assert ("same", "parse_failure", None) in scores and ("same", "refused", None) in scores
    assert ("city", "scored", 1) in scores and ("city", "scored", 0) in scores
