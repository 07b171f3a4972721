"""Replies against the form that their prompt asks for: JSON alone, of the shape of the note, and nothing the reader
would forgive."""

from __future__ import annotations

import json
import random
from typing import Any

from tests.lengths import sized
from tripos_compiler.plan import (
    BoolType,
    ChoiceType,
    IntegerType,
    ListType,
    NumberType,
    OptionalType,
    RecordType,
    Settings,
    SetType,
    TextType,
    Type,
)
from tripos_runtime.asking.plan_questions import reply_reader
from tripos_runtime.asking.questions import Question
from tripos_runtime.reading.schema import schema_of

WORDS = ("rain", "wind", "雨", "snow falls", "it is 4")


def question(returns: Type | None) -> Question:
    schema = None if returns is None else schema_of(returns)
    form = "text" if returns is None else "typed"
    return Question(None, None, Settings(), schema, reply_reader(returns, (), "en"), form=form)


def drawn(dice: random.Random, depth: int = 2) -> tuple[Type, Any]:
    """Return a type and a value of it, as JSON has it."""
    kind = dice.choice(("text", "integer", "number", "bool", "choice", *(("list", "set", "record") * (depth > 0))))
    match kind:
        case "text":
            return TextType(), dice.choice(WORDS)
        case "integer":
            return IntegerType(low=1, high=5), dice.randrange(1, 6)
        case "number":
            return NumberType(), dice.choice((0.5, -3, 12))
        case "bool":
            return BoolType(), dice.choice((True, False))
        case "choice":
            return ChoiceType(values=("low", "high")), dice.choice(("low", "high"))
        case "record":
            parts = {name: drawn(dice, depth - 1) for name in ("one", "two")[: dice.randrange(1, 3)]}
            return RecordType(fields={name: part for name, (part, _) in parts.items()}), {
                name: value for name, (_, value) in parts.items()
            }
        case _:
            of, value = drawn(dice, 0)
            return (ListType if kind == "list" else SetType)(of=of), [value]


def test_a_value_of_the_type_has_the_form_and_nothing_else_around_it_has() -> None:
    for seed in range(sized(60, 1000)):
        dice = random.Random(seed)
        returns, value = drawn(dice)
        asked = question(returns)
        whole = value if isinstance(returns, RecordType) else {"value": value}
        text = json.dumps(whole, ensure_ascii=False)
        assert asked.form_error(text) is None, (seed, text)
        assert asked.form_error(f"\n{json.dumps(whole, indent=2)}\n") is None, (seed, text)
        for other in (
            f"Here it is: {text}",
            f"{text} That is all.",
            f"```json\n{text}\n```",
            text[:-1],
            json.dumps({**whole, "more": 1}),
            json.dumps({name: part for name, part in whole.items() if name != next(iter(whole))}),
            json.dumps([whole]),
        ):
            assert asked.form_error(other) is not None, (seed, other)


def test_a_value_off_its_type_has_another_form() -> None:
    for returns, value in (
        (IntegerType(low=1, high=5), "4"),
        (IntegerType(low=1, high=5), 6),
        (BoolType(), "yes"),
        (ChoiceType(values=("low", "high")), "Low"),
        (ListType(of=TextType()), "rain, wind"),
        (TextType(), 4),
    ):
        assert question(returns).form_error(json.dumps({"value": value})) is not None, (returns, value)
    assert question(OptionalType(of=TextType())).form_error('{"value": null}') is None


def test_any_text_has_the_form_of_a_text() -> None:
    assert question(None).form_error('Because it rains: {"value": 1}') is None
