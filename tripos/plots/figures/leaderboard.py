"""The leaderboard as a picture: every model with its interval, the best first, with the letters of its group."""

from __future__ import annotations

from tripos.plots.marks import estimates
from tripos.plots.picture import AnyChart, Picture, nothing_to_draw
from tripos.plots.sources import PictureSource
from tripos.plots.theme import Style
from tripos_compiler.diagnostics import localized
from tripos_warehouse.report import board_notes, counts_of


def leaderboard_picture(source: PictureSource) -> Picture:
    """Return the picture of a board. Raises `StoreError` S0621 where no model has a value."""
    board, words = source.board(), source.words
    named = source.title_of(board.measure)
    shown = [each for each in board.standings if each.model in source.models]
    if not shown:
        raise nothing_to_draw("no model has a value", "run the benchmark first")
    rows = tuple(
        {
            "model": each.model,
            "value": each.value,
            "low": each.low,
            "high": each.high,
            "rank": f"{each.rank}{'=' if each.tied else ''}",
            "letters": each.letters,
            "items": each.items,
            "n": each.n,
        }
        for each in shown
    )
    lower = (words["lower"],) if board.measure.lower_is_better else ()
    told = (localized(each.text, source.options.language) for each in board_notes(board) if each.caution)
    notes = (counts_of(shown, words["n"]), words["interval"], words["letters"], *lower, *told, *source.caution)

    def draws(width: float, style: Style) -> AnyChart:
        return estimates(
            rows,
            width,
            style,
            y="model",
            title=named,
            order=[str(row["model"]) for row in rows],
            beside="letters",
        )

    title = f"{source.title}: {named}"
    return Picture("leaderboard", title, rows, notes, draws)
