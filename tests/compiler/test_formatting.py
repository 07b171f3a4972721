"""The formatter: one layout, and never another meaning.

`TRIPOS_UPDATE_GOLDEN=1` rewrites the texts of `tests/golden/fmt/after`; read them as someone who likes tidy files.
"""

from __future__ import annotations

import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings, strategies as st

from tests.each import each
from tests.lengths import sized
from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.diagnostics.text_format import display_width
from tripos_compiler.editing.formatter import (
    TYPES,
    Scan,
    Unfaithful,
    Unparsable,
    format_text,
    is_same_tree,
    require_faithful,
)
from tripos_compiler.source.text import Source, find_comments
from tripos_compiler.source.tree import Block
from tripos_compiler.syntax.parser import parse

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden" / "fmt"
EXAMPLES = sorted((ROOT.parent / "shared" / "design" / "examples").glob("*.tripos"))
SPECS = [*sorted((ROOT / "specs").rglob("*.tripos")), *sorted((ROOT / "docs" / "examples").glob("*.tripos")), *EXAMPLES]
CASES = sorted((ROOT / "tests" / "cases").glob("*/valid/**/*.tripos"))
BEFORE = sorted((GOLDEN / "before").glob("*.tripos"))
QUICK = settings(deadline=None, max_examples=sized(30, 200), suppress_health_check=list(HealthCheck))
SLOW = settings(deadline=None, max_examples=20, suppress_health_check=list(HealthCheck))


def tree_of(text: str) -> Block:
    """Return the syntax tree of a text that parses."""
    diagnostics = Diagnostics()
    tree = parse(Source("x.tripos", text), diagnostics)
    assert not diagnostics.failed, diagnostics.items
    return tree


def comments_of(text: str) -> list[tuple[str, bool]]:
    """Return every comment in order, and whether it stands alone on its line."""
    return [(comment.text, comment.alone) for comment in find_comments(Source("x.tripos", text))]


def formatted(text: str) -> str:
    """Return the text in the layout, checked: it says what it said, and formatting it again changes nothing."""
    found = format_text(text, "x.tripos")
    assert is_same_tree(tree_of(text.removeprefix("\ufeff")), tree_of(found))
    assert comments_of(text) == comments_of(found)
    assert format_text(found, "x.tripos") == found
    return found


def test_there_are_golden_files() -> None:
    assert {path.stem for path in BEFORE} >= {"columns", "comments", "expressions", "lines", "strings", "tables"}


@pytest.mark.parametrize("path", BEFORE, ids=lambda path: path.stem)
def test_an_untidy_file_is_laid_out_letter_for_letter(path: Path) -> None:
    golden = GOLDEN / "after" / path.name
    found = formatted(path.read_text("utf-8"))
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        golden.write_text(found, "utf-8")
    assert found == golden.read_text("utf-8")


@each("path", [*SPECS, *CASES])
def test_every_spec_can_be_formatted(path: Path) -> None:
    found = formatted(path.read_text("utf-8"))
    outside = re.sub(r'"""[\s\S]*?"""', '""', found)
    assert outside.endswith("\n") and not re.search(r"[ \t]\n|\n\n\n", outside)


@pytest.mark.skipif(not EXAMPLES, reason="the examples of the design are not here")
@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_the_layout_is_nearly_that_of_the_examples(path: Path) -> None:
    before, after = (text.splitlines() for text in (path.read_text("utf-8"), format_text(path.read_text("utf-8"), "x")))
    assert len(before) == len(after)
    moved = [old for old, new in zip(before, after, strict=True) if old != new]
    assert len(moved) <= 0.15 * len(before)
    assert [line.split() for line in before] == [line.split() for line in after]


def test_an_empty_file_stays_empty() -> None:
    assert formatted("") == formatted("\n \n\ufeff\n") == ""


def test_a_file_of_comments_keeps_them() -> None:
    assert formatted("\n\n  # one\n\n\n# two") == "# one\n\n# two\n"


def test_line_endings_become_line_feeds_and_a_byte_order_mark_goes() -> None:
    text = '\ufeffscenario s {\r\n  prompt """\r\n  a\r\n  b\r\n  """ # c\r\n}\r\n'
    assert formatted(text) == 'scenario s {\n  prompt """\n    a\n    b\n    """  # c\n}\n'


def test_a_string_that_cannot_move_without_a_change_stays() -> None:
    text = 'prompt """\n a\r\r\n  b\n"""\n'
    assert formatted(text) == text


