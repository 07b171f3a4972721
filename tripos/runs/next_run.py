"""The forecast of the next run of a changed benchmark, with the models and items of the runs before the change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from tripos.errors import Failure
from tripos.runs.compilation import CompiledSpec
from tripos.runs.forecast import RunRow, forecast_values, foresee_run, read_runs
from tripos.runs.preparation import RunWarning, damage_warning, prepare
from tripos.runs.records import find_store
from tripos.runs.selection import Choices, has_models
from tripos.settings.config import Config
from tripos_compiler.language.sequential_stopping import says_until
from tripos_compiler.plan import Plan
from tripos_runtime.forecast.run_forecast import Forecast
from tripos_warehouse.errors import StoreError


@dataclass(frozen=True)
class NextRun:
    """The forecast of the next run. `runs` are the ids of the runs that it repeats, newest first; `models` fill the
    role under test."""

    forecast: Forecast
    runs: tuple[str, ...]
    models: tuple[str, ...]

    def asked(self, *tables: str) -> tuple[int, int]:
        """Return the least and the greatest number of calls for rows of these tables."""
        lines = [line for line in self.forecast.lines.values() if line.load.place[0] in tables]
        return sum(line.certain for line in lines), sum(line.most for line in lines)

    def to_json(self) -> dict[str, Any]:
        """Return the counts, and the forecast by scenario, arm, step, role and model, for JSON."""
        tables = {"replies": ("samples", "turns"), "judgements": ("judgements",), "vectors": ("vectors",)}
        counts = {name: self.asked(*each) for name, each in tables.items()}
        return {
            "runs": list(self.runs),
            "models": list(self.models),
            **{name: {"at_least": least, "at_most": most} for name, (least, most) in counts.items()},
            **forecast_values(self.forecast),
        }


def foresee_next(
    spec: CompiledSpec,
    before: Plan,
    given: Choices,
    config: Config,
    warn: Callable[[RunWarning | None], None],
) -> NextRun:
    """Forecast the run of a spec that repeats the stored runs of the version `before`: with their models, unless
    `given` replaces them, and over their items.

    Raises `Failure` R0201 if the models are unknown, and as `prepare` and `foresee_run` do.
    """
    try:
        store = find_store(config.store)
        runs = [] if store is None else read_runs(store, before.benchmark.name)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error
    alike = _alike(runs, before)
    choices = given if not alike else _repeated(alike, before, spec.plan, given)
    if not has_models(choices, config):
        message = f"the store has no run of {before.benchmark.name}, so nobody knows which models are asked next"
        raise Failure("R0201", message, "give them: --model PROVIDER/MODEL")
    prepared = prepare(spec, choices, config, approved=False)
    found = foresee_run(prepared, config, lambda error: warn(damage_warning(error)))
    asked = prepared.binding.of(prepared.binding.compared)
    return NextRun(found, tuple(each.run_id for each in alike), asked)


def _alike(runs: Sequence[RunRow], before: Plan) -> list[RunRow]:
    """Return the newest run of a version (or of the benchmark, if that version has none), and the runs of the same
    version that differ from it only in the models under test."""
    same = [each for each in runs if each.plan_digest == before.digest] or runs[:1]
    return [each for each in same if _apart(each) == _apart(same[0])]


def _apart(run: RunRow) -> object:
    """Return everything that distinguishes a run except its models under test."""
    others = {role: models for role, models in run.roles.items() if role != run.compared_role}
    chosen = {name: value for name, value in run.options.items() if name not in ("drawn", "withheld")}
    return others, chosen, sorted(run.scenarios), run.compared_role


def _repeated(runs: Sequence[RunRow], before: Plan, after: Plan, given: Choices) -> Choices:
    """Return the request for a run of the changed plan that repeats some runs, without what the plan no longer has."""
    newest = runs[0]
    compared = next(role.name for role in after.roles if role.kind == "compared")
    models = tuple(dict.fromkeys(name for run in reversed(runs) for name in run.roles[run.compared_role]))
    others = {role: tuple(names) for role, names in newest.roles.items() if role != newest.compared_role}
    known = [role.name for role in after.roles if role.name != compared]
    gone, new = [each for each in others if each not in known], [each for each in known if each not in others]
    if len(gone) == len(new) == 1:  # the role was renamed
        others[new[0]] = others[gone[0]]
    roles = {role: others[role] for role in known if others.get(role)}
    named = given.roles.get(compared, ())
    whole = {each.name for each in before.scenarios} <= set(newest.scenarios)
    kept = [each.name for each in after.scenarios if each.name in newest.scenarios]
    return replace(
        given,
        models=given.models or (() if named else models),
        roles={**roles, **given.roles},
        scenario=() if whole else kept,
        only=tuple(f"{name}={','.join(values)}" for name, values in (newest.options.get("only") or {}).items()),
        **_bounds(newest.options, before, after),
    )


def _bounds(options: Mapping[str, Any], before: Plan, after: Plan) -> dict[str, Any]:
    """Return the part of the request that limits the number of items."""
    until = options.get("until")
    found = {name: options.get(name) for name in ("limit", "seed", "subset", "shard")}
    if until is not None:
        declared = until["rule"] == "spec"
        seed = until["seed"] if options.get("seed") is None and until["seed"] else options.get("seed")
        return {**found, "seed": seed, "until": None if declared else "settled", "margin": until["margin"]}
    to_the_end = says_until(before) and says_until(after)
    return {**found, "until": "end" if to_the_end else None}
