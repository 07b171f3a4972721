"""Common parts of the exports to other tools: units of a run, chats, and figures.

A unit is one pass of a model over an item, with all replies and scores, read in one pass over the run. Every other tool
has such records, called samples, documents or traces. A score without a reply of its own belongs to the first unit of
its item.

Figures are those that Tripos reports, since no other format computes them anew: the measures of the spec, and the mean
of one metric by one evaluator in one scenario and its arms, with an error clustered by item.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, field
from datetime import datetime
from itertools import groupby
from typing import Any

import orjson

from tripos_compiler.language.references import expressions_of, paths_in
from tripos_compiler.plan import Ask, Compare, Grade, Plan, Scenario, Score, ToolCall, split_text_and_calls
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.exports.every_eval_ever import scale
from tripos_warehouse.exports.tables import open_fields
from tripos_warehouse.measures.directions import is_lower_better
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import mean_of_run, with_sequential_intervals
from tripos_warehouse.measures.study_design import lower_scores
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.statistics.arrays import CONFIDENCE
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import mean_of_cells
from tripos_warehouse.views.benchmark_views import axis_columns
from tripos_warehouse.views.dimensions import LANGUAGE, arm_columns
from tripos_warehouse.views.runs import RunRecord

BATCH = 500
"""Replies in memory at once."""
SECRET = "secret"
"""The text in place of a target that the spec marks as secret."""

_REPLY = (
    "sample_id, step, model_served, status, reply, parsed, messages, error, finish_reason, attempts, tokens_in, "
    "tokens_out, tokens_reasoning, cost_usd, latency_s, created_at"
)

_JUDGED = ("tokens_in", "tokens_out", "cost_usd", "created_at", "latency_s")


@dataclass(frozen=True)
class UnitScore:
    """A score of a unit, as in the view of scores, with the numbers of its judge's reply."""

    metric: str
    scorer: str
    evaluator: str | None
    round: int | None
    element_place: str | None
    value: float | None
    choice: str | None
    status: str
    error: str | None
    score_id: str
    judgement_id: str | None
    step: str | None
    """The step of the scored reply."""
    sample_id: str
    tokens_in: int | None
    tokens_out: int | None
    cost_usd: float | None
    judged_at: datetime | None
    """The time of the judge's reply, and its latency in seconds."""
    judged_s: float | None
    reason: str | None
    """The judge's reason, if secrets are exported."""


@dataclass(frozen=True)
class RunUnit:
    """One pass of a model over an item: its replies in the order of the steps, and their scores."""

    scenario: str
    item_id: str
    cluster_id: str
    """The cluster for errors: the item, or the items that it was drawn with."""
    number: int
    """The sample number, from 0."""
    axes: Mapping[str, str]
    arms: Mapping[str, str]
    language: str | None
    fields: Mapping[str, Any]
    """The fields of the item that may be shown."""
    target: tuple[str, ...] | None
    """The texts of the right answer; `None` if they are secret."""
    replies: tuple[Mapping[str, Any], ...]
    scores: tuple[UnitScore, ...]


def read_units(
    connection: Connection, plan: Plan, run: RunRecord, model: str, secrets: bool = False
) -> Iterator[RunUnit]:
    """Yield every unit of a compared model, by scenario, item, arms and sample number. With `secrets` they include
    secret fields and the reasons of judges.
    """
    arms, axes = arm_columns(plan), axis_columns(plan)
    shown, every = open_fields(plan, secrets), open_fields(plan, True)
    targets = {scenario.name: target_fields(plan, scenario) for scenario in plan.scenarios}
    cursor = connection.cursor()
    result = cursor.execute(_query(plan, run, model, secrets))
    names = [column[0] for column in result.description or ()]

    def rows() -> Iterator[dict[str, Any]]:
        while some := result.fetchmany(BATCH):
            yield from (dict(zip(names, row, strict=True)) for row in some)

    def key(row: Mapping[str, Any]) -> tuple[Any, ...]:
        return (row["scenario"], row["item_id"], *(row[arm] for arm in arms), row["sample_number"])

    for _, group in groupby(rows(), key):
        own = list(group)
        first = own[0]
        fields: dict[str, Any] = orjson.loads(first["fields"]) if first["fields"] is not None else {}
        allowed = shown.get(first["dataset"], dict.fromkeys(fields))
        wanted = [name for name in targets.get(first["scenario"], ()) if fields.get(name) is not None]
        hidden = any(name in every.get(first["dataset"], {}) and name not in allowed for name in wanted)
        yield RunUnit(
            scenario=str(first["scenario"]),
            item_id=first["item_id"],
            cluster_id=first["cluster_id"] or first["item_id"],
            number=first["sample_number"],
            axes={name: str(first[name]) for name in axes if first[name] is not None},
            arms={name: str(first[name]) for name in arms if first[name] is not None},
            language=None if first[LANGUAGE] is None else str(first[LANGUAGE]),
            fields={name: value for name, value in fields.items() if name in allowed},
            target=None if hidden else tuple(_text(fields[name]) for name in wanted),
            replies=tuple(row for row in own if row["sample_id"] is not None),
            scores=tuple(UnitScore(**score) for row in own for score in row["scores"] or ()),
        )
    cursor.close()


