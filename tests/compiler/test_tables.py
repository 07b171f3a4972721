"""The parser's tables: made by lark, kept between runs, and read by our automaton as lark reads them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from compiling import EDUBENCH
from lark import Lark, Tree

from tests.lengths import spread
from tripos_compiler.syntax import grammar as kept
from tripos_compiler.syntax.grammar import (
    GRAMMAR,
    Branch,
    GrammarTables,
    Machine,
    Token,
    build_tables,
    cache_folder,
    tables_of,
)
from tripos_compiler.syntax.lexer import raw_tokens

TEXT = Path(kept.__file__).with_name(GRAMMAR).read_text("utf-8")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "tripos" / "grammar"


@pytest.fixture
def never_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "build_tables", lambda _: pytest.fail("the tables are made again"))


def only(folder: Path) -> Path:
    (path,) = folder.iterdir()
    return path


def test_tables_are_the_same_after_a_round_trip_through_json(folder: Path) -> None:
    made = tables_of(TEXT, folder)
    assert tables_of(TEXT, folder) == made
    assert made.pattern.pattern == tables_of(TEXT, folder).pattern.pattern


def test_tables_that_are_kept_are_not_made_again(folder: Path, request: pytest.FixtureRequest) -> None:
    tables_of(TEXT, folder)
    request.getfixturevalue("never_built")
    tables_of(TEXT, folder)


def test_another_grammar_has_tables_of_its_own(folder: Path) -> None:
    tables_of(TEXT, folder)
    changed = tables_of(TEXT.replace('STAR: "*"', 'STAR: "×"'), folder)
    assert "×" in dict(changed.terminals)["STAR"]
    assert "×" not in dict(tables_of(TEXT, folder).terminals)["STAR"]


@pytest.mark.parametrize(
    "damage", [lambda _: "", lambda text: text[:-9], lambda text: text.replace("STAR", "STUR"), lambda _: "é" * 9]
)
def test_a_damaged_file_is_replaced(folder: Path, damage: Any, request: pytest.FixtureRequest) -> None:
    made = tables_of(TEXT, folder)
    path = only(folder)
    whole = path.read_text("utf-8")
    path.write_text(damage(whole), "utf-8")
    assert tables_of(TEXT, folder).terminals == made.terminals
    assert only(folder) == path
    request.getfixturevalue("never_built")
    tables_of(TEXT, folder)


def test_a_file_that_is_not_of_this_grammar_is_not_believed(folder: Path) -> None:
    tables_of(TEXT, folder)
    path = only(folder)
    key, _, rest = path.read_text("utf-8").partition(" ")
    path.write_text(f"{key[::-1]} {rest}", "utf-8")
    tables_of(TEXT, folder)
    assert path.read_text("utf-8").startswith(key)


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_a_folder_that_others_may_write_to_is_not_used(folder: Path) -> None:
    folder.mkdir(parents=True)
    folder.chmod(0o777)
    tables_of(TEXT, folder)
    assert list(folder.iterdir()) == []


@pytest.mark.skipif(os.name == "nt", reason="modes")
def test_the_folder_is_for_the_user_alone(folder: Path) -> None:
    tables_of(TEXT, folder)
    assert folder.stat().st_mode & 0o777 == 0o700


def test_tables_are_made_where_nothing_can_be_kept(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert isinstance(tables_of(TEXT, tmp_path / "file" / "grammar"), GrammarTables)
    assert isinstance(tables_of(TEXT, None), GrammarTables)


def test_the_cache_folder_is_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "tripos" / "grammar"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert (cache_folder() or tmp_path).is_relative_to(tmp_path)


def test_lark_is_imported_only_to_make_tables(tmp_path: Path) -> None:
    code = (
        "import sys; from tripos_compiler.diagnostics.diagnostic import Diagnostics; from tripos_compiler.source.text import Source;"
        "from tripos_compiler.syntax.parser import parse; parse(Source('a', 'role a'), Diagnostics());"
        "print('lark' in sys.modules)"
    )
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    said = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env).stdout.strip()
        for _ in range(2)
    ]
    assert said == ["True", "False"]


def holes() -> list[str]:
    text = "\n".join(path.read_text("utf-8") for path in sorted(EDUBENCH.glob("*.tripos")))
    return sorted(set(re.findall(r"\{\{(.*?)\}\}", text)))


EXPRESSIONS = [
    "a + b * -c - 2 / (d)",
    "not a.b in (1, -2) or c and d not in [e]",
    "f(x, y: 2 by z,) -> list<{ a text, b set<n>? }>",
    'x = 1..5 "s" """t""" == q[1..2, n: 3].r?',
    "a < b >= c != d <= 1.5e3",
    "{ a, b c\n d { e }\n| x | y | }",
]


def shape(node: Any) -> object:
    """Rules and tokens, of our tree as of lark's."""
    if isinstance(node, Branch):
        return (node.rule, (node.start, node.end), [shape(child) for child in node.children])
    if isinstance(node, Tree):
        return (str(node.data), (node.meta.start_pos, node.meta.end_pos), [shape(child) for child in node.children])
    return (node.kind, node.text) if isinstance(node, Token) else (node.type, str(node))


@pytest.fixture(scope="module")
def lark() -> Lark:
    return Lark(TEXT, parser="lalr", lexer="basic", start=["file", "hole"], propagate_positions=True)


@pytest.fixture(scope="module")
def tables() -> GrammarTables:
    return build_tables(TEXT)


@pytest.mark.parametrize("text", spread([*EXPRESSIONS[:-1], "list<" + EXPRESSIONS[-1] + ">", *holes()], 9))
def test_the_automaton_reads_what_lark_reads(text: str, lark: Lark, tables: GrammarTables) -> None:
    machine = Machine(tables, "hole")
    assert all(machine.feed(token) for token in raw_tokens(text))
    assert shape(machine.finish()) == shape(lark.parse(text, start="hole"))


def test_the_automaton_says_what_would_fit_where_something_does_not(tables: GrammarTables) -> None:
    machine = Machine(tables, "hole")
    tokens = list(raw_tokens("f(x: , 1"))
    assert [machine.feed(token) for token in tokens[:4]] == [True] * 4
    assert not machine.feed(tokens[4])
    assert {"NAME", "STRING", "_LPAR"} <= machine.expected()
    assert "_COMMA" not in machine.expected()
    assert machine.finish() is None
