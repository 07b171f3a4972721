"""Finds one dialogue or reply of a store, with what followed it and how that was scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from tripos.cli.reports.provenance import MOST_NAMED, SHORTEST, Finder, Row, TracedReply
from tripos.cli.reports.why import is_conversation
from tripos.ui import harmless, shown_message, shown_reply
from tripos_compiler.plan import Ask
from tripos_runtime.asking import sample_id, score_id
from tripos_runtime.models import CALLED, TOOL
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query import Connection
from tripos_warehouse.views import element_rows

HINT = "ids stand in the columns sample_id, conversation_id and turn_id of the views: `tripos sql`"


@dataclass(frozen=True)
class Utterance:
    """Something that was said: by whom, and under what number where it is a turn of a conversation."""

    speaker: str
    text: str
    number: int | None = None
    note: str = ""


@dataclass(frozen=True)
class Sitting:
    """A reply with its scores."""

    row: Row
    scores: tuple[Row, ...]


@dataclass(frozen=True)
class Transcript:
    """One conversation or reply. `told` is what was said to the models before, `said` the dialogue; `ended` says in
    words how it came to an end."""

    table: str
    key: str
    row: Row
    models: Mapping[str, str]
    told: tuple[Utterance, ...]
    said: tuple[Utterance, ...]
    ended: str
    scores: tuple[Row, ...] = ()
    sittings: tuple[Sitting, ...] = field(default=())


def find(connection: Connection, text: str) -> Transcript:
    """Return the conversation or reply whose name is `text`, or alone begins with it; of a turn its conversation.

    Raises `StoreError`: S0302 where there is none, S0303 where there are several.
    """
    finder = Finder(connection)
    key = _key_of(finder, text)
    rows = finder.rows("samples", "sample_id", [key])
    if not rows:
        return _unfinished(finder, key)
    [row] = rows
    return _conversation(finder, row) if is_conversation(row) else _reply(finder, row)


def _key_of(finder: Finder, text: str) -> str:
    wanted = text.strip().casefold()
    if len(wanted) < SHORTEST:
        hint = f"write {SHORTEST} characters of the id or more"
        raise StoreError("S0302", f"`{harmless(text)}` is too short to look for", hint)
    query = f"""select distinct key from (
      select sample_id as key from main.samples where starts_with(sample_id, $wanted)
      union all select conversation_id from main.turns where starts_with(conversation_id, $wanted)
      union all select conversation_id from main.turns where starts_with(turn_id, $wanted))
    order by 1 limit {MOST_NAMED + 1}"""
    found = [key for (key,) in finder.connection.execute(query, {"wanted": wanted}).fetchall()]
    if wanted in found or len(found) == 1:
        return wanted if wanted in found else str(found[0])
    if not found:
        raise StoreError("S0302", f"no conversation or reply `{harmless(text)}` in the store", HINT)
    some = ", ".join(f"`{key}`" for key in found[:MOST_NAMED]) + (", …" if len(found) > MOST_NAMED else "")
    raise StoreError("S0303", f"`{harmless(text)}` could be several: {some}", "write more of the id")


def _conversation(finder: Finder, row: Row) -> Transcript:
    about = orjson.loads(row["parsed"])
    told = tuple(Utterance(f"{each['name']} is told", each["content"]) for each in orjson.loads(row["messages"]))
    said = _turns(finder, row["sample_id"])
    by, count = about["ended_by"], len(about["turns"])
    turns = f"{count} {'turn' if count == 1 else 'turns'}"
    match about["ended"]:
        case "said":
            ended = f"after {turns}: {by} said what ends it"
        case "limit":
            ended = f"after {turns}, at the limit"
        case why:
            ended = f"after {turns}: {by} gave no reply, {why}: {row['error']}"
    after = _after(finder, row)
    scores = _scores(finder, row, after)
    sittings = tuple(Sitting(each, tuple(scores.get(each["sample_id"], ()))) for each in after)
    own = tuple(scores.get(row["sample_id"], ()))
    return Transcript("conversations", row["sample_id"], row, about["models"], told, said, ended, own, sittings)


def _unfinished(finder: Finder, key: str) -> Transcript:
    """Return a conversation that no run came to the end of."""
    rows = finder.query("select * from main.turns where conversation_id = ? order by number", [key])
    models = {row["role"]: row["model"] for row in rows}
    ended = f"not over: a run was stopped after turn {rows[-1]['number']}; the next one goes on"
    return Transcript("conversations", key, rows[0], models, (), _turns(finder, key), ended)


def _turns(finder: Finder, key: str) -> tuple[Utterance, ...]:
    rows = finder.query("select * from main.turns where conversation_id = ? order by number", [key])
    return tuple(Utterance(row["role"], row["text"] or "", row["number"], _note(row)) for row in rows)


def _note(row: Row) -> str:
    notes = [] if row["status"] == "ok" else [row["status"]]
    if row["left_out"]:
        notes.append(f"{row['left_out']} earlier turns not shown to it")
    return ", ".join(notes)


def _after(finder: Finder, talk: Row) -> list[Row]:
    """Return the replies that continue or use a conversation."""
    plan = finder.plan(talk["run_id"])
    asks: dict[str, Ask] = {}
    for scenario in plan.scenarios if plan is not None else ():
        for treatment in scenario.treatments:
            if any(step.fingerprint == talk["fingerprint"] for step in treatment.steps):
                mine = (step for step in treatment.steps if isinstance(step, Ask) and talk["step"] in step.needs)
                asks |= {step.fingerprint: step for step in mine}
    query = """select * from main.samples where scenario = ? and item_id = ? and list_contains(?, fingerprint)
      order by step, model, sample_number"""
    rows = finder.query(query, [talk["scenario"], talk["item_id"], list(asks)]) if asks else []
    return [row for row in rows if _builds_on(finder, row, asks[row["fingerprint"]], talk["sample_id"])]


def _builds_on(finder: Finder, row: Row, ask: Ask, talk: str) -> bool:
    if len(ask.needs) > 1:
        return any(each.row.get("sample_id") == talk for each in finder.sample(row).builds_on)
    upon = [talk, *finder.made_by(row["run_id"], ask)]
    name = sample_id(row["fingerprint"], row["item_id"], row["identity"] or row["model"], row["sample_number"], upon)
    return bool(name == row["sample_id"])


def _scores(finder: Finder, talk: Row, after: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the scores of a conversation and of the replies after it, by the reply that they are told with. What is
    scored of a reply may stand under the conversation, where the compared model spoke in that alone: the name of the
    score then says which reply it was made from."""
    by_name: dict[str, str] = {}
    rows = finder.rows("scores", "sample_id", [talk["sample_id"], *(row["sample_id"] for row in after)])
    steps = {row["fingerprint"]: finder.step(row["run_id"], row["fingerprint"]) for row in rows}
    kinds = {(row["fingerprint"], row["metric"], row["evaluator"]) for row in rows}
    by = finder.identities(talk["run_id"])
    for reply in after:
        ids = {talk["step"]: talk["sample_id"], reply["step"]: reply["sample_id"]}
        for fingerprint, metric, evaluator in kinds:
            step = steps[fingerprint]
            if step is not None and reply["step"] in step.needs and ids.keys() >= set(step.needs):
                names = [*(ids[need] for need in step.needs), *finder.made_by(talk["run_id"], step)]
                by_name[score_id(fingerprint, names, metric, by.get(evaluator, evaluator))] = reply["sample_id"]
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(by_name.get(row["score_id"]) or row["sample_id"], []).append(row)
    return {key: _current_first(finder, talk["benchmark"], mine) for key, mine in found.items()}


