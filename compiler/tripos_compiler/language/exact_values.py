"""Numbers and JSON of data files, read without loss: what cannot be kept as it is written is refused or stays exact.

A JSON reader gives the last of two values that one object has under one key, the nearest floating point of a number
that none can hold, and half a character where a text was cut in the middle of one. Each is a wrong gold answer that
nobody sees.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import orjson

NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
"""A number as files have it. Python reads `1_000` and `infinity` as numbers too."""
WHOLE = 2**53
"""From here on, floating point numbers leave out some of the whole numbers."""
LEAST, MOST = -(2**63), 2**63 - 1
"""The integers that can be stored."""
LARGEST_EXPONENT = 400
"""Of a number with a larger one no floating point is near."""
KEY = re.compile(rb'"\s*:')
"""Stands behind each key of an object, and in some texts."""
ESCAPED = (b"\\u0022", b"\\u003")
"""The quotation mark and the colon, escaped."""
SUSPECT = re.compile(rb"(?<![\d.])\d{16}|[\d.]{16,}[eE]\+?\d")
"""A number that may be past `WHOLE`."""
DIGITS = bytes.maketrans(b"123456789", b"0" * 9)
LONG = b"0" * 16
"""As many digits as such a number has, each as 0: to look for them so is ten times as fast as by `SUSPECT`."""
LONE = re.compile(rb"\\(?:u|U0000)[dD][89a-fA-F]")
"""Half of a surrogate pair, escaped: a text that was cut between the two is written so."""


class InexactJson(ValueError):
    """JSON that cannot be read without loss. The text says why; `help` mends it."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


def exact_number(number: str | Decimal) -> int | float | Decimal:
    """Return a number: as an integer if no floating point number holds it, and as the decimal that it is if neither
    does. Raises `ValueError` if a text is no number.

    A floating point number holds what its shortest decimal says. Below 2^53 the nearest one always counts.

    >>> exact_number("1.50"), exact_number("9007199254740993"), exact_number("9007199254740993.0"), exact_number("6e23")
    (1.5, 9007199254740993, 9007199254740993, 6e+23)
    >>> exact_number("18446744073709551617"), exact_number("9007199254740993.5")
    (Decimal('18446744073709551617'), Decimal('9007199254740993.5'))
    """
    if isinstance(number, str) and NUMBER.fullmatch(number.strip()) is None:
        raise ValueError(f"no number: {number}")
    exact = Decimal(number)
    nearest = float(exact)
    if abs(nearest) < WHOLE or exact.adjusted() > LARGEST_EXPONENT or Decimal(repr(nearest)) == exact:
        return nearest
    whole = int(exact)
    return whole if whole == exact and LEAST <= whole <= MOST else exact


def load_json(text: str | bytes) -> Any:
    """Return what JSON says; a number that neither 64 bits nor a floating point number hold is a `Decimal`. Raises
    `orjson.JSONDecodeError` for what is no JSON, and `InexactJson` for a repeated key or half of a character.

    >>> load_json('{"a": 1, "b": [9007199254740993.0]}')
    {'a': 1, 'b': [9007199254740993]}
    >>> load_json('{"a": 1, "b": {"c": 1, "c": 2}}')
    Traceback (most recent call last):
    ...
    tripos_compiler.language.exact_values.InexactJson: an object repeats the key `c`
    """
    raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
    try:
        value = orjson.loads(raw)
    except orjson.JSONDecodeError:
        lenient = _lenient(raw) if LONE.search(raw) else None
        check_characters(lenient)
        raise
    if not _may_lose(raw, value):
        return value
    try:
        return json.loads(raw, object_pairs_hook=_object, parse_int=_integer, parse_float=exact_number)
    except RecursionError:
        raise InexactJson("it is nested too deeply", "keep what is nested as text, or leave it out") from None


def _may_lose(raw: bytes, value: Any) -> bool:
    """Return true if JSON may say more than the value that was read: written anew, an object has each key once."""
    if any(each in raw for each in ESCAPED):
        return True
    if LONG in raw.translate(DIGITS, b".") and SUSPECT.search(raw) is not None:
        return True
    try:
        return len(KEY.findall(raw)) != orjson.dumps(value).count(b'":')
    except TypeError:  # it is nested more deeply than orjson writes
        return True


def check_characters(value: Any) -> None:
    """Raise `InexactJson` if a text in a value has half of a character, which no file in UTF-8 can hold.

    >>> check_characters({"a": ["é"]})
    """
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        raise InexactJson("a text has half of a character", "write the whole character, or leave it out") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InexactJson(f"an object repeats the key `{twice}`", "keep one of the two values")
    return found


def _integer(text: str) -> int | Decimal:
    try:
        return int(text)
    except ValueError:  # Python reads so many digits and no more
        return Decimal(text)


def _lenient(raw: bytes) -> Any:
    """Return what JSON says that may have half of a character; None of what is no JSON."""
    try:
        return json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> Any:
    raise ValueError(constant)  # `NaN` and the like are no JSON
