"""A prompt that is rendered while replies are pending: its known text is that of the prompt that a run sends."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.generated_specs import generate
from tests.lengths import sized
from tests.plan_exactness import Benchmark, LoggedLedger
from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.language.rendering import PLACEHOLDER
from tripos_compiler.plan import Expr
from tripos_compiler.plan.outcomes import NOT_ASKED
from tripos_runtime.datasets.cases import Case
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.drivers.lookup import bound_treatments
from tripos_runtime.forecast.sizes import SizedPlaceholders
from tripos_runtime.models.base import Message
from tripos_runtime.program.needs import (
    Answered,
    ConversationNeed,
    Need,
    PlanContext,
    Program,
    ReplyNeed,
    SimilarityNeed,
    is_pending,
    pending,
)
from tripos_runtime.program.running import drive_now
from tripos_runtime.program.steps import UnitProgram, pair_program
from tripos_runtime.program.units import Unit, pairs_of
from tripos_runtime.program.values import StepValues

EVERYTHING = Selection()


class Watched(SizedPlaceholders):
    """Tells if a passage is taken to be printed while its condition is pending."""

    guessed = False

    def condition(self, when: Expr, reason: Unavailable) -> None:
        Watched.guessed = True
        super().condition(when, reason)


@pytest.mark.parametrize("seed", range(1, sized(9, 200)))
def test_the_known_text_of_a_pending_prompt_is_sent(seed: int, tmp_path: Path) -> None:
    bench, ledger = Benchmark(generate(seed, tmp_path)), LoggedLedger()
    drafts = dict(drafts_of(bench))
    callers = bench.run(ledger, bench.bound(), EVERYTHING)
    asked = {text_of(request.messages) for caller in callers.values() for request in caller.asked}
    for table, key in (("samples", "sample_id"), ("turns", "turn_id"), ("judgements", "judgement_id")):
        for row in ledger.table(table):
            if row[key] not in drafts or row["status"] in NOT_ASKED:
                continue
            known = [re.escape(piece) for piece in drafts[row[key]].split(PLACEHOLDER)]
            pattern = re.compile(".*".join(known), re.DOTALL)
            if table == "turns":  # which does not say what was sent
                assert any(pattern.fullmatch(text) for text in asked), drafts[row[key]]
            else:
                sent = "\n\n".join(each["content"] for each in json.loads(row["messages"]))
                assert pattern.fullmatch(sent), (drafts[row[key]], sent)


def test_generated_benchmarks_have_prompts_with_placeholders_and_without(tmp_path: Path) -> None:
    texts = [text for seed in (1, 2, 3, 4) for _, text in drafts_of(Benchmark(generate(seed, tmp_path / str(seed))))]
    assert sum(PLACEHOLDER in text for text in texts) > 10
    assert sum(PLACEHOLDER not in text for text in texts) > 10


def drafts_of(bench: Benchmark) -> Iterator[tuple[str, str]]:
    """Yield the prompt of every call where nothing is kept, by the name of the reply. Left out are those of which a
    passage may not be printed."""
    if bench.plan.made:  # there are no rows before a run
        return
    binding, source = bench.bound(), bench.source()
    world, by_scenario = (
        PlanContext(bench.plan, source.sources),
        bound_treatments(EVERYTHING.chosen(bench.plan), bench.plan, binding),
    )
    for case in source.cases(EVERYTHING):
        units = [
            Unit(case, bound, model, number)
            for bound in by_scenario[case.scenario.name]
            for model in binding.of(binding.compared)
            for number in range(bound.samples)
        ]
        yield from drafts_of_case(world, case, units)


def drafts_of_case(world: PlanContext, case: Case, units: list[Unit]) -> Iterator[tuple[str, str]]:
    names = {unit: StepValues(case.names) for unit in units}
    programs: list[tuple[StepValues, Program]] = [
        (names[unit], UnitProgram(world, unit, names[unit]).go()) for unit in units
    ]
    for own, program in programs:
        yield from drafts(own, program)
    for pair in pairs_of(units):
        both = pair.names(names[pair.first], names[pair.second])
        yield from drafts(both, pair_program(world, pair, both, []))


def drafts(names: StepValues, program: Program) -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []

    def meet(need: Need) -> Answered:
        match need:
            case ConversationNeed():
                return drive_now(need.program(), meet, list)
            case SimilarityNeed():
                return pending(need.step.name)
            case ReplyNeed(call=call):
                Watched.guessed = False
                placeholders = Watched(names.values, {})
                try:
                    sent = need.prompt.messages(placeholders)
                except Unavailable as reason:
                    assert not is_pending(reason)
                    return reason
                assert_size(placeholders, sent)
                if not Watched.guessed:
                    found.append((call.name, text_of(sent)))
                return pending(call.step.name)
        raise AssertionError

    drive_now(program, meet, list)
    return found


def text_of(messages: Sequence[Message]) -> str:
    return "\n\n".join(each.content for each in messages)


def assert_size(placeholders: SizedPlaceholders, sent: tuple[Message, ...]) -> None:
    """The size is that of the known text and of the parts."""
    size, known = placeholders.size(sent), [each.content.replace(PLACEHOLDER, "") for each in sent]
    parts: list[Any] = placeholders.parts
    assert sum(each.content.count(PLACEHOLDER) for each in sent) == len(parts)
    assert size.narrow + size.wide == sum(map(len, known)) + sum(part.narrow + part.wide for part in parts)
