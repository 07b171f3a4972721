"""A trial run of one world: its units run with scripted models, and each message to the compared role is recorded.

No model is called and nothing is kept. `reveal` has the same value in both worlds of a pair, so that what is shown on
purpose is not a difference. A sample of items of every kind is run."""

from __future__ import annotations

import asyncio
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from itertools import islice
from typing import Any, cast

from tripos_compiler.language.evaluation import Unavailable, evaluate
from tripos_compiler.language.references import without_reveal
from tripos_compiler.library.registry import override_reveal, with_functions
from tripos_compiler.plan import (
    Ask,
    Call,
    Column,
    Compare,
    Converse,
    Data,
    DataField,
    Derived,
    GeneratedDataset as MadeSet,
    Grade,
    Plan,
    Scenario,
    Score,
    Step,
    Walk,
    digest,
    serialized_form,
)
from tripos_runtime.datasets.cases import Case
from tripos_runtime.datasets.generated_rows import GeneratedRow, RowFile
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.datasets.sources import SourceRow
from tripos_runtime.drivers.live import LiveDriver, UnitContext
from tripos_runtime.generate.attempts import Attempts
from tripos_runtime.generate.author import Asker, GenerationObserver
from tripos_runtime.generate.maker import DataMaker
from tripos_runtime.models.base import Request
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.program.needs import Answered, ConversationNeed, Need, ReplyNeed, ScorerNeed
from tripos_runtime.program.running import CaseState, RunContext
from tripos_runtime.program.units import BoundTreatment, Pair, Unit, pairs_of
from tripos_runtime.program.values import StepValues
from tripos_runtime.scheduling.calling import Caller
from tripos_runtime.secrecy_trial.copies import new_value, permuted
from tripos_runtime.secrecy_trial.scripted_models import Script, ScriptedModel, Vectors, expected_words, settings_told
from tripos_runtime.secrecy_trial.secrets import SecretChange
from tripos_runtime.secrecy_trial.seen_requests import Made, Place, SeenRequest, SeenRequests, SeenUnit as UnitKey
from tripos_runtime.secrecy_trial.world import TrialWorld

Key = tuple[Hashable, str, int]
"""The subject of an evaluation, the expression, and the number of its evaluation."""


def is_narrow(call: Call) -> bool:
    """Return true if a call of `reveal` has `rows`: it shows the values of a column, without saying which row has
    which."""
    return len(call.args) > 1 or "rows" in call.named


@dataclass
class RevealedValues:
    """The value of every `reveal` in the first world of a pair."""

    values: dict[Key, Any] = field(default_factory=dict)
    _texts: dict[int, tuple[Call, str]] = field(default_factory=dict)

    def text(self, call: Call) -> str:
        """Return a text that identifies a call."""
        known = self._texts.get(id(call))
        if known is None or known[0] is not call:
            known = self._texts[id(call)] = (call, serialized_form(call).model_dump_json())
        return known[1]


@dataclass
class RevealRecorder:
    """Evaluates `reveal` in one world to its value in the first world, which is the one being recorded if it is
    `noted`."""

    revealed: RevealedValues
    is_recorded: bool
    narrow: bool = False
    """True if a `reveal` with `rows` has its value in this world."""
    about: Hashable = None
    """The subject of the current evaluation: an attempt at a row, or a unit."""
    _counts: Counter[tuple[Hashable, str]] = field(default_factory=Counter)

    def begin(self, about: Hashable) -> None:
        """Set the subject of the evaluations that follow."""
        self.about = about

    def __call__(self, call: Call, value: Callable[[], Any]) -> Any:
        """Return the value of a call, or why it has none."""
        if self.narrow and is_narrow(call):
            return value()
        text = self.revealed.text(call)
        self._counts[self.about, text] += 1
        key = (self.about, text, self._counts[self.about, text])
        if not self.is_recorded and key not in self.revealed.values and self._counts[self.about, text] > 1:
            key = (self.about, text, 1)  # a step that the first world did not run shows the value of another step
        if self.is_recorded or key not in self.revealed.values:
            try:
                found = value()
            except Unavailable as reason:
                found = reason
            if self.is_recorded:
                self.revealed.values[key] = found
        else:
            found = self.revealed.values[key]
        if isinstance(found, Unavailable):
            raise found
        return found


