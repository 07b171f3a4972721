"""The page on the Python API lists the public names with their signatures, as their docstrings describe them.

`TRIPOS_UPDATE_GOLDEN=1` writes the generated part anew.
"""

from __future__ import annotations

import inspect
import os
import re
from collections.abc import Iterator

import tripos
from tests.docs.test_docs import DOCS

PAGE = DOCS / "reference/python-api.md"
BEGIN, END = "<!-- python -->\n", "<!-- end of python -->\n"
NAMES = [name for name in dir(tripos) if not name.startswith("_")]


def part() -> str:
    """Return the generated part: functions, then classes with their members."""
    values = {name: getattr(tripos, name) for name in NAMES}
    functions = [entry(name, value) for name, value in values.items() if inspect.isfunction(value)]
    classes = [entry(name, value) for name, value in values.items() if inspect.isclass(value)]
    return "\n".join(("", "## Functions\n", *functions, "## Classes\n", *classes))


def entry(name: str, value: object) -> str:
    """Return the section of one name: its signature, its docstring, and a table of the members of a class."""
    lines = [f"### tripos.{name}\n"]
    if inspect.isfunction(value):
        lines.append(f"```text\ntripos.{name}{signature_of(value)}\n```\n")
    lines.append(re.split(r"\n+>>> ", inspect.getdoc(value) or "")[0].strip() + "\n")
    rows = [f"| `{member}` | {text} |\n" for member, text in members(value)] if inspect.isclass(value) else []
    return "\n".join((*lines, *([f"| member | is |\n| --- | --- |\n{''.join(rows)}"] if rows else [])))


def members(value: type) -> Iterator[tuple[str, str]]:
    """Yield the public methods and properties of a class, each with the first paragraph of its docstring."""
    for name, member in inspect.getmembers_static(value):
        plain = member.__func__ if isinstance(member, classmethod | staticmethod) else member
        owner = next(each for each in value.__mro__ if name in vars(each))
        if name.startswith("_") or not owner.__module__.startswith("tripos"):
            continue
        is_property = hasattr(plain, "fget") or hasattr(plain, "func")
        if is_property or inspect.isfunction(plain):
            text = (inspect.getdoc(plain) or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
            yield (name if is_property else f"{name}{signature_of(plain)}".replace("|", "\\|")), text


def signature_of(function: object) -> str:
    """Return the parameters of a function, without `self` and without types."""
    signature = inspect.signature(function)  # type: ignore[arg-type]
    shown = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in signature.parameters.items()
        if name not in ("self", "cls")
    ]
    return str(signature.replace(parameters=shown, return_annotation=inspect.Signature.empty))


def test_every_public_name_is_listed_as_its_docstring_says() -> None:
    head, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
    shown, _, tail = rest.partition(END)
    if os.environ.get("TRIPOS_UPDATE_GOLDEN"):
        shown = part()
        PAGE.write_text(f"{head}{BEGIN}{shown}{END}{tail}", "utf-8")
    assert shown == part()


def test_every_public_function_and_member_has_a_docstring() -> None:
    classes = [getattr(tripos, name) for name in NAMES if inspect.isclass(getattr(tripos, name))]
    assert [(value.__name__, name) for value in classes for name, text in members(value) if not text] == []
