"""A test of many cases fails with all that fail."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.each import each


@each("number, text", [(1, "1"), (2, "two"), (3, "3"), (4, "four")])
def check(number: int, text: str) -> None:
    assert str(number) == text


@each("text", ["1", "two"])
def raising(text: str) -> None:
    with pytest.raises(ValueError):
        int(text)


@each("letter", lambda: "ab")
def test_fixtures_are_shared_by_the_cases(tmp_path: Path, letter: str) -> None:
    assert (tmp_path / "a").exists() == (letter == "b")
    (tmp_path / letter).touch()


def test_every_case_that_fails_is_listed() -> None:
    with pytest.raises(BaseExceptionGroup, match="2 of 4 cases fail") as caught:
        check()
    assert [each.__notes__ for each in caught.value.exceptions] == [
        ["with number, text = 2, 'two'"],
        ["with number, text = 4, 'four'"],
    ]


def test_a_mistake_that_is_not_made_counts_as_a_failure() -> None:
    with pytest.raises(BaseExceptionGroup, match="1 of 2 cases fail"):
        raising()


def test_no_cases_are_a_failure() -> None:
    with pytest.raises(AssertionError, match="no cases"):
        each("number", [])(check)()
