"""Facts behind the standings of a board, by model: its items, its runs, who graded it and who took part beside it."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from tripos_compiler.language.figures import why_no_headline
from tripos_compiler.plan import Ask, Converse, Measure, Plan, Retrieve
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures import (
    INTERRUPTED,
    OF_TWO_RUNS,
    UNFOLLOWED,
    MeasureRow,
    MeasureTable,
    as_told,
    followed_difference,
)
from tripos_warehouse.query import Connection
from tripos_warehouse.report.remarks import selection_of
from tripos_warehouse.statistics import StatisticResult
from tripos_warehouse.views import RunRecord, are_counted, get_selected, step_counts, sums_of

WHOLE = "overall"
"""What a measure is called that stands for its benchmark."""


def items_by_model(connection: Connection, plan: Plan, measure: Measure) -> dict[str, frozenset[str]]:
    """Return the items of every model, in the scenario of a measure where it has one. Models with the same items have
    one and the same set."""
    import numpy as np

    tables = [f"select model, item_id from {each}" for each in _scored(connection, plan, measure)]
    tables += [f"select model, item_id from {each}" for each in _compared(plan, measure)]
    query = f"select model, item_id from ({' union all '.join(tables)}) group by model, item_id"
    rows = connection.sql(query).to_arrow_table()
    models, items = (rows[name].combine_chunks().dictionary_encode() for name in ("model", "item_id"))
    del rows
    codes, of_model = items.indices.to_numpy(), models.indices.to_numpy()
    names = items.dictionary
    known: dict[bytes, frozenset[str]] = {}
    found = {}
    for place, model in enumerate(models.dictionary.to_pylist()):
        own = np.sort(codes[of_model == place])
        if (key := own.tobytes()) not in known:
            known[key] = frozenset(names.take(own).to_pylist())
        found[model] = known[key]
    return found


def _scored(connection: Connection, plan: Plan, measure: Measure, *, valued: bool = False) -> list[str]:
    """Return what has the scores and the columns of a benchmark, as they are behind `from`: the sums of them, or the
    views; in the scenario of a measure where it has one, and `valued` those that have a value."""
    there = "true" if measure.scenario is None else f"scenario = {sql.text(measure.scenario)}"
    sums, schema = sums_of(connection, plan.benchmark.name), sql.name(plan.benchmark.name)
    if sums is not None:
        has_value = '"its n" > 0' if valued else "true"
        return [f"{sums} where {there} and {has_value}"]
    has_value = "value is not null" if valued else "true"
    return [f"{schema}.{table} where {there} and {has_value}" for table in ("scores", "columns")]


def _compared(plan: Plan, measure: Measure) -> list[str]:
    """Return what has the comparisons of a benchmark, as `_scored` does: once for either side."""
    there = "true" if measure.scenario is None else f"scenario = {sql.text(measure.scenario)}"
    view = f"{sql.name(plan.benchmark.name)}.comparisons"
    return [f"(select *, {side}_model as model from {view}) as compared where {there}" for side in ("first", "second")]


def runs_of(connection: Connection, plan: Plan, measure: Measure) -> dict[str, tuple[str, ...]]:
    """The runs whose rows every model stands on."""
    tables = [f"select model, shown_run from {each}" for each in _scored(connection, plan, measure)]
    tables += [f"select model, shown_run from {each}" for each in _compared(plan, measure)]
    query = f"""select model, list_sort(list(distinct shown_run)) from ({" union all ".join(tables)}) group by model"""
    return {model: tuple(found) for model, found in connection.execute(query).fetchall()}


def parts_of(
    connection: Connection, shown: Mapping[str, tuple[str, ...]], runs: Sequence[RunRecord], models: Iterable[str]
) -> dict[str, str]:
    """Return of models that do not stand on all that the benchmark plans: on what, and why, by the runs whose rows they
    have: items that a release withholds or that somebody left out, and runs that did not come to their end."""
    by_id = {run.run_id: run for run in runs}
    of_run: dict[str, list[str]] = {}
    found = {}
    for model in models:
        told: dict[str, None] = {}
        for run in (by_id[each] for each in shown.get(model, ()) if each in by_id):
            if run.run_id not in of_run:
                selected = selection_of(connection, get_selected(connection, run), run)
                ended = None if run.ended else f"run {run.run_id} is {run.status}, so some is missing"
                cut_off = INTERRUPTED if run.interrupted else None
                of_run[run.run_id] = [each for each in (run.partial, selected, ended, cut_off) if each is not None]
            told |= dict.fromkeys(of_run[run.run_id])
        if told:
            found[model] = "; ".join(told)
    return found


def company_of(
    plan: Plan, measure: Measure, shown: Mapping[str, tuple[str, ...]], runs: Sequence[RunRecord]
) -> dict[str, tuple[str, ...]]:
    """Return who took part in the replies of every model, beside it and its judges: by the roles that are asked, talk,
    embed or make data sets."""
    scenarios = [each for each in plan.scenarios if measure.scenario in (None, each.name)]
    roles = {ask.role for made in plan.made for ask in made.asks}
    for step in (step for scenario in scenarios for step in scenario.steps):
        if isinstance(step, Ask):
            roles.add(step.role)
        elif isinstance(step, Converse):
            roles |= {speaker.role for speaker in step.speakers}
        elif isinstance(step, Retrieve) and step.using is not None:
            roles.add(step.using)
    by_id = {run.run_id: run for run in runs}
    return {
        model: tuple(
            sorted(
                {
                    f"{role}={name}"
                    for run in (by_id[each] for each in found if each in by_id)
                    for role in roles - {run.compared_role}
                    for name in run.roles.get(role, ())
                }
            )
        )
        for model, found in shown.items()
    }


def partly_of(connection: Connection, plan: Plan, measure: Measure, models: Iterable[str]) -> tuple[str, ...]:
    """Return the models that lack steps which others have, in the scenario of a measure where it has one."""
    found = step_counts(connection, plan.benchmark.name, measure.scenario)
    most = max((found.get(model, 0) for model in models), default=0)
    return tuple(sorted(model for model in models if found.get(model, 0) < most))


def graders_of(connection: Connection, plan: Plan, measure: Measure) -> dict[str, tuple[str, ...]]:
    """Return who graded the replies of every model, inside expressions too, in the scenario of a measure where it has
    one. People whose scores are apart are not among them."""
    there = "" if measure.scenario is None else f"and scenario = {sql.text(measure.scenario)}"
    schema, counted = sql.name(plan.benchmark.name), are_counted(plan)
    valued = _scored(connection, plan, measure, valued=True)
    sums = sums_of(connection, plan.benchmark.name)
    graded = f"{valued[0]} and evaluator is not null and {counted}" + (' and "is score"' if sums is not None else "")
    inside = " union all ".join(f"select model, unnest(judged_by) from {each}" for each in valued)
    compared = " union all ".join(
        f"select {side}_model, evaluator from {schema}.comparisons where value is not null {there} and {counted}"
        for side in ("first", "second")
    )
    query = f"""select model, list_sort(list(distinct evaluator)) from (
      select model, evaluator from {graded} union all {inside} union all {compared}) group by model"""
    return {model: tuple(found) for model, found in connection.execute(query).fetchall()}


def of_other_versions(
    newest: RunRecord, runs: Sequence[RunRecord], comparable: Callable[[str, str], bool]
) -> dict[str, tuple[str, ...]]:
    """Return the models that ran only under versions whose figures mean something else than those of the newest run."""
    under: dict[str, list[str]] = defaultdict(list)
    for run in runs:
        for model in run.models:
            if run.version not in under[model]:
                under[model].append(run.version)
    return {
        model: tuple(versions)
        for model, versions in under.items()
        if not any(comparable(version, newest.version) for version in versions)
    }


def headlines(plan: Plan) -> tuple[Measure, ...]:
    """Return the measures that stand for a benchmark: those of its `headline`. One that has none is judged by what
    comes to one value for each model: `overall`; else the first of the benchmark; else the first of each scenario."""
    if plan.benchmark.headline:
        return tuple(measure for name in plan.benchmark.headline for measure in plan.measures if measure.name == name)
    alone = [measure for measure in plan.measures if _is_alone(plan, measure)]
    first: dict[str | None, Measure] = {}
    for measure in sorted(alone, key=lambda each: each.name != WHOLE):
        first.setdefault(measure.scenario, measure)
    return (first[None],) if None in first else tuple(first.values())


def board_measure(plan: Plan, name: str) -> Measure:
    """Return the measure of a board that was asked for. Raises `StoreError` S0602 for one that the benchmark has not,
    or that does not come to one value for each model."""
    known = {measure.name: measure for measure in plan.measures}
    if name not in known:
        close = nearest(name, known)
        hint = f"did you mean `{close}`?" if close else f"its measures are {', '.join(known)}"
        raise StoreError("S0602", f"`{plan.benchmark.name}` has no measure `{name}`", hint)
    if not _is_alone(plan, known[name]):
        message = f"`{name}` of `{plan.benchmark.name}` does not come to one value for each model"
        those = [each.name for each in plan.measures if _is_alone(plan, each)]
        raise StoreError("S0602", message, f"these do: {', '.join(those)}" if those else "none of its measures does")
    return known[name]


def _is_alone(plan: Plan, measure: Measure) -> bool:
    """Return true if it comes to one value for each model."""
    return why_no_headline(measure, {each.name: each for each in plan.measures}) is None


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most like another, if any is."""
    return next(iter(difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)), None)


