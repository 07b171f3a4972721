"""Replies for training data: complete replies of the compared models, with their prompts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import orjson

from tripos_compiler.plan import Ask, Ending, Grade, Plan, Score, ending_of
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.views.benchmark_views import axis_columns
from tripos_warehouse.views.dimensions import LANGUAGE, arm_columns, dimension_place, last_turns
from tripos_warehouse.views.runs import RunRecord

Message = Mapping[str, str]
ReplyFilter = Callable[[Mapping[str, str | None]], bool]
"""A filter of replies by place: `scenario`, `language` and the axes by name."""
FormCheck = Callable[[str, Mapping[str, str | None], str], str | None]
"""Says of a reply to a step, at a place, why it has another form than its prompt asks for; None if it has that form."""


NON_TEXT_ROLES = {"option": "likelihoods", "tool": "calls of tools"}
"""Message roles whose reply is not a text by the model, with what it is instead."""


@dataclass(frozen=True)
class ReplyQuery:
    """The selection of training data: replies of the `models` to the steps `rows`, chosen `by` a measure or a score.

    `name` is that of the `export` in the spec, if there is one. `keep` is its filter, and `filter_text` the filter in
    words. Items of the subsets `hold_out` and of the runs `apart_from` are left out, with their near duplicates. So are
    replies in another form than their prompt asks for, which the check that `form_check` returns for a plan finds."""

    kind: Literal["best", "pairs"]
    by: str
    rows: tuple[str, ...]
    models: tuple[str, ...]
    per: tuple[str, ...] = ()
    every: bool = False
    """True to take all replies of a model that is best in any cell, not only those in its cells."""
    margin: float = 0.0
    format: Literal["chat", "completion"] = "chat"
    name: str | None = None
    keep: ReplyFilter = lambda place: True
    form_check: Callable[[Plan], FormCheck] = lambda plan: lambda step, place, text: None
    filter_text: tuple[str, ...] = ()
    hold_out: tuple[str, ...] = ()
    apart_from: tuple[str, ...] = ()


@dataclass(frozen=True)
class ExportedReply:
    """A reply with the sent `prompt`, and its `place`: `scenario`, `language`, axes and arms."""

    sample_id: str
    item_id: str
    model: str
    number: int
    prompt: tuple[Message, ...]
    text: str
    place: Mapping[str, str | None]

    @property
    def scenario(self) -> str:
        """The scenario of the reply."""
        return self.place["scenario"] or ""


@dataclass(frozen=True)
class Misfit:
    """A reply that is left out because it has another form than its prompt asks for, with the reason."""

    sample_id: str
    scenario: str
    item_id: str
    model: str
    reason: str


@dataclass(frozen=True)
class Replies:
    """Usable replies in a stable order, and the numbers of others by reason."""

    replies: tuple[ExportedReply, ...]
    left_out: Mapping[str, int]
    misfits: tuple[Misfit, ...] = ()


def place_columns(plan: Plan) -> list[str]:
    """Return the columns of a benchmark's samples with the place of a reply."""
    return ["scenario", LANGUAGE, *axis_columns(plan), *arm_columns(plan)]


def asked_steps(plan: Plan, role: str) -> tuple[str, ...]:
    """Return the asks of `role` whose replies are scored; all of its asks if none is."""
    asks = {step.name: step for scenario in plan.scenarios for step in scenario.steps if isinstance(step, Ask)}
    own = {
        step.name
        for scenario in plan.scenarios
        for step in scenario.steps
        if isinstance(step, Ask) and step.role == role
    }
    scored = {step.of for scenario in plan.scenarios for step in scenario.steps if isinstance(step, Score | Grade)}
    chosen = [name for name in asks if name in own & scored] or [name for name in asks if name in own]
    return tuple(dict.fromkeys(asks[name].script or name for name in chosen))


def steps_of(plan: Plan, rows: Sequence[str]) -> set[str]:
    """Return the asks with these names; the name of an ask with several prompts includes all of its turns."""
    asks = (step for scenario in plan.scenarios for step in scenario.steps if isinstance(step, Ask))
    return {step.name for step in asks if step.name in rows or (step.script and step.script in rows)}


def asked_of_elements(plan: Plan) -> list[str]:
    """Return the asks about single list elements, which do not continue each other."""
    asks = (step for scenario in plan.scenarios for step in scenario.steps if isinstance(step, Ask))
    return list(dict.fromkeys(step.name for step in asks if step.element is not None))


