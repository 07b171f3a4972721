"""Sequential stopping: a run stops once its figures are settled, which means precise enough.

Replies arrive in any order, but the stopping rule reads the cases in a random order that a seed determines. So the
stopping point depends only on the seed and the replies, and is the same after a restart. Replies to later cases are
kept and not read. They are few, since no case starts far ahead of the last case that was read."""

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
    """A rule that decides when a run is settled."""

    @property
    def asked(self) -> Collection[str]:
        """The compared models whose figures are not settled yet."""
        ...

    @property
    def settled(self) -> bool:
        """True if the figures of all models are settled."""
        ...

    def read(self, case: Case, scores: Sequence[ItemScore]) -> None:
        """Add the scores of the next case in the order."""
        ...

    def state(self) -> dict[str, Any]:
        """Return the state of the rule, as JSON values."""
        ...


@dataclass(frozen=True)
class Lookahead:
    """How many cases may have started beyond those that were read: a `share` of the latter, and at least `least`."""

    least: int
    share: float
    rounds: bool = False
    """True if all started cases must be read before the next ones start, as in batches."""

    def limit(self, read: int, before: int) -> int:
        """Return how many cases may have started after `read` were read; `before` is the limit so far.

        >>> LIVE.limit(0, 0), LIVE.limit(100, 0), BATCHES.limit(0, 0), BATCHES.limit(20, 32), BATCHES.limit(32, 32)
        (4, 125, 32, 32, 64)
        """
        if self.rounds and read < before:
            return before
        return read + max(self.least, int(self.share * read))


LIVE = Lookahead(4, 0.25)
BATCHES = Lookahead(32, 1.0, rounds=True)


class CaseReader(Protocol):
    """A reader of the cases of a run in their order, in this process or in the one that leads several."""

    @property
    def asked(self) -> Collection[str]:
        """The compared models whose figures are not settled yet."""
        ...

    @property
    def settled(self) -> bool:
        """True if the figures of all models are settled."""
        ...

    @property
    def read(self) -> int:
        """The number of cases that were read."""
        ...

    @property
    def patience_s(self) -> float:
        """How long a case that is far ahead waits for cases of other processes before it starts, in seconds."""
        ...

    def take(self, place: int, case: Case, scores: list[ItemScore]) -> None:
        """Add a complete case at its position in the order."""
        ...


@dataclass
class OrderedCases:
    """A reader that passes cases to a stopping rule in their order."""

    settler: StoppingRule
    models: frozenset[str]
    """The compared models."""
    listing: Callable[[Case, Collection[str] | None], None]
    """Records that a case belongs to the run, with some of the models or with all (None)."""
    read: int = 0
    patience_s: float = 0.0
    _waiting: dict[int, tuple[Case, list[ItemScore]]] = field(default_factory=dict)

    """Complete cases that wait for earlier ones, by position."""

    @property
    def asked(self) -> Collection[str]:
        """The compared models whose figures are not settled yet."""
        return self.settler.asked

    @property
    def settled(self) -> bool:
        """True if the figures of all models are settled."""
        return self.settler.settled

    def take(self, place: int, case: Case, scores: list[ItemScore]) -> None:
        """Add a complete case, and read all cases up to the first that is not complete."""
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
    """The part of the engine that numbers the cases of a run, lets each start in its turn, and passes complete cases to
    their reader."""

    reader: CaseReader
    ledger: Ledger
    scored: dict[str, float | None]
    """The values of scores computed in this process, by name."""
    lookahead: Lookahead = LIVE
    _places: dict[tuple[str, str], int] = field(default_factory=dict)
    """The positions of the cases in the order, by scenario and item."""
    _running: set[int] = field(default_factory=set)
    """The positions of the cases in progress."""
    _limit: int = 0
    """The number of cases that may have started."""
    _moved: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when waiting cases must look again whether they may start."""

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
        """Wait until a case may start: it is close enough to the last case that was read, or the run is `over`. If this
        process has no other case in progress, wait at most `patience_s` for the cases of other processes."""
        place = self._place(task)
        while not over() and not self.reader.settled:
            self._limit = self.lookahead.limit(self.reader.read, self._limit)
            if place < self._limit:
                break
            self._moved.clear()
            patience_s = None if self._running else self.reader.patience_s
            with suppress(TimeoutError):
                await asyncio.wait_for(self._moved.wait(), patience_s)
            if not self._running and not self._moved.is_set():
                break
        self._running.add(place)

    def _place(self, task: Task) -> int:
        return self._places[task.case.scenario.name, task.case.item_id]

    def asked(self, unit: Unit) -> bool:
        """Return true if the figures of a unit's model are not settled yet."""
        return unit.model in self.reader.asked

    def without_settled(self, task: Task) -> Task:
        """Return a task without the units and pairs of models whose figures are settled."""
        asked = self.reader.asked

        def unsettled(pairs: list[Pair]) -> list[Pair]:
            return [pair for pair in pairs if pair.first.model in asked and pair.second.model in asked]

        todo, complete = ([unit for unit in units if unit.model in asked] for units in (task.todo, task.complete))
        return replace(task, todo=todo, complete=complete, pairs=unsettled(task.pairs), paired=unsettled(task.paired))

    def done(self, task: Task) -> None:
        """Pass a complete case to the reader."""
        place = self._place(task)
        self._running.discard(place)
        if not self.reader.settled:
            self.reader.take(place, task.case, self._scores([*task.complete, *task.todo]))
        self.move()

    def _scores(self, units: Sequence[Unit]) -> list[ItemScore]:
        """Return the applicable scores of some units, computed in this process or kept in the ledger."""
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
