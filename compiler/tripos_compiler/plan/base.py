"""Base class of the parts of a plan, canonical JSON and digests, and mappings whose order is significant."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any, ClassVar, Literal, Protocol, TypeVar, get_args, get_origin

import orjson
from pydantic import BaseModel, ConfigDict, SerializerFunctionWrapHandler, model_serializer, model_validator


def canonical(value: Any) -> bytes:
    """Return the canonical bytes of a JSON value: sorted keys, no spaces, UTF-8; sets become sorted lists.

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
    """Return the hexadecimal BLAKE2b digest, of `size` bytes, of the canonical form of a JSON value.

    >>> digest({"a": 1}) == digest({"a": 1}), len(digest(None))
    (True, 32)
    """
    return hashlib.blake2b(canonical(value), digest_size=size).hexdigest()


class Canonical(BaseModel):
    """Frozen data with one canonical JSON form.

    A field equal to its default is omitted, so a field that is added later does not change the digest of data that does
    not use it. An unknown field is an error. A field of a single literal type, which identifies the kind of data, is
    never omitted.

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
        return omit_defaults(self, write(self))


def omit_defaults(part: Canonical, written: dict[str, Any]) -> dict[str, Any]:
    """Remove the fields that have their default from a serialized part, and return it."""
    for name, default in _optional(type(part)):
        if name in written and getattr(part, name) == default:
            del written[name]
    return written


@cache
def _optional(of: type[Canonical]) -> tuple[tuple[str, Any], ...]:
    """Return the name and default of each field that may be omitted."""
    optional = {name: field for name, field in of.model_fields.items() if not field.is_required()}
    return tuple(
        (name, field.get_default(call_default_factory=True))
        for name, field in optional.items()
        if get_origin(field.annotation) is not Literal or len(get_args(field.annotation)) > 1
    )


class Part(Canonical):
    """Base class of all parts of a plan."""


class Named(Protocol):
    @property
    def name(self) -> str: ...


N = TypeVar("N", bound=Named)


def named(parts: tuple[N, ...], name: str) -> N:
    """Return the part with a name. Raises `KeyError` if there is none."""
    for part in parts:
        if part.name == name:
            return part
    raise KeyError(name)


class Ordered(Part):
    """Part with a mapping, named by `_mapping`, whose order is significant, such as the fields that a model is shown.

    JSON with sorted keys would lose the order. So the JSON has the names in `order` unless they are in alphabetical
    order. After reading, the mapping is in that order and `order` is empty.
    """

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
        written = omit_defaults(self, write(self))
        names = list(getattr(self, self._mapping))
        return written if names == sorted(names) else written | {"order": names}
