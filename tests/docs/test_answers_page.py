"""Every row of the tables of docs/language/answers.md is what all readers of choices and truths read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from tests.each import each
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.plan import BoolType, ChoiceType, Type
from tripos_runtime.reading.typed import read

PAGE = Path(__file__).parents[2] / "docs/language/answers.md"
LETTERS = ChoiceType(values=("A", "B", "C", "D"))
TRUTHS = {"yes": True, "no": False, "–": None}


def rows(*heads: str) -> Iterator[list[str]]:
    """Yield the cells of the tables with these heads."""
    inside = False
    for line in PAGE.read_text("utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")] if line.startswith("|") else []
        if not cells:
            inside = False
        elif tuple(cells) == heads:
            inside = True
        elif inside and not cells[0].startswith("---"):
            yield [cell.strip("`") for cell in cells]


def typed(type_: Type, text: str) -> object:
    bare = read(type_, text).value
    assert read(type_, json.dumps({"value": text})).value == bare or text.startswith("{"), text
    assert read(type_, f"<think>A, or no</think>\n{text}").value == bare, text
    return bare


@each("text, letter", lambda: [*rows("reply", "letter"), *(row[1:] for row in rows("frame", "reply", "letter"))])
def test_all_readers_of_letters_read_a_reply_alike(text: str, letter: str) -> None:
    wanted = None if letter == "–" else letter
    assert typed(LETTERS, text) == wanted
    assert FUNCTIONS["chosen_option"].python(text, ["red", "blue", "green", "grey"]) == wanted
    if "A or B" not in text:  # both may be chosen where several may
        assert "".join(FUNCTIONS["option_letters"].python(text)) == (wanted or "")


@each("text, truth", lambda: list(rows("reply", "yes or no")))
def test_all_readers_of_truths_read_a_reply_alike(text: str, truth: str) -> None:
    wanted = TRUTHS[truth]
    assert typed(BoolType(), text) == FUNCTIONS["is_yes"].python(text) == wanted
    if wanted is not None:
        assert FUNCTIONS["right_or_wrong"].python(text) == ["T" if wanted else "F"]


def test_what_the_page_says_of_names_holds() -> None:
    verdicts = ChoiceType(values=("correct", "incorrect"))
    assert read(verdicts, "The correct year is 1969.").value is read(verdicts, "mostly correct").value is None
    assert read(ChoiceType(values=("safe", "unsafe")), "It isn't safe.").value == "unsafe"
    assert FUNCTIONS["right_or_wrong"].python("未必正确") == ["F"]


def test_there_are_rows() -> None:
    assert len(list(rows("frame", "reply", "letter"))) > 10 and len(list(rows("reply", "yes or no"))) > 10
