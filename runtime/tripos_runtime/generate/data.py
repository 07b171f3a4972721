"""Makes the data sets that a run needs, each after those that it is made from."""

from __future__ import annotations

from collections.abc import Callable, Mapping
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
from tripos_runtime.program import Adoption, at_once
from tripos_runtime.roles import RoleBinding
from tripos_runtime.scheduling import Caller, Sleep


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
        for name in choice.order:
            if name in sources.made.frozen:
                continue
            made = slots.by_name[name]
            attempts = Attempts(made, asker, sources, self.binding)
            maker = self.makers[name] = Maker(
                made, slots, attempts, asker, self.workers, self.functions, self.sleep, self.stop
            )
            await maker.make(choice.places(name))
            if self.on_made is not None:
                self.on_made(attempts)
            if self.callers is None and maker.open:
                choice.unsure.add(name)
        for scenario in self.selection.chosen(self.plan):
            if scenario.rows is not None and scenario.rows.dataset in self.makers.keys() | sources.made.frozen:
                chosen = choice.chosen(scenario)
                if chosen is not None:
                    sources.made.chosen[scenario.name] = chosen

    def go_through(self) -> None:
        """Go through what is kept, where nobody is asked."""
        assert self.callers is None, "whoever asks has to wait"
        at_once(self.make())

    @property
    def whole(self) -> bool:
        """True if nothing failed that a later run would try again."""
        return self._asker is None or self._asker.whole
