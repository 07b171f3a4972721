"""`tripos explain` of a word of the language: its page, without the documentation at hand."""

from __future__ import annotations

import re

from tests.conftest import Command
from tests.each import each
from tripos.cli.help import find_language_page, language_words
from tripos_compiler.constructs.table import CONSTRUCTS
from tripos_compiler.language.aggregates import AGGREGATES
from tripos_compiler.library.registry import FUNCTIONS

STATEMENTS = sorted({construct.starts_with for construct in CONSTRUCTS if construct.starts_with})


@each("word", [*STATEMENTS, *AGGREGATES, *FUNCTIONS])
def test_every_word_of_the_language_has_a_page(word: str) -> None:
    assert find_language_page(word) is not None


def test_a_statement_that_stands_in_another_is_explained_there(tripos: Command) -> None:
    assert tripos("explain", "samples").out.startswith("# ask\n")


def test_a_function_is_explained_by_its_section_alone(tripos: Command) -> None:
    text = tripos("explain", "contains").out
    assert text.startswith("# contains\n\n`contains(text: text, part: text) -> bool`\n")
    assert text.count("\n#") == 0


@each("word", language_words)
def test_a_page_shows_no_links_and_no_marks(word: str) -> None:
    page = re.sub(r"^```.*?^```$", "", find_language_page(word) or "", flags=re.DOTALL | re.MULTILINE)
    assert "](" not in page
    assert "<!--" not in page


def test_a_code_without_its_zero_is_known(tripos: Command) -> None:
    assert tripos("explain", "e501").out.startswith("# E0501 ")


def test_a_misspelt_word_is_answered_with_the_nearest(tripos: Command) -> None:
    done = tripos("explain", "scenaro")
    assert done.code == 2
    assert "did you mean scenario?" in done.err
