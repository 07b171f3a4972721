"""`mock/careful` replies in the form that a prompt states or its shots show, so that its replies can be read."""

from __future__ import annotations

import asyncio
import json
import random
import re

import pytest

from tests.lengths import sized
from tripos_compiler.library.functions.answers import final_number, is_yes
from tripos_runtime.models.base import Message, Request
from tripos_runtime.models.mocks import open_mock


async def _never(seconds: float) -> None:
    raise AssertionError("this mock does not wait")


MOCK = open_mock("careful", _never)
STATED = {
    "Put the final answer in \\boxed{}.": r"\\boxed\{\d+\}$",
    "Your answer goes into $\\boxed{...}$": r"\\boxed\{\d+\}$",
    "End with <answer>NUMBER</answer>.": r"<answer>\d+</answer>$",
    "Write the result after `####`.": r"\n#### \d+$",
    "End with a line `Answer: X`.": r"\nAnswer: \d+$",
    'Finish with "Final answer: <number>".': r"\nFinal answer: \d+$",
    "The last line is\nAnswer: ...": r"\nAnswer: \d+$",
    "最后一行写“答案：【数字】”。": r"\n答案：\d+$",
    "最后写\n答案：…": r"\n答案：\d+$",
}
QUESTIONS = ("How many legs has a spider?", "What is 12 + 30?", "小明有三个苹果，吃了一个，还剩几个？")


def ask(*messages: Message, schema: dict[str, object] | None = None) -> str:
    return asyncio.run(MOCK.ask(Request(MOCK.name, messages, schema=schema))).text


def cases(number: int) -> random.Random:
    return random.Random(f"form {number}")


@pytest.mark.parametrize("form", STATED)
def test_a_form_that_a_prompt_states_is_kept(form: str) -> None:
    for number in range(sized(4, 40)):
        dice = cases(number)
        question = f"{dice.choice(QUESTIONS)} ({number})"
        prompt = f"{question}\n{form}" if dice.random() < 0.7 else f"{form}\n{question}"
        system = [Message("system", form)] if dice.random() < 0.3 else []
        reply = ask(*system, Message("user", question if system else prompt))
        assert re.search(STATED[form], reply), (prompt, reply)
        assert final_number(reply) is not None


@pytest.mark.parametrize("form", ["Answer yes or no.", "Is that so, yes or no?", "Reply with true or false."])
def test_a_yes_or_no_is_one(form: str) -> None:
    said = {is_yes(ask(Message("user", f"Is {number} even? {form}"))) for number in range(20)}
    assert said == {True, False}


def test_json_has_the_keys_that_a_prompt_names() -> None:
    for number in range(sized(10, 100)):
        dice = cases(number)
        keys = dice.sample(["answer", "why", "mark", "steps", "sure", "label"], dice.randint(1, 4))
        quoted = [f'"{key}"' for key in keys]
        words = " and ".join(quoted) if len(keys) < 3 else ", ".join(quoted[:-1]) + " and " + quoted[-1]
        example = {key: dice.choice([3, True, "a text", "<why>"]) for key in keys}
        prompt = dice.choice(
            (
                f"Question {number}? Reply as JSON with the keys {words}.",
                f"Question {number}? Reply in JSON:\n{json.dumps(example)}",
                f"Question {number}? Reply in JSON, like {json.dumps(example, indent=2)}",
            )
        )
        schema = {} if dice.random() < 0.5 else None  # `returns json`, and a free reply
        value = json.loads(ask(Message("user", prompt), schema=schema))
        assert list(value) == keys, prompt
        if "keys" not in prompt:
            assert [type(each) for each in value.values()] == [type(each) for each in example.values()]


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e308", "9" * 500, "0", "-7.5"])
@pytest.mark.parametrize("example", ['{"mark": %s}', '{"mark": [%s]}', '{"why": "…", "mark": %s}'])
def test_any_number_of_an_example_stands_for_a_number(number: str, example: str) -> None:
    reply = json.loads(ask(Message("user", f"Reply as JSON: {example % number}")))
    [mark] = reply["mark"] if isinstance(reply["mark"], list) else [reply["mark"]]
    assert isinstance(mark, int)
    assert mark >= 0


def test_a_reply_has_the_form_of_the_shots() -> None:
    forms = {
        "A: {}": r"A: \d+", "The answer is {}.": r"The answer is \d+\.", "{}": r"\d+", "3 + 4 = {}\n#### {}": None,
        "答案：{}": r"答案：\d+",
    }  # fmt: skip
    for number in range(sized(10, 100)):
        dice = cases(number)
        form = dice.choice(sorted(forms))
        shots = [
            message
            for _ in range(dice.randint(1, 3))
            for message in (
                Message("user", f"Q: {dice.choice(QUESTIONS)}"),
                Message("assistant", form.replace("{}", str(dice.randint(1, 99)))),
            )
        ]
        reply = ask(*shots, Message("user", f"Q: {number} + 1?"))
        pattern = forms[form] or r"3 \+ 4 = \d+\n#### \d+"
        assert re.fullmatch(pattern, reply), (shots, reply)


def test_words_of_shots_are_the_words_of_replies() -> None:
    shots = [
        message
        for text, label in (("Great!", "positive"), ("Awful.", "negative"))
        for message in (Message("user", text), Message("assistant", label))
    ]
    assert {ask(*shots, Message("user", f"Text {number}.")) for number in range(20)} == {"positive", "negative"}


def test_shots_in_the_text_of_a_prompt_show_a_form() -> None:
    for number in range(10):
        reply = ask(
            Message("user", f"Q: What is 1 + 1?\nA: 2\n\nQ: What is 1 + 2?\nA: 3\n\nQ: What is {number} + 2?\nA:")
        )
        assert re.fullmatch(r"\d", reply), reply


@pytest.mark.parametrize(
    "prompt", ["Why is the sky blue?", "Tell me the truth or a lie.", "Give your answer: be brief."]
)
def test_a_prompt_without_a_form_gets_sentences(prompt: str) -> None:
    assert not re.search(r"\d|Answer", ask(Message("user", prompt)))


def test_an_earlier_reply_of_the_model_is_no_shot() -> None:
    first = ask(Message("user", "小明为什么迟到？"))
    again = ask(Message("user", "小明为什么迟到？"), Message("assistant", first), Message("user", "还有呢？"))
    assert again != first
