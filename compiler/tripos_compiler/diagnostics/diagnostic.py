"""Diagnostics: errors and warnings with their places and fixes, denied warnings, and comments that silence warnings.

`# allow W0309: reason` silences warnings on its line. A malformed or ineffective comment is itself a warning.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from typing import Literal

from tripos_compiler.diagnostics.codes import CODES
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.text import PIECE, CopiedText, Source, Span, find_comments

ALL_WARNINGS = "warnings"
"""Stands for all codes."""


def deny(diagnostics: Iterable[Diagnostic], denied: Mapping[str, str]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics with every denied warning turned into an error.

    `denied` maps codes, or `warnings` for all of them, to the source of the denial, which becomes a note of the error.

    >>> warning = Diagnostic("W0309", "row 2 says what row 1 says", (), severity="warning")
    >>> [error] = deny([warning], {"W0309": "--deny"})
    >>> error.severity, error.notes
    ('error', ('denied by --deny',))
    """
    raised = []
    for item in diagnostics:
        by = denied.get(item.code) or denied.get(ALL_WARNINGS)
        if item.severity == "warning" and by is not None:
            raised.append(replace(item, severity="error", notes=(*item.notes, f"denied by {by}")))
        else:
            raised.append(item)
    return tuple(raised)


Severity = Literal["error", "warning"]


@dataclass(frozen=True)
class Label:
    """Place with a text, which may be empty."""

    span: Span
    text: str = ""


@dataclass(frozen=True)
class Edit:
    """Range of a spec and its replacement; an empty range is an insertion point."""

    span: Span
    text: str


@dataclass(frozen=True)
class Diagnostic:
    """Error or warning. The first label is the primary place, `help` is the fix, and `edits` apply it automatically if
    possible."""

    code: str
    message: str
    labels: tuple[Label, ...]
    help: str | None = None
    notes: tuple[str, ...] = ()
    severity: Severity = "error"
    edits: tuple[Edit, ...] = ()
    fault: str | None = field(default=None, compare=False)
    """The fault outside the spec, such as an empty file, that it is about. A fault is reported once."""


@dataclass
class Diagnostics:
    """Collector of the diagnostics of a compilation. User errors are added here and never raised."""

    items: list[Diagnostic] = field(default_factory=list)
    skipped_names: set[str] = field(default_factory=set)
    """Names in malformed statements that were skipped; the statements may have declared them."""
    skipped_blocks: set[Span] = field(default_factory=set)
    """Blocks, and whole files, that contain skipped statements."""
    skipped_files: bool = False
    """Whether a used file could not be read; it may have declared anything."""
    failures: int = 0
    """Number of failures so far: each error that leaves nothing to use, and each mistake that an earlier error explains
    and that is not shown."""

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
        recovered: bool = False,
        fault: str | None = None,
    ) -> None:
        """Add an error at `where`; the first place is the primary one.

        `unknown` is an undeclared name, and `lacking` a block in which something is missing. Neither is shown if a
        skipped statement may be the cause; it is a failure all the same. An error that is `recovered` from leaves a
        part that can be used, so it is no failure. Of the errors about the same `fault`, only the first in the spec is
        shown.
        """
        self.failures += not recovered
        if unknown is not None and (self.skipped_files or unknown in self.skipped_names):
            return
        if lacking is not None and (self.skipped_files or lacking in self.skipped_blocks):
            return
        self._add("error", code, message, where, help, notes, edits, fault)

    def follows(self) -> None:
        """Count a failure that an earlier error explains, such as the use of a name with a wrong declaration."""
        self.failures += 1

    def attempt(self) -> Attempt:
        """Return the attempt that starts here."""
        return Attempt(self, len(self.items), self.failures)

    @property
    def size(self) -> tuple[int, ...]:
        """The numbers of everything recorded so far: it changes with each message and each loss."""
        return len(self.items), self.failures, len(self.skipped_names), len(self.skipped_blocks)

    def extend(self, items: Iterable[Diagnostic], failures: int) -> None:
        """Add the diagnostics of another collector with its number of failures."""
        self.items.extend(items)
        self.failures += failures

    def lose(self, block: Span, names: Iterable[str]) -> None:
        """Record that a statement of a block, with these names, was reported and skipped."""
        self.skipped_blocks.add(block)
        self.skipped_names.update(names)

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
        fault: str | None = None,
    ) -> None:
        if code not in CODES:
            raise KeyError(f"undocumented diagnostic code {code}")
        labels = tuple(place if isinstance(place, Label) else Label(place) for place in where)
        edits = tuple(edits) or tuple(_suggested_edits(labels, help))
        text, hint = _one_line(message), None if help is None else _one_line(help)
        self.items.append(Diagnostic(code, text, labels, hint, tuple(map(_one_line, notes)), severity, edits, fault))

    @property
    def failed(self) -> bool:
        """True if there is any error."""
        return any(item.severity == "error" for item in self.items)

    def sorted(self) -> list[Diagnostic]:
        """Return the distinct diagnostics in the order of their places, of each fault the first.

        What is wrong in several copies of a text is reported once, in the text that the author wrote. If it is wrong in
        one copy only, a label at the place that made the copy says so.
        """

        def place(item: Diagnostic) -> tuple[str, int, str]:
            if not item.labels:
                return ("", 0, item.code)
            span = item.labels[0].span
            return (span.source.path, span.start, item.code)

        distinct: list[Diagnostic] = []
        faults: set[str] = set()
        for item in sorted(dict.fromkeys(_as_written(self.items)), key=place):
            if item.fault not in faults:
                distinct.append(item)
                faults |= {item.fault} if item.fault is not None else set()
        return distinct


