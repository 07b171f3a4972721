"""The time to read a reply grows with its length, and not with the square of it, whatever a model repeats."""

from __future__ import annotations

import asyncio
import random
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import Any, cast

import pytest

from tests.lengths import sized
from tests.looping import REPEATED, looping
from tests.reply_readers import LETTER, METRICS, READERS, TYPES
from tripos_compiler.library.signature import AmbiguousAnswer, Undefined
from tripos_compiler.plan import BoolType, DialogueType, IntegerType, ListType, RecordType, SetType, TextType
from tripos_runtime.asking.replies import _read_text, run_reply
from tripos_runtime.reading.judgements import read_metrics
from tripos_runtime.reading.plain_text import LONG_REPLY, MOST_CHARACTERS
from tripos_runtime.reading.typed import read
from tripos_runtime.scheduling.calling import Caller

LENGTHS = (4_000, 8_000, 16_000, 32_000)
GROWTH = 2.7
"""Twice the length takes at most so many times the steps."""
SLOW = 4.0
"""Seconds of CPU for 32,000 characters: more than ten times what the slowest reader takes, and far below the 30 and
more that a quadratic one does."""


def steps(reader: Callable[[str], Any], text: str) -> int:
    """Return the calls that reading a text makes, of functions in Python and in C."""
    count = 0

    def step(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(step)
    try:
        reader(text)
    except (Undefined, AmbiguousAnswer):
        pass
    finally:
        sys.setprofile(None)
    return count


def drawn(number: int) -> list[str]:
    """Return the readers that a shape is tried on: all of them in turn, from shape to shape."""
    order = random.Random(number // len(READERS)).sample(sorted(READERS), len(READERS))
    return [order[(number + place) % len(order)] for place in range(sized(1, 6))]


def test_there_are_200_shapes() -> None:
    assert len(set(REPEATED)) >= 200


def test_no_reader_takes_more_steps_than_the_length_allows() -> None:
    shapes = [dict(looping(length)) for length in LENGTHS]
    for number, name in list(enumerate(shapes[0]))[:: sized(30, 1)]:
        for reader in drawn(number):
            counts = [steps(READERS[reader], each[name]) for each in shapes]
            for fewer, more in pairwise(counts):
                assert more <= GROWTH * fewer + 2_000, (reader, name, counts)


def test_no_reader_hangs_on_a_reply_that_repeats_itself() -> None:
    for number, (name, text) in list(enumerate(looping(LENGTHS[-1])))[:: sized(12, 1)]:
        for reader in drawn(number + 1):
            before = time.process_time()
            with suppress(Undefined, AmbiguousAnswer):
                READERS[reader](text)
            assert time.process_time() - before < SLOW, (reader, name)


@pytest.mark.parametrize(
    ("reader", "text"),
    [
        (f"read list {TYPES.index(ListType(of=TextType()))}", "1" * 32_000),
        (f"read choice {TYPES.index(LETTER)}", "{" + ":" * 32_000),
        (f"read bool {TYPES.index(BoolType())}", "score" + " " * 32_000),
        ("JSON", '{["' + '{"a": 1, ' * 3_500 + '"]}'),
        ("one metric", "a" + "\u0301\u0323" * 16_000),
        ("option_letters of one part", "." * 32_000 + "x"),
    ],
)
def test_what_took_minutes(reader: str, text: str) -> None:
    before = time.process_time()
    READERS[reader](text)
    assert time.process_time() - before < SLOW


def test_a_number_of_thousands_of_digits_is_none() -> None:
    assert read(IntegerType(), "score: 1" + ",234" * 2_000).status == "parse_failure"


def test_a_turn_of_many_lines_is_put_together() -> None:
    turns = read(DialogueType(), "Ann:  hello \n  so\n\n \nBob and more \nBen: bye\n").value
    assert turns == [{"speaker": "Ann", "text": "hello\n  so\nBob and more"}, {"speaker": "Ben", "text": "bye"}]


def test_records_of_a_set_are_told_apart_by_their_values() -> None:
    found = read(
        SetType(of=RecordType(fields={"a": ListType(of=TextType())})), '[{"a": ["x"]}, {"a": ["y"]}, {"a": ["x"]}]'
    )
    assert found.value == [{"a": ["x"]}, {"a": ["y"]}]


def test_a_reply_that_is_too_long_is_not_read() -> None:
    found = read(IntegerType(), " " * MOST_CHARACTERS + "5")
    assert (found.status, found.error) == (
        "parse_failure",
        "the reply has 1,000,001 characters, of which at most 1,000,000 are read",
    )
    assert read(IntegerType(), " " * (MOST_CHARACTERS - 1) + "5").value == 5
    assert {one.status for one in read_metrics(METRICS, "5" * (MOST_CHARACTERS + 1)).values()} == {"parse_failure"}


def test_long_replies_are_read_in_a_thread() -> None:
    def read_in(length: int) -> int:
        program = _read_text("a" * length, threading.get_ident)
        return asyncio.run(run_reply(program, cast("Caller", None), ("role", "scenario"), lambda draft: None))

    assert read_in(LONG_REPLY) == threading.get_ident()
    assert read_in(LONG_REPLY + 1) != threading.get_ident()
