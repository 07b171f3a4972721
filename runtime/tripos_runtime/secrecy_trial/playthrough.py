"""A trial run of one world: its units run with scripted models, and each message to the compared role is recorded.

No real model is called and nothing is stored. In both worlds of a pair, `reveal` has its value of the first world, so
what it shows on purpose makes no difference. Only a sample of the items is run, with items of as many kinds as
possible."""

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

EvaluationKey = tuple[Hashable, str, int]
"""An evaluation of a call of `reveal`: its subject, the text of the call, and how often the call has been evaluated for
the subject."""


def is_narrow(call: Call) -> bool:
    """Return true if a call of `reveal` has `rows`: it shows the values of a column, but not which row has which
    value."""
    return len(call.args) > 1 or "rows" in call.named


@dataclass
class RevealedValues:
    """The value of every evaluation of `reveal` in the first world of a pair; an `Unavailable` if it had none."""

    values: dict[EvaluationKey, Any] = field(default_factory=dict)
    _texts: dict[int, tuple[Call, str]] = field(default_factory=dict)

    def text(self, call: Call) -> str:
        """Return a text that identifies a call."""
        cached = self._texts.get(id(call))
        if cached is None or cached[0] is not call:
            cached = self._texts[id(call)] = (call, serialized_form(call).model_dump_json())
        return cached[1]


@dataclass
class RevealRecorder:
    """Handler of `reveal` in one world. In the first world of a pair, it `is_recorded`: the values are stored in
    `revealed`. In the other world, `reveal` has these values."""

    revealed: RevealedValues
    is_recorded: bool
    narrow: bool = False
    """True if a `reveal` with `rows` has its own value in this world."""
    subject: Hashable = None
    """What expressions are being evaluated for: an attempt to generate a row, a unit, or the choice of cases."""
    _counts: Counter[tuple[Hashable, str]] = field(default_factory=Counter)

    def begin(self, subject: Hashable) -> None:
        """Set the subject of the following evaluations."""
        self.subject = subject

    def __call__(self, call: Call, value: Callable[[], Any]) -> Any:
        """Return the value of a call. Raises `Unavailable` if it has none."""
        if self.narrow and is_narrow(call):
            return value()
        text = self.revealed.text(call)
        self._counts[self.subject, text] += 1
        key = (self.subject, text, self._counts[self.subject, text])
        if not self.is_recorded and key not in self.revealed.values and self._counts[self.subject, text] > 1:
            key = (self.subject, text, 1)  # the first world evaluated the call less often, since it ran fewer steps
        if self.is_recorded or key not in self.revealed.values:
            try:
                result = value()
            except Unavailable as reason:
                result = reason
            if self.is_recorded:
                self.revealed.values[key] = result
        else:
            result = self.revealed.values[key]
        if isinstance(result, Unavailable):
            raise result
        return result


MOST_SAMPLES = 2
"""Largest number of samples of a unit that are run; further samples would receive the same messages."""
MOST_REQUESTS = 600
"""Approximate largest number of requests in a scenario."""
FEWEST = 4
"""Smallest number of items that are run, if a scenario has so many."""


