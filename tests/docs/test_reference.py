"""The reference of the language is whole, and its generated parts are those of the code.

`TRIPOS_UPDATE_GOLDEN=1` writes the generated parts anew.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from tests.each import each
from tripos_compiler.constructs.reference import PAGES, SLOTS, fill_page, page_of, reference_parts, slots_in
from tripos_compiler.constructs.signature import Statement
from tripos_compiler.constructs.statements import read_statements
from tripos_compiler.constructs.table import CONSTRUCTS, Construct
from tripos_compiler.diagnostics.codes import CODES
from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.source.text import Source
from tripos_compiler.syntax.parser import parse

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
LANGUAGE = DOCS / "language"
BY_HAND = (
    "index", "one-page", "answers", "numbers", "types", "expressions", "templates", "aggregates", "choices", "each",
    "elements", "replies", "secrecy", "coverage", "functions",
)  # fmt: skip
"""The pages of the reference that are about no single statement."""
FENCE = re.compile(r"^```([^`\n]*)\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"\b[ERSW]\d{4}\b")
WIDTH = 120
EVERY_PAGE = sorted(path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md"))


def text_of(page: str) -> str:
    return (LANGUAGE / f"{page}.md").read_text("utf-8")


@each("page", EVERY_PAGE)
def test_the_generated_parts_of_a_page_are_those_of_the_code(page: str) -> None:
    text = (DOCS / page).read_text("utf-8")
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        text = fill_page(text)
        (DOCS / page).write_text(text, "utf-8")
    assert text == fill_page(text)
    assert len(reference_parts(text)) == text.count("<!-- generated:") == text.count("<!-- end -->")


def test_the_reference_has_a_page_for_each_statement_and_no_other() -> None:
    assert {path.stem for path in LANGUAGE.glob("*.md")} == {*PAGES, *BY_HAND}


@each("page", PAGES)
def test_a_page_gives_the_signatures_of_its_statements(page: str) -> None:
    assert reference_parts(text_of(page)) == [f"construct {name}" for name in PAGES[page]]


@each("construct", CONSTRUCTS)
def test_a_statement_stands_on_its_page_and_in_an_example_there(construct: Construct) -> None:
    page = page_of(construct)
    assert construct.shape.shown in text_of(page).replace("\\|", "|")
    assert construct.name in {statement.construct for text in specs(page) for statement in statements(text)}


def test_every_word_of_a_signature_is_explained() -> None:
    assert {slot for construct in CONSTRUCTS for slot in slots_in(construct)} == set(SLOTS)


@each("page", PAGES)
def test_a_page_has_its_parts_in_the_same_order(page: str) -> None:
    titles = re.findall(r"^## (.+)$", FENCE.sub("", text_of(page)), re.MULTILINE)
    assert titles[0] == "Example"
    assert titles[-1] == "Mistakes"


@each("page", EVERY_PAGE)
def test_every_code_that_a_page_names_exists(page: str) -> None:
    assert set(CODE.findall((DOCS / page).read_text("utf-8"))) <= set(CODES)


def test_the_page_on_what_is_proved_lists_every_code_that_is_a_warning() -> None:
    sources = (path.read_text("utf-8") for path in (ROOT / "compiler").rglob("*.py"))
    given = {code for text in sources for code in re.findall(r"""\bwarning\(\s*"(W\d{4})""", text)}
    section = text_of("coverage").split("## Warnings")[1].split("## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| W")]
    assert {code for row in rows for code in CODE.findall(row)} == given


@each("page", EVERY_PAGE)
def test_a_line_of_prose_is_not_too_long(page: str) -> None:
    text = FENCE.sub("", (DOCS / page).read_text("utf-8"))
    assert [line for line in text.splitlines() if len(line) > WIDTH and line[0] not in "|`"] == []


def test_the_language_on_one_page_is_short_enough_to_be_read_at_once() -> None:
    assert len(re.findall(r"\w[\w.'-]*", text_of("one-page"))) <= 6_000


def specs(page: str) -> list[str]:
    """Return the blocks of a page that are whole specs; a release that is used cannot be in a page, so such a use may
    be a part of one."""
    blocks = [(info.split(), text) for info, text in FENCE.findall(text_of(page))]
    specs = [(words, text) for words, text in blocks if words and words[0] == "tripos"]
    return [text for words, text in specs if "fragment" not in words or text.startswith("use release ")]


def statements(text: str) -> Iterator[Statement]:
    """Yield every statement of a spec, at any depth."""
    diagnostics = Diagnostics()
    waiting = list(read_statements(parse(Source("spec.tripos", text), diagnostics), diagnostics))
    while waiting:
        statement = waiting.pop()
        yield statement
        waiting.extend(statement.body)
