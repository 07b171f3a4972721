"""The prompts of a run before any call, whole: what a person reads to see what models would be sent."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import cast

from tripos_compiler.language.library import with_functions
from tripos_compiler.plan import Plan
from tripos_runtime.asking import Ledger
from tripos_runtime.datasets import Case, CaseSource, Selection
from tripos_runtime.drivers import Lookup, bound_treatments
from tripos_runtime.forecast.driver import Foresight
from tripos_runtime.forecast.prior_results import NothingKept
from tripos_runtime.forecast.run_forecast import not_called
from tripos_runtime.forecast.tables import arms_of
from tripos_runtime.models import Message
from tripos_runtime.program import ReplyNeed, TurnPrompt, World
from tripos_runtime.roles import RoleBinding

STAND_INS = ("mock/first", "mock/second")


@dataclass(frozen=True)
class PromptPreview:
    """The messages of a question about one item, as a model that fills `role` would be sent them. A part that is not
    known before other replies are there stands in ⟨⟩."""

    scenario: str
    item_id: str
    context: Mapping[str, str]
    step: str
    role: str
    messages: tuple[Message, ...]
    certain: bool
    """False where it depends on a reply whether this is asked."""
    arms: str
    """The treatments that ask this, in words; empty for all of them."""
    element: str | None = None
    """The place of the element of a list that a judge is asked about, from 0; `0.2` of a list in a list."""


def preview_prompts(
    plan: Plan, source: CaseSource, selection: Selection, binding: RoleBinding, number: int
) -> Iterator[PromptPreview]:
    """Yield each prompt once for the first `number` items of every scenario, of a conversation the first turns of both
    speakers. No store is read and no function of the user's is called. A scenario over rows that are yet to be made has
    none. Raises `DataError` where a data file has changed since the plan was made.
    """
    chosen = selection.chosen(plan)
    lookup = Lookup(cast("Ledger", NothingKept()), bound_treatments(chosen, plan, binding), binding)
    with with_functions({plugin.name: not_called(plugin.name) for plugin in plan.plugins}):
        for scenario in chosen:
            only = replace(selection, scenarios=(scenario.name,))
            for case in () if source.has_unmade(only) else itertools.islice(source.cases(only), number):
                yield from _of_case(plan, source, lookup, case)


def _of_case(plan: Plan, source: CaseSource, lookup: Lookup, case: Case) -> Iterator[PromptPreview]:
    seen: dict[tuple[str, tuple[Message, ...]], PromptPreview] = {}
    arms = arms_of(case.scenario)

    def read(need: ReplyNeed, messages: tuple[Message, ...]) -> None:
        if isinstance(need.prompt, TurnPrompt) and need.prompt.number > 2:
            return
        step, role = need.call.step, need.call.role
        told = arms.get((step.name, step.fingerprint), "")
        found = PromptPreview(
            case.scenario.name,
            case.item_id,
            case.context,
            step.name,
            role,
            messages,
            need.certain,
            told,
            need.call.element_name,
        )
        seen.setdefault((role, messages), found)

    foresight = Foresight(World(plan, source.sources), read=read)
    alike = frozenset(lookup.bound_treatments[case.scenario.name])
    foresight.of(case, lookup.units(case, alike), {}, {})
    yield from seen.values()


def stand_ins(plan: Plan) -> RoleBinding:
    """Return names of models for every role of a plan, two for the compared one, where nobody names any."""
    compared = next(role.name for role in plan.roles if role.kind == "compared")
    return RoleBinding({role.name: STAND_INS[: 1 + (role.name == compared)] for role in plan.roles}, compared)
