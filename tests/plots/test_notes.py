"""The notes of a picture are in the language of the picture, which need not be the reader's."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tripos.plots.models import leaderboard_picture
from tripos.plots.picture import PlotOptions, words_for
from tripos_compiler.diagnostics.i18n import localized
from tripos_warehouse.report.leaderboard import Board, BoardEntry, board_notes

STANDING = BoardEntry(
    *(0.5, None, 0.4, 0.6),
    model="lab/one",
    items=10,
    n=20,
    total=20,
    coverage=1.0,
    rank=1,
    tied=False,
    letters="a",
    graders=(),
)


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("reader", ["en", "zh"])
def test_a_leaderboard_cautions_in_the_language_of_the_picture(
    language: str, reader: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIPOS_LANG", reader)
    measure: Any = SimpleNamespace(name="right", corrected=False, random=())
    board = Board("quiz", "1.0.0", measure, (STANDING,), False, same_items=False)
    source: Any = SimpleNamespace(
        board=lambda: board,
        words=words_for(language),
        title="Quiz",
        title_of=lambda measure: measure.name,
        models=("lab/one",),
        options=PlotOptions(language=language),
        caution=(),
    )
    [note] = [each.text for each in board_notes(board) if each.caution]
    assert localized(note, "zh") != note
    assert localized(note, language) == leaderboard_picture(source).notes[-1]