def item_limit(scenario: Scenario, limit: int) -> int:
    """Return the largest number of items of a scenario that are run: `limit`, or fewer if an item takes many requests,
    such as those of a conversation."""
    requests = 0
    for step in (step for treatment in scenario.treatments for step in treatment.steps):
        if isinstance(step, Ask | Converse):
            requests += min(step.samples, MOST_SAMPLES) * (step.limit if isinstance(step, Converse) else 1)
    return max(FEWEST, min(limit, MOST_REQUESTS // max(1, requests)))


def sampled_items(world: TrialWorld, limit: int) -> Mapping[str, frozenset[Place] | None]:
    """Return the items that are run, by the name of the scenario; `None` for a scenario over a generated data set, of
    which only as many rows as needed are generated."""
    return {
        scenario.name: _sample_of_scenario(world, scenario, item_limit(scenario, limit))
        for scenario in world.plan.scenarios
    }


def _sample_of_scenario(world: TrialWorld, scenario: Scenario, limit: int) -> frozenset[Place] | None:
    rows = scenario.rows
    if rows is None:
        cells = {case.item_id: case.item_id for case in world.picked(scenario, None)}
        return frozenset(_sample_of_kinds(dict.fromkeys(cells, ""), limit))
    if any(dataset.name == rows.dataset for dataset in world.plan.made):
        return None
    cases = {case.origin: case for case in world.picked(scenario, None) if case.origin is not None}
    kinds: dict[Place, str] = {
        place: f"{case.context} {_row_kind(world.plan, rows.dataset, case.fields)}" for place, case in cases.items()
    }
    chosen = set(_sample_of_kinds(kinds, limit))
    if rows.where is not None:  # include rows for which the condition is false, since it may be true in another world
        others: dict[Place, str] = {
            row.origin: _row_kind(world.plan, rows.dataset, row.values)
            for row in _rows_of(world, rows.dataset)
            if row.origin not in cases
        }
        chosen.update(_sample_of_kinds(others, max(1, limit // 2)))
    return frozenset(chosen)


def _rows_of(world: TrialWorld, dataset: str) -> tuple[SourceRow, ...]:
    return world.rows.rows[dataset]


def _row_kind(plan: Plan, dataset: str, values: Mapping[str, object]) -> str:
    """Return the kind of a row: its values of choices and booleans, and which optional values it lacks."""
    kind_fields = [
        data_field
        for data_field in plan.dataset(dataset).fields
        if data_field.type.kind in ("choice", "bool", "optional")
    ]
    kind = [
        values[data_field.name] if data_field.type.kind != "optional" else values[data_field.name] is None
        for data_field in kind_fields
    ]
    return repr(kind)


def _sample_of_kinds(kinds: Mapping[Place, str], limit: int) -> list[Place]:
    """Return at most `limit` places with as many kinds as possible. Their order is pseudo-random, by digests."""
    by_kind: dict[str, list[Place]] = defaultdict(list)
    for place in sorted(kinds, key=lambda place: digest(["worlds", place])):
        by_kind[kinds[place]].append(place)
    chosen: list[Place] = []
    remaining = [by_kind[kind] for kind in sorted(by_kind, key=lambda kind: digest(["worlds", kind]))]
    while remaining and len(chosen) < limit:
        chosen += [places.pop(0) for places in remaining[: limit - len(chosen)]]
        remaining = [places for places in remaining if places]
    return chosen


NOW = datetime(2000, 1, 1, tzinfo=UTC)
"""The time of every trial run, so that times make no difference."""
Guesses = dict[Hashable, Sequence[Any]]
"""The secrets of items in the first world of a pair, which roles may guess, by item or by attempt at a row."""


@dataclass
class TrialRun(GenerationObserver):
    """One trial run of a world. `change` is the change that made the world, for the secrets in generated rows."""

    world: TrialWorld
    script: Script
    change: SecretChange | None
    first: bool
    """True if it is the first world of a pair, which determines guesses and revealed values."""
    functions: Mapping[str, Callable[..., Any]]
    """Placeholders of Python functions, by name."""
    revealed: RevealedValues
    guesses: Guesses = field(default_factory=dict)
    indexed: TrialRun | None = None
    """A trial run in which steps retrieve from the same rows, so that its search indexes are reused."""
    narrow: bool = False
    """True if `reveal(…, rows: N)` has its own value in this world."""
    requests: SeenRequests = field(default_factory=SeenRequests)
    _unit_key: UnitKey | None = None
    """The scenario and the item that are being run; None while data sets are generated."""
    _subject: Hashable = None
    """The key of the current guesses: the item, or the attempt at a row."""
    _arms: tuple[tuple[str, str], ...] = ()
    _sample: int = 0
    _step: str = ""
    _current: tuple[Unit | Pair, Step] | None = None
    """The unit or pair, and the step, whose requests are being counted."""
    _request_number: int = 0

    def __post_init__(self) -> None:
        plan = self.plan
        self.compared = next(role.name for role in plan.roles if role.kind == "compared")
        is_judged_in_pairs = any(
            isinstance(step, Compare) and plan.scorer(step.scorer).role == self.compared
            for scenario in plan.scenarios
            for step in scenario.steps
        )
        names: dict[str, tuple[str, ...]] = {role.name: (f"trial/{role.name}",) for role in plan.roles}
        if is_judged_in_pairs:
            names[self.compared] += (f"trial/{self.compared}:2",)
        self.binding = RoleBinding(names, self.compared)
        silent = {scorer.role for scorer in plan.scorers if not scorer.writes}
        words = expected_words(plan)
        self.models_by_name = {
            name: ScriptedModel(role, name, self.script, self._on_request, words, role == self.compared, role in silent)
            for role, model_names in names.items()
            for name in model_names
        }
        self.callers = cast("Mapping[str, Caller]", self.models_by_name)
        self.run = RunContext(plan, self.binding, self.world.sources, run_id="trial", now=lambda: NOW)
        self.driver = _Driver(self.run, callers=self.callers)
        self.driver.trial_run = self
        self.driver.encoder = Vectors(self._on_embed)  # type: ignore[assignment]
        if self.indexed is not None:
            self.driver.world.chooser = self.indexed.driver.world.chooser

    @cached_property
    def _secret_fields(self) -> Mapping[str, Sequence[str]]:
        """The names of the secret fields of every data set."""
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
        """Run the cases of scenarios, and return the requests to the compared role.

        `places` are the items to run, by the name of the scenario. If they are None for a scenario, at most `limit`
        items are run, and `limit` also bounds the rows that are generated.
        """
        asyncio.run(self._run_scenarios(scenarios, places, limit))
        return self.requests

    async def _run_scenarios(
        self, scenarios: Sequence[Scenario], places: Mapping[str, Collection[Place] | None], limit: int
    ) -> None:
        self._reveals = RevealRecorder(self.revealed, is_recorded=self.first, narrow=self.narrow)
        with with_functions(self.functions), override_reveal(self._reveals):
            await self._generate_datasets(scenarios, limit)
            for scenario in scenarios:
                bound_treatments = [
                    BoundTreatment(scenario, treatment, self.plan, self.binding) for treatment in scenario.treatments
                ]
                chosen = places.get(scenario.name)
                cases = self.world.picked(scenario, chosen)
                self._reveals.begin(scenario.name)
                for case in cases if chosen is not None else islice(cases, item_limit(scenario, limit)):
                    await self._run_case(case, bound_treatments)

    async def _generate_datasets(self, scenarios: Sequence[Scenario], limit: int) -> None:
        """Generate the data sets that the scenarios need."""
        if not self.plan.made:
            return
        datasets = {scenario.rows.dataset for scenario in scenarios if scenario.rows is not None}
        limit = max((item_limit(scenario, limit) for scenario in scenarios), default=limit)
        is_limited = any(dataset.rows > limit for dataset in self.plan.made if dataset.name in datasets)
        selection = Selection(tuple(scenario.name for scenario in scenarios), limit=limit if is_limited else None)
        await DataMaker(self.run, self.world, selection, self.callers, observer=self).make()

    def on_made(self, dataset: MadeSet) -> None:
        """Change the secrets in the generated rows."""
        if self.change is not None:
            change_made(Attempts(dataset, Asker(self.run)), self.world, self.change)

    def on_attempt(self, dataset: str, place: int, number: int) -> None:
        """Set an attempt at a row as the current subject. Its guesses are the secrets of its source row."""
        self._subject = ("attempt", made_at(self.world, dataset, place))
        self._reveals.begin((self._subject, number))
        generated_dataset = self.world.slots.by_name[dataset]
        source = None if generated_dataset.source is None else without_reveal(generated_dataset.source)
        slot = self.world.slots.filled(generated_dataset, self.world.slots.slot_at(generated_dataset, place))
        if self.first and isinstance(source, Data) and slot is not None and isinstance(slot.source, Mapping):
            self._set_guesses(self._subject, source.dataset, slot.source)

    def _set_guesses(self, subject: Hashable, dataset: str, values: Mapping[str, Any]) -> None:
        """Record the secrets of a row as what roles may guess while a subject is current."""
        secret = self._secret_fields.get(dataset, ())
        self.guesses[subject] = [values[name] for name in secret if values.get(name) is not None]

    async def _run_case(self, case: Case, bound_treatments: Sequence[BoundTreatment]) -> None:
        """Run all units of a case, and the comparisons of them that the compared role judges."""
        place: Place = case.item_id if case.origin is None else case.origin
        if case.origin is not None and case.dataset in self.world.slots.by_name:
            place = made_at(self.world, *case.origin)
        self._unit_key = UnitKey(case.scenario.name, place)
        self.requests.units.setdefault(self._unit_key, {})
        self._subject = place
        if self.first:
            self._set_guesses(place, case.dataset or "", case.fields)
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
                self._reveals.begin((self._unit_key, self._arms, unit.model, unit.number))
                shared = CaseState({}, {}, {})
                await self.driver.go_through(unit, shared)
                names |= shared.names
            shared = CaseState({}, {}, {}, names=names)
            for pair in pairs_of(units):
                if self.plan.scorer(pair.step.scorer).role == self.compared:
                    self._sample = pair.number
                    await self.driver.compare([pair], [], shared)
        self._unit_key = None

    def begin(self, part: Unit | Pair, step: Step) -> None:
        """Set the current step. The count of requests starts again if the step or its unit is another one."""
        if self._current is None or self._current[0] is not part or self._current[1] is not step:
            self._current, self._step, self._request_number = (part, step), step.name, 0

    def _on_request(self, model: ScriptedModel, request: Request) -> Sequence[Any]:
        """Record a request to the compared role. Return the secrets that the model may guess."""
        if model.compared and self._unit_key is not None:
            self._record_request(model.name, (*request.message_pairs, *settings_told(request)))
        return self.guesses.get(self._subject, ()) if self.script.guesses_secrets else ()

    def _on_embed(self, model: str, texts: Sequence[str]) -> None:
        """Record texts that the compared role embeds."""
        if self.models_by_name[model].compared and self._unit_key is not None:
            self._record_request(model, tuple(("user", text) for text in texts))

    def _record_request(self, model: str, sent: tuple[tuple[str, str], ...]) -> None:
        assert self._unit_key is not None
        self._request_number += 1
        self.requests.units[self._unit_key][
            SeenRequest(self._arms, self._sample, self._step, self._request_number, model)
        ] = sent


class _Driver(LiveDriver):
    """Driver that runs the steps that can send something to the compared role or decide what is sent to it."""

    trial_run: TrialRun

    def steps(self, unit: Unit) -> Sequence[Step]:
        """Return the steps that a unit runs: none of its scores, and grades only by the compared role."""
        compared = self.trial_run.compared
        return [
            step
            for step in unit.bound.treatment.steps
            if not isinstance(step, Score | Column)
            and not (isinstance(step, Grade) and unit.bound.role_of(step) != compared)
        ]

    async def answer(self, need: Need, at: UnitContext) -> Answered:
        """Answer the need of a program, as a request of the step at which it arose."""
        assert not isinstance(need, ScorerNeed), "scores are not run"
        step = (
            need.call.step
            if isinstance(need, ReplyNeed)
            else need.talk.step
            if isinstance(need, ConversationNeed)
            else need.step
        )
        self.trial_run.begin(at.part, step)
        return await super().answer(need, at)


def made_at(world: TrialWorld, dataset: str, place: int) -> Made:
    """Return the identity of the row generated at a place of a world. It is the same in all worlds, even if the row is
    at another place there."""
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
    """Change the secrets that roles wrote in generated rows. No row is added or removed: the checks of a row are not
    repeated with its changed secrets."""
    dataset, files = attempts.dataset, world.sources.generated.rows
    secret = _generated_secrets(dataset)
    if not secret:
        return
    before, after = list(files[dataset.name]), RowFile()
    layers = [layer for layer in (change.under, change) if layer is not None]
    donors = [_donors(dataset.name, secret, before, layer) for layer in layers]
    for number, row in enumerate(before):
        at = made_at(world, dataset.name, row.place)
        values = dict(row.values)
        for layer, donor_of in zip(layers, donors, strict=True):
            if not (layer.changes_row(at) if layer.generated is None else at in layer.generated):
                continue
            for data_field in secret:
                if layer.takes(data_field.name):
                    donor = donor_of[number] if donor_of else None
                    values[data_field.name] = _replacement(data_field, number, at, before, layer, donor, world)
            _recompute_derived_fields(attempts, row, values, world)
        after.add(GeneratedRow(row.place, values, row.origins))
    files[dataset.name] = after


def _generated_secrets(made: MadeSet) -> list[DataField]:
    """Return the secret fields whose values roles wrote."""
    names: set[str] = set()
    for step in made.steps:
        if isinstance(step, Ask) and step.returns is not None and step.returns.kind == "record":
            names |= step.returns.fields.keys()
        if isinstance(step, Walk):
            names.add(step.name)
    return [data_field for data_field in made.fields if data_field.secret and data_field.name in names]


def _donors(dataset: str, secret: Sequence[DataField], rows: Sequence[GeneratedRow], change: SecretChange) -> list[int]:
    """Return, for each row, the index of the row whose secrets it gets, or an empty list if rows keep theirs. A row
    gets all its secrets from one row, as rows of files do."""
    if change.kind not in ("permuted", "exchanged"):
        return []
    return permuted([[row.values[field.name] for field in secret] for row in rows], change.dice(dataset))


def _replacement(
    data_field: DataField,
    number: int,
    at: Made,
    rows: Sequence[GeneratedRow],
    change: SecretChange,
    donor: int | None,
    world: TrialWorld,
) -> Any:
    """Return the replacement of a secret that a role wrote. `number` is the index of the row, `at` its identity, and
    `donor` the index of the row whose secrets it gets, if the change is an exchange between rows."""
    values = [row.values[data_field.name] for row in rows]
    if change.kind == "alike":
        return values[0]
    if change.kind == "drawn":
        donor = permuted(values, change.dice(at[0], data_field.name))[number]
    if donor is not None and (values[donor] != values[number] or change.kind == "exchanged"):
        return values[donor]
    dice = change.dice(at, data_field.name)
    lacks = change.kind == "missing" and dice.random() < 0.6
    new = new_value(data_field.type, values[number], dice, world.axes, values, lacks)
    return frozenset(new) if data_field.type.kind == "set" else new


def _recompute_derived_fields(attempts: Attempts, row: GeneratedRow, values: dict[str, Any], world: TrialWorld) -> None:
    """Evaluate the derived fields of a row again, after its secrets have changed."""
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
