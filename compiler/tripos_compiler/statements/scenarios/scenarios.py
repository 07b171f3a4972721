"""Lowers scenarios: their context and rows, and the steps in order."""

from __future__ import annotations

from tripos_compiler.constructs import Statement
from tripos_compiler.plan import Column, Compare, Grade, Scenario, Score
from tripos_compiler.resolve import LoweredCache, Memory, Program, fork_program, locale_in, program_additions
from tripos_compiler.statements.analysis import CountedCases, count_calls, embedding_pools
from tripos_compiler.statements.declarations import plain_title
from tripos_compiler.statements.measures import collect_columns, has_unknown_aggregate
from tripos_compiler.statements.scenarios.checks import check_protocol, check_unused_axes, check_unused_steps
from tripos_compiler.statements.scenarios.contexts import lower_arms_of, lower_context
from tripos_compiler.statements.scenarios.rows import lower_rows
from tripos_compiler.statements.scenarios.treatments import treatments
from tripos_compiler.statements.scoring import check_baselines, lower_compare, lower_grade, lower_score
from tripos_compiler.statements.steps import Steps, lower_ask, lower_converse, lower_retrieve, lower_shown_options

LOWERED = {
    "ask": lower_ask,
    "converse": lower_converse,
    "retrieve": lower_retrieve,
    "let": Steps.let,
    "options": lower_shown_options,
    "score": lower_score,
    "grade": lambda steps, statement: lower_grade(steps, statement, None),
    "compare": lower_compare,
}
"""The steps of a scenario, by construct."""
APART = frozenset({"scenario", "measure", "expect", "subset", "export", "use"})
"""What no other scenario looks at."""
SCORING = frozenset({"score", "grade", "compare"})


def lower_scenarios(program: Program, memory: Memory | None = None) -> None:
    """Every `scenario`; what a memory knows is not lowered again."""
    if not program.of("scenario") and program.of("benchmark"):
        where = program.of("benchmark")[0].head
        help_ = "write `scenario NAME { … }`"
        message = "this benchmark has no scenario"
        program.diagnostics.error("E0206", message, where, help=help_, lacking=program.lost)
    kept = memory.scenarios if memory is not None else LoweredCache()
    kept.enter(_around(program))
    for statement in program.of("scenario"):
        lowered = kept.find(statement)
        if lowered is None:
            own = fork_program(program)
            lowered = program_additions(program, own, _scenario(own, statement))
            kept.keep(statement, lowered)
        lowered.add_to(program)
        scenario: Scenario | None = lowered.result
        if scenario is not None and scenario.name not in program.scenarios:
            program.scenarios[scenario.name] = scenario


def _around(program: Program) -> tuple[object, ...]:
    """Return all that a scenario may look at beside its own statement: what is declared outside scenarios, the names of
    the scenarios, and the data."""
    outside = [statement for statement in program.statements if statement.construct not in APART]
    names = frozenset(program.declared.get("scenario", {}))
    lost = frozenset(program.diagnostics.lost_names)
    functions = frozenset(each.version for each in program.plugins.values())
    return (*outside, names, lost, functions, str(program.diagnostics.lost_files), program.data)


def _scenario(program: Program, statement: Statement) -> Scenario | None:
    """Return a scenario, lowered in a program of its own. None where anything is wrong, which is reported."""
    name = statement.name().text
    title = plain_title(statement, program.languages) if statement.labels() else name.replace("_", " ")
    program.numbers = locale_in(program, statement)
    cases = lower_rows(program, statement, lower_arms_of(program, statement, lower_context(program, statement)))
    key = cases.loaded.dataset.key if cases.loaded is not None else None
    known = frozenset(
        {*(axis.name for axis in cases.axes), *([cases.alias] if cases.alias and cases.from_file else [])}
    )
    where = cases.rows.where if cases.rows is not None else None
    steps = Steps(program, name, cases.scope, cases.alias, where, key, known, cases=cases.kept)
    for inner in statement.body:
        if inner.construct in LOWERED:
            done = LOWERED[inner.construct](steps, inner)
            steps.good = steps.good and done
    steps.good = steps.good and check_baselines(steps)  # the score that others are measured against may be broken
    for measure in statement.of("measure"):
        steps.good = collect_columns(program, steps, measure) and steps.good
    for expect in statement.of("expect"):
        collect_columns(program, steps, expect)
    scored = any(inner.construct in SCORING or has_unknown_aggregate(program, inner) for inner in statement.body)
    if not scored and not any(isinstance(step, Column) for step in steps.lowered) and steps.good:
        help_ = "add `score NAME = …` or `score SCORER(…)`"
        lacking = statement.block.span if statement.block is not None else None
        message = f"nothing scores scenario `{name}`"
        program.diagnostics.error("E0601", message, statement.head, help=help_, lacking=lacking)
        return None
    if not cases.sound or not steps.good:
        return None
    found = treatments(steps, cases.arms)
    if not steps.good:
        return None
    if not any(isinstance(step, Score | Grade | Compare | Column) for each in found for step in each.steps):
        if not any(has_unknown_aggregate(program, inner) for inner in statement.body):
            message = f"nothing scores scenario `{name}` in any arm"
            help_ = "look at the conditions of its steps and scores"
            program.diagnostics.error("E0601", message, statement.head, help=help_)
        return None
    check_unused_axes(program, statement, cases, steps)
    scenario = Scenario(
        name=name,
        title=title,
        axes=tuple(axis.name for axis in cases.axes),
        cells=cases.cells,
        rows=cases.rows,
        row_count=cases.count,
        arms=tuple(arm.name for arm in cases.arms),
        treatments=found,
    )
    check_unused_steps(program, statement, scenario, steps)
    check_protocol(program, statement, scenario, cases, steps)
    names = frozenset({*scenario.axes, *([cases.alias] if cases.alias and cases.from_file else [])})
    counted = CountedCases(cases.count, names, cases.kept, cases.certain)
    pool = embedding_pools(program, scenario)
    program.calls += count_calls(scenario, counted, program.roles, program.scorers, pool)
    return scenario
