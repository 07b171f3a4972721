"""Every answer, at every place of whatever stands there, is an answer and not an exception."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from lsprotocol.types import Position, Range
from sample_quiz import QUIZ, SHARED, write

from tests.lengths import sized
from tripos.lsp.completion import completions
from tripos.lsp.diagnostics import Reports, quick_fixes
from tripos.lsp.hover import hover, lenses, signature_help
from tripos.lsp.session import EditorSession
from tripos.lsp.symbols import (
    RenameRefused,
    definitions,
    folding_ranges,
    formatted,
    highlights,
    prepare_rename,
    references,
    rename,
    semantic_tokens,
    symbols,
    workspace_symbols,
)

SCRAPS = [
    *'{}()[]"|,=<>.#: \n😀学', "}}", "{{ ", '"""', "item.", "reply.", "when ", "by ", "in (", "== ", "list<", "rubric(",
]  # fmt: skip
TEXTS = {"quiz.tripos": QUIZ, "shared.tripos": SHARED}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the quiz."""
    return write(tmp_path_factory.mktemp("quiz"))


@pytest.fixture(scope="module")
def session(folder: Path) -> EditorSession:
    """A session with both files open."""
    here = EditorSession("utf-16", (folder.as_posix(),), log=pytest.fail)
    for name, text in TEXTS.items():
        here.put((folder / name).as_uri(), text, 1)
    return here


@settings(max_examples=sized(30, 60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(TEXTS)), st.data())
def test_every_answer_at_every_place_is_one(
    session: EditorSession, folder: Path, name: str, data: st.DataObject
) -> None:
    text = TEXTS[name]
    start = data.draw(st.integers(0, len(text)))
    length = data.draw(st.sampled_from([0, 0, 1, 3, 40, 400]))
    scrap = data.draw(st.sampled_from(["", *SCRAPS]))
    uri = (folder / name).as_uri()
    document = session.put(uri, text[:start] + scrap + text[start + length :], 1)
    Reports(session).after(document.path)
    near = data.draw(st.sampled_from([0, len(scrap), -1, -7, 12]))
    place = document.lines.position(min(max(start + near, 0), len(document.text)))
    about(session, uri, place)
    session.put(uri, text, 1)


def about(session: EditorSession, uri: str, place: Position) -> None:
    """Ask everything at a place."""
    for ask in (hover, definitions, highlights, prepare_rename, signature_help):
        view = session.view(uri)
        assert view is not None
        ask(view, place)
    view = session.view(uri)
    assert view is not None
    references(view, place, declared=True)
    try:
        rename(view, place, "another")
    except RenameRefused as refused:
        assert str(refused)
    for whole in (symbols, folding_ranges, semantic_tokens, lenses, formatted):
        whole(view)
    quick_fixes(view, Range(Position(0, 0), Position(10_000, 0)))
    workspace_symbols(session, "a")
    completions(view, place, snippets=True)
