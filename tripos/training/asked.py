"""Makes what a scenario asks about rows that nobody is asked: `asks STEP of SCENARIO` and `beside` of an export."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tripos_compiler.plan import AskedAs, Partner, Plan, Retrieve, Shots, Treatment
from tripos_compiler.plan import digest as digest_of
from tripos_runtime.asking.prompting import ask_messages
from tripos_runtime.asking.questions import Questions
from tripos_runtime.asking.shots import chosen_rows
from tripos_runtime.datasets.cases import Case, CaseSource
from tripos_runtime.datasets.sources import SourceRow
from tripos_runtime.program.units import Names
from tripos_runtime.retrieval.choosing import Chooser

Messages = list[dict[str, str]]


class Asking:
    """Goes through the steps of a scenario up to a question, for any row with its fields."""

    def __init__(self, plan: Plan, source: CaseSource, asks: AskedAs) -> None:
        self._source = source
        self._scenario = next(each for each in plan.scenarios if each.name == asks.scenario)
        self._treatment = _treatment(self._scenario.treatments, asks)
        self._ask = self._treatment.ask(asks.step)
        self._questions = Questions(plan, tuple(source.axes.values()))
        self._chooser = Chooser()

    def messages(self, row: SourceRow) -> Messages | None:
        """What is sent for a row; None where the scenario would not run over it, or not ask. Raises `Unavailable` where
        the row lacks a value."""
        case = self._source.case_of(self._scenario, row)
        if case is None:
            return None
        names = Names(case.names)
        for step in self._treatment.steps:
            if isinstance(step, Retrieve) and step.name in self._ask.needs and names.against(step) is None:
                names.found(step, self._chooser.chosen(step, names.values, case.fields))
        if names.against(self._ask) is not None:
            return None
        question = self._questions.of(self._ask, case.language)
        sent = ask_messages(self._ask, question, case, names.values, self._source.sources)
        return [{"role": each.role, "content": each.content} for each in sent]


class Beside:
    """Finds the row that stands beside another."""

    def __init__(self, plan: Plan, source: CaseSource, partner: Partner) -> None:
        self._source = source
        self._drawn = Shots(
            count=1, dataset=partner.dataset, alias=partner.alias, where=partner.where, prompt={}, reply={}
        )
        self._any = plan.scenarios[0]

    def of(self, dataset: str, row: SourceRow, names: Mapping[str, Any]) -> SourceRow | None:
        """The row beside one of `dataset`, drawn by that; None where there is none."""
        case = Case(self._any, row.item_id, {}, row.values, dataset, names, row.origin)
        begin = int(digest_of([self._drawn.alias, row.item_id])[:12], 16)
        return next(chosen_rows(self._drawn, case, names, self._source.sources, begin), None)


def _treatment(treatments: tuple[Treatment, ...], asks: AskedAs) -> Treatment:
    return next(each for each in treatments if each.arms == asks.arms)
