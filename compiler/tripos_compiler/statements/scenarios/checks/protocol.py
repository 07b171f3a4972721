"""Mistakes of a protocol that leave a spec well formed and its figures wrong: warnings over the rows of a scenario.

Each is found from the plan's steps and the rows that the compiler has read; none needs a model. `trial_replies` tries
what scores give to replies that nobody would call an answer.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from tripos_compiler.constructs import Statement
from tripos_compiler.language import NoValue, Unavailable, evaluate, names_in, paths_in, subexpressions
from tripos_compiler.language.library import arguments_of
from tripos_compiler.plan import Ask, Call, Column, Converse, Expr, Retrieve, Scenario, Score, Step, written
from tripos_compiler.resolve import Program
from tripos_compiler.source import Span
from tripos_compiler.statements.analysis import step_expressions
from tripos_compiler.statements.scenarios.checks.contamination import check_shown
from tripos_compiler.statements.scenarios.checks.trial_replies import check_replies
from tripos_compiler.statements.scenarios.contexts import ScenarioCases
from tripos_compiler.statements.steps import Steps, length_in

MOST_ROWS = 2_000
"""So many rows are compared with each other."""
LETTERED = {"chosen_option": "options", "lettered": "items"}
"""The functions that take the options of a question, and the parameter that does."""


def check_protocol(
    program: Program, statement: Statement, scenario: Scenario, cases: ScenarioCases, steps: Steps
) -> None:
    """Warn of what makes the figures of a scenario mean less than they seem to."""
    _samples_alike(program, steps)
    if not cases.from_file or cases.alias is None or not cases.kept:
        return
    rows = list(islice(cases.kept, MOST_ROWS))
    shown = _shown(steps.lowered, cases)
    if len(rows) > 1 and not shown and _all_asked_of_rows(scenario):
        message = f"no prompt shows the row `{cases.alias}`: every row asks the same"
        help_ = f"put a field of `{cases.alias}` in a prompt, or run over no rows"
        program.diagnostics.warning("W1006", message, statement.head, help=help_)
    elif shown:
        _asked_twice(program, statement, cases, rows, shown, steps)
    _options(program, cases, rows, shown, steps)
    _keys(program, cases.kept, steps)
    _prompts(program, cases.kept, steps)
    check_shown(program, steps, cases, rows)
    check_replies(program, scenario, cases, steps, shown)


def _samples_alike(program: Program, steps: Steps) -> None:
    sampled = [step for step in steps.lowered if isinstance(step, Ask) and step.samples > 1]
    for name, step in {steps.wholes[step.name].text: step for step in sampled}.items():
        if step.settings.copies:
            message = f"`{name}` is sampled {step.samples} times at temperature 0: the replies are copies"
            help_ = "raise the temperature, or ask once: copies of a reply make no figure more certain"
            program.diagnostics.warning("W1007", message, steps.wholes[step.name].span, help=help_)


def _told(step: Step) -> Iterator[Expr]:
    """Yield the expressions of the texts that a step sends to a model. Settings show nothing."""
    if isinstance(step, Ask | Converse):
        asked = (step,) if isinstance(step, Ask) else step.speakers
        silent = {id(step.when), *(id(when) for each in asked for when in each.settings.conditions())}
        yield from (expr for expr in step_expressions(step) if id(expr) not in silent)
    elif isinstance(step, Retrieve):
        yield from step_expressions(step)


def _shown(steps: Sequence[Step], cases: ScenarioCases) -> frozenset[str]:
    """Return the fields of the row that some model is told of; with `*`, the whole row."""
    paths = {path for step in steps for expr in _told(step) for path in paths_in(expr)}
    below = {path[1] if len(path) > 1 else "*" for path in paths if path[0] == cases.alias}
    return frozenset(below | {path[0] for path in paths if path[0] in {axis.name for axis in cases.axes}})


def _all_asked_of_rows(scenario: Scenario) -> bool:
    """Return true if everything that is asked is asked anew for every row, and of nothing that differs without it."""
    steps = [step for treatment in scenario.treatments for step in treatment.steps]
    return any(isinstance(step, Ask | Converse) for step in steps)


def _asked_twice(
    program: Program,
    statement: Statement,
    cases: ScenarioCases,
    rows: list[dict[str, Any]],
    shown: frozenset[str],
    steps: Steps,
) -> None:
    """Rows that show a model the same are one question, whose scores count several times; where they want different
    answers, no reply is right for all."""
    assert cases.alias is not None
    if "*" in shown or cases.loaded is None:
        return
    looked = [step for step in steps.lowered if isinstance(step, Score | Column)]
    paths = {path for step in looked for path in paths_in(step.value) if path[0] == cases.alias and len(path) > 1}
    wanted = {path[1] for path in paths} - shown
    first: dict[str, int] = {}
    twice: list[tuple[int, int]] = []
    against: list[tuple[int, int]] = []
    for number, names in enumerate(rows, 1):
        row = names[cases.alias]
        asked = repr([(each, row.get(each, names.get(each))) for each in sorted(shown)])
        earlier = first.setdefault(asked, number)
        if earlier == number:
            continue
        other = rows[earlier - 1][cases.alias]
        (against if any(row.get(each) != other.get(each) for each in wanted) else twice).append((earlier, number))
    where = (statement.one_of("over") or statement).head
    if against:
        one, other_ = against[0]
        message = f"rows {one} and {other_} of this scenario ask the same and want different answers{_more(against)}"
        help_ = "correct the answers, or show the model a distinguishing field"
        program.diagnostics.warning("W1004", message, where, help=help_)
    if twice:
        one, other_ = twice[0]
        message = f"rows {one} and {other_} of this scenario ask the same{_more(twice)}"
        help_ = "remove the copies: a repeated question counts twice in every figure"
        program.diagnostics.warning("W1003", message, where, help=help_)


def _more(pairs: Sequence[object]) -> str:
    return f", as do {len(pairs) - 1} more pairs" if len(pairs) > 2 else ", as does one more pair" * (len(pairs) - 1)


def _options(
    program: Program, cases: ScenarioCases, rows: list[dict[str, Any]], shown: frozenset[str], steps: Steps
) -> None:
    """Options that no prompt shows, and options that stand twice in a row."""
    known = {cases.alias, *(axis.name for axis in cases.axes)}
    seen: set[str] = set()
    for step in steps.lowered:
        for expr in step_expressions(step):
            for call in (part for part in subexpressions(expr) if isinstance(part, Call) and part.function in LETTERED):
                options = arguments_of(call)[LETTERED[call.function]]
                key = written(options).model_dump_json()
                if not names_in(options) <= known or key in seen:
                    continue
                where = _place(steps, step)
                fields = {path[1] for path in paths_in(options) if path[0] == cases.alias and len(path) > 1}
                if call.function == "chosen_option" and fields and not fields & shown and "*" not in shown:
                    named = step.name.partition(".")[0]  # of what a measure looks at the measure
                    message = f"`{named}` reads which option is chosen, and no prompt shows the options"
                    help_ = "print them: `{{ lettered(…) }}`"
                    program.diagnostics.warning("W1005", message, where, help=help_)
                    seen.add(key)
                    continue
                double = [number for number, names in enumerate(rows, 1) if _has_double(options, names)]
                if double:
                    seen.add(key)
                    more = f", and in {len(double) - 1} more" if len(double) > 1 else ""
                    message = f"an option stands twice in row {double[0]} of this scenario{more}"
                    help_ = "mend the row: of two options that say the same one is counted as wrong"
                    program.diagnostics.warning("W1009", message, where, help=help_)


def _keys(program: Program, rows: Sequence[Mapping[str, Any]], steps: Steps) -> None:
    """Keys that name none of the options that their row has."""
    for statement in steps.options:
        fields = steps.scope[statement.name().text].fields
        options, place = fields["options"].value, fields["right"].value
        assert isinstance(place, Call)
        if place.function == "shuffled_place":  # the order may be that of an arm
            options = place.args[1]
            place = Call(function="nth", args=(options, place.args[0]))
        assert options is not None
        lacking = [number for number, names in enumerate(rows, 1) if _lacks_key(options, place, names)]
        if lacking:
            more = f", nor in {len(lacking) - 1} more" if len(lacking) > 1 else ""
            message = f"the key names no option in row {lacking[0]} of this scenario{more}"
            help_ = "mend the key: a position is counted from 0, and a letter is one of those shown"
            program.diagnostics.warning("W1002", message, statement.syntax("key").span, help=help_)


def _prompts(program: Program, rows: Sequence[Mapping[str, Any]], steps: Steps) -> None:
    """Rows that have more prompts, or elements, than may be asked."""
    for counted in steps.scripts:
        longer = [
            number for number, names in enumerate(rows, 1) if (length_in(counted.listed, names) or 0) > counted.most
        ]
        if longer:
            more = f", and {len(longer) - 1} more have too many" if len(longer) > 1 else ""
            message = f"row {longer[0]} of this scenario has more than {counted.most} prompts{more}"
            if counted.noun == "elements":
                message = f"row {longer[0]} of this scenario has more than {counted.most} elements{more}"
            help_ = "write the greatest number that a row has"
            program.diagnostics.error("E0803", message, counted.span, help=help_)


def _lacks_key(options: Expr, place: Expr, names: Mapping[str, Any]) -> bool:
    try:
        if not evaluate(options, names):
            return False
        evaluate(place, names)
    except NoValue:
        return True
    except (Unavailable, LookupError):
        return False
    return False


def _has_double(options: Expr, names: Mapping[str, Any]) -> bool:
    try:
        values = evaluate(options, names)
    except (Unavailable, LookupError):
        return False
    texts = [" ".join(str(value).split()) for value in values]
    return len(set(texts)) < len(texts)


def _place(steps: Steps, step: Step) -> Span:
    if step.name in steps.scores:
        return steps.scores[step.name][0].span
    return steps.wholes[step.name].span if step.name in steps.wholes else steps.spans[step.name].span
