"""`tripos leaderboard`, `promote` and `history`: rankings of models, boards of published runs, and measures over runs.

Models may be tied. The history of a measure is broken at runs whose benchmark gives it another meaning.
"""

from __future__ import annotations

import csv
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal

from tripos.cli.context import Context, Outcome, Styled
from tripos.cli.tables import printed_lines
from tripos.settings.option import listed_names
from tripos.settings.options import LeaderboardParameters, PromoteParameters
from tripos.terminal import escape_controls, message, show_message, table_width, terminal_width
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.diagnostics.text_format import not_utf8
from tripos_compiler.errors import TriposError
from tripos_compiler.language.plan_diff import are_comparable
from tripos_compiler.library.signature import in_bounds
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.report.history import history_of
from tripos_warehouse.report.leaderboard import Board, board_notes, board_verdict, mean_win_rates
from tripos_warehouse.report.named_boards import Promotion, named_board, promote, promotions, stored_leaderboard
from tripos_warehouse.report.remarks import STAND_IN_NOTE
from tripos_warehouse.report.run_report import STAND_IN_PREFIXES
from tripos_warehouse.report.tables import board_table, people_board_table, rank_text, value_decimals
from tripos_warehouse.report.text import render_history
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.tables.data import to_csv
from tripos_warehouse.tables.model import Cell, Column, Table
from tripos_warehouse.tables.text import fits, fold, table_lines
from tripos_warehouse.tables.values import fixed
from tripos_warehouse.views.connect import connect

COLUMNS = ("benchmark", "measure", "model", "value", "source")
"""The columns of a CSV file of published figures."""
MARK = "published"
"""The mark of published figures in the CSV output, instead of letters."""


# Figures published by others
@dataclass(frozen=True)
class Published:
    """A figure of a model that somebody else has published, with its source."""

    benchmark: str
    measure: str
    model: str
    value: float
    source: str

    def to_json(self) -> dict[str, Any]:
        """Return the figure as JSON values, without the fields that it shares with its board."""
        return {name: value for name, value in asdict(self).items() if name not in ("benchmark", "measure")}


def read_published(paths: Sequence[str]) -> list[Published]:
    """Return the figures of CSV files with the columns `COLUMNS`. Raises `TriposError` R0202 for a file that cannot be
    read, lacks a column, or has a value that is not a number."""
    return [figure for path in paths for figure in _read(path)]


def _read(path: str) -> Iterator[Published]:
    hint = f"a CSV file has the columns {', '.join(COLUMNS)}"
    try:
        with Path(path).open(encoding="utf-8-sig", newline="") as opened:
            rows = list(csv.DictReader(opened))
    except UnicodeDecodeError as error:
        reason, hint = not_utf8(error.object, path)
        raise TriposError("R0202", f"cannot read the published figures in `{path}`: {reason}", hint) from error
    except (OSError, csv.Error) as error:
        raise TriposError("R0202", f"cannot read the published figures in `{path}`: {error}", hint) from error
    for number, row in enumerate(rows, 2):
        lacking = [name for name in COLUMNS if not row.get(name)]
        if lacking:
            raise TriposError("R0202", f"{path}:{number}: there is no `{lacking[0]}`", hint)
        try:
            value = float(row["value"])
        except ValueError:
            value = math.nan
        if not in_bounds(value):
            message = f"{path}:{number}: the value `{row['value']}` is no number"
            raise TriposError("R0202", message, "write it on the scale of the measure")
        yield Published(row["benchmark"], row["measure"], row["model"], value, row["source"])


def published_on(figures: Sequence[Published], board: Board) -> list[Published]:
    """Return the published figures for the measure of a board, the best first."""
    matching = [
        figure for figure in figures if (figure.benchmark, figure.measure) == (board.benchmark, board.measure.name)
    ]
    return sorted(matching, key=lambda figure: figure.value, reverse=not board.lower_is_better)


def sources_of(figures: Sequence[Published]) -> str:
    """Return the distinct sources of figures as text."""
    return "; ".join(dict.fromkeys(figure.source for figure in figures))


