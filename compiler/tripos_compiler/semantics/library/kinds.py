"""What stands in the Python signatures of the library for types that Python has no word for."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, NewType, TypedDict, TypeVar

Path = NewType("Path", str)
"""A way through a tree: the names from its root to a node, joined by ` / `."""

Tree = NewType("Tree", Mapping[str, Any])
"""The branches of a tree by name, each with its own branches below it; what has none is a leaf."""


class Turn(TypedDict):
    """What one speaker says."""

    speaker: str
    text: str


Dialogue = list[Turn]

T = TypeVar("T")
"""Any one type."""

N = TypeVar("N", int, float)
"""A number; whole numbers stay whole."""

K = TypeVar("K", bound=Hashable)
"""What can be told apart and put in order: texts, numbers, true and false, choices and paths."""


@dataclass(frozen=True)
class Implied:
    """Marks a parameter that the compiler fills in where it is not given: with the values of the choice that `of` is,
    the name of the field of `of` that is a path, or that is one or holds some, or the names of those that are texts; or
    with the locale of the language at hand."""

    by: Literal["values", "path", "paths", "texts", "locale"]
    of: str = ""
