"""Notes on a board: what is to be known beside its ranks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tripos_compiler.diagnostics import percent
from tripos_warehouse.formats import decimals_of
from tripos_warehouse.measures import OF_CORRECTED, STOPPED_EARLY, TOO_FAR_APART, MeasureRow
from tripos_warehouse.report.boards.ranking import Board, Standing
from tripos_warehouse.report.remarks import unread_sentence


class BoardNote(NamedTuple):
    """A remark on a board; `caution` where it makes a figure mean less."""

    kind: str
    text: str
    caution: bool = True


APART = "and those are not told apart"
WHOLE_COVERAGE = 0.995
"""With less, so many scores lack a value that a figure does not stand for all of them."""


def is_short(each: Standing | MeasureRow) -> bool:
    """Return true if so many scores lack a value that the figure does not stand for all of them."""
    return each.total > 0 and each.n / each.total < WHOLE_COVERAGE


def board_notes(board: Board) -> list[BoardNote]:
    """Return what is to be known of a board beside its ranks."""
    notes = [] if board.standings else [BoardNote("empty", "no model has a value", caution=False)]
    if board.measure.corrected:
        for each in board.standings:
            judged, low, high = (each.beside.get(name) for name in OF_CORRECTED[:3])
            if judged is not None:
                ends = "" if low is None or high is None else f" ({low:.4g} – {high:.4g})"
                text = (
                    f"{each.model}: the judge alone has {judged:.4g}{ends}, an interval of the judge and not of people"
                )
                notes.append(BoardNote("judged", text, caution=False))
    if board.measure.random:
        those = " * ".join(board.measure.random)
        text = f"intervals and groups take {those} as a sample: they speak of others like these too"
        notes.append(BoardNote("random", text, caution=False))
    for model, (counted, every) in board.tried.items():
        text = f"{model} stands on {counted:,} of {every:,} items: the others have too few samples with a value"
        notes.append(BoardNote("tries", text))
    notes += [BoardNote("clusters", each.sentence, caution=False) for each in board.clusterings]
    notes += [BoardNote("uncorrected", f"{model}: {why}") for model, why in board.uncorrected.items()]
    if board.graded_by_others:
        told = _groups((each.model, each.graders) for each in board.standings)
        notes.append(BoardNote("graders", f"not all were graded by the same, {APART}: {_told(told, 'by')}"))
    if board.in_other_company:
        shared = set.intersection(*(set(each.company) for each in board.standings))
        others = ((each.model, tuple(n for n in each.company if n not in shared)) for each in board.standings)
        text = f"not all had the same models in the other roles, {APART}: {_told(_groups(others), 'with')}"
        notes.append(BoardNote("company", text))
    for baseline, value in dict.fromkeys(board.no_better_than.values()):
        models = [model for model, floor in board.no_better_than.items() if floor[0] == baseline]
        notes.append(BoardNote("floor", f"not clear of a baseline: {', '.join(models)}: {baseline} gets {value:.3g}"))
    for model in board.partly:
        text = f"{model}: its last run was of another spec, or not of all scenarios: some scores are missing"
        notes.append(BoardNote("partly", text))
    if not board.same_items or len({each.items for each in board.standings}) > 1:
        notes.append(BoardNote("items", "not all have the same items; two are compared over those that both have"))
    if board.stopped:
        notes.append(BoardNote("stopped", f"{STOPPED_EARLY}, and so are ranks and letters: {', '.join(board.stopped)}"))
        notes.append(BoardNote("stopped", TOO_FAR_APART))
    notes += [BoardNote("partial", f"{model}: {told}") for model, told in board.partial.items()]
    notes += _unread_notes(board)
    for model, old in board.left_out.items():
        ran = f"left out: {model}, which ran under version {', '.join(old)} only"
        notes.append(BoardNote("left_out", f"{ran}: scores mean something else there"))
    for model, stands in board.unfinished.items():
        short = f"left out: {model}, whose run {stands}"
        notes.append(BoardNote("unfinished", f"{short}: the board of a release is whole, run it with --until end"))
    for model, old in board.mixed.items():
        text = f"{model} ran under version {', '.join(old)} only: its scores mean something else"
        notes.append(BoardNote("mixed", text))
    return notes


def _unread_notes(board: Board) -> Iterable[BoardNote]:
    """Yield which models have scores without a value, and what their figures would be if these counted as wrong."""
    known = [each.unread.figure for each in board.standings if each.unread is not None]
    decimals = decimals_of([each.value for each in board.standings] + known)
    for each in board.standings:
        if each.unread is not None and each.unread.figure is not None:
            text = unread_sentence(each.unread, each.value, each.n, each.total, decimals)
            yield BoardNote("unread", f"{each.model}: {text}")
        elif is_short(each):
            counts = f"{percent(each.n / each.total)} of its scores have a value, {each.n:,} of {each.total:,}"
            yield BoardNote("short", f"{each.model}: only {counts}")


def _groups(members: Iterable[tuple[str, tuple[str, ...]]]) -> dict[tuple[str, ...], list[str]]:
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for model, names in members:
        found[names].append(model)
    return found


def _told(groups: Mapping[tuple[str, ...], Sequence[str]], between: str) -> str:
    return "; ".join(
        f"{', '.join(models)} {between} {', '.join(names) or 'nobody'}" for names, models in groups.items()
    )
