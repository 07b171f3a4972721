"""`tripos explain`: the page of a diagnostic code."""

from __future__ import annotations

import sys
from argparse import Namespace

from tripos.failure import GOOD, Failure
from tripos_compiler.diagnostics import nearest
from tripos_compiler.diagnostics.codes import CODES, find_page


def main(options: Namespace) -> int:
    """Prints a page, or the list of all codes."""
    if options.code is None:
        for code, headline in CODES.items():
            print(f"{code}  {headline}")
        return GOOD
    page = find_page(options.code)
    if page is None:
        close = nearest(options.code.upper(), CODES)
        hint = f"did you mean {close}?" if close else "`tripos explain` lists all codes"
        raise Failure("R0202", f"there is no code `{options.code}`", hint)
    if sys.stdout.isatty():
        from rich.console import Console
        from rich.markdown import Markdown

        Console().print(Markdown(page))
    else:
        print(page, end="")
    return GOOD