RATES = "mean win rate: the share of other models that rank below, shared ranks one half; mean over benchmarks"
LETTERS = "ranks: = is shared; models that share a letter are not distinguished (Holm, 5 %)"
MOST_UNSHOWN = 6
"""The maximum number of measures that are named, of published figures on no board."""
NOTE_SEPARATOR = " | "
"""The separator of notes in a CSV cell."""
WIDEST_TITLE, WIDEST_OF_MANY = 34, 18
"""The maximum widths in the overview: of the name of a board, and of a model in a column heading."""


# Leaderboards
def main(context: Context) -> Outcome:
    """Return the leaderboards of the named benchmarks, by default of all. Raises `TriposError` for a malformed
    option."""
    options = context.options
    measures: dict[str, list[str]] = defaultdict(list)
    for text in options.measure:
        benchmark, equals, measure = text.partition("=")
        if not (benchmark and equals and measure):
            fault = f"`{LeaderboardParameters.measure} {text}` does not say which measure of which benchmark"
            raise TriposError("R0202", fault, f"write {LeaderboardParameters.measure} BENCHMARK=MEASURE")
        measures[benchmark].append(measure)
    published = read_published(options.published)
    selection = {"benchmarks": options.benchmarks, "anyway": options.anyway, "comparable": are_comparable}
    store = context.store()
    if options.board is None:
        boards = stored_leaderboard(store, measures, **selection)
    else:
        boards = named_board(store, options.board, measures, **selection)
    context.read_in([board.plan for board in boards if board.plan is not None])
    _remark_unshown(published, boards)
    return Outcome(
        lambda: _data(boards, published),
        (line.rstrip() for line in _text(boards, terminal_width(), published)),
        {"csv": lambda: to_csv([_board_rows(boards, published)])},
        lambda: [table for board in boards for table in _tables_of(board, published)],
    )


def _remark_unshown(published: Sequence[Published], boards: Sequence[Board]) -> None:
    """Say on standard error which published figures are on none of the boards, for example because of a misspelt
    name."""
    shown = {(board.benchmark, board.measure.name) for board in boards}
    measures = {(figure.benchmark, figure.measure): None for figure in published}
    unshown = [f"{benchmark} {measure}" for benchmark, measure in measures if (benchmark, measure) not in shown]
    if unshown:
        more = f" and {len(unshown) - MOST_UNSHOWN:,} more" if len(unshown) > MOST_UNSHOWN else ""
        show_message(f"published figures on no board: {', '.join(unshown[:MOST_UNSHOWN])}{more}", stderr=True)


def _data(boards: Sequence[Board], published: Sequence[Published]) -> dict[str, Any]:
    entries = []
    for board in boards:
        figures = [figure.to_json() for figure in published_on(published, board)]
        extra = {"published": figures} if figures else {}
        entries.append({**board.to_json(), **extra, "notes": _plain_notes(board, ())})
    return {"format": "tripos.leaderboard/1", "boards": entries, "mean_win_rates": mean_win_rates(boards)}


def _text(boards: Sequence[Board], width: int, published: Sequence[Published]) -> list[str]:
    lines = _caution_lines(boards, width)
    for board in boards:
        table = board_table(board, published=_figures_of(board, published))
        lines += [*fold(_title(board), width), *table_lines(table, table_width()), ""]
        if board.by_people:
            lines += [*fold(_people_title(board), width), *table_lines(people_board_table(board), table_width()), ""]
        notes = _notes(board, published)
        lines += [part for note in notes for part in _note_lines(note, width)]
        lines += [""] if notes else []
    if len(boards) > 1:
        lines += [*_overview_lines(boards, width), ""]
    lines += fold(localized(LETTERS), width)
    return lines


def joint_leaderboard(boards: Sequence[Board], width: int) -> list[str]:
    """Return the lines of the overview of several boards, with the caution about mock models, but no single boards."""
    return [*_caution_lines(boards, width), *_overview_lines(boards, width)]


def _caution_lines(boards: Sequence[Board], width: int) -> list[str]:
    mocked = any(entry.model.startswith(STAND_IN_PREFIXES) for board in boards for entry in board.entries)
    return [*fold(localized(STAND_IN_NOTE), width), ""] if mocked else []


