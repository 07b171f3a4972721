"""A pair: the replies of two compared models to one case, side by side, for a judge to say which is better."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import ClassVar, NamedTuple

from tripos_compiler.plan import Ask, Compare, Converse, Grade, Retrieve, SampleList, Verdict
from tripos_runtime.asking import AGAIN, Row, comparison_id, judgement_id
from tripos_runtime.program.calls import Conversation, StepCall
from tripos_runtime.program.names import Names
from tripos_runtime.program.units import Unit

FindRows = Callable[[str, Collection[str]], Mapping[str, Row]]
"""Gives the rows of a table that a ledger has, by name."""


class Pair:
    """The replies of `first` and `second`, in this order, as one step compares them. Both are of one case and
    treatment, and the n-th of one meets the n-th of the other. Names are made once, when it is."""

    __slots__ = ("bound", "calls", "case", "comparisons", "first", "number", "second", "step")

    talks: ClassVar[Mapping[str, Conversation]] = {}
    """It holds no conversation: its sides did."""

    def __init__(self, step: Compare, first: Unit, second: Unit) -> None:
        self.case, self.bound, self.number = first.case, first.bound, first.number
        self.step, self.first, self.second = step, first, second
        role = self.bound.role_of(step)
        judges = self.bound.binding.of(role)
        samples, judged = self._built_on(), self._judged_on()
        by = self.bound.binding.identity_of
        self.calls = [
            StepCall(
                "judgements",
                judgement_id(step.judgement, judged, by(judge), number),
                role,
                judge,
                step,
                number=number,
            )
            for judge in judges
            for number in self.bound.repeats(step, judge)
        ]
        """The calls of every judge."""
        self.comparisons = {judge: comparison_id(step.fingerprint, samples, by(judge)) for judge in judges}
        """The names of the outcomes, by judge."""

    def _built_on(self) -> list[str]:
        """Return what names the outcomes: the replies of both sides, and who made what the step looks into."""
        samples = [name for side in (self.first, self.second) for name in side.upstream(self.step.needs)]
        return [*samples, *self.bound.makers[self.step.fingerprint]]

    def _judged_on(self) -> list[str]:
        """Return what names the reply of a judge: of the above what its arguments build on."""
        samples = [name for side in (self.first, self.second) for name in side.upstream(self.step.judged)]
        return [*samples, *self.bound.judged_makers[self.step.fingerprint]]

    @property
    def sides(self) -> tuple[Unit, Unit]:
        """Both units, in this order."""
        return self.first, self.second

    @property
    def given_binding(self) -> str:
        """The binding of what is said outside the run in the place of the step's judge, whoever says it."""
        return judgement_id(self.step.judgement, self.pattern._judged_on(), "")

    @property
    def pattern(self) -> Pair:
        """The pair of no item, whose names are the bindings of what this one yields."""
        return Pair(self.step, self.first.pattern, self.second.pattern)

    def judged(self, call: StepCall) -> str:
        """Return the name of the judge's reply that a call of another item's pair stands for."""
        return next(each.name for each in self.calls if (each.model, each.number) == (call.model, call.number))

    @property
    def results(self) -> Iterator[tuple[str, str]]:
        """The table and the name of everything that it yields."""
        for call in self.calls:
            yield from call.results
        for name in self.comparisons.values():
            yield "comparisons", name

    def names(self, first: Names, second: Names) -> Names:
        """Return the names that expressions see: those of each side below `first` and `second`. What both have in
        common stands there as it does in the case."""
        names = Names(first.values)
        names.gave("first", first.values)
        names.gave("second", second.values)
        return names


class Split(NamedTuple):
    """The remaining and the kept part of a case. A unit is to be gone through where a pair with it is, for the judge is
    shown its reply."""

    todo: list[Unit]
    complete: list[Unit]
    pairs: list[Pair]
    paired: list[Pair]

    @property
    def open(self) -> list[Unit | Pair]:
        """All that is to be gone through."""
        return parts(self.todo, self.pairs)


def parts(units: Sequence[Unit], pairs: Sequence[Pair]) -> list[Unit | Pair]:
    """Return units and pairs in one list."""
    return [*units, *pairs]


def pairs_of(units: Sequence[Unit]) -> list[Pair]:
    """Return every pair of the units of a case, in both orders."""
    sides: dict[tuple[int, int], list[Unit]] = {}
    for unit in units:
        if unit.bound.compares:
            sides.setdefault((id(unit.bound), unit.number), []).append(unit)
    return [
        Pair(step, first, second)
        for alike in sides.values()
        for step in alike[0].bound.compares
        for first, second in itertools.permutations(alike, 2)
    ]


def split(units: Sequence[Unit], pairs: Sequence[Pair], kept: Mapping[str, str]) -> Split:
    """Return the units and pairs of a case, those of which `kept` has every result apart from the others."""
    open_ = [pair for pair in pairs if not is_kept(pair, kept)]
    shown = {side for pair in open_ for side in (pair.first, pair.second)}
    todo = [unit for unit in units if unit in shown or not is_kept(unit, kept)]
    left = set(todo)
    return Split(
        todo,
        [unit for unit in units if unit not in left],
        open_,
        [pair for pair in pairs if is_kept(pair, kept)],
    )


def lasting(every: Iterable[Unit | Pair], statuses: Mapping[str, str], rows: FindRows) -> dict[str, str]:
    """Return the statuses of the results that need not be done again, by name: without those that a later run tries
    again. What builds on a reply that broke off, and that an earlier version took for an answer, is done again too."""
    kept = {name: status for name, status in statuses.items() if status not in AGAIN}
    again = statuses.keys() - kept.keys()
    if not again:
        return kept
    every = [*every]
    if kept.keys().isdisjoint(_built_on(every, again)):
        return kept
    found = [each for table in ("samples", "judgements", "turns") for each in rows(table, again).items()]
    broken = {name for name, row in found if row["status"] not in AGAIN}
    lost = _built_on(every, broken)
    return {name: status for name, status in kept.items() if name not in lost}


def _built_on(every: Iterable[Unit | Pair], replies: Collection[str]) -> set[str]:
    """Return the names of the results of units and pairs that build on some replies."""
    found: set[str] = set()
    for part in every:
        if isinstance(part, Pair):
            if not (found | set(replies)).isdisjoint(part._built_on()):
                found.update(name for _, name in part.results)
            continue
        for talk in part.talks.values():
            place = next((place for place, name in enumerate(talk.turns) if name in replies), None)
            found.update(() if place is None else (talk.name, *talk.turns[place + 1 :]))
        for step in part.bound.treatment.steps:
            if isinstance(step, Retrieve | SampleList | Compare):
                continue
            if (found | set(replies)).isdisjoint(part.upstream(step.needs)):
                continue
            match step:
                case Ask():
                    found.add(part.samples[step.name])
                case Converse():
                    found.update((part.talks[step.name].name, *part.talks[step.name].turns))
                case Grade() | Verdict():
                    found.update((*part.verdicts.get(step.name, ()), *(c.name for c in part.calls if c.step is step)))
            scores = (names for (own, _), names in part.scores.items() if own == step.fingerprint)
            found.update(name for names in scores for name in names.values())
    return found


def is_kept(part: Unit | Pair, kept: Mapping[str, str]) -> bool:
    """Return true if `kept` has every result of it."""
    return all(name in kept for _, name in part.results)