def target_fields(plan: Plan, scenario: Scenario) -> tuple[str, ...]:
    """Return the fields of an item with the right answer: the secret ones, or else those that scores read and no prompt
    of the compared role does.
    """
    if scenario.rows is None:
        return ()
    own = {dataset.name: dataset.fields for dataset in plan.datasets} | {
        dataset.name: dataset.fields for dataset in plan.made
    }
    fields = own.get(scenario.rows.dataset, ())
    if secret := tuple(data_field.name for data_field in fields if data_field.secret):
        return secret
    asked = _looked_at(scenario, Ask)
    judged = _looked_at(scenario, Score, Grade)
    return tuple(data_field.name for data_field in fields if data_field.name in judged - asked)


def left_out(connection: Connection, plan: Plan, run: RunRecord) -> dict[str, int]:
    """Return the numbers of results that belong to no unit, by kind in words."""
    if not any(isinstance(step, Compare) for scenario in plan.scenarios for step in scenario.steps):
        return {}
    query = f"select count(*) from {sql.name(run.benchmark)}.comparisons"
    count = int(connection.execute(query).fetchall()[0][0])
    return {"comparisons of two replies": count} if count else {}


def named_scores(unit: RunUnit, steps: Mapping[str, Sequence[str]], scenario: bool) -> dict[str, UnitScore]:
    """Return the scores of a unit by name (`score_name`), numbered if a name is repeated. `steps` are those of
    `scored_steps`; with `scenario` the names begin with the scenario.
    """
    scores: dict[str, UnitScore] = {}
    for score in unit.scores:
        name = score_name(score, steps.get(score.metric, ()), unit.scenario if scenario else None)
        many = 2
        while (text := name if name not in scores else f"{name} #{many}") in scores:
            many += 1
        scores[text] = score
    return scores


def score_name(score: UnitScore, steps: Sequence[str], scenario: str | None = None) -> str:
    """Return the name of a score within its unit; `steps` are those whose replies have a score of its metric.

    >>> no = None
    >>> one = UnitScore("CLEAR", "rubric", "mock/a", 2, "0", 7.0, no, "scored", no, *"abcd", 1, 1, 0.0, no, no, no)
    >>> score_name(one, ["c"]), score_name(one, ["c", "d"], "sums")
    ('CLEAR[0] by mock/a (round 2)', 'sums: CLEAR[0] of c by mock/a (round 2)')
    """
    return figure_name(score, steps, scenario, score.element_place)


def figure_name(score: UnitScore, steps: Sequence[str], scenario: str | None, place: str | None = None) -> str:
    """Return the name of the mean that a score counts in: the name of the score without the position of an element."""
    text = score.metric if scenario is None else f"{scenario}: {score.metric}"
    text += f"[{place}]" if place is not None else ""
    text += f" of {score.step}" if len(steps) > 1 else ""
    text += f" by {score.evaluator}" if score.evaluator is not None else ""
    return text + (f" (round {score.round})" if score.round is not None else "")


def scored_steps(plan: Plan, scenario: str) -> dict[str, tuple[str, ...]]:
    """Return, for each metric of a scenario, the steps whose replies have a score of it."""
    by_metric: dict[str, dict[str, None]] = {}
    for declared in plan.scenarios:
        for step in declared.steps if declared.name == scenario else ():
            if isinstance(step, Score | Grade):
                names = [step.name] if isinstance(step, Score) else step.metrics or [step.name]
                for name in names:
                    by_metric.setdefault(name, {})[step.of] = None
    return {name: tuple(steps) for name, steps in by_metric.items()}


