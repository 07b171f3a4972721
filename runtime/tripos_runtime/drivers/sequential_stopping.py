"""Sequential stopping: a run that stops once its figures are settled reads its cases in a drawn order.

Replies arrive in any order. Cases are read in the order that the seed drew, so the stopping point follows from the
order and the replies alone, and is the same after a restart. Replies beyond that point are kept and not read. They are
few, since no case starts far ahead of the last one read."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import Any, NamedTuple, Protocol

from tripos_compiler.plan import Grade, Score
from tripos_compiler.plan.outcomes import NOT_APPLICABLE
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import Ledger
from tripos_runtime.datasets.cases import Case
from tripos_runtime.drivers.lookup import Task
from tripos_runtime.program.units import Pair, Unit


class ItemScore(NamedTuple):
    """A score of an item: the model, the step, the arms, and the value, if there is one."""

    model: str
    scorer: str
    metric: str
    arms: Mapping[str, str]
    value: float | None


class StoppingRule(Protocol):
    """Decides when a run is settled."""

    @property
    def asked(self) -> Collection[str]:
        """The compared models that are still asked."""
        ...

    @property
    def settled(self) -> bool:
        """True if no model is asked any more."""
        ...

    def read(self, case: Case, scores: Sequence[ItemScore]) -> None:
        """Add the scores of the next case in the order."""
        ...

    def state(self) -> dict[str, Any]:
        """Return what was settled and how, as JSON."""
        ...


@dataclass(frozen=True)
class Lookahead:
    """How far a run may be ahead of the cases read: a `share` of them, and at least `least`."""

    least: int
    share: float
    rounds: bool = False
    """True if all of them are read before the next ones start, as in batches."""

    def limit(self, read: int, before: int) -> int:
        """Return how many cases may have started after `read` were read; `before` is the last such number.

        >>> LIVE.limit(0, 0), LIVE.limit(100, 0), BATCHES.limit(0, 0), BATCHES.limit(20, 32), BATCHES.limit(32, 32)
        (4, 125, 32, 32, 64)
        """
        if self.rounds and read < before:
            return before
        return read + max(self.least, int(self.share * read))


LIVE = Lookahead(4, 0.25)
BATCHES = Lookahead(32, 1.0, rounds=True)


class CaseReader(Protocol):
    """Reads the cases of a run in their order: here, or in the process that several share."""

    @property
    def asked(self) -> Collection[str]:
        """The compared models that are still asked."""
        ...

    @property
    def settled(self) -> bool:
        """True if no model is asked any more."""
        ...

    @property
    def read(self) -> int:
        """The number of cases read."""
        ...

    @property
    def patience_s(self) -> float:
        """How long a case that is far ahead waits for cases of other processes, in seconds."""
        ...

    def take(self, place: int, case: Case, scores: list[ItemScore]) -> None:
        """Add a case at its position in the order, once all its results are there."""
        ...


@dataclass
class OrderedCases:
    """Passes cases to a stopping rule in their order."""

    settler: StoppingRule
    models: frozenset[str]
    """The compared models."""
    listing: Callable[[Case, Collection[str] | None], None]
    """Lists a case as one of the run's, for some of its models or for all."""
    read: int = 0
    patience_s: float = 0.0
    _waiting: dict[int, tuple[Case, list[ItemScore]]] = field(default_factory=dict)

    @property
    def asked(self) -> Collection[str]:
        """The compared models that are still asked."""
        return self.settler.asked

    @property
    def settled(self) -> bool:
        """True if no model is asked any more."""
        return self.settler.settled

    def take(self, place: int, case: Case, scores: list[ItemScore]) -> None:
        """Add a case, and read those that are complete by now."""
        if self.settled or place < self.read:
            return
        self._waiting[place] = case, scores
        while self.read in self._waiting and not self.settled:
            case, scores = self._waiting.pop(self.read)
            self.read += 1
            asked = frozenset(self.asked)
            self.listing(case, None if asked == self.models else asked)
            self.settler.read(case, [score for score in scores if score.model in asked])


@dataclass
class OrderedReader:
    """Numbers the cases of a run, starts each in its turn, and passes finished ones to their reader."""

    reader: CaseReader
    ledger: Ledger
    scored: dict[str, float | None]
    """The values of scores computed in this process, by name."""
    lookahead: Lookahead = LIVE
    _places: dict[tuple[str, str], int] = field(default_factory=dict)
    _under_way: set[int] = field(default_factory=set)
    _limit: int = 0
    _moved: asyncio.Event = field(default_factory=asyncio.Event)

    def ordered(self, cases: Iterable[Case]) -> Iterator[Case]:
        """Number the cases, and yield them until the run is settled."""
        for place, case in enumerate(cases):
            if self.reader.settled:
                return
            self._places.setdefault((case.scenario.name, case.item_id), place)
            yield case

    def move(self) -> None:
        """Wake up the cases that wait for their turn."""
        self._moved.set()

    async def turn(self, task: Task, over: Callable[[], bool]) -> None:
        """Wait until a case may start: it is close enough to the last case read, or no running case can bring it
        closer, or the run is `over`. The running case may be in another process, so the wait is limited."""
        place = self._place(task)
        while not over() and not self.reader.settled:
            self._limit = self.lookahead.limit(self.reader.read, self._limit)
            if place < self._limit:
                break
            self._moved.clear()
            patience_s = None if self._under_way else self.reader.patience_s
            with suppress(TimeoutError):
                await asyncio.wait_for(self._moved.wait(), patience_s)
            if not self._under_way and not self._moved.is_set():
                break
        self._under_way.add(place)

    def _place(self, task: Task) -> int:
        return self._places[task.case.scenario.name, task.case.item_id]

    def asked(self, unit: Unit) -> bool:
        """Return true if a unit is still asked for."""
        return unit.model in self.reader.asked

    def without_settled(self, task: Task) -> Task:
        """Return the part of a task that is still asked for."""
        asked = self.reader.asked

        def both(pairs: list[Pair]) -> list[Pair]:
            return [pair for pair in pairs if pair.first.model in asked and pair.second.model in asked]

        todo, complete = ([unit for unit in units if unit.model in asked] for units in (task.todo, task.complete))
        return replace(task, todo=todo, complete=complete, pairs=both(task.pairs), paired=both(task.paired))

    def done(self, task: Task) -> None:
        """Add a case whose results are all there."""
        place = self._place(task)
        self._under_way.discard(place)
        if not self.reader.settled:
            self.reader.take(place, task.case, self._scores([*task.complete, *task.todo]))
        self.move()

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
