"""The history of a measure: its values over the runs of a store, one line per model and cell, which breaks if the
meaning of the values changes.

Two values mean the same if the plan, the items and the models in other roles agree in everything that the measure
reads. The same rule says how changes between two plans affect each measure.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, NamedTuple

import orjson

from tripos_compiler.diagnostics.diagnostic import suggest
from tripos_compiler.language.measure_dependencies import MeasureDependencies, changes_affecting, dependencies_of
from tripos_compiler.language.plan_diff import Change, find_changes
from tripos_compiler.language.references import row_identity
from tripos_compiler.plan import Measure, Plan
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures.directions import is_lower_better
from tripos_warehouse.measures.evaluation import evaluate_or_error
from tripos_warehouse.measures.measure_rows import MeasureRow, MeasureTable, with_sequential_intervals
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.report.remarks import selection_of
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect, connect_run
from tripos_warehouse.views.dimensions import LANGUAGE
from tripos_warehouse.views.runs import RunRecord, all_runs, get_plan, get_selected

Item = tuple[str, str]
"""The scenario and the id of an item."""
Name = tuple[str | None, ...]
"""The columns that identify the rows of a step, besides their items: scenario, fingerprint, binding, the other model,
condition."""


class ListedItem(NamedTuple):
    """An item of a run: the compared models that were asked about it (None for all), its context and its fields."""

    scenario: str
    item_id: str
    models: Collection[str] | None
    context: Mapping[str, str]
    fields: Mapping[str, Any] | None
    """None for an item that the store does not have."""

    def content(self, field_names: Collection[str] | None) -> str:
        """Return the part of the item that a figure reads, as JSON: the context, and the fields `field_names`, or all.
        For an item that the store does not have, it is the id."""
        if self.fields is None:
            return self.item_id
        fields = self.fields if field_names is None else {name: self.fields.get(name) for name in field_names}
        return orjson.dumps([self.context, fields], option=orjson.OPT_SORT_KEYS).decode()


@dataclass(frozen=True)
class MeasuredRun:
    """A run with the values of a measure, as in its report. `connection` covers the whole store."""

    connection: Connection
    run: RunRecord
    plan: Plan
    measure: Measure
    table: MeasureTable
    steps: Sequence[tuple[str, Name]]
    """The compared model and the identity of the rows, for every step whose values the measure reads."""
    listed: tuple[Any, ...]
    """A digest of the items of its scenarios, and of the models that were asked about each."""
    meanings: dict[tuple[Any, ...], MeasureDependencies] = field(default_factory=dict, compare=False)
    """A cache of `meaning`, by cell."""
    read: list[list[ListedItem]] = field(default_factory=list, compare=False)
    """A cache of all items of the run: empty until they are read, then with one list."""

    def meaning(self, by: tuple[Any, ...]) -> MeasureDependencies:
        """Return the meaning of the measure in a cell."""
        if by not in self.meanings:
            self.meanings[by] = dependencies_of(self.plan, self.measure, by)
        return self.meanings[by]

    def names(self, model: str, by: tuple[Any, ...]) -> frozenset[Name]:
        """Return the identities of the rows behind the figure of a model in a cell; those of all models if the figure
        depends on the other compared models."""
        meaning = self.meaning(by)
        all_models = meaning.of_all_models
        return frozenset(
            name
            for step_model, name in self.steps
            if (all_models or step_model == model) and name[:2] in meaning.prints
        )

    def items(self, model: str, by: tuple[Any, ...]) -> list[ListedItem]:
        """Return the items behind the figure of a model in a cell. They are read on the first call: runs that list the
        same items never need them."""
        if not self.read:
            dependencies = dependencies_of(self.plan, self.measure)
            self.read.append(_items(self.connection, self.run, dependencies))
        meaning = self.meaning(by)
        return [
            item
            for item in self.read[0]
            if (meaning.of_all_models or item.models is None or model in item.models)
            and meaning.includes_item(item.scenario, item.context)
        ]


@dataclass(frozen=True)
class RunWithoutValue:
    """A run of the benchmark without a value of the measure, and the reason."""

    run: RunRecord
    reason: str


Measured = tuple[list[MeasuredRun], list[RunWithoutValue]]


def measured_runs(store: Store, connection: Connection, benchmark: str, measures: Sequence[str]) -> dict[str, Measured]:
    """Return for each measure the runs of a benchmark with its values, the earliest first, and the runs without.
    `connection` covers the whole store. Raises `StoreError` if the store cannot be read."""
    by_measure: dict[str, Measured] = {name: ([], []) for name in measures}
    for run in reversed(all_runs(connection)):
        if run.benchmark != benchmark:
            continue
        try:
            runs = _measured(store, connection, run.run_id, measures)
        except StoreError as error:
            if error.code != "S0104":  # a plan in a format that this version cannot read
                raise
            for _, without_value in by_measure.values():
                without_value.append(RunWithoutValue(run, error.message))
            continue
        for name, (with_value, without_value) in by_measure.items():
            measured = runs.get(name)
            if measured is None:
                without_value.append(RunWithoutValue(run, f"version {run.version} has no measure `{name}`"))
            elif not measured.table.rows:
                without_value.append(RunWithoutValue(run, measured.table.error or f"nothing of `{name}` was scored"))
            else:
                with_value.append(measured)
    return by_measure


def _measured(
    store: Store, store_connection: Connection, run_id: str, measures: Collection[str]
) -> dict[str, MeasuredRun]:
    """Return a run with the values of each of some measures that its plan has, by the name of the measure."""
    connection, run = connect_run(store, run_id)
    runs = {}
    with connection:
        plan = get_selected(connection, run)
        for measure in plan.measures:
            if measure.name in measures:
                table = with_sequential_intervals(run, evaluate_or_error(connection, plan, measure))
                meaning = dependencies_of(plan, measure)
                steps, listed = _steps(connection, run, meaning), _listed(connection, run, meaning)
                runs[measure.name] = MeasuredRun(store_connection, run, plan, measure, table, steps, listed)
    return runs


def _steps(connection: Connection, run: RunRecord, meaning: MeasureDependencies) -> list[tuple[str, Name]]:
    """Return the compared model and the identity of the rows of every step of a run that a measure reads."""
    prints = sorted({fingerprint for _, fingerprint in meaning.prints})
    query = f"""select distinct model, scenario, fingerprint, binding, other, condition from main.run_steps
      where run_id = {sql.text(run.run_id)} and model is not null and fingerprint in {sql.texts(prints)}"""
    return [(model, tuple(name)) for model, *name in connection.execute(query).fetchall()] if prints else []


def _listed(connection: Connection, run: RunRecord, meaning: MeasureDependencies) -> tuple[Any, ...]:
    """Return the number of items of each scenario of a run, with the sum of their hashes."""
    query = f"""select scenario, count(*), sum(hash(item_id, models)::hugeint)::varchar from main.run_items
      where run_id = {sql.text(run.run_id)} and scenario in {sql.texts(sorted(meaning.scenarios))}
      group by scenario order by scenario"""
    return tuple(connection.execute(query).fetchall()) if meaning.scenarios else ()


def _items(connection: Connection, run: RunRecord, meaning: MeasureDependencies) -> list[ListedItem]:
    """Return the items of the scenarios of a measure, with their fields from the benchmark or one that it extends."""
    if not meaning.scenarios:
        return []
    scenarios = sql.texts(sorted(meaning.scenarios))
    query = f"""select listed.scenario, listed.item_id, any_value(listed.models), any_value(item.context),
        any_value(item.language), any_value(item.fields)
      from main.run_items as listed left join main.items as item
        on item.scenario = listed.scenario and item.item_id = listed.item_id
      where listed.run_id = {sql.text(run.run_id)} and listed.scenario in {scenarios}
      group by listed.scenario, listed.item_id order by listed.scenario, listed.item_id"""
    items = []
    for scenario, item, models, context, language, fields in connection.execute(query).fetchall():
        full_context = {**(context or {}), **({} if language is None else {LANGUAGE: language})}
        items.append(ListedItem(scenario, item, models, full_context, None if fields is None else orjson.loads(fields)))
    return items


UNEXPLAINED_CHANGE = "asks or scores otherwise"
"""The cause of a break for which no change between the plans is found."""


class LineBreak(NamedTuple):
    """A reason why a figure means something else than the one before it: the kind and the name of a thing, and what
    changed."""

    kind: str
    name: str
    what: str

    @property
    def text(self) -> str:
        """The reason in words.

        >>> LineBreak("items", "quiz", "2 are others").text
        'items `quiz`: 2 are others'
        """
        return f"{self.kind} `{self.name}`: {self.what}"


@dataclass(frozen=True)
class HistoryPoint:
    """A value of a run. The values of a line with the same `segment` mean the same; `causes` say why a segment begins.
    The value of an unfinished run has no segment."""

    run: RunRecord
    row: MeasureRow
    segment: int | None
    causes: tuple[LineBreak, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the value with its run as JSON values; times are UTC in ISO 8601."""
        run, row = self.run, self.row
        return {
            "run_id": run.run_id,
            "started_at": run.started_at.isoformat() + "Z",
            "version": run.version,
            "release": run.release,
            "plan_digest": run.plan_digest,
            "status": run.status,
            **row.numbers,
            "segment": self.segment,
            "broken_by": [{**cause._asdict(), "text": cause.text} for cause in self.causes],
        }


