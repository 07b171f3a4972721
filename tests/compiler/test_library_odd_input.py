"""The functions of the library read any text, however long, in a time that its length explains."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given, strategies as st

from tests.lengths import sized
from tripos_compiler.library.function import Function
from tripos_compiler.library.registry import FUNCTIONS
from tripos_compiler.library.signature import AmbiguousAnswer

LONG = sized(1_000, 100_000)
BAD_FOR_PATTERNS = [
    "1,", "12,", "1,111", "1 ", "1 1/", "- ", "$", "-", ".1", "1e", "a", "A B", " ", "\n", "_", "a-", "1.1,", "'",
    "\\boxed{", "{", "}", "\\", "\\frac{", "\\frac{1}{2}", "½", "是", "不是", "yes ", "answer is ", "not ", "กำ", "a\u0301",
]  # fmt: skip
OF_ONE_TEXT = [
    function
    for function in FUNCTIONS.values()
    if function.name not in ("json", "length") and [p.name for p in function.parameters if p.required] == ["text"]
]


@pytest.mark.parametrize("function", OF_ONE_TEXT, ids=lambda function: function.name)
def test_a_very_long_text_is_read_to_its_end(function: Function) -> None:
    for piece in BAD_FOR_PATTERNS:
        long = piece * (LONG // len(piece))
        for text in (long, f"{long}1st", f"x{long}"):
            with suppress(AmbiguousAnswer):
                function.python(text)


@pytest.mark.parametrize(
    "name", ["bleu", "chrf", "rouge", "edit_similarity", "similarity", "bm25", "exact", "contains", "echoed"]
)
def test_two_very_long_texts_are_compared(name: str) -> None:
    one, other = "ab c是" * (LONG // 5), "cb a不" * (LONG // 5)
    assert FUNCTIONS[name].python(one, other) <= 100


@pytest.mark.parametrize("function", OF_ONE_TEXT, ids=lambda function: function.name)
@given(text=st.text())
def test_any_text_is_read(function: Function, text: str) -> None:
    with suppress(AmbiguousAnswer):
        function.python(text)