def test_a_mistake_of_syntax_is_told_and_nothing_is_formatted() -> None:
    with pytest.raises(Unparsable) as error:
        format_text("role a\nlet x = (1\n\nlet y = ]\n", "it.tripos")
    assert {item.code for item in error.value.diagnostics} == {"E0103"}
    assert error.value.diagnostics[0].labels[0].span.source.path == "it.tripos"


@pytest.mark.parametrize("text", ["a = f(x，y)", "a = “b”", "a（1）", "x；", "难度：1"])
def test_a_sign_of_an_input_method_is_ours_only_where_the_parser_takes_it(text: str) -> None:
    diagnostics = Diagnostics()
    parse(Source("x", text), diagnostics)
    if diagnostics.failed:
        with pytest.raises(Unparsable):
            format_text(text, "x")
    else:
        assert not set("，“”（）；：") & set(formatted(text))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("a b", "a c"),
        ("a 1", "a 1.0"),
        ("a, b", "a\nb"),
        ("a (b)", "a(b)"),
        ('a "b "', 'a "b"'),
        ("a {}", "a"),
        ("a  # one\nb  # two", "a  # two\nb  # one"),
        ("a  # one", "a"),
        ("a", "a ("),
    ],
)
def test_a_result_that_says_something_else_is_refused(before: str, after: str) -> None:
    with pytest.raises(Unfaithful):
        require_faithful(Source("x", before), tree_of(before), Source("x", after))


def test_a_result_that_says_the_same_is_accepted() -> None:
    before = 'a  "x"# c'
    require_faithful(Source("x", before), tree_of(before), Source("x", 'a "x"  # c\n'))


def test_what_an_allowing_comment_speaks_of_stays_on_its_line() -> None:
    wide = f'a {{ prompt "{"x" * 84}", b 1 }}'
    assert formatted(f"{wide}\n").count("\n") == 3
    assert formatted(f"{wide} # allow S0101: why\n").count("\n") == 1
    assert formatted(f"# allow S0101: why\n{wide}\n").count("\n") == 2
    assert formatted(f"# allow S0101: why\n\n{wide}\n").count("\n") == 5


def test_columns_are_counted_in_cells_of_a_terminal() -> None:
    lines = formatted('axis a {\n难度 zh "难" en "x"\neasy zh "e" en "y"\n}').splitlines()[1:3]
    assert {display_width(line[: line.index("zh")]) for line in lines} == {8}
    assert {display_width(line[: line.index("en")]) for line in lines} == {17}


def test_every_simple_type_makes_a_field() -> None:
    types = pytest.importorskip("tripos_compiler.typecheck.types")
    assert set(types.SIMPLE) <= TYPES


def test_deep_nesting_takes_no_time() -> None:
    deep = 'a list<{ b "%s" }> {\n' % ("x" * 100)
    assert formatted(deep * 20 + "}" * 20).count("list<{\n") == 20


@st.composite
def respaced(draw: st.DrawFn, text: str) -> str:
    """Return a text with other spaces, indentation and, where there are some, blank lines; strings are as they were."""
    chance = draw(st.randoms(use_true_random=False))
    tokens = Scan(text, tree_of(text)).tokens
    place, out = 0, ""
    for index, token in enumerate(tokens):
        gap = text[place : token.start]
        if token.kind == "newline" or (index and tokens[index - 1].kind == "newline"):
            gap = chance.choice(["", " ", "\t", "        "])
        elif gap:
            gap = chance.choice([" ", "  ", "\t", "\u3000"])
        blank = token.kind == "newline" and tokens[index - 1].kind == "newline"
        written = text[token.start : token.end]
        out += gap + (chance.choice(["\n", "\n\n \n"]) if blank else written)
        place = token.end
    return out


@SLOW
@given(st.data(), st.sampled_from(SPECS))
def test_the_spaces_of_the_author_do_not_matter(data: st.DataObject, path: Path) -> None:
    text = path.read_text("utf-8")
    assert formatted(data.draw(respaced(text))) == format_text(text, "x.tripos")


@SLOW
@given(st.data(), st.sampled_from(SPECS))
def test_comments_anywhere_between_lines_stay(data: st.DataObject, path: Path) -> None:
    text = path.read_text("utf-8")
    chance = data.draw(st.randoms(use_true_random=False))
    out, place = "", 0
    for token in Scan(text, tree_of(text)).tokens:
        added = chance.choice(["", "", "", " # a", "# allow W0309: b", "\n# c", "\n\n   #d \n\n"])
        if token.kind == "newline":
            out += text[place : token.start] + added
            place = token.start
    formatted(out + text[place:])


