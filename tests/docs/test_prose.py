"""A ratchet on prose: the number of banned openings and phrases of each area may only fall."""

from __future__ import annotations

from pathlib import Path

from tests.docs.prose import banned_words, docstring_faults, faults_in, hand_written, helps_of, messages_of
from tests.sources import modules
from tripos.cli.parser import build_parser

ROOT = Path(__file__).parents[2]
MOST_IN_MESSAGES = 0
MOST_IN_DOCSTRINGS = {
    "compiler/tripos_compiler": 0,
    "runtime/tripos_runtime": 0,
    "warehouse/tripos_warehouse": 0,
    "tripos": 0,
    "tests": 58,
}
"""The largest allowed numbers; lower them when you fix some."""
GENERATED_PAGES = {"gallery", "commands", "functions"}
"""Pages, and folders of pages, that are written from texts of the source and of specs."""


MOST_WORDS = 1500
"""The most words of a how-to page, its code included; a cookbook of whole specs has one pattern a section."""
COOKBOOK = "patterns.md"


def test_the_documentation_has_no_banned_opening_or_word() -> None:
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = {page: page.read_text("utf-8") for page in pages}
    openings = {page.name: faults for page, text in texts.items() if (faults := faults_in(text, words=False))}
    by_hand = {page: text for page, text in texts.items() if not set(page.with_suffix("").parts) & GENERATED_PAGES}
    words = {page.name: faults for page, text in by_hand.items() if (faults := banned_words(hand_written(text)))}
    assert (openings, words) == ({}, {})


def test_a_how_to_page_is_short() -> None:
    counts = {page.name: len(page.read_text("utf-8").split()) for page in (ROOT / "docs/how-to").glob("*.md")}
    assert {name: count for name, count in counts.items() if count > MOST_WORDS} == {COOKBOOK: counts[COOKBOOK]}


def test_the_pages_of_diagnostics_have_no_banned_opening_or_word() -> None:
    pages = sorted((ROOT / "compiler/tripos_compiler/diagnostics/pages").glob("*.md"))
    assert len(pages) > 150
    found = {page.name: faults for page in pages if (faults := faults_in(page.read_text("utf-8")))}
    assert found == {}


def test_help_texts_have_no_banned_opening_or_word() -> None:
    texts = list(helps_of(build_parser()))
    assert len(texts) > 150
    assert [text for text in texts if faults_in(text[:1].upper() + text[1:])] == []


def test_messages_have_no_more_banned_openings_and_words() -> None:
    texts = [text for path in modules() for text in messages_of(path)]
    assert len(texts) > 1000
    faults = [text for text in texts if faults_in(text[:1].upper() + text[1:])]
    assert len(faults) <= MOST_IN_MESSAGES, "\n".join(faults)


def test_docstrings_have_no_more_banned_openings() -> None:
    found = {
        folder: [fault for path in modules(folder) for fault in docstring_faults(path)] for folder in MOST_IN_DOCSTRINGS
    }
    more = {folder: faults for folder, faults in found.items() if len(faults) > MOST_IN_DOCSTRINGS[folder]}
    assert {folder: (len(faults), faults[:20]) for folder, faults in more.items()} == {}


def test_a_banned_opening_is_found_in_every_kind_of_block() -> None:
    text = "# Who asks\n\nIt is. What stands here is wrong.\n\n- Whether so\n\n| what | a |\n| --- | --- |\n\n`What`? Fine."
    assert faults_in(text) == ["Who asks", "What stands here is wrong.", "Whether so", "What"]
    assert faults_in("```\nWhat is code\n```\nA sentence that asks what is meant.") == []


def test_a_banned_word_is_found_outside_of_code() -> None:
    assert banned_words(hand_written("Mend it\nanew.\n\n```\nmend\n```\n")) == ["Mend: fix", f"anew: {AGAIN}"]
    assert banned_words("The key `mend` stays.") == []


AGAIN = "again, or the verb that says it: updates, computes"
