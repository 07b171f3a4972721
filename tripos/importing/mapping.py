"""What the columns of a file mean: said on the command line, in a small TOML file, or by their own names."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tripos.failure import Failure

CODE = "W0502"
PARTS = ("each", "columns", "set", "values")
NAMES: Mapping[str, tuple[str, ...]] = {
    "item": ("item_id", "item"),
    "sample": ("sample_number", "sample"),
    "reply": ("reply", "response"),
    "value": ("value", "score"),
    "rationale": ("rationale", "reason"),
}
"""The columns in which a field is looked for, where nothing says in which it is and it has other names than its own."""


@dataclass(frozen=True)
class ColumnMap:
    """`columns` says in which column a field is, `set` what it is in every row, `values` what the file's words mean;
    `each` is a column that holds a list, each entry of which is a row of its own."""

    columns: Mapping[str, str] = field(default_factory=dict)
    set: Mapping[str, Any] = field(default_factory=dict)
    values: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    each: str | None = None

    def column(self, name: str, record: Mapping[str, Any]) -> str | None:
        """The column of a record in which a field is; None where it has none.

        >>> ColumnMap({"value": "Score"}).column("value", {"Score": 3}), ColumnMap().column("item", {"item_id": "a"})
        ('Score', 'item_id')
        """
        if name in self.columns:
            return self.columns[name] if self.columns[name] in record else None
        taken = self.columns.values()
        return next((each for each in NAMES.get(name, (name,)) if each in record and each not in taken), None)

    def get(self, name: str, record: Mapping[str, Any]) -> Any:
        """What a record says of a field, in the words of the benchmark; None where it says nothing. Spaces around a
        text do not count, and an empty one says nothing.

        >>> told = ColumnMap({"model": "system"}, {"round": 2}, {"model": {"A": "openai/gpt"}})
        >>> told.get("model", {"system": "A "}), told.get("round", {}), told.get("value", {"score": " "})
        ('openai/gpt', 2, None)
        """
        if name in self.set:
            return self.set[name]
        column = self.column(name, record)
        said = None if column is None or is_blank(record[column]) else record[column]
        if isinstance(said, str) and name != "reply":
            said = said.strip()
        meant = self.values.get(name)
        return said if meant is None or said is None else meant.get(str(said), said)


def is_blank(said: Any) -> bool:
    """Whether a cell says nothing: it is empty, or holds what some writers put there for an empty one.

    >>> [is_blank(said) for said in (None, " ", float("nan"), 0, "0")]
    [True, True, True, False, False]
    """
    match said:
        case None:
            return True
        case float():
            return math.isnan(said)
        case str():
            return not said.strip()
    return False


def read_mapping(path: str | None, columns: Sequence[str], fixed: Mapping[str, Any], each: str | None) -> ColumnMap:
    """The mapping of a TOML file, if any, with what the command line says put over it: `columns` are written
    `FIELD=COLUMN`, `fixed` are fields that are the same in every row. Raises `Failure` W0502."""
    told = _file(path) if path is not None else {}
    over = dict(_pair(text) for text in columns)
    own = {str(name): str(column) for name, column in told.get("columns", {}).items()}
    fixed = {**told.get("set", {}), **fixed}
    both = sorted({**own, **over}.keys() & fixed.keys())
    if both:
        raise Failure(
            CODE, f"`{both[0]}` is said to be in a column, and to be the same in every row", "say one of them"
        )
    return ColumnMap({**own, **over}, fixed, told.get("values", {}), each or told.get("each"))


def read_fixed(texts: Sequence[str]) -> dict[str, str]:
    """What `--set FIELD=VALUE` says. Raises `Failure` W0502."""
    return dict(_pair(text, "--set FIELD=VALUE") for text in texts)


def _pair(text: str, form: str = "--column FIELD=COLUMN") -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name.strip() or not value:
        raise Failure(CODE, f"`{text}` does not say which is which", f"write `{form}`")
    return name.strip(), value


def _file(path: str) -> dict[str, Any]:
    try:
        told = tomllib.loads(Path(path).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Failure(CODE, f"cannot read the mapping `{path}`: {reason}", "it is a TOML file in UTF-8") from error
    for name, value in told.items():
        if name not in PARTS:
            raise Failure(CODE, f"a mapping has no part `{name}`", f"its parts are {', '.join(PARTS)}")
        if isinstance(value, dict) == (name == "each"):
            raise Failure(CODE, f"`{name}` in `{path}` is not of the form that it should have", _FORMS[name])
    for name, words in told.get("values", {}).items():
        if not isinstance(words, dict):
            raise Failure(CODE, f"`values.{name}` in `{path}` is no table", _FORMS["values"])
    return told


_FORMS = {
    "each": 'write `each = "COLUMN"`',
    "columns": 'write it as a table: `[columns]`, then lines such as `reply = "Answer"`',
    "set": "write it as a table: `[set]`, then lines such as `round = 2`",
    "values": 'write it as a table for each field: `[values.model]`, then lines such as `"A" = "openai/gpt-4o"`',
}
