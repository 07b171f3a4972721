"""Types as they are written in a spec."""

from __future__ import annotations

from tripos_compiler.plan import Type

MOST_VALUES = 6
"""A choice of more values than these is shown by its first ones."""


def shown(type_: Type | None) -> str:
    """A type as it is written in a spec; of a long choice its first values. None is any type.

    >>> from tripos_compiler.plan import ListType, OptionalType, TextType
    >>> shown(ListType(of=OptionalType(of=TextType())))
    'list<text?>'
    """
    if type_ is None:
        return "any"
    match type_.kind:
        case "list" | "set":
            return f"{type_.kind}<{shown(type_.of)}>"
        case "optional":
            return f"{shown(type_.of)}?"
        case "choice":
            return type_.axis or f"choice({', '.join(_few(type_.values))})"
        case "record":
            return "{ " + ", ".join(f"{name} {shown(of)}" for name, of in type_.fields.items()) + " }"
        case "integer" if type_.low is not None and type_.high is not None:
            return f"{type_.low}..{type_.high}"
    return type_.kind


def _few(values: tuple[str, ...]) -> tuple[str, ...]:
    return values if len(values) <= MOST_VALUES else (*values[: MOST_VALUES - 1], "…")
