"""A file is parsed piece by piece, and with a memory only what changed: the tree and what is reported stay the same."""

from __future__ import annotations

import random
from dataclasses import fields
from typing import Any

import pytest
from compiling import EDUBENCH
from hypothesis import HealthCheck, assume, example, given, settings, strategies as st

from tests.lengths import sized
from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.source.text import Source, Span
from tripos_compiler.source.tree import Block, Entry, Name, Node, Text
from tripos_compiler.syntax.lexer import KEPT_PARSES, Ending, ParseMemory, Piece
from tripos_compiler.syntax.parser import parse

SPECS = {path.name: path.read_text("utf-8") for path in sorted(EDUBENCH.glob("*.tripos"))}
SCRAPS = [
    '"', '"""', "{", "}", "(", ")", "[", "]", "{{", "}}", "|", "| a | b |", ",", "=", "==", "->", "<", "..", "list<{",
    "\n", "\n\n", "# x\n", "#", " ", ";", "。", "，", "（", "）", "｛", "｝", "“", "!", "\\", "\0", "not\nin", "+\n", ",\n",
    "x", "not", "in", "role r", "\nscenario s {\n", "\nmeasure m = mean(", "\n}", '"a)', '"a }', "a {} b", "9" * 30,
]  # fmt: skip
QUICK = settings(deadline=None, max_examples=sized(30, 120), suppress_health_check=list(HealthCheck))

Read = tuple[Any, list[Any], set[str], bool]
"""A tree with the places of all that is in it, what is reported, and what was lost."""


def plain(value: object) -> object:
    """Return a tree as plain data, places included."""
    match value:
        case Span(start=start, end=end):
            return (start, end)
        case Text(value=text, offsets=offsets, span=span):
            return (plain(span), text, [offsets[index] for index in range(len(text) + 1)])
        case Node():
            return (type(value).__name__, *(plain(getattr(value, each.name)) for each in fields(value)))
        case tuple():
            return [plain(each) for each in value]
    return value


def read(text: str, memory: ParseMemory | None = None) -> Read:
    diagnostics = Diagnostics()
    tree = parse(Source("a.tripos", text), diagnostics, memory)
    reported = [
        (item.code, item.message, item.help, [(plain(label.span), label.text) for label in item.labels])
        for item in diagnostics.sorted()
    ]
    return plain(tree), reported, diagnostics.skipped_names, diagnostics.skipped_files


def entries(text: str, memory: ParseMemory) -> list[Entry]:
    tree = parse(Source("a.tripos", text), Diagnostics(), memory)
    return [entry for line in tree.lines for entry in line.entries]


def changed(text: str, choose: random.Random) -> str:
    """Return the text after one slip of a hand, or its mend: something deleted, doubled, moved or put in."""
    start = choose.randrange(len(text) + 1)
    end = min(len(text), start + choose.choice([1, 1, 2, 5, 40, 400]))
    match choose.randrange(4):
        case 0:
            return text[:start] + text[end:]
        case 1:
            return text[:end] + text[start:end] + text[end:]
        case 2:
            lines = text.split("\n")
            lines.insert(choose.randrange(len(lines) + 1), lines.pop(choose.randrange(len(lines))))
            return "\n".join(lines)
    return text[:start] + choose.choice(SCRAPS) + text[start:]


@QUICK
@given(st.sampled_from(sorted(SPECS)), st.integers(), st.integers(1, 6))
def test_a_memory_changes_neither_the_tree_nor_what_is_reported(name: str, seed: int, steps: int) -> None:
    choose = random.Random(seed)
    memory = ParseMemory()
    versions = [SPECS[name]]
    read(versions[0], memory)
    for _ in range(steps):
        undone = len(versions) > 1 and choose.random() < 0.2
        versions.append(versions[-2] if undone else changed(versions[-1], choose))
        assert read(versions[-1], memory) == read(versions[-1])


@QUICK
@example(["a", "."], ["b"])
@example(["a", ")", "\n", "b", ".", "\n", "c"], [])
@given(st.lists(st.sampled_from(SCRAPS), max_size=30), st.lists(st.sampled_from(SCRAPS), max_size=5))
def test_a_memory_changes_nothing_in_a_soup_of_tokens_either(soup: list[str], more: list[str]) -> None:
    memory = ParseMemory()
    for text in (" ".join(soup), " ".join([*more, "\n", *soup]), " ".join([*soup, "\n", *more])):
        assert read(text, memory) == read(text)


