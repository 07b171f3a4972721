"""The options that `plan` and `run` share: who fills the roles, and which cases are run."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping

from tripos.config import Config
from tripos.failure import Failure
from tripos_compiler.diagnostics import nearest
from tripos_compiler.plan import Plan
from tripos_runtime.binding import Binding, BindingError, bind
from tripos_runtime.cases import Selection


def chosen_binding(options: Namespace, config: Config, plan: Plan) -> Binding:
    """The models of every role; flags win over `tripos.toml`. Raises `Failure` where a role stays empty."""
    flags = _role_flags(options)
    compared = next(role.name for role in plan.roles if role.kind == "compared")
    if options.model and compared in flags:
        message = f"`--model` and `--role {compared}=…` fill the same role"
        raise Failure("R0202", message, "give one of them")
    models = _names(options.model) or flags.get(compared) or config.models or config.roles.get(compared, ())
    # A project's file may serve several benchmarks: a role that this one has not is passed over there, not in a flag.
    known = {role.name for role in plan.roles}
    for name in config.roles.keys() - known:
        close = nearest(name, known - config.roles.keys())
        if close is not None:
            raise Failure(
                "R0203", f"tripos.toml fills a role `{name}`, which this benchmark has not", f"did you mean `{close}`?"
            )
    shared = {name: each for name, each in config.roles.items() if name in known}
    others = {name: each for name, each in {**shared, **flags}.items() if name != compared}
    try:
        return bind(plan, models, others)
    except BindingError as error:
        raise Failure(error.code, error.message, error.hint) from error


def has_models(options: Namespace, config: Config) -> bool:
    """Whether anything says which models take part."""
    return bool(options.model or options.role or config.models or config.roles)


def _role_flags(options: Namespace) -> dict[str, tuple[str, ...]]:
    flags: dict[str, tuple[str, ...]] = {}
    for text in options.role:
        name, equals, models = text.partition("=")
        if not equals or not _names([models]):
            raise Failure("R0202", f"`--role {text}` names no model", "write --role NAME=PROVIDER/MODEL")
        flags[name] = (*flags.get(name, ()), *_names([models]))
    return flags


def chosen_cases(options: Namespace, plan: Plan) -> Selection:
    """Which cases are run. Raises `Failure` for a scenario that the plan has not."""
    known = [scenario.name for scenario in plan.scenarios]
    for name in options.scenario:
        if name not in known:
            close = nearest(name, known)
            hint = f"did you mean `{close}`?" if close else f"its scenarios are {', '.join(known)}"
            raise Failure("R0202", f"the benchmark has no scenario `{name}`", hint)
    if options.seed is not None and options.limit is None:
        raise Failure("R0202", "`--seed` draws items, and nothing says how many", "give --limit N too")
    return Selection(tuple(options.scenario), options.limit, options.seed)


def calls_by_scenario(plan: Plan, selection: Selection, models: Mapping[str, int]) -> dict[str, dict[str, int]]:
    """Model calls by scenario and role; `models` says how many models fill each role."""
    counts: dict[str, dict[str, int]] = {}
    scenarios = {scenario.name: scenario for scenario in selection.chosen(plan)}
    for count in plan.calls:
        scenario = scenarios.get(count.scenario)
        if scenario is None:
            continue
        calls = count.calls * selection.count(scenario) // max(scenario.row_count, 1)
        for role in count.times:
            calls *= models.get(role, 1)
        by_role = counts.setdefault(scenario.name, {})
        by_role[count.role] = by_role.get(count.role, 0) + calls
    return counts


def _names(values: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.strip() for value in values for name in value.split(",") if name.strip()))
