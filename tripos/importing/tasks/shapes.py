"""Validation of other tools' task files: one check of their shape, and one error with the position."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BeforeValidator, TypeAdapter, ValidationError

from tripos_compiler.errors import TriposError

CODE = "R0246"
T = TypeVar("T")
KINDS = {type(None): "null", bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list"}
"""Words for types of JSON values; any other value is a mapping."""
MISSING = {"missing": "it is missing", "extra_forbidden": "it has no meaning there"}


def kind_of(value: Any) -> str:
    """Return the word for the type of a JSON value.

    >>> kind_of("5"), kind_of(True), kind_of({}), kind_of(None)
    ('a text', 'true or false', 'a mapping', 'null')
    """
    return next((word for kind, word in KINDS.items() if isinstance(value, kind)), "a mapping")


def kind(wanted: str, *kinds: type) -> BeforeValidator:
    """Return a validator for these types; `wanted` describes them in messages. A boolean does not count as a number."""

    def checked(value: Any) -> Any:
        if isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool)):
            return value
        raise ValueError(f"it is {kind_of(value)}, and should be {wanted}")

    return BeforeValidator(checked)


def as_list(value: Any) -> list[Any]:
    """Return a list unchanged, null as an empty list, and any other value as a list of one."""
    return value if isinstance(value, list) else [] if value is None else [value]


AS_LIST = BeforeValidator(as_list)
"""Validator for a list that may be written as its only entry."""


def validate_shape(form: TypeAdapter[T], value: Any, path: Path, at: tuple[str | int, ...] = ()) -> T:
    """Return a value in its form; `at` are the keys that lead to it. Raises `TriposError` R0246 with the position of
    the first deviation."""
    try:
        return form.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if first["type"] == "value_error":
            text = str(first["ctx"]["error"])
        else:
            text = MISSING.get(first["type"], "it is of another kind than it should be")
        place = ".".join(str(each) for each in (*at, *first["loc"]))
        where = f"`{place}`: {text}" if place else text
        raise TriposError(CODE, f"`{path}`: {where}", "fix the file, or leave that part out") from error
