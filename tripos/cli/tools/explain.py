"""`tripos explain`: the pages of diagnostic codes, and those of the language."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tripos.ui import GOOD, Failure, is_colored, show_text, terminal_width
from tripos_compiler.constructs import CONSTRUCTS, page_of
from tripos_compiler.diagnostics import CODES, find_page, localized, localized_page, nearest, reader_language, wrap

PLACES = (Path(__file__).parents[2] / "language", Path(__file__).parents[3] / "docs" / "language")
"""Where the pages lie: in the package, or in a checkout beside it."""
COLLECTIONS = ("functions", "aggregates")
"""Pages with a section for each word."""
MARK = re.compile(r"^<!-- .*? -->\n\n?", re.MULTILINE)
LINK = re.compile(r"(?<!!)\[((?:`[^`]*`|[^\]`])+)\]\([^)\s]+\)")


@cache
def find_language_page(word: str) -> str | None:
    """Return the page about a word, in Markdown, or the section of a page; None where there is none.

    >>> (find_language_page("arms") or "").splitlines()[0], (find_language_page("contains") or "").splitlines()[0]
    ('# arms', '# contains')
    >>> find_language_page("nothing of the kind")
    """
    path = _path(_page_name(word))
    if path is not None:
        return _without_markup(path.read_text("utf-8"))
    for name in COLLECTIONS:
        path = _path(name)
        section = _section(path.read_text("utf-8"), word) if path is not None else None
        if section is not None:
            return _without_markup(section)
    return None


@cache
def language_words() -> tuple[str, ...]:
    """Return every word that there is a page or a section about."""
    pages = (path.stem for folder in PLACES for path in folder.glob("*.md"))
    sections = (word for name in COLLECTIONS for word in _sections(name))
    return tuple(sorted({*(each.starts_with for each in CONSTRUCTS if each.starts_with), *pages, *sections}))


def _page_name(word: str) -> str:
    """Return the page of a word: of its own where there is one, or of the statement in which it stands."""
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


def _without_markup(page: str) -> str:
    """Return a page without what only other programs read, and without links, which lead nowhere in a terminal."""
    return LINK.sub(r"\1", MARK.sub("", page))


SHORT_CODE = re.compile(r"[A-Z][0-9]{3}")
"""A code without its first zero."""
FENCE = "```"
MOST = 100
"""Lines longer than this are hard to read, however wide the terminal is."""


def main(options: Namespace) -> int:
    """Print the pages of codes, or a list of all codes, or of those that begin as what is given; of a word of the
    language, its page."""
    if not options.codes:
        _list(CODES)
        return GOOD
    for index, given in enumerate(options.codes):
        if index:
            show_text()
        name = given.strip().upper()
        codes = [code for code in CODES if code.startswith(name)] if name else []
        if len(codes) > 1:
            _list(codes)
        elif codes:
            _show(_page(codes[0]))
        elif SHORT_CODE.fullmatch(name) and f"{name[0]}0{name[1:]}" in CODES:
            _show(_page(f"{name[0]}0{name[1:]}"))
        else:
            page = find_language_page(given.strip().lower())
            if page is None:
                raise Failure("R0202", f"there is no code or word of the language `{given}`", _near(name))
            _show(page)
    return GOOD


def _page(code: str) -> str:
    """Return the page of a code in the reader's language."""
    page, language = find_page(code) or "", reader_language()
    if language == "en":
        return page
    _, _, text = page.partition("\n")
    return f"# {code} {localized(CODES[code])}\n{localized_page(text, language)}"


def _near(name: str) -> str:
    """Return what to say of the codes near to one that is not there.

    >>> _near("E99"), _near("OPEMS")
    ('the nearest is E0919; `tripos explain E` lists its kin', 'did you mean opens?')
    """
    kin = [code for code in CODES if code[0] == name[:1]]
    if kin and re.fullmatch(r"[0-9]{1,4}", name[1:]):
        number = int(name[1:].ljust(4, "0"))
        close = min(kin, key=lambda code: (abs(int(code[1:]) - number), code))
        return f"the nearest is {close}; `tripos explain {name[0]}` lists its kin"
    found = nearest(name, CODES) or nearest(name.lower(), language_words())
    return (
        f"did you mean {found}?" if found else "`tripos explain` lists all codes, `tripos explain index` the language"
    )


def _list(codes: Iterable[str]) -> None:
    for code in codes:
        show_text(f"{code}  {localized(CODES[code])}")


def _show(page: str | None) -> None:
    assert page is not None
    if not is_colored(sys.stdout):
        show_text(wrapped(page, terminal_width()), end="")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    # A code block shows only its text, so the file that it is stands above it.
    named = re.sub(r"^```(\w+) (\S+)$", r"`\2`\n\n```\1", page, flags=re.MULTILINE)
    console = Console(width=min(terminal_width(), MOST), force_terminal=True)
    with console.capture() as captured:
        console.print(Markdown(named, code_theme="ansi_dark"))
    show_text(captured.get(), end="", styled=True)


def wrapped(page: str, width: int) -> str:
    """Return a page of Markdown with its paragraphs and list items in lines of `width` columns; code stays as it is.

    >>> print(wrapped("# E1 a mistake\\n\\nIt is wrong to\\ndo so.\\n\\n- Do it\\n  otherwise.\\n", 12), end="")
    # E1 a mistake
    <BLANKLINE>
    It is wrong
    to do so.
    <BLANKLINE>
    - Do it
      otherwise.
    """
    lines: list[str] = []
    words: list[str] = []

    def finish() -> None:
        if words:
            begin = re.match(r"(?:[-*] |\d+\. )?", words[0])
            margin = " " * (len(begin[0]) if begin else 0)
            text = " ".join(words)[len(margin) :]
            first, *more = wrap(text, width - len(margin))
            lines.extend([words[0][: len(margin)] + first, *(margin + line for line in more)])
            words.clear()

    coding = False
    for line in page.splitlines():
        coding ^= line.startswith(FENCE)
        if coding or line.startswith((FENCE, "#", "|")) or not line.strip():
            finish()
            lines.append(line)
            continue
        if re.match(r"[-*] |\d+\. ", line):
            finish()
        words.append(line.strip())
    finish()
    return "".join(f"{line}\n" for line in lines)
