"""The tokens that may come next at a place of a spec, which need not be well formed."""

from __future__ import annotations

from tests.each import each
from tripos.lsp.completion import snippet_of
from tripos.lsp.cursor import cursor_at, expected_items
from tripos.lsp.session import outline_of
from tripos_compiler.constructs.signature import Slot
from tripos_compiler.constructs.table import CONSTRUCTS, Construct
from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.source.text import Source
from tripos_compiler.syntax.parser import parse


def next_at(marked: str) -> list[str]:
    """Return what may come at the bar: the kinds of slots, and words."""
    before, after = marked.split("|")
    cursor = cursor_at(outline_of("x", before + after), len(before))
    found: list[str] = []
    for item in expected_items(cursor):
        found += [item.kind] if isinstance(item, Slot) else item.texts
    return found


@each(
    "marked, wanted",
    [
        ("role |", ["NAME"]),
        ("role judge |", ["compared", "panel", "with", "defaults"]),
        ("use |", ["PATH", "release"]),
        ('use release "edubench@1.2" |', ["from", "sha256"]),
        ("scenario s { ask |", ["NAME"]),
        ("scenario s { ask a |", ["by"]),
        ("scenario s { ask a by b |", ["each", "when"]),
        ("scenario s { over d as x where |", ["FILTER"]),
        ("scenario s { score x = 1 + 2 |", ["each", "when"]),
        ("scenario s { score x = 1 + |", ["VALUE"]),
        ("scenario s { score x = not |", ["VALUE"]),
        ("scenario s { score x = -|", ["VALUE"]),
        ("scenario s { context a * b |", []),
        ("scenario s { ask a by b { prompts c |", ["at"]),
        ("scenario s { context a * |", ["AXES"]),
        ('scenario s { ask a by b { prompt en "x" |', ["LABELS", "when"]),
        ("scenario s { ask a by b { prompt en |", ["LABELS"]),
        ("measure m = mean(x) |", ["lower", "higher", "corrected", "across", "until", "by"]),
        ("measure m = mean(x) by a, |", ["DIMS"]),
        ("measure m = mean(x) across |", ["ROLE", "FACETS"]),
        ("measure m = mean(x) across judge * wording |", ["as"]),
        ("measure m = mean(x, by: |", ["VALUE"]),
        ('dataset d from "x" { a list<|', ["TYPE"]),
        ('dataset d from "x" { a list<text> |', ["secret", "from"]),
        ('dataset d from "x" { a choice(x, y)? |', ["secret", "from"]),
    ],
)
def test_what_may_come_next_follows_from_the_signature(marked: str, wanted: list[str]) -> None:
    assert next_at(marked) == wanted


@each("construct", [each for each in CONSTRUCTS if each.starts_with])
def test_a_snippet_is_a_statement(construct: Construct) -> None:
    text = snippet_of(construct)
    for number in range(9, 0, -1):
        for piece in (f"${{{number}:", f"${{{number}|"):
            while piece in text:
                start = text.index(piece)
                end = text.index("}", start)
                text = text[:start] + text[start + len(piece) : end].split(",")[0].rstrip("|") + text[end + 1 :]
    diagnostics = Diagnostics()
    parse(Source("x", text.replace("$0", "")), diagnostics)
    assert diagnostics.items == [], text