def _note_lines(note: str, width: int) -> list[str]:
    first, *rest = fold(escape_controls(localized(note)), width - 4)
    return [f"  {first}", *(f"    {line}" for line in rest)]


def _title(board: Board) -> str:
    direction = localized(" (lower is better)") if board.lower_is_better else ""
    return escape_controls(f"{board.benchmark} {board.version}: {board.named}{direction}")


def _people_title(board: Board) -> str:
    return escape_controls(localized(f"{board.named} of people, who are apart: {', '.join(board.people)}"))


def _figures_of(board: Board, published: Sequence[Published]) -> list[tuple[str, float]]:
    return [(each.model, each.value) for each in published_on(published, board)]


def _notes(board: Board, published: Sequence[Published]) -> list[str]:
    """Return the notes of a board for the terminal; cautions start with an exclamation mark."""
    notes = board_verdict(board)
    if figures := published_on(published, board):
        notes.append(f"published: {sources_of(figures)}; what was not run here is not ranked")
    remarks = board_notes(board)
    notes += [f"! {localized(note.text)}" if note.caution else note.text for note in remarks if note.kind != "mixed"]
    if board.left_out:
        notes.append(f"  rank them all the same: {LeaderboardParameters.anyway}")
    return notes + [f"! {localized(note.text)}" for note in remarks if note.kind == "mixed"]


def _plain_notes(board: Board, published: Sequence[Published]) -> list[str]:
    """Return the notes of a board without marks, with the caution about mock models, for formats other than text."""
    caution = [STAND_IN_NOTE] if any(entry.model.startswith(STAND_IN_PREFIXES) for entry in board.entries) else []
    return [note.removeprefix("! ").strip() for note in _notes(board, published)] + caution


def _overview_lines(boards: Sequence[Board], width: int) -> list[str]:
    """Return a table with one row for each board, and a column for each model with its value and rank.

    If the columns do not fit into the width, there are several tables. The last row has mean win rates, if models share
    several benchmarks.
    """
    models = list(dict.fromkeys(entry.model for board in boards for entry in board.entries))
    rates = mean_win_rates(boards)
    titles = (*map(_title, boards), *([localized("mean win rate")] if rates else []))
    labels = Column("board", titles, max_width=WIDEST_TITLE)
    columns = [
        Column(model, _ranks(model, boards, rates), right=True, heading=model, is_name=True, max_width=WIDEST_OF_MANY)
        for model in models
    ]
    lines = fold(localized("all boards, with ranks (= is shared):"), width)
    while columns:
        shown = next(
            (count for count in range(len(columns), 1, -1) if fits(Table((labels, *columns[:count])), width)), 1
        )
        lines += ["", *table_lines(Table((labels, *columns[:shown])), table_width())]
        columns = columns[shown:]
    if rates:
        lines += ["", *fold(localized(RATES), width)]
    return lines


def _ranks(model: str, boards: Sequence[Board], rates: Mapping[str, float]) -> tuple[str | None, ...]:
    """Return the value and rank of a model on every board, then its mean win rate if there are such rates."""
    cells: list[str | None] = []
    for board in boards:
        entry = next((board_entry for board_entry in board.entries if board_entry.model == model), None)
        decimals = value_decimals(board.measure)
        value = None if entry is None else entry.value
        cells.append(None if entry is None or value is None else f"{fixed(value, decimals)} ({rank_text(entry)})")
    return (*cells, *([f"{rates[model]:.3f}" if model in rates else None] if rates else []))


BOARD_FIELDS = ("items", "n", "total", "coverage")
BOARD_COLUMNS = (
    *("benchmark", "version", "measure", "rank", "tied", "letters", "model", "value"),
    *(*BOARD_FIELDS, "lower_is_better", "of", "notes"),
)
"""The columns of boards in CSV; next to the value are columns with the limits of its interval."""