@dataclass(frozen=True)
class HistoryLine:
    """The values of one model in one cell of a measure, the earliest first."""

    model: str
    by: tuple[Any, ...]
    points: tuple[HistoryPoint, ...]

    @property
    def breaks(self) -> int:
        """The number of times that the meaning of the values changed."""
        return sum(bool(point.causes) for point in self.points)


@dataclass(frozen=True)
class MeasureHistory:
    """A measure over the runs of a store. `dimensions` are those of its last run."""

    benchmark: str
    measure: str
    title: str
    dimensions: tuple[str, ...]
    lower_is_better: bool
    lines: tuple[HistoryLine, ...]
    unread: tuple[RunWithoutValue, ...]
    plan: Plan
    """The plan of its last run."""

    @property
    def breaks(self) -> int:
        """The number of breaks of all lines."""
        return sum(line.breaks for line in self.lines)

    def to_json(self) -> dict[str, Any]:
        """Return the history as JSON values."""
        return {
            "format": "tripos.history/1",
            "benchmark": self.benchmark,
            "measure": self.measure,
            "title": self.title,
            "by": list(self.dimensions),
            "lower_is_better": self.lower_is_better,
            "lines": [
                {
                    "model": line.model,
                    "by": list(line.by),
                    "breaks": line.breaks,
                    "points": [point.to_json() for point in line.points],
                }
                for line in self.lines
            ],
            "without": [
                {"run_id": without_value.run.run_id, "reason": without_value.reason} for without_value in self.unread
            ],
        }


