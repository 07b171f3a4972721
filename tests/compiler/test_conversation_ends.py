"""What ends a conversation, in the ways in which models write it."""

from __future__ import annotations

import pytest

from tests.each import each
from tripos_compiler.language.rendering import ends_conversation


@each(
    "turn",
    [
        "teach done", "TEACH DONE", "Teach Done.", "**TEACH DONE**", "***Teach done!***", "*TEACH* *DONE*",
        "__teach done__", "`TEACH DONE`", "~~TEACH DONE~~", "「teach done」", "『TEACH DONE』", "【TEACH DONE】",
        "（teach done）", '"TEACH DONE"', "ＴＥＡＣＨ　ＤＯＮＥ", "TEACH\nDONE", "TEACH  DONE", "TEACH\u00a0DONE",
        "TEACH\u200b DONE", "今天就到这里。TEACH DONE", "很好！\n\n**TEACH DONE**\n", "<b>TEACH DONE</b>", "# TEACH DONE",
    ],
)  # fmt: skip
def test_a_turn_that_says_it_ends_the_lesson(turn: str) -> None:
    assert ends_conversation(turn, "teach done")


@pytest.mark.parametrize(
    "turn", ["", "…", "teaching is done", "done teaching", "TEACH, and we are not DONE", "教学结束"]
)
def test_a_turn_that_does_not_say_it_ends_nothing(turn: str) -> None:
    assert not ends_conversation(turn, "teach done")
