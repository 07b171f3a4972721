"""Scores of stored replies, read from the rows of a file, and the metrics and scales of a gradable reply.

A row is accepted whole or rejected whole.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import orjson

from tripos.importing.rows import (
    FileRow,
    FileRows,
    InvalidValue,
    ItemIndex,
    PlannedItem,
    RowError,
    cell_text,
    is_blank,
    parse_whole_number,
)
from tripos.settings.options import COLUMN, SET, ImportScoresParameters
from tripos_compiler.diagnostics.diagnostic import nearest, suggest
from tripos_compiler.errors import TriposError
from tripos_compiler.language.evaluation import Unavailable
from tripos_compiler.language.row_scales import scorer_in_case
from tripos_compiler.language.rows import COMMA_HELP, has_comma
from tripos_compiler.library.signature import in_bounds
from tripos_compiler.plan import Ask, Grade, Metric, Plan, Type, turns_before
from tripos_runtime.asking.judging import worth_of
from tripos_runtime.drivers.lookup import imported_bindings
from tripos_runtime.program.binding import RoleBinding
from tripos_warehouse import sql
from tripos_warehouse.ledger.imported_scores import ImportedScore, imported_score
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.store.schemas import HUMAN
from tripos_warehouse.views.dimensions import last_turns
from tripos_warehouse.views.runs import RunRecord

YES = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}


# Metrics and scales
@dataclass(frozen=True)
class MetricScale:
    """The scale of a metric, from `low` to `high` if bounded. `words` maps the names of levels to their bounds. A
    `truth` has the values 1 and 0. A `metric` of the plan decides what happens to a value outside its scale."""

    low: float | None = None
    high: float | None = None
    words: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    truth: bool = False
    metric: Metric | None = None
    names: Mapping[str, float | None] = field(default_factory=dict)
    """The names of a choice, each with its number, if it has one."""

    def chosen(self, said: Any) -> str | None:
        """Return the matching name of a choice, exactly or ignoring case; None if the scale is not a choice. Raises
        `InvalidValue` if no name matches.

        >>> MetricScale(names={"RIGHT": None, "WRONG": None}).chosen(" right "), MetricScale(names={"1": 1}).chosen(1.0)
        ('RIGHT', '1')
        """
        if not self.names:
            return None
        for form in (str, fold_name):
            found = [name for name in self.names if form(name) == form(cell_text(said))]
            if len(found) == 1:
                return found[0]
        raise InvalidValue("value", said, f"not one of {', '.join(self.names)}")

    def read(self, said: Any) -> float | None:
        """Return a value as a number on the scale, or None for a name without a number. Raises `InvalidValue` for
        invalid values, and for numbers outside a scale that refuses them.

        >>> MetricScale(1, 5, {"good": (4.0, 4.0)}).read("Good"), MetricScale(truth=True).read("yes")
        (4.0, 1.0)
        """
        if (name := self.chosen(said)) is not None:
            return self.names[name]
        value = self.number(said)
        if self.metric is not None and (placed := self.metric.placed(value)) is not None:
            return placed
        if (self.low is not None and value < self.low) or (self.high is not None and value > self.high):
            raise InvalidValue("value", said, f"not in {_end(self.low)}..{_end(self.high)}")
        return value

    def number(self, said: Any) -> float:
        """Return a value as a number, even outside the bounds. Raises `InvalidValue` if it is not a number."""
        text = " ".join(str(said).split()).casefold()
        if self.truth and text in YES:
            return YES[text]
        if text in self.words:
            low, high = self.words[text]
            if low == high:
                return low
            raise InvalidValue("value", said, f"this level has the scores from {low:g} to {high:g}: give one of them")
        try:
            value = math.nan if isinstance(said, bool) else float(text)
        except ValueError:
            value = math.nan
        if self.truth and value not in (0.0, 1.0):
            raise InvalidValue("value", said, "not yes, no, true, false, 1 or 0")
        if not in_bounds(value):
            if has_comma(said):
                raise InvalidValue("value", said, f"not a number: {COMMA_HELP}")
            words = " or the words of a level" if self.words else ""
            raise InvalidValue("value", said, f"not a number{words}")
        return value


@dataclass(frozen=True)
class GradedMetric:
    """A gradable criterion of a reply: a metric of a scorer, its scale, and the steps that grade it, with the arms of
    each. There are several steps if arms differ in what the judge sees."""

    scorer: str
    metric: str
    scale: MetricScale
    steps: tuple[Grade, ...]
    arms: Mapping[str, Sequence[Mapping[str, str]]]

    def under(self, arms: Mapping[str, str]) -> GradedMetric | None:
        """Return the criterion with only the steps that grade it under these arms, or None if there are none."""
        steps = tuple(
            step for step in self.steps if any(arms.items() <= each.items() for each in self.arms[step.fingerprint])
        )
        return replace(self, steps=steps) if steps else None


Place = tuple[str, str]
"""A scenario, and the fingerprint of a step whose replies are graded."""


def gradable(plan: Plan) -> dict[Place, dict[str, list[GradedMetric]]]:
    """Return the criteria that replies of each step can be graded on, by metric: one for each scorer that gives it."""
    found: dict[Place, dict[tuple[str, str], dict[str, Grade]]] = {}
    arms: dict[str, list[Mapping[str, str]]] = {}
    for scenario in plan.scenarios:
        for treatment in scenario.treatments:
            asks = {step.name: step for step in treatment.steps if isinstance(step, Ask)}
            for step in treatment.steps:
                if isinstance(step, Grade) and step.of in asks:
                    arms.setdefault(step.fingerprint, []).append(treatment.arms)
                    for asked in (asks[step.of], *turns_before(asks[step.of], asks)):
                        place = found.setdefault((scenario.name, asked.fingerprint), {})
                        for metric in step.metrics or (step.name,):
                            place.setdefault((metric, step.scorer), {})[step.fingerprint] = step
    return {place: _by_metric(plan, given, arms) for place, given in found.items()}


def _by_metric(
    plan: Plan,
    given: Mapping[tuple[str, str], Mapping[str, Grade]],
    arms: Mapping[str, Sequence[Mapping[str, str]]],
) -> dict[str, list[GradedMetric]]:
    found: dict[str, list[GradedMetric]] = {}
    for (metric, scorer), steps in given.items():
        gives = plan.scorer(scorer).gives
        scale = _scale_of(plan.metric(metric)) if gives is None else _scale_of_type(gives)
        found.setdefault(metric, []).append(GradedMetric(scorer, metric, scale, tuple(steps.values()), arms))
    return found


def metric_words(plan: Plan, metrics: Mapping[str, object]) -> dict[str, str]:
    """Return the metrics by name and by title in every language, folded. A title of two metrics is left out."""
    titles: dict[str, set[str]] = {}
    for metric in plan.metrics:
        if metric.name in metrics:
            for title in metric.title.values():
                titles.setdefault(fold_name(title), set()).add(metric.name)
    found = {title: next(iter(names)) for title, names in titles.items() if len(names) == 1}
    return found | {fold_name(name): name for name in metrics}


def fold_name(text: str) -> str:
    """Return a name folded for comparison: case and repeated spaces are ignored.

    >>> fold_name("  Basic  Factual Accuracy ")
    'basic factual accuracy'
    """
    return " ".join(text.split()).casefold()


def _scale_of(metric: Metric) -> MetricScale:
    words: dict[str, tuple[float, float]] = {}
    for level in metric.levels:
        words |= {fold_name(text): (float(level.low), float(level.high)) for text in level.text.values()}
    return MetricScale(float(metric.low), float(metric.high), words, metric=metric)


def _scale_of_type(gives: Type) -> MetricScale:
    match gives.kind:
        case "integer":
            low, high = gives.low, gives.high
            return MetricScale(None if low is None else float(low), None if high is None else float(high))
        case "bool":
            return MetricScale(truth=True)
        case "choice":
            return MetricScale(names={name: worth_of(gives, name) for name in gives.values})
    return MetricScale()


def _end(bound: float | None) -> str:
    return "" if bound is None else f"{bound:g}"


# Scores of a file
FIELDS = ("scenario", "item", "position", "sample_id", "model", "sample", "step", "scorer", "metric", "value",
       "evaluator", "round", "rationale", "reply")  # fmt: skip
"""Fields of a row of scores, besides the fields of items, the axes and the arms."""
RATIONALE = ("{} rationale", "{}_rationale", "{} reason", "{}_reason")
"""Column names of a metric's rationale in a file with a column for each metric."""


