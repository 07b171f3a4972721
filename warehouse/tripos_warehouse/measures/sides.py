"""The sides of a comparison: models and the connection that shows their scores, the items of each model, and the
difference of two sides."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from typing import Any

from tripos_compiler.plan import Measure, Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.views.derived import score_sums

Cell = tuple[Any, ...]
"""The values of the dimensions of a measure."""


@dataclass(frozen=True)
class Side:
    """One side: models, the plan that their scores are read by, and a connection that shows these.

    The models of two sides correspond by position: the first of one with the first of the other.
    """

    connection: Connection
    plan: Plan
    models: tuple[str, ...]

    @property
    def schema(self) -> str:
        """The SQL of the schema of the benchmark."""
        return sql.name(self.plan.benchmark.name)


@dataclass(frozen=True)
class CellDifference:
    """The value of a measure on both sides, in one cell, and their difference (`b` less `a`)."""

    cell: Cell
    a: float
    b: float
    difference: Estimate
    farthest: float | None = None
    """The largest absolute difference of a pair of scores or a group of items, if it is known."""
    span: float | None = None
    """The length of the scale, if it has ends."""
    identity: Hashable = None
    """Equal for differences that are computed from the same scores in the same way."""


def difference_ends(measure: Measure) -> tuple[float, float] | None:
    """Return the ends between which the difference of two values of a measure lies, if the measure has bounds."""
    if measure.low is None or measure.high is None:
        return None
    return measure.low - measure.high, measure.high - measure.low


def score_sources(connection: Connection, plan: Plan, measure: Measure, *, valued: bool = False) -> list[str]:
    """Return the sources of the scores and columns of a benchmark, as the SQL after `from`: the stored sums or the
    views, in the scenario of a measure if it has one; with `valued`, only rows with a value."""
    in_scenario = _scenario_condition(measure)
    sums = score_sums(connection, plan.benchmark.name)
    if sums is not None:
        has_value = '"its n" > 0' if valued else "true"
        return [f"{sums} where {in_scenario} and {has_value}"]
    has_value = "value is not null" if valued else "true"
    schema = sql.name(plan.benchmark.name)
    return [f"{schema}.{table} where {in_scenario} and {has_value}" for table in ("scores", "columns")]


def comparison_sources(plan: Plan, measure: Measure) -> list[str]:
    """Return the sources of the comparisons of a benchmark, like `score_sources`: one for the models shown first, and
    one for those shown second."""
    view = f"{sql.name(plan.benchmark.name)}.comparisons"
    return [
        f"(select *, {side}_model as model from {view}) as compared where {_scenario_condition(measure)}"
        for side in ("first", "second")
    ]


def _scenario_condition(measure: Measure) -> str:
    return "true" if measure.scenario is None else f"scenario = {sql.text(measure.scenario)}"


def items_by_model(connection: Connection, plan: Plan, measure: Measure) -> dict[str, frozenset[str]]:
    """Return the items of every model, in the scenario of a measure if it has one. Models with the same items share one
    set."""
    sources = [*score_sources(connection, plan, measure), *comparison_sources(plan, measure)]
    return _read_items(connection, sources)


def shared_items(sides: Collection[Side], measure: Measure) -> frozenset[str]:
    """Return the items over which the models of all sides are compared in a measure: those that each model has. If the
    measure skips missing values, they are those for which each model has a value or a name."""
    sets: list[frozenset[str]] = []
    for side in sides:
        own = comparable_items(side, measure)
        sets += [own.get(model, frozenset()) for model in side.models]
    return frozenset.intersection(*sets)


def comparable_items(side: Side, measure: Measure) -> dict[str, frozenset[str]]:
    """Return the items of every model that `shared_items` counts."""
    if measure.missing != "skip":
        return items_by_model(side.connection, side.plan, measure)
    in_scenario = _scenario_condition(measure)
    sources = [
        f"{side.schema}.scores where {in_scenario} and (value is not null or choice is not null)",
        f"{side.schema}.columns where {in_scenario} and (value is not null or given is not null)",
        *(f"{source} and value is not null" for source in comparison_sources(side.plan, measure)),
    ]
    return _read_items(side.connection, sources)


def _read_items(connection: Connection, sources: Sequence[str]) -> dict[str, frozenset[str]]:
    """Return the items of every model in any of the sources. Models with the same items share one set."""
    import numpy as np

    tables = " union all ".join(f"select model, item_id from {source}" for source in sources)
    rows = connection.sql(f"select model, item_id from ({tables}) group by model, item_id").to_arrow_table()
    models, items = (rows[name].combine_chunks().dictionary_encode() for name in ("model", "item_id"))
    del rows
    codes, of_model = items.indices.to_numpy(), models.indices.to_numpy()
    names = items.dictionary
    shared: dict[bytes, frozenset[str]] = {}
    by_model = {}
    for place, model in enumerate(models.dictionary.to_pylist()):
        item_codes = np.sort(codes[of_model == place])
        if (key := item_codes.tobytes()) not in shared:
            shared[key] = frozenset(names.take(item_codes).to_pylist())
        by_model[model] = shared[key]
    return by_model


def items_without_scores(*sides: Side, alone: bool = False) -> set[str]:
    """Return the items that every side has without numbers: items with a comparison of a model of the side, and items
    with a reply for which a judge chose a name that has no number. With `alone`, if there are no numbers at all, also
    the items with a value in a column."""
    compared, chosen, columns_read = list[set[str]](), list[set[str]](), list[set[str]]()
    for side in sides:
        models, schema = sql.texts(side.models), side.schema
        of_pairs = f"""select distinct item_id from {schema}.comparisons
          where value is not null and (first_model in {models} or second_model in {models})"""
        of_names = f"""select distinct item_id from {schema}.scores
          where value is null and choice is not null and model in {models}"""
        of_columns = f"""select distinct item_id from {schema}.columns
          where {"true" if alone else "false"} and coalesce(value::varchar, given) is not null and model in {models}"""
        for query, items in ((of_pairs, compared), (of_names, chosen), (of_columns, columns_read)):
            items.append({item for (item,) in side.connection.execute(query).fetchall()})
    return set.union(*(set.intersection(*items) for items in (compared, chosen, columns_read)))
