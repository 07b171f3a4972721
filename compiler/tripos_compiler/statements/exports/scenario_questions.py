"""Lowers `asks STEP of SCENARIO` and `beside DATASET` of an export: a scenario's question about other rows."""

from __future__ import annotations

from collections.abc import Mapping

from tripos_compiler.constructs import Statement
from tripos_compiler.diagnostics import Label
from tripos_compiler.language import evaluate
from tripos_compiler.plan import Ask, AskedAs, ChoiceType, Partner, Retrieve, Scenario, Treatment
from tripos_compiler.resolve import Binding, LoadedDataset, Program, Scope, row_binding
from tripos_compiler.source import Name
from tripos_compiler.typing import Elaborator


def rows_of_file(program: Program, dataset: Name, reason: str) -> LoadedDataset | None:
    """Return the data set of a file that a name means; None where there is none, or where it is made by a run, which is
    reported with the reason."""
    if not program.is_declared("dataset", dataset):
        return None
    loaded = program.rowsets.get(dataset.text)
    if loaded is None or not loaded.sound:
        return None
    if not loaded.known:
        message = f"`{dataset.text}` is made by a run, and {reason}"
        program.diagnostics.error("E0301", message, dataset.span, help="name a data set that is read from a file")
        return None
    return loaded


def lower_partner(
    program: Program, statement: Statement, scope: Scope
) -> tuple[Partner, LoadedDataset, Binding] | None:
    """Return the row beside each, with its data set and the name that it has in `scope`; None where it is wrong, which
    was reported."""
    dataset = statement.name("dataset")
    loaded = rows_of_file(program, dataset, "what stands beside a row is a row of a file")
    if loaded is None:
        return None
    alias = statement.find_name("alias") or dataset
    if alias.text in scope:
        message = f"`{alias.text}` is the row already"
        program.diagnostics.error("E0202", message, alias.span, help="give the other row another name: `as x`")
        return None
    binding = row_binding(loaded, alias.text, alias.span)
    where = None
    if (written := statement.find("filter")) is not None:
        seen = {**scope, alias.text: binding}
        program.index.scopes.append((written.span, seen))
        typed = Elaborator(program, seen).condition(written)
        if typed is None:
            return None
        where = typed.expr
    return Partner(dataset=loaded.dataset.name, alias=alias.text, where=where), loaded, binding


def lower_asked_as(program: Program, statement: Statement, rows: Mapping[str, LoadedDataset]) -> AskedAs | None:
    """Return what the scenario asks about one of `rows`, which are known by their aliases, the first of them where
    nothing else is said; None where that is wrong, which was reported."""
    named, step = statement.name("scenario"), statement.name("step")
    if not program.is_declared("scenario", named):
        return None
    scenario = program.scenarios.get(named.text)
    if scenario is None:  # it has a mistake
        return None
    about = statement.find_name("alias")
    if about is not None and about.text not in rows:
        help_ = f"there is {' and '.join(f'`{each}`' for each in rows)}"
        program.diagnostics.error("E0201", f"no row is known as `{about.text}`", about.span, help=help_)
        return None
    alias = about.text if about is not None else next(iter(rows))
    treatment = _treatment(program, statement, scenario, step)
    if treatment is None or not _fits(program, scenario, rows[alias], named):
        return None
    return AskedAs(scenario=scenario.name, step=step.text, about=alias, arms=treatment.arms)


def _treatment(program: Program, statement: Statement, scenario: Scenario, step: Name) -> Treatment | None:
    """Return the treatment under which it is asked."""
    condition = statement.find("cond")
    held = scenario.treatments
    if condition is not None:
        arms = {
            name: ChoiceType(values=tuple(each.name for each in program.arms[name].values), axis=name)
            for name in scenario.arms
        }
        scope = {name: Binding((name,), type_) for name, type_ in arms.items()}
        program.index.scopes.append((condition.span, scope))
        typed = Elaborator(program, scope).condition(condition)
        if typed is None:
            return None
        held = tuple(each for each in held if evaluate(typed.expr, each.arms))
    asking = [each for each in held if any(isinstance(one, Ask) and one.name == step.text for one in each.steps)]
    if not asking:
        asks = sorted({each.name for each in scenario.steps if isinstance(each, Ask)})
        help_ = f"it asks {', '.join(f'`{each}`' for each in asks)}" if step.text not in asks else "look at its `when`"
        program.diagnostics.error("E0201", f"`{scenario.name}` does not ask `{step.text}`", step.span, help=help_)
        return None
    if len({each.ask(step.text).fingerprint for each in asking}) > 1:
        value = " and ".join(f"{name} == {each}" for name, each in asking[0].arms.items())
        message = f"`{scenario.name}` asks `{step.text}` otherwise under each arm"
        program.diagnostics.error("E0206", message, statement.head, help=f"say under which: `when {value}`")
        return None
    return asking[0] if _alone(program, asking[0], step) else None


def _alone(program: Program, treatment: Treatment, step: Name) -> bool:
    """Return true if the compared role is asked, so that no secret is told, and what is asked follows from the row,
    without anybody's reply; reports where it does not."""
    ask = treatment.ask(step.text)
    if program.roles[ask.role].kind != "compared":
        message = f"`{step.text}` is asked of `{ask.role}`, who may be told what is secret"
        program.diagnostics.error("E0208", message, step.span, help="name a step that asks the compared role")
        return False
    free = {each.name for each in treatment.steps if isinstance(each, Retrieve) and each.using is None}
    if waits := [need for need in ask.needs if need not in free]:
        message = f"`{step.text}` is asked about what `{waits[0]}` yields, and an export asks nobody"
        program.diagnostics.error("E0301", message, step.span, help="name a step that needs only the row")
        return False
    return True


def _fits(program: Program, scenario: Scenario, loaded: LoadedDataset, named: Name) -> bool:
    """Return true if the scenario could run over these rows: they have every field of its own, of the same type."""
    if scenario.rows is None or (own := program.loaded.get(scenario.rows.dataset)) is None:
        message = f"`{scenario.name}` does not run over the rows of a file"
        program.diagnostics.error("E0301", message, named.span, help='write the prompt: `prompt "…"`')
        return False
    has = {field.name: field.type for field in loaded.dataset.fields}
    lacking = [field.name for field in own.dataset.fields if has.get(field.name) != field.type]
    if not lacking:
        return True
    label = Label(program.declared["dataset"][loaded.dataset.name].span, "these rows")
    message = f"`{scenario.name}` runs over rows with a `{lacking[0]}`, which `{loaded.dataset.name}` has not"
    help_ = f"read them with the same fields: `like {own.dataset.name}`"
    program.diagnostics.error("E0308", message, named.span, label, help=help_)
    return False