def _looked_at(scenario: Scenario, *kinds: type) -> set[str]:
    alias = scenario.rows.alias if scenario.rows is not None else ""
    paths = {
        path
        for step in scenario.steps
        if isinstance(step, kinds)
        for expr in expressions_of(step)
        for path in paths_in(expr)
    }
    return {path[1] for path in paths if path[0] == alias and len(path) > 1}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else orjson.dumps(value).decode()


def _query(plan: Plan, run: RunRecord, model: str, secrets: bool) -> str:
    schema = sql.name(run.benchmark)
    place = ["scenario", LANGUAGE, *axis_columns(plan), *arm_columns(plan)]
    keys = ["scenario", *arm_columns(plan), "sample_id"]
    order = {step.name: None for scenario in plan.scenarios for step in scenario.steps if isinstance(step, Ask)}
    named = f"[{', '.join(map(sql.text, order))}]"
    same = " and ".join(f"sample.{sql.name(key)} is not distinct from score.{sql.name(key)}" for key in keys)
    quoted = [sql.name(name) for name in place]
    columns = ", ".join(f"coalesce(sample.{name}, score.{name}) as {name}" for name in quoted)
    reply = ", ".join(f"sample.{name.strip()}" for name in _REPLY.split(","))
    own = ", ".join(f"score.{name}" for name in quoted)
    judged = ", ".join(f"any_value({name}) as {name}" for name in _JUDGED)
    reason = "reason.reason" if secrets else "NULL::varchar"
    reasons = (
        f"left join (select score_id, any_value(reason) as reason from {schema}.rationales group by all) as reason "
        "on reason.score_id = score.score_id"
        if secrets
        else ""
    )
    arms = "".join(f", {sql.name(arm)} nulls first" for arm in arm_columns(plan))
    # A row for each reply of the model with the list of its scores, and for each list of scores without a reply.
    return f"""with scored as (
      select {own}, score.sample_id, score.item_id, list(struct_pack(metric := score.metric::varchar,
        scorer := score.scorer, evaluator := score.evaluator, round := score.round,
        element_place := score.element_place, value := score.value, choice := score.choice, status := score.status,
        error := score.error, score_id := score.score_id, judgement_id := score.judgement_id, step := scored_reply.step,
        sample_id := score.sample_id, tokens_in := judged.tokens_in, tokens_out := judged.tokens_out,
        cost_usd := judged.cost_usd, judged_at := judged.created_at, judged_s := judged.latency_s, reason := {reason})
        order by score.metric, score.evaluator nulls first, score.round nulls first, score.element_place nulls first,
          score.score_id) as scores
      from {schema}.scores as score
      left join (select distinct sample_id, step from {schema}.samples) as scored_reply
        on scored_reply.sample_id = score.sample_id
      left join (select judgement_id, {judged} from {schema}.judgements group by all) as judged
        on judged.judgement_id = score.judgement_id
      {reasons}
      where score.model = {sql.text(model)} group by all
    ), replied as (
      select * from {schema}.samples
      where role = {sql.text(run.compared_role)} and model = {sql.text(model)}
    )
    select {columns}, coalesce(sample.item_id, score.item_id) as item_id,
      coalesce(sample.sample_number, 0) as sample_number, {reply}, score.scores, item.cluster_id,
      item.fields, item.dataset
    from replied as sample full join scored as score on {same}
    left join {schema}.items as item on item.scenario = coalesce(sample.scenario, score.scenario)
      and item.item_id = coalesce(sample.item_id, score.item_id)
    order by scenario, item_id{arms}, sample_number, list_position({named}, sample.step) nulls last, sample.sample_id"""


def arms_text(arms: Mapping[str, str]) -> str:
    """Return the arms of a unit, to be appended to its name.

    >>> arms_text({"hint": "none", "tone": "warm"}), arms_text({})
    ('[hint: none, tone: warm]', '')
    """
    return f"[{', '.join(f'{name}: {value}' for name, value in arms.items())}]" if arms else ""


def usage_of(parts: Sequence[Mapping[str, Any] | UnitScore]) -> dict[str, Any] | None:
    """Return the tokens and the cost of some calls; `None` if no provider reported tokens. The cost is included if that
    of every call is known.
    """
    rows = [vars(part) if isinstance(part, UnitScore) else part for part in parts]
    known = [row for row in rows if row["tokens_in"] is not None or row["tokens_out"] is not None]
    if not known:
        return None
    sent, got = (sum(row[name] or 0 for row in known) for name in ("tokens_in", "tokens_out"))
    reasoning = [row["tokens_reasoning"] for row in known if row.get("tokens_reasoning") is not None]
    costs = [row["cost_usd"] for row in rows]
    usage: dict[str, Any] = {"input_tokens": sent, "output_tokens": got, "total_tokens": sent + got}
    if reasoning:
        usage["reasoning_tokens"] = sum(reasoning)
    if None not in costs:
        usage["total_cost"] = sum(costs)
    return usage


