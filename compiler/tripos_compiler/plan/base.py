"""The base of every part of a plan, its canonical JSON, and mappings whose order means something."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Literal, Protocol, TypeVar, get_args, get_origin

import orjson
from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer, model_validator


def canonical(value: Any) -> bytes:
    """Return the one byte form of a JSON value: sorted keys, no spaces, UTF-8; sets are sorted lists.

    >>> canonical({"b": 1, "a": "é"}).decode()
    '{"a":"é","b":1}'
    """
    try:
        return orjson.dumps(value, default=_json_default, option=orjson.OPT_SORT_KEYS)
    except TypeError:  # half a character, or an integer of more than 64 bits
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=_json_default)
        return text.encode("utf-8", "surrogatepass")


def _json_default(value: Any) -> Any:
    if isinstance(value, frozenset | set):
        return sorted(value)
    raise TypeError(f"not a JSON value: {type(value).__name__}")


def digest(value: Any, *, size: int = 16) -> str:
    """Return a hexadecimal name for a JSON value: BLAKE2b of its canonical form, `size` bytes long.

    >>> digest({"a": 1}) == digest({"a": 1}), len(digest(None))
    (True, 32)
    """
    return hashlib.blake2b(canonical(value), digest_size=size).hexdigest()


class Canonical(BaseModel):
    """Frozen data whose JSON has one form. A field that has its default is left out, so that a field that is added
    later changes no digest of what does not use it; an unknown field is an error. A field of a single literal, which
    says what the data is, always stays.

    >>> class Dot(Canonical):
    ...     kind: Literal["dot"] = "dot"
    ...     x: int
    ...     y: int = 0
    >>> Dot(x=0).model_dump(), Dot(x=0, y=1).model_dump()
    ({'kind': 'dot', 'x': 0}, {'kind': 'dot', 'x': 0, 'y': 1})
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    @model_serializer(mode="wrap", return_type=dict[str, Any])
    def _canonical(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return leave_out(self, write(self))


def leave_out(part: Canonical, written: dict[str, Any]) -> dict[str, Any]:
    """Return what is written of a part, without the fields that have their default."""
    for name, default in _optional(type(part)):
        if name in written and getattr(part, name) == default:
            del written[name]
    return written


@cache
def _optional(of: type[Canonical]) -> tuple[tuple[str, Any], ...]:
    """Return the fields that are left out where they have their default, each with that."""
    optional = {name: field for name, field in of.model_fields.items() if not field.is_required()}
    return tuple(
        (name, field.get_default(call_default_factory=True))
        for name, field in optional.items()
        if get_origin(field.annotation) is not Literal or len(get_args(field.annotation)) > 1
    )


class Part(Canonical):
    """Base of every piece of a plan."""


class Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


def named(parts: tuple[N, ...], name: str) -> N:
    """Return the part of that name. Raises `KeyError` where there is none."""
    for part in parts:
        if part.name == name:
            return part
    raise KeyError(name)


class Ordered(Part):
    """A part with a mapping `_mapping` whose order counts. JSON with sorted keys would lose it, and with it what a
    model is shown; so in JSON `order` has the names as they come, where that is not the order of their letters. Read
    again, the mapping is in that order, and `order` is empty."""

    _mapping: ClassVar[str]
    order: tuple[str, ...] = ()

    @model_validator(mode="before")
    @classmethod
    def _in_order(cls, given: Any) -> Any:
        if not isinstance(given, Mapping) or not given.get("order"):
            return given
        named, order = given.get(cls._mapping), given["order"]
        if not isinstance(named, Mapping) or sorted(order) != sorted(named):
            raise ValueError(f"`order` does not have the names of `{cls._mapping}`")
        return {**given, cls._mapping: {name: named[name] for name in order}, "order": ()}

    @model_serializer(mode="wrap", return_type=dict[str, Any])
    def _canonical(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written = leave_out(self, write(self))
        names = list(getattr(self, self._mapping))
        return written if names == sorted(names) else written | {"order": names}