def history_of(
    store: Store, measure: str, benchmark: str | None = None, models: Collection[str] = ()
) -> MeasureHistory:
    """Return the history of a measure over the runs of a benchmark, for these models or all.

    Raises `StoreError`: S0301 if the benchmark has no run; S0602 if no run has a value of the measure, or if several
    benchmarks have it and none is named.
    """
    with connect(store) as connection:
        name = _benchmark_of(connection, measure, benchmark)
        with_value, without_value = measured_runs(store, connection, name, [measure])[measure]
        if not with_value:
            raise StoreError("S0602", f"no run of `{name}` has a value of `{measure}`", without_value[-1].reason)
        history = _history(name, with_value, without_value, models)
    if models and not history.lines:
        raise StoreError("S0301", f"no run of `{name}` has {', '.join(f'`{model}`' for model in models)}")
    return history


def histories_of(store: Store, connection: Connection, benchmark: str, measures: Sequence[str]) -> list[MeasureHistory]:
    """Return the histories of those measures that some run of a benchmark has a value of. `connection` covers the whole
    store. Raises `StoreError` if the store cannot be read."""
    by_measure = measured_runs(store, connection, benchmark, measures)
    return [_history(benchmark, *by_measure[name], ()) for name in measures if by_measure[name][0]]


def _history(
    benchmark: str,
    with_value: Sequence[MeasuredRun],
    without_value: Sequence[RunWithoutValue],
    models: Collection[str],
) -> MeasureHistory:
    """Return the history of a measure from its runs with and without a value."""
    last = with_value[-1]
    name = last.measure.name
    title = last.plan.title_of("measure", name) or ""
    lines, unread = _lines(with_value, models), tuple(without_value)
    lower = is_lower_better(last.plan, last.measure)
    return MeasureHistory(benchmark, name, title, last.measure.by, lower, lines, unread, last.plan)