# Chats
TOOL, CALLED, RESULT = "tool", "calls", "result"
"""The message roles of a tool description, of a reply with calls, and of the result of a call."""


@dataclass(frozen=True)
class ChatCall:
    """A call in a chat, with the id that its result refers to."""

    id: str
    call: ToolCall

    @property
    def arguments(self) -> dict[str, Any]:
        """Its arguments; empty if the model wrote no JSON object."""
        return dict(self.call.arguments) if self.call.readable else {}

    @property
    def fault(self) -> str | None:
        """The fault of its arguments; None if they are valid."""
        return None if self.call.readable else f"the arguments are no JSON object: {self.call.arguments}"


@dataclass(frozen=True)
class ChatMessage:
    """A message of a chat. `answers` is the call whose result it is."""

    role: str
    content: str
    calls: tuple[ChatCall, ...] = ()
    answers: ChatCall | None = None


@dataclass(frozen=True)
class Chat:
    """The messages sent to a model, and its reply; `tools` are the descriptions of the available tools."""

    messages: tuple[ChatMessage, ...]
    tools: tuple[Mapping[str, Any], ...]
    reply: ChatMessage | None


def chat_of(reply: Mapping[str, Any]) -> Chat:
    """Return the chat of a row of samples with `messages` and `reply`.

    >>> sent = [{"role": "user", "content": "Cold?"}, {"role": "tool", "content": '{"name": "ping"}'}]
    >>> said = '{"text": "", "calls": [{"name": "ping", "arguments": {}}]}'
    >>> chat = chat_of({"messages": json.dumps(sent), "reply": said})
    >>> chat.reply.calls[0].id, chat.reply.calls[0].call.name, [each.role for each in chat.messages]
    ('call00001', 'ping', ['user'])
    """
    sent = json.loads(reply["messages"])
    tools = tuple(json.loads(message["content"]) for message in sent if message["role"] == TOOL)
    messages: list[ChatMessage] = []
    waiting: list[ChatCall] = []
    made = 0
    for message in sent:
        if message["role"] == TOOL:
            continue
        if message["role"] == CALLED:
            text, calls = _parse_calls(message["content"], made)
            made, waiting = made + len(calls), list(calls)
            messages.append(ChatMessage("assistant", text, calls))
        elif message["role"] == RESULT and waiting:
            messages.append(ChatMessage(TOOL, message["content"], answers=waiting.pop(0)))
        else:
            messages.append(ChatMessage(message["role"], message["content"]))
    if reply["reply"] is None:
        return Chat(tuple(messages), tools, None)
    text, calls = _parse_calls(reply["reply"], made) if tools else (reply["reply"], ())
    return Chat(tuple(messages), tools, ChatMessage("assistant", text, calls))


def _parse_calls(content: str, before: int) -> tuple[str, tuple[ChatCall, ...]]:
    text, calls = split_text_and_calls(content)
    return text, tuple(ChatCall(f"call{number:05d}", call) for number, call in enumerate(calls, before + 1))


def as_openai(messages: Sequence[ChatMessage]) -> list[dict[str, Any]]:
    """Return messages in OpenAI's chat format. Arguments that are no JSON object are passed as the model wrote them."""
    listed: list[dict[str, Any]] = []
    for message in messages:
        entry: dict[str, Any] = {"role": message.role, "content": message.content}
        if message.calls:
            entry["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.call.name, "arguments": _written(call)}}
                for call in message.calls
            ]
        if message.answers is not None:
            entry["tool_call_id"] = message.answers.id
        listed.append(entry)
    return listed


def _written(made: ChatCall) -> str:
    if not made.call.readable and isinstance(made.call.arguments, str):
        return made.call.arguments
    return json.dumps(made.call.arguments, ensure_ascii=False)


