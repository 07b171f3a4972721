"""Diagnostics as plain data, for `--format json`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tripos_compiler.diagnostics.model import Diagnostic
from tripos_compiler.diagnostics.silence import Silenced
from tripos_compiler.source import Span


def to_data(diagnostics: Iterable[Diagnostic], silenced: Iterable[Silenced] = ()) -> list[dict[str, Any]]:
    """Each diagnostic as a JSON object, then those that are silenced, with the reason, which may be empty.

    Lines and columns count from 1, columns in code points, ends are exclusive.
    """
    return [
        *(_object(diagnostic) | {"silenced": None} for diagnostic in diagnostics),
        *(_object(each.diagnostic) | {"silenced": {"reason": each.reason}} for each in silenced),
    ]


def _object(diagnostic: Diagnostic) -> dict[str, Any]:
    return {
        "code": diagnostic.code,
        "severity": diagnostic.severity,
        "message": diagnostic.message,
        "help": diagnostic.help,
        "notes": list(diagnostic.notes),
        "labels": [_place(label.span) | {"text": label.text} for label in diagnostic.labels],
        "edits": [_place(edit.span) | {"text": edit.text} for edit in diagnostic.edits],
    }


def _place(span: Span) -> dict[str, Any]:
    start, end = span.source.position(span.start), span.source.position(span.end)
    return {
        "path": span.source.path,
        "start": {"line": start[0], "column": start[1]},
        "end": {"line": end[0], "column": end[1]},
    }