def _benchmark_of(connection: Connection, measure: str, benchmark: str | None) -> str:
    """Return `benchmark`, or if it is None the only benchmark whose runs have a measure. Raises `StoreError` S0301 and
    S0602 (`history_of`)."""
    newest = {run.plan_digest: run for run in all_runs(connection)}
    if not newest:
        raise StoreError("S0301", "the store has no runs yet", "`tripos run SPEC --model MODEL` makes one")
    known: dict[str, set[str]] = {}
    for run in newest.values():
        try:
            plan = get_plan(connection, run)
        except StoreError as error:
            if error.code != "S0104":
                raise
            continue
        known.setdefault(run.benchmark, set()).update(own.name for own in plan.measures)
    if benchmark is not None and benchmark not in known:
        hint = suggest(benchmark, known, f"its benchmarks are {', '.join(sorted(known))}")
        raise StoreError("S0301", f"the store has no run of `{benchmark}`", hint)
    candidates = [name for name, names in sorted(known.items()) if measure in names and benchmark in (None, name)]
    if len(candidates) > 1:
        names = ", ".join(f"`{name}`" for name in candidates)
        message = f"several benchmarks have a measure `{measure}`: {names}"
        raise StoreError("S0602", message, f"name one: tripos history {measure} {candidates[0]}")
    if not candidates:
        existing = {name for own, names in known.items() if benchmark in (None, own) for name in names}
        hint = suggest(measure, existing, f"its measures are {', '.join(sorted(existing))}")
        raise StoreError("S0602", f"no run has a measure `{measure}`", hint)
    return candidates[0]


def _lines(measured: Sequence[MeasuredRun], models: Collection[str]) -> tuple[HistoryLine, ...]:
    """Return the line of each model, of `models` if there are any, in each cell."""
    comparer = _MeaningComparer()
    points: dict[tuple[str, tuple[Any, ...]], list[HistoryPoint]] = {}
    latest: dict[tuple[str, tuple[Any, ...]], tuple[MeasuredRun, int]] = {}
    for run in measured:
        for row in run.table.rows:
            if models and row.model not in models:
                continue
            key = row.model, row.by
            point = HistoryPoint(run.run, row, None)
            if run.run.ended:
                before, segment = latest.get(key, (None, 0))
                causes = () if before is None else comparer.causes(before, run, row)
                segment += bool(causes) or before is None
                latest[key] = run, segment
                point = replace(point, segment=segment, causes=causes)
            points.setdefault(key, []).append(point)
    return tuple(HistoryLine(model, by, tuple(of_line)) for (model, by), of_line in points.items())


class _MeaningComparer:
    """Compares the meanings of figures of two runs, and caches the changes between plans."""

    def __init__(self) -> None:
        self.changes: dict[tuple[str, str], list[Change]] = {}

    def causes(self, before: MeasuredRun, after: MeasuredRun, row: MeasureRow) -> tuple[LineBreak, ...]:
        """Return why a figure means something else in a later run; empty if it means the same."""
        old, new = before.meaning(row.by), after.meaning(row.by)
        other_steps = before.names(row.model, row.by) != after.names(row.model, row.by)
        items = [] if before.listed == after.listed else _item_changes(before, after, row)
        if old.digest == new.digest and not other_steps and not items:
            return ()
        changes = changes_affecting(self._changes(before, after), old, new, items=bool(items))
        with_text = [change for change in changes if change.brief != ()] or changes
        breaks = [LineBreak(change.kind, change.name, change.what) for change in with_text]
        breaks += _role_changes(before, after, row) if other_steps else []
        breaks += items
        return tuple(dict.fromkeys(breaks)) or (LineBreak("measure", after.measure.name, UNEXPLAINED_CHANGE),)

    def _changes(self, before: MeasuredRun, after: MeasuredRun) -> list[Change]:
        pair = before.plan.digest, after.plan.digest
        if pair not in self.changes:
            self.changes[pair] = find_changes(before.plan, after.plan)
        return self.changes[pair]


