"""Whether every axis of a context is said to somebody."""

from __future__ import annotations

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.lower.context import Cases
from tripos_compiler.lower.step_uses import template_exprs
from tripos_compiler.lower.steps import Steps
from tripos_compiler.plan import Ask, Derived, Made
from tripos_compiler.program import Program
from tripos_compiler.semantics.names import names_in


def said_in(made: Made) -> dict[str, set[str]]:
    """For every language the names that are printed where the rows of a data set are written."""
    asks = [step if isinstance(step, Ask) else step.ask for step in made.steps if not isinstance(step, Derived)]
    found: dict[str, set[str]] = {}
    for ask in asks:
        for language, template in [*(ask.system or {}).items(), *(ask.prompt or {}).items()]:
            found.setdefault(language, set()).update(
                name for expr in template_exprs(template) for name in names_in(expr)
            )
    return found


def check_mentions(program: Program, statement: Statement, cases: Cases, steps: Steps) -> None:
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
        report = program.diagnostics.warning if cases.from_file else program.diagnostics.error
        report("E0401", message, written.head, help=help_)
