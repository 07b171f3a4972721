"""Mappings of a plan whose order means something, such as the fields that a model is asked for, one after another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import SerializerFunctionWrapHandler, model_serializer, model_validator

from tripos_compiler.plan.base import Part, leave_out


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

    @model_serializer(mode="wrap")
    def _canonical(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        written = leave_out(self, write(self))
        names = list(getattr(self, self._mapping))
        return written if names == sorted(names) else written | {"order": names}
