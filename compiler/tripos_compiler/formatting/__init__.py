"""The formatter: one layout of a spec, without options. It changes how a spec looks and never what it says."""

from __future__ import annotations

from collections.abc import Sequence

from tripos_compiler.diagnostics import Diagnostic, Diagnostics
from tripos_compiler.formatting.faithful import Unfaithful, require_faithful
from tripos_compiler.formatting.layout import Layout
from tripos_compiler.formatting.scan import Scan
from tripos_compiler.source import Source
from tripos_compiler.syntax.parse import parse

__all__ = ["Unfaithful", "Unparsable", "format_text"]

BOM = "\ufeff"


class Unparsable(Exception):
    """A spec does not parse, and is not formatted. `diagnostics` says what is wrong, in the order of the places."""

    def __init__(self, diagnostics: Sequence[Diagnostic]) -> None:
        super().__init__(diagnostics[0].message)
        self.diagnostics = tuple(diagnostics)


def format_text(text: str, path: str) -> str:
    """A spec in the one layout: lines end in LF, the last one too, and there is no byte order mark.

    `path` is what diagnostics call the spec; nothing is read from it. Raises `Unparsable` where the text has a mistake
    of syntax, and `Unfaithful` where the result would say something else than the text, which is a bug of ours.
    Formatting what is formatted changes nothing.

    >>> print(format_text('role  judge   panel\\nmeasure a=mean( x )\\nmeasure bcd =1+2', "x.tripos"), end="")
    role judge panel
    measure a   = mean(x)
    measure bcd = 1 + 2
    """
    source = Source(path, text.removeprefix(BOM))
    diagnostics = Diagnostics()
    tree = parse(source, diagnostics)
    if diagnostics.failed:
        raise Unparsable(diagnostics.sorted())
    formatted = Layout(Scan(source.text, tree)).file(tree)
    require_faithful(source, tree, Source(path, formatted))
    return formatted
