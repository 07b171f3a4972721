"""Replies read from the rows of a file: matched to items, models and samples, scored and committed as a run.

An import calls no model. It writes what a run with these replies would have written, in one commit.
"""

from __future__ import annotations

import json
import shlex
from collections import Counter, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

from tripos.importing.rows import (
    FileRow,
    FileRows,
    InvalidValue,
    ItemIndex,
    PlannedItem,
    RowError,
    cell_text,
    parse_whole_number,
)
from tripos.runs.records import media_store, run_row, step_rows
from tripos.settings.config import Config, programs_of
from tripos.settings.options import COLUMN, MODEL, ROLE
from tripos.settings.runtime import with_identities
from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.errors import TriposError
from tripos_compiler.library.media import media_in
from tripos_compiler.library.registry import with_functions
from tripos_compiler.library.signature import in_bounds
from tripos_compiler.plan import (
    Ask,
    GeneratedDataset,
    Plan,
    Scenario,
    read_token_probabilities,
    write_token_probabilities,
)
from tripos_runtime.asking.functions.calling import LoadedPlugin
from tripos_runtime.asking.functions.plugins import NO_RELEASES, load_plugins
from tripos_runtime.asking.ledger import NOTHING_KEPT
from tripos_runtime.datasets.cases import Case, CaseSource, SubsetTags, drawn_counts
from tripos_runtime.datasets.selection import Selection, check_recordable
from tripos_runtime.drivers.engine import item_row, membership_row, new_run_id
from tripos_runtime.drivers.recorded import RecordedReply, Recorder, Refusal, recorded_treatments, recorded_units
from tripos_runtime.forecast.generation import data_maker
from tripos_runtime.program.binding import RoleBinding
from tripos_runtime.program.units import Unit
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.store.paths import MARKER, address_of
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

OPTIONAL_FIELDS = {"model_served": str, "finish_reason": str, "tokens_in": int, "tokens_out": int,
         "tokens_reasoning": int, "cost_usd": float, "latency_s": float, "logprobs": list}  # fmt: skip
"""Optional columns of a reply, with their types."""
FIELDS = ("scenario", "item", "position", "model", "sample", "step", "reply", *OPTIONAL_FIELDS)
"""Fields of a row of replies, besides the fields of items, the axes and the arms."""


@dataclass(frozen=True)
class ImportedReply:
    """A reply of a file. `model` fills the compared role; if None, the reply counts for every model. `number` counts
    samples from 0."""

    record: FileRow
    model: str | None
    step: str
    number: int
    arms: Mapping[str, str]
    status: RecordedReply


@dataclass(frozen=True)
class CaseReplies:
    """A case with its units, its replies by sample id, and the rows that they come from."""

    case: Case
    units: Sequence[Unit]
    replies: Mapping[str, RecordedReply]
    records: Mapping[str, FileRow]


