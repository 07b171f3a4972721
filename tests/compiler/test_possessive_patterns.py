"""No pattern of the sources repeats a group possessively: Python before 3.11.5 loses what such a group matched.

Of single characters and classes, as in `\\d++`, every Python is right. `regex` stands beside `re` as the reference.
"""

from __future__ import annotations

import ast
import re

import regex
from hypothesis import given, strategies as st

from tests.sources import modules, name_of, nodes_of
from tripos_compiler.library.functions import multiple_choice
from tripos_compiler.replies import number_tokens, numbers, numbers as number_labels
from tripos_compiler.replies.text import LatePattern
from tripos_compiler.syntax import grammar, lexer
from tripos_runtime.reading import plain_text

MODULES = (number_tokens, multiple_choice, number_labels, number_tokens, numbers, plain_text)
GROUP = re.compile(r"\)(?:[*+?]|\{[\d,]+\}|\{\{[\d,]+\}\})\+|\(\?>")
ALLOWED = {
    "compiler/tripos_compiler/syntax/grammar.py": 1,  # a lexer: each repeated part is a whole token
    "compiler/tripos_compiler/library/functions/multiple_choice.py": 1,  # held below
}
PATTERNS = [
    pattern
    for module in MODULES
    for pattern in vars(module).values()
    if isinstance(pattern, re.Pattern | LatePattern) and re.search(r"[*+?}]\+", pattern.pattern)
]


def test_groups_are_not_repeated_possessively() -> None:
    found: dict[str, int] = {}
    for path in modules():
        for node in nodes_of(path):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and GROUP.search(node.value):
                found[name_of(path)] = found.get(name_of(path), 0) + 1
    assert found == ALLOWED
    assert grammar and lexer


@given(st.text(alphabet="0123456789 ,.'’\u00a0\u066b-()ABCDEFx:、选项andor答案\n/;*", max_size=30))
def test_patterns_match_as_the_reference_does(text: str) -> None:
    assert len(PATTERNS) >= 5
    for pattern in PATTERNS:
        reference = regex.compile(pattern.pattern, pattern.flags & ~re.UNICODE)
        assert [each.span() for each in pattern.finditer(text)] == [each.span() for each in reference.finditer(text)]
