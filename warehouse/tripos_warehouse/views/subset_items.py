"""The items of subsets, as runs have marked them: a run knows the whole benchmark, and a store only what was run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import orjson

from tripos_compiler.language import Drawn
from tripos_compiler.source import dataclass
from tripos_warehouse.query import Connection


@dataclass(frozen=True)
class SubsetCount:
    """How many items of a subset are `there`, of all that it has; `of` is `None` where no run could tell."""

    there: int
    of: int | None

    @property
    def whole(self) -> bool:
        """True if none is missing, as far as is known."""
        return self.there >= (self.of or 0)

    def told(self, subset: str) -> str:
        """In words.

        >>> SubsetCount(61, 198).told("by_hand"), SubsetCount(3, None).told("by_hand")
        ('61 of the 198 items of by_hand', '3 items of by_hand')
        """
        of = "" if self.of is None else f"of the {self.of:,} "
        return f"{self.there:,} {of}items of {subset}"


def marked_items(connection: Connection, run_id: str, subset: str) -> Drawn:
    """Return the items of a run that it has marked as those of a subset: pairs of scenario and `item_id`."""
    query = "select scenario, item_id from main.run_items where run_id = ? and list_contains(subsets, ?)"
    return frozenset(connection.execute(query, [run_id, subset]).fetchall())


def known_in_run(connection: Connection, run_id: str, subset: str, there: int) -> SubsetCount:
    """Return how much of a subset `there` items of a run are."""
    query = """select listed.options from main.runs as listed
      where listed.run_id in (select items_of from main.runs where run_id = ?)"""
    return SubsetCount(there, _of(connection.execute(query, [run_id]).fetchall(), subset))


def known_in_store(connection: Connection, benchmark: str, subsets: Iterable[str]) -> Mapping[str, SubsetCount]:
    """Return how much of every subset any run of the benchmark has marked. Of how many, says the last run that could
    tell."""
    rows = connection.execute(
        "select options from main.runs where benchmark = ? order by started_at desc, run_id desc", [benchmark]
    ).fetchall()
    count = """select count(distinct (listed.scenario, listed.item_id))
      from main.run_items as listed join main.runs as run on run.run_id = listed.run_id
      where run.benchmark = ? and list_contains(listed.subsets, ?)"""
    found = {}
    for subset in subsets:
        [there] = connection.execute(count, [benchmark, subset]).fetchone() or (0,)
        found[subset] = SubsetCount(there, _of(rows, subset))
    return found


def _of(rows: Iterable[tuple[str | None]], subset: str) -> int | None:
    """Return how many items a subset has by the first of these options that say it."""
    for (options,) in rows:
        found = orjson.loads(options or "{}").get("drawn", {}).get(subset)
        if found is not None:
            return int(found)
    return None