# Figures
@dataclass(frozen=True)
class ExportedFigure(Estimate):
    """The estimate of one model: a value of a measure, or the mean of one score. `n` is the number of scores."""

    _: KW_ONLY
    name: str
    source: str
    """The measure, or the scorer."""
    items: int
    without_value: int
    """The number of expected scores without a value."""
    lower_is_better: bool = False
    metric: str | None = None
    """The metric of a mean; `None` for a measure."""
    scenario: str | None = None
    evaluator: str | None = None
    arms: Mapping[str, str] = field(default_factory=dict)
    by: Mapping[str, str] = field(default_factory=dict)
    """The dimensions of a measure, with their values."""

    @property
    def is_measure(self) -> bool:
        """True for a value of a measure."""
        return self.metric is None

    @property
    def arms_label(self) -> str:
        """The arms at the end of the name."""
        return arms_label(self.arms)

    def details(self) -> dict[str, Any]:
        """Return the facts for which other tools have no field, as JSON values."""
        named = {
            "kind": "measure" if self.is_measure else "mean of scores",
            **self.to_json("low", "high"),
            "confidence": None if self.low is None else CONFIDENCE,
            **self.to_json("n", "items", "without_value", "method", "reason"),
            "scenario": self.scenario,
            "metric": self.metric,
            "evaluator": self.evaluator,
            "lower_is_better": self.lower_is_better or None,
            **{f"arm {name}": value for name, value in self.arms.items()},
            **self.by,
        }
        return {name: value for name, value in named.items() if value is not None}


def arms_label(arms: Mapping[str, str]) -> str:
    """Return the arms for the name of a figure.

    >>> arms_label({"hint": "none"}), arms_label({})
    (' [hint: none]', '')
    """
    return f" {arms_text(arms)}" if arms else ""


@dataclass
class _Gathered:
    first: UnitScore
    unit: RunUnit
    name: str
    clusters: list[str] = field(default_factory=list)
    values: list[float] = field(default_factory=list)
    without: int = 0


class ScoreMeans:
    """The means of the scores of a model, accumulated unit by unit."""

    def __init__(
        self, run: RunRecord, model: str, steps: Mapping[str, Mapping[str, Sequence[str]]], prefix: bool
    ) -> None:
        """`steps` are the scored steps of each scenario; with `prefix` names begin with the scenario."""
        self._run, self._model = run, model
        self._steps = steps
        self._prefix = prefix
        self._gathered: dict[str, _Gathered] = {}

    def add(self, unit: RunUnit) -> None:
        """Add the scores of a unit, without those that do not apply to the item."""
        steps = self._steps[unit.scenario]
        for score in unit.scores:
            if score.status == "not_applicable":
                continue
            name = figure_name(score, steps.get(score.metric, ()), unit.scenario if self._prefix else None)
            name += arms_label(unit.arms)
            gathered = self._gathered.setdefault(name, _Gathered(score, unit, name))
            if score.value is None:
                gathered.without += 1
            else:
                gathered.clusters.append(unit.cluster_id)
                gathered.values.append(score.value)

    def figures(self, plan: Plan) -> Iterator[ExportedFigure]:
        """Yield the means, in the order of their first scores."""
        lower = lower_scores(plan)
        for gathered in self._gathered.values():
            low, high, _ = scale(plan, gathered.unit.scenario, gathered.first.metric)
            ends = None if low is None or high is None else (low, high)
            mean = mean_of_cells(gathered.values, gathered.clusters, ends=ends, paired=False)
            estimate = mean_of_run(self._run, self._model, mean)
            yield ExportedFigure(
                name=gathered.name,
                source=gathered.first.scorer,
                **estimate.to_json("value", "standard_error", "low", "high", "reason"),
                n=len(gathered.values),
                items=len(set(gathered.clusters)),
                without_value=gathered.without,
                lower_is_better=(gathered.unit.scenario, gathered.first.metric) in lower,
                metric=gathered.first.metric,
                scenario=gathered.unit.scenario,
                evaluator=gathered.first.evaluator,
                arms=gathered.unit.arms,
            )


def measure_figures(connection: Connection, plan: Plan, run: RunRecord, model: str) -> list[ExportedFigure]:
    """Return every value of every measure of a model, as in the run's report."""
    figures = []
    for measure in plan.measures:
        for row in with_sequential_intervals(run, evaluate(connection, plan, measure)).rows:
            if row.model != model:
                continue
            by = {name: str(value) for name, value in zip(measure.by, row.by, strict=True) if value is not None}
            cell = ", ".join(f"{name}: {value}" for name, value in by.items())
            figure = ExportedFigure(
                name=measure.name + (f" [{cell}]" if cell else ""),
                source=measure.name,
                **row.to_json("value", "standard_error", "low", "high", "n", "items", "method", "reason"),
                without_value=max(row.total - row.n, 0),
                lower_is_better=is_lower_better(plan, measure),
                by=by,
            )
            figures.append(figure)
    return figures
