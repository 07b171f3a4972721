"""Regular expressions of the language: what they mean is what they mean to Python, and they take linear time."""

from __future__ import annotations

import random
import re
import time
import warnings

import pytest

from tests.each import each
from tests.lengths import sized
from tripos_compiler.library.functions.regular_expressions import NotLinearError, finder, searcher
from tripos_compiler.library.functions.texts import is_no_pattern
from tripos_compiler.library.signature import ArgumentError

ATOMS = (
    *"ab1_ .é中",
    *(r"\d", r"\w", r"\s", r"\D", r"\W", r"\S", "[a-c]", "[^a]", r"[^\w中]", r"[\s\W]", r"[\d_-]", "[A-Zé]", r"\n", "ſ", "i"),
    *(r"\b", r"\B", "^", "$", r"\A", r"\Z", "İ", "K", r"\.", r"\-"),
)  # fmt: skip
ENDINGS = ("", "", "", "", "?", "*", "+", "{2}", "{1,3}", "*?", "+?")
FLAGS = ("", "", "(?i)", "(?m)", "(?s)", "(?a)", "(?im)")
LETTERS = "aabbcAB1 2_.-é中，\n\t \u3000ſİıKkiI٣ßẞ\u0301\ud800"


def a_pattern(dice: random.Random, depth: int = 2) -> str:
    parts = []
    for _ in range(dice.randrange(1, 5)):
        if depth and dice.random() < 0.3:
            opens = dice.choice(("(", "(?:", "(?P<n>" if depth == 2 and not parts else "(?:", "(?i:"))
            part = f"{opens}{a_pattern(dice, depth - 1)})"
        else:
            part = dice.choice(ATOMS)
        parts.append(part if part[-1] in "^$" or part in (r"\b", r"\B", r"\A", r"\Z") else part + dice.choice(ENDINGS))
    return "".join(parts) if dice.random() < 0.7 else "|".join(parts)


def test_an_expression_means_what_it_means_to_python() -> None:
    dice = random.Random(20)
    compared = 0
    for _ in range(sized(100, 20_000)):
        pattern = dice.choice(FLAGS) + a_pattern(dice)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            python = re.compile(pattern)
        if "$" in pattern and "m" not in pattern[:5]:
            pattern_ends = pattern.rindex("$") == len(pattern) - 1  # behind a `$`, only the last line break is left
            if not pattern_ends:
                continue
        for _ in range(20):
            text = "".join(dice.choice(LETTERS) for _ in range(dice.randrange(0, 9)))
            if not text and r"\B" in pattern:
                continue  # Python 3.14 changed what it means in an empty text
            assert searcher(pattern)(text) == (python.search(text) is not None), (pattern, text)
            compared += 1
    assert compared > sized(1_100, 250_000)


def found_by_python(pattern: str, text: str) -> list[tuple[int, int, tuple[str | None, ...]]]:
    """Return the places that Python finds, one after the other, none of them empty."""
    compiled, at = re.compile(pattern), 0
    found = []
    while at <= len(text) and (match := compiled.search(text, at)) is not None:
        if match.end() > match.start():
            found.append((match.start(), match.end(), match.groups()))
        at = max(match.end(), match.start() + (match.end() == match.start()))
    return found


def test_places_and_groups_are_those_of_python() -> None:
    """A group that repeats what may be empty is left out: engines differ in which empty turn they keep."""
    dice = random.Random(21)
    compared = 0
    for _ in range(sized(250, 20_000)):
        pattern = dice.choice(FLAGS) + a_pattern(dice, dice.choice((0, 1)))
        if re.search(r"\)[?*+{]|\$.", pattern):
            continue
        for _ in range(20):
            text = "".join(dice.choice(LETTERS) for _ in range(dice.randrange(0, 12)))
            if not text and r"\B" in pattern:
                continue
            got = [(each.start, each.end, each.groups) for each in finder(pattern)(text)]
            assert got == found_by_python(pattern, text), (pattern, text)
            compared += 1
    assert compared > sized(2_500, 200_000)


def test_many_places_in_a_long_text_are_found_in_linear_time() -> None:
    before = time.process_time()
    assert len(finder(r"\bé(a?)")("éa b " * 10_000)) == 10_000
    assert len(finder(r"\d+")("12 é " * 10_000)) == 10_000
    assert time.process_time() - before < 4


@pytest.mark.parametrize("pattern", ["^(a+)+$", "(a|a)*b", "(a*)*c", r"(\w+\s?)+$", r"(?i)(x+x+)+y"])
def test_what_hangs_in_python_is_quick(pattern: str) -> None:
    before = time.process_time()
    assert not searcher(pattern)("ax" * 50_000 + "!")
    assert time.process_time() - before < 4


@each(
    "pattern",
    ["a(?=b)", "a(?!b)", "(?<=a)b", "(?<!a)b", r"(a)\1", r"(?P<x>a)(?P=x)", "(?>a)", "a*+", "a++", "(a)?(?(1)b|c)", "(?!)",
     "a{1001}", "(a{100}){100}", r"(?a:\b)\bé"],
)  # fmt: skip
def test_what_takes_more_time_is_refused(pattern: str) -> None:
    with pytest.raises(NotLinearError):
        searcher(pattern)("é")
    wrong = is_no_pattern({"pattern": pattern})
    assert isinstance(wrong, ArgumentError)
    assert wrong.code == "E0316"
    assert wrong.message.startswith("this pattern cannot be searched for in linear time: it ")


def test_an_end_is_also_before_a_last_line_break() -> None:
    for pattern, text in (("a$", "a\n"), (r"a\Z", "a\n"), ("a$", "a\n\n"), ("(?m)a$", "a\nb")):
        assert searcher(pattern)(text) == (re.search(pattern, text) is not None), pattern