def read_replies(connection: Connection, plan: Plan, run: RunRecord, wanted: ReplyQuery) -> Replies:
    """Return the replies that `wanted` selects, by scenario and item, and within an item by model and sample number.

    A reply that several arms share is repeated for each. For an ask with several prompts it is the last reply, whose
    prompt contains the earlier ones; for one about single list elements, all replies. Raises `StoreError` S0602 if the
    run has no such step or model.
    """
    _check(plan, run, wanted)
    columns = place_columns(plan)
    query = f"""select sample_id, item_id, model, sample_number, step, status, finish_reason, messages, reply,
      {", ".join(map(sql.name, columns))}
    from {last_turns(plan, [*wanted.rows, *asked_of_elements(plan)])}
    where role = {sql.text(run.compared_role)}
      and step in ({", ".join(map(sql.text, sorted(steps_of(plan, wanted.rows))))})
      and model in ({", ".join(map(sql.text, wanted.models))})
    order by all"""
    replies: list[ExportedReply] = []
    misfits: list[Misfit] = []
    left_out: Counter[str] = Counter()
    form_error = wanted.form_check(plan)
    cursor = connection.execute(query)
    while rows := cursor.fetchmany(2000):
        for sample, item, model, number, step, status, finish, messages, text, *place in rows:
            where = dict(zip(columns, place, strict=True))
            if not wanted.keep(where):
                left_out["filtered"] += 1
            elif status != "ok":
                left_out[status] += 1
            elif ending_of(finish) is Ending.LENGTH:  # even if it was readable, it is a bad example
                left_out["truncated"] += 1
            elif not text or not text.strip():
                left_out["empty"] += 1
            elif (prompt := _prompt(messages)) is None:
                left_out["no prompt"] += 1
            elif texts := {message["role"] for message in prompt} & NON_TEXT_ROLES.keys():
                left_out[NON_TEXT_ROLES[texts.pop()]] += 1
            elif (reason := form_error(step, where, text)) is not None:
                left_out["another form"] += 1
                misfits.append(Misfit(sample, where["scenario"] or "", item, model, reason))
            else:
                replies.append(ExportedReply(sample, item, model, number, prompt, text, where))
    in_order = sorted(replies, key=_order(plan, columns, wanted.models))
    return Replies(tuple(in_order), dict(sorted(left_out.items())), tuple(misfits))


def _check(plan: Plan, run: RunRecord, wanted: ReplyQuery) -> None:
    asks = {
        name
        for scenario in plan.scenarios
        for step in scenario.steps
        if isinstance(step, Ask) and step.role == run.compared_role
        for name in (step.name, step.script)
        if name
    }
    if lacking := [name for name in wanted.rows if name not in asks]:
        some = ", ".join(f"`{name}`" for name in sorted(asks))
        raise StoreError("S0602", f"no `{lacking[0]}` is asked of `{run.compared_role}`", f"there is {some}")
    if strangers := [name for name in wanted.models if name not in run.models]:
        some = ", ".join(f"`{name}`" for name in run.models)
        raise StoreError("S0602", f"`{strangers[0]}` is not compared in run `{run.run_id}`", f"there is {some}")


def _order(plan: Plan, columns: Sequence[str], models: Sequence[str]) -> Callable[[ExportedReply], Any]:
    places = [dimension_place(plan, name) for name in columns]

    def key(reply: ExportedReply) -> Any:
        where = [place(reply.place[name]) for place, name in zip(places, columns, strict=True)]
        return where[0], reply.item_id, where, models.index(reply.model), reply.number, reply.sample_id

    return key


def _prompt(messages: str) -> tuple[Message, ...] | None:
    try:
        sent = orjson.loads(messages)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(sent, list) or not sent:
        return None
    if not all(isinstance(message, dict) and isinstance(message.get("content"), str) for message in sent):
        return None
    return tuple({"role": str(message.get("role", "user")), "content": message["content"]} for message in sent)


def plain(messages: Sequence[Message]) -> str:
    """Return messages as one text with empty lines between them: the prompt of a completion.

    >>> plain([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "1 + 1?"}])
    'Be brief.\\n\\n1 + 1?'
    """
    return "\n\n".join(message["content"] for message in messages)
