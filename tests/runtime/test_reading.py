"""Replies as models write them, and what the reader makes of each."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.each import each
from tests.lengths import sized
from tripos_compiler.plan import (
    Axis,
    AxisValue,
    BoolType,
    ChoiceType,
    DialogueType,
    IntegerType,
    ListType,
    Metric,
    NumberType,
    OptionalType,
    RecordType,
    SetType,
    TextType,
    Type,
)
from tripos_runtime.models.base import Message, Request
from tripos_runtime.models.families import open_model
from tripos_runtime.reading.json_values import find_json_values
from tripos_runtime.reading.judgements import read_metrics
from tripos_runtime.reading.schema import format_note, metrics_schema, schema_of
from tripos_runtime.reading.typed import read


def metric(name: str, en: str, zh: str, low: int = 1, high: int = 10) -> Metric:
    return Metric(name=name, title={"en": en, "zh": zh}, dimension="d", low=low, high=high, asks={}, levels=())


DEPTH = metric("depth", "Depth of explanation", "解释深度")
FACTS = metric("facts", "Factual Accuracy", "事实准确性")
METRICS = (DEPTH, FACTS)
SCORE = IntegerType(low=1, high=10)
UNREAD = "the reply holds no JSON that can be read"
LETTER = ChoiceType(values=("A", "B", "C"))
LEVEL = ChoiceType(values=("basic", "advanced"), axis="level")
LEVELS = Axis(
    name="level",
    values=(
        AxisValue(name="basic", labels={"en": "Basic level", "zh": "基础"}),
        AxisValue(name="advanced", labels={"en": "Advanced level", "zh": "高级"}),
    ),
)
ANSWER = RecordType(fields={"answer": LETTER, "final_score": SCORE, "note": OptionalType(of=TextType())})


def best_json(text: str) -> Any:
    """Return the first value that `find_all` finds."""
    return found[0].value if (found := find_json_values(text)) else None


@each(
    "text, value",
    [
        ('{"a": 1}', {"a": 1}),
        ('```json\n{"a": [1, 2,],}\n```', {"a": [1, 2]}),
        ('Sure! Here it is: {"a": 1,} Hope it helps {smile}', {"a": 1}),
        ("{'a': True, 'b': None}", {"a": True, "b": None}),
        ("{a: 1, b: two}", {"a": 1, "b": "two"}),
        ('{"a": NaN, "b": 1e999}', {"a": None, "b": None}),
        ('{"a": "he said "hi" to me", "b": 2}', {"a": 'he said "hi" to me', "b": 2}),
        ('{"a": "x\ny"}', {"a": "x\ny"}),
        ('{"a"：1，"b"：2}', {"a": 1, "b": 2}),
        ('{"a": 8, // good\n "b": 3}', {"a": 8, "b": 3}),
        ('first {"a": 1} then {"a": 2}', {"a": 2}),
        ('<think>{"a": 2}</think>{"a": 1}', {"a": 1}),
        ("as in [1] and [note]", [1]),
        ('{"a": "\\ud800"}', {"a": "\ufffd"}),
        ('{"a": "\\ud83d\\ude00",}', {"a": "😀"}),
        ("no JSON at all", None),
        ("I am {sorry}", None),
        ("", None),
    ],
)
def test_json_is_found_however_it_is_wrapped(text: str, value: object) -> None:
    assert best_json(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1, "b": {"c": "hel', {"a": 1}),
        ('{"a": {"x": 1}, "b": 12', {"a": {"x": 1}}),
        ('{"a": "whole"', {"a": "whole"}),
        ('{"a": 12', None),
        ('{"a": ["x", "y', None),
        ("[1, 2", None),
    ],
)
def test_a_cut_off_value_keeps_its_whole_members_only(text: str, value: object) -> None:
    assert best_json(text) == value


@each("type, text, value", [
        (SCORE, '{"value": 8}', 8),
        (SCORE, "8", 8),
        (SCORE, "8.0", 8),
        (SCORE, "8/10", 8),
        (SCORE, "８ / 10", 8),
        (SCORE, "7 分", 7),
        (SCORE, "7分（满分10分）", 7),
        (SCORE, "**Score**: 9 because it has 3 parts", 9),
        (SCORE, "得分：9分", 9),
        (SCORE, '{"Score": "7 out of 10"}', 7),
        (SCORE, "[8]", 8),
        (IntegerType(), "12,345,678,901,234,567,890", 12345678901234567890),
        (IntegerType(), "We add the parts.\nThere are 3 and 4 of them, which is all there is to it, so we conclude at last:\n#### 7", 7),
        (NumberType(), '{"value": "-3.5"}', -3.5),
        (NumberType(), "\\boxed{42}", 42.0),
        (NumberType(), "80%", 80.0),
        (NumberType(), '{"value": 3/4}', 0.75),
        (NumberType(), '{"value": 1 1/2, "why": "half"}', 1.5),
        (NumberType(), '{"value": $1,234.50}', 1234.5),
        (NumberType(), '{"value": [42]}', 42.0),
        (ListType(of=NumberType()), "[1/2, 3/4]", [0.5, 0.75]),
        (IntegerType(), "As in [1], the answer is 5.", 5),
        (BoolType(), '{"value": true}', True),
        (BoolType(), "Yes, because it rains.", True),
        (BoolType(), "否", False),
        (BoolType(), "不对", False),
        (BoolType(), "The statement is false.", False),
        (LETTER, "b", "B"),
        (LETTER, "(B)", "B"),
        (LETTER, "The answer is **B**.", "B"),
        (LETTER, "答案是B。", "B"),
        (LETTER, '{"answer": "B. Paris"}', "B"),
        (LEVEL, "基础", "basic"),
        (LEVEL, '{"value": "advanced LEVEL"}', "advanced"),
        (LEVEL, "这属于高级水平", "advanced"),
        (SetType(of=LETTER), "A, c", frozenset("AC")),
        (SetType(of=LETTER), '{"value": ["A", "B", "A"]}', frozenset("AB")),
        (ListType(of=IntegerType()), "1\n2\n3", [1, 2, 3]),
        (ListType(of=TextType()), '{"value": "red, green、blue"}', ["red", "green", "blue"]),
        (ListType(of=TextType()), "- red\n- green", ["red", "green"]),
        (TextType(), "plain words", "plain words"),
        (TextType(), '{"value": "wrapped"}', "wrapped"),
        (TextType(), 'the setting {"port": 80} is right', 'the setting {"port": 80} is right'),
        (OptionalType(of=SCORE), '{"value": null}', None),
        (OptionalType(of=SCORE), "N/A", None),
        (OptionalType(of=TextType()), "words", "words"),
        (ANSWER, '{"Answer": "a", "Final Score": "8/10"}', {"answer": "A", "final_score": 8, "note": None}),
        (ANSWER, '{"result": {"ANSWER": "A", "final-score": 8, "note": "n"}}', {"answer": "A", "final_score": 8, "note": "n"}),
        (ANSWER, '[{"answer": "A", "final_score": 8}]', {"answer": "A", "final_score": 8, "note": None}),
        (RecordType(fields={"answer": LETTER}), '{"choice": "C"}', {"answer": "C"}),
        (RecordType(fields={"answer": LETTER}), "Answer: C", {"answer": "C"}),
        (DialogueType(), '[{"role": "T", "content": "hi"}, {"P": "hello"}]', [{"speaker": "T", "text": "hi"}, {"speaker": "P", "text": "hello"}]),
        (LETTER, "B. The set {1, 2} is finite", "B"),
        (LETTER, "[B]", "B"),
        (SetType(of=LETTER), "[A, B]", frozenset("AB")),
        (LEVEL, "Of {these I choose: basic", "basic"),
        (LEVEL, "I would { say `basic`", "basic"),
        (BoolType(), "Is {1, 2} finite?\nYes", True),
        (NumberType(), "As $x^{2} = 4$, the answer is 2.", 2.0),
        (NumberType(), "As $x^{2} = 4$, \\boxed{2}", 2.0),
        (DialogueType(), "T: [smiles] hi\nP: {1, 2}?", [{"speaker": "T", "text": "[smiles] hi"}, {"speaker": "P", "text": "{1, 2}?"}]),
        (DialogueType(), "**老师**：你好\n学生: 您好", [{"speaker": "老师", "text": "你好"}, {"speaker": "学生", "text": "您好"}]),
    ])  # fmt: skip
def test_a_value_is_read(type: Type, text: str, value: object) -> None:
    found = read(type, text, (LEVELS,))
    assert (found.value, found.error, found.status) == (value, None, "ok")


@each(
    "type, text, error",
    [
        (SCORE, '{"value": 11}', "11 is not in 1..10"),
        (SCORE, "0", "0 is not in 1..10"),
        (SCORE, "7.5", "7.5 is not a whole number"),
        (SCORE, "80/100", "`80/100` is not one number"),
        (SCORE, "between 7 and 8", "`between 7 and 8` is not one number"),
        (SCORE, "7-8", "`7-8` is not one number"),
        (SCORE, '{"value": true}', "a whole number was asked for"),
        (SCORE, '{"value": null}', "the value is null"),
        (SCORE, "", "the reply is empty"),
        (SCORE, "80%", "`80%` is not one number"),
        (NumberType(), "about 80", "`about 80` is not one number"),
        (BoolType(), "It's partly true", "`It's partly true` is neither yes nor no"),
        (BoolType(), "这是一个问题", "`这是一个问题` is neither yes nor no"),
        (LETTER, "A or B", "`A or B` is none of A, B, C"),
        (LETTER, "a cat sat", "`a cat sat` is none of A, B, C"),
        (LETTER, "not B", "`not B` is none of A, B, C"),
        (ANSWER, '{"answer": "A"}', "`final_score` is missing"),
        (ANSWER, '{"answer": "A", "final_score": 8, "note": "very lo', "`note` is missing: the reply is cut off"),
        (ANSWER, '{"answer": "A", "final_score": 12}', "`final_score`: 12 is not in 1..10"),
        (ANSWER, "just prose", "the reply holds no JSON"),
        (TextType(), '{"value": "cut of', "the reply is cut off"),
        (ListType(of=TextType()), "prose, with a comma", "the reply holds no JSON"),
        (LEVEL, "The answer deserves {basic marks", UNREAD),
        (LEVEL, '{"reason": "the answer is basic', UNREAD),
        (SCORE, "I give {8 points", UNREAD),
        (BoolType(), "It is true {", UNREAD),
        (SetType(of=LETTER), "A, {B", UNREAD),
        (DialogueType(), "My marks: { [ }", UNREAD),
        (SetType(of=LETTER), "A, {B}", UNREAD),
        (DialogueType(), 'T: {"a\n{"speaker": hi', UNREAD),
    ],
)
def test_what_cannot_be_read_is_an_error_and_never_a_value(type: Type, text: str, error: str) -> None:
    found = read(type, text)
    assert (found.value, found.error, found.status) == (None, error, "parse_failure")


@pytest.mark.parametrize("text", ["I’m sorry, but I can’t answer that.", "抱歉，我无法回答这个问题。"])
def test_a_refusal_is_told_from_a_bad_reply(text: str) -> None:
    assert read(SCORE, text).status == "refused"
    assert read(TextType(), text).value == text
    assert {one.status for one in read_metrics(METRICS, text).values()} == {"refused"}


@pytest.mark.parametrize(
    ("text", "depth", "facts"),
    [
        ('{"depth": {"reason": "r", "score": 8}, "facts": {"reason": "q", "score": 7}}', 8, 7),
        ('{"Depth": {"Score": "8/10", "Reason": "r"}, "FACTS": "7 分"}', 8, 7),
        ('{"Depth of Explanation": 8, "factual_accuracy": 7}', 8, 7),
        ('{"解释深度": {"得分": 8, "理由": "好"}, "事实准确性": {"value": "7"}}', 8, 7),
        ('{"1. depth": 8, "事实准确性 (Factual Accuracy)": 7}', 8, 7),
        ('{"scores": {"depth": 8, "facts": 7}, "summary": "fine"}', 8, 7),
        ('[{"metric": "Depth", "score": 8, "comment": "r"}, {"criterion": "facts", "rating": 7}]', 8, 7),
        ('{"evaluation": [{"depth": 8}, {"facts": 7}]}', 8, 7),
        ('draft {"depth": 1, "facts": 1} final {"depth": 8, "facts": 7} {"note": "1-10"}', 8, 7),
    ],
)
def test_metrics_are_read(text: str, depth: float, facts: float) -> None:
    reads = read_metrics(METRICS, text)
    assert [(reads[name].value, reads[name].status) for name in ("depth", "facts")] == [
        (depth, "scored"),
        (facts, "scored"),
    ]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ('{"facts": 7, "depth": null}', "null"),
        ('{"facts": 7, "depth": {"reason": "r", "score": null}}', "null"),
        ('{"facts": 7}', "missing"),
        ('{"facts": 7, "depth": 11}', "11 is not in 1..10"),
        ('{"facts": 7, "depth": 0}', "0 is not in 1..10"),
        ('{"facts": 7, "depth": "80/100"}', "the score is not one number"),
        ('{"facts": 7, "depth": "high"}', "the score is not one number"),
        ('{"facts": 7, "depth": true}', "the score is not a number"),
        ('{"facts": 7, "depth": {"reason": "r"}}', "no score"),
        ('{"facts": 7, "depth": 8, "Depth": 3}', "given twice, differently"),
        ('{"facts": 7, "depth": {"reason": "on and', "missing: the reply is cut off"),
    ],
)
def test_a_metric_that_cannot_be_read_fails_alone(text: str, error: str) -> None:
    reads = read_metrics(METRICS, text)
    assert (reads["depth"].value, reads["depth"].status, reads["depth"].error) == (None, "parse_failure", error)
    assert reads["facts"].value == 7


def test_invented_metrics_are_named_and_not_scored_and_reasons_are_kept() -> None:
    reads = read_metrics(METRICS, '{"depth": {"score": 8, "rationale": "clear"}, "style": 3, "facts": 7}')
    assert (sorted(reads), reads.extra, reads["depth"].reason) == (["depth", "facts"], ("style",), "clear")
    assert {one.error for one in read_metrics(METRICS, "Depth was good, 8.").values()} == {"the reply holds no JSON"}


def test_a_lone_metric_is_scored_from_prose_but_not_from_broken_json() -> None:
    replies = ("Score: 8/10", "Score {x}: 8", '{"depth": {"reason": "a score of 8', "I give {8 points")
    assert [read_metrics([DEPTH], reply)["depth"].value for reply in replies] == [8, 8, None, None]


def test_a_schema_is_strict_and_puts_the_reason_first() -> None:
    schema = metrics_schema(METRICS)
    assert list(schema["properties"]["depth"]["properties"]) == ["reason", "score"]
    assert schema["additionalProperties"] is False and schema["required"] == ["depth", "facts"]
    assert schema_of(OptionalType(of=BoolType()))["properties"]["value"] == {
        "anyOf": [{"type": "boolean"}, {"type": "null"}]
    }


def test_a_format_note_shows_the_shape_in_the_language_of_the_prompt() -> None:
    assert '"score": <whole number from 1 to 10>' in format_note(metrics_schema(METRICS), "fr")
    assert '"score": <1 到 10 的整数>' in format_note(metrics_schema(METRICS), "zh-Hans")
    assert '"answer": "A" or "B" or "C"' in format_note(schema_of(ANSWER), "en")


TYPES = (SCORE, NumberType(), BoolType(), LEVEL, TextType(), SetType(of=LETTER), ListType(of=SCORE), ANSWER, DialogueType(),
         SetType(of=ANSWER), OptionalType(of=LETTER))  # fmt: skip
PIECES = st.sampled_from(["{", "}", "[", "]", '"', "'", ":", ",", "depth", "score", "8", "/10", "分", "null", "\\", "\n", " ", "“", "：", "1e999", "\ud800"])  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["depth", "Facts", "score", "value", "answer", "metric"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=sized(60, 300), deadline=None)
@given(st.text() | st.lists(PIECES, max_size=40).map("".join) | JSON.map(json.dumps))
def test_reading_never_raises_on_any_text(text: str) -> None:
    find_json_values(text)
    for type_ in TYPES:
        found = read(type_, text, (LEVELS,))
        assert (found.error is None) == (found.status == "ok")
    for one in read_metrics(METRICS, text).values():
        assert (one.value is not None) == (one.status == "scored")


HOSTILE = sized(4_000, 50_000)


@pytest.mark.parametrize(
    "text", ["{" * HOSTILE, "[" * HOSTILE, '{"a":' * HOSTILE, "9" * 5_000, f'{{"depth": 1{"0" * 400}}}']
)
def test_hostile_texts_are_read_in_bounded_time(text: str) -> None:
    assert read(SCORE, text).error
    assert read_metrics(METRICS, text)["depth"].value is None


@settings(max_examples=sized(30, 100), deadline=None)
@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers() | st.text(max_size=5), min_size=1), st.data())
def test_a_cut_off_object_holds_only_what_the_whole_one_held(value: dict[str, object], data: st.DataObject) -> None:
    text = json.dumps(value)
    cut = best_json(text[: data.draw(st.integers(0, len(text) - 1))])
    assert cut is None or cut.items() <= value.items()


@pytest.mark.parametrize(
    ("name", "statuses", "errors", "least", "most"),
    [
        ("mock/careful", {"scored"}, {None}, 200, 200),
        ("mock/careful:ada", {"scored"}, {None}, 200, 200),
        ("mock/careless", {"scored", "parse_failure"}, {None, "null", "missing"}, 151, 199),
        ("mock/broken-json", {"parse_failure"}, None, 0, 0),
    ],
)
def test_mock_judges_are_read_as_they_are_called(
    name: str, statuses: set[str], errors: set[str | None] | None, least: int, most: int
) -> None:
    model = open_model(name)
    requests = [Request("m", (Message("user", str(n)),), schema=metrics_schema(METRICS)) for n in range(100)]
    reads = [one for r in requests for one in read_metrics(METRICS, asyncio.run(model.ask(r)).text).values()]
    assert {one.status for one in reads} == statuses
    assert errors is None or {one.error for one in reads} == errors
    scored = [one.value for one in reads if one.value is not None]
    assert least <= len(scored) <= most
    assert "careful" not in name or all(7 <= value <= 10 for value in scored)


def test_names_that_differ_in_case_alone_are_read_as_they_are_written() -> None:
    of = ChoiceType(values=("m", "M"))
    texts = ("m", "M", '{"value": "m"}', '{"value": "M"}', "**m**", "The better one is M.", "m or M", "[[m]]")
    assert [read(of, text).value for text in texts] == ["m", "M", "m", "M", "m", "M", None, "m"]
    assert read(ChoiceType(values=("a_b", "ab")), "ab").value == "ab"
    assert read(ChoiceType(values=("very_good", "bad")), "Very good").value == "very_good"
