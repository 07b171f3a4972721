"""Diagnostics as plain data, for `--format json`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tripos_compiler.diagnostics.model import Diagnostic, Label


def to_data(diagnostics: Iterable[Diagnostic]) -> list[dict[str, Any]]:
    """Each diagnostic as a JSON object; lines and columns count from 1, columns in code points, ends are exclusive."""
    return [
        {
            "code": diagnostic.code,
            "severity": diagnostic.severity,
            "message": diagnostic.message,
            "help": diagnostic.help,
            "notes": list(diagnostic.notes),
            "labels": [_label(label) for label in diagnostic.labels],
        }
        for diagnostic in diagnostics
    ]


def _label(label: Label) -> dict[str, Any]:
    source = label.span.source
    start, end = source.position(label.span.start), source.position(label.span.end)
    return {
        "path": source.path,
        "start": {"line": start[0], "column": start[1]},
        "end": {"line": end[0], "column": end[1]},
        "text": label.text,
    }
