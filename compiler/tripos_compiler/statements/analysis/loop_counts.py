"""Counts of calls about the elements of lists: exact for the lists of a row, bounded for those of a reply."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tripos_compiler.language import PLACE, Missing, Unavailable, elements, evaluate, names_in, subexpressions
from tripos_compiler.plan import Expr, Loop, Step, Verdict
from tripos_compiler.source import dataclass
from tripos_compiler.statements.analysis.step_conditions import Case, StepOutcomes, is_evaluable

Places = tuple[int, ...]
UNKNOWN = "unknown"
"""The status of what only a reply says."""


@dataclass(frozen=True)
class CallRange:
    """How often something happens: as a rule, at least, at most."""

    calls: int
    least: int
    most: int

    def times(self, factor: int) -> CallRange:
        """Return that many times as often."""
        return CallRange(self.calls * factor, self.least * factor, self.most * factor)


def loop_calls(
    places: Sequence[tuple[StepOutcomes, Step]], known: Sequence[Case] | None, count: int, certain: bool
) -> tuple[CallRange, tuple[int, int]]:
    """Return about how many elements a judge is asked in all cases, and in one of them: of a list that stands in a row
    so many as it has, of one that a reply says none at least, and at most what its loop takes."""
    each = [_in_case(places, case) for case in known] if known is not None else [_in_case(places, {})]
    least, most = [one for one, _ in each] or [0], [one for _, one in each] or [0]
    row = (min(least) if certain else 0, max(most))
    if known is None:
        return CallRange(most[0] * count, least[0] * count if certain else 0, most[0] * count), row
    return CallRange(sum(most), sum(least) if certain else 0, sum(most)), row


def _in_case(places: Sequence[tuple[StepOutcomes, Step]], case: Case) -> tuple[int, int]:
    """Return the least and the most elements in a case, in all steps and treatments together that ask the same."""
    certain, possible = set[Places](), set[Places]()
    for outcomes, step in places:
        assert isinstance(step, Verdict)
        done = outcomes.in_case(step, case)
        if done is not False:
            for place, sure in _listed(step.loops, case):
                possible.add(place)
                if sure and done:
                    certain.add(place)
    return len(certain), len(possible)


def _listed(loops: Sequence[Loop], names: Mapping[str, Any]) -> Iterator[tuple[Places, bool]]:
    """Yield the elements that loops go through or may, and whether it is sure that they do."""
    if not loops:
        yield (), True
        return
    loop, *rest = loops
    if not _decides(loop.of, names):
        for place in _possible(loop, names):
            yield from (((place, *inner), False) for inner, _ in _listed(rest, names))
        return
    try:
        for inside in elements(loop, names):
            sure = loop.where is None or _decides(loop.where, inside)
            if not sure or loop.where is None or evaluate(loop.where, inside):
                place = inside[PLACE + loop.alias]
                yield from (((place, *inner), sure and each) for inner, each in _listed(rest, inside))
    except Unavailable:
        return


def _possible(loop: Loop, names: Mapping[str, Any]) -> Iterator[int]:
    """Yield the places of the elements that a list may have which replies say, or are in: of those that there are where
    no reply decides that, as of the replies to the elements of a list of the row, and else of as many as the loop
    takes."""
    every = range(loop.most or 0)
    parts = [*subexpressions(loop.of), *(() if loop.where is None else subexpressions(loop.where))]
    if not all(is_evaluable(part) for part in parts):
        yield from every
        return
    looked_at = names_in(loop.of) | (set() if loop.where is None else names_in(loop.where))
    unknown = {name: Missing(name, UNKNOWN) for name in looked_at - names.keys() - {loop.alias}}
    try:
        for inside in elements(loop, {**names, **unknown}):
            if _may_hold(loop.where, inside):
                yield inside[PLACE + loop.alias]
    except Unavailable as reason:
        if reason.status == UNKNOWN:
            yield from every


def _may_hold(where: Expr | None, names: Mapping[str, Any]) -> bool:
    try:
        return where is None or bool(evaluate(where, names))
    except Unavailable as reason:
        return reason.status == UNKNOWN


def _decides(expr: Expr, names: Mapping[str, Any]) -> bool:
    """Return true if these names decide an expression, without a reply, a data set or a function of the user's."""
    return names_in(expr) <= names.keys() and all(is_evaluable(part) for part in subexpressions(expr))
