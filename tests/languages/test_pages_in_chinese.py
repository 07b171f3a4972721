"""The pages of codes in Chinese: each paragraph has its translation, which keeps what it quotes."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tests.conftest import Command
from tests.each import each
from tests.languages.test_verbs_in_chinese import english_in
from tripos_compiler.diagnostics.codes import CODES, find_page
from tripos_compiler.diagnostics.i18n import localized_page, page_translations, paragraphs

QUOTED = re.compile(r"`[^`]*`")


def texts_of(code: str) -> list[str]:
    """Return the paragraphs of a page below its title."""
    _, *texts = paragraphs(find_page(code) or "")
    return texts


def test_every_paragraph_is_translated_and_no_translation_is_of_one_that_is_gone() -> None:
    needed = {text for code in CODES for text in texts_of(code)}
    assert sorted(needed - set(page_translations("zh"))) == []
    assert sorted(set(page_translations("zh")) - needed) == []


def test_a_paragraph_keeps_what_it_quotes() -> None:
    pairs = page_translations("zh").items()
    wrong = [(text, said) for text, said in pairs if Counter(QUOTED.findall(text)) != Counter(QUOTED.findall(said))]
    assert wrong == []


@each("code", CODES)
def test_a_page_keeps_its_code_its_headings_and_its_lists(code: str) -> None:
    page = find_page(code) or ""
    told = localized_page(page, "zh")
    fence = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
    assert fence.findall(told) == fence.findall(page)
    signs = [re.findall(r"^(#+|[-*]|\d+\.) ", text, re.MULTILINE) for text in (page, told)]
    assert signs[0] == signs[1]


def test_explain_prints_no_sentence_in_english(tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRIPOS_LANG", "zh")
    out = tripos("explain", *CODES).out
    assert out.count("\n## ") >= len(CODES)
    assert list(english_in(out)) == []
