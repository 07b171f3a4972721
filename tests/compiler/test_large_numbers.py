"""Whole numbers of data that no 64 bits hold: an error that says so, where JSON would give the nearest fraction."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.compiler.compiling import compile_file

SPEC = """
benchmark demo "1.0.0" {{ languages en }}
role candidate compared
dataset item from "items.jsonl" {{ question text, n {of} }}
scenario sums {{
  over item
  ask answer by candidate {{ prompt "{{{{ item.question }}}} {{{{ item.n }}}}" }}
  score long = words(answer.text)
}}
"""
PAST = "row 1 of items.jsonl: a number of `n` is past all bounds, which are ±1e70"
TOO_LONG = "row 1 of items.jsonl: {} has more digits than `n` can keep"
BEYOND = "row 1 of items.jsonl: a whole number of `n` is beyond 64 bits"


@pytest.mark.parametrize(
    ("of", "written", "problem"),
    [
        ("integer", "9223372036854775807", None),
        ("integer", "-9223372036854775808", None),
        ("integer", "9223372036854775808", BEYOND),
        ("integer?", "18446744073709551617", BEYOND),
        ("integer", "-9223372036854775809000", BEYOND),
        ("text", "18446744073709551617", BEYOND),
        ("text", '"18446744073709551617"', None),
        ("number", "18446744073709551617", TOO_LONG.format("18446744073709551617")),
        ("number", '"18446744073709551617"', TOO_LONG.format("'18446744073709551617'")),
        ("number", "9007199254740993.5", TOO_LONG.format("9007199254740993.5")),
        ("number", "9007199254740993", None),
        ("number", "9007199254740993.0", None),
        ("number", "6.02214076e23", None),
        ("number", "1000000000000000000000000000000", None),
        ("integer", '"9007199254740993.0"', None),
        ("integer", '"1_000"', "row 1 of items.jsonl: '1_000' is not `integer`"),
        ("number", "-1e70", None),
        ("number?", "1.1e70", PAST),
        ("number", "-1.7e308", PAST),
        ("number", '"2e100"', PAST),
        ("integer", "1.5", "row 1 of items.jsonl: 1.5 is not `integer`"),
        ("text", "7", "row 1 of items.jsonl: 7 is not `text`"),
        ("1..5", "1e30", "row 1 of items.jsonl: 1e+30 is not `1..5`"),
    ],
)
def test_a_number_that_no_64_bits_hold_is_told(tmp_path: Path, of: str, written: str, problem: str | None) -> None:
    (tmp_path / "items.jsonl").write_text(f'{{"question": "Which?", "n": {written}}}\n', "utf-8")
    (tmp_path / "demo.tripos").write_text(SPEC.format(of=of), "utf-8")
    found = compile_file(tmp_path / "demo.tripos")
    assert [each.message for each in found.diagnostics if each.code == "E0305"] == ([problem] if problem else [])
