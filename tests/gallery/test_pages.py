"""The pages of the gallery say what the specs, their facts and a run of their rows say."""

from __future__ import annotations

import pytest

from tests.gallery.pages import DOCS, GROUPS, INDEX, PRICE, facts_of, page, row, shown
from tests.gallery.playing import names


def test_every_benchmark_is_in_a_table() -> None:
    text = INDEX.read_text("utf-8")
    assert [name for name in names() if f"({name}.md)" not in text] == []
    assert {path.stem for path in (DOCS / "gallery").glob("*.md")} == {*names(), "index"}
    assert {facts_of(name).group for name in names()} <= set(GROUPS)


@pytest.mark.long
@pytest.mark.parametrize("name", names())
def test_a_page_and_its_row_are_as_they_are_made_today(name: str) -> None:
    """`python -m tests.gallery.pages --write` writes them. Prices change with litellm, and are left out."""
    facts, run = facts_of(name), shown(name)
    assert (DOCS / "gallery" / f"{name}.md").read_text("utf-8") == page(name, facts, run)
    assert PRICE.sub("", row(name, facts, run, None)) in PRICE.sub("", INDEX.read_text("utf-8"))
