"""Worked examples before a question: which rows are shown, and what is said of each.

They are the first rows of their data set for which the condition holds, in the order of its files, so every case that
has no condition of its own sees the same ones. Where fewer hold, fewer are shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from tripos_compiler.plan import Expr, Shots
from tripos_compiler.semantics.evaluate import Unavailable, evaluate
from tripos_compiler.semantics.render import render
from tripos_runtime.cases import Case
from tripos_runtime.models.base import Message
from tripos_runtime.sources import SourceRow, Sources
from tripos_runtime.statuses import NOT_APPLICABLE

NONE = object()
"""The key of a row that has none: it is nobody else's."""


def shot_messages(shots: Shots, case: Case, names: Mapping[str, Any], sources: Sources) -> Iterator[Message]:
    """A user's message and a reply for each shot, in the case's language. `names` is what the asking step sees.

    Raises `Unavailable` where the condition or the texts need what an earlier step did not yield.
    """
    for row in islice(chosen_rows(shots, case, names, sources), shots.count):
        seen = {**names, shots.alias: row.values}
        yield Message("user", render(shots.prompt[case.language], seen, case.language, sources.axes))
        yield Message("assistant", render(shots.reply[case.language], seen, case.language, sources.axes))


def chosen_rows(shots: Shots, case: Case, names: Mapping[str, Any], sources: Sources) -> Iterator[SourceRow]:
    """The rows that may be shown before this case: not the case's own, nor one that shares its key, and such that the
    condition holds."""
    own = _key(case.dataset, case.fields, sources)
    seen = dict(names)
    for row in sources.rows[shots.dataset]:
        seen[shots.alias] = row.values
        if shots.where is not None and not _holds(shots.where, seen):
            continue
        if row.origin == case.origin or row.item_id == case.item_id:
            continue
        if own is NONE or _key(shots.dataset, row.values, sources) != own:
            yield row


def _holds(where: Expr, names: Mapping[str, Any]) -> bool:
    """Whether the condition holds. Where it has no value for this row the row is passed over."""
    try:
        return bool(evaluate(where, names))
    except Unavailable as reason:
        if reason.status != NOT_APPLICABLE or reason.step in names:  # it needs what that step did not yield
            raise
        return False


def _key(dataset: str | None, values: Mapping[str, Any], sources: Sources) -> Any:
    """What the row of a data set has in common with those it belongs to; `NONE` where the data set has no key."""
    key = None if dataset is None else sources.key_of(dataset)
    if key is None:
        return NONE
    try:
        return evaluate(key, values)
    except Unavailable:
        return NONE
