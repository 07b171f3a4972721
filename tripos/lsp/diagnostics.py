"""Diagnostics for editors, each once even if several benchmarks have it, and their quick fixes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    Diagnostic,
    DiagnosticRelatedInformation,
    DiagnosticSeverity,
    DiagnosticTag,
    Position,
    PublishDiagnosticsParams,
    Range,
    TextEdit,
    WorkspaceEdit,
)

from tripos.lsp.session import MOST_CHARS, CheckedBenchmark, EditorSession, TooLong, View, text_of
from tripos_compiler.diagnostics.diagnostic import Diagnostic as Mistake, Diagnostics
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.source.text import Source
from tripos_compiler.syntax.parser import parse

UNNECESSARY = frozenset({"W0209", "W0611"})
"""Codes for unnecessary code, which editors fade."""
TOP = Range(Position(0, 0), Position(0, 0))


def quick_fixes(view: View, wanted: Range) -> list[CodeAction]:
    """Return the quick fixes in a range of a document. All are preferred, so that an editor may apply them directly."""
    session = view.session
    start, end = view.offset(wanted.start), view.offset(wanted.end)
    found: list[CodeAction] = []
    for finding in mistakes_by_file(view.checked).get(view.path, ()):
        mistake = finding.mistake
        if not mistake.edits or not mistake.labels:
            continue
        span = mistake.labels[0].span
        if span.start <= end and start <= span.end:
            found.append(_action(session, finding, [benchmark.benchmark.main for benchmark in view.checked]))
    return found


def _action(session: EditorSession, finding: SharedMistake, mains: list[str]) -> CodeAction:
    changes: dict[str, list[TextEdit]] = {}
    for edit in finding.mistake.edits:
        place = session.location(edit.span)
        changes.setdefault(place.uri, []).append(TextEdit(place.range, edit.text))
    return CodeAction(
        _title(finding.mistake),
        kind=CodeActionKind.QuickFix,
        diagnostics=[to_lsp(session, finding, mains)],
        is_preferred=True,
        edit=WorkspaceEdit(changes=changes),
    )


def _title(mistake: Mistake) -> str:
    """Return a short title for an edit. For several edits it is the help text."""
    if len(mistake.edits) > 1:
        return mistake.help or "fix it"
    edit = mistake.edits[0]
    old = text_of(edit.span)
    if not old:
        return f"insert `{edit.text.strip()}`"
    return f"change `{old}` to `{edit.text}`" if edit.text else f"remove `{old}`"


@dataclass
class SharedMistake:
    """A mistake, and the main files of the benchmarks that have it."""

    mistake: Mistake
    within: list[str] = field(default_factory=list)


def mistakes_by_file(checked: Iterable[CheckedBenchmark]) -> dict[str, list[SharedMistake]]:
    """Return the mistakes of benchmarks by file."""
    found: dict[str, dict[object, SharedMistake]] = {}
    for benchmark in checked:
        for mistake in benchmark.compilation.diagnostics:
            path = mistake.labels[0].span.source.path if mistake.labels else benchmark.benchmark.main
            same = (mistake.code, mistake.message, mistake.severity, _places(mistake))
            finding = found.setdefault(path, {}).setdefault(same, SharedMistake(mistake))
            finding.within.append(benchmark.benchmark.main)
    return {path: list(of_file.values()) for path, of_file in found.items()}


def _places(mistake: Mistake) -> tuple[tuple[str, int, int], ...]:
    return tuple((label.span.source.path, label.span.start, label.span.end) for label in mistake.labels)


def to_lsp(session: EditorSession, finding: SharedMistake, mains: Iterable[str] = ()) -> Diagnostic:
    """Return a mistake as a diagnostic of the protocol. `mains` are the benchmarks of its file; if only some of them
    have the mistake, the message names these."""
    mistake = finding.mistake
    first, labels = mistake.labels[:1], mistake.labels[1:]
    colon = localized(": ")
    lines = [localized(mistake.message) + (f" ({localized(first[0].text)})" if first and first[0].text else "")]
    lines += [f"{localized('note')}{colon}{localized(note)}" for note in mistake.notes]
    lines += [f"{localized('help')}{colon}{localized(mistake.help)}"] if mistake.help else []
    if set(finding.within) < set(mains):
        names = " and ".join(sorted(name.rpartition("/")[2] for name in finding.within))
        lines.append(f"note: as part of {names}")
    return Diagnostic(
        range=session.range(first[0].span) if first else TOP,
        message="\n".join(lines),
        severity=DiagnosticSeverity.Error if mistake.severity == "error" else DiagnosticSeverity.Warning,
        code=mistake.code,
        source="tripos",
        tags=[DiagnosticTag.Unnecessary] if mistake.code in UNNECESSARY else None,
        related_information=[
            DiagnosticRelatedInformation(session.location(label.span), label.text or "here") for label in labels
        ]
        or None,
    )


def too_long() -> Diagnostic:
    """Return the diagnostic for a spec that is too long to be compiled."""
    message = f"specs of more than {MOST_CHARS:,} characters are not checked while they are edited\n"
    return Diagnostic(TOP, message + "help: run `tripos check`", DiagnosticSeverity.Information, source="tripos")


def syntax_of(session: EditorSession, path: str, text: str) -> list[Diagnostic]:
    """Return the syntax errors of a document that is not a file, such as an old version."""
    diagnostics = Diagnostics()
    source = Source(path, text)
    parse(source, diagnostics)
    return [to_lsp(session, SharedMistake(diagnostic)) for diagnostic in diagnostics.sorted()]


class Reports:
    """The last published diagnostics of every file, so that only changes are published."""

    def __init__(self, session: EditorSession) -> None:
        self.session = session
        self._published: dict[str, list[Diagnostic]] = {}
        self._files: dict[str, set[str]] = {}
        """The files with diagnostics from each benchmark, by main file."""

    def after(self, path: str) -> list[PublishDiagnosticsParams]:
        """Return the diagnostics to publish after a change: always for the document itself, and changes for other
        files."""
        session = self.session
        document = session.documents.at(path)
        if document is not None and not session.is_spec(path):
            return [self._params(path, syntax_of(session, path, document.text))]
        try:
            benchmarks = session.checked(path)
        except TooLong:
            return [self._params(path, [too_long()])]
        touched = {path}
        for benchmark in benchmarks:
            touched |= {*benchmark.paths, *self._files.get(benchmark.benchmark.main, ())}
            self._files[benchmark.benchmark.main] = set(benchmark.paths)
        return self._show(touched, always=path)

    def everything(self) -> list[PublishDiagnosticsParams]:
        """Return changed diagnostics of all files, including files that no longer have any."""
        everywhere = {path for benchmark in self.session.all_checked() for path in benchmark.paths}
        return self._show(everywhere | {path for path in self._published if self.session.is_spec(path)})

    def _show(self, paths: set[str], always: str | None = None) -> list[PublishDiagnosticsParams]:
        checked = list(self.session.all_checked())
        by_file = mistakes_by_file(checked)
        params = []
        for path in sorted(paths):
            mains = [benchmark.benchmark.main for benchmark in checked if path in benchmark.paths]
            shown = [to_lsp(self.session, finding, mains) for finding in by_file.get(path, ())]
            if path == always or shown != self._published.get(path, []):
                params.append(self._params(path, shown))
        return params

    def _params(self, path: str, shown: list[Diagnostic]) -> PublishDiagnosticsParams:
        self._published[path] = shown
        document = self.session.documents.at(path)
        version = document.version if document is not None else None
        return PublishDiagnosticsParams(self.session.documents.uri_of(path), shown, version)
