"""The forecast of the next run of a changed benchmark, with the models and items of the runs before the change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tripos.runs.compilation import CompiledSpec
from tripos.runs.forecast import RunRow, forecast_run, forecast_values, read_runs
from tripos.runs.preparation import RunWarning, damage_warning, prepare
from tripos.runs.records import find_store
from tripos.runs.selection import RunRequest, names_any_model
from tripos.settings.config import Config
from tripos.settings.options import MODEL
from tripos_compiler.errors import TriposError
from tripos_compiler.language.sequential_stopping import has_stopping_rule
from tripos_compiler.plan import Plan
from tripos_runtime.forecast.run_forecast import Forecast


@dataclass(frozen=True)
class NextRun:
    """The forecast of the next run. `runs` are the ids of the runs that it repeats, newest first; `models` are those of
    the compared role."""

    forecast: Forecast
    runs: tuple[str, ...]
    models: tuple[str, ...]

    def call_range(self, *tables: str) -> tuple[int, int]:
        """Return the least and the greatest number of calls for rows of these tables."""
        lines = [line for line in self.forecast.lines.values() if line.load.place[0] in tables]
        return sum(line.certain for line in lines), sum(line.most for line in lines)

    def to_json(self) -> dict[str, Any]:
        """Return the counts, and the forecast by scenario, arm, step, role and model, for JSON."""
        tables = {"replies": ("samples", "turns"), "judgements": ("judgements",), "vectors": ("vectors",)}
        counts = {name: self.call_range(*table) for name, table in tables.items()}
        return {
            "runs": list(self.runs),
            "models": list(self.models),
            **{name: {"at_least": least, "at_most": most} for name, (least, most) in counts.items()},
            **forecast_values(self.forecast),
        }


def forecast_next_run(
    spec: CompiledSpec,
    before: Plan,
    request: RunRequest,
    config: Config,
    warn: Callable[[RunWarning], None],
) -> NextRun:
    """Return the forecast of the run of a spec that repeats the stored runs of the version `before`: over their items,
    and with their models except those that `request` replaces. `warn` receives warnings about the store.

    Raises `TriposError` R0201 if the models are unknown, and as `prepare` and `forecast_run` do.
    """
    store = find_store(config.store)
    runs = [] if store is None else read_runs(store, before.benchmark.name)
    repeated = _comparable_runs(runs, before)
    choices = request if not repeated else _repeated_request(repeated, before, spec.plan, request)
    if not names_any_model(choices, config):
        message = f"the store has no run of {before.benchmark.name}, so nobody knows which models are asked next"
        raise TriposError("R0201", message, f"give them: {MODEL} PROVIDER/MODEL")
    prepared = prepare(spec, choices, config, approved=False)
    estimate = forecast_run(prepared, config, lambda error: warn(damage_warning(error)))
    asked = prepared.binding.of(prepared.binding.compared)
    return NextRun(estimate, tuple(row.run_id for row in repeated), asked)


def _comparable_runs(runs: Sequence[RunRow], before: Plan) -> list[RunRow]:
    """Return the newest run of a version (or of the benchmark, if that version has none), and the runs of the same
    version that differ from it only in the compared models."""
    same = [run for run in runs if run.plan_digest == before.digest] or runs[:1]
    return [row for row in same if _run_setup(row) == _run_setup(same[0])]


def _run_setup(run: RunRow) -> object:
    """Return everything that distinguishes a run except its compared models."""
    others = {role: models for role, models in run.roles.items() if role != run.compared_role}
    chosen = {name: value for name, value in run.options.items() if name not in ("drawn", "withheld")}
    return others, chosen, sorted(run.scenarios), run.compared_role


def _repeated_request(runs: Sequence[RunRow], before: Plan, after: Plan, request: RunRequest) -> RunRequest:
    """Return the request for a run of the plan `after` that repeats runs of the plan `before`, without roles and
    scenarios that only `before` has."""
    newest = runs[0]
    compared = next(role.name for role in after.roles if role.kind == "compared")
    models = tuple(dict.fromkeys(name for run in reversed(runs) for name in run.roles[run.compared_role]))
    others = {role: tuple(names) for role, names in newest.roles.items() if role != newest.compared_role}
    known = [role.name for role in after.roles if role.name != compared]
    lost_roles, new_roles = (
        [other for other in others if other not in known],
        [each for each in known if each not in others],
    )
    if len(lost_roles) == len(new_roles) == 1:  # the role was renamed
        others[new_roles[0]] = others[lost_roles[0]]
    roles = {role: others[role] for role in known if others.get(role)}
    named = request.roles.get(compared, ())
    has_all_scenarios = {scenario.name for scenario in before.scenarios} <= set(newest.scenarios)
    scenarios = [scenario.name for scenario in after.scenarios if scenario.name in newest.scenarios]
    return replace(
        request,
        models=request.models or (() if named else models),
        roles={**roles, **request.roles},
        scenario=() if has_all_scenarios else scenarios,
        only=tuple(f"{name}={','.join(values)}" for name, values in (newest.options.get("only") or {}).items()),
        **_item_limits(newest.options, before, after),
    )


def _item_limits(options: Mapping[str, Any], before: Plan, after: Plan) -> dict[str, Any]:
    """Return the part of the request that limits the number of items."""
    until = options.get("until")
    limits = {name: options.get(name) for name in ("limit", "seed", "subset", "shard")}
    if until is not None:
        declared = until["rule"] == "spec"
        seed = until["seed"] if options.get("seed") is None and until["seed"] else options.get("seed")
        return {**limits, "seed": seed, "until": None if declared else "settled", "margin": until["margin"]}
    to_the_end = has_stopping_rule(before) and has_stopping_rule(after)
    return {**limits, "until": "end" if to_the_end else None}
