"""What every piece of a plan is, and the canonical form of JSON values that names them."""

from __future__ import annotations

import hashlib
import json
from typing import Any, Protocol, TypeVar

import orjson
from pydantic import BaseModel, ConfigDict


def canonical(value: Any) -> bytes:
    """The one byte form of a JSON value: sorted keys, no spaces, UTF-8; sets are sorted lists.

    >>> canonical({"b": 1, "a": "é"}).decode()
    '{"a":"é","b":1}'
    """
    try:
        return orjson.dumps(value, default=_plain, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # half a character, or an integer of more than 64 bits
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=_plain)
        return text.encode("utf-8", "surrogatepass")


def _plain(value: Any) -> Any:
    if isinstance(value, frozenset | set):
        return sorted(value)
    raise TypeError(f"not a JSON value: {type(value).__name__}")


def digest(value: Any, *, size: int = 16) -> str:
    """A hexadecimal name for a JSON value: BLAKE2b of its canonical form, `size` bytes long.

    >>> digest({"a": 1}) == digest({"a": 1}), len(digest(None))
    (True, 32)
    """
    return hashlib.blake2b(canonical(value), digest_size=size).hexdigest()


class Part(BaseModel):
    """Base of every piece of a plan: frozen, and an unknown field is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


def named(parts: tuple[N, ...], name: str) -> N:
    """The part of that name. Raises `KeyError` where there is none."""
    for part in parts:
        if part.name == name:
            return part
    raise KeyError(name)
