"""Warnings that a project has denied count as errors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from tripos_compiler.diagnostics.model import Diagnostic

EVERY = "warnings"
"""What stands for every code."""


def deny(diagnostics: Iterable[Diagnostic], denied: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """The diagnostics, with every warning whose code is denied as an error.

    `denied` has the codes, or `warnings` for all of them, and by what each is denied, which the error notes.

    >>> warning = Diagnostic("E0309", "row 2 says what row 1 says", (), severity="warning")
    >>> [error] = deny([warning], {"E0309": "--deny"})
    >>> error.severity, error.notes
    ('error', ('denied by --deny',))
    """
    found = []
    for item in diagnostics:
        by = denied.get(item.code) or denied.get(EVERY)
        if item.severity == "warning" and by is not None:
            found.append(replace(item, severity="error", notes=(*item.notes, f"denied by {by}")))
        else:
            found.append(item)
    return tuple(found)