def _board_rows(boards: Sequence[Board], published: Sequence[Published]) -> Table:
    """Return the rows of all boards as one table for CSV."""
    rows: list[dict[str, Cell]] = []
    for board in boards:
        notes = NOTE_SEPARATOR.join(_plain_notes(board, published))
        shared: dict[str, Cell] = {"lower_is_better": board.lower_is_better, "notes": notes}
        named: dict[str, Cell] = {
            "benchmark": board.benchmark,
            "version": board.version,
            "measure": board.measure.name,
            **shared,
        }
        for entry in board.entries:
            place: dict[str, Cell] = {"rank": entry.rank, "tied": entry.tied, "letters": entry.letters, "of": "models"}
            rows.append({**named, **place, "model": entry.model, "value": entry, **entry.to_json(*BOARD_FIELDS)})
        for row in board.by_people:
            people: dict[str, Cell] = {"of": f"people: {', '.join(board.people)}", "model": row.model, "value": row}
            rows.append({**named, **people, **row.to_json(*BOARD_FIELDS)})
        for figure in published_on(published, board):
            value = Estimate(figure.value, "a published figure")
            rows.append({**named, "letters": MARK, "of": MARK, "model": figure.model, "value": value})
    return Table(tuple(Column(name, tuple(row.get(name) for row in rows)) for name in BOARD_COLUMNS))


def _tables_of(board: Board, published: Sequence[Published]) -> list[Table]:
    """Return the tables of a board: that of models, with its notes and the meaning of ranks, and that of people, if
    any."""
    notes = _plain_notes(board, published)
    people = [people_board_table(board)] if board.by_people else []
    return [board_table(board, [*notes, LETTERS], _figures_of(board, published)), *people]


# Named boards of published runs
def promote_main(context: Context) -> Outcome:
    """Put a run on a board, withdraw it from the board, or list the history of promotions."""
    options = context.options
    if not options.list and (options.run is None or not options.board):
        raise TriposError(
            "R0202",
            "`tripos promote` needs a run and a board",
            f"write: tripos promote RUN {PromoteParameters.board} NAME",
        )
    if options.list:
        with connect(context.store()) as connection:
            promoted = promotions(connection, options.board)
        return Outcome(lambda: [promotion.to_json() for promotion in promoted], _promotion_lines(promoted))
    store = context.store(writes=True)
    state: Literal["withdrawn", "promoted"] = "withdrawn" if options.withdraw else "promoted"
    run, changed = promote(store, options.run, options.board, state, options.reason)
    if options.withdraw:
        line = f"run {run.run_id} is withdrawn from board {options.board}"
    elif changed:
        line = f"run {run.run_id} is on board {options.board}"
    else:
        line = f"run {run.run_id} was on board {options.board} before"
    return Outcome(
        lambda: {"board": options.board, "run_id": run.run_id, "state": state, "changed": changed},
        [message(line)],
    )


def _promotion_lines(promoted: Sequence[Promotion]) -> Iterator[str]:
    if not promoted:
        yield message("no run was promoted yet")
        return
    states = [
        localized(promotion.state) + ("" if promotion.stands else localized(", until later")) for promotion in promoted
    ]
    columns = (
        Column("board", tuple(promotion.board for promotion in promoted)),
        Column("run", tuple(promotion.run_id for promotion in promoted)),
        Column("state", tuple(states)),
        Column("when", tuple(f"{promotion.created_at:%Y-%m-%d %H:%M}" for promotion in promoted)),
        Column("reason", tuple(promotion.reason or "" for promotion in promoted)),
    )
    yield from printed_lines(*columns)


# A measure over runs
def history_main(context: Context) -> Outcome:
    """Return the values of a measure over runs, for each model."""
    options, store = context.options, context.store()
    name = options.benchmark
    if name is not None and _is_path(name):
        name = context.earlier_plan(name, context.config).benchmark.name
    history = history_of(store, options.measure, name, listed_names(options.models))
    context.read_in([history.plan])
    return Outcome(history.to_json, map(Styled, render_history(history, table_width())))


def _is_path(name: str) -> bool:
    """Return true if a name is the path of a spec or a release, and not the name of a benchmark."""
    return not name.isidentifier() or Path(name).exists()