@dataclass(frozen=True)
class StoredReply:
    """A gradable reply of the store. `arms` are the treatments that include it."""

    sample: Mapping[str, Any]
    number: int
    step: str
    place: Place
    arms: tuple[Mapping[str, str | None], ...]
    text: str


@dataclass(frozen=True)
class ScoreImport:
    """The contents of a file: valid scores, rejected rows, and the number of blank cells. `repeated` counts scores that
    occur again with the same value, in `repeating` rows; they count once."""

    scores: tuple[ImportedScore, ...]
    rejected: tuple[RowError, ...]
    blank: int
    unused: tuple[str, ...]
    """Columns that are not used."""
    repeated: int = 0
    repeating: int = 0


def read_scores(table: FileRows, plan: Plan, run: RunRecord, connection: Connection) -> ScoreImport:
    """Return the scores of a file. `connection` shows `run` (see `connect_run`), and `plan` is the plan of that run.

    Raises `TriposError` S0502 if the mapping names an unknown field or metric, and S0504 if the run has no gradable
    reply.
    """
    return _ScoreReader(table, plan, run, connection).read()


class _ScoreReader:
    """Reader of the scores of a file."""

    def __init__(self, table: FileRows, plan: Plan, run: RunRecord, connection: Connection) -> None:
        self.table, self.plan = table, plan
        self.scores = gradable(plan)
        metrics = {metric: None for by_metric in self.scores.values() for metric in by_metric}
        self.words = metric_words(plan, metrics)
        self.arms = [arm.name for arm in plan.arms]
        schema = sql.name(run.benchmark)
        self.replies = replies_of(connection, plan, run, self.arms, self.scores)
        if not self.replies:
            raise TriposError(
                "S0504", f"run `{run.run_id}` has no reply that a scorer grades", "`tripos list` shows the runs"
            )
        self.by_id = {reply.sample["sample_id"]: reply for reply in self.replies}
        self.by_item: dict[tuple[str, str], list[StoredReply]] = {}
        for reply in self.replies:
            self.by_item.setdefault((reply.sample["scenario"], reply.sample["item_id"]), []).append(reply)
        items = _items(connection, schema, plan)
        self.fields = {(item.scenario, item.item_id): item for item in items}
        self.items = ItemIndex(plan, items, FIELDS)
        self.own_fields = FIELDS if "reply" not in self.items.field_names else FIELDS[: FIELDS.index("reply")]
        self.items.own_fields = self.own_fields
        self.turns: Counter[tuple[Any, ...]] = Counter()
        self.wide = self._columns_of_metrics()
        self.bindings = imported_bindings(plan, RoleBinding(run.roles, run.compared_role, run.identities))
        self.judges = _judges_of_runs(connection, run.benchmark)
        self.blank = 0

    def read(self) -> ScoreImport:
        """Return the scores and the rejected rows."""
        found: dict[str, tuple[ImportedScore, FileRow]] = {}
        rejected: list[RowError] = []
        repeated: Counter[str] = Counter()
        for record in self.table.records:
            wrong: list[RowError] = []
            try:
                scores = list(self._scores(record, wrong))
                wrong += self._conflicts(record, scores, found)
                if wrong:  # a row is accepted whole or rejected whole
                    rejected += wrong
                    continue
                for score in scores:
                    repeated[f"{record.file} {record.place}"] += score.score_id in found
                    found.setdefault(score.score_id, (score, record))
            except InvalidValue as misfit:
                rejected.append(misfit.at(record))
        wide = {column for pair in self.wide.values() for column in pair if column is not None}
        unused = self.table.unused((*self.own_fields, *self.arms), self.items.columns | wide)
        given = tuple(score for score, _ in found.values())
        repeating = sum(count > 0 for count in repeated.values())
        return ScoreImport(given, tuple(rejected), self.blank, unused, repeated.total(), repeating)

    def _conflicts(
        self, record: FileRow, scores: Sequence[ImportedScore], found: Mapping[str, tuple[ImportedScore, FileRow]]
    ) -> Iterator[RowError]:
        """Yield an error for each score of a row that an earlier row gives another value."""
        for score in scores:
            before, at = found.get(score.score_id, (score, record))
            if before.part != score.part:
                earlier, value = (self._cell(row, score.metric) for row in (at, record))
                reason = f"{at.place} gives the same evaluator's score of it as {earlier}: say the round"
                yield RowError(record, score.metric, value, reason)

    def _columns_of_metrics(self) -> dict[str, tuple[str, str | None]]:
        """Return the columns of the value and of the rationale by metric, or nothing if the file has a row for each
        score. Raises `TriposError` S0502."""
        told, columns = self.table.records[0].mapping, self.table.columns
        self._check_names(told.columns, told.set, told.values)
        fixed = next((name for name in told.set if fold_name(name) in self.words), None)
        if fixed is not None:
            hint = f"set the metric and the value: `{SET} metric={fixed} {SET} value=…`"
            raise TriposError("S0502", f"the metric `{fixed}` has a value that is the same in every row", hint)
        mapped = {
            self.words[fold_name(name)]: column
            for name, column in told.columns.items()
            if fold_name(name) in self.words
        }
        one = any(told.column(name, record.cells) for name in ("metric",) for record in self.table.records)
        if "metric" in told.set or (one and not mapped):
            return {}
        free = {fold_name(column): column for column in columns if column not in told.columns.values()}
        for text, column in free.items():
            if text in self.words:
                mapped.setdefault(self.words[text], column)
        if not mapped:
            names = ", ".join(sorted(set(self.words.values()))[:8])
            hint = f"say `{COLUMN} metric=COLUMN`, or `{COLUMN} NAME=COLUMN` with the name of a metric: {names}"
            raise TriposError("S0502", "no column names the metric, and no column has the name of one", hint)
        return {
            metric: (column, next((free[t] for t in self._rationales(metric, column) if t in free), None))
            for metric, column in mapped.items()
        }

    def _rationales(self, metric: str, column: str) -> Iterator[str]:
        for name in (column, metric):
            yield from (fold_name(form.format(name)) for form in RATIONALE)

    def _check_names(self, *told: Mapping[str, object]) -> None:
        """Raise `TriposError` S0502 for an unknown field."""
        known = {*self.own_fields, *self.items.field_names, *self.arms}
        for name in (name for names in told for name in names):
            if name not in known and fold_name(name) not in self.words:
                hint = suggest(
                    name,
                    [*known, *self.words.values()],
                    f"its fields are {', '.join(self.own_fields)}, and those of the items",
                )
                raise TriposError("S0502", f"a score has no field `{name}`", hint)

    def _scores(self, record: FileRow, rejected: list[RowError]) -> Iterator[ImportedScore]:
        """Yield the scores of one row. All invalid values of the row are added to `rejected`."""
        cells = list(self._cells(record))
        if not cells:
            return
        reply = self._reply(record)
        evaluator, round_ = self._evaluator(record), self._round(record)
        for metric, value, rationale in cells:
            try:
                given = self._in_row(self._metric(record, reply, metric), reply)
                number, name = given.scale.read(value), given.scale.chosen(value)
                said = given.scale.number(value) if name is None else None
            except InvalidValue as misfit:
                field = given_field if (given_field := misfit.field) != "value" else self._field_of(metric)
                rejected.append(RowError(record, field, misfit.value, misfit.reason))
                continue
            for step in given.steps:
                binding = self.bindings[step.fingerprint, reply.sample["binding"]]
                sample = {**reply.sample, "binding": binding}
                yield imported_score(sample, step, metric, evaluator, round_, number, rationale, said, name=name)

    def _in_row(self, given: GradedMetric, reply: StoredReply) -> GradedMetric:
        """Return a criterion with the scale that the row of a reply gives."""
        scorer = self.plan.scorer(given.scorer)
        if scorer.maximum is None:
            return given
        item = self.fields[reply.sample["scenario"], reply.sample["item_id"]]
        scenario = next(each for each in self.plan.scenarios if each.name == item.scenario)
        names = {**item.context, **({} if scenario.rows is None else {scenario.rows.alias: item.fields})}
        try:
            gives = scorer_in_case(scorer, given.steps[0].args, names).gives
        except Unavailable as reason:
            raise InvalidValue("item", item.item_id, str(reason)) from None
        assert gives is not None
        return replace(given, scale=_scale_of_type(gives))

    def _field_of(self, metric: str) -> str:
        return self.wide[metric][0] if metric in self.wide else "value"

    def _cell(self, record: FileRow, metric: str) -> Any:
        """Return the raw value of a metric in a row."""
        return record.cells.get(self.wide[metric][0]) if metric in self.wide else record.get("value")

    def _cells(self, record: FileRow) -> Iterator[tuple[str, Any, str | None]]:
        """Yield each metric that the row has a value for, with the value and the rationale."""
        if not self.wide:
            said = record.text("metric")
            value = record.get("value")
            if value is None:
                self.blank += 1
                return
            if said is None:
                raise InvalidValue("metric", None, "no metric is named")
            if fold_name(said) not in self.words:
                known = sorted(set(self.words.values()))
                close = nearest(said, [*known, *(t for m in self.plan.metrics for t in m.title.values())])
                raise InvalidValue("metric", said, f"no such metric; did you mean `{close}`?" if close else
                             f"no such metric; there are {', '.join(known[:6])}")  # fmt: skip
            metric = self.words[fold_name(said)]
            yield metric, self._meaning(record, metric, value), record.text("rationale")
            return
        for metric, (column, why) in self.wide.items():
            value = record.cells.get(column)
            if is_blank(value):
                self.blank += 1
                continue
            reason = record.cells.get(why) if why is not None else record.get("rationale")
            meaning = self._meaning(record, metric, record.mapping.translate("value", value))
            yield metric, meaning, None if is_blank(reason) else str(reason).strip()

    def _meaning(self, record: FileRow, metric: str, value: Any) -> Any:
        """Return a value of a metric, translated by the words that the mapping gives for the metric."""
        names = (name for name in record.mapping.values if self.words.get(fold_name(name)) == metric)
        return record.mapping.translate(next(names, metric), value)

    def _metric(self, record: FileRow, reply: StoredReply, metric: str) -> GradedMetric:
        scenario = reply.place[0]
        found = self.scores[reply.place].get(metric, [])
        if not found:
            said = self.wide[metric][0] if metric in self.wide else record.text("metric")
            raise InvalidValue("metric", said, f"not graded in scenario `{scenario}`")
        arms = {arm: said for arm in self.arms if (said := record.text(arm)) is not None}
        found = [under for each in found if (under := each.under(arms)) is not None]
        if not found:
            arm = next(iter(arms))
            raise InvalidValue(arm, arms[arm], f"`{metric}` is not graded under this arm in scenario `{scenario}`")
        if (said := record.text("scorer")) is not None:
            found = [each for each in found if each.scorer == said]
            if not found:
                raise InvalidValue("scorer", said, f"does not give `{metric}` in scenario `{scenario}`")
        if len(found) > 1:
            names = " and ".join(each.scorer for each in found)
            raise InvalidValue("scorer", None, f"{names} give `{metric}`: say which")
        return found[0]

    def _reply(self, record: FileRow) -> StoredReply:
        if (said := record.text("sample_id")) is not None:
            if said not in self.by_id:
                raise InvalidValue("sample_id", said, "the run has no such reply that is graded")
            return self.by_id[said]
        said = record.get("reply") if "reply" in self.own_fields else None
        items = [self.items.find(record)] if said is None else self.items.candidates(record)[0]
        found = [reply for item in items for reply in self.by_item.get((item.scenario, item.item_id), ())]
        if not found:
            raise InvalidValue("item", items[0].item_id, "the run has no reply to this item that is graded")
        model = record.text("model")
        if said is not None:
            found = _saying(found, said, model)
        found = _with(found, "model", model, lambda reply: {reply.sample["model"]})
        found = _with(
            found,
            "sample",
            _shown(parse_whole_number(record.get("sample"), "sample")),
            lambda reply: {str(reply.number)},
        )
        found = _with(found, "step", record.text("step"), lambda reply: {reply.step})
        for arm in self.arms:
            found = _with(found, arm, record.text(arm), lambda reply, arm=arm: {one[arm] for one in reply.arms})
        if len(found) > 1 and said is not None:
            found = [self._next(found, record)]
        if len(found) > 1:
            differs = next(name for name, of in _DISTINGUISHING.items() if len({of(reply) for reply in found}) > 1)
            raise InvalidValue(differs, None, f"{len(found)} replies to the item could be meant: name the {differs}")
        return found[0]

    def _next(self, alike: Sequence[StoredReply], record: FileRow) -> StoredReply:
        """Return the next of several replies with the same text: each row of an evaluator is about another one."""
        metric = None if self.wide else record.text("metric")
        alike = sorted(alike, key=lambda reply: (str(reply.sample["model"]), reply.number, reply.sample["sample_id"]))
        key = self._evaluator(record), self._round(record), metric, *(reply.sample["sample_id"] for reply in alike)
        turn = self.turns[key]
        self.turns[key] += 1
        return alike[turn % len(alike)]

    def _evaluator(self, record: FileRow) -> str:
        said = record.text("evaluator")
        if said is None:
            raise InvalidValue(
                "evaluator",
                None,
                f"nothing says who gave the score: `{ImportScoresParameters.evaluator} NAME`, or a column of it",
            )
        if said in self.judges and not (said.startswith(HUMAN) and self._round(record) > 1):
            reason = "this judge grades in runs; give what it gave elsewhere a name of its own"
            raise InvalidValue("evaluator", said, f"{reason}, such as `{said}/published`")
        return said

    def _round(self, record: FileRow) -> int:
        number = parse_whole_number(record.get("round"), "round")
        if number is not None and number < 1:
            raise InvalidValue("round", number, "rounds are counted from 1")
        return 1 if number is None else number


