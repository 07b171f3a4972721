"""The result of a check, and how checks are shown."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Status = Literal["ok", "warning", "problem"]
WIDTH = 80
MARGIN = " " * 11


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


def lines_of(checks: Sequence[Finding]) -> Iterator[tuple[Status | None, str]]:
    """The checks as lines of at most 80 columns, each with the status of its check on the first line.

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
            yield None, subject
        first, *more = _wrapped(f"  {check.status:8} ", f"{check.name}: {check.told}", MARGIN)
        yield check.status, first
        for line in more:
            yield None, line
        for index, line in enumerate(check.mend.splitlines()):
            arrow = "→ " if index == 0 else "  "
            for each in _wrapped(f"{MARGIN}{arrow}", line, f"{MARGIN}  "):
                yield None, each


def verdict(checks: Sequence[Finding]) -> str:
    """Return the last line.

    >>> verdict([ok("a", "b", "c")]), verdict([problem("a", "b", "c", "d"), warning("a", "b", "c", "d")])
    ('everything is in order', '1 problem, 1 warning')
    """
    problems = sum(check.status == "problem" for check in checks)
    warnings = sum(check.status == "warning" for check in checks)
    parts = [
        f"{number} {word}{'s' if number > 1 else ''}"
        for number, word in ((problems, "problem"), (warnings, "warning"))
        if number
    ]
    return ", ".join(parts) or "everything is in order"


def _wrapped(head: str, text: str, margin: str) -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=head, subsequent_indent=margin, break_long_words=False, break_on_hyphens=False
    ) or [head.rstrip()]
