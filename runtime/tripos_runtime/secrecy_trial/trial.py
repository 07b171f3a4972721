"""The secrecy trial of a plan (two-world test): if only secrets differ, every message to the compared role must be
equal.

First the secrets of all rows are changed at once. If a message about an item differs then, only the secrets of that
item are changed: a message may show secrets of other items, but not those of its own. `reveal(…, rows: N)` is tested
separately: if rows exchange their secrets, it must show the same."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from tripos_compiler.language.references import expressions_of, subexpressions
from tripos_compiler.plan import Call, Data, Plan, Retrieve, Scenario, digest
from tripos_runtime.datasets.data_files import DataFolders
from tripos_runtime.secrecy_trial.copies import Copies, Kind, Placement
from tripos_runtime.secrecy_trial.playthrough import Guesses, RevealedValues, TrialRun, is_narrow, sampled_items
from tripos_runtime.secrecy_trial.scripted_models import Script, placeholder_functions
from tripos_runtime.secrecy_trial.secrets import Changer, SecretChange, WorldItem, WorldItems
from tripos_runtime.secrecy_trial.seen_requests import Place, RequestDifference, SeenRequests, differences
from tripos_runtime.secrecy_trial.tables import DataFiles
from tripos_runtime.secrecy_trial.world import TrialWorld

PAIRS = 4
"""The number of pairs of runs, by default."""
ROWS = 24
"""The largest number of items of a scenario that are run, by default."""
MOST_ALONE = 12
"""The largest number of differing items of a step that are tested by themselves."""
VARIANTS: tuple[tuple[Kind, bool, bool, bool], ...] = (
    ("permuted", False, False, False),
    ("fresh", True, True, False),
    ("missing", True, True, True),
    ("drawn", False, False, False),
)
"""The variants of the pairs, which repeat after the last: how secrets are changed, whether other roles are unreliable,
whether roles guess, and whether all rows have equal secrets in the first world, so that a changed secret of one row is
different from all others in the second."""


@dataclass(frozen=True)
class SecretLeak:
    """A message to the compared role that depends on secrets of its own item.

    `row` is the title of the item, and `pair` the number of the pair, from 0. `fields` were changed; `alone` are those
    whose change alone makes the difference. `copies` are the other places in the files with these secrets. `how` says
    what differs between the worlds: the secrets; what a `reveal` with `rows` shows after rows exchanged them; or only
    the files that contain the rows asked about."""

    difference: RequestDifference
    row: str
    fields: tuple[str, ...]
    alone: tuple[str, ...]
    copies: tuple[str, ...]
    pair: int
    how: Literal["secrets", "exchange", "files"] = "secrets"


@dataclass
class WorldTrial:
    """The result of a trial. `messages` counts the messages that were compared, `units` the items run by scenario;
    `through_others` are the steps whose messages differ only because of secrets of other items."""

    pairs: int
    leaks: list[SecretLeak] = field(default_factory=list)
    messages: int = 0
    units: dict[str, int] = field(default_factory=dict)
    requests: Counter[str] = field(default_factory=Counter)
    """The number of requests by scenario."""
    through_others: set[tuple[str, str]] = field(default_factory=set)
    undecided: set[tuple[str, str]] = field(default_factory=set)
    """The steps for which not every item was tested by itself."""
    seconds: float = 0.0


def run_trial(
    plan: Plan,
    reader: DataFolders,
    spec_files: tuple[str, ...],
    pairs: int = PAIRS,
    rows: int = ROWS,
) -> WorldTrial:
    """Test a plan in `pairs` pairs of worlds. Raises `DataError` if a data file has changed since the plan was made."""
    began = time.monotonic()
    trial = _TrialState(plan, reader, spec_files, rows)
    world_trial = WorldTrial(pairs)
    for number in range(pairs):
        trial.pair(number, world_trial)
    world_trial.seconds = time.monotonic() - began
    return world_trial


@dataclass
class _TrialState:
    plan: Plan
    reader: DataFolders
    spec_files: tuple[str, ...]
    limit: int

    @cached_property
    def tables(self) -> DataFiles:
        return DataFiles(self.plan, self.reader, self.spec_files)

    @cached_property
    def files(self) -> TrialWorld:
        """The world of the unchanged files."""
        return TrialWorld(self.plan, self.reader, self.spec_files, tables=self.tables)

    @cached_property
    def changer(self) -> Changer:
        return Changer(self.tables, Copies(self.tables), self.files.axes)

    @cached_property
    def places(self) -> Mapping[str, frozenset[Place] | None]:
        return sampled_items(self.files, self.limit)

    def pair(self, number: int, found: WorldTrial) -> None:
        """Test the pair with this number, from 0, and add its findings to `found`."""
        kind, unreliable, guesses, alike = VARIANTS[number % len(VARIANTS)]
        under = SecretChange("alike", number) if alike else None
        script = Script(number, unreliable, guesses)
        known: Guesses = {}
        values = RevealedValues()
        first = self._trial_run(script, under, known, values)
        one = first.go(self.plan.scenarios, self.places, self.limit)
        change = SecretChange(kind, number, under=under)
        other = self._trial_run(script, change, known, values, first).go(self.plan.scenarios, self.places, self.limit)
        found.messages += one.messages + other.messages
        for unit, parts in one.units.items():
            found.requests[unit.scenario] += len(parts)
        if not found.units:
            found.units = dict(Counter(unit.scenario for unit in one.units))
        items = WorldItems(first.world, self.changer)
        if self.narrow and not alike:
            found.messages += self._test_exchange(first, number, items, found)
        for scenario in self.plan.scenarios if self.changer.layouts.groups else ():
            found.messages += self._test_moved_rows(scenario, first, one, number, items, found)
        different = [
            difference for difference in differences(one, other, items.root) if not _is_known(difference, found)
        ]
        if not different:
            return
        found.messages += self._test_alone(first, one, change, different, items, found)

    @cached_property
    def narrow(self) -> bool:
        """True if any `reveal` of the plan has `rows`."""
        exprs = (part for expr in expressions_of(self.plan) for part in subexpressions(expr))
        return any(isinstance(part, Call) and part.is_reveal and is_narrow(part) for part in exprs)

    def _test_exchange(self, first: TrialRun, number: int, items: WorldItems, found: WorldTrial) -> int:
        """Let the rows exchange their secrets, and compare the messages in which a `reveal` with `rows` shows its old
        value with those in which it shows its new one. Return the number of messages compared."""
        change = SecretChange("exchanged", number)
        before = self._trial_run(first.script, change, first.guesses, first.revealed, first)
        after = self._trial_run(first.script, change, first.guesses, first.revealed, first)
        after.narrow = True
        one, other = (run.go(self.plan.scenarios, self.places, self.limit) for run in (before, after))
        for difference in differences(one, other, items.root):
            if not _is_known(difference, found):
                item = items.at(difference.unit.place)
                fields = item.fields
                found.leaks.append(SecretLeak(difference, item.title, fields, fields, (), number, "exchange"))
        return one.messages + other.messages

    def _test_moved_rows(
        self,
        scenario: Scenario,
        first: TrialRun,
        one: SeenRequests,
        number: int,
        items: WorldItems,
        found: WorldTrial,
    ) -> int:
        """Move the rows that a scenario asks about to other files with an equal content: no message may change. Return
        the number of messages compared."""
        mine = SeenRequests({unit: sent for unit, sent in one.units.items() if unit.scenario == scenario.name})
        rows = items.rows_of(scenario, [unit.place for unit in mine.units])
        cells = self.changer.secrets_in_file_names(rows)
        if not cells or not mine.units:
            return 0
        change = SecretChange(("permuted", "fresh")[number % 2], number, cells=cells)
        placement = self.changer.layouts.placed(self.changer.records(change), number)
        other = self._trial_run(first.script, first.change, first.guesses, first.revealed, first, placement).go(
            [scenario], self.places, self.limit
        )
        for difference in differences(mine, other, items.root):
            if not _is_known(difference, found):
                title = items.at(difference.unit.place).title
                fields = tuple(sorted({self.changer.roots[cell].field for cell in cells}))
                found.leaks.append(SecretLeak(difference, title, fields, fields, (), number, "files"))
        return other.messages

    def _test_alone(
        self,
        first: TrialRun,
        one: SeenRequests,
        change: SecretChange,
        different: list[RequestDifference],
        items: WorldItems,
        found: WorldTrial,
    ) -> int:
        """Test the differing items with only their own secrets changed: first all of them at once, then one by one.
        Return the number of messages compared."""
        world_items = [items.at(place) for place in dict.fromkeys(each.unit.place for each in different)]
        requests = self._requests_about(first, change, WorldItem.of(world_items), items)
        messages = requests.messages
        request_differences = [each for each in differences(one, requests, items.root) if not _is_known(each, found)]
        request_differences.sort(key=lambda each: digest([change.seed, *each.unit]))  # different items in every pair
        found.through_others.update((each.unit.scenario, each.part.step) for each in different)
        tried: Counter[tuple[str, str]] = Counter()
        for difference in request_differences:
            step = (difference.unit.scenario, difference.part.step)
            if _is_known(difference, found):
                continue
            if tried[step] >= MOST_ALONE:
                found.undecided.add(step)
                continue
            tried[step] += 1
            item = items.at(difference.unit.place)
            seen_requests = self._requests_about(first, change, item, items)
            messages += seen_requests.messages
            for request_difference in differences(one, seen_requests, items.root, {difference.unit.place}):
                if not _is_known(request_difference, found):
                    found.leaks.append(self._leak(request_difference, first, one, change, item, items))
        leaking = {(leak.difference.unit.scenario, leak.difference.part.step) for leak in found.leaks}
        found.through_others -= leaking
        found.undecided -= leaking
        return messages

    def _leak(
        self,
        own: RequestDifference,
        first: TrialRun,
        one: SeenRequests,
        change: SecretChange,
        item: WorldItem,
        items: WorldItems,
    ) -> SecretLeak:
        """Return the leak that a difference `own` of an item shows, with the fields whose change alone makes it."""
        alone = []
        for name in item.fields if len(item.fields) > 1 else ():
            requests = self._requests_about(first, replace(change, fields=frozenset((name,))), item, items)
            if any(
                difference.unit == own.unit and difference.part.step == own.part.step
                for difference in differences(one, requests, items.root, {own.unit.place})
            ):
                alone.append(name)
        return SecretLeak(own, item.title, item.fields, tuple(alone) or item.fields, item.copies, change.seed)

    def _requests_about(
        self, first: TrialRun, change: SecretChange, item: WorldItem, items: WorldItems
    ) -> SeenRequests:
        """Return the requests about an item, or several as one, in the first world with only their secrets changed."""
        roots = {items.root(place) for place in item.places}
        places = {
            name: None if sampled is None else frozenset(each for each in sampled if items.root(each) in roots)
            for name, sampled in self.places.items()
        }
        scenarios = [
            scenario for scenario in self.plan.scenarios if places[scenario.name] is None or places[scenario.name]
        ]
        secret_change = replace(change, cells=item.cells, generated=item.generated)
        return self._trial_run(first.script, secret_change, first.guesses, first.revealed, first).go(
            scenarios, places, self.limit
        )

    def _trial_run(
        self,
        script: Script,
        change: SecretChange | None,
        known: Guesses,
        shown: RevealedValues,
        first: TrialRun | None = None,
        placement: Placement | None = None,
    ) -> TrialRun:
        """Return a run in the world with a change of secrets. The runs of a pair share their guesses and the values
        that were revealed; `first` is the run of the first world, and `None` for that run itself. `placement` says in
        which files the rows are, by default where the changed secrets in file names put them."""
        records = {} if change is None else self.changer.records(change)
        if placement is None:
            placement = self.changer.layouts.placed(records, 0 if change is None else change.seed)
        records = self.changer.joins.moved(records, placement)
        world = TrialWorld(
            self.plan, self.reader, self.spec_files,
            tables=self.tables, records=records, placement=placement, base=self.files,
        )  # fmt: skip
        same = first is not None and not any(world.rows.changes(name) for name in _looked_through(self.plan))
        functions = placeholder_functions(self.plan, repr(change))
        return TrialRun(world, script, change, first is None, functions, shown, known, first if same else None)


def _looked_through(plan: Plan) -> set[str]:
    """Return the data sets that steps retrieve from."""
    steps = [step for scenario in plan.scenarios for step in scenario.steps if isinstance(step, Retrieve)]
    return {
        part.dataset
        for step in steps
        for expr in expressions_of(step)
        for part in subexpressions(expr)
        if isinstance(part, Data)
    }


def _is_known(each: RequestDifference, found: WorldTrial) -> bool:
    """Return true if a leak at the step of a difference has been found already."""
    step = (each.unit.scenario, each.part.step)
    return any((leak.difference.unit.scenario, leak.difference.part.step) == step for leak in found.leaks)
