"""The shape that a task of another program must have: one check of what was read, and one error that says where."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from pydantic import BeforeValidator, TypeAdapter, ValidationError

from tripos.errors import Failure

CODE = "R0246"
T = TypeVar("T")
KINDS = {type(None): "null", bool: "true or false", int: "a number", float: "a number", str: "a text", list: "a list"}
"""The words for values of JSON; any other is a mapping."""
MISSING = {"missing": "it is missing", "extra_forbidden": "it has no meaning there"}


def kind_of(value: Any) -> str:
    """Return the word for a value of JSON.

    >>> kind_of("5"), kind_of(True), kind_of({}), kind_of(None)
    ('a text', 'true or false', 'a mapping', 'null')
    """
    return next((word for kind, word in KINDS.items() if isinstance(value, kind)), "a mapping")


def kind(wanted: str, *kinds: type) -> BeforeValidator:
    """Return the check that a value has one of these types; `wanted` says so to a person. A truth is no number."""

    def checked(value: Any) -> Any:
        if isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool)):
            return value
        raise ValueError(f"it is {kind_of(value)}, and should be {wanted}")

    return BeforeValidator(checked)


def as_list(value: Any) -> list[Any]:
    """Return a list as it is, any other value as a list of one, and null as an empty one."""
    return value if isinstance(value, list) else [] if value is None else [value]


SEVERAL = BeforeValidator(as_list)
"""The form of a list that may also be written as its only entry."""


def shaped(form: TypeAdapter[T], value: Any, path: Path, at: tuple[str | int, ...] = ()) -> T:
    """Return a value in its form; `at` are the keys under which it stands. Raises `Failure` R0246 that says where in
    the file it has another."""
    try:
        return form.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if first["type"] == "value_error":
            said = str(first["ctx"]["error"])
        else:
            said = MISSING.get(first["type"], "it is of another kind than it should be")
        place = ".".join(str(each) for each in (*at, *first["loc"]))
        where = f"`{place}`: {said}" if place else said
        raise Failure(CODE, f"`{path}`: {where}", "mend the file, or leave that part out") from error
