"""Reuse of replies to an identical request that another step or run sent.

If the ledger has no reply under a name, it is searched by the digest of the request that would be sent. A reply to
exactly that request is adopted under the new name, together with its origin, the name that it was asked for under. Each
reply is one draw, and a run uses a draw once: at most one name of the run adopts it, and none if the run has it under a
name already. So a run uses as many draws as with an empty store, and asks only for those that the store does not
have."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from typing import Any, NamedTuple, Protocol

from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.references import names_in
from tripos_compiler.plan import Ask, Converse, JudgedStep, Plan, Scenario
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.asking.ledger import KEY_COLUMNS, NOTHING_KEPT, Ledger, OtherReplies, OtherStore, ReuseCounts, Row
from tripos_runtime.asking.questions import Adopted
from tripos_runtime.datasets.cases import Case
from tripos_runtime.datasets.selection import data_of
from tripos_runtime.models.kinds import kind_of
from tripos_runtime.program.binding import generation_binding
from tripos_runtime.program.units import Pair, StepCall, Unit, pairs_of

MOST_REQUESTS = 4096
"""The number of requests whose draws are cached. All samples of one question send the same request."""


class _DrawRow(NamedTuple):
    """A row with a draw, and its unreadable first reply, if any. `source` is the other store that it is in, if any."""

    row: Row
    draft: Row | None
    source: OtherStore | None = None


Members = list[_DrawRow]
"""The rows with one draw: the row that was asked for, and those that adopted it."""


class Wanted(NamedTuple):
    """A reply to look for: its table, its name, its model, and the digest of its request. The sample number and `about`
    (see `subject_of`) decide which of several draws is preferred."""

    table: str
    name: str
    model: str
    request: str
    number: int = 0
    about: Collection[str] = ()


class ReuseFound(Exception):
    """There is a reply to adopt. Raised instead of adopting it if `ReplyReuse.probing` is true."""


@dataclass
class ReplyReuse:
    """The search for replies that one run may adopt. A process claims a reply before it adopts it, unless `claims` is
    false, for a run that keeps nothing."""

    ledger: Ledger
    run_results: RunResults
    claims: bool = True
    others: OtherReplies = NOTHING_KEPT
    """The replies of other stores. A reply whose name is also a name of this run is adopted only under that name."""
    reuse: ReuseCounts = field(default_factory=ReuseCounts)
    """The counts of replies adopted from other stores."""
    probing: bool = False
    """True if `ReuseFound` is raised when there is a reply to adopt."""
    _adopted: set[str] = field(default_factory=set)
    """The origins of the adopted replies."""
    _origins: dict[str, str] = field(default_factory=dict)
    """The origin of the reply that each name adopted."""
    _draws: dict[tuple[str, str], dict[str, Members]] = field(default_factory=dict)
    """The draws that may be adopted, by table and request, and then by origin."""

    def may_find(self, table: str, model: str) -> bool:
        """Return true if the ledger or another store has replies of a model with known requests. If a model's
        reply depends on the place of a request too, its reply to an equal request elsewhere cannot be adopted."""
        if kind_of(model).needs_origin:
            return False
        return model in self.ledger.repliers(table) or model in self.others.repliers(table)

    def find(self, wanted: Wanted, here: CurrentCase) -> Adopted | None:
        """Return a reply to the request, which no other name of this run may adopt afterwards; None if there is none.
        `here` is the current case."""
        if not self.may_find(wanted.table, wanted.model):
            return None
        draws = self._draws_of(wanted)
        if self.probing and draws:
            raise ReuseFound
        for origin in self._ranked(draws, wanted):
            if (
                origin in self._adopted
                or self._is_in_run(wanted, draws[origin], here)
                or not self._claim(origin, wanted, here)
            ):
                continue
            self._adopted.add(origin)
            self._origins[wanted.name] = origin
            members = draws.pop(origin)
            members = [member for member in members if member.source is None] or members
            named = (member for member in members if member.row[KEY_COLUMNS[wanted.table]] == origin)
            row, draft, source = next(named, members[0])
            if source is not None:
                self.reuse.add(source.place, row)
            return Adopted(row, draft, origin, source)
        return None

    def record_kept(self, adopted: Adopted) -> None:
        """Record that an adopted reply was kept under its new name."""
        if self.claims:
            self.ledger.release(_claim_key(adopted.origin))

    def refresh(self) -> bool:
        """Read what other processes made visible. Return true if there was anything."""
        if not self.ledger.refresh():
            return False
        self._draws.clear()
        if self.run_results.making is not None:
            self.run_results.making.forget()
        return True

    def _ranked(self, draws: Mapping[str, Members], wanted: Wanted) -> list[str]:
        """Return the origins of the draws, the preferred first."""
        if len(draws) < 2:
            return list(draws)
        about = {*wanted.about, *(self._origins[name] for name in wanted.about if name in self._origins)}

        def rank(origin: str) -> tuple[Any, ...]:
            rows = [row.row for row in draws[origin]]
            other = wanted.name not in {row[KEY_COLUMNS[wanted.table]] for row in rows}
            numbers = {_number(row) for row in rows}
            judged = any(row.get("sample_id") in about for row in rows)
            near = any(row["item_id"] in about for row in rows)
            return (other, wanted.number not in numbers, not judged, not near, min(numbers), origin)

        return sorted(draws, key=rank)

    def _draws_of(self, wanted: Wanted) -> dict[str, Members]:
        """Return the draws that this run has not adopted, by origin, each with every row that has it."""
        key = (wanted.table, wanted.request)
        if key not in self._draws:
            if len(self._draws) >= MOST_REQUESTS:
                self._draws.clear()
            draws = self._draws[key] = {}
            rows = [_DrawRow(*reply) for reply in self.ledger.replies(wanted.table, wanted.request)]
            for row, draft, source in self.others.replies(wanted.table, wanted.request):
                rows.append(_DrawRow(row, draft, OtherStore(*source)))
            for draw_row in rows:
                origin = draw_row.row["adopted_from"] or draw_row.row[KEY_COLUMNS[wanted.table]]
                if origin not in self._adopted:
                    draws.setdefault(origin, []).append(draw_row)
        return self._draws[key]

    def _is_in_run(self, wanted: Wanted, members: Members, here: CurrentCase) -> bool:
        """Return true if this run has a draw under one of its names."""
        for row, _, source in members:
            name = row[KEY_COLUMNS[wanted.table]]
            if (source is None or name != wanted.name) and self.run_results.has(name, row, here):
                return True
        return False

    def _claim(self, origin: str, wanted: Wanted, here: CurrentCase) -> bool:
        """Claim a draw. Return false if another process has claimed it, or has adopted it for the same run."""
        if not self.claims:
            return True
        if not self.ledger.claim(_claim_key(origin)):
            return False
        if self.refresh() and self._is_in_run(wanted, self._draws_of(wanted).get(origin, []), here):
            self.ledger.release(_claim_key(origin))
            return False
        return True


def _number(row: Row) -> int:
    """Return the sample number of a row."""
    columns = ("sample_number", "conversation_number", "repeat")
    return next((row[name] for name in columns if row.get(name) is not None), 0)


def _claim_key(origin: str) -> str:
    return f"draw {origin}"


def subject_of(call: StepCall, unit: Unit) -> tuple[str, ...]:
    """Return what a reply is about: the item, and the replies of the unit unless it is a turn."""
    return (unit.case.item_id,) if call.table == "turns" else (unit.case.item_id, *unit.samples.values())


@dataclass(frozen=True)
class Namesakes:
    """The search in other stores for replies with exactly the names of this run, for readers of kept results. Nothing
    is counted or claimed."""

    others: OtherReplies

    def find(self, wanted: Wanted, here: CurrentCase) -> Adopted | None:
        """Return the reply of that name, if there is one."""
        if wanted.model not in self.others.repliers(wanted.table):
            return None
        for row, draft, source in self.others.replies(wanted.table, wanted.request):
            if row[KEY_COLUMNS[wanted.table]] == wanted.name:
                return Adopted(row, draft, row["adopted_from"] or wanted.name, OtherStore(*source))
        return None


class GenerationState(Protocol):
    """The data sets that a run generates."""

    @property
    def pending(self) -> frozenset[str]:
        """The data sets whose rows are not all generated yet."""
        ...

    def has(self, dataset: str, name: str) -> bool:
        """Return true if a reply is part of the rows of a data set, or if this is not known yet."""
        ...

    def forget(self) -> None:
        """Read the kept rows again, since there are more."""
        ...


@dataclass
class RunResults:
    """The names of a run's own results. Expensive parts are computed when they are first needed."""

    plan: Plan
    models: Mapping[str, Sequence[str]]
    """The models that answer, by role."""
    scenarios: Sequence[Scenario]
    """The scenarios of the run."""
    cases: Callable[[Sequence[Scenario]], Iterable[Case]]
    """The cases of some scenarios, over all shards."""
    units: Callable[[Case], Sequence[Unit]]
    making: GenerationState | None = None
    """The generated data sets, once their generation has begun."""
    _names_by_pending: dict[frozenset[str], _AskedNames] = field(default_factory=dict)
    """The names by the data sets that are not generated yet."""

    def has(self, name: str, row: Row, here: CurrentCase) -> bool:
        """Return true if a result of the store belongs to this run; `here` is the current case."""
        fingerprint = row["fingerprint"]
        if fingerprint in self._generated:
            datasets = self._generated[fingerprint].get(row["binding"], ())
            return any(self.making is None or self.making.has(dataset, name) for dataset in datasets)
        if fingerprint not in self._fingerprints:
            return False
        if row["item_id"] == here.item and fingerprint in here.fingerprints:
            return name in here.names
        names = self._names()
        return fingerprint in names.unknown or (row["item_id"] in names.items and name in names.names)

    @cached_property
    def _generated(self) -> Mapping[str, Mapping[str, Sequence[str]]]:
        """The generated data sets, by the fingerprints and the bindings of their questions."""
        datasets: dict[str, dict[str, list[str]]] = {}
        for dataset in self.plan.made:
            for fingerprint in dataset.fingerprints:
                binding = generation_binding(self.plan, dataset, fingerprint, self.models)
                datasets.setdefault(fingerprint, {}).setdefault(binding, []).append(dataset.name)
        return datasets

    @cached_property
    def _fingerprints(self) -> Collection[str]:
        return self.plan.fingerprints

    def _names(self) -> _AskedNames:
        """Return the names of all replies about cases, as far as they are known before all rows are generated."""
        pending = frozenset() if self.making is None else self.making.pending
        if pending not in self._names_by_pending:
            known = [scenario for scenario in self.scenarios if pending.isdisjoint(_datasets_of_cases(scenario))]
            others = [scenario for scenario in self.scenarios if not pending.isdisjoint(_datasets_of_cases(scenario))]
            unknown = {fingerprint for other in others for fingerprint in other.fingerprints}
            items = {case.item_id for case in self.cases(known)}
            names = PackedNames(name for case in self.cases(known) for name in names_of(self.units(case)))
            self._names_by_pending[pending] = _AskedNames(items, names, unknown)
        return self._names_by_pending[pending]


