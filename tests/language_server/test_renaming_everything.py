"""Every name that the cases of the language declare can be renamed, but for what the data or Python has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.lengths import spread
from tripos.lsp.session import DocumentPlace, EditorSession, place_of
from tripos.lsp.symbols import RenameRefused, apply_edits, rename

CASES = Path(__file__).parents[1] / "cases"
SPECS = [
    *["arm/valid/arms", "ask/valid/everything", "compare/valid/pairs", "converse/valid/talks", "export/valid/exports"],
    *["made/valid/derived", "measure/valid/of_scenarios", "retrieve/valid/nearest", "scorer/valid/verdicts"],
]
NOT_OURS = re.compile(r"not to `\w+`: row \d+ of ")
"""Why a value of an axis may be refused: the data has it."""


@pytest.mark.parametrize("name", spread(SPECS, 4))
def test_every_declared_name_can_be_renamed(name: str) -> None:
    path = CASES / f"{name}.tripos"
    session = EditorSession("utf-32", (path.parent.as_posix(),))
    document = session.put(path.as_uri(), path.read_text("utf-8"), 1)
    [checked] = session.checked(document.path)
    assert checked.compilation.plan is not None
    names = sorted(declared(session, document.path))
    assert len(names) > 5
    for place in names:
        view = session.view(document.uri)
        assert view is not None
        try:
            edit = rename(view, document.lines.position(place.start), "quite_new")
        except RenameRefused as refused:
            assert NOT_OURS.match(str(refused)), f"{document.text[place.start : place.end]}: {refused}"
            continue
        changes = (edit.changes or {})[document.uri]
        stretches = [
            (document.lines.offset(e.range.start), document.lines.offset(e.range.end), e.new_text) for e in changes
        ]
        assert apply_edits(document.text, stretches).count("quite_new") == sum(
            "quite_new" in e.new_text for e in changes
        )


def declared(session: EditorSession, path: str) -> set[DocumentPlace]:
    """Return where names are declared, those of rows too."""
    [checked] = session.checked(path)
    index = checked.compilation.index
    rows = {use.symbol for use in index.uses.values()} - set(index.uses)
    return {place_of(span) for span in {*index.symbols, *rows} if span.source.path == path}
