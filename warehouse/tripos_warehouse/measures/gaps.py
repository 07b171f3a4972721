"""Gaps: scores that should be there and have no value, and calls that could not be made, each with its reason."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import asdict
from typing import Any

from tripos_compiler.plan import Aggregate, Column, Compare, Figure, Formula, Grade, Measure, Measured, Plan, Score
from tripos_compiler.source import dataclass
from tripos_warehouse import sql
from tripos_warehouse.query import Connection

UNDEFINED, NOT_APPLICABLE = "undefined", "not_applicable"
"""The statuses of what has no value because of a reply, and because of the row or a condition."""
NOT_ASKED = "not asked"
"""The kind of a gap that is a call which was not made."""


@dataclass(frozen=True)
class MissingResults:
    """`count` of `total` results that are not there for one `reason`; `name` is a metric, a step or a scorer."""

    kind: str
    name: str
    count: int
    total: int
    reason: str

    @property
    def shown(self) -> str:
        """Return what is missing, as a line says it.

        >>> reason = "`nth` has no value: a list of 1 has no item at position 1"
        >>> MissingResults("undefined", "right", 9, 10, reason).shown
        '9 of 10 right: `nth` has no value: a list of 1 has no item at position 1'
        """
        return f"{self.count:,} of {self.total:,} {self.name}: {self.reason}"

    def to_json(self) -> dict[str, Any]:
        """Return the gap as JSON values."""
        return asdict(self)


def find_gaps(connection: Connection, benchmark: str) -> tuple[MissingResults, ...]:
    """Return the gaps in what `connection` shows of a benchmark: scores that are undefined because of what a reply
    says, and calls that were not made because what they were to ask has no value; the most frequent first."""
    schema = sql.name(benchmark)
    scores = " union all ".join(
        f"select metric as name, score_id as id, status, error from {schema}.{table}" for table in ("scores", "columns")
    )
    calls = f"""select step as name, sample_id as id, status, error from {schema}.samples
      union all select scorer, judgement_id, status, error from {schema}.judgements"""
    found = [
        *_counted(connection, scores, UNDEFINED, (UNDEFINED,)),
        *_counted(connection, calls, NOT_ASKED, (UNDEFINED, NOT_APPLICABLE)),
    ]
    return tuple(sorted(found, key=lambda gap: (gap.kind, -gap.count, gap.name, gap.reason)))


def _counted(connection: Connection, rows: str, kind: str, statuses: tuple[str, ...]) -> Iterator[MissingResults]:
    lacking = ", ".join(map(sql.text, statuses))
    query = f"""select name, coalesce(error, 'no reason is kept'), count(distinct id) from ({rows})
    where status in ({lacking}) group by all"""
    found = connection.execute(query).fetchall()
    if not found:
        return
    names = ", ".join(sql.text(name) for name in sorted({name for name, _, _ in found}))
    counts = f"""select name, count(distinct id) from ({rows})
    where name in ({names}) and (status <> {sql.text(NOT_APPLICABLE)} or status in ({lacking})) group by all"""
    totals = dict(connection.execute(counts).fetchall())
    for name, reason, count in found:
        told = reason.removeprefix("not asked: ").removeprefix("not held: ")
        yield MissingResults(kind, name, count, totals[name], told)


def why_missing(connection: Connection, plan: Plan, figure: Figure, model: str) -> str:
    """Return the statuses of the scores of a model under a figure that have no value: "undefined, refused", the most
    frequent first; empty where all have one."""
    schema = sql.name(plan.benchmark.name)
    names = sorted(_scored(figure, {measure.name: measure.figure for measure in plan.measures}))
    known = ", ".join(map(sql.text, names)) or "''"
    query = f"""select status from (
      select model, metric, scorer, status from {schema}.scores where value is null
      union all select model, metric, null, status from {schema}.columns where value is null and given is null)
    where model = {sql.text(model)} and (metric in ({known}) or scorer in ({known}))
      and status <> {sql.text(NOT_APPLICABLE)}
    group by status order by count(*) desc, status"""
    return ", ".join(status for (status,) in connection.execute(query).fetchall())


def _scored(figure: Figure, measures: Mapping[str, Figure]) -> set[str]:
    """Return the names of scores, scorers and columns that a figure is taken from."""
    match figure:
        case Aggregate(of=None, values=values):
            return set(values)
        case Aggregate(of=inner) if inner is not None:
            return _scored(inner, measures)
        case Measured(measure=name):
            return _scored(measures[name], measures)
        case Formula(values=values):
            return {name for each in values for name in _scored(each, measures)}
    return set()


BY_A_RUN = "its values are not worked out yet: `tripos run` with this spec does"
WITHOUT_A_CALL = f"{BY_A_RUN}, without a call"


def find_unworked(plan: Plan, kept: Collection[str], measure: Measure) -> str | None:
    """Return what to say of a measure that has no rows; `kept` are the fingerprints of the run. None where the run
    knows all that the measure looks at."""
    wanted = list(looked_at(plan, measure.figure))
    found = [
        (scenario, step)
        for scenario in plan.scenarios
        for step in scenario.steps
        if isinstance(step, Score | Column | Grade | Compare) and step.fingerprint not in kept
        if any(within in (None, scenario.name) and is_called(step, name) for within, name in wanted)
    ]
    if not found:
        return None
    for scenario, step in found:
        asked = {each.fingerprint for each in scenario.steps if each.name in step.needs}
        if not isinstance(step, Score | Column) or not asked <= set(kept):
            return BY_A_RUN
    return WITHOUT_A_CALL


def looked_at(plan: Plan, figure: Figure) -> Iterator[tuple[str | None, str]]:
    """Yield the scenario, where it is one, and the name of everything that a figure is made of."""
    match figure:
        case Aggregate(of=None):
            yield from ((figure.scenario, name) for name in figure.values)
        case Aggregate(of=inner) if inner is not None:
            yield from looked_at(plan, inner)
        case Formula():
            for each in figure.values:
                yield from looked_at(plan, each)
        case Measured(measure=name):
            for measure in plan.measures:
                if measure.name == name:
                    yield from looked_at(plan, measure.figure)


def is_called(step: Score | Column | Grade | Compare, name: str) -> bool:
    """Return true if a figure that looks at `name` looks at what the step gives: by its name, its scorer's or a
    metric's."""
    return name == step.name or (
        isinstance(step, Grade | Compare) and name in (step.scorer, *getattr(step, "metrics", ()))
    )