@QUICK
@given(st.sampled_from(sorted(SPECS)), st.integers())
def test_a_file_in_pieces_is_read_as_the_file_in_one(name: str, seed: int) -> None:
    choose = random.Random(seed)
    text = changed(changed(SPECS[name], choose), choose)
    found = read(text)
    assume(not any(message == "this `{` is never closed" for _, message, _, _ in found[1]))  # they split a file
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("tripos_compiler.syntax.parser.split_pieces", lambda text: [Piece(0, len(text), Ending.FILE)])
        assert found == read(text)


THREE = 'role judge # who grades\n\nscenario a {\n  let x = 1\n}\n\nscenario b "B" {\n  let y = f(2)\n}\n'


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("let x = 1", "let x = 12"),
        ("let x = 1", "let x ="),
        ("let x = 1", 'let x = "1'),
        ("let x = 1", "let x = f(1"),
        ("let x = 1", "let x = 1)"),
        ("let x = 1", "let x = { 1"),
        ("scenario a {", "scenario a"),
        ("let x = 1\n}", "let x = 1"),
        ("role judge", "# one more line\nrole judge"),
    ],
)
def test_a_change_in_one_statement_leaves_the_others_the_same_objects(before: str, after: str) -> None:
    memory = ParseMemory()
    judge, _, last = entries(THREE, memory)
    text = THREE.replace(before, after)
    assert text != THREE
    found = entries(text, memory)
    assert found[0] is judge
    assert found[-1] is last
    assert text[last.span.start : last.span.end] == 'scenario b "B" {\n  let y = f(2)\n}'


def test_places_in_what_is_kept_are_those_of_the_new_text() -> None:
    memory = ParseMemory()
    last = entries(THREE, memory)[-1]
    title = last.elements[2]
    assert isinstance(title, Text)
    key = {title.span: "kept by place"}
    text = "\n# the first line is longer now\n" + THREE
    assert entries(text, memory)[-1] is last
    assert text[title.offsets[0]] == "B"
    assert title.span.source.position(title.span.start) == (9, 12)
    assert key[Span(title.span.source, title.span.start, title.span.end)] == "kept by place"


def test_of_two_equal_statements_each_has_its_own_place() -> None:
    memory = ParseMemory()
    first = entries("role a\nrole a\n", memory)
    again = entries("role b\nrole a\nrole a\n", memory)[1:]
    assert [entry.span.start for entry in again] == [7, 14]
    assert all(one is other for one, other in zip(first, again, strict=True))


def test_the_same_text_in_two_files_is_two_statements() -> None:
    memory = ParseMemory()
    one, other = (parse(Source(path, "role a\n"), Diagnostics(), memory) for path in ("a", "b"))
    assert one.lines[0] is not other.lines[0]
    assert [tree.lines[0].span.source.path for tree in (one, other)] == ["a", "b"]


def test_a_slip_that_is_undone_gives_the_earlier_objects_back() -> None:
    memory = ParseMemory()
    before = entries(THREE, memory)
    entries(THREE.replace('"B"', '"""B"'), memory)
    assert all(one is other for one, other in zip(before, entries(THREE, memory), strict=True))


def test_what_no_longer_occurs_is_forgotten() -> None:
    memory = ParseMemory()
    (before,) = entries("role a\n", memory)
    for _ in range(KEPT_PARSES):
        entries("role b\n", memory)
    assert entries("role a\n", memory)[0] is not before


def names(tree: Block) -> list[str]:
    return [element.text for entry in tree.entries() for element in entry.elements if isinstance(element, Name)]


def test_what_follows_a_block_on_its_line_takes_nothing_else_with_it() -> None:
    diagnostics = Diagnostics()
    tree = parse(Source("a.tripos", "a\nb { c } junk\nd"), diagnostics)
    assert names(tree) == ["a", "b", "d"]
    assert [item.message for item in diagnostics.items] == ["`junk` does not fit here"]


def test_an_unclosed_bracket_in_a_broken_statement_hides_no_mistake_after_it() -> None:
    diagnostics = Diagnostics()
    tree = parse(Source("a.tripos", "s {\n  a ! f(\n  b\n  c == == d\n}\ne == ="), diagnostics)
    messages = [item.message for item in diagnostics.sorted()]
    assert messages[1:] == ["this `(` is never closed", "`==` does not fit here", "`=` does not fit here"]
    assert names(tree) == ["s"]
