"""Diagnostics: what is wrong, where, and how to mend it; warnings that a project denies count as errors."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Literal

from tripos_compiler.diagnostics.codes import CODES
from tripos_compiler.source import Span, dataclass

EVERY = "warnings"
"""What stands for every code."""


def deny(diagnostics: Iterable[Diagnostic], denied: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics, with every warning whose code is denied as an error.

    `denied` has the codes, or `warnings` for all of them, and by what each is denied, which the error notes.

    >>> warning = Diagnostic("W0309", "row 2 says what row 1 says", (), severity="warning")
    >>> [error] = deny([warning], {"W0309": "--deny"})
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


Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Label:
    """A place and what to say about it; the text may be empty."""

    span: Span
    text: str = ""


@dataclass(frozen=True)
class Edit:
    """A stretch of a spec and what to write in its place; an empty stretch is where to put something in."""

    span: Span
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """One mistake. The first label is the place; `help` is the mend, and `edits` make it where a machine can."""

    code: str
    message: str
    labels: tuple[Label, ...]
    help: str | None = None
    notes: tuple[str, ...] = ()
    severity: Severity = "error"
    edits: tuple[Edit, ...] = ()


@dataclass
class Diagnostics:
    """Collects diagnostics during a compilation; user errors are added here and never raised."""

    items: list[Diagnostic] = field(default_factory=list)
    lost_names: set[str] = field(default_factory=set)
    """The names in statements that were reported as malformed and left out: they may have declared them."""
    lost_blocks: set[Span] = field(default_factory=set)
    """The blocks, and whole files, that such statements stand in."""
    lost_files: bool = False
    """Whether a used file could not be read; it may have declared anything."""

    def error(
        self,
        code: str,
        message: str,
        *where: Span | Label,
        help: str | None = None,
        notes: Iterable[str] = (),
        edits: Iterable[Edit] = (),
        unknown: str | None = None,
        lacking: Span | None = None,
    ) -> None:
        """Add an error at `where`; the first place is the primary one.

        `unknown` is a name that nothing declares, `lacking` a block that something is not in. Neither is reported where
        a statement that was lost may be the cause.
        """
        if unknown is not None and (self.lost_files or unknown in self.lost_names):
            return
        if lacking is not None and (self.lost_files or lacking in self.lost_blocks):
            return
        self._add("error", code, message, where, help, notes, edits)

    def lose(self, block: Span, names: Iterable[str]) -> None:
        """Note that a statement of a block, which says these names, was reported and left out."""
        self.lost_blocks.add(block)
        self.lost_names.update(names)

    def warning(
        self,
        code: str,
        message: str,
        *where: Span | Label,
        help: str | None = None,
        notes: Iterable[str] = (),
        edits: Iterable[Edit] = (),
    ) -> None:
        """Add a warning at `where`; a spec with warnings compiles."""
        self._add("warning", code, message, where, help, notes, edits)

    def _add(
        self,
        severity: Severity,
        code: str,
        message: str,
        where: tuple[Span | Label, ...],
        help: str | None,
        notes: Iterable[str],
        edits: Iterable[Edit],
    ) -> None:
        if code not in CODES:
            raise KeyError(f"undocumented diagnostic code {code}")
        labels = tuple(place if isinstance(place, Label) else Label(place) for place in where)
        edits = tuple(edits) or tuple(_meant(labels, help))
        said, mend = _one_line(message), None if help is None else _one_line(help)
        self.items.append(Diagnostic(code, said, labels, mend, tuple(map(_one_line, notes)), severity, edits))

    @property
    def failed(self) -> bool:
        """True if there is any error."""
        return any(item.severity == "error" for item in self.items)

    def sorted(self) -> list[Diagnostic]:
        """Return all of them in the order of their places, each once."""

        def place(item: Diagnostic) -> tuple[str, int, str]:
            if not item.labels:
                return ("", 0, item.code)
            span = item.labels[0].span
            return (span.source.path, span.start, item.code)

        return sorted(dict.fromkeys(self.items), key=place)


BREAK = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def _one_line(text: str) -> str:
    """Return a text with the line breaks of what it quotes written as in a string; a headline is one line."""
    return BREAK.sub(r"\\n", text)


MEANT = re.compile(r"did you mean `(\w+)`\?")


def _meant(labels: tuple[Label, ...], help: str | None) -> Iterator[Edit]:
    """Yield the edit that a suggested name is, where a single word is what is wrong."""
    found = MEANT.match(help or "")
    if found is None or not labels:
        return
    span = labels[0].span
    if re.fullmatch(r"\w+", span.source.text[span.start : span.end]):
        yield Edit(span, found[1])


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the one name that `word` most likely stands for, or None.

    >>> nearest("candidat", ["judge", "candidate"])
    'candidate'
    >>> nearest("xyz", ["judge", "candidate"]) is None
    True
    """
    folded = {name.casefold(): name for name in sorted(known)}
    close = difflib.get_close_matches(word.casefold(), folded, n=1, cutoff=0.6)
    return folded[close[0]] if close else None
