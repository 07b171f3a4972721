"""The editor grammar is the one that the table of constructs gives, and colours as the lexer does."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pygments.token import Comment, Keyword, Name, Number, Operator, String, _TokenType

from editors.vscode.generate import files, grammar
from tests.each import each
from tests.editors.specs import EXAMPLE, EXTENSION, SPECS
from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.diagnostics.renderers import render_text
from tripos_compiler.editing.highlighting import TriposLexer
from tripos_compiler.source.text import Source
from tripos_compiler.syntax.parser import parse

NODE = shutil.which("node")
needs_node = pytest.mark.skipif(
    NODE is None or not (EXTENSION / "node_modules").is_dir(),
    reason="needs node and the libraries that `npm ci` puts into editors/vscode",
)
KINDS: list[tuple[_TokenType, str]] = [
    (Comment, "comment"),
    (String.Interpol, "punctuation.section.embedded"),
    (String, "string"),
    (String, "constant.character.escape"),
    (String, "punctuation.definition.string"),
    (Keyword.Constant, "constant.language"),
    (Keyword.Type, "support.type"),
    (Keyword, "keyword.control"),
    (Keyword, "keyword.other"),
    (Number, "constant.numeric"),
    (Operator.Word, "keyword.operator.wordlike"),
    (Operator, "keyword.operator"),
    (Name.Class, "entity.name.type"),
    (Name.Function, "entity.name.function"),
    (Name.Variable, "variable.parameter"),
    (Name.Label, "variable.other.enummember"),
    (Name.Attribute, "variable.other.member"),
    (Name.Attribute, "variable.other.property"),
    (Name, "variable.other.tripos"),
]
"""What the lexer and the grammar call the same things, the narrower first; the rest is punctuation."""


def patterns(rule: Any) -> Iterator[str]:
    match rule:
        case dict():
            for key, value in rule.items():
                if key in ("match", "begin", "end") and isinstance(value, str):
                    yield value
                else:
                    yield from patterns(value)
        case list():
            for part in rule:
                yield from patterns(part)


def includes(rule: Any) -> Iterator[str]:
    match rule:
        case dict():
            if isinstance(rule.get("include"), str):
                yield rule["include"]
            for value in rule.values():
                yield from includes(value)
        case list():
            for part in rule:
                yield from includes(part)


@pytest.mark.parametrize(("path", "text"), files().items(), ids=lambda value: getattr(value, "name", ""))
def test_what_is_generated_is_up_to_date(path: Path, text: str) -> None:
    current = path.read_text("utf-8") == text
    assert current, f"`python editors/vscode/generate.py` writes {path.name} anew"


def test_every_pattern_is_a_regular_expression() -> None:
    found = list(patterns(grammar()))
    assert len(found) > 100
    for pattern in found:
        re.compile(pattern)


def test_every_rule_that_is_named_is_there_and_no_other() -> None:
    made = grammar()
    named = {name.removeprefix("#") for name in includes(made)}
    assert named == set(made["repository"])


def test_the_example_has_no_syntax_error() -> None:
    diagnostics = Diagnostics()
    parse(Source(EXAMPLE.name, EXAMPLE.read_text("utf-8")), diagnostics)
    assert not diagnostics.items, render_text(diagnostics.items)


def kind_of(token: _TokenType) -> str:
    return str(next((kind for kind, _ in KINDS if token in kind), None))


def kind_of_scope(scope: str) -> str:
    return str(next((kind for kind, prefix in KINDS if scope.startswith(prefix)), None))


def by_character(pieces: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Return every character that is no space, with its kind."""
    return [(char, kind) for text, kind in pieces for char in text if not char.isspace() and char != "\ufeff"]


@pytest.fixture(scope="module")
def scopes() -> dict[str, list[dict[str, Any]]]:
    """Return what the engine of the editor says of every spec."""
    assert NODE is not None
    subprocess.run([NODE, "build.mjs", "tests"], cwd=EXTENSION, check=True)
    command = [NODE, "out/test/scopes.js", *map(str, SPECS)]
    done = subprocess.run(command, cwd=EXTENSION, check=True, capture_output=True)
    found: dict[str, list[dict[str, Any]]] = json.loads(done.stdout)
    return found


@needs_node
@each("path", SPECS)
def test_grammar_and_lexer_agree_on_every_character(path: Path, scopes: dict[str, list[dict[str, Any]]]) -> None:
    text = path.read_bytes().decode("utf-8")
    lexed = [(piece, kind_of(kind)) for _, kind, piece in TriposLexer().get_tokens_unprocessed(text)]
    seen = [(token["text"], kind_of_scope(token["scopes"][-1])) for token in scopes[str(path)]]
    assert by_character(lexed) == by_character(seen)
