"""Warnings of declarations that nothing uses, and of axes that nobody is told."""

from __future__ import annotations

from tripos_compiler.constructs import Statement
from tripos_compiler.language import names_in
from tripos_compiler.plan import Ask, Converse, Derived, Made, Retrieve, Scenario
from tripos_compiler.resolve import Program
from tripos_compiler.statements.analysis import names_used, template_expressions
from tripos_compiler.statements.scenarios.contexts import ScenarioCases
from tripos_compiler.statements.steps import Steps


def said_in(made: Made) -> dict[str, set[str]]:
    """For every language the names that are printed where the rows of a data set are written."""
    asks = [step if isinstance(step, Ask) else step.ask for step in made.steps if not isinstance(step, Derived)]
    found: dict[str, set[str]] = {}
    for ask in asks:
        for language, template in [*(ask.system or {}).items(), *(ask.prompt or {}).items()]:
            found.setdefault(language, set()).update(
                name for expr in template_expressions(template) for name in names_in(expr)
            )
    return found


def check_unused_axes(program: Program, statement: Statement, cases: ScenarioCases, steps: Steps) -> None:
    """Every axis of the context should be said to somebody; rows of a file may say it in their own words."""
    written = statement.one_of("context")
    if written is None:
        return
    made = program.made.get(cases.rows.dataset) if cases.rows is not None else None
    for language, names in (said_in(made) if made is not None else {}).items():
        steps.mentioned.setdefault(language, set()).update(names)
    for axis in cases.axes:
        if axis.name == "language":
            continue
        silent = [language for language in program.languages if axis.name not in steps.mentioned.get(language, set())]
        if not silent:
            continue
        where = "" if len(silent) == len(program.languages) else f" in {' and '.join(silent)}"
        message = f"no prompt mentions `{axis.name}`{where}"
        help_ = f"put `{{{{ {axis.name} }}}}` in a prompt, or take it out of the context"
        if cases.from_file:
            program.diagnostics.warning("W0401", message, written.head, help=help_)
        else:
            program.diagnostics.error("E0401", message, written.head, help=help_)


KINDS = ("role", "axis", "arm", "tree", "tool", "dataset", "scorer", "function", "aggregate")
"""What is reported where nothing in any file names it."""


OF_USE = frozenset({"W0209", "W0610", "W0611"})


def check_unused_steps(program: Program, statement: Statement, scenario: Scenario, steps: Steps) -> None:
    """Warn of replies that nothing takes, and of arms under which nothing differs."""
    taken = {name for treatment in scenario.treatments for step in treatment.steps for name in names_used(step)}
    left = [step for step in steps.lowered if isinstance(step, Ask | Converse | Retrieve) and step.name not in taken]
    for name in {steps.wholes[step.name].text: steps.wholes[step.name] for step in left}.values():
        # of an ask with several prompts the last turn is not taken
        message = f"nothing uses the result of `{name.text}`"
        help_ = "score it, put it in a prompt, or remove the step: its calls are paid for"
        program.diagnostics.warning("W0611", message, name.span, help=help_)
    for arm in scenario.arms:
        alike: dict[tuple[tuple[str, str], ...], set[tuple[str, ...]]] = {}
        for treatment in scenario.treatments:
            others = tuple(sorted((name, value) for name, value in treatment.arms.items() if name != arm))
            alike.setdefault(others, set()).add(tuple(step.fingerprint for step in treatment.steps))
        if all(len(kinds) == 1 for kinds in alike.values()):
            written = statement.one_of("arms")
            where = written.head if written is not None else statement.head
            message = f"nothing in this scenario depends on the arm `{arm}`"
            help_ = f'say what differs: `system "…" when {arm} == …`, or take it out of `arms`'
            program.diagnostics.warning("W0610", message, where, help=help_)


def check_unused_declarations(program: Program) -> None:
    """Warn of declarations of the main file that nothing names. What a used file declares may serve others."""
    if program.diagnostics.failed:  # what would use them may have been left out
        items = program.diagnostics.items
        program.diagnostics.items = [item for item in items if item.code not in OF_USE]
        return
    used = {use.symbol for use in program.index.uses.values()}
    for kind in KINDS:
        for name, declared in program.declared.get(kind, {}).items():
            if declared.span not in used and declared.span.source is program.sources[0]:
                is_value = kind == "scorer" and name in program.formulas and not program.formulas[name].scores
                message = f"{'value' if is_value else kind} `{name}` is never used"
                program.diagnostics.warning("W0209", message, declared.span, help="use it, or remove it")
