"""The lexer for Pygments: nothing is lost, nothing valid is an error, and words are told apart by where they stand."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from hypothesis import given, strategies as st
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Comment, Error, Keyword, Name, Operator, String, _TokenType

from tests.each import each
from tests.editors.specs import SPECS
from tripos_compiler.constructs.table import CONSTRUCTS
from tripos_compiler.editing.highlighting import TYPES, TriposLexer, heads_in, places

HERE = Path(__file__).parent
PIECES = [
    *'{}()[]|,:.#"\\\n x1', '"""', "{{", "}}", "ask ", "dataset a from ", "scenario s {\n", "难度", "\r\n", "\ufeff",
]  # fmt: skip


def tokens(text: str) -> list[tuple[_TokenType, str]]:
    return [(kind, piece) for _, kind, piece in TriposLexer().get_tokens_unprocessed(text)]


def kinds(text: str, word: str) -> list[_TokenType]:
    return [kind for kind, piece in tokens(text) if piece == word]


@each("path", SPECS)
def test_a_spec_has_no_error_token_and_its_tokens_are_its_text(path: Path) -> None:
    text = path.read_bytes().decode("utf-8")
    found = tokens(text)
    assert [piece for kind, piece in found if kind in Error] == []
    assert "".join(piece for _, piece in found) == text


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=40).map("".join))
def test_the_tokens_of_any_text_are_that_text(text: str) -> None:
    assert "".join(piece for _, piece in tokens(text)) == text


def test_a_small_spec_token_by_token() -> None:
    text = (HERE / "small.tripos").read_text("utf-8")
    listing = "".join(f"{str(kind)[6:]:<22}{piece!r}\n" for kind, piece in tokens(text) if piece.strip())
    golden = HERE / "small.tokens"
    if os.environ.get("TRIPOS_WRITE_GOLDEN"):
        golden.write_text(listing, "utf-8")
    assert listing == golden.read_text("utf-8")


@each("construct", [c for c in CONSTRUCTS if c.starts_with])
def test_every_statement_begins_with_a_keyword_where_it_belongs(construct: object) -> None:
    assert isinstance(construct, type(CONSTRUCTS[0]))
    for place in construct.inside:
        assert construct.starts_with in [head.keyword for head in heads_in(place)]


def test_every_block_of_the_table_is_a_place() -> None:
    assert {place for construct in CONSTRUCTS for place in construct.inside} <= set(places())


@each(
    "text, word, wanted",
    [
        ('dataset item from "a.csv" {\n  prompt text\n}', "prompt", [Name.Attribute]),
        ('scenario s {\n  ask a by b {\n    prompt ""\n  }\n}', "prompt", [Keyword]),
        ('dataset item from "a.csv" {\n  count 2\n}', "count", [Name.Attribute]),
        ("dataset item by author {\n  count 2\n}", "count", [Keyword]),
        ("scenario s {\n  score a = b when (c)\n  score when(c)\n}", "when", [Keyword, Name.Function]),
        ("scorer a(text: text) by b { gives bool }", "text", [Name.Variable, Keyword.Type]),
        ("scenario s {\n  let a = words(text)\n}", "text", [Name]),
        ("scenario s {\n ask a by b { samples 2, stop 3 }\n}", "stop", [Keyword]),
        ("measure stop = mean(a) by b, stop", "stop", [Name.Class, Name]),
        ("expect a and not b in c", "not", [Operator.Word]),
    ],
)
def test_a_word_is_what_it_means_where_it_stands(text: str, word: str, wanted: list[_TokenType]) -> None:
    assert kinds(text, word) == wanted


def test_a_comment_sign_in_a_string_begins_none_and_a_hole_that_is_never_closed_is_text() -> None:
    assert [kind for kind, _ in tokens('use "a # b" # c')].count(Comment.Single) == 1
    assert String.Interpol not in [kind for kind, _ in tokens('axis a {\n  b "{{ c"\n}')]


def test_the_types_are_those_of_the_compiler() -> None:
    from tripos_compiler.typecheck.types import GENERIC, SIMPLE

    assert set(TYPES) == {*SIMPLE, *GENERIC, "choice"}


def test_pygments_finds_the_lexer() -> None:
    assert type(get_lexer_by_name("tripos")).__name__ == TriposLexer.__name__
    assert type(get_lexer_for_filename("edubench.tripos")).__name__ == TriposLexer.__name__


def test_importing_the_lexer_imports_nothing_heavy() -> None:
    said = "import sys, tripos_compiler.editing.highlighting; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", said], capture_output=True, text=True, check=True).stdout.split()
    assert not {"pydantic", "lark", "duckdb", "pyarrow", "litellm", "scipy"} & set(loaded)