def followed_until_settled(
    shown: Mapping[str, tuple[str, ...]], runs: Sequence[RunRecord]
) -> dict[str, tuple[RunRecord, ...]]:
    """Return the models with rows of a run that was to stop when it is settled, and the runs of their rows."""
    by_id = {run.run_id: run for run in runs}
    of_model = {model: tuple(by_id[each] for each in ids if each in by_id) for model, ids in shown.items()}
    return {model: found for model, found in of_model.items() if any(run.settled is not None for run in found)}


def unfinished_of(followed: Mapping[str, tuple[RunRecord, ...]]) -> dict[str, str]:
    """Return the models whose run of a release stopped early, with the items on which they stand: the board of a
    release is of all of them."""
    found = {}
    for model, runs in followed.items():
        for run in runs:
            if run.release is not None and run.stopped_early and run.settled is not None:
                items, every = run.settled["models"].get(model, 0), run.settled["of"]
                found[model] = f"stopped after {items:,} of {every:,} items"
    return found


def as_of_runs(table: MeasureTable, followed: Mapping[str, tuple[RunRecord, ...]]) -> Iterator[MeasureRow]:
    """Yield the values of a measure; of models with rows of one run that stopped early as that run tells them, and of
    those with more without an interval."""
    for row in table.rows:
        if not any(run.stopped_early for run in followed.get(row.model, ())):
            yield row
            continue
        first, *others = followed[row.model]
        run = first if not others else replace(first, settled={"models": {row.model: 0}, "of": 1, "figures": []})
        yield from as_told(run, replace(table, rows=(row,))).rows


def settled_between(
    measure: str, followed: Mapping[str, tuple[RunRecord, ...]], first: str, second: str
) -> StatisticResult | None:
    """Return how two models differ by the sequence of the one run that both have their rows of; `None` if there is
    none, and nothing stopped early. Else no test holds, and nothing is told."""
    runs = {run.run_id: run for each in (first, second) for run in followed.get(each, ())}
    if len(runs) == 1 and first in followed and second in followed:
        found = followed_difference(next(iter(runs.values())), measure, first, second)
        if found is not None:
            return found
    if any(model in run.stopped_models for model in (first, second) for run in followed.get(model, ())):
        return StatisticResult.undefined(UNFOLLOWED if len(runs) == 1 else OF_TWO_RUNS)
    return None