def _with(found: Sequence[StoredReply], name: str, said: str | None, of: Any) -> list[StoredReply]:
    """Return the replies that match the value of a row, or all if the row has none. Raises `InvalidValue` if none
    matches."""
    chosen = [reply for reply in found if said is None or said in of(reply)]
    if not chosen:
        there = sorted({str(value) for reply in found for value in of(reply)})
        more = suggest(said or "", there, f"there are {', '.join(there[:4])}")
        raise InvalidValue(name, said, f"the run has no such reply to the item; {more}")
    return chosen


def _saying(found: Sequence[StoredReply], said: Any, model: str | None) -> list[StoredReply]:
    """Return the replies with the text of a row. Raises `InvalidValue` if there are none, or only replies of other
    models."""
    exact = [reply for reply in found if isinstance(said, str) and reply.text.strip() == said.strip()]
    alike = exact or [reply for reply in found if _parsed(reply.text) == _parsed(said)]
    if not alike:
        raise InvalidValue("reply", said, "the run has no reply to the item with this text")
    writers = sorted({str(reply.sample["model"]) for reply in alike})
    if model is not None and model not in writers and any(reply.sample["model"] == model for reply in found):
        raise InvalidValue("model", model, f"the reply with this text is by {', '.join(writers)}")
    return alike


