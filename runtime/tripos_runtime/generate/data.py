"""Makes the data sets that a run needs, each after those that it is made from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field
from datetime import datetime
from typing import Any

from tripos_compiler.plan import Plan
from tripos_compiler.source import dataclass
from tripos_runtime.asking import CallCounters, Ledger, Listing
from tripos_runtime.datasets import CaseSource, Choice, Selection
from tripos_runtime.generate.attempts import Attempts
from tripos_runtime.generate.author import Asker, MadeCall, MadeReply
from tripos_runtime.generate.maker import Maker
from tripos_runtime.program import Adoption, Namesakes, PackedNames, at_once
from tripos_runtime.roles import RoleBinding
from tripos_runtime.scheduling import Caller, Sleep


class Unlisted:
    """Lists no result, for whoever goes through what is kept."""

    def add(self, ids: Iterable[str]) -> None:
        """Take further names, and forget them."""


@dataclass
class DataMaker:
    """Makes what a run over `selection` needs, and puts it where `source` finds it. Without `callers` nobody is asked:
    what is kept is gone through, and the rest is left open."""

    plan: Plan
    binding: RoleBinding
    source: CaseSource
    selection: Selection
    callers: Mapping[str, Caller] | None
    ledger: Ledger
    tally: CallCounters
    work: Listing
    run_id: str
    now: Callable[[], datetime]
    workers: int
    functions: Mapping[str, Callable[..., Any]] | None
    sleep: Sleep
    stop: Callable[[], None]
    makers: dict[str, Maker] = field(default_factory=dict)
    reused: Callable[[MadeCall], None] | None = None
    unasked: Callable[[MadeReply], None] | None = None
    """The observers of a reply that is kept, and of one that nobody was asked for."""
    adoption: Adoption | None = None
    """The adoption of replies that the ledger has under other names."""
    on_made: Callable[[Attempts], None] | None = None
    """Told of a data set whose rows are there, before anything is made of them."""
    on_attempt: Callable[[str, int, int], None] | None = None
    """Told of every attempt at a row, as an `Asker` tells it."""
    choice: Choice | None = None
    """Which slots were needed."""
    _asker: Asker | None = None
    _places: dict[str, frozenset[int] | None] = field(default_factory=dict)
    """The places of the slots of the data sets whose making has begun."""
    _whole: set[str] = field(default_factory=set)
    """The data sets whose making has ended."""
    _kept: dict[str, PackedNames] = field(default_factory=dict)
    """By data set the names of the replies that its rows are made of, as far as the ledger has them."""

    async def make(self) -> None:
        """Make all of it. Raises what callers and the ledger raise."""
        slots = self.source.slots
        sources = self.source.sources
        choice = self.choice = Choice(slots, self.selection)
        asker = self._asker = Asker(
            self.plan, sources, self.callers, self.ledger, self.tally, self.work, self.run_id, self.now
        )
        asker.adoption, asker.on_attempt = self.adoption, self.on_attempt
        asker.on_reused, asker.on_unasked = self.reused, self.unasked
        if self.adoption is not None:
            self.adoption.own.making = self
        for name in choice.order:
            if name in sources.made.frozen:
                continue
            self._places[name] = choice.places(name)
            attempts = Attempts(slots.by_name[name], asker, sources, self.binding)
            maker = self.makers[name] = self._maker(attempts, self.workers)
            sources.made.rows[name] = maker.rows
            await maker.make(self._places[name])
            self._whole.add(name)
            if self.on_made is not None:
                self.on_made(attempts)
            if self.callers is None and maker.open:
                choice.unsure.add(name)
        for scenario in self.selection.chosen(self.plan):
            if scenario.rows is not None and scenario.rows.dataset in self.makers.keys() | sources.made.frozen:
                chosen = choice.chosen(scenario)
                if chosen is not None:
                    sources.made.chosen[scenario.name] = chosen

    def _maker(self, attempts: Attempts, workers: int) -> Maker:
        return Maker(
            attempts.made,
            self.source.slots,
            attempts,
            attempts.asker,
            workers,
            self.functions,
            self.sleep,
            self.stop,
        )

    @property
    def pending(self) -> frozenset[str]:
        """Return the data sets whose rows are not all made yet."""
        order = () if self.choice is None else self.choice.order
        return frozenset(order) - self._whole - self.source.sources.made.frozen

    def has(self, dataset: str, name: str) -> bool:
        """Return true if a reply is one of those that the rows of a data set are made of, or if that is not known
        yet: of one that comes later."""
        if dataset not in self._places:
            return dataset in self.pending
        if dataset not in self._kept:
            self._kept[dataset] = PackedNames(self._named(dataset))
        return name in self._kept[dataset]

    def forget(self) -> None:
        """Look again at what is kept, since there is more."""
        self._kept.clear()

    def _named(self, dataset: str) -> Iterable[str]:
        """Return the names of the replies that the rows of a data set are made of, and of those that are asked for
        next: what is kept under these names is gone through, and nobody is asked."""
        asker = Asker(
            self.plan, self.source.sources, None, self.ledger, CallCounters(), Unlisted(), self.run_id, self.now
        )
        asker.adoption = None if self.adoption is None else Namesakes(self.adoption.others)
        names: list[str] = []
        asker.on_reused = lambda call: names.append(call.name)
        asker.on_unasked = lambda need: names.append(need.call.name)
        attempts = Attempts(self.source.slots.by_name[dataset], asker, self.source.sources, self.binding)
        at_once(self._maker(attempts, 1).make(self._places[dataset]))
        return names

    def go_through(self) -> None:
        """Go through what is kept, where nobody is asked."""
        assert self.callers is None, "whoever asks has to wait"
        at_once(self.make())

    @property
    def whole(self) -> bool:
        """True if nothing failed that a later run would try again."""
        return self._asker is None or self._asker.whole
