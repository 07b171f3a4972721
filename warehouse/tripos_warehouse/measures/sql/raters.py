"""SQL of ratings by pairs of raters, and of the replies of all compared models taken together."""

from __future__ import annotations

from collections.abc import Sequence

from tripos_compiler.source import dataclass
from tripos_warehouse.measures.sql.counts import UNSEEN, CountedRows
from tripos_warehouse.measures.sql.parts import Parts
from tripos_warehouse.sql import name as named

PAIR = "pair"
"""The dimension whose values are every two evaluators."""
REPLY_TO_ITEM = '"of item" || chr(31) || subject'
"""What is rated, behind the item that it is a reply to; the warehouse parts them there."""


@dataclass(frozen=True)
class FigureTables:
    """The tables of a figure, and the dimensions that its cells go by."""

    cells: str
    pulls: str
    dims: tuple[str, ...]
    drawn: str | None = None
    """The table of `draws`: the value of every cell in each of many draws of the items. Only where the pulls alone give
    no interval, as of a median and what is made of it."""
    classes: bool = False
    """Whether its cells have `classes`: the shares of classes, where some have few items, and how many."""
    rows: CountedRows = UNSEEN
    """What it looks at, where it is an aggregate."""


def without_pair(dims: Sequence[str]) -> tuple[str, ...]:
    """Return the dimensions that rows have of their own; who makes a pair follows from them."""
    return tuple(dim for dim in dims if dim != PAIR)


def by_pair(parts: Parts, rows: str) -> str:
    """Return ratings under every pair that their rater is in."""
    raters = f"(select distinct rater from {rows} where rater is not null)"
    pairs = parts.add(
        "pairs",
        f"""select one.rater as one, other.rater as other, one.rater || ' & ' || other.rater as {named(PAIR)}
from {raters} as one join {raters} as other on one.rater < other.rater""",
    )
    return parts.add(
        "rows",
        f"""select r.*, {named(PAIR)}
from {rows} as r join {pairs} as p on r.rater in (p.one, p.other)""",
    )


def models_as_one(parts: Parts, rows: str) -> str:
    """Return the same rows with nothing said of whose reply it is, so that cells hold those of all models."""
    return parts.add("rows", f"select * replace ('' as model)\nfrom {rows}")


def for_every_model(parts: Parts, node: FigureTables, rows: str) -> FigureTables:
    """Return a figure of all models together, as that of each of them: what else is made of it goes by model."""
    models = parts.add("models", f"select distinct model\nfrom {rows}")
    cells = f"select c.* replace (m.model as model)\nfrom {node.cells} as c cross join {models} as m"
    pulls = f"select p.* replace (m.model as model)\nfrom {node.pulls} as p cross join {models} as m"
    return FigureTables(parts.add("cells", cells), parts.add("pulls", pulls), node.dims)
