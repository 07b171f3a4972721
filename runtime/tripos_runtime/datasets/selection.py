"""The selection of cases for a run, and the checks of what a run without models cannot do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace

from tripos_compiler.errors import TriposError
from tripos_compiler.language.contexts import Drawn, scenario_under, select_treatments
from tripos_compiler.language.references import datasets_of
from tripos_compiler.plan import Plan, Retrieve, Scenario, Subset, digest
from tripos_compiler.source.data_classes import dataclass


@dataclass(frozen=True)
class Shard:
    """Part `number` (from 1) of `count` parts of the items. A hash of its name decides in which part an item is, so it
    is in the same part on every machine, whatever else is selected.

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
class StopRule:
    """The rule by which a run stops early: items come in an order drawn by `seed`.

    With a `margin` the run stops once every measure is known to that precision; without one, once the comparisons of
    models and the benchmark's expectations are decided. A `declared` rule stops only once the criterion that the
    benchmark declares is met."""

    margin: float | None = None
    seed: int = 0
    declared: bool = False


@dataclass(frozen=True)
class Selection:
    """The cases of a plan that are run: those of `scenarios`, with a value of `only` on each named axis.

    At most `limit` cases per scenario are taken, the first ones or drawn with `seed`. An arm in `only` selects the
    treatments with one of its values. A scenario without that axis or arm is run completely. With a `subset`, only the
    items in `drawn` are run. A `shard` takes its part of all this. `until` may stop the run before its last item."""

    scenarios: tuple[str, ...] = ()
    limit: int | None = None
    seed: int | None = None
    only: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    subset: Subset | None = None
    drawn: Drawn | None = None
    shard: Shard | None = None
    until: StopRule | None = None

    def holds(self, scenario: str, name: str) -> bool:
        """Return true if an item is in the subset, or there is no subset."""
        return self.drawn is None or (scenario, name) in self.drawn

    @property
    def without_shards(self) -> Selection:
        """The selection of all shards together."""
        return self if self.shard is None else replace(self, shard=None)

    def chosen(self, plan: Plan) -> tuple[Scenario, ...]:
        """Return the selected scenarios, in the order of the plan, with the treatments that `only` leaves."""
        return tuple(
            scenario_under(scenario, self.only)
            for scenario in plan.scenarios
            if not self.scenarios or scenario.name in self.scenarios
        )

    def under(self, plan: Plan) -> Plan:
        """Return the plan with the treatments that `only` leaves."""
        return select_treatments(plan, self.only)

    def allows(self, context: Mapping[str, str]) -> bool:
        """Return true if `only` allows a case with these values of axes."""
        return all(context.get(axis, values[0]) in values for axis, values in self.only.items())


CODE = "R0204"
"""The code of `NotRunnable`."""


class NotRunnable(TriposError):
    """A part of a plan needs an embedding model, in a command that asks no models."""

    def __init__(self, missing: list[str]) -> None:
        super().__init__(
            CODE,
            f"nobody is asked here, and {_listed(missing)} needs vectors",
            "take the scenarios without it: `--scenario NAME`; or run the benchmark",
        )


class NotApproved(TriposError):
    """A plan builds on a tree that a model drafted and nobody has approved in its current form."""

    def __init__(self, drafts: list[str]) -> None:
        text = ", ".join(f"`{path}`" for path in drafts)
        hint = "the warning W0399 says how it is approved; `tripos plan` shows without that what a run costs"
        super().__init__("R0245", f"nobody has approved {text} as it is", hint)


def check_approved(plan: Plan) -> None:
    """Raise `NotApproved` if a tree is a draft."""
    drafts = [file.path for tree in plan.trees for file in tree.files if file.draft]
    if drafts:
        raise NotApproved(drafts)


def check_recordable(chosen: tuple[Scenario, ...]) -> None:
    """Raise `NotRunnable` if a selected scenario cannot be run without an embedding model."""
    missing = list(dict.fromkeys(part for scenario in chosen for part in _embedding(scenario)))
    if missing:
        raise NotRunnable(missing)


def _embedding(scenario: Scenario) -> Iterator[str]:
    for step in scenario.steps:
        if isinstance(step, Retrieve) and step.using is not None:
            yield f"the retrieve `{step.name}` of scenario `{scenario.name}`"


def data_of(scenario: Scenario) -> set[str]:
    """Return the data sets that a scenario reads values or shots from."""
    return datasets_of(scenario.rows).union(*map(datasets_of, scenario.steps))


def _listed(parts: list[str]) -> str:
    texts = parts[:3]
    more = f" and {len(parts) - 3} more parts" if len(parts) > 3 else ""
    return ", ".join(texts) + more
