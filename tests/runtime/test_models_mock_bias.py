"""Mock judges whose bias is known, and the lines of the mock that writes items."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tripos_runtime.models.base import Message, Request
from tripos_runtime.models.families import open_model

SCALE = {"type": "integer", "minimum": 1, "maximum": 10}
GRADES = {"type": "object", "properties": {"IFTC": SCALE, "reason": {"type": "string"}}}


def asked(model: str, text: str, schema: dict[str, Any] = GRADES) -> Any:
    request = Request(model, (Message("user", text),), schema=schema)
    return json.loads(asyncio.run(open_model(model).ask(request)).text)


def grades(model: str, count: int = 300) -> list[int]:
    return [asked(model, f"reply {number}")["IFTC"] for number in range(count)]


def test_judges_of_any_name_agree_on_how_good_a_reply_is() -> None:
    assert grades("mock/fair") == grades("mock/fair:other")


@pytest.mark.parametrize(("judge", "shift"), [("mock/severe", -2), ("mock/lenient:ada", 2)])
def test_a_biased_judge_is_off_by_the_same_everywhere(judge: str, shift: int) -> None:
    assert {one - fair for one, fair in zip(grades(judge), grades("mock/fair"), strict=True)} == {shift}


def test_a_noisy_judge_is_off_either_way_and_on_average_right() -> None:
    off = [one - fair for one, fair in zip(grades("mock/noisy"), grades("mock/fair"), strict=True)]
    assert set(off) == {-2, -1, 0, 1, 2}
    assert abs(sum(off)) / len(off) < 0.25
    assert grades("mock/noisy") != grades("mock/noisy:other")


def test_the_author_writes_lettered_lines_where_lines_are_asked_for() -> None:
    schema = {"type": "object", "properties": {"question": {"type": "string"}}}
    plain = asked("mock/author", "Write a question.", schema)["question"]
    lettered = asked("mock/author", "Write a question, each option on a line of its own.", schema)["question"]
    chinese = asked("mock/author", "请出一道题，每项单独一行。", schema)["question"]
    assert "\n" not in plain
    for text in (lettered, chinese):
        assert [line[:2] for line in text.splitlines()[1:]] == ["A.", "B.", "C.", "D."]
    assert not chinese.isascii()