def _item_changes(before: MeasuredRun, after: MeasuredRun, row: MeasureRow) -> list[LineBreak]:
    """Return how the items of two runs differ in what a figure reads, by scenario. Runs that stopped as soon as they
    were settled took the first items of one random order, so one of them may have more."""
    old_items, new_items = (_contents(run, row) for run in (before, after))
    removed, added = old_items - new_items, new_items - old_items
    if not removed and not added:
        return []
    shorter = before.run if not removed else after.run
    if shorter.stopped_early and not (removed and added) and _population(before) == _population(after):
        return []
    breaks = []
    for scenario in sorted({scenario for scenario, _ in (*removed, *added)}):
        gone, new, old_size, new_size = (
            sum(count for (name, _), count in contents.items() if name == scenario)
            for contents in (removed, added, old_items, new_items)
        )
        what = f"{old_size:,} → {new_size:,}, of which {new:,} are new and {gone:,} are gone"
        breaks.append(LineBreak("items", scenario, what))
    return breaks


def _contents(measured: MeasuredRun, row: MeasureRow) -> Counter[tuple[str, str]]:
    """Return how often each content occurs among the items behind a figure, by scenario."""
    fields = measured.meaning(row.by).fields
    items = measured.items(row.model, row.by)
    return Counter((item.scenario, item.content(fields.get(item.scenario))) for item in items)


def _population(measured: MeasuredRun) -> object:
    """Return a key that is equal for two runs that draw their items from the same population in the same way."""
    plan, run = measured.plan, measured.run
    most = run.items if run.settled is None else run.settled["of"]
    rows = [scenario.rows and scenario.rows.model_dump(mode="json") for scenario in plan.scenarios]
    made = [dataset.fingerprint for dataset in plan.made]
    return most, run.only, run.shard, rows, made, [row_identity(dataset) for dataset in plan.datasets]


def _role_changes(before: MeasuredRun, after: MeasuredRun, row: MeasureRow) -> list[LineBreak]:
    """Return a break for each role that the rows of a figure depend on and that other models fill, and for each model
    that is another one under the same name."""
    old_meaning, meaning = before.meaning(row.by), after.meaning(row.by)
    roles = old_meaning.roles | meaning.roles
    of_all_models = old_meaning.of_all_models or meaning.of_all_models
    compared = {before.run.compared_role, after.run.compared_role}
    breaks = []
    for role in dict.fromkeys((*before.run.roles, *after.run.roles)):
        old_models, new_models = (run.roles.get(role, ()) for run in (before.run, after.run))
        if set(old_models) != set(new_models) and (of_all_models if role in compared else role in roles):
            breaks.append(LineBreak("role", role, f"{_names(old_models)} → {_names(new_models)}"))
    identities: Mapping[str, str] = {**before.run.identities, **after.run.identities}
    for name in sorted(identities):
        old, new = (run.identities.get(name, name) for run in (before.run, after.run))
        in_roles = {model for run in (before.run, after.run) for models in run.roles.values() for model in models}
        others = {model for run in (before.run, after.run) for model in run.models} - {row.model}
        if old != new and name in in_roles - others:
            breaks.append(LineBreak("model", name, f"answers as {new}, and did as {old}"))
    return breaks


def _names(models: Sequence[str]) -> str:
    return ", ".join(models) or "nobody"


CONTINUES, OTHER_ROWS, BREAKS, ADDED, REMOVED = "goes on", "other rows", "breaks", "is new", "is gone"
"""The effects of changes on the line of a measure. With other rows, it breaks if the measure reads what differs in
them."""


@dataclass(frozen=True)
class MeasureEffect:
    """The effect of the changes between two plans on the line of a measure."""

    measure: str
    effect: str
    causes: tuple[LineBreak, ...] = ()


class FigurePair(NamedTuple):
    """The value of a measure for a model in a cell, before and after a change, each with its run; None if no run over
    all items has it."""

    measure: str
    model: str
    by: tuple[Any, ...]
    before: tuple[RunRecord, MeasureRow] | None
    after: tuple[RunRecord, MeasureRow] | None

    @property
    def other_models(self) -> dict[str, tuple[str, ...]]:
        """The roles that other models fill in the run after the change, with those models."""
        if self.before is None or self.after is None:
            return {}
        old, new = self.before[0].evaluators, self.after[0].evaluators
        return {role: models for role, models in new.items() if set(models) != set(old.get(role, ()))}