@dataclass
class ImportedReplies:
    """The replies of a file by scenario and item, and the rejected rows."""

    plan: Plan
    compared: str
    by_item: dict[tuple[str, str], list[ImportedReply]] = field(default_factory=dict)
    rejected: list[RowError] = field(default_factory=list)
    blank: int = 0
    unused: tuple[str, ...] = ()
    """Columns that are not used."""

    @property
    def models(self) -> tuple[str, ...]:
        """The compared models that replied, in order of first appearance."""
        every = (reply.model for replies in self.by_item.values() for reply in replies)
        return tuple(dict.fromkeys(model for model in every if model is not None))

    @property
    def scenarios(self) -> tuple[Scenario, ...]:
        """The scenarios that have replies, in the order of the plan."""
        names = {scenario for scenario, _ in self.by_item}
        return tuple(scenario for scenario in self.plan.scenarios if scenario.name in names)

    def cases(self, source: CaseSource, binding: RoleBinding) -> Iterator[CaseReplies]:
        """Yield the cases that have replies, under the sample ids that a run would give them."""
        for scenario in self.scenarios:
            treatments = recorded_treatments(scenario, self.plan, binding)
            for case in source.of(scenario, Selection()):
                if (replies := self.by_item.get((scenario.name, case.item_id))) is not None:
                    yield self._named(case, list(recorded_units(case, treatments)), replies)

    def _named(self, case: Case, units: Sequence[Unit], replies: Sequence[ImportedReply]) -> CaseReplies:
        told: dict[str, RecordedReply] = {}
        records: dict[str, FileRow] = {}
        for reply in replies:
            names = {name for unit in units for name in self._names(unit, reply)}
            if len(names) != 1:
                more = " or the model" if reply.model is None else ""
                reason = f"arms differ in what is asked here: name the arm{more}" if names else _not_asked(case, reply)
                self.rejected.append(RowError(reply.record, "step", reply.step, reason))
                continue
            (name,) = names
            if name in told and told[name]["reply"] != reply.status["reply"]:
                reason = f"{records[name].place} has another reply to the same question"
                self.rejected.append(RowError(reply.record, "reply", reply.status["reply"], reason))
            told.setdefault(name, reply.status)
            records.setdefault(name, reply.record)
        return CaseReplies(case, units, told, records)

    def _names(self, unit: Unit, reply: ImportedReply) -> Iterator[str]:
        ask = unit.bound.asks.get(reply.step)
        if ask is None or reply.model not in (None, unit.model) or unit.number % ask.samples != reply.number:
            return
        if all(unit.bound.treatment.arms.get(arm, value) == value for arm, value in reply.arms.items()):
            yield unit.samples[reply.step]


def _not_asked(case: Case, reply: ImportedReply) -> str:
    """Return why no unit asks for this reply."""
    talks = {talk.name for talk in case.scenario.conversations}
    for treatment in case.scenario.treatments:
        for step in treatment.steps:
            if isinstance(step, Ask) and step.name == reply.step and not talks.isdisjoint(step.needs):
                talk = sorted(talks & set(step.needs))[0]
                return f"it follows the conversation `{talk}`, and conversations cannot be imported"
    return "no arm asks this"


def read_replies(table: FileRows, plan: Plan, source: CaseSource) -> ImportedReplies:
    """Return the replies of a file to the items of a plan. Raises `TriposError` S0502 if the mapping names an unknown
    field, and `DataError` if the items cannot be read."""
    return _ReplyReader(table, plan, source).read()


