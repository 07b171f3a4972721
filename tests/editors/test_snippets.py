"""Every snippet, taken as it is, is the statement that it says it is."""

from __future__ import annotations

import re

from editors.vscode.generate import snippets, written
from tests.each import each
from tripos_compiler.constructs.statements import read_statements
from tripos_compiler.constructs.table import CONSTRUCTS, Construct
from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.diagnostics.renderers import render_text
from tripos_compiler.source.text import Source
from tripos_compiler.syntax.parser import parse

CHOICE = re.compile(r"\$\{(\d+)\|([^,|]*)[^|]*\|\}")
PLACE = re.compile(r"\$\{(\d+):((?:\\.|[^\\}$])*)\}")
AGAIN = re.compile(r"\$\{?(\d+)\}?")
STATEMENTS = [construct for construct in CONSTRUCTS if construct.starts_with]


def taken(body: list[str]) -> str:
    """Return what an editor inserts when nothing is typed over; a number that is named again repeats its text."""
    text = CHOICE.sub(r"${\1:\2}", "\n".join(body))
    texts: dict[str, str] = dict(PLACE.findall(text))
    plain = AGAIN.sub(lambda again: texts.get(again[1], ""), PLACE.sub(lambda place: place[2], text))
    return plain.replace("\\}", "}").replace("\t", "  ")


@each("construct", STATEMENTS)
def test_a_snippet_is_a_statement_without_mistakes(construct: Construct) -> None:
    text = taken(snippets()[construct.shape.shown]["body"])
    for place in construct.inside:
        diagnostics = Diagnostics()
        block = parse(Source(construct.name, text), diagnostics)
        assert [s.construct for s in read_statements(block, diagnostics, place)] == [construct.name], text
        assert not diagnostics.items, render_text(diagnostics.items)


def test_the_file_of_snippets_names_constructs() -> None:
    assert set(written()) <= {construct.name for construct in STATEMENTS}


def test_places_are_filled_as_an_editor_does() -> None:
    assert taken(["a ${1:b} {", "\t${2|c,d|} $1 ${3:{{ e \\}\\}}$0", "}"]) == "a b {\n  c b {{ e }}\n}"
