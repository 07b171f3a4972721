"""The pages of the gallery say what the specs, their facts and a run of their rows say."""

from __future__ import annotations

import pytest

from tests.gallery.pages import DOCS, GROUPS, INDEX, PRICE, facts_of, page, row, shown, with_tables
from tests.gallery.playing import names


def test_every_benchmark_is_in_a_table() -> None:
    text = INDEX.read_text("utf-8")
    assert [name for name in names() if f"(gallery/{name}.md)" not in text] == []
    assert {path.stem for path in (DOCS / "gallery").glob("*.md")} == set(names())
    assert {facts_of(name).group for name in names()} <= set(GROUPS)


@pytest.mark.long
def test_pages_and_tables_are_as_they_are_made_today() -> None:
    """`python -m tests.gallery.pages --write` writes them. Prices change with litellm, and are left out."""
    rows = []
    for name in names():
        facts, run = facts_of(name), shown(name)
        assert (DOCS / "gallery" / f"{name}.md").read_text("utf-8") == page(name, facts, run), name
        rows.append((facts, row(name, facts, run, None)))
    text = INDEX.read_text("utf-8")
    assert PRICE.sub("", text) == PRICE.sub("", with_tables(text, rows))
