"""Lossless reading of numbers and JSON in data files.

A JSON parser keeps the last value of a repeated key, rounds a number to the nearest floating-point number, and keeps
half of a surrogate pair if a text was cut inside one. Each would be an unnoticed wrong gold answer. Here such a value
is refused or stays exact.
"""

from __future__ import annotations

import json
import re
from decimal import Decimal
from typing import Any

import orjson

NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
"""Number as written in files. Python also reads `1_000` and `infinity` as numbers."""
WHOLE = 2**53
"""Smallest integer above which floating-point numbers skip integers."""
LEAST, MOST = -(2**63), 2**63 - 1
"""Range of integers that can be stored."""
LARGEST_EXPONENT = 400
"""Largest decimal exponent that is converted; larger numbers have no floating-point neighbour."""
KEY = re.compile(rb'"\s*:')
"""End of each key of an object; may also occur inside texts."""
ESCAPED = (b"\\u0022", b"\\u003")
"""Quotation mark and colon, escaped."""
SUSPECT = re.compile(rb"(?<![\d.])\d{16}|[\d.]{16,}[eE]\+?\d")
"""Number that may exceed `WHOLE`."""
DIGITS = bytes.maketrans(b"123456789", b"0" * 9)
LONG = b"0" * 16
"""The digits of such a number, each translated to 0. This search is ten times as fast as `SUSPECT`."""
LONE = re.compile(rb"\\(?:u|U0000)[dD][89a-fA-F]")
"""Escaped half of a surrogate pair, as in a text that was cut between the halves."""


class InexactJson(ValueError):
    """JSON that cannot be read without loss. `help` says how to fix it."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.help = help


def exact_number(number: str | Decimal) -> int | float | Decimal:
    """Return the exact number: a float if it represents the number, else an integer, else a `Decimal`. Raises
    `ValueError` if a text is not a number.

    A float represents a number if its shortest decimal notation equals the number. Below 2^53 the nearest float is
    always accepted.

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
    """Return the value of a JSON text. A number that fits neither 64 bits nor a float is a `Decimal`. Raises
    `orjson.JSONDecodeError` if the text is not JSON, and `InexactJson` for a repeated key or half of a surrogate pair.

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
    """Return true if the JSON may contain more than the value that was read, for example repeated keys."""
    if any(escape in raw for escape in ESCAPED):
        return True
    if LONG in raw.translate(DIGITS, b".") and SUSPECT.search(raw) is not None:
        return True
    try:
        return len(KEY.findall(raw)) != orjson.dumps(value).count(b'":')
    except TypeError:  # it is nested more deeply than orjson writes
        return True


def check_characters(value: Any) -> None:
    """Raise `InexactJson` if a text in a value has half of a surrogate pair, which UTF-8 cannot encode.

    >>> check_characters({"a": ["é"]})
    """
    try:
        json.dumps(value, ensure_ascii=False, default=str).encode()
    except UnicodeEncodeError:
        raise InexactJson("a text has half of a character", "write the whole character, or leave it out") from None


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InexactJson(f"an object repeats the key `{twice}`", "keep one of the two values")
    return members


def _integer(text: str) -> int | Decimal:
    try:
        return int(text)
    except ValueError:  # Python reads so many digits and no more
        return Decimal(text)


def _lenient(raw: bytes) -> Any:
    """Return the value of JSON that may have half of a surrogate pair, or None if it is not JSON."""
    try:
        return json.loads(raw, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None


def _refuse(constant: str) -> Any:
    raise ValueError(constant)  # `NaN` and the like are no JSON