class _ReplyReader:
    """Reader of the replies of a file."""

    def __init__(self, table: FileRows, plan: Plan, source: CaseSource) -> None:
        self.table, self.plan = table, plan
        self.arms = {arm.name: {value.name for value in arm.values} for arm in plan.arms}
        self.items = ItemIndex(plan, list(_items(plan, source)), FIELDS)
        compared = next(role.name for role in plan.roles if role.kind == "compared")
        self.replies = ImportedReplies(plan, compared)
        self.counts: dict[object, int] = {}
        self._check_names()

    def read(self) -> ImportedReplies:
        """Return the replies and the rejected rows."""
        for record in self.table.records:
            try:
                self._take(record)
            except InvalidValue as misfit:
                self.replies.rejected.append(misfit.at(record))
        self.replies.unused = self.table.unused((*FIELDS, *self.arms), self.items.columns)
        return self.replies

    def _check_names(self) -> None:
        known = {*FIELDS, *self.items.field_names, *self.arms}
        column_map = self.table.records[0].mapping
        for name in (*column_map.columns, *column_map.set, *column_map.values):
            if name not in known:
                hint = suggest(name, known, f"its fields are {', '.join(FIELDS)}, and those of the items")
                raise TriposError("S0502", f"a reply has no field `{name}`", hint)
        if not any(column_map.column("reply", record.cells) for record in self.table.records):
            hint = f"say which it is: `{COLUMN} reply=COLUMN`; the file has {', '.join(self.table.columns[:10])}"
            raise TriposError("S0502", "no column has the replies", hint)

    def _take(self, record: FileRow) -> None:
        said = record.get("reply")
        if said is None:
            self.replies.blank += 1
            return
        item = self.items.find(record)
        scenario = self.items.plan_scenario(item.scenario)
        step = self._step(record, scenario)
        model = record.text("model")
        if model is None and step.role == self.replies.compared:
            raise InvalidValue("model", None, f"nothing says whose reply it is: `{MODEL} NAME`, or a column of it")
        arms = {arm: value for arm in scenario.arms if (value := self._arm(record, arm)) is not None}
        number = self._number(record, step, (item.scenario, item.item_id, model, step.name, str(sorted(arms.items()))))
        told = {
            "reply": _reply_text(said),
            **{name: _optional_value(record, name, kind) for name, kind in OPTIONAL_FIELDS.items()},
        }
        reply = ImportedReply(record, model, step.name, number, arms, told)
        self.replies.by_item.setdefault((item.scenario, item.item_id), []).append(reply)

    def _step(self, record: FileRow, scenario: Scenario) -> Ask:
        asks = {step.name: step for step in scenario.steps if isinstance(step, Ask)}
        text = record.text("step")
        if text is not None:
            if text not in asks:
                raise InvalidValue("step", text, f"`{scenario.name}` asks {', '.join(asks)}")
            return asks[text]
        chosen = [step for step in asks.values() if step.role == self.replies.compared]
        if len(chosen) != 1:
            raise InvalidValue("step", None, f"`{scenario.name}` has several steps: {', '.join(asks)}; name one")
        return chosen[0]

    def _arm(self, record: FileRow, arm: str) -> str | None:
        text = record.text(arm)
        if text is not None and text not in self.arms[arm]:
            raise InvalidValue(arm, text, f"the arm has {', '.join(sorted(self.arms[arm]))}")
        return text

    def _number(self, record: FileRow, step: Ask, key: object) -> int:
        """Return the sample number of a row. Rows without one are numbered in file order."""
        number = parse_whole_number(record.get("sample"), "sample")
        if number is None:
            number = self.counts.get(key, 0)
            if step.samples > 1:
                self.counts[key] = number + 1
        if number >= step.samples:
            raise InvalidValue("sample", number, f"the spec asks for {step.samples} of each, counted from 0")
        return number


def _items(plan: Plan, source: CaseSource) -> Iterator[PlannedItem]:
    for scenario in plan.scenarios:
        for position, case in enumerate(source.of(scenario, Selection()), 1):
            yield PlannedItem(scenario.name, case.item_id, case.context, case.fields, position)


def _reply_text(said: Any) -> str:
    """Return a reply as text: a value that is no text as JSON, with whole numbers as a person sees them in a table.
    Raises `InvalidValue` for bytes.

    >>> _reply_text("2.0"), _reply_text(2.0), _reply_text(True), _reply_text({"a": [1, "é"]})
    ('2.0', '2', 'true', '{"a": [1, "é"]}')
    """
    if isinstance(said, str):
        return said
    if isinstance(said, float):
        return cell_text(said)
    try:
        return json.dumps(said, ensure_ascii=False)
    except TypeError as error:
        raise InvalidValue("reply", said, "no text, and no value of JSON") from error


def _optional_value(record: FileRow, name: str, kind: type) -> Any:
    said = record.get(name)
    if said is None or kind is str:
        return said if said is None else str(said)
    if kind is int:
        return parse_whole_number(said, name)
    if kind is list:
        return _token_probabilities(said, name)
    try:
        value = float(said)
    except (TypeError, ValueError, OverflowError):
        value = -1.0
    if value < 0 or not in_bounds(value):
        raise InvalidValue(name, said, "not a number from 0 on")
    return value


