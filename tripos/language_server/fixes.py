"""Quick fixes: the edits that a diagnostic proposes."""

from __future__ import annotations

from lsprotocol.types import CodeAction, CodeActionKind, Range, TextEdit, WorkspaceEdit

from tripos.language_server.reports import Finding, findings, to_lsp
from tripos.language_server.session import Session, View
from tripos.language_server.symbols import text_of
from tripos_compiler.diagnostics import Diagnostic as Mistake


def fixes(view: View, wanted: Range) -> list[CodeAction]:
    """The mends of what is wrong in a range of a document. That of a suggestion is preferred where it is the only one
    of its place, so that an editor may make it at once."""
    session = view.session
    start, end = view.offset(wanted.start), view.offset(wanted.end)
    found: list[CodeAction] = []
    for finding in findings(view.checked).get(view.path, ()):
        mistake = finding.mistake
        if not mistake.edits or not mistake.labels:
            continue
        span = mistake.labels[0].span
        if span.start <= end and start <= span.end:
            found.append(_action(session, finding, [each.benchmark.main for each in view.checked]))
    return found


def _action(session: Session, finding: Finding, mains: list[str]) -> CodeAction:
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
    """What an edit does, in a few words; of several the help says it."""
    if len(mistake.edits) > 1:
        return mistake.help or "mend it"
    edit = mistake.edits[0]
    old = text_of(edit.span)
    if not old:
        return f"insert `{edit.text.strip()}`"
    return f"change `{old}` to `{edit.text}`" if edit.text else f"remove `{old}`"
