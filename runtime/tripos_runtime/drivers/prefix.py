"""The prefix of a run's items that is complete, and whoever decides with it that the run is settled.

Replies come back in any order. A run that stops when it is settled reads them in the order that its seed drew, so that
when it stops follows from the order and the replies alone, and is the same after a kill. Of what was asked beyond that
point all is kept, and nothing is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol

from tripos_compiler.plan import Grade, Score
from tripos_runtime.asking import NOT_APPLICABLE, Ledger
from tripos_runtime.datasets import Case
from tripos_runtime.drivers.lookup import Task
from tripos_runtime.program import Pair, Unit


class ItemScore(NamedTuple):
    """A score of an item: what was scored and by which step, under which arms, and the value, if there is one."""

    model: str
    scorer: str
    metric: str
    arms: Mapping[str, str]
    value: float | None


class Settler(Protocol):
    """Decides when a run is settled."""

    @property
    def asked(self) -> Collection[str]:
        """The compared models that are still asked."""
        ...

    @property
    def settled(self) -> bool:
        """True if nobody is asked any more."""
        ...

    def read(self, case: Case, scores: Sequence[ItemScore]) -> None:
        """Take the scores of the next case of the order."""
        ...

    def told(self) -> dict[str, Any]:
        """Return what was settled and how, as JSON."""
        ...


@dataclass
class PrefixReader:
    """Hands cases to a settler in their order, once each is complete and all before it are."""

    settler: Settler
    ledger: Ledger
    scored: dict[str, float | None]
    """The values of scores that came in this process, by name."""
    models: frozenset[str]
    """The compared models."""
    listing: Callable[[Case, Collection[str] | None], None]
    """Say that a case is one of the run's, for some of its models or for all."""
    _places: dict[tuple[str, str], int] = field(default_factory=dict)
    _waiting: dict[int, tuple[Case, list[ItemScore]]] = field(default_factory=dict)
    _next: int = 0

    def ordered(self, cases: Iterable[Case]) -> Iterator[Case]:
        """Number the cases, and yield them until the run is settled."""
        for place, case in enumerate(cases):
            if self.settler.settled:
                return
            self._places.setdefault((case.scenario.name, case.item_id), place)
            yield case

    def asked(self, unit: Unit) -> bool:
        """Return true if a unit is still asked for."""
        return unit.model in self.settler.asked

    def still(self, task: Task) -> Task:
        """Return the part of a task that is still asked for."""
        asked = self.settler.asked

        def both(pairs: list[Pair]) -> list[Pair]:
            return [pair for pair in pairs if pair.first.model in asked and pair.second.model in asked]

        todo, complete = ([unit for unit in units if unit.model in asked] for units in (task.todo, task.complete))
        return replace(task, todo=todo, complete=complete, pairs=both(task.pairs), paired=both(task.paired))

    def done(self, task: Task) -> None:
        """Take a case of which everything was gone through, and read what is complete by now."""
        case, units = task.case, [*task.complete, *task.todo]
        if self.settler.settled:
            return
        self._waiting[self._places[case.scenario.name, case.item_id]] = case, self._scores(units)
        while self._next in self._waiting and not self.settler.settled:
            case, scores = self._waiting.pop(self._next)
            self._next += 1
            asked = frozenset(self.settler.asked)
            self.listing(case, None if asked == self.models else asked)
            self.settler.read(case, [score for score in scores if score.model in asked])

    def _scores(self, units: Sequence[Unit]) -> list[ItemScore]:
        named: list[tuple[str, Unit, Score | Grade, str]] = []
        for unit in units:
            steps = {step.fingerprint: step for step in unit.bound.treatment.steps if isinstance(step, Score | Grade)}
            for (fingerprint, _), names in unit.scores.items():
                if fingerprint in steps:
                    named += [(name, unit, steps[fingerprint], title) for title, name in names.items()]
        kept = self.ledger.rows("scores", {name for name, *_ in named if name not in self.scored})
        values = {name: row["value"] for name, row in kept.items() if row["status"] != NOT_APPLICABLE}
        values |= {name: self.scored[name] for name, *_ in named if name in self.scored}
        for name in values.keys() & self.scored.keys():
            del self.scored[name]
        return [
            ItemScore(
                unit.model,
                step.scorer if isinstance(step, Grade) else step.name,
                title,
                unit.bound.treatment.arms,
                values[name],
            )
            for name, unit, step, title in named
            if name in values
        ]
