"""What making the data sets of a run would take, before anything is asked, and what is not known until it was."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from tripos_compiler.plan import Plan, Scenario
from tripos_compiler.semantics.evaluate import Missing
from tripos_runtime.adopting import Adoption
from tripos_runtime.binding import Binding
from tripos_runtime.cases import Case, CaseSource, Selection
from tripos_runtime.foreseeing import PENDING, Size
from tripos_runtime.making.asked import MadeCall, Unasked
from tripos_runtime.making.data import DataMaker
from tripos_runtime.models.base import Message
from tripos_runtime.tally import Tally


@dataclass
class MadeCalls:
    """The calls of one step of one data set: kept, or to be made, with what their prompts hold where that is known."""

    call: MadeCall
    reused: int = 0
    sizes: list[Size] = field(default_factory=list)
    before: str = ""
    """Who replies to the step before."""


@dataclass
class MakingForeseen:
    """What is kept of the data sets that a run makes has been gone through, and their rows are where `source` finds
    them. `calls` are by data set and step, the places of slots of which nothing can be told yet by data set."""

    source: CaseSource
    selection: Selection
    calls: dict[tuple[str, str], MadeCalls] = field(default_factory=dict)
    open: dict[str, dict[int, str]] = field(default_factory=dict)
    """By place, the language in which the row is to be written."""

    def unmade(self, scenario: Scenario) -> Counter[str]:
        """How many rows of a scenario are yet to be made, at most, by language."""
        if scenario.rows is None:
            return Counter()
        chosen = self.source.sources.made.chosen.get(scenario.name)
        waiting = self.open.get(scenario.rows.dataset, {})
        return Counter(each for place, each in waiting.items() if chosen is None or place in chosen)

    def case(self, scenario: Scenario, language: str) -> Case:
        """A case of which nothing is known but its language and where its axes begin."""
        assert scenario.rows is not None
        context = {name: self.source.axes[name].values[0].name for name in scenario.axes} | {"language": language}
        row = Missing(scenario.rows.dataset, PENDING)
        names = {**context, scenario.rows.alias: row, **self.source.sources.names}
        return Case(scenario, "", context, {}, scenario.rows.dataset, names)


def foresee_making(
    plan: Plan,
    source: CaseSource,
    selection: Selection,
    binding: Binding,
    ledger: Any,
    adoption: Adoption | None = None,
) -> MakingForeseen:
    """Goes through what a ledger has of the data sets that a run makes. Nobody is asked and nothing is kept."""
    found = MakingForeseen(source, selection)

    def reused(call: MadeCall) -> None:
        _of(found, call).reused += 1

    def unasked(call: MadeCall, sent: tuple[Message, ...]) -> None:
        _of(found, call).sizes.append(_size(sent))

    maker = data_maker(plan, source, selection, binding, ledger)
    maker.adoption = adoption
    maker.functions = dict.fromkeys((plugin.name for plugin in plan.plugins), _not_called)

    def deeper(dataset: str, walk: str, levels: int) -> None:
        sizes = found.calls[dataset, walk].sizes
        sizes += sizes[-1:] * levels  # the questions of one walk are much alike

    maker.reused, maker.unasked, maker.deeper = reused, unasked, deeper
    asyncio.run(maker.make())
    for name, each in maker.makers.items():
        asks = each.attempts.asks
        found.open[name] = {slot.place: each.attempts.language(slot) for slot in each.open}
        for number, ask in enumerate(asks):
            if (name, ask.name) not in found.calls and asks:
                slot = next(iter(each.open), None)
                if slot is None:
                    continue
                found.calls[name, ask.name] = MadeCalls(each.attempts.call(ask, slot, slot.name, 0, ()))
            # What follows the reply that is not there is asked too, if it can be read.
            if number and (name, ask.name) in found.calls:
                later = len(each.open) - len(found.calls[name, ask.name].sizes)
                reached = len(found.calls[name, asks[number - 1].name].sizes)
                more = min(max(0, later), reached)
                found.calls[name, ask.name].before = binding.of(asks[number - 1].role)[0]
                found.calls[name, ask.name].sizes += [
                    Size(pending=(found.calls[name, asks[number - 1].name].call.title,))
                ] * more
    return found


def data_maker(plan: Plan, source: CaseSource, selection: Selection, binding: Binding, ledger: Any) -> DataMaker:
    """A maker that asks nobody: it goes through what is kept, with the plug-ins that are there."""
    return DataMaker(
        plan,
        binding,
        source,
        selection,
        None,
        ledger,
        Tally(),
        _Nowhere(),
        "",
        lambda: datetime.now(UTC),
        1,
        None,
        asyncio.sleep,
        _nothing,
    )


def _not_called(*_: Any, **__: Any) -> Any:
    """What needs a function of the user's is left open."""
    raise Unasked


class _Nowhere:
    def add(self, ids: Iterable[str]) -> None:
        """Nothing is made of them."""


def _nothing() -> None:
    """There is nothing to stop."""


def _of(found: MakingForeseen, call: MadeCall) -> MadeCalls:
    return found.calls.setdefault((call.dataset, call.step.name), MadeCalls(call))


def _size(sent: tuple[Message, ...]) -> Size:
    size = Size()
    for message in sent:
        size += Size.of(message.content)
    return size