def _current_first(finder: Finder, benchmark: str, scores: Sequence[Row]) -> list[Row]:
    """Return scores with `outdated`, the current ones first. Outdated is a score that the benchmark does not show
    although it shows the reply, such as one of an earlier rubric; of a reply that it does not show, none is told apart.
    """
    samples = sorted({row["sample_id"] for row in scores})
    shown = {row["sample_id"] for row in current_rows(finder.connection, benchmark, "samples", samples)}
    views = ("scores", "columns") if shown else ()
    current = {row["score_id"] for view in views for row in current_rows(finder.connection, benchmark, view, samples)}
    told = [each for row in scores for each in element_rows(row)]
    rows = [{**row, "outdated": row["sample_id"] in shown and row["score_id"] not in current} for row in told]
    return sorted(rows, key=lambda row: bool(row["outdated"]))


def current_rows(connection: Connection, benchmark: str, view: str, samples: Sequence[str]) -> list[Row]:
    """Return the rows of some replies that a benchmark shows in a view, each once and not once for every arm. A
    benchmark whose plan cannot be read, which was told, shows none."""
    import duckdb

    key = "sample_id" if view == "samples" else "score_id"
    columns = "sample_id" if view == "samples" else "sample_id, score_id, value"
    query = f"""select distinct on ({key}) {columns} from {sql.name(benchmark)}.{view}
      where list_contains(?, sample_id)"""
    try:
        found = connection.execute(query, [list(samples)])
    except duckdb.CatalogException:
        return []
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def _reply(finder: Finder, row: Row) -> Transcript:
    reply: TracedReply = finder.sample(row)
    names = {"assistant": row["role"], "user": "user", "system": f"{row['role']} is told"}
    names |= {TOOL: "tool", CALLED: row["role"]}
    lines = [Utterance(names.get(str(each["role"]), str(each["role"])), shown_message(each)) for each in reply.messages]
    told = tuple(line for line in lines if line.speaker in (names["system"], names[TOOL]))
    said = [line for line in lines if line not in told]
    said.append(Utterance(row["role"], shown_reply(row["reply"] or "", reply.messages)))
    problem = f": {row['error']}" if row["error"] else ""
    talk = next((each.row for each in reply.builds_on if is_conversation(each.row)), row)
    scores = _scores(finder, talk, [row]).get(row["sample_id"], [])
    models = {row["role"]: row["model"]}
    return Transcript(
        "samples", row["sample_id"], row, models, told, tuple(said), f"{row['status']}{problem}", tuple(scores)
    )


def to_data(shown: Transcript) -> dict[str, Any]:
    """Return what is shown as JSON values."""
    row = shown.row
    return {
        "table": shown.table,
        "id": shown.key,
        **{name: row[name] for name in ("benchmark", "scenario", "step", "item_id", "status", "run_id")},
        "models": dict(shown.models),
        "told": [{"speaker": each.speaker, "text": each.text} for each in shown.told],
        "said": [
            {"speaker": each.speaker, "text": each.text, "number": each.number, "note": each.note}
            for each in shown.said
        ],
        "ended": shown.ended,
        "scores": [_score(each) for each in shown.scores],
        "sittings": [
            {
                **{name: each.row[name] for name in ("sample_id", "step", "model", "sample_number", "status", "reply")},
                "scores": [_score(score) for score in each.scores],
            }
            for each in shown.sittings
        ],
    }


def _score(row: Row) -> dict[str, Any]:
    names = ("metric", "element_place", "value", "status", "evaluator", "score_id", "outdated")
    return {name: row[name] for name in names}