def _token_probabilities(said: Any, name: str) -> str:
    """Return token probabilities as the store writes them. Raises `InvalidValue` if they are not in OpenAI's form."""
    try:
        found = json.loads(said) if isinstance(said, str) else said
        text = write_token_probabilities([dict(each) for each in found])
        read_token_probabilities(text)
    except (TypeError, ValueError) as error:
        raise InvalidValue(name, said, "not the probabilities of tokens in OpenAI's form") from error
    return text


# Generated data sets
FREE = "mock/careful"
"""A model without cost."""


@dataclass(frozen=True)
class GeneratedRows:
    """The models of the roles that generate data sets, and the number of missing rows by data set."""

    models: Mapping[str, str]
    unmade: Mapping[str, int]


def load_generated_rows(
    plan: Plan, source: CaseSource, config: Config, ledger: Any, given: Mapping[str, str], command: Sequence[str]
) -> GeneratedRows:
    """Make the generated rows in the store of `config` available to `source`. Rows that are already there, such as
    those of a release, stay. A role is filled by `given`, or else by the only model that filled it in the runs that
    generated these rows. `command` is the command line of a run of the spec.

    Raises `TriposError` R0201 if several models generated the rows, and E0307 if no rows exist yet; its hint is the
    command that generates them.
    """
    making = [dataset for dataset in plan.made if dataset.name not in source.sources.generated.frozen]
    if not making:
        return GeneratedRows({}, {})
    models: dict[str, str] = {}
    known = _recorded_role_models(Path(config.store), making)
    for role in dict.fromkeys(ask.role for dataset in making for ask in dataset.asks):
        filled = [given[role]] if role in given else sorted(known.get(role, ()))
        if len(filled) > 1:
            names = ", ".join(filled)
            message = f"several models made rows as `{role}`: {names}"
            raise TriposError("R0201", message, f"name the model that wrote the rows: {ROLE} {role}={filled[0]}")
        models |= {role: filled[0]} if filled else {}
    lacking = {ask.role for dataset in making for ask in dataset.asks} - models.keys()
    if lacking:
        raise _rows_missing(plan, making, models, command)
    compared = next(role.name for role in plan.roles if role.kind == "compared")
    filled_by = {role.name: tuple(models[each] for each in (role.name,) if each in models) for role in plan.roles}
    binding = with_identities(RoleBinding(filled_by, compared), config)
    maker = data_maker(plan, source, Selection(), binding, ledger)
    maker.go_through()
    unmade = {name: len(each.open) for name, each in maker.makers.items() if each.open}
    rows = source.sources.generated.rows
    if unmade and not any(len(list(rows[name])) for name in unmade):
        raise _rows_missing(plan, making, models, command)
    return GeneratedRows(models, unmade)


def _recorded_role_models(root: Path, making: Sequence[GeneratedDataset]) -> dict[str, set[str]]:
    """Return the models that filled each role in the runs of a store that generated these data sets."""
    found: dict[str, set[str]] = {}
    if not is_store(root):
        return found
    wanted = {fingerprint for dataset in making for fingerprint in dataset.fingerprints}
    with connect(Store.open(root, create=False)) as connection:
        runs = connection.execute("select roles, fingerprints from main.runs").fetchall()
    for roles, fingerprints in runs:
        if wanted.isdisjoint(fingerprints):
            continue
        for role, models in json.loads(roles).items():
            found.setdefault(role, set()).update(models)
    return found


def _rows_missing(
    plan: Plan, making: Sequence[GeneratedDataset], models: Mapping[str, str], command: Sequence[str]
) -> TriposError:
    """Return the failure whose hint is the command that generates the rows. Roles that are not needed get a model
    without cost, since their replies are not the imported ones."""
    named = " and ".join(f"`{dataset.name}`" for dataset in making if dataset.asks)
    makers = {ask.role for dataset in making for ask in dataset.asks}
    words = [*command, MODEL.flag, FREE]
    for role in plan.roles:
        if role.kind != "compared":
            words += [ROLE.flag, f"{role.name}={models.get(role.name, 'MODEL' if role.name in makers else FREE)}"]
    message = f"the rows of {named} are yet to be made, and replies can only be to rows that are there"
    return TriposError("E0307", message, f"make them, then import again: {shlex.join(words)}")


