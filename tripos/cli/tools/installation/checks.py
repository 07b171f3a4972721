"""The result of a check, and how checks are shown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tripos_compiler.diagnostics import counted, display_width, localized, wrap

Status = Literal["ok", "warning", "problem"]
WIDTH = 80
MARGIN = " " * 11
NARROWEST = 20
"""Columns that the words of a check get however narrow a terminal is."""


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: `subject` is what it belongs to, `told` what was found, `mend` what to do about it.
    Lines of `mend` stay as they are."""

    subject: str
    name: str
    status: Status
    told: str
    mend: str = ""


def ok(subject: str, name: str, told: str) -> Finding:
    """Return a check that found nothing wrong."""
    return Finding(subject, name, "ok", told)


def warning(subject: str, name: str, told: str, mend: str) -> Finding:
    """Return a check that found what may go wrong, or could go better."""
    return Finding(subject, name, "warning", told, mend)


def problem(subject: str, name: str, told: str, mend: str) -> Finding:
    """Return a check that found why a run cannot succeed."""
    return Finding(subject, name, "problem", told, mend)


def lines_of(checks: Sequence[Finding], width: int = WIDTH) -> Iterator[tuple[Status | None, str]]:
    """Yield the checks as lines of at most `width` columns, each with the status of its check on the first line.

    >>> for _, line in lines_of([ok("store", "place", "results"), problem("store", "disk", "no space", "free some")]):
    ...     print(line)
    store
      ok       place: results
      problem  disk: no space
               → free some
    """
    subject = None
    for check in checks:
        if check.subject != subject:
            subject = check.subject
            yield None, localized(subject)
        status = localized(check.status)
        head = f"  {status}{' ' * (8 - display_width(status))} "
        told = f"{localized(check.name)}{localized(': ')}{localized(check.told)}"
        first, *more = _wrapped(head, told, MARGIN, width)
        yield check.status, first
        for line in more:
            yield None, line
        for index, line in enumerate(localized(check.mend).splitlines()):
            arrow = "→ " if index == 0 else "  "
            for each in _wrapped(f"{MARGIN}{arrow}", line, f"{MARGIN}  ", width):
                yield None, each


def verdict(checks: Sequence[Finding]) -> str:
    """Return the last line.

    >>> verdict([ok("a", "b", "c")]), verdict([problem("a", "b", "c", "d"), warning("a", "b", "c", "d")])
    ('everything is in order', '1 problem, 1 warning')
    """
    problems = sum(check.status == "problem" for check in checks)
    warnings = sum(check.status == "warning" for check in checks)
    parts = [counted(problems, "problem")] if problems else []
    parts += [counted(warnings, "warning")] if warnings else []
    return localized(", ").join(map(localized, parts)) or localized("everything is in order")


def _wrapped(head: str, text: str, margin: str, width: int) -> list[str]:
    first, *more = wrap(text, max(width - display_width(margin), NARROWEST))
    return [f"{head}{first}".rstrip(), *(f"{margin}{line}" for line in more)]