class Writer:
    """Writes anything that may parse, with spaces, line breaks and comments in every place that takes them."""

    def __init__(self, chance: random.Random) -> None:
        self.chance = chance

    def one(self, *ways: str) -> str:
        return self.chance.choice(ways)

    def some(self, most: int) -> range:
        return range(self.chance.randint(0, most))

    def space(self) -> str:
        return self.one("", "", " ", "  ", "\t")

    def gap(self) -> str:
        """Between the tokens inside round and square brackets."""
        return self.one("", "", " ", " ", "\n", "\n\n ", "# c\n", "\n# own\n", "\r\n")

    def name(self) -> str:
        return self.one("a", "bb", "text", "list", "set", "when", "难度", "secret", "en", "level", "e5", "a_long_name")

    def value(self, depth: int) -> str:
        strings = ('"x"', '""', '"# b"', '"|"', '"""x"""', '""""""', '"""\n  a\n    b\n\n  """', '"""a\n  b"""')
        plain = self.one(self.name(), "1", "2.5", "-3", self.one(*strings), f'"{"w" * 60}"')
        if depth <= 0:
            return plain
        found = self.one(plain, plain, self.name() + self.brackets(depth), self.brackets(depth), self.type(depth))
        for _ in self.some(2):
            found += self.one(self.brackets(depth), "?", f".{self.space()}{self.name()}")
        return self.one("", "", "", "-", "- ", "not ") + found

    def brackets(self, depth: int) -> str:
        names = ("", "", f"{self.name()} :")
        inner = [self.gap() + self.one(*names) + self.terms(depth - 1, self.gap) + self.gap() for _ in self.some(3)]
        pair = self.one("()", "[]")
        return pair[0] + ",".join(inner) + (self.one("", ",") if inner else self.gap()) + pair[1]

    def terms(self, depth: int, between: Callable[[], str]) -> str:
        found = self.value(depth)
        for _ in self.some(2):
            sign = self.one("+", "-", "*", "/", "==", "<", ">", ">=", " and ", " or ", " in ", " not  in ", "..")
            found += between() + sign + between() + self.value(depth - 1)
        return found

    def type(self, depth: int) -> str:
        inner = self.one(self.name(), "1 .. 5", "choice( a,b )") if depth <= 1 else self.one(*self.types(depth))
        return f"{self.one('list', 'set')}<{self.space()}{inner}{self.space()}>"

    def types(self, depth: int) -> tuple[str, str]:
        return self.type(depth - 1), self.block(depth - 1)

    def entry(self, depth: int) -> str:
        if self.chance.random() < 0.1:
            return "|" + "".join(f"{self.one(' a ', '难度', '', ' x')}|" for _ in range(self.chance.randint(1, 3)))
        parts = [self.name()]
        for _ in self.some(3):
            parts.append(self.one(self.terms(depth, self.space), self.name(), "=", "->", "from", '"label"'))
        block = self.space() + self.block(depth - 1) if depth > 0 and self.chance.random() < 0.4 else ""
        return self.one(" ", "  ").join(parts) + block

    def lines(self, depth: int) -> str:
        found = ""
        for _ in self.some(4):
            found += self.one("", "", "\n\n\n", "# own\n", "# allow W0309: x\n", "  # own\n\n")
            line = self.entry(depth)
            for _ in range(self.chance.choice([0, 0, 0, 1, 2])):
                after = self.one(" ", "", "\n", " # c\n", "\n\n", "\n# own\n")
                line += f"{self.space()},{after}{self.entry(depth)}"
            found += self.space() + line + self.one("\n", "\n", " # t\n", "# allow S0101\n", " \r\n", "\n\n")
        return found

    def block(self, depth: int) -> str:
        if self.chance.random() < 0.3:
            return f"{{{self.space()}{', '.join(self.entry(depth) for _ in self.some(2))}{self.space()}}}"
        return "{" + self.one("\n", " # head\n", "\n\n") + self.lines(depth) + self.one("", "# end\n") + "}"


@QUICK
@given(st.randoms(use_true_random=False))
def test_whatever_parses_is_formatted(chance: random.Random) -> None:
    text = Writer(chance).lines(chance.randint(0, 3))
    diagnostics = Diagnostics()
    parse(Source("x", text), diagnostics)
    assume(not diagnostics.failed)
    formatted(text)