# The committed import
LOOKUP_BATCH = 1000
"""Number of cases that are looked up in the store together."""


@dataclass
class ReplyImport:
    """The result of an import of replies. `rows` is empty if the store already has everything."""

    root: Path
    rows: dict[str, list[Any]]
    rejected: Sequence[RowError]
    summary: dict[str, Any]
    source: CaseSource

    def commit(self) -> bool:
        """Write the rows in one commit, after the images and other files that the prompts show. Return false if there
        were no rows. Raises `StoreError`, and `TriposError` E0307 if the items cannot be read any more."""
        if not self.rows:
            return False
        store = Store.open(self.root, create=True)
        try:
            self._keep_media(store)
            store.append(self.rows)
        finally:
            self.source.reader.media.close()
        return True

    def _keep_media(self, store: Store) -> None:
        shown = [row["messages"] for row in self.rows.get("samples", ()) if any(media_in(row["messages"]))]
        if not shown:
            return
        media = self.source.reader.media
        media.store = media_store(store)
        for scenario in self.source.plan.scenarios:  # reading a case stores its media
            deque(self.source.of(scenario, Selection()), 0)
        for messages in shown:
            media.keep_shown(messages)


def role_flags(texts: Sequence[str]) -> dict[str, str]:
    """Return the model of each role, parsed from `--role NAME=MODEL`. Raises `TriposError` R0202."""
    found: dict[str, str] = {}
    for text in texts:
        name, equals, model = text.partition("=")
        if not equals or not name or not model:
            raise TriposError("R0202", f"`{ROLE} {text}` names no model", f"write {ROLE} NAME=MODEL")
        found[name] = model
    return found


def record(
    table: FileRows,
    plan: Plan,
    source: CaseSource,
    config: Config,
    roles: Mapping[str, str],
    folder: Path,
    command: Sequence[str],
    releases: Mapping[str, str] = NO_RELEASES,
) -> ReplyImport:
    """Score the replies of a file and return the rows for the store of `config`, without writing them. `folder` is the
    folder of the spec, and `releases` the folders of releases that it extends, for their Python functions. `command` is
    the command line of a run of the spec.

    Raises `TriposError`, also if the plan has parts that cannot run, and `StoreError` if the store cannot be read.
    """
    _check_roles(plan, roles)
    root = Path(config.store)
    ledger: Any = open_ledger(Store.open(root, create=False), plan.fingerprints) if is_store(root) else NOTHING_KEPT
    functions: Mapping[str, LoadedPlugin] = {}
    try:
        functions = load_plugins(plan, folder, releases, source.trust, programs_of(config))
        with with_functions(functions):
            rows = load_generated_rows(plan, source, config, ledger, roles, command)
            replies = read_replies(table, plan, source)
            check_recordable(replies.scenarios)
            binding = with_identities(_binding(plan, replies, {**rows.models, **roles}), config)
            recorded = _record(table, plan, source, root, replies, binding, ledger)
            recorded.summary["unmade"] = dict(rows.unmade)
            return recorded
    finally:
        for function in functions.values():
            function.close()
        ledger.close()


