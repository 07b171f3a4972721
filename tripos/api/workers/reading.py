"""The cases of a run that stops when it is settled, where workers share it: they go through them, and the run reads."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any

from tripos.api.workers.messages import CaseRead, StillAsked
from tripos_compiler.source import dataclass
from tripos_runtime.datasets import Case, SubsetTags
from tripos_runtime.drivers import ItemScore, OrderedCases, Settler, membership_row

if TYPE_CHECKING:
    from tripos.api.job import Job


@dataclass
class RemoteReader:
    """Tells the run of the cases that a worker went through, and knows how far the run has read."""

    send: Callable[[object], None]
    asked: Collection[str]
    """The compared models that are still asked."""
    read: int = 0
    """The cases that were read."""
    patience_s: float = 1.0

    @property
    def settled(self) -> bool:
        """True if nobody is asked any more."""
        return not self.asked

    def take(self, place: int, case: Case, scores: Sequence[ItemScore]) -> None:
        """Send the scores of a case."""
        self.send(CaseRead(place, tuple(each._replace(arms=dict(each.arms)) for each in scores)))

    def hear(self, told: StillAsked) -> None:
        """Take what the run has read."""
        self.read, self.asked = told.read, told.models


class ReadingDesk:
    """Reads the cases that workers went through in the order of the run, and lists them as its cases."""

    def __init__(self, job: Job, settler: Settler) -> None:
        self._job = job
        self._coming = job.source.cases(job.selection)
        self._cases: list[Case | None] = []
        self._marks = SubsetTags(job.source, job.source.drawn())
        self._rows: list[dict[str, Any]] = []
        models = frozenset(job.binding.of(job.binding.compared))
        self._ordered = OrderedCases(settler, models, self._list)

    @property
    def state(self) -> StillAsked:
        """How far the run has read, and whom it still asks."""
        return StillAsked(self._ordered.read, tuple(self._ordered.asked))

    def take(self, told: CaseRead) -> bool:
        """Take a case; true if something was read."""
        while len(self._cases) <= told.place:
            self._cases.append(next(self._coming))
        case, before = self._cases[told.place], self._ordered.read
        if case is not None:
            self._cases[told.place] = None
            self._ordered.take(told.place, case, list(told.scores))
        return self._ordered.read > before

    def commit(self) -> None:
        """Commit the list of the cases that were read. Raises `StoreError`."""
        rows, self._rows = self._rows, []
        if rows:
            self._job.store.append({"run_items": rows})

    def _list(self, case: Case, models: Collection[str] | None) -> None:
        self._rows.append(membership_row(self._job.run_id, case, self._marks, models))