def _as_written(items: Iterable[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield diagnostics with the places that the author wrote, and without the repetitions by copies of a text."""
    groups: dict[object, list[Diagnostic]] = {}
    for number, item in enumerate(items):
        span = item.labels[0].span if item.labels else None
        key: object = number if span is None else (item.severity, item.code, span.written)
        groups.setdefault(key, []).append(item)
    for group in groups.values():
        own = [item for item in group if _reason(item) is None]
        alone = len({_reason(item) for item in group}) == 1
        for item in own or group[:1]:
            labels = tuple(Label(label.span.written, label.text) for label in item.labels)
            reasons = () if own or not alone else tuple(_reasons(item.labels[0].span))
            yield replace(
                item,
                labels=(*labels, *reasons),
                edits=tuple(Edit(edit.span.written, edit.text) for edit in item.edits),
            )


def _reason(item: Diagnostic) -> CopiedText | None:
    anchor = item.labels[0].span.anchor if item.labels else None
    return anchor if isinstance(anchor, CopiedText) else None


def _reasons(span: Span) -> Iterator[Label]:
    """Yield the places that made a copy, the last one first."""
    anchor = span.anchor
    while isinstance(anchor, CopiedText):
        yield Label(anchor.reason.written, anchor.note)
        anchor = anchor.of


@dataclass(frozen=True)
class Attempt:
    """A stretch of a compilation that starts with `Diagnostics.attempt` and ends where it is asked about."""

    diagnostics: Diagnostics
    start: int
    """Number of diagnostics before it."""
    failures: int
    """Number of failures before it."""

    @property
    def failed(self) -> bool:
        """True if anything in it was wrong, also if an earlier error explains it."""
        return self.diagnostics.failures > self.failures

    @property
    def reported(self) -> list[Diagnostic]:
        """The diagnostics that it added."""
        return self.diagnostics.items[self.start :]

    def discard(self, *codes: str) -> None:
        """Remove its diagnostics with these codes; without codes, all of them. It stays failed."""
        kept = [item for item in self.reported if codes and item.code not in codes]
        self.diagnostics.items[self.start :] = kept

    def withdraw(self) -> None:
        """Remove its diagnostics and its failures, as if nothing had been tried."""
        self.discard()
        self.diagnostics.failures = self.failures


BREAK = re.compile(r"\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")


def _one_line(text: str) -> str:
    """Return a text with the line breaks in its quotations escaped; a headline is one line."""
    return BREAK.sub(r"\\n", text)


SUGGESTION = re.compile(r"did you mean `(\w+)`\?")


def _suggested_edits(labels: tuple[Label, ...], help: str | None) -> Iterator[Edit]:
    """Yield the edit that replaces a single wrong word by the suggested name."""
    match = SUGGESTION.match(help or "")
    if match is None or not labels:
        return
    span = labels[0].span
    if re.fullmatch(r"\w+", span.source.text[span.start : span.end]):
        yield Edit(span, match[1])


MIN_SIMILARITY = 0.7
"""Least share of common characters (`difflib.SequenceMatcher.ratio`) of a misspelt name and a known one. Below, names
with other meanings are suggested, such as `export` for `import`."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known name that is spelt most like `word`, or None if no name is similar enough.

    >>> nearest("candidat", ["judge", "candidate"])
    'candidate'
    >>> nearest("Q", ["a", "q"]), nearest("di", ["en", "id"])
    ('q', 'id')
    >>> nearest("xyz", ["judge", "candidate"]) is None
    True
    """
    folded, written = {name.casefold(): name for name in sorted(known)}, word.casefold()
    close = difflib.get_close_matches(written, folded, n=1, cutoff=MIN_SIMILARITY)
    if not close:  # in a short word, one mistake is a large share
        close = [name for name in folded if _is_transposed(written, name)]
    if not close:
        close = [name for name in folded if _has_one_wrong_letter(written, name)]
        close = close if len(close) == 1 else []
    return folded[close[0]] if close else None


def _is_transposed(word: str, name: str) -> bool:
    """Return true if two neighbours are exchanged.

    >>> _is_transposed("tow", "two"), _is_transposed("di", "id"), _is_transposed("str", "set")
    (True, True, False)
    """
    wrong = _wrong_letters(word, name)
    return len(wrong) == 2 and wrong[1] == wrong[0] + 1 and sorted(word) == sorted(name)


def _has_one_wrong_letter(word: str, name: str) -> bool:
    """Return true if one letter of three is another one. In a shorter word, that is at least half of it.

    >>> _has_one_wrong_letter("rum", "run"), _has_one_wrong_letter("ad", "id"), _has_one_wrong_letter("a", "q")
    (True, False, False)
    """
    return len(word) == 3 and len(_wrong_letters(word, name)) == 1


def _wrong_letters(word: str, name: str) -> list[int]:
    """Return the places at which two words of one length differ; none for words of several lengths."""
    if len(word) != len(name):
        return []
    return [place for place, (one, two) in enumerate(zip(word, name, strict=True)) if one != two]


def suggest(word: str, known: Iterable[str], otherwise: str) -> str:
    """Return the hint for a name that is not known: the `nearest` one, or `otherwise`.

    >>> suggest("candidat", ["judge", "candidate"], "there is judge")
    'did you mean `candidate`?'
    """
    close = nearest(word, known)
    return f"did you mean `{close}`?" if close else otherwise


# Comments that silence warnings

ALLOW = re.compile(
    r"#\s*allow\s+(?P<codes>[ERSW]\d\w*(?:\s*[,，、]\s*\w+)*)\s*(?:[:：](?P<reason>.*)|(?P<unmarked>\S.*))?",
    re.IGNORECASE,
)
"""Comment that begins with `allow` and something like a code; any other comment is ignored."""
OWN = {"W0110", "W0111"}
"""Warnings about such comments. They cannot be silenced; otherwise an ineffective comment would stay hidden."""


@dataclass(frozen=True)
class Silenced:
    """Warning silenced by a comment. `reason` is the reason in the comment; an empty one causes a warning."""

    diagnostic: Diagnostic
    reason: str
    comment: Span


@dataclass(frozen=True)
class _Allow:
    """Code in a comment, and the line to which the comment applies."""

    code: str
    span: Span
    line: int
    reason: str
    comment: Span
    colon: Span | None
    """Position of a missing colon before a reason."""


def split_silenced(
    diagnostics: Iterable[Diagnostic], sources: Iterable[Source]
) -> tuple[tuple[Diagnostic, ...], tuple[Silenced, ...]]:
    """Return the diagnostics to show and those that a comment silences.

    A comment silences the warnings of its codes that start on its line. A comment alone on its line applies to the next
    line that is not a comment. A triple-quoted text counts as one line, since it cannot contain a comment. Warnings are
    added for comments that silence nothing, name no code or give no reason. If there is any error, ineffective comments
    are not reported, because the error may be the cause.
    """
    reported = list(diagnostics)
    allows = [allow for source in sources for allow in _allows(source)]
    if not allows:
        return tuple(reported), ()
    silenced: list[Silenced] = []
    used: set[_Allow] = set()
    shown = Diagnostics()
    for item in reported:
        allow = next((comment for comment in allows if _silences(comment, item)), None)
        if allow is None:
            shown.items.append(item)
        else:
            used.add(allow)
            silenced.append(Silenced(item, allow.reason, allow.comment))
    unexplained = {allow.comment: allow for allow in allows if allow in used and not allow.reason}
    for allow in unexplained.values():
        _without_reason(shown, allow)
    for allow in allows:
        if allow not in used:
            _without_effect(shown, allow, reported, silenced)
    return tuple(shown.sorted()), tuple(silenced)


def _allows(source: Source) -> Iterator[_Allow]:
    comments = [(comment, source.position(comment.span.start)[0]) for comment in find_comments(source)]
    alone = {line for comment, line in comments if comment.alone}
    for comment, line in comments:
        words = ALLOW.match(comment.text)
        if words is None:
            continue
        about = line
        while about in alone:
            about += 1
        begin = comment.span.start
        behind = begin + words.end("codes")
        for code in re.finditer(r"\w+", words["codes"]):
            start = begin + words.start("codes") + code.start()
            yield _Allow(
                code=code[0].upper(),
                span=Span(source, start, start + len(code[0])),
                line=about,
                reason=(words["reason"] or "").strip(),
                comment=Span(source, begin, begin + len(comment.text)),
                colon=Span(source, behind, behind) if words["unmarked"] else None,
            )


def _silences(allow: _Allow, item: Diagnostic) -> bool:
    return item.severity == "warning" and allow.code == item.code and item.code not in OWN and _covers(allow, item)


def _covers(allow: _Allow, item: Diagnostic) -> bool:
    """Return true if a diagnostic starts on the line to which a comment applies."""
    if not item.labels or item.labels[0].span.source is not allow.span.source:
        return False
    span = item.labels[0].span
    first, last = _line(span.source, span.source.position(span.start)[0])
    return first <= allow.line <= last


def _line(source: Source, number: int) -> tuple[int, int]:
    """Return the first and the last line of the logical line that contains a line; triple-quoted texts do not break
    it."""
    texts = [piece.span() for piece in PIECE.finditer(source.text) if piece[0].startswith('"""')]
    lines = [(source.position(start)[0], source.position(end)[0]) for start, end in texts]
    first = last = number
    for start, end in (*lines, *reversed(lines)):
        if start <= last and end >= first:
            first, last = min(first, start), max(last, end)
    return first, last


def _without_reason(shown: Diagnostics, allow: _Allow) -> None:
    message = "this `allow` gives no reason"
    if allow.colon is not None:
        help_ = "put a colon between the codes and the reason"
        shown.warning("W0111", message, allow.comment, help=help_, edits=[Edit(allow.colon, ":")])
    else:
        shown.warning("W0111", message, allow.comment, help=f"say why: `# allow {allow.code}: …`")


def _without_effect(shown: Diagnostics, allow: _Allow, reported: list[Diagnostic], silenced: list[Silenced]) -> None:
    code, diagnostics = (
        f"`{allow.code}`",
        [item for item in reported if item.code == allow.code and _covers(allow, item)],
    )
    if allow.code not in CODES:
        close = nearest(allow.code, CODES)
        help_ = f"did you mean `{close}`?" if close else "`tripos explain` lists all codes"
        edits = [Edit(allow.span, close)] if close else []
        shown.warning("W0110", f"there is no code {code}", allow.span, help=help_, edits=edits)
    elif allow.code in OWN:
        help_ = "fix the comment that it is about, or remove it"
        shown.warning("W0110", f"{code} cannot be silenced", allow.span, help=help_)
    elif any(item.severity == "error" for item in diagnostics):
        help_ = "fix it: only warnings can be silenced"
        shown.warning("W0110", f"{code} is an error here, and stays one", allow.span, help=help_)
    elif any(other.diagnostic.code == allow.code and _covers(allow, other.diagnostic) for other in silenced):
        shown.warning(
            "W0110", f"{code} is silenced here already", allow.span, help="one comment is enough: remove this"
        )
    elif not any(item.severity == "error" for item in reported):
        places = [item.labels[0] for item in shown.items if item.code == allow.code and item.labels]
        near = [Label(place.span, "here it is") for place in places if place.span.source is allow.span.source][:1]
        help_ = "remove it, or put it at the end of the line with the warning, or alone on the line above"
        shown.warning("W0110", f"there is no warning {code} here to silence", allow.span, *near, help=help_)