def _record(
    table: FileRows,
    plan: Plan,
    source: CaseSource,
    root: Path,
    replies: ImportedReplies,
    binding: RoleBinding,
    ledger: Any,
) -> ReplyImport:
    now = datetime.now(UTC)
    run_id = new_run_id(now)
    recorder = Recorder(plan, source.sources, ledger, run_id, lambda: now)
    rows = recorder.collected.collected
    items = names = 0
    marks: SubsetTags | None = None
    rejected = replies.rejected
    costs: list[float | None] = []
    for case_replies, refused in _recorded_cases(recorder, replies.cases(source, binding)):
        for name, why in refused.items():
            rejected.append(
                RowError(case_replies.records[name], "reply", case_replies.replies[name]["reply"], why.reason)
            )
        taken = case_replies.replies.keys() - refused.keys()
        if taken:
            items += 1
            names += len(taken)
            costs += [case_replies.replies[name]["cost_usd"] for name in sorted(taken)]
            marks = marks or SubsetTags(source, source.drawn())
            member = membership_row(run_id, case_replies.case, marks, None)
            recorder.collected.keep({"run_items": [member], "items": [item_row(plan, case_replies.case)]})
    new, scores = len(rows.get("samples", ())), Counter(row["status"] for row in rows.get("scores", ()))
    scenarios = [scenario.name for scenario in replies.scenarios]
    told: dict[str, Any] = {
        "run_id": run_id,
        "source": table.source,
        "rows": len(table.records),
        "replies": names,
        "items": items,
        "models": list(replies.models),
        "scenarios": scenarios,
        "blank": replies.blank,
        "unused_columns": list(replies.unused),
        "new": new,
        "same": names - new,
        "statuses": dict(recorder.tally.samples),
        "scores": dict(scores),
    }
    if not new and not scores:
        return ReplyImport(root, {}, rejected, told, source)
    options: dict[str, Any] = {"limit": None, "seed": None, "only": {}, "imported": table.source}
    if drawn := drawn_counts(source):
        options["drawn"] = drawn
    rows["runs"] = [run_row(plan, binding, run_id, run_id, scenarios, options, now)]
    rows["run_steps"] = [*step_rows(plan, binding, run_id, replies.scenarios)]
    known = None if None in costs else sum(cost for cost in costs if cost is not None)
    end = {"asked": 0, "reused": names, "failed": 0, "cost_usd": known, "finished_at": now}
    rows["run_ends"] = [{"run_id": run_id, "status": "finished", "message": f"imported: {table.source}", **end}]
    return ReplyImport(root, dict(rows), rejected, told, source)


def _recorded_cases(
    recorder: Recorder, cases: Iterator[CaseReplies]
) -> Iterator[tuple[CaseReplies, dict[str, Refusal]]]:
    """Yield every case with its refused replies."""
    while batch := list(islice(cases, LOOKUP_BATCH)):
        yield from zip(batch, recorder.take((replies.units, replies.replies) for replies in batch), strict=True)


def is_store(root: Path) -> bool:
    """Return true if a path is an address of a store, or a folder that has one."""
    return address_of(root) is not None or (root / MARKER).is_file()


def _check_roles(plan: Plan, roles: Mapping[str, str]) -> None:
    for name in roles:
        if name not in {role.name for role in plan.roles}:
            raise TriposError("R0201", f"the benchmark has no role `{name}`", "`tripos plan SPEC` shows them")


def _binding(plan: Plan, replies: ImportedReplies, roles: Mapping[str, str]) -> RoleBinding:
    """Return the models of each role. The models of the file fill the compared role. Other roles that reply are filled
    by `roles`, or else by the compared model if there is only one. Roles that only judge stay empty."""
    asked = {step.role for s in replies.scenarios for step in s.steps if isinstance(step, Ask)}
    models: dict[str, tuple[str, ...]] = {}
    for role in plan.roles:
        if role.name == replies.compared:
            models[role.name] = replies.models
        elif given := roles.get(role.name) or roles.get(role.default or ""):
            models[role.name] = (given,)
        elif role.name in asked and len(replies.models) == 1:
            models[role.name] = replies.models
        elif role.name in asked:
            raise TriposError("R0201", f"no model fills the role `{role.name}`", f"give one: {ROLE} {role.name}=MODEL")
        else:
            models[role.name] = ()
    return RoleBinding(models, replies.compared)
