"""SQL of figures whose items are drawn again: tables of `draws`, a list for each cell, and the bounds that they show.

A median has no pull to rely on, so it is computed for many draws of the items; what is made of it has a value for each
draw too. The draws themselves are made by functions of the warehouse, `tripos_statistic` and `tripos_draws`.
"""

from __future__ import annotations

from tripos_warehouse.measures.sql.influences import by_unit
from tripos_warehouse.measures.sql.parts import Parts, columns, same
from tripos_warehouse.measures.sql.tables import FigureTables

EACH_DRAW = "unnest(draws) as value, generate_subscripts(draws, 1) as draw"
"""The columns of a row a draw, of a table that has a list of them."""


def collected_draws(parts: Parts, dims: tuple[str, ...], rows: str) -> str:
    """Return a table of draws, from rows of `draw` and `value`."""
    values = parts.add("values", rows)
    return parts.add(
        "drawn",
        f"""select {columns(dims)}, list(value order by draw) as draws
from {values}
group by {columns(dims)}""",
    )


def draws_of(parts: Parts, node: FigureTables) -> str:
    """Return the table of draws of a figure: its own, or those that the influences of its items come to."""
    if node.drawn is not None:
        return node.drawn
    cell = columns(node.dims, "c")
    lists = ", ".join(f"list(u.{name} order by u.cluster_id)" for name in ("cluster_id", "influence"))
    return parts.add(
        "drawn",
        f"""select {cell}, tripos_draws(any_value(c.value), {lists}) as draws
from {node.cells} as c left join {by_unit(parts, node)} as u on {same("c", "u", node.dims)}
group by {cell}""",
    )


def bounded(parts: Parts, node: FigureTables, drawn: str, error: str) -> str:
    """Return the query of a figure with the bounds that its draws show. `error` is the table of its `precision`.

    Where all draws have the same value, influences show no spread: then the degrees of freedom are those of as many
    units that weigh alike.
    """
    df = "coalesce(e.df, greatest(e.items - 1, 0), 0)"
    found = parts.add(
        "found",
        f"""select c.*, {df} as "df of items", coalesce(e.items, 0) as items,
  case when c.known and c.value is not null then tripos_interval(d.draws, {df}) end as found
from {node.cells} as c left join {error} as e on {same("c", "e", node.dims)}
  left join {drawn} as d on {same("c", "d", node.dims)}""",
    )
    return f"""{parts.text}
select {columns(node.dims)}, value, found.error as standard_error, "df of items" as df, items, n, total, reason,
  known as "is known", found.low as low, found.high as high
from {found}
order by all
"""
