"""Paths in a spec: the files that a string may name, and the one that it does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from lsprotocol.types import CompletionItemKind as Kind

from tripos.language_server.cursor import Cursor
from tripos.language_server.documents import SUFFIX
from tripos.language_server.names import Proposal
from tripos.language_server.session import View
from tripos_compiler.constructs.signature import Statement
from tripos_compiler.program import beside
from tripos_compiler.syntax.tree import Text

DATA = (".jsonl", ".json", ".csv", ".parquet", ".arrow", ".feather", ".yaml", ".yml", ".py")
MOST = 500
"""So many files of a folder are proposed."""


def paths_at(view: View, cursor: Cursor) -> tuple[int, Iterator[Proposal]]:
    """The files that may be named in a string, and where the last part of their path begins."""
    assert cursor.string is not None
    typed = view.text[cursor.string : cursor.offset]
    begin = cursor.string + typed.rfind("/") + 1
    words = [token.text for token in cursor.before]
    if not view.session.is_spec(view.path) or "\n" in typed:
        return begin, iter(())
    folder = typed.rpartition("/")[0]
    if words[:1] == ["use"]:
        return begin, _entries([Path(view.path).parent], folder, (SUFFIX,))
    if words[-2:-1] == ["from"] and cursor.keyword in ("dataset", "tree", "function", "scorer"):
        data = [folder for each in view.checked for folder in each.benchmark.data_folders]
        return begin, _entries([Path(view.path).parent, *data], folder, DATA)
    return begin, iter(())


def _entries(roots: list[Path], inside: str, suffixes: tuple[str, ...]) -> Iterator[Proposal]:
    for root in dict.fromkeys(roots):
        try:
            with os.scandir(root / inside) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except (OSError, ValueError):
            continue
        for entry in found[:MOST]:
            if entry.name.startswith("."):
                continue
            if entry.is_dir():
                yield Proposal(f"{entry.name}/", Kind.Folder)
            elif entry.name.endswith(suffixes):
                yield Proposal(entry.name, Kind.File)


def path_named(view: View, offset: int) -> str | None:
    """The file that a string at a place names: a used spec, a Python file or a data file. None where there is none."""
    for statement in reversed(view.outline.around(offset)):
        text = statement.values.get("path")
        if isinstance(text, Text) and text.span.start <= offset <= text.span.end:
            return _file(view, statement, text.value)
    return None


def _file(view: View, statement: Statement, written: str) -> str | None:
    name = written.partition(":")[0] if ".py" in written else written
    if statement.construct in ("use", "function", "python_scorer"):
        used = beside(view.path, name)
        return used if view.session.documents.find_text(used) is not None else None
    folders = [Path(view.path).parent, *(folder for each in view.checked for folder in each.benchmark.data_folders)]
    return next((path.as_posix() for folder in folders if (path := folder / written).is_file()), None)
