"""Every row of the tables of docs/language/numbers.md is what all readers read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.each import each
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.signature import AmbiguousAnswer
from tripos_compiler.plan import IntegerType, Metric, NumberType, Type
from tripos_runtime.reading.judgements import read_metrics
from tripos_runtime.reading.typed import read

PAGE = Path(__file__).parents[2] / "docs/language/numbers.md"


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
            yield [cell.strip("`") if re.fullmatch("`[^`]*`", cell) else cell for cell in cells]


def typed(type_: Type, text: str, locale: str = "en") -> object:
    bare = read(type_, text, locale=locale).value
    assert read(type_, json.dumps({"value": text}), locale=locale).value == bare, text
    assert read(type_, f"**{text}**", locale=locale).value == bare or "\\" in text or "#" in text, text
    return bare


def function(name: str, text: str, locale: str = "en") -> float | None:
    try:
        return FUNCTIONS[name].python(text, locale)
    except AmbiguousAnswer:
        return None


def notations() -> list[list[str]]:
    return list(rows("notation", "in", "text", "number"))


@each("notation, locale, text, value", notations)
def test_a_notation_is_read_by_all_readers(notation: str, locale: str, text: str, value: str) -> None:
    wanted = pytest.approx(float(value), rel=1e-12)
    assert typed(NumberType(), text, locale) == wanted
    assert function("last_number", text, locale) == function("final_number", text, locale) == wanted
    assert function("number", text, locale) in (wanted, None)


def test_the_function_number_reads_every_notation_of_the_first_table() -> None:
    first = PAGE.read_text("utf-8").partition("With a unit or other words")[0]
    for _, locale, text, value in notations():
        if f"`{text}`" in first:
            assert function("number", text, locale) == pytest.approx(float(value), rel=1e-12), text


@each("reason, text", lambda: rows("because it is", "text"))
def test_what_is_no_number_is_read_by_none(reason: str, text: str) -> None:
    assert typed(NumberType(), text) is typed(IntegerType(), text) is function("number", text) is None


@each("text, value, score", lambda: rows("reply", "`number`", "`1..10`"))
def test_one_order_says_which_number(text: str, value: str, score: str) -> None:
    def number(cell: str) -> float | None:
        return None if cell == "–" else float(cell)

    metric = Metric(name="worth", title={"en": "Worth"}, dimension="d", low=1, high=10, asks={}, levels=())
    assert typed(NumberType(), text) == number(value)
    assert typed(IntegerType(low=1, high=10), text) == number(score)
    assert read_metrics([metric], text)["worth"].value == number(score)


def test_there_are_rows() -> None:
    assert len(notations()) > 50 and len(list(rows("because it is", "text"))) > 15
