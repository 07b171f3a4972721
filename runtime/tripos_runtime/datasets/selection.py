"""Selection: the part of a plan's cases that a run covers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tripos_compiler.language import Drawn, scenario_under, select_treatments
from tripos_compiler.plan import Plan, Scenario, Subset, digest


@dataclass(frozen=True)
class Shard:
    """The part `number`, from 1 on, of `count` parts of the items, which a hash of the item alone decides: the same on
    every machine, whatever else is selected.

    >>> sum(Shard(number, 3).has("item") for number in (1, 2, 3)), str(Shard(1, 3))
    (1, '1/3')
    """

    number: int
    count: int

    def has(self, item_id: str) -> bool:
        """Return true if an item is in this part."""
        return int(digest(["shard", item_id])[:16], 16) % self.count == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


@dataclass(frozen=True)
class Selection:
    """The cases of a plan that are run: those of `scenarios`, where an axis has one of the values in `only`; of these
    all, or `limit` a scenario, the first ones or drawn with `seed`. Of an arm in `only` the treatments with one of its
    values are run. A scenario without that axis or arm is run whole. With a `subset` only what was `drawn` for it. Of
    all that a `shard` has its part."""

    scenarios: tuple[str, ...] = ()
    limit: int | None = None
    seed: int | None = None
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    subset: Subset | None = None
    drawn: Drawn | None = None
    shard: Shard | None = None

    def holds(self, scenario: str, name: str) -> bool:
        """Return true if an item is in the subset, or there is none."""
        return self.drawn is None or (scenario, name) in self.drawn

    @property
    def whole(self) -> Selection:
        """Return the selection of all shards together."""
        return self if self.shard is None else replace(self, shard=None)

    def chosen(self, plan: Plan) -> tuple[Scenario, ...]:
        """Return the scenarios that are run, in the order of the plan, each with the treatments that `only` leaves."""
        return tuple(
            scenario_under(s, self.only) for s in plan.scenarios if not self.scenarios or s.name in self.scenarios
        )

    def under(self, plan: Plan) -> Plan:
        """Return the plan with the treatments that `only` leaves."""
        return select_treatments(plan, self.only)

    def allows(self, context: Mapping[str, str]) -> bool:
        """Return true if a case with these values of axes lies where `only` says."""
        return all(context.get(axis, values[0]) in values for axis, values in self.only.items())
