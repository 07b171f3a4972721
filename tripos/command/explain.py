"""`tripos explain`: the pages of diagnostic codes, and those of the language."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from collections.abc import Iterable

from tripos.command.terminal import columns, is_colored
from tripos.failure import GOOD, Failure
from tripos.language_pages import find_language_page, language_words
from tripos_compiler.diagnostics import nearest
from tripos_compiler.diagnostics.codes import CODES, find_page
from tripos_compiler.diagnostics.wrap import wrap

SHORT_CODE = re.compile(r"[A-Z][0-9]{3}")
"""A code without its first zero."""
FENCE = "```"
MOST = 100
"""Lines longer than this are hard to read, however wide the terminal is."""


def main(options: Namespace) -> int:
    """Prints the pages of codes, or a list of all codes, or of those that begin as what is given; of a word of the
    language, its page."""
    if not options.codes:
        _list(CODES)
        return GOOD
    for index, given in enumerate(options.codes):
        if index:
            print()
        name = given.strip().upper()
        codes = [code for code in CODES if code.startswith(name)] if name else []
        if len(codes) > 1:
            _list(codes)
        elif codes:
            _show(find_page(codes[0]))
        elif SHORT_CODE.fullmatch(name) and f"{name[0]}0{name[1:]}" in CODES:
            _show(find_page(f"{name[0]}0{name[1:]}"))
        else:
            page = find_language_page(given.strip().lower())
            if page is None:
                raise Failure("R0202", f"there is no code or word of the language `{given}`", _near(name))
            _show(page)
    return GOOD


def _near(name: str) -> str:
    """What to say of the codes near to one that is not there.

    >>> _near("E99"), _near("OOPS")
    ('the nearest is E1010; `tripos explain E` lists its kin', 'did you mean opens?')
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
        print(f"{code}  {CODES[code]}")


def _show(page: str | None) -> None:
    assert page is not None
    if not is_colored(sys.stdout):
        print(wrapped(page, columns()), end="")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    # A code block shows only its text, so the file that it is stands above it.
    named = re.sub(r"^```(\w+) (\S+)$", r"`\2`\n\n```\1", page, flags=re.MULTILINE)
    console = Console(width=min(columns(), MOST), force_terminal=True)
    console.print(Markdown(named, code_theme="ansi_dark"))


def wrapped(page: str, width: int) -> str:
    """A page of Markdown with its paragraphs and list items in lines of `width` columns; code stays as it is.

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
