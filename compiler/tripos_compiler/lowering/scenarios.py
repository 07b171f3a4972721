"""Lowering of scenarios, and of their steps under each combination of arms, with dependencies and fingerprints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from itertools import product

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.language.references import (
    CALLING,
    datasets_of,
    direct_dependencies,
    judge_input_names,
    roles_called,
    transitive_dependencies,
)
from tripos_compiler.lowering.asks import lower_ask, lower_shown_options
from tripos_compiler.lowering.call_counts import CountedCases, count_calls, known_rows, retrieval_corpora
from tripos_compiler.lowering.cases import lower_arms_of, lower_context, lower_rows
from tripos_compiler.lowering.conversations import lower_converse
from tripos_compiler.lowering.declarations import plain_title
from tripos_compiler.lowering.fingerprints import StepFingerprints
from tripos_compiler.lowering.folding import fold_part
from tripos_compiler.lowering.measures.measures import collect_columns
from tripos_compiler.lowering.measures.typed_figures import has_unknown_aggregate
from tripos_compiler.lowering.protocol_checks import check_protocol, check_unused_axes, check_unused_steps
from tripos_compiler.lowering.scores import check_baselines, lower_compare, lower_grade, lower_score
from tripos_compiler.lowering.steps import Steps, lower_retrieve
from tripos_compiler.plan import (
    Arm,
    Ask,
    Column,
    Compare,
    Converse,
    Grade,
    JudgedStep,
    Retrieve,
    SampleList,
    Scenario,
    Score,
    Step,
    Treatment,
    Verdict,
)
from tripos_compiler.resolve.incremental import LoweredCache, Memory, fork_program, program_additions
from tripos_compiler.resolve.program import Program, locale_in

# Steps under each combination of arms

SCORING_STEPS = (Score, Grade, Compare)


def treatments(steps: Steps, arms: Sequence[Arm]) -> tuple[Treatment, ...]:
    """Return the treatments of a scenario in the order of the arms' values; a single one without arms.

    Reports a step that runs in an arm but uses the result of a step that does not.
    """
    folded: list[Treatment] = []
    reported: set[tuple[str, str]] = set()
    draws: dict[str, list[str]] = {}
    for values in product(*(arm.values for arm in arms)):
        chosen = {arm.name: value.name for arm, value in zip(arms, values, strict=True)}
        labels = {arm.name: value.labels for arm, value in zip(arms, values, strict=True)}
        folded.append(Treatment(arms=chosen, steps=tuple(_under(steps, chosen, labels, reported, draws))))
    return tuple(folded)


def _under(
    steps: Steps,
    chosen: Mapping[str, str],
    labels: Mapping[str, Mapping[str, str]],
    reported: set[tuple[str, str]],
    draws: dict[str, list[str]],
) -> Iterator[Step]:
    """Yield the steps under one combination of arms, with their dependencies and fingerprints."""
    kept: list[Step] = []
    gone: set[str] = set()
    samples: dict[str, int] = {}
    prints = StepFingerprints(steps.program, steps.scenario, steps.key, draws=draws)
    for step in steps.lowered:
        folded = fold_part(step, chosen, labels) if chosen else step
        if folded is None:
            gone |= _result_name(step) - {other.name for other in kept}  # an ask of the same name may run instead
            continue
        gone -= _result_name(step)
        if isinstance(folded, Ask) and folded.continues in gone:
            folded = folded.model_copy(update={"continues": _continued(steps, folded, gone)})
        if isinstance(folded, Ask) and folded.prompt is None and folded.chat is None and not folded.takes_results:
            _report_no_prompt(steps, step, chosen, reported)
            gone.add(folded.name)
            continue
        missing = sorted(direct_dependencies(folded) & gone)
        if missing:
            gone |= _result_name(folded)
            if isinstance(folded, CALLING) and not isinstance(folded, Verdict | SampleList):
                _report_missing_result(steps, step, missing[0], chosen, reported)
            continue
        uses = transitive_dependencies(kept, direct_dependencies(folded), whole=False)
        follows = steps.samples_after.get(id(step))
        if follows is not None:
            most = max((samples[name] for name in uses), default=1)
            times = samples.get(follows.step, most)  # without the step, what it builds on is repeated
            folded = folded.model_copy(update={"samples": follows.count * times})
        whole = _with_needs(steps, folded, uses, kept, samples)
        if whole is None:
            _report_no_reply(steps, folded, chosen, reported)
            continue
        score = _only_score(steps, whole) if isinstance(whole, Verdict) else whole
        if isinstance(score, SCORING_STEPS) and _has_namesakes(steps, score, chosen, labels):
            after = _after_namesakes(whole, score.name, kept)
            if after is None and whole is score:
                continue
            whole = after or whole
        if isinstance(whole, JudgedStep):
            inputs = tuple(sorted(transitive_dependencies(kept, judge_input_names(whole), whole=False)))
            whole = whole.model_copy(update={"inputs": None if inputs == whole.needs else inputs})
        finished = prints.of(whole)
        if (place := steps.places.get(id(step))) is not None:
            steps.program.index.asked[steps.scenario, finished.name, finished.fingerprint] = place.span
        if isinstance(finished, CALLING):
            samples[finished.name] = _samples(finished, samples)
        kept.append(finished)
    built_on = {name for step in kept for name in step.needs}
    yield from (step for step in kept if not isinstance(step, Verdict | SampleList) or step.name in built_on)


def _has_namesakes(
    steps: Steps, step: Step, chosen: Mapping[str, str], labels: Mapping[str, Mapping[str, str]]
) -> bool:
    """Return true if several scores of one name may apply under these arms."""
    named = [
        namesake for namesake in steps.lowered if isinstance(namesake, SCORING_STEPS) and namesake.name == step.name
    ]
    return len(named) > 1 and sum(fold_part(namesake, chosen, labels) is not None for namesake in named) > 1


def _only_score(steps: Steps, verdict: Verdict) -> Step | None:
    """Return the first score that uses a verdict, if only scores of one name use it and some score names are shared."""
    named = Counter(step.name for step in steps.lowered if isinstance(step, SCORING_STEPS))
    if max(named.values(), default=0) < 2:
        return None
    users = [step for step in steps.lowered if verdict.name in direct_dependencies(step)]
    return users[0] if len({user.name for user in users}) == 1 else None


def _after_namesakes(step: Step, name: str, kept: Sequence[Step]) -> Step | None:
    """Return a score, or the verdict it uses, with the conditions of the earlier scores called `name`.

    Returns None if one of them always holds, so that this one never applies.
    """
    before = [earlier for earlier in kept if isinstance(earlier, SCORING_STEPS) and earlier.name == name]
    conditions = tuple(earlier.when for earlier in before if earlier.when is not None)
    if len(conditions) < len(before):
        return None
    step = step.model_copy(update={"earlier": conditions})
    uses = transitive_dependencies(kept, direct_dependencies(step), whole=False)
    return step.model_copy(update={"needs": tuple(sorted({*step.needs, *uses}))})


def _continued(steps: Steps, ask: Ask, gone: Set[str]) -> str | None:
    """Return the step that an ask continues: the last of the chain that runs under these arms."""
    before = {step.name: step.continues for step in steps.lowered if isinstance(step, Ask)}
    continued = ask.continues
    while continued is not None and continued in gone:
        continued = before.get(continued)
    return continued


def _result_name(step: Step) -> set[str]:
    """Return the name under which other steps can use this one; empty for a score."""
    return {step.name} if isinstance(step, CALLING) else set()


def _report_missing_result(
    steps: Steps, step: Step, missing: str, chosen: Mapping[str, str], reported: set[tuple[str, str]]
) -> None:
    name = step.name
    if (name, missing) in reported:
        return
    reported.add((name, missing))
    where = ", ".join(f"{arm} is {value}" for arm, value in chosen.items())
    message = f"`{name}` takes what `{missing}` yields, which does not take place where {where}"
    help_ = f"give `{name}` the condition of `{missing}`, or that part of its text"
    steps.program.diagnostics.error("E0609", message, steps.place(step).span, help=help_)


def _report_no_prompt(steps: Steps, step: Step, chosen: Mapping[str, str], reported: set[tuple[str, str]]) -> None:
    name = step.name
    if (name, "") in reported:
        return
    reported.add((name, ""))
    where = ", ".join(f"{arm} is {value}" for arm, value in chosen.items())
    message = f"`{name}` asks nothing where {where}"
    help_ = "give it a prompt there, or the whole step the condition of its prompt"
    steps.program.diagnostics.error("E0206", message, steps.place(step).span, help=help_)


def _report_no_reply(steps: Steps, step: Step, chosen: Mapping[str, str], reported: set[tuple[str, str]]) -> None:
    """Report a score where no role replies: no reply would carry it, and no measure would mention that."""
    if not isinstance(step, Score) or (step.name, "") in reported:
        return
    reported.add((step.name, ""))
    where = ", ".join(f"{arm} is {value}" for arm, value in chosen.items())
    message = f"`{step.name}` scores nothing where {where}: no role replies there"
    help_ = "score the row in a scenario whose role replies, without this arm"
    span = next((span for name, span in steps.baselines if name.text == step.name), steps.scores[step.name][0].span)
    steps.program.diagnostics.error("E0609", message, span, help=help_)


def _samples(step: Step, samples: Mapping[str, int]) -> int:
    if isinstance(step, SampleList):
        return 1
    if isinstance(step, Verdict | Retrieve):
        return max((samples[name] for name in step.needs), default=1)
    assert isinstance(step, Ask | Converse)
    return step.samples


def _with_needs(
    steps: Steps, step: Step, uses: set[str], kept: Sequence[Step], samples: Mapping[str, int]
) -> Step | None:
    """Return the step with its dependencies; None for a score without a reply to belong to."""
    needs = tuple(sorted(uses))
    most = max((samples[name] for name in needs), default=1)
    match step:
        # A step that depends on several samples of another is run once for each of them.
        case Ask():
            return step.model_copy(update={"needs": needs, "samples": max(step.samples, most)})
        case Converse():
            return step.model_copy(update={"needs": needs, "repeat": max(step.repeat, most)})
        case Retrieve() | Verdict() | SampleList():
            return step.model_copy(update={"needs": needs})
    # Values that depend on no reply, such as the right answer, belong to the last reply of the compared role.
    asked = [other for other in kept if other.name in uses and _is_replied(other, kept)]
    every = isinstance(step, Column | Score) and not asked
    whole = transitive_dependencies(kept, uses)  # including the ask whose samples a list has
    called = [other for other in kept if isinstance(other, Ask | Converse) and (every or other.name in whole)]
    compared = [other for other in called if any(steps.kind(role) == "compared" for role in roles_called(other))]
    if not called:
        return None
    of = (compared or called)[-1]
    if isinstance(of, Converse):  # an ask that continues the conversation gives the scored reply
        of = next((other for other in reversed(called) if isinstance(other, Ask) and other.continues == of.name), of)
    built_on = tuple(sorted({*uses, *of.needs, of.name})) if every else needs
    return step.model_copy(update={"needs": built_on, "of": of.name})


def _is_replied(step: Step, kept: Sequence[Step]) -> bool:
    """Return true if a step yields a reply or a verdict on one. A verdict on the row alone does not count."""
    if isinstance(step, Verdict):
        replies = (Ask, Converse, SampleList)
        return any(isinstance(other, replies) for other in kept if other.name in step.needs)
    return not isinstance(step, Retrieve)


# Scenarios

LOWERED: dict[str, Callable[[Steps, Statement], None]] = {
    "ask": lower_ask,
    "converse": lower_converse,
    "retrieve": lower_retrieve,
    "let": Steps.let,
    "options": lower_shown_options,
    "score": lower_score,
    "grade": lower_grade,
    "compare": lower_compare,
}
"""The functions that lower the steps of a scenario, by construct."""
INDEPENDENT_CONSTRUCTS = frozenset({"scenario", "measure", "expect", "subset", "export", "use"})
"""Top-level constructs that no scenario depends on."""
SCORING_CONSTRUCTS = frozenset({"score", "grade", "compare"})


def lower_scenarios(program: Program, memory: Memory | None = None) -> None:
    """Lower every `scenario`, except those in the cache."""
    if not program.of("scenario") and program.of("benchmark"):
        where = program.of("benchmark")[0].head
        help_ = "write `scenario NAME { … }`"
        message = "this benchmark has no scenario"
        program.diagnostics.error("E0206", message, where, help=help_, lacking=program.lost)
    cache = memory.scenarios if memory is not None else LoweredCache()
    cache.enter(_surroundings(program))
    for statement in program.of("scenario"):
        lowered = cache.find(statement)
        if lowered is None:
            own = fork_program(program)
            lowered = program_additions(program, own, _scenario(own, statement))
            cache.keep(statement, lowered)
        if program.declared["scenario"].get(statement.name().text) is not statement.name():
            program.diagnostics.extend(lowered.diagnostics, lowered.failures)  # its name is repeated
            program.index.add(lowered.index)
            continue
        lowered.add_to(program)
        scenario: Scenario | None = lowered.result
        if scenario is not None:
            program.scenarios[scenario.name] = scenario


def _surroundings(program: Program) -> tuple[object, ...]:
    """Return everything that a scenario can depend on besides its own statement: declarations outside scenarios, the
    names of the scenarios, and the data.
    """
    outside = [statement for statement in program.statements if statement.construct not in INDEPENDENT_CONSTRUCTS]
    names = frozenset(program.declared.get("scenario", {}))
    lost = frozenset(program.diagnostics.skipped_names)
    functions = frozenset(plugin.version for plugin in program.plugins.values())
    return (*outside, names, lost, functions, str(program.diagnostics.skipped_files), program.data)


def _scenario(program: Program, statement: Statement) -> Scenario | None:
    """Lower a scenario in a fork of the program; None if it is wrong."""
    name = statement.name().text
    title = plain_title(statement, program.languages) if statement.labels() else name.replace("_", " ")
    program.numbers = locale_in(program, statement)
    attempt = program.diagnostics.attempt()
    cases = lower_rows(program, statement, lower_arms_of(program, statement, lower_context(program, statement)))
    are_cases_wrong = attempt.failed
    key = cases.loaded.dataset.key if cases.loaded is not None else None
    known = frozenset(
        {*(axis.name for axis in cases.axes), *([cases.alias] if cases.alias and cases.from_file else [])}
    )
    where = cases.rows.where if cases.rows is not None else None
    steps = Steps(program, name, cases.scope, cases.alias, where, key, known, cases=cases.known_rows, arms=cases.arms)
    attempt = program.diagnostics.attempt()
    for inner in statement.body:
        if inner.construct in LOWERED:
            steps.lower(inner, LOWERED[inner.construct])
    if not attempt.failed:  # otherwise a wrong step may be the missing namesake
        check_baselines(steps)
    for measure in statement.of("measure"):
        collect_columns(program, steps, measure)
    are_steps_wrong = attempt.failed
    for expect in statement.of("expect"):
        collect_columns(program, steps, expect)
    scored = any(
        inner.construct in SCORING_CONSTRUCTS or has_unknown_aggregate(program, inner) for inner in statement.body
    )
    if not scored and not any(isinstance(step, Column) for step in steps.lowered) and not are_steps_wrong:
        help_ = "add `score NAME = …` or `score SCORER(…)`"
        lacking = statement.block.span if statement.block is not None else None
        message = f"nothing scores scenario `{name}`"
        program.diagnostics.error("E0601", message, statement.head, help=help_, lacking=lacking)
        return None
    if are_cases_wrong or are_steps_wrong:
        return None
    attempt = program.diagnostics.attempt()
    lowered = treatments(steps, cases.arms)
    if attempt.failed:
        return None
    if not any(isinstance(step, Score | Grade | Compare | Column) for treatment in lowered for step in treatment.steps):
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
        treatments=lowered,
    )
    check_unused_steps(program, statement, scenario, steps)
    check_protocol(program, statement, scenario, cases, steps)
    names = frozenset({*scenario.axes, *([cases.alias] if cases.alias and cases.from_file else [])})
    counted = CountedCases(cases.count, names, cases.known_rows, cases.certain)
    pool = retrieval_corpora(program, scenario)
    data = known_rows(program, datasets_of(tuple(step for treatment in lowered for step in treatment.steps)))
    program.calls += count_calls(scenario, counted, program.roles, program.scorers, pool, data)
    return scenario
