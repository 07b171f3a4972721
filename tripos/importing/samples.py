"""Rows of a file to replies that a run would have got: to which item, by which model, which sample of which step."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tripos.importing.items import ItemIndex, PlannedItem
from tripos.importing.records import FileRow, FileRows
from tripos.importing.row_errors import RowError, UnfitValue, whole
from tripos.ui import Failure
from tripos_compiler.diagnostics import nearest
from tripos_compiler.language.library import in_bounds
from tripos_compiler.plan import Ask, Plan, Scenario, read_token_probabilities, write_token_probabilities
from tripos_runtime.datasets import Case, CaseSource, Selection
from tripos_runtime.drivers import Told, recorded_treatments, recorded_units
from tripos_runtime.program import Unit
from tripos_runtime.roles import RoleBinding

KNOWN = {"model_served": str, "finish_reason": str, "tokens_in": int, "tokens_out": int, "tokens_reasoning": int,
         "cost_usd": float, "latency_s": float, "logprobs": list}  # fmt: skip
"""What may be known of a reply beside its text."""
OWN = ("scenario", "item", "position", "model", "sample", "step", "reply", *KNOWN)
"""The fields of a row of replies, beside the fields of the items, the axes and the arms."""


@dataclass(frozen=True)
class ImportedReply:
    """A reply of a file. `model` fills the compared role; without one it is the same for every model. `number` counts
    the samples from 0."""

    record: FileRow
    model: str | None
    step: str
    number: int
    arms: Mapping[str, str]
    told: Told


@dataclass(frozen=True)
class CaseReplies:
    """A case with its units, the replies to it by the names of samples, and the rows that they come from."""

    case: Case
    units: Sequence[Unit]
    replies: Mapping[str, Told]
    records: Mapping[str, FileRow]


@dataclass
class ImportedReplies:
    """The replies of a file by scenario and item; what does not fit is in `rejected`."""

    plan: Plan
    compared: str
    by_item: dict[tuple[str, str], list[ImportedReply]] = field(default_factory=dict)
    rejected: list[RowError] = field(default_factory=list)
    blank: int = 0
    unused: tuple[str, ...] = ()
    """The columns that say nothing here."""

    @property
    def models(self) -> tuple[str, ...]:
        """The compared models that replied, in the order in which they come up."""
        every = (reply.model for replies in self.by_item.values() for reply in replies)
        return tuple(dict.fromkeys(model for model in every if model is not None))

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """The scenarios that have replies, in the order of the plan."""
        names = {scenario for scenario, _ in self.by_item}
        return tuple(each for each in self.plan.scenarios if each.name in names)

    def cases(self, source: CaseSource, binding: RoleBinding) -> Iterator[CaseReplies]:
        """Yield the cases that have replies, each with the names that a run would give to these."""
        for scenario in self.scenarios:
            treatments = recorded_treatments(scenario, self.plan, binding)
            for case in source.of(scenario, Selection()):
                if (replies := self.by_item.get((scenario.name, case.item_id))) is not None:
                    yield self._named(case, list(recorded_units(case, treatments)), replies)

    def _named(self, case: Case, units: Sequence[Unit], replies: Sequence[ImportedReply]) -> CaseReplies:
        told: dict[str, Told] = {}
        records: dict[str, FileRow] = {}
        for reply in replies:
            names = {name for unit in units for name in self._names(unit, reply)}
            if len(names) != 1:
                more = " or the model" if reply.model is None else ""
                reason = f"arms differ in what is asked here: name the arm{more}" if names else _not_asked(case, reply)
                self.rejected.append(RowError(reply.record, "step", reply.step, reason))
                continue
            (name,) = names
            if name in told and told[name]["reply"] != reply.told["reply"]:
                reason = f"{records[name].place} has another reply to the same question"
                self.rejected.append(RowError(reply.record, "reply", reply.told["reply"], reason))
            told.setdefault(name, reply.told)
            records.setdefault(name, reply.record)
        return CaseReplies(case, units, told, records)

    def _names(self, unit: Unit, reply: ImportedReply) -> Iterator[str]:
        ask = unit.bound.asks.get(reply.step)
        if ask is None or reply.model not in (None, unit.model) or unit.number % ask.samples != reply.number:
            return
        if all(unit.bound.treatment.arms.get(arm, value) == value for arm, value in reply.arms.items()):
            yield unit.samples[reply.step]


def _not_asked(case: Case, reply: ImportedReply) -> str:
    """Return why a reply is to nothing that is asked."""
    talks = {talk.name for talk in case.scenario.talks}
    for treatment in case.scenario.treatments:
        for step in treatment.steps:
            if isinstance(step, Ask) and step.name == reply.step and not talks.isdisjoint(step.needs):
                talk = sorted(talks & set(step.needs))[0]
                return f"it follows the conversation `{talk}`, and conversations cannot be imported"
    return "no arm asks this"


def read_replies(table: FileRows, plan: Plan, source: CaseSource) -> ImportedReplies:
    """Return the replies of a file to the items of a plan. Raises `Failure` S0502 where the mapping says what there is
    not, and `DataError` where the items cannot be read."""
    return _ReplyReader(table, plan, source).read()


class _ReplyReader:
    def __init__(self, table: FileRows, plan: Plan, source: CaseSource) -> None:
        self.table, self.plan = table, plan
        self.arms = {arm.name: {value.name for value in arm.values} for arm in plan.arms}
        self.items = ItemIndex(plan, list(_items(plan, source)), OWN)
        compared = next(role.name for role in plan.roles if role.kind == "compared")
        self.found = ImportedReplies(plan, compared)
        self.counts: dict[object, int] = {}
        self._check_names()

    def read(self) -> ImportedReplies:
        for record in self.table.records:
            try:
                self._take(record)
            except UnfitValue as misfit:
                self.found.rejected.append(misfit.at(record))
        self.found.unused = self.table.unused((*OWN, *self.arms), self.items.columns)
        return self.found

    def _check_names(self) -> None:
        known = {*OWN, *self.items.field_names, *self.arms}
        told = self.table.records[0].told
        for name in (*told.columns, *told.set):
            if name not in known:
                close = nearest(name, known)
                hint = (
                    f"did you mean `{close}`?" if close else f"its fields are {', '.join(OWN)}, and those of the items"
                )
                raise Failure("S0502", f"a reply has no field `{name}`", hint)
        if not any(told.column("reply", record.said) for record in self.table.records):
            hint = f"say which it is: `--column reply=COLUMN`; the file has {', '.join(self.table.columns[:10])}"
            raise Failure("S0502", "no column has the replies", hint)

    def _take(self, record: FileRow) -> None:
        said = record.get("reply")
        if said is None:
            self.found.blank += 1
            return
        item = self.items.find(record)
        scenario = self.items.plan_scenario(item.scenario)
        step = self._step(record, scenario)
        model = record.text("model")
        if model is None and step.role == self.found.compared:
            raise UnfitValue("model", None, "nothing says whose reply it is: `--model NAME`, or a column of it")
        arms = {arm: value for arm in scenario.arms if (value := self._arm(record, arm)) is not None}
        number = self._number(record, step, (item.scenario, item.item_id, model, step.name, str(sorted(arms.items()))))
        text = said if isinstance(said, str) else json.dumps(said, ensure_ascii=False)
        told = {"reply": text, **{name: _known(record, name, kind) for name, kind in KNOWN.items()}}
        reply = ImportedReply(record, model, step.name, number, arms, told)
        self.found.by_item.setdefault((item.scenario, item.item_id), []).append(reply)

    def _step(self, record: FileRow, scenario: Scenario) -> Ask:
        asks = {step.name: step for step in scenario.steps if isinstance(step, Ask)}
        said = record.text("step")
        if said is not None:
            if said not in asks:
                raise UnfitValue("step", said, f"`{scenario.name}` asks {', '.join(asks)}")
            return asks[said]
        chosen = [step for step in asks.values() if step.role == self.found.compared]
        if len(chosen) != 1:
            raise UnfitValue("step", None, f"`{scenario.name}` has several steps: {', '.join(asks)}; name one")
        return chosen[0]

    def _arm(self, record: FileRow, arm: str) -> str | None:
        said = record.text(arm)
        if said is not None and said not in self.arms[arm]:
            raise UnfitValue(arm, said, f"the arm has {', '.join(sorted(self.arms[arm]))}")
        return said

    def _number(self, record: FileRow, step: Ask, key: object) -> int:
        """Return which sample it is. Where the row does not say, the samples of a question count as they come."""
        number = whole(record.get("sample"), "sample")
        if number is None:
            number = self.counts.get(key, 0)
            if step.samples > 1:
                self.counts[key] = number + 1
        if number >= step.samples:
            raise UnfitValue("sample", number, f"the spec asks for {step.samples} of each, counted from 0")
        return number


def _items(plan: Plan, source: CaseSource) -> Iterator[PlannedItem]:
    for scenario in plan.scenarios:
        for position, case in enumerate(source.of(scenario, Selection()), 1):
            yield PlannedItem(scenario.name, case.item_id, case.context, case.fields, position)


def _known(record: FileRow, name: str, kind: type) -> Any:
    said = record.get(name)
    if said is None or kind is str:
        return said if said is None else str(said)
    if kind is int:
        return whole(said, name)
    if kind is list:
        return _token_probabilities(said, name)
    try:
        value = float(said)
    except (TypeError, ValueError, OverflowError):
        value = -1.0
    if value < 0 or not in_bounds(value):
        raise UnfitValue(name, said, "not a number from 0 on")
    return value


def _token_probabilities(said: Any, name: str) -> str:
    """Return probabilities of tokens as the store keeps them."""
    try:
        found = json.loads(said) if isinstance(said, str) else said
        written = write_token_probabilities([dict(each) for each in found])
        read_token_probabilities(written)
    except (TypeError, ValueError) as error:
        raise UnfitValue(name, said, "not the probabilities of tokens in OpenAI's form") from error
    return written
