"""The reference of the commands is what the parser says; `python -m tests.docs.command_pages --write` writes it."""

from __future__ import annotations

from tests.docs.command_pages import FOLDER, GUIDES, command_pages, with_table
from tripos.cli.parser import COMMANDS

MEND = "run `python -m tests.docs.command_pages --write`"


def test_each_command_has_a_page_that_is_current() -> None:
    pages = command_pages()
    assert {path.stem for path in FOLDER.glob("*.md")} == {*pages, "index"}
    stale = [name for name, page in pages.items() if (FOLDER / f"{name}.md").read_text("utf-8") != page]
    assert stale == [], MEND


def test_the_index_of_the_commands_is_current() -> None:
    text = (FOLDER / "index.md").read_text("utf-8")
    assert text == with_table(text), MEND


def test_each_command_has_a_guide_and_no_other() -> None:
    assert GUIDES.keys() == COMMANDS.keys()


def test_an_option_names_its_setting_and_its_variable() -> None:
    page = command_pages()["run"]
    assert "| `limits.max_retries`, `TRIPOS_MAX_RETRIES` |\n" in page
    assert "| `store`, `TRIPOS_STORE` |\n" in page
    assert "| `TRIPOS_UNTRUSTED` |\n" in page
