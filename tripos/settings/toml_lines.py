"""TOML files: what one says, and where a setting stands in it, which the standard library does not tell."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from tripos_compiler.source import DataError
from tripos_runtime.datasets import check_nesting

LONGEST_NAME = 1_000
"""Characters at the beginning of a line in which the name of a setting is looked for."""
HEADER = re.compile(r"\s*(\[\[?[^\]].*\])\s*(?:#.*)?$")
ASSIGNED = re.compile(r"""\s*((?:[A-Za-z0-9_\-.\s]|"(?:[^"\\]|\\.)*"|'[^']*')+?)\s*=""")


def read_toml(path: Path) -> tuple[str, dict[str, Any]]:
    """Return the text of a file in TOML, and what it says. Raises `OSError`, `UnicodeDecodeError`, and
    `tomllib.TOMLDecodeError`, also for one whose tables lie too deep in each other."""
    text = path.read_text("utf-8-sig")
    try:
        table = tomllib.loads(text)
        check_nesting(table, "the file")
    except (RecursionError, DataError) as error:
        raise tomllib.TOMLDecodeError("it is nested too deeply") from error
    return text, table


def find_line(text: str, place: Sequence[str]) -> int | None:
    """Return the number of the line where a setting stands, from 1; that of the table around it where it is inside a
    value.

    >>> find_line('store = "x"\\n[endpoints."openai/a"]\\nbase_ur = "y"\\n', ["endpoints", "openai/a", "base_ur"])
    3
    >>> find_line("[roles]\\njudge = 5\\n", ["roles", "judge", "0"]), find_line("", ["store"])
    (2, None)
    """
    wanted = tuple(place)
    best: tuple[int, int] | None = None
    for number, path in _lines(text):
        shared = len(path)
        if path == wanted[:shared] and (best is None or shared > best[0]):
            best = (shared, number)
    return best[1] if best is not None else None


def _lines(text: str) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield every line that names a setting or a table, with the whole name."""
    table: tuple[str, ...] = ()
    for number, line in enumerate((each[:LONGEST_NAME] for each in text.splitlines()), 1):
        if header := HEADER.match(line):
            path = _path(header[1])
            if path is not None:
                table = path
                yield number, table
        elif assigned := ASSIGNED.match(line):
            path = _path(f"{assigned[1]} = 0")
            if path is not None:
                yield number, (*table, *path)


def _path(line: str) -> tuple[str, ...] | None:
    """Return the names that a header or the left side of a line stands for."""
    try:
        inner: object = tomllib.loads(line)
    except tomllib.TOMLDecodeError:
        return None
    path: list[str] = []
    while isinstance(inner, list) or (isinstance(inner, dict) and inner):
        if isinstance(inner, list):
            inner = inner[0]
            continue
        name, inner = next(iter(inner.items()))
        path.append(name)
    return tuple(path)
