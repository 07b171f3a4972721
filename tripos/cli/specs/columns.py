"""The columns of a data file as the fields of a data set: their names, and the narrowest types that hold their rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from tripos.ui import Failure
from tripos_compiler.source import DataError

CODE = "R0209"
READ = 1_000
"""Rows that tell the types; the compiler checks the rest."""
NAME = re.compile(r"[^\W\d]\w*")
ANSWERS = frozenset({"answer", "answers", "solution", "gold", "reference", "label", "target", "key", "correct", "答案"})
"""Names of columns that hold the right answer, as a rule."""
WHOLE = re.compile(r"-?(0|[1-9]\d{0,17})")
DECIMAL = re.compile(r"-?(0|[1-9]\d*)\.\d+")
WORDS = frozenset({"true", "false"})


def dataset_text(name: str, file: Path, shown: str, axes: Iterable[str] = ()) -> tuple[str, list[str]]:
    """Return a data set with the columns of a file, and the fields that it keeps secret. A column with the name of an
    axis has its type. Raises `Failure`."""
    from tripos_runtime.datasets import rows_in

    try:
        rows = list(islice(rows_in(file, str(file)), READ))
    except DataError as error:
        raise Failure(CODE, error.message, error.help) from error
    columns: dict[str, None] = {}
    for row in rows:
        columns.update(dict.fromkeys(row))
    if not columns:
        raise Failure(CODE, f"`{file}` has no rows", "give a file with at least one row")
    lines: list[str] = []
    secrets: list[str] = []
    for column in columns:
        field = re.sub(r"\W+", "_", column.strip()).strip("_")
        if not NAME.fullmatch(field):
            field = f"column_{len(lines) + 1}"
        if field in axes:
            lines.append(f"  {field}" + ("" if field == column else f' from "{column}"'))
            continue
        type_ = type_of([row.get(column) for row in rows])
        if type_ is None:
            raise Failure(
                CODE, f"the values of `{column}` in `{file}` are of no one type", "declare the data set by hand"
            )
        secret = column.strip().casefold() in ANSWERS
        secrets += [field] if secret else []
        source = "" if field == column else f' from "{column}"'
        lines.append(f"  {field} {type_}{' secret' if secret else ''}{source}")
    return "\n".join([f'dataset {name} from "{shown}" {{', *lines, "}"]) + "\n", secrets


def type_of(values: Iterable[Any]) -> str | None:
    """Return the type of values, with `?` where some are missing; None where no one type holds them.

    >>> type_of(["1", "12"]), type_of(["007", "1"]), type_of([1, 2.5]), type_of([["a"], None]), type_of([{"a": 1}])
    ('integer', 'text', 'number', 'list<text>?', '{ a integer }')
    >>> type_of(["a", 1])
    """
    given = list(values)
    held = [each for each in given if each is not None and each != ""]
    if not held:
        return "text?"
    found = _type(held)
    if found is None or len(held) == len(given):
        return found
    return None if found.startswith("{") else f"{found}?"  # no record may be missing


def _type(held: list[Any]) -> str | None:
    if all(isinstance(each, bool) for each in held):
        return "bool"
    if all(isinstance(each, str) for each in held):
        return _type_of_texts(held)
    if all(isinstance(each, int | float) and not isinstance(each, bool) for each in held):
        return "integer" if all(isinstance(each, int) for each in held) else "number"
    if all(isinstance(each, list) for each in held):
        items = [item for each in held for item in each]
        inner = "text" if all(isinstance(item, str) for item in items) else type_of(items)
        return inner and f"list<{inner}>"
    if all(isinstance(each, Mapping) for each in held):
        names = dict.fromkeys(name for each in held for name in each)
        parts = {name: type_of([each.get(name) for each in held]) for name in names}
        if names and all(parts.values()) and all(NAME.fullmatch(name) for name in names):
            return f"{{ {', '.join(f'{name} {part}' for name, part in parts.items())} }}"
    return None


def _type_of_texts(held: list[str]) -> str:
    """Return the type of cells of CSV, where all is text. What has a zero in front is a text: its zeros count."""
    if all(WHOLE.fullmatch(each) for each in held):
        return "integer"
    if all(WHOLE.fullmatch(each) or DECIMAL.fullmatch(each) for each in held):
        return "number"
    return "bool" if {each.casefold() for each in held} <= WORDS else "text"
