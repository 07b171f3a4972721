"""The pages about the language, by the word that somebody asks about: a statement, a function, an aggregate."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tripos_compiler.constructs.reference import page_of
from tripos_compiler.constructs.table import CONSTRUCTS

PLACES = (Path(__file__).parent / "language", Path(__file__).parent.parent / "docs" / "language")
"""Where the pages lie: in the package, or in a checkout beside it."""
COLLECTIONS = ("functions", "aggregates")
"""Pages with a section for each word."""
MARK = re.compile(r"^<!-- .*? -->\n\n?", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[((?:`[^`]*`|[^\]`])+)\]\([^)\s]+\)")


@cache
def find_language_page(word: str) -> str | None:
    """The page about a word, in Markdown, or the section of a page; None where there is none.

    >>> (find_language_page("arms") or "").splitlines()[0], (find_language_page("contains") or "").splitlines()[0]
    ('# arms', '# contains')
    >>> find_language_page("nothing of the kind")
    """
    path = _path(_page_name(word))
    if path is not None:
        return _plain(path.read_text("utf-8"))
    for name in COLLECTIONS:
        path = _path(name)
        section = _section(path.read_text("utf-8"), word) if path is not None else None
        if section is not None:
            return _plain(section)
    return None


@cache
def language_words() -> tuple[str, ...]:
    """Every word that there is a page or a section about."""
    pages = (path.stem for folder in PLACES for path in folder.glob("*.md"))
    sections = (word for name in COLLECTIONS for word in _sections(name))
    return tuple(sorted({*(each.starts_with for each in CONSTRUCTS if each.starts_with), *pages, *sections}))


def _page_name(word: str) -> str:
    """The page of a word: of its own where there is one, or of the statement in which it stands."""
    if _path(word) is not None or not word:
        return word
    return next((page_of(each) for each in CONSTRUCTS if each.starts_with == word), word)


def _path(name: str) -> Path | None:
    if not re.fullmatch(r"\w[\w-]*", name):
        return None
    return next((path for folder in PLACES if (path := folder / f"{name}.md").is_file()), None)


def _sections(name: str) -> Iterator[str]:
    path = _path(name)
    yield from re.findall(r"^### (\w+)$", path.read_text("utf-8"), re.MULTILINE) if path is not None else ()


def _section(page: str, word: str) -> str | None:
    found = re.search(rf"^### {re.escape(word)}\n.*?(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
    return found[0].removeprefix("##").rstrip() + "\n" if found is not None else None


def _plain(page: str) -> str:
    """A page without what only other programs read, and without links, which lead nowhere in a terminal."""
    return LINK.sub(r"\1", MARK.sub("", page))
