"""Source text that does not read as it is: marks that turn its direction, and names that look like other names."""

from __future__ import annotations

import re

from tripos_compiler.diagnostics import Diagnostics
from tripos_compiler.source import Source, Span
from tripos_compiler.syntax.lexer import raw_tokens

TURNS = re.compile("[\u202a-\u202e\u2066-\u2069]")
"""The marks of Unicode that change the direction of the text behind them."""
LIKE_LATIN = str.maketrans(
    "аеорсухіјѕԁԛԝһАВЕКМНОРСТУХІЈЅοαινρυκΑΒΕΖΗΙΚΜΝΟΡΤΥΧ",
    "aeopcyxijsdqwhABEKMHOPCTYXIJSoaivpukABEZHIKMNOPTYX",
)
"""Letters of Cyrillic and Greek, and those of Latin that look the same."""


def warn_of_deception(source: Source, diagnostics: Diagnostics) -> None:
    """Warn of what a reader of a file takes for something else."""
    if source.text.isascii():
        return
    line = 0
    for mark in TURNS.finditer(source.text):
        here = source.position(mark.start())[0]
        if here != line:
            line = here
            message = f"the mark U+{ord(mark[0]):04X} shows what follows in another order than it is read"
            span = Span(source, mark.start(), mark.end())
            diagnostics.warning(
                "W0112", message, span, help="remove it; an editor that shows invisible characters has it"
            )
    names: dict[str, str] = {}
    told: set[str] = set()
    for token in raw_tokens(source.text):
        if token.kind != "NAME" or token.text in told:
            continue
        name, looks = token.text, token.text.translate(LIKE_LATIN)
        other = names.setdefault(looks, name)
        if other != name:
            message = f"`{name}` looks like `{other}`, and is another name: it has letters of another script"
        elif looks != name and looks.isascii() and any(letter.isascii() and letter.isalpha() for letter in name):
            message = f"`{name}` has letters of two scripts that look alike"
        else:
            continue
        told.add(name)
        diagnostics.warning("W0113", message, Span(source, token.start, token.end), help=f"write `{looks}`")
