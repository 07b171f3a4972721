"""Text that does not read as it is: direction marks, names that look alike, and paths that steer a terminal."""

from __future__ import annotations

import pytest

from tests.compiler.compiling import compile_text
from tripos_compiler.diagnostics.diagnostic import Diagnostic, Label
from tripos_compiler.diagnostics.renderers import render_text
from tripos_compiler.source.text import Source, Span

SPEC = """benchmark demo "1.0.0" {{ languages en }}
role candidate compared
{line}
scenario sums {{
  ask {name} by candidate {{ prompt "What is 6 * 7?" }}
  score right = contains({name}.text, "42")
}}
"""


def warned(line: str = "", name: str = "answer") -> list[tuple[str, str | None]]:
    found = compile_text(SPEC.format(line=line, name=name)).diagnostics
    return [(item.code, item.help) for item in found]


@pytest.mark.parametrize("mark", "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
def test_a_mark_that_turns_the_text_is_a_warning(mark: str) -> None:
    assert [code for code, _ in warned(f"# {mark}a comment{mark}")] == ["W0112"]
    assert "W0112" in [code for code, _ in warned(f'let x = "{mark}"')]


def test_hebrew_arabic_and_chinese_are_no_deception() -> None:
    assert warned("# שלום مرحبا 你好 Привет ελληνικά") == []
    assert warned(name="ответ") == []
    assert warned(name="答案") == []


def test_names_that_look_alike_are_a_warning() -> None:
    assert warned(name="аnswer") == [("W0113", "write `answer`")]
    alike = SPEC.format(line="", name="ace").replace("ace.text", "асе.text")
    assert ("W0113", "write `ace`") in [(each.code, each.help) for each in compile_text(alike).diagnostics]


def test_a_path_does_not_steer_the_terminal() -> None:
    source = Source("a\x1b[31m/x.tripos", "role a\n")
    item = Diagnostic("E0101", "it does not fit", (Label(Span(source, 0, 4)),))
    assert "\x1b" not in render_text([item])