MOST_SAMPLES = 2
"""The largest number of samples of a row that are run: further ones receive the same messages."""
MOST_REQUESTS = 600
"""The approximate number of requests in a scenario; at least `FEWEST` items are run."""
FEWEST = 4


def item_limit(scenario: Scenario, limit: int) -> int:
    """Return how many items of a scenario are run: fewer if an item takes many requests, as conversations do."""
    requests = 0
    for step in (step for treatment in scenario.treatments for step in treatment.steps):
        if isinstance(step, Ask | Converse):
            requests += min(step.samples, MOST_SAMPLES) * (step.limit if isinstance(step, Converse) else 1)
    return max(FEWEST, min(limit, MOST_REQUESTS // max(1, requests)))


def sampled_items(world: TrialWorld, limit: int) -> Mapping[str, frozenset[Place] | None]:
    """Return the items of every scenario that are run, by its name; `None` for generated ones, of which only as many
    are generated."""
    return {scenario.name: _of(world, scenario, item_limit(scenario, limit)) for scenario in world.plan.scenarios}


def _of(world: TrialWorld, scenario: Scenario, limit: int) -> frozenset[Place] | None:
    rows = scenario.rows
    if rows is None:
        cells = {case.item_id: case.item_id for case in world.picked(scenario, None)}
        return frozenset(_spread(dict.fromkeys(cells, ""), limit))
    if any(dataset.name == rows.dataset for dataset in world.plan.made):
        return None
    cases = {case.origin: case for case in world.picked(scenario, None) if case.origin is not None}
    kinds: dict[Place, str] = {
        place: f"{case.context} {_kind(world.plan, rows.dataset, case.fields)}" for place, case in cases.items()
    }
    chosen = set(_spread(kinds, limit))
    if rows.where is not None:  # include some rows that are ruled out: another world may ask about them
        others: dict[Place, str] = {
            row.origin: _kind(world.plan, rows.dataset, row.values)
            for row in _rows(world, rows.dataset)
            if row.origin not in cases
        }
        chosen.update(_spread(others, max(1, limit // 2)))
    return frozenset(chosen)


def _rows(world: TrialWorld, dataset: str) -> tuple[SourceRow, ...]:
    return world.rows.rows[dataset]


def _kind(plan: Plan, dataset: str, values: Mapping[str, object]) -> str:
    """Return the kind of a row: the values of fields that have few."""
    few = [
        data_field
        for data_field in plan.dataset(dataset).fields
        if data_field.type.kind in ("choice", "bool", "optional")
    ]
    said = [
        values[data_field.name] if data_field.type.kind != "optional" else values[data_field.name] is None
        for data_field in few
    ]
    return repr(said)


def _spread(kinds: Mapping[Place, str], limit: int) -> list[Place]:
    """Return positions of as many kinds as possible, drawn by their digests."""
    by_kind: dict[str, list[Place]] = defaultdict(list)
    for place in sorted(kinds, key=lambda place: digest(["worlds", place])):
        by_kind[kinds[place]].append(place)
    found: list[Place] = []
    waiting = [by_kind[kind] for kind in sorted(by_kind, key=lambda kind: digest(["worlds", kind]))]
    while waiting and len(found) < limit:
        found += [each.pop(0) for each in waiting[: limit - len(found)]]
        waiting = [each for each in waiting if each]
    return found


NOW = datetime(2000, 1, 1, tzinfo=UTC)
Guesses = dict[Hashable, Sequence[Any]]
"""The secrets of an item in the first world of a pair, which a compared role may guess."""


@dataclass
class TrialRun(GenerationObserver):
    """One trial run of a world."""

    world: TrialWorld
    script: Script
    change: SecretChange | None
    first: bool
    """True if it is the first world of a pair, which determines guesses and revealed values."""
    functions: Mapping[str, Callable[..., Any]]
    revealed: RevealedValues
    guesses: Guesses = field(default_factory=dict)
    indexed: TrialRun | None = None
    """Another trial run with the same retrieval collections."""
    narrow: bool = False
    """True if `reveal(…, rows: N)` has its value in this world."""
    requests: SeenRequests = field(default_factory=SeenRequests)
    _at: UnitKey | None = None
    _about: Hashable = None
    _arms: tuple[tuple[str, str], ...] = ()
    _sample: int = 0
    _step: str = ""
    _begun: tuple[Unit | Pair, Step] | None = None
    _turn: int = 0

    def __post_init__(self) -> None:
        plan = self.plan
        self.compared = next(role.name for role in plan.roles if role.kind == "compared")
        judged = any(
            isinstance(step, Compare) and plan.scorer(step.scorer).role == self.compared
            for scenario in plan.scenarios
            for step in scenario.steps
        )
        names: dict[str, tuple[str, ...]] = {role.name: (f"trial/{role.name}",) for role in plan.roles}
        if judged:
            names[self.compared] += (f"trial/{self.compared}:2",)
        self.binding = RoleBinding(names, self.compared)
        silent = {scorer.role for scorer in plan.scorers if not scorer.writes}
        words = expected_words(plan)
        self.voices = {
            name: ScriptedModel(role, name, self.script, self._record, words, role == self.compared, role in silent)
            for role, each in names.items()
            for name in each
        }
        self.callers = cast("Mapping[str, Caller]", self.voices)
        self.run = RunContext(plan, self.binding, self.world.sources, run_id="trial", now=lambda: NOW)
        self.driver = _Driver(self.run, callers=self.callers)
        self.driver.going = self
        self.driver.encoder = Vectors(self._embedded)  # type: ignore[assignment]
        if self.indexed is not None:
            self.driver.world.chooser = self.indexed.driver.world.chooser

    @cached_property
    def _secret(self) -> Mapping[str, Sequence[str]]:
        """The secret fields of every data set."""
        fields = {dataset.name: dataset.fields for dataset in self.plan.datasets}
        fields |= {dataset.name: dataset.fields for dataset in self.plan.made}
        return {
            name: [data_field.name for data_field in data_fields if data_field.secret]
            for name, data_fields in fields.items()
        }

    @property
    def plan(self) -> Plan:
        """The plan that is run."""
        return self.world.plan

    def go(
        self, scenarios: Sequence[Scenario], places: Mapping[str, Collection[Place] | None], limit: int
    ) -> SeenRequests:
        """Run the cases of scenarios at these places, by the name of the scenario; of generated data sets at most
        `limit` slots."""
        asyncio.run(self._go(scenarios, places, limit))
        return self.requests

    async def _go(
        self, scenarios: Sequence[Scenario], places: Mapping[str, Collection[Place] | None], limit: int
    ) -> None:
        self._revealing = RevealRecorder(self.revealed, is_recorded=self.first, narrow=self.narrow)
        with with_functions(self.functions), override_reveal(self._revealing):
            await self._make(scenarios, limit)
            for scenario in scenarios:
                bound_treatments = [
                    BoundTreatment(scenario, one, self.plan, self.binding) for one in scenario.treatments
                ]
                picked = places.get(scenario.name)
                cases = self.world.picked(scenario, picked)
                self._revealing.begin(scenario.name)
                for case in cases if picked is not None else islice(cases, item_limit(scenario, limit)):
                    await self._case(case, bound_treatments)

    async def _make(self, scenarios: Sequence[Scenario], limit: int) -> None:
        """Generate the data sets that the scenarios need."""
        if not self.plan.made:
            return
        over = {scenario.rows.dataset for scenario in scenarios if scenario.rows is not None}
        limit = max((item_limit(scenario, limit) for scenario in scenarios), default=limit)
        many = any(dataset.rows > limit for dataset in self.plan.made if dataset.name in over)
        selection = Selection(tuple(scenario.name for scenario in scenarios), limit=limit if many else None)
        await DataMaker(self.run, self.world, selection, self.callers, observer=self).make()

    def on_made(self, dataset: MadeSet) -> None:
        """Change the secrets of the rows."""
        if self.change is not None:
            change_made(Attempts(dataset, Asker(self.run)), self.world, self.change)

    def on_attempt(self, dataset: str, place: int, number: int) -> None:
        """Record that an attempt at a row begins."""
        self._about = ("attempt", made_at(self.world, dataset, place))
        self._revealing.begin((self._about, number))
        generated_dataset = self.world.slots.by_name[dataset]
        source = None if generated_dataset.source is None else without_reveal(generated_dataset.source)
        slot = self.world.slots.filled(generated_dataset, self.world.slots.slot_at(generated_dataset, place))
        if self.first and isinstance(source, Data) and slot is not None and isinstance(slot.source, Mapping):
            self._know(self._about, source.dataset, slot.source)

    def _know(self, place: Hashable, dataset: str, values: Mapping[str, Any]) -> None:
        """Record the secrets of a row, which may be guessed."""
        secret = self._secret.get(dataset, ())
        self.guesses[place] = [values[name] for name in secret if values.get(name) is not None]

    async def _case(self, case: Case, bound_treatments: Sequence[BoundTreatment]) -> None:
        place: Place = case.item_id if case.origin is None else case.origin
        if case.origin is not None and case.dataset in self.world.slots.by_name:
            place = made_at(self.world, *case.origin)
        self._at = UnitKey(case.scenario.name, place)
        self.requests.units.setdefault(self._at, {})
        self._about = place
        if self.first:
            self._know(place, case.dataset or "", case.fields)
        for bound in bound_treatments:
            self._arms = tuple(sorted(bound.treatment.arms.items()))
            units = [
                Unit(case, bound, model, number)
                for model in self.binding.of(self.compared)
                for number in bound.numbers[:MOST_SAMPLES]
            ]
            names: dict[Unit, StepValues] = {}
            for unit in units:
                self._sample = unit.number
                self._revealing.begin((self._at, self._arms, unit.model, unit.number))
                shared = CaseState({}, {}, {})
                await self.driver.go_through(unit, shared)
                names |= shared.names
            shared = CaseState({}, {}, {}, names=names)
            for pair in pairs_of(units):
                if self.plan.scorer(pair.step.scorer).role == self.compared:
                    self._sample = pair.number
                    await self.driver.compare([pair], [], shared)
        self._at = None

    def begin(self, part: Unit | Pair, step: Step) -> None:
        """Set the current step; its requests are counted from here."""
        if self._begun is None or self._begun[0] is not part or self._begun[1] is not step:
            self._begun, self._step, self._turn = (part, step), step.name, 0

    def _record(self, voice: ScriptedModel, request: Request) -> Sequence[Any]:
        """Record what the compared role receives; return what a role would guess."""
        if voice.compared and self._at is not None:
            self._note(voice.name, (*request.message_pairs, *settings_told(request)))
        return self.guesses.get(self._about, ()) if self.script.guesses_secrets else ()

    def _embedded(self, model: str, texts: Sequence[str]) -> None:
        if self.voices[model].compared and self._at is not None:
            self._note(model, tuple(("user", text) for text in texts))

    def _note(self, model: str, sent: tuple[tuple[str, str], ...]) -> None:
        assert self._at is not None
        self._turn += 1
        self.requests.units[self._at][SeenRequest(self._arms, self._sample, self._step, self._turn, model)] = sent


class _Driver(LiveDriver):
    """Runs the steps that send something to the compared role, or that decide about such a step."""

    going: TrialRun

    def steps(self, unit: Unit) -> Sequence[Step]:
        """Return the steps that a unit runs. Scores and other judges are not sent to the compared role."""
        compared = self.going.compared
        return [
            step
            for step in unit.bound.treatment.steps
            if not isinstance(step, Score | Column)
            and not (isinstance(step, Grade) and unit.bound.role_of(step) != compared)
        ]

    async def answer(self, need: Need, at: UnitContext) -> Answered:
        """Return what a program is sent for a need, recording the step at which it arose."""
        assert not isinstance(need, ScorerNeed), "scores are left out"
        step = (
            need.call.step
            if isinstance(need, ReplyNeed)
            else need.talk.step
            if isinstance(need, ConversationNeed)
            else need.step
        )
        self.going.begin(at.part, step)
        return await super().answer(need, at)


def made_at(world: TrialWorld, dataset: str, place: int) -> Made:
    """Return the identity of the row generated at a place of a world, which is the same in all worlds."""
    slots = world.slots
    generated_dataset = slots.by_name[dataset]
    slot = slots.slot_at(generated_dataset, place)
    at: Any = slot.at
    source = without_reveal(generated_dataset.source) if generated_dataset.source is not None else None
    if slot.above is not None:
        at = made_at(world, slots.upstream(generated_dataset) or "", slot.above)
    elif isinstance(source, Data) and source.dataset not in slots.by_name:
        at = world.rows.place_in_files(world.plan.dataset(source.dataset), slot.at)
    return dataset, at, digest(slot.cell), slot.number


def change_made(attempts: Attempts, world: TrialWorld, change: SecretChange) -> None:
    """Change secrets that roles wrote in generated rows. The rows stay: the messages do not depend on the outcome of a
    row by its own secrets."""
    dataset, files = attempts.dataset, world.sources.generated.rows
    secret = _written(dataset)
    if not secret:
        return
    before, after = list(files[dataset.name]), RowFile()
    for number, row in enumerate(before):
        at = made_at(world, dataset.name, row.place)
        values = dict(row.values)
        for layer in (change.under, change):
            if layer is None or not (layer.changes_row(at) if layer.generated is None else at in layer.generated):
                continue
            for data_field in secret:
                if layer.takes(data_field.name):
                    values[data_field.name] = _replacement(data_field, number, at, before, layer, world)
            _derive(attempts, row, values, world)
        after.add(GeneratedRow(row.place, values, row.origins))
    files[dataset.name] = after


def _written(made: MadeSet) -> list[DataField]:
    """Return the secret fields that a role fills."""
    texts: set[str] = set()
    for step in made.steps:
        if isinstance(step, Ask) and step.returns is not None and step.returns.kind == "record":
            texts |= step.returns.fields.keys()
        if isinstance(step, Walk):
            texts.add(step.name)
    return [data_field for data_field in made.fields if data_field.secret and data_field.name in texts]


def _replacement(
    each: DataField, number: int, at: Made, rows: Sequence[GeneratedRow], change: SecretChange, world: TrialWorld
) -> Any:
    """Return the replacement of a secret that a role wrote."""
    values = [row.values[each.name] for row in rows]
    if change.kind == "alike":
        return values[0]
    if change.kind in ("permuted", "drawn", "exchanged"):
        dice = change.dice(at[0], "" if change.kind == "exchanged" else each.name)
        found = values[permuted(values, dice)[number]]
        if found != values[number] or change.kind == "exchanged":
            return found
    dice = change.dice(at, each.name)
    lacks = change.kind == "missing" and dice.random() < 0.6
    new = new_value(each.type, values[number], dice, world.axes, values, lacks)
    return frozenset(new) if each.type.kind == "set" else new


def _derive(attempts: Attempts, row: GeneratedRow, values: dict[str, Any], world: TrialWorld) -> None:
    """Compute again the fields that are computed from the row."""
    filled = world.slots.filled(attempts.dataset, world.slots.slot_at(attempts.dataset, row.place))
    if filled is None:
        return
    names = attempts.names_at(filled, values)
    for step in attempts.dataset.steps:
        if isinstance(step, Derived) and step.name in values:
            try:
                values[step.name] = evaluate(step.value, names)
            except Unavailable:
                continue