def _datasets_of_cases(scenario: Scenario) -> set[str]:
    """Return the data sets that determine the cases of a scenario."""
    return data_of(scenario) | ({scenario.rows.dataset} if scenario.rows is not None else set())


class _AskedNames(NamedTuple):
    """The items of a run, the names of all replies about them, and the fingerprints of the scenarios whose items are
    not known yet."""

    items: Collection[str]
    names: PackedNames
    unknown: Collection[str]


class CurrentCase:
    """The current case: its item and the names of its results."""

    def __init__(self, units: Sequence[Unit]) -> None:
        self._units = units
        self.item = units[0].case.item_id if units else ""

    @cached_property
    def fingerprints(self) -> Collection[str]:
        """The fingerprints of the case's scenario."""
        return set(self._units[0].case.scenario.fingerprints) if self._units else set()

    @cached_property
    def names(self) -> Collection[str]:
        """The names of every reply, judgement and turn of the case's units and pairs."""
        return names_of(self._units)


NOWHERE = CurrentCase(())
"""The case for replies that generate rows, which belong to no case."""


class PackedNames:
    """A set of names that takes 8 bytes per name: their first 16 hexadecimal digits."""

    def __init__(self, names: Iterable[str]) -> None:
        import numpy as np

        self._sorted = np.unique(np.fromiter((int(name[:16], 16) for name in names), np.uint64))

    def __contains__(self, name: object) -> bool:
        import numpy as np

        number = np.uint64(int(str(name)[:16], 16))
        place = int(np.searchsorted(self._sorted, number))
        return place < len(self._sorted) and bool(self._sorted[place] == number)


def names_of(units: Sequence[Unit]) -> set[str]:
    """Return the names of every reply that the units and pairs of a case ask for, except those that a condition on the
    row rules out."""
    names: set[str] = set()
    parts: list[Unit | Pair] = [*units, *pairs_of(units)]
    for part in parts:
        unit = part.first if isinstance(part, Pair) else part
        names.update(call.name for call in part.calls if not _is_ruled_out(call.step, unit))
        for talk in part.talks.values():
            if not _is_ruled_out(talk.step, unit):
                names.update(talk.turns)
    return names


def _is_ruled_out(step: Ask | Converse | JudgedStep, unit: Unit) -> bool:
    """Return true if the condition of a step is false whatever the replies are."""
    names = unit.case.names
    if step.when is None or not names_in(step.when) <= names.keys():
        return False
    try:
        return not evaluate(step.when, names)
    except Unavailable:
        return False
