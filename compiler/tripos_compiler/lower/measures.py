"""Lowers measures to SQL over a benchmark's `scores` view.

A measure of `mean(x) by dims` is the mean of the scores in each cell; a measure of another measure is the mean of its
cells. The standard error is that of a mean clustered by item (Liang and Zeger, 1986): in a cell of m items an item's
pull on the mean is the sum over its scores of (score - mean) / number of scores, enlarged by the square root of
m / (m - 1), and the variance is the sum of squared pulls. In a mean of cells an item's pulls are added up over the
cells it is in and divided by their number, so items that share no cell make strata and metrics of one item stay
correlated. A cell of one item says nothing about its error, and then the error of the whole is unknown.
"""

from __future__ import annotations

from dataclasses import dataclass

from tripos_compiler.constructs.signature import Statement
from tripos_compiler.diagnostics import nearest
from tripos_compiler.plan import Grade, Measure, Score
from tripos_compiler.program import Program
from tripos_compiler.syntax.tree import CallExpr, Member, Name, Syntax

FIXED_DIMS = ("scenario", "metric", "dimension", "evaluator")


@dataclass(frozen=True)
class Origin:
    """What a measure is a mean of: the rows that match `condition`, averaged by `inner` first, then by `dims`."""

    condition: str
    inner: tuple[str, ...]
    low: float | None
    high: float | None
    mixed: bool


def lower_measures(program: Program) -> None:
    """Every `measure`, those that others build on first."""
    waiting = {statement.name().text: statement for statement in reversed(program.of("measure"))}
    origins: dict[str, Origin] = {}
    while waiting:
        ready = [name for name, statement in waiting.items() if _needs(statement) not in waiting]
        if not ready:
            name = next(name for name in program.declared["measure"] if name in waiting)
            circle = [name]
            while circle.index(name) == len(circle) - 1:
                name = _needs(waiting[name]) or ""
                circle.append(name)
            shown = " → ".join(circle[circle.index(name) :])
            message = f"these measures build on each other in a circle: {shown}"
            program.diagnostics.error("E0203", message, waiting[name].head, help="let one of them build on scores")
            return
        for name in ready:
            _measure(program, waiting.pop(name), origins)
    order = list(program.declared.get("measure", {}))
    program.measures = {name: program.measures[name] for name in order if name in program.measures}


def _argument(value: Syntax) -> Syntax | None:
    match value:
        case CallExpr(function=Name(text="mean"), arguments=(only,)) if len(only.elements) == 1 and only.name is None:
            return only.elements[0]
    return None


def _needs(statement: Statement) -> str | None:
    argument = _argument(statement.syntax("value"))
    own = statement.name().text  # a measure may have the name of the score that it is a mean of
    return argument.text if isinstance(argument, Name) and argument.text != own else None


def _measure(program: Program, statement: Statement, origins: dict[str, Origin]) -> None:
    value = statement.syntax("value")
    name = statement.name().text
    argument = _argument(value)
    if argument is None:
        close = None
        if isinstance(value, CallExpr) and isinstance(value.function, Name):
            close = nearest(value.function.text, ["mean"])
        help_ = "did you mean `mean`?" if close else "write `mean(x)` of a scorer, a score or a measure"
        program.diagnostics.error("E0301", "this is not an aggregate", value.span, help=help_)
        return
    dims = _dims(program, statement)
    origin = _origin(program, name, argument, origins)
    if dims is None or origin is None or program.benchmark is None:
        return
    if origin.mixed and "metric" not in dims and "metric" not in origin.inner:
        help_ = "take it `by metric`, or give the metrics one scale"
        program.diagnostics.error("E0702", "this averages metrics of different scales", value.span, help=help_)
        return
    lost = [dim for dim in dims if origin.inner and dim not in origin.inner]
    if lost:
        help_ = f"the measure below is by {', '.join(origin.inner)}"
        program.diagnostics.error("E0201", f"`{lost[0]}` is averaged away already", statement.head, help=help_)
        return
    origins[name] = Origin(origin.condition, dims, origin.low, origin.high, origin.mixed)
    sql = mean_sql(program.benchmark.name, origin.condition, origin.inner or dims, dims)
    low, high = (None, None) if origin.mixed else (origin.low, origin.high)
    program.measures[name] = Measure(name=name, by=dims, low=low, high=high, sql=sql)


def _dims(program: Program, statement: Statement) -> tuple[str, ...] | None:
    dims: list[str] = []
    for element in statement.many("dims"):
        assert isinstance(element, Name)
        if element.text in program.declared.get("axis", {}) and element.text not in program.axes:
            return None  # the axis itself was reported
        if element.text not in FIXED_DIMS and element.text not in program.axes:
            known = [*FIXED_DIMS, *program.axes]
            close = nearest(element.text, known)
            help_ = f"did you mean `{close}`?" if close else f"it goes by {', '.join(known)}"
            message = f"there is no dimension `{element.text}`"
            program.diagnostics.error("E0201", message, element.span, help=help_, unknown=element.text)
            return None
        dims.append(element.text)
    return tuple(dict.fromkeys(dims))


