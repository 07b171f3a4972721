"""One program, several drivers: a run keeps the rows that it always kept, and what is kept is answered as it arrived."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.generated_specs import _Writer, generate
from tests.plan_exactness import Benchmark, LoggedLedger
from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.plan import Column, Score
from tripos_runtime.asking.ledger import KEY_COLUMNS
from tripos_runtime.asking.replies import answer_of, conversation_of, turn_of
from tripos_runtime.datasets.cases import Case
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.drivers.lookup import bound_treatments
from tripos_runtime.program.needs import (
    Answered,
    ConversationNeed,
    Need,
    PlanContext,
    ProgramEvent,
    ReplyNeed,
    ScoreResult,
    SimilarityNeed,
    pending,
)
from tripos_runtime.program.running import drive_now
from tripos_runtime.program.steps import UnitProgram
from tripos_runtime.program.units import Unit
from tripos_runtime.program.values import StepValues

EVERYTHING = Selection()
MADE = (0, 5, 7)
"""The generated benchmarks whose rows are made, so that there are none before a run."""
NEAR = (6, 23)
"""Those whose steps all look for something by vectors."""
ROWS = {
    0: "adabd2753896875d",
    2: "ae9977947b83d002",
    6: "0e3ec4d1abca2d5a",
    8: "940c6a970eb799e5",
    9: "9ce7a4b367f4ab2a",
    16: "2b9c4307b441328d",
    23: "054e9dfcee38835e",
}
"""The digest of the rows of a generated benchmark, but for their times, as runs keep them. They are the rows that runs
kept before programs were there, but for three things that were meant: a reply without a word has no value, so that
nothing is judged or scored by it (8, 9, 16, 23); a condition on another reply is no part of what names a verdict (6);
and names have the versions of functions, of the reader, of votes and of the mock's vectors, which were raised."""
SINCE = (
    *(("reused_from", None), ("batch_id", None), ("repeat", 0), ("models", None), ("element_place", None)),
    *(("elements", None), ("logprobs", None), ("thinking", None), ("cluster", None)),
)
"""The columns that did not exist then, with the value that says that there is nothing."""


@pytest.mark.parametrize("seed", ROWS)
def test_a_run_keeps_the_rows_that_it_kept_before_programs_were_there(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_Writer, "any_json", 0.0)  # no reply was any JSON then
    bench, ledger = Benchmark(generate(seed, tmp_path)), LoggedLedger()
    bench.run(ledger, bench.bound(), EVERYTHING)
    assert digest_of(ledger) == ROWS[seed]


def digest_of(ledger: LoggedLedger) -> str:
    rows = [
        [table, sorted(each for each in row.items() if each[0] != "created_at" and each not in SINCE)]
        for table, row in ledger.log
        if table != "conditions"  # which did not exist then
    ]
    return hashlib.sha256("\n".join(sorted(map(repr, rows))).encode()).hexdigest()[:16]


def units_of(bench: Benchmark) -> Iterator[tuple[PlanContext, Case, list[Unit]]]:
    """Yield the units of every case, with nothing made."""
    source, binding = bench.source(), bench.bound()
    world = PlanContext(bench.plan, source.sources)
    by_scenario = bound_treatments(EVERYTHING.chosen(bench.plan), bench.plan, binding)
    for case in source.cases(EVERYTHING):
        for bound in by_scenario[case.scenario.name]:
            units = [Unit(case, bound, binding.of(binding.compared)[0], number) for number in range(bound.samples)]
            yield world, case, units


@pytest.mark.parametrize("seed", [seed for seed in ROWS if seed not in (*MADE, *NEAR)])
def test_from_what_is_kept_a_program_takes_the_scores_that_the_run_took(seed: int, tmp_path: Path) -> None:
    bench, ledger = Benchmark(generate(seed, tmp_path)), LoggedLedger()
    bench.run(ledger, bench.bound(), EVERYTHING)
    kept = {
        table: {row[KEY_COLUMNS[table]]: row for row in ledger.table(table)}
        for table in ("samples", "judgements", "turns", "scores")
    }
    taken = 0
    for world, _, units in units_of(bench):
        for unit in units:
            for result in replayed(world, unit, kept):
                if isinstance(result, ScoreResult):
                    names = unit.scores[result.step.fingerprint, result.evaluator]
                    for title, (value, status) in result.values.items():
                        row = kept["scores"][names[title]]
                        assert (row["value"], row["status"]) == (value, status)
                        taken += 1
    assert taken


def replayed(world: PlanContext, unit: Unit, kept: Mapping[str, Mapping[str, Mapping[str, Any]]]) -> list[ProgramEvent]:
    """Return the results of a program that is answered from rows; nothing where it looks for anything by vectors."""
    found: list[ProgramEvent] = []

    def meet(need: Need) -> Answered:
        match need:
            case SimilarityNeed():
                raise LookupError
            case ConversationNeed(talk=talk):
                return conversation_of(kept["samples"][talk.name])
            case ReplyNeed(call=call):
                row = kept[call.table].get(call.name)
                if row is None or row["status"] in ("not_applicable", "undefined"):
                    need.prompt.messages()  # raises what the run met
                assert row is not None
                return turn_of(row) if call.table == "turns" else answer_of(row, need.question)
        raise AssertionError

    def caught(need: Need) -> Answered:
        try:
            return meet(need)
        except Unavailable as reason:
            return reason

    program = UnitProgram(world, unit, StepValues(unit.case.names))

    def take() -> None:
        found.extend(program.out)
        program.out.clear()

    try:
        drive_now(program.go(), caught, take)
    except LookupError:
        return []
    return found


@pytest.mark.parametrize("seed", [seed for seed in range(24) if seed not in MADE])
def test_a_program_knows_its_sample_number_by_names_alone(seed: int, tmp_path: Path) -> None:
    bench = Benchmark(generate(seed, tmp_path))
    for world, _, units in units_of(bench):
        every = [needs_of(world, unit) for unit in units]
        assert all(needs == every[0] for needs in every)


def needs_of(world: PlanContext, unit: Unit) -> list[Any]:
    """Return what a program needs where nothing is kept, but for names and numbers."""
    found: list[Any] = []

    def meet(need: Need) -> Answered:
        match need:
            case ConversationNeed(talk=talk, certain=certain):
                found.append(("talk", talk.step.name, dict(talk.models), certain))
                return drive_now(need.program(), meet, list)
            case SimilarityNeed(step=step, certain=certain):
                found.append(("near", step.name, certain))
                return pending(step.name)
            case ReplyNeed(call=call, certain=certain):
                try:
                    sent: Any = need.prompt.messages()
                except Unavailable as reason:
                    sent = reason.status
                    if sent != "pending":
                        found.append((call.step.name, call.role, call.model, sent))
                        return reason
                found.append((call.step.name, call.role, call.model, sent, certain))
                return pending(call.step.name)
        raise AssertionError

    program = UnitProgram(world, unit, StepValues(unit.case.names))
    steps = [step for step in unit.bound.treatment.steps if not isinstance(step, Score | Column)]
    drive_now(program.go(steps), meet, program.out.clear)
    return found


def test_a_forecast_is_made_where_an_event_loop_runs(tmp_path: Path) -> None:
    bench = Benchmark(generate(0, tmp_path))

    async def foretell() -> Any:
        return bench.foretell(LoggedLedger(), bench.bound(), EVERYTHING)

    assert asyncio.run(foretell()).lines == bench.foretell(LoggedLedger(), bench.bound(), EVERYTHING).lines
