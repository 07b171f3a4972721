"""Pieces that the SQL of figures is put together from, and the rows that an aggregate looks at."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from tripos_compiler.lower.dims import FIXED
from tripos_compiler.lower.figured import Missing
from tripos_compiler.lower.scored import Scored
from tripos_compiler.program import Program

Weights = Mapping[str, Mapping[str, float]]
"""What a metric counts, by scenario and metric."""


def quoted(text: str) -> str:
    """A SQL text.

    >>> quoted("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def named(name: str) -> str:
    """A SQL name.

    >>> named("q.subject")
    '"q.subject"'
    """
    return '"' + name.replace('"', '""') + '"'


def columns(dims: Sequence[str], of: str = "") -> str:
    """The columns of a cell: the model, then the dimensions.

    >>> columns(("hint",), "c1")
    'c1.model, c1."hint"'
    """
    prefix = f"{of}." if of else ""
    return ", ".join(f"{prefix}{name}" for name in ("model", *map(named, dims)))


def same(one: str, other: str, dims: Sequence[str]) -> str:
    """Whether rows of two tables are of one cell; a dimension that a scenario lacks is NULL in both."""
    found = [f"{one}.model = {other}.model"]
    found += [f"{one}.{named(dim)} is not distinct from {other}.{named(dim)}" for dim in dims]
    return " and ".join(found)


@dataclass
class Parts:
    """The common table expressions of a query, in their order."""

    written: list[tuple[str, str]] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, stem: str, body: str) -> str:
        """Adds one, and gives its name."""
        self.counts[stem] = self.counts.get(stem, 0) + 1
        name = f"{stem}{self.counts[stem]}"
        self.written.append((name, body))
        return name

    @property
    def text(self) -> str:
        """All of them, with `with`."""
        return "with " + ", ".join(f"{name} as (\n{_indented(body)}\n)" for name, body in self.written)


def _indented(body: str) -> str:
    return "\n".join(f"  {line}" for line in body.splitlines())


@dataclass(frozen=True)
class Cut:
    """Which rows are looked at: the dimensions that they are parted by, and the values that a slice fixes."""

    dims: tuple[str, ...] = ()
    fixed: tuple[tuple[str, str], ...] = ()


def is_kept(program: Program, scored: Scored, dims: Sequence[str]) -> bool:
    """Whether the rows of something scored, and the dimensions, are in the views of its benchmark."""
    known = {*FIXED, *program.axes, *program.arms}
    return program.benchmark is not None and all(d in known or "." in d for d in dims)


def condition(scored: Scored) -> str:
    """Which rows of the view are of something scored."""
    column = {"scorer": "scorer", "compare": "step"}.get(scored.kind, "metric")
    within = f" and scenario = {quoted(scored.within)}" if scored.within is not None else ""
    return f"{column} = {quoted(scored.name)}{within}"


def weights_of(program: Program, scored: Scored) -> Weights:
    """The weights of a judge's metrics where they are not all alike; of one metric they make no difference."""
    if scored.kind != "scorer":
        return {}
    found: dict[str, dict[str, float]] = {}
    for scenario in scored.scenarios:
        metrics = program.allocation.get(scored.name, {}).get(scenario.name, ())
        weights = program.weights.get(scored.name, {}).get(scenario.name, ()) or (1.0,) * len(metrics)
        found[scenario.name] = dict(zip(metrics, weights, strict=True))
    alike = {weight for weights in found.values() for weight in weights.values()}
    return found if len(alike) > 1 else {}


def weight_sql(weights: Weights) -> str:
    """What a row weighs: 1 where nothing is said of it."""
    rows = [
        f"when scenario = {quoted(scenario)} and metric = {quoted(metric)} then {weight!r}"
        for scenario, metrics in weights.items()
        for metric, weight in metrics.items()
        if weight != 1
    ]
    return "\n      ".join(["case", *rows, "else 1 end"]) if rows else "1"


def rows_sql(program: Program, scored: Scored, cut: Cut, more: Sequence[str] = ()) -> str:
    """The rows of something scored: `model`, the dimensions, `item_id`, `sample_id`, `value`, `given`, and `more`."""
    assert program.benchmark is not None
    schema = named(program.benchmark.name)
    view = "columns" if scored.kind == "column" else "scores"
    given = "given" if scored.kind == "column" else "NULL::varchar as given"
    picked = [columns(cut.dims), "scenario", "metric", "item_id", "sample_id", "value", given, *more]
    return _from_view(schema, view, picked, scored, cut)


def compared_sql(program: Program, scored: Scored, cut: Cut) -> str:
    """The rows of comparisons: the dimensions, the arms, and what tells whose replies were compared by whom."""
    assert program.benchmark is not None
    own = ["item_id", "evaluator", "first_model", "second_model", "first_sample_id", "second_sample_id", '"round"']
    arms = [named(arm) for arm in program.arms]
    picked = dict.fromkeys([*map(_plain, cut.dims), "scenario", *own, *arms, "value"])
    return _from_view(named(program.benchmark.name), "comparisons", list(picked), scored, cut)


def _plain(dim: str) -> str:
    """A dimension as it is named beside columns that it may be one of."""
    return dim if dim in FIXED else named(dim)


def _from_view(schema: str, view: str, picked: Sequence[str], scored: Scored, cut: Cut) -> str:
    fields = dict.fromkeys(name for name in (*cut.dims, *(name for name, _ in cut.fixed)) if "." in name)
    lines = [f"select {', '.join(picked)}", f"from {schema}.{view}"]
    if fields:
        read = ", ".join(f"fields ->> {quoted(_path(name))} as {named(name)}" for name in fields)
        lines.append(f"left join (select scenario, item_id, {read} from {schema}.items) using (scenario, item_id)")
    fixed = "".join(f" and {named(name)} = {quoted(value)}" for name, value in cut.fixed)
    lines.append(f"where {condition(scored)}{fixed} and status <> 'not_applicable'")
    return "\n".join(lines)


def _path(name: str) -> str:
    """Where a field of a row stands in the JSON of its item.

    >>> _path("q.subject")
    '$."subject"'
    """
    return f'$."{name.partition(".")[2]}"'


def given_value(missing: Missing) -> str:
    """A value, where one that is missing counts as zero or not at all."""
    return "coalesce(value, 0)" if missing == "zero" else "value"