def _origin(program: Program, own: str, argument: Syntax, origins: dict[str, Origin]) -> Origin | None:
    name, scenario = argument, None
    if isinstance(argument, Member) and isinstance(argument.of, Name):
        name, scenario = argument.name, argument.of.text
        if not program.is_declared("scenario", argument.of):
            return None
    if not isinstance(name, Name):
        help_ = "name a scorer, a score or a measure"
        program.diagnostics.error("E0301", "a mean is taken of something with a name", argument.span, help=help_)
        return None
    if scenario is None and name.text != own:
        if name.text in origins:
            return origins[name.text]
        if name.text in program.declared.get("measure", {}):
            return None
    within = f" and scenario = {_quoted(scenario)}" if scenario else ""
    if name.text in program.declared.get("scorer", {}):
        if name.text not in program.scorers:
            return None
        metrics = {metric for marked in program.allocation.get(name.text, {}).values() for metric in marked}
        scales = {(m.low, m.high) for m in program.metrics.values() if m.name in metrics}
        low, high = next(iter(sorted(scales)), (None, None))
        return Origin(f"scorer = {_quoted(name.text)}{within}", (), low, high, len(scales) > 1)
    scores = _scores(program)
    if name.text in scores:
        return Origin(f"metric = {_quoted(name.text)}{within}", (), *scores[name.text], False)
    if len(program.scenarios) < len(program.declared.get("scenario", {})):
        return None  # a scenario that does not compile may declare it
    known = [*program.declared.get("scorer", {}), *scores, *program.declared.get("measure", {})]
    close = nearest(name.text, known)
    help_ = f"did you mean `{close}`?" if close else f"there is {', '.join(f'`{other}`' for other in known)}"
    message = f"there is no score or measure `{name.text}`"
    program.diagnostics.error("E0201", message, name.span, help=help_, unknown=name.text)
    return None


def _scores(program: Program) -> dict[str, tuple[float | None, float | None]]:
    """The named scores of all scenarios with their bounds, where they are known."""
    found: dict[str, tuple[float | None, float | None]] = {}
    for scenario in program.scenarios.values():
        for step in scenario.steps:
            if isinstance(step, Score):
                bounds = (0.0, 1.0) if step.truth else (None, None)
            elif isinstance(step, Grade) and not step.metrics:
                gives = program.scorers[step.scorer].gives
                bounds = (0.0, 1.0) if gives is not None and gives.kind == "bool" else (None, None)
            else:
                continue
            found[step.name] = bounds if found.get(step.name, bounds) == bounds else (None, None)
    return found


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def mean_sql(benchmark: str, condition: str, inner: tuple[str, ...], dims: tuple[str, ...]) -> str:
    """SQL for a mean by `dims` of means by `inner`, where `inner` contains `dims`; equal ones are a plain mean."""
    cell = ", ".join(["model", *(f'"{dim}"' for dim in inner)])
    pulls = f"""\
with chosen as (
  select {cell}, item_id, value,
    avg(value) over cell as mean, count(value) over cell as n, count(*) over cell as total
  from "{benchmark}".scores
  where {condition} and status <> 'not_applicable'
  window cell as (partition by {cell})
), pulls as (
  select {cell}, item_id, mean, n, total, sum(value - mean) / any_value(n) as pull
  from chosen
  group by all
)"""
    if set(inner) == set(dims):
        return f"""\
{pulls}
select {cell}, mean as value,
  case when count(pull) > 1 then sqrt(count(pull) / (count(pull) - 1) * sum(pull * pull)) end as standard_error,
  greatest(count(pull) - 1, 0) as df, count(pull) as items, n, total
from pulls
group by all
order by all
"""
    group = ["model", *(f'"{dim}"' for dim in dims)]
    groups = ", ".join(group)
    same = " and ".join(f"errors.{name} is not distinct from groups.{name}" for name in group)
    return f"""\
{pulls}, enlarged as (
  select *, count(pull) over cell as m,
    case when m > 1 then pull * sqrt(m / (m - 1)) end as enlarged
  from pulls
  window cell as (partition by {cell})
), cells as (
  select distinct {cell}, mean, n, total, m
  from enlarged
), groups as (
  select {groups}, avg(mean) as value, count(mean) as parts, min(m) as least, sum(m - 1) as df,
    sum(n) as n, sum(total) as total
  from cells
  group by {groups}
), items as (
  select {groups}, item_id, sum(enlarged) as pull, count(pull) > 0 as counts
  from enlarged
  group by {groups}, item_id
), errors as (
  select {groups}, count(*) filter (counts) as items, sqrt(sum(pull * pull)) as error
  from items
  group by {groups}
)
select {", ".join(f"groups.{name}" for name in group)}, value,
  case when least > 1 then error / parts end as standard_error,
  greatest(least(df, items - 1), 0) as df, items, n, total
from groups join errors on {same}
order by all
"""
