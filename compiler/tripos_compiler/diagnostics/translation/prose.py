"""Pages in the reader's language, paragraph by paragraph.

A paragraph that the catalogue lacks stays English, and so does code. A paragraph is known by its words, so what a page
says no longer is never shown.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

PAGES = "pages"
"""The folder of a language with the paragraphs of its pages, a file for each family of codes."""
FENCE = "```"
MARK = re.compile(r"(?:#+ |[-*] )?")


def localized_page(page: str, language: str) -> str:
    """Return a page of Markdown in a language.

    >>> print(localized_page("## How to fix it\\n\\nOdd words.\\n\\n```\\nHow to fix it\\n```\\n", "zh"), end="")
    ## 怎样改正
    <BLANKLINE>
    Odd words.
    <BLANKLINE>
    ```
    How to fix it
    ```
    """
    said = page_translations(language)
    parts = (part if code else _told(part, said) for code, part in blocks(page))
    return "".join(parts)


def _told(part: str, said: dict[str, str]) -> str:
    words = unwrapped(part)
    mark = MARK.match(words)
    assert mark is not None
    found = said.get(words[mark.end() :])
    return part if found is None else f"{mark[0]}{found}\n"


def unwrapped(part: str) -> str:
    """Return a paragraph on one line."""
    return " ".join(part.split())


def paragraphs(page: str) -> Iterator[str]:
    """Yield the texts of a page that are translated, each on one line without its mark.

    >>> list(paragraphs("# A\\n\\nOne\\ntwo.\\n- three\\n\\n```\\ncode\\n```\\n"))
    ['A', 'One two.', 'three']
    """
    for code, part in blocks(page):
        words = unwrapped(part)
        if not code and words:
            yield MARK.sub("", words, count=1)


def blocks(page: str) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a page, which together are the page, and whether each is code: a code block, an empty line, or
    a heading, a list item or a paragraph of one or more lines."""
    part, fenced = "", False
    for line in page.splitlines(keepends=True):
        fence = line.startswith(FENCE)
        if fenced:
            part += line
            if fence:
                yield True, part
                part, fenced = "", False
            continue
        if fence or not line.strip() or re.match(r"#+ |[-*] ", line):
            if part:
                yield False, part
            part = ""
        if fence:
            part, fenced = line, True
        elif not line.strip() or line.startswith("#"):
            yield not line.strip(), line
        else:
            part += line
    if part:
        yield fenced, part


@cache
def page_translations(language: str) -> dict[str, str]:
    """Return the translations of paragraphs, by their English words."""
    found: dict[str, str] = {}
    folder = files("tripos_compiler.diagnostics.translation").joinpath(language, PAGES)
    for path in sorted(folder.iterdir(), key=lambda each: each.name):
        found.update(json.loads(path.read_text("utf-8")))
    return found