def effects_between(before: Plan, after: Plan) -> list[MeasureEffect]:
    """Return the effect on every measure of two plans of a benchmark, in the order of the later plan."""
    old_measures, new_measures = ({measure.name: measure for measure in plan.measures} for plan in (before, after))
    changes = find_changes(before, after)
    effects = []
    for name, measure in new_measures.items():
        if name not in old_measures:
            effects.append(MeasureEffect(name, ADDED))
            continue
        old, new = dependencies_of(before, old_measures[name]), dependencies_of(after, measure)
        effect = BREAKS if old.digest != new.digest else OTHER_ROWS if old.rows != new.rows else CONTINUES
        affecting = changes_affecting(changes, old, new, items=old.rows != new.rows) if effect != CONTINUES else []
        with_text = [change for change in affecting if change.brief != ()] or affecting
        causes = tuple(LineBreak(change.kind, change.name, change.what) for change in with_text)
        if effect != CONTINUES and not causes:
            causes = (LineBreak("measure", name, UNEXPLAINED_CHANGE),)
        effects.append(MeasureEffect(name, effect, causes))
    return effects + [MeasureEffect(name, REMOVED) for name in old_measures if name not in new_measures]


def figures_between(store: Store, before: Plan, after: Plan, measures: Sequence[str]) -> list[FigurePair]:
    """Return the figures of `measures` with the meaning of either plan, from the last complete runs of a store that
    have them. Raises `StoreError` if the store cannot be read."""
    pairs: dict[tuple[str, str, tuple[Any, ...]], list[tuple[RunRecord, MeasureRow] | None]] = {}
    for side, plan in enumerate((before, after)):
        for run, row, name in _figures(store, plan, measures):
            pairs.setdefault((name, row.model, row.by), [None, None])[side] = run, row
    return [FigurePair(*key, *pair) for key, pair in pairs.items()]


def _figures(store: Store, plan: Plan, measures: Sequence[str]) -> list[tuple[RunRecord, MeasureRow, str]]:
    """Return the values of measures with the meaning of a plan, each of the last run that has it for a model."""
    meanings = {measure.name: dependencies_of(plan, measure) for measure in plan.measures if measure.name in measures}
    by_plan: dict[str, dict[str, MeasureDependencies]] = {}
    measures_of_run: dict[str, list[str]] = {}
    seen: set[tuple[str, str]] = set()
    with connect(store) as connection:
        for run in all_runs(connection):
            if run.benchmark != plan.benchmark.name or not _is_complete(connection, run):
                continue
            if run.plan_digest not in by_plan:
                by_plan[run.plan_digest] = _meanings(connection, run)
            own = by_plan[run.plan_digest]
            for name, meaning in meanings.items():
                if name not in own or (own[name].digest, own[name].rows) != (meaning.digest, meaning.rows):
                    continue
                if any((name, model) not in seen for model in run.models):
                    seen |= {(name, model) for model in run.models}
                    measures_of_run.setdefault(run.run_id, []).append(name)
    figures = {}
    for run_id, names in reversed(measures_of_run.items()):  # the last run decides
        connection, run = connect_run(store, run_id)
        with connection:
            own_plan = get_selected(connection, run)
            for measure in own_plan.measures:
                if measure.name in names:
                    for row in with_sequential_intervals(run, evaluate_or_error(connection, own_plan, measure)).rows:
                        figures[measure.name, row.model, row.by] = run, row, measure.name
    return list(figures.values())


def _is_complete(connection: Connection, run: RunRecord) -> bool:
    """Return true if a run finished all items of its plan, and this version can read it."""
    if not run.ended or run.partial or run.only:
        return False
    try:
        return selection_of(connection, get_plan(connection, run), run) is None
    except StoreError as error:
        if error.code != "S0104":
            raise
        return False


def _meanings(connection: Connection, run: RunRecord) -> dict[str, MeasureDependencies]:
    """Return the meaning of each measure of the plan of a run, by name."""
    plan = get_plan(connection, run)
    return {measure.name: dependencies_of(plan, measure) for measure in plan.measures}