def _parsed(said: Any) -> Any:
    """Return a reply for comparison: JSON is parsed, so its layout is ignored."""
    if not isinstance(said, str):
        return said
    try:
        return orjson.loads(said)
    except orjson.JSONDecodeError:
        return said.strip()


def _shown(number: int | None) -> str | None:
    return None if number is None else str(number)


_DISTINGUISHING: Mapping[str, Any] = {
    "model": lambda reply: reply.sample["model"],
    "step": lambda reply: reply.step,
    "arm": lambda reply: str(reply.arms),
    "sample": lambda reply: reply.number,
}
"""The properties that distinguish replies to an item."""


def replies_of(
    connection: Connection,
    plan: Plan,
    run: RunRecord,
    arms: Sequence[str],
    given: Mapping[Place, object],
) -> list[StoredReply]:
    """Return the replies of a run that a scorer grades."""
    more = "".join(f", sample.{sql.name(arm)}" for arm in arms)
    rows = connection.execute(
        f"""select sample.sample_id, sample.scenario, sample.item_id, sample.model, sample.sample_number, sample.step,
          sample.fingerprint, kept.binding, sample.reply{more}
        from {last_turns(plan)} as sample join main.samples as kept on kept.sample_id = sample.sample_id
        where sample.reply is not null order by all"""
    ).fetchall()
    found: dict[str, StoredReply] = {}
    for sample_id, scenario, item_id, model, number, step, fingerprint, binding, text, *values in rows:
        if (place := (scenario, fingerprint)) not in given:
            continue
        told = dict(zip(arms, values, strict=True))
        if (before := found.get(sample_id)) is not None:
            found[sample_id] = StoredReply(before.sample, number, step, place, (*before.arms, told), text)
            continue
        own = {"sample_id": sample_id, "run_id": run.run_id, "benchmark": run.benchmark, "scenario": scenario}
        own |= {"item_id": item_id, "model": model, "binding": binding}
        found[sample_id] = StoredReply(own, number, step, place, (told,), text)
    return list(found.values())


def _items(connection: Connection, schema: str, plan: Plan) -> list[PlannedItem]:
    names = [sql.name(axis.name) for axis in plan.axes]
    axes = [axis.name for axis in plan.axes]
    rows = connection.execute(
        f"select {', '.join(['scenario', 'item_id', 'fields', *names])} from {schema}.items order by scenario, item_id"
    ).fetchall()
    return [
        PlannedItem(
            scenario, item_id, {a: v for a, v in zip(axes, values, strict=True) if v is not None}, orjson.loads(fields)
        )
        for scenario, item_id, fields, *values in rows
    ]


def _judges_of_runs(connection: Connection, benchmark: str) -> frozenset[str]:
    query = "select distinct evaluator from main.judgements where benchmark = ? and round is null"
    return frozenset(name for (name,) in connection.execute(query, [benchmark]).fetchall())
