"""The human driver: it answers a program from what is kept, and stops at the step that a person is to take.

The data sets, trees and functions of a benchmark are not in a store. What looks into one of these raises `LookupError`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from tripos_compiler.language import Unavailable
from tripos_compiler.plan import Ask, Compare, Converse, Grade, Verdict
from tripos_runtime.asking import NOT_APPLICABLE, Row, answer_of, talk_of
from tripos_runtime.program import (
    Got,
    HeldConversation,
    JudgePrompt,
    Names,
    Need,
    Pair,
    ReplyNeed,
    Result,
    Unit,
    UnitProgram,
    World,
    drive,
    pair_program,
    pending,
)

Places = tuple[int, ...]
"""The place of an element in its list."""


@dataclass
class Human:
    """Runs programs up to a grade that a person gives. `rows` are the samples that are kept, by name."""

    world: World
    rows: Mapping[str, Row]

    def names_at(self, unit: Unit, step: Grade) -> Mapping[str, Any] | None:
        """Return the names that the arguments of a grade are taken from; None where a judge would have nothing to
        grade. Raises `LookupError` where they take what is not in a store."""
        steps = unit.bound.treatment.steps
        before = _kept([each for each in steps[: steps.index(step)] if isinstance(each, Ask | Converse)])
        program = UnitProgram(self.world, unit, Names(unit.case.names))
        shown: list[Mapping[str, Any]] = []
        drive(program.go([*before, step]), partial(self._meet, step, shown), program.out.clear)
        return shown[0] if shown else None

    def names_of_elements(self, unit: Unit, step: Verdict) -> Mapping[Places, Mapping[str, Any]]:
        """Return the same of each element that a judge is asked about, by its place; none where a judge would not be
        asked."""
        steps = unit.bound.treatment.steps
        before = _kept([each for each in steps[: steps.index(step)] if isinstance(each, Ask | Converse)])
        program = UnitProgram(self.world, unit, Names(unit.case.names))
        shown: dict[Places, Mapping[str, Any]] = {}
        drive(program.go([*before, step]), partial(self._meet_element, step, shown), program.out.clear)
        return dict(sorted(shown.items()))

    def names_of_pair(self, pair: Pair) -> Mapping[str, Any] | None:
        """Return the same of a comparison of two replies."""
        names = pair.names(self.ask_all(pair.first), self.ask_all(pair.second))
        shown: list[Mapping[str, Any]] = []
        out: list[Result] = []
        drive(pair_program(self.world, pair, names, out), partial(self._meet, pair.step, shown), out.clear)
        return shown[0] if shown else None

    def ask_all(self, unit: Unit) -> Names:
        """Take a unit through what it asks, so that it knows what it does not, and return the names that it has then.
        Raises `LookupError` where a condition takes what is not in a store."""
        steps = _kept([each for each in unit.bound.treatment.steps if isinstance(each, Ask | Converse)])
        program = UnitProgram(self.world, unit, Names(unit.case.names))
        drive(program.go(steps), self._answer, program.out.clear)
        return program.names

    def _meet(self, step: Grade | Compare, shown: list[Mapping[str, Any]], need: Need) -> Got:
        if isinstance(need, ReplyNeed) and need.call.step is step:
            assert isinstance(need.prompt, JudgePrompt)
            shown.append(need.prompt.names)
            return pending(step.name)
        return self._answer(need)

    def _meet_element(self, step: Verdict, shown: dict[Places, Mapping[str, Any]], need: Need) -> Got:
        if isinstance(need, ReplyNeed) and need.call.step is step:
            assert isinstance(need.prompt, JudgePrompt) and need.call.element is not None
            shown[need.call.element] = need.prompt.names
            return pending(step.name)
        return self._answer(need)

    def _answer(self, need: Need) -> Got:
        assert isinstance(need, ReplyNeed | HeldConversation), "nothing is looked for by a vector"
        if isinstance(need, HeldConversation):
            row = self.rows.get(need.talk.name)
            return Unavailable(need.talk.step.name, NOT_APPLICABLE) if row is None else talk_of(row)
        row = self.rows.get(need.call.name)
        if row is None:
            return Unavailable(need.call.step.name, NOT_APPLICABLE)
        return answer_of(row, need.question)


def _kept(steps: list[Ask | Converse]) -> list[Ask | Converse]:
    """Return the steps. Raises `LookupError` where calls of one are made: a store has no functions to make them."""
    if any(isinstance(step, Ask) and step.acts for step in steps):
        raise LookupError("the functions of a loop")
    return steps
