"""The mock models stay in character, and answer the same request the same way."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import jsonschema
import pytest

from tripos_compiler.plan import Settings
from tripos_runtime.models.base import Message, Model, ModelError, Reply, Request
from tripos_runtime.models.families import open_model
from tripos_runtime.models.mocks import Student, right_option

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "level": {"type": "string", "enum": ["basic", "advanced"]},
        "score": {"type": "integer", "minimum": 1, "maximum": 10},
        "share": {"type": "number"},
        "true": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}, "minItems": 2},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
        "inner": {"type": "object", "properties": {"reason": {"type": "string"}}, "required": ["reason"]},
    },
    "required": ["level", "score", "share", "true", "tags", "note", "inner"],
    "additionalProperties": False,
}


def request(text: str = "Why is the sky blue?", schema: dict[str, Any] | None = None) -> Request:
    return Request("mock", (Message("user", text),), schema=schema)


def ask(model: Model, asked: Request) -> Reply:
    return asyncio.run(model.ask(asked))


@pytest.mark.parametrize("name", ["mock/careful", "mock/careful:ada"])
def test_careful_fits_the_schema(name: str) -> None:
    for number in range(20):
        value = json.loads(ask(open_model(name), request(str(number), SCHEMA)).text)
        jsonschema.validate(value, SCHEMA)
        assert 7 <= value["score"] <= 10


@pytest.mark.parametrize("name", ["careful", "careless", "refuses", "broken-json", "careful:ada"])
@pytest.mark.parametrize("schema", [None, SCHEMA])
def test_the_same_request_gets_the_same_reply(name: str, schema: dict[str, Any] | None) -> None:
    replies = {ask(open_model(f"mock/{name}"), request(schema=schema)).text for _ in range(3)}
    assert len(replies) == 1


def test_judges_of_different_names_differ() -> None:
    asked = [request(str(number), SCHEMA) for number in range(10)]
    ada, bob = ([ask(open_model(f"mock/careful:{name}"), one).text for one in asked] for name in ("ada", "bob"))
    assert ada != bob


def test_samples_with_different_seeds_differ() -> None:
    replies = {
        ask(open_model("mock/careful"), Request("m", request().messages, Settings(seed=seed))).text for seed in range(9)
    }
    assert len(replies) > 1


def test_a_chinese_prompt_gets_a_chinese_reply() -> None:
    assert "。" in ask(open_model("mock/careful"), request("天空为什么是蓝色的？")).text


def test_a_reply_says_what_it_took() -> None:
    reply = ask(open_model("mock/careful"), request())
    assert (reply.model_served, reply.finish_reason, reply.tokens_in, reply.cost_usd) == (
        "mock/careful",
        "stop",
        5,
        0.0,
    )
    assert reply.tokens_out is not None and reply.tokens_out > 5


def test_careless_spoils_its_replies_in_every_way() -> None:
    model = open_model("mock/careless")
    fields = {name: {"type": "integer", "minimum": 1, "maximum": 10} for name in ("Depth", "factual_accuracy")}
    schema = {"type": "object", "properties": fields, "required": list(fields)}
    text = "\n".join(ask(model, request(str(number), schema)).text for number in range(200))
    spoilt = ["```json", "/10", " 分", "null", "factual accuracy", '"depth"', "overall impression"]
    assert [sign for sign in spoilt if sign not in text] == []


def test_refusing_is_a_reply() -> None:
    assert ask(open_model("mock/refuses"), request()).finish_reason == "stop"


def test_slow_waits_on_the_clock_it_is_given() -> None:
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    ask(open_model("mock/slow", sleep=sleep), request())
    assert waits == [0.05]


def test_failures_are_counted_for_each_request() -> None:
    model = open_model("mock/fails-2")
    outcomes = []
    for text in ("a", "a", "b", "a", "a", "b", "b"):
        try:
            outcomes.append(ask(model, request(text)).finish_reason)
        except ModelError as error:
            outcomes.append(f"{error.code} {error.retryable}")
    assert outcomes == ["R0111 True", "R0111 True", "R0111 True", "stop", "stop", "R0111 True", "stop"]


@pytest.mark.parametrize(
    ("name", "code", "fatal", "retryable"),
    [("mock/wrong-key", "R0102", True, False), ("mock/down", "R0101", False, True)],
)
def test_errors_say_what_to_do_about_them(name: str, code: str, fatal: bool, retryable: bool) -> None:
    with pytest.raises(ModelError) as caught:
        ask(open_model(name), request())
    assert (caught.value.code, caught.value.fatal, caught.value.retryable) == (code, fatal, retryable)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("mock/carefull", "did you mean `mock/careful`?"),
        ("mock/fails-N", "write a number for N, such as `mock/fails-2`"),
        ("", "write `provider/model`"),
        (" mock/careful", "write `provider/model`"),
        ("openai/", "write `provider/model`"),
    ],
)
def test_an_unknown_name_is_refused_with_a_hint(name: str, hint: str) -> None:
    with pytest.raises(ModelError) as caught:
        open_model(name)
    assert (caught.value.code, caught.value.fatal, caught.value.hint) == ("R0103", True, hint)


def told(asked: str, schema: dict[str, Any] | None = None) -> str:
    return Student("s", 1.0, 0.0).text([Message("user", asked)], schema, 0, chinese=False)


def test_a_student_answers_a_question_of_two_options_in_the_form_that_is_asked_for() -> None:
    assert json.loads(told("3 + 4 = ?\nA. 6\nB. 7", {"type": "object"})) == {"value": "B"}


def test_a_student_takes_no_option_from_the_line_below() -> None:
    assert "B" in told("3 + 4 = ?\nA.\nB. 7\nC. 8\n", {"type": "object"})


@pytest.mark.parametrize("sum_", ["1" * 5000 + " + 1", "1 + " + "1" * 5000, "1" * 100_000, "A. " + " " * 100_000 + "x"])
def test_a_student_knows_no_answer_to_a_sum_without_end_and_gives_one(sum_: str) -> None:
    assert right_option(sum_, {"A": "2", "B": "3"}) is None
    assert told(f"{sum_}\nA. 2\nB. 3")


def test_a_student_who_is_wrong_gives_any_option_but_the_right_one() -> None:
    asked = [Message("user", "3 + 4 = ?\nA. 6\nB. 7\nC. 8")]
    replies = {Student("s", 0.0, 0.0).text(asked, {"type": "object"}, number, chinese=False) for number in range(30)}
    assert replies == {'{"value": "A"}', '{"value": "C"}'}
