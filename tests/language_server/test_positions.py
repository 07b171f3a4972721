"""Places in a text, in the units of every encoding, and changes of a document that are given by them."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st
from lsprotocol.types import Position, Range, TextDocumentContentChangePartial, TextDocumentContentChangeWholeDocument

from tripos.lsp.documents import Document, Documents, Encoding, Lines

ENCODINGS: list[Encoding] = ["utf-8", "utf-16", "utf-32"]
TEXTS = st.text(st.sampled_from("ab 学é😀\n\r\u2028\x0c\x85"), max_size=30)
CODECS = {"utf-8": ("utf-8", 1), "utf-16": ("utf-16-le", 2), "utf-32": ("utf-32-le", 4)}


@given(TEXTS, st.sampled_from(ENCODINGS), st.data())
def test_a_place_and_its_position_are_the_same(text: str, encoding: Encoding, data: st.DataObject) -> None:
    lines = Lines(text, encoding)
    offset = data.draw(st.integers(0, len(text)))
    if text[offset - 1 : offset + 1] == "\r\n":
        offset -= 1  # between the two there is no position
    assert lines.offset(lines.position(offset)) == offset


@given(st.text(st.sampled_from("ab学é😀"), max_size=20), st.sampled_from(ENCODINGS))
def test_units_are_those_of_the_encoding(text: str, encoding: Encoding) -> None:
    codec, size = CODECS[encoding]
    assert Lines(text, encoding).position(len(text)).character == len(text.encode(codec)) // size


def test_only_line_breaks_of_the_protocol_end_a_line() -> None:
    lines = Lines("a\u2028b\x0cc\x85d\re\r\nf\ng", "utf-16")
    assert [lines.position(index).line for index, char in enumerate(lines.text) if char.isalpha()] == [
        *[0, 0, 0, 0],
        *[1, 2, 3],
    ]


@pytest.mark.parametrize(
    ("line", "character", "offset"), [(0, 2, 1), (0, 3, 2), (0, 99, 3), (1, 0, 4), (9, 0, 5), (0, 1, 1)]
)
def test_a_position_inside_of_a_character_or_past_the_end_has_the_nearest_place(
    line: int, character: int, offset: int
) -> None:
    assert Lines("a😀b\nc", "utf-16").offset(Position(line, character)) == offset


@given(TEXTS, st.lists(st.tuples(st.integers(0, 40), st.integers(0, 5), TEXTS), max_size=4), st.sampled_from(ENCODINGS))
def test_changes_come_to_the_text_that_the_editor_has(
    text: str, changes: list[tuple[int, int, str]], encoding: Encoding
) -> None:
    document = Document("file:///x", "/x", text, 1, encoding)
    events = []
    for place, length, new in changes:
        lines = Lines(text, encoding)
        start = lines.offset(lines.position(min(place, len(text))))
        end = lines.offset(lines.position(min(start + length, len(text))))
        events.append(TextDocumentContentChangePartial(Range(lines.position(start), lines.position(end)), new))
        text = text[:start] + new + text[end:]
    assert document.changed(events) == text


def test_a_change_without_a_range_is_the_whole_text() -> None:
    assert Document("file:///x", "/x", "a", 1, "utf-16").changed([TextDocumentContentChangeWholeDocument("b")]) == "b"


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b%20c/%E5%AD%A6.tripos", "/a/b c/学.tripos"),
        ("file:///a/../b.tripos", "/b.tripos"),
        ("untitled:Untitled-1", "/home/Untitled-1"),
        ("untitled:/a/b.tripos", "/a/b.tripos"),
        ("git:/a/b.tripos?ref=1", "git:/a/b.tripos?ref=1"),
    ],
)
def test_a_uri_has_a_path(uri: str, path: str) -> None:
    documents = Documents()
    documents.home = "/home"
    assert documents.path_of(uri) == path
