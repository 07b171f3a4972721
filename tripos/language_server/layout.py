"""Formatting a document: the one layout of a spec, or nothing where it has a mistake of syntax."""

from __future__ import annotations

from lsprotocol.types import TextEdit

from tripos.language_server.session import View
from tripos_compiler.formatting import Unparsable, format_text


def formatted(view: View) -> list[TextEdit] | None:
    """The edit that lays a document out; none where it is laid out already, None where it cannot be."""
    try:
        text = format_text(view.text, view.path)
    except Unparsable:
        return None
    return [TextEdit(view.range(0, len(view.text)), text)] if text != view.text else []
