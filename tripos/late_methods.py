"""Methods of dataclasses that are compiled when they are first called.

`dataclasses` compiles the text of six methods for every class. A run makes some 500 such classes, with those of the
libraries, and compares, shows or hashes the objects of few: to compile them all is a sixth of its start. Python 3.13
compiles the methods of a class in one go; there nothing is changed. `inspect.signature` of a class that was not used
yet says nothing, so this is for the process of a command alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

LATE = frozenset({"__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__"})


def compile_methods_late() -> None:
    """Have the classes that are made from now on compile their methods when they are first called."""
    make = getattr(dataclasses, "_create_fn", None)
    if make is not None:
        setattr(dataclasses, "_create_fn", partial(_create, make))  # noqa: B010 - it has no type


def _create(make: Callable[..., Any], name: str, *given: Any, **named: Any) -> Any:
    if name not in LATE:
        return make(name, *given, **named)
    made: list[Callable[..., Any]] = []

    def method(self: object, *values: Any, **by_name: Any) -> Any:
        if not made:
            compiled = make(name, *given, **named)
            compiled.__qualname__ = method.__qualname__
            made.append(compiled)
            for each in type(self).__mro__:
                if each.__dict__.get(name) is method:
                    setattr(each, name, compiled)
        return made[0](self, *values, **by_name)

    method.__name__ = name
    return method
