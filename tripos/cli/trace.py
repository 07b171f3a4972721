"""`tripos why` and `tripos show`: the provenance of a result, and dialogues and replies, as text or JSON.

Texts of models are escaped and folded, so that a result cannot control the terminal or imitate the output.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson
from rich.cells import cell_len, chop_cells

from tripos.cli.context import Context, Outcome
from tripos.runs.provenance import MOST_NAMED, Finder, Row, Trace, TracedReply, find_trace, key_by_prefix
from tripos.settings.options import JSON, ShowParameters
from tripos.terminal import escape_controls, table_width, terminal_width
from tripos_compiler.diagnostics.i18n import localized, titles_language
from tripos_compiler.diagnostics.text_format import duration, usd
from tripos_compiler.errors import TriposError
from tripos_compiler.plan import Ask, split_text_and_calls
from tripos_runtime.asking.ledger import sample_id, score_id
from tripos_runtime.models.base import CALLED, TOOL
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.query.results import run_query
from tripos_warehouse.tables.text import UNBOUNDED, fold, render_table, wrapped
from tripos_warehouse.views.connect import connect
from tripos_warehouse.views.run_rows import element_rows


# The provenance of a result
def main(context: Context) -> Outcome:
    """Return the inputs and the uses of a sample, a judgement or a score."""
    with connect(context.store()) as connection:
        trace = find_trace(connection, context.options.key)
    return Outcome(lambda: trace_json(trace), trace_lines(trace, terminal_width(), full=context.options.full))


MOST_LINES = 8
"""The maximum number of lines of a text without `--full`."""
LABEL = 12


def trace_lines(trace: Trace, width: int, *, full: bool) -> list[str]:
    """Return the lines on the provenance of a result, wrapped to `width` columns."""
    view = _TraceText(width, None if full else MOST_LINES)
    return list(view.lines(trace))


def trace_json(trace: Trace) -> dict[str, Any]:
    """Return the provenance of a result for JSON, with unshortened texts."""
    return {
        "table": trace.table,
        "id": trace.key,
        "item": _item(trace.item),
        "score": trace.score,
        "comparison": trace.comparison,
        "metric": None if trace.metric is None else trace.metric.model_dump(mode="json"),
        "rubric": trace.rubric,
        "made_from": None if trace.reply is None else _reply(trace.reply),
        "sample": None if trace.sample is None else _reply(trace.sample),
        "further_replies": [_reply(other_reply) for other_reply in trace.other_replies],
    }


def _reply(reply: TracedReply) -> dict[str, Any]:
    row = {name: value for name, value in reply.row.items() if name not in ("messages", "parsed")}
    return {
        "table": reply.table,
        **row,
        "parsed": _parsed(reply.row["parsed"]),
        "settings": reply.settings,
        "messages": list(reply.messages),
        "first_try": reply.draft,
        "builds_on": [_reply(traced_reply) for traced_reply in reply.builds_on],
        "judgements": list(reply.judgements),
        "scores": list(reply.scores),
    }


def _item(item: Row | None) -> dict[str, Any] | None:
    return None if item is None else {**item, "fields": _parsed(item["fields"])}


def _parsed(text: str | None) -> Any:
    try:
        return None if text is None else orjson.loads(text)
    except orjson.JSONDecodeError:
        return text


class _TraceText:
    """The text of a provenance, at a width."""

    def __init__(self, width: int, most: int | None) -> None:
        self.width, self.most = width, most

    def lines(self, trace: Trace) -> Iterator[str]:
        yield from self.line(trace.table.removesuffix("s"), trace.key)
        if trace.comparison is not None:
            yield from self.compared(trace.comparison)
        if trace.score is not None:
            yield from self.score(trace)
        yield from self.item(trace.item, trace.given_id)
        replies = [
            traced_reply
            for traced_reply in (trace.reply, trace.sample, *trace.other_replies)
            if traced_reply is not None
        ]
        for reply in replies:
            yield ""
            yield from self.reply(reply)
        if not replies:
            yield from self.line("made from", "no reply: a condition ruled it out, or what it needs was not there")

    def score(self, trace: Trace) -> Iterator[str]:
        score, metric = trace.score or {}, trace.metric
        for element_row in element_rows(score):
            value = _value(element_row)
            why = f": {element_row['error']}" if element_row["error"] else ""
            by = f" by {element_row['evaluator']}" if element_row["evaluator"] and not score["evaluator"] else ""
            yield from self.line("value", f"{value} ({element_row['status']}{why}){by}")
            if element_row["element_place"] is not None:
                yield from self.text(f"element {element_row['element_place']}", element_row["element_value"], most=2)
        if score.get("element_value") is not None:
            yield from self.text(f"element {score['element_place']}", score["element_value"], most=2)
        plan = trace.plan
        text = None if plan is None or metric is None else plan.text_in(metric.title, titles_language())
        title = "" if text is None else f" ({text})"
        by = f" by {score['evaluator']}" if score["evaluator"] else ""
        yield from self.line("metric", f"{score['metric']}{title}, scorer {score['scorer']}{by}")
        yield from self.line("of", f"{score['model']}, in {score['scenario']} of {score['benchmark']}")
        yield from self.line("made", f"{_when(score)} by run {score['run_id']}, fingerprint {score['fingerprint']}")
        if trace.rubric is not None:
            yield from self.text("rubric", trace.rubric)

    def compared(self, row: Row) -> Iterator[str]:
        value = {None: "none", 1.0: "the first is better", 0.0: "the second is better"}.get(row["value"], "neither")
        value += f", {_name(row)}" if _name(row) else ""
        why = f": {row['error']}" if row["error"] else ""
        yield from self.line("value", f"{value} ({row['status']}{why})")
        yield from self.line("first", f"{row['first_model']}, sample {row['first_sample_id']}")
        yield from self.line("second", f"{row['second_model']}, sample {row['second_sample_id']}")
        yield from self.line("of", f"{row['step']} in {row['scenario']} of {row['benchmark']}")
        yield from self.line("judge", f"scorer {row['scorer']} by {row['evaluator']}")
        yield from self.line("made", f"{_when(row)} by run {row['run_id']}, fingerprint {row['fingerprint']}")

    def item(self, item: Row | None, given_id: str | None) -> Iterator[str]:
        if item is None:
            yield from self.line("item", "not in the store")
            return
        named = item["item_id"] if given_id is None else f"{given_id} ({item['item_id']})"
        yield from self.line("item", f"{named} of {item['dataset'] or 'the axes'}")
        context = ", ".join(f"{axis} {value}" for axis, value in dict(item["context"]).items())
        if context:
            yield from self.line("context", context)
        fields = _parsed(item["fields"])
        if isinstance(fields, Mapping):
            for name, value in fields.items():
                text = value if isinstance(value, str) else orjson.dumps(value).decode()
                yield from self.text(f"  {name}", text, most=2)

    def reply(self, reply: TracedReply, indent: str = "") -> Iterator[str]:
        row = reply.row
        asked = row.get("model") or row.get("evaluator")
        key = row.get("judgement_id") or row["sample_id"]
        if reply.table == "samples":
            yield from self.line("asked", f"{row['step']} by {row['role']}: {asked}", indent)
        else:
            yield from self.line("judged", f"scorer {row['scorer']}: {asked}", indent)
        yield from self.line("id", f"{key}, fingerprint {row['fingerprint']}", indent)
        if row.get("round") is not None:
            yield from self.line("imported", f"round {row['round']}, from {row['source']}", indent)
            yield from self.text("given", str(row["parsed"]), indent)
            yield from self.line("made", _when(row), indent)
            return
        if row["model_served"] not in (None, asked):
            yield from self.line("served", row["model_served"], indent)
        if reply.table == "samples":
            what = "conversation" if is_conversation(row) else "sample"
            yield from self.line(what, f"{row['sample_number']}, counted from 0", indent)
        yield from self.line("settings", _settings(reply.settings), indent)
        for message in reply.messages:
            yield from self.text(str(message["role"]), format_message(message), indent)
        if reply.draft is not None:
            yield from self.text("first try", str(reply.draft["reply"]), indent)
            yield from self.line("", f"asked for again: {reply.draft['error']}", indent)
        label = "said" if is_conversation(row) else "reply"
        told = format_reply(str(row["reply"]), reply.messages)
        yield from self.text(label, localized("none") if row["reply"] is None else told, indent)
        if row["parsed"] is not None and not is_conversation(row):
            yield from self.text("read as", str(row["parsed"]), indent)
        problem = f": {row['error']}" if row["error"] else ""
        ended = f", ended by {row['finish_reason']}" if row["finish_reason"] else ""
        yield from self.line("status", f"{row['status']}{ended}{problem}", indent)
        yield from self.line("took", _took(row), indent)
        if row.get("adopted_from"):
            yield from self.line("adopted", f"from {row['adopted_from']}, which was sent the same", indent)
        if row.get("reused_from"):
            place, _, commit = row["reused_from"].rpartition(" ")
            yield from self.line("reused", f"from the store {place}, commit {commit}", indent)
        yield from self.line("made", f"{_when(row)} by run {row['run_id']}", indent)
        for before in reply.builds_on:
            yield from self.line("builds on", str(before.row["step"]), indent)
            yield from self.reply(before, f"{indent}  ")
        for judgement in reply.judgements:
            text = (
                f"{judgement['judgement_id']}: {judgement['scorer']} by {judgement['evaluator']}, {judgement['status']}"
            )
            yield from self.line("judgement", text, indent)
        for score in (element_row for row in reply.scores for element_row in element_rows(row)):
            value = _value(score)
            by = f" by {score['evaluator']}" if score["evaluator"] else ""
            yield from self.line(
                "score", f"{score['metric']} {value} ({score['status']}){by}, {score['score_id']}", indent
            )

    def line(self, label: str, text: str, indent: str = "") -> Iterator[str]:
        yield from self.text(label, localized(text), indent, most=None)

    def text(self, label: str, text: str, indent: str = "", most: int | None = 0) -> Iterator[str]:
        """Yield a label and a folded text, cut to `most` lines; by default to the limit of the view."""
        most = self.most if most == 0 else most if self.most is not None else None
        label = escape_controls(localized(label)).replace("\n", " ")
        room = max(self.width - len(indent) - LABEL, 8)
        folded: list[str] = []
        for line in escape_controls(text).expandtabs(4).split("\n"):
            folded += fold(line, room)
            if most is not None and len(folded) > most:
                break
        if most is not None and len(folded) > most:
            rest = len(text) - sum(map(len, folded[:most]))
            told = localized(
                f"… {rest:,} more {'character' if rest == 1 else 'characters'}; {ShowParameters.full} shows all"
            )
            folded = [*folded[:most], *fold(told, room)]
        if cell_len(label) >= LABEL:
            yield from (f"{indent}{piece}" for piece in chop_cells(label, self.width - len(indent)))
            label = ""
        pad = " " * (LABEL - cell_len(label))
        yield f"{indent}{label}{pad}{folded[0]}".rstrip()
        for more in folded[1:]:
            yield f"{indent}{' ' * LABEL}{more}".rstrip()


def is_conversation(row: Row) -> bool:
    """Return true if a row of `samples` is a whole conversation."""
    told = _parsed(row["parsed"]) if row.get("sample_id") else None
    return isinstance(told, dict) and told.keys() == {"ended", "ended_by", "models", "turns"}


def _settings(settings: Row | None) -> str:
    if settings is None:
        return "unknown: the plan of the run cannot be read"
    texts = [f"{name} {value}" for name, value in settings.items()]
    return ", ".join(texts) or "the model's own"


def _took(row: Row) -> str:
    parts = [f"{row['tokens_in']:,} tokens in" if row["tokens_in"] is not None else "tokens in unknown"]
    parts.append(f"{row['tokens_out']:,} out" if row["tokens_out"] is not None else "out unknown")
    parts.append(f"{usd(row['cost_usd'])} USD" if row["cost_usd"] is not None else "cost unknown")
    if row.get("batch_id"):
        parts.append(f"in batch {row['batch_id']}")
    parts.append(f"{row['attempts']} {'attempt' if row['attempts'] == 1 else 'attempts'}")
    if row["latency_s"] is not None:
        parts.append(duration(row["latency_s"]))
    return localized(", ").join(map(localized, parts))


def _when(row: Row) -> str:
    return f"{row['created_at']:%Y-%m-%d %H:%M:%S} UTC"


def _value(score: Row) -> str:
    """Return a score as shown: a number, or the name that a judge chose with its number."""
    number = "" if score["value"] is None else f"{score['value']:g}"
    name = _name(score)
    return f"{name}, {number}" if name and number else name or number or "none"


def _name(row: Row) -> str:
    """Return the name that a judge chose, or an empty text."""
    given = row.get("given")
    found = orjson.loads(given) if isinstance(given, str) else None
    return found if isinstance(found, str) else ""


HINT = "ids stand in the columns sample_id, conversation_id and turn_id of the views: `tripos sql`"


# Dialogues and replies
@dataclass(frozen=True)
class Turn:
    """A turn or message: its speaker and text, and its number if it is a turn of a conversation."""

    speaker: str
    text: str
    number: int | None = None
    note: str = ""


@dataclass(frozen=True)
class FollowUp:
    """A later reply to a conversation, with its scores."""

    row: Row
    scores: tuple[Row, ...]


@dataclass(frozen=True)
class Transcript:
    """A conversation or reply. `instructions` are the instructions to the models, `dialogue` is the dialogue, `ended`
    says in words how it ended."""

    table: str
    key: str
    row: Row
    models: Mapping[str, str]
    instructions: tuple[Turn, ...]
    dialogue: tuple[Turn, ...]
    ended: str
    scores: tuple[Row, ...] = ()
    follow_ups: tuple[FollowUp, ...] = field(default=())


def find_transcript(connection: Connection, text: str) -> Transcript:
    """Return the conversation or reply with the id `text`, or with the only id that begins with it; for a turn, its
    conversation.

    Raises `StoreError` S0302 if there is none, S0303 if there are several.
    """
    finder = Finder(connection)
    key = _key_of(finder, text)
    rows = finder.rows("samples", "sample_id", [key])
    if not rows:
        return _unfinished(finder, key)
    [row] = rows
    return _conversation(finder, row) if is_conversation(row) else _reply_transcript(finder, row)


def _key_of(finder: Finder, text: str) -> str:
    query = f"""select distinct key from (
      select sample_id as key from main.samples where starts_with(sample_id, $wanted)
      union all select conversation_id from main.turns where starts_with(conversation_id, $wanted)
      union all select conversation_id from main.turns where starts_with(turn_id, $wanted))
    order by 1 limit {MOST_NAMED + 1}"""

    def find(prefix: str) -> Iterator[tuple[str, str]]:
        for (key,) in finder.connection.execute(query, {"wanted": prefix}).fetchall():
            yield "", key

    message = f"no conversation or reply `{escape_controls(text)}` in the store"
    return key_by_prefix(text, find, StoreError("S0302", message, HINT))[1]


def _conversation(finder: Finder, row: Row) -> Transcript:
    about = orjson.loads(row["parsed"])
    instructions = tuple(Turn(f"{load['name']} is shown", load["content"]) for load in orjson.loads(row["messages"]))
    dialogue = _turns(finder, row["sample_id"])
    by, count = about["ended_by"], len(about["turns"])
    turns = f"{count} {'turn' if count == 1 else 'turns'}"
    match about["ended"]:
        case "said":
            ended = f"after {turns}: {by} said what ends it"
        case "limit":
            ended = f"after {turns}, at the limit"
        case why:
            ended = f"after {turns}: {by} gave no reply, {why}: {row['error']}"
    after = _follow_ups(finder, row)
    scores = _scores(finder, row, after)
    sittings = tuple(FollowUp(each, tuple(scores.get(each["sample_id"], ()))) for each in after)
    own = tuple(scores.get(row["sample_id"], ()))
    return Transcript(
        "conversations", row["sample_id"], row, about["models"], instructions, dialogue, ended, own, sittings
    )


def _unfinished(finder: Finder, key: str) -> Transcript:
    """Return a conversation that no run has finished."""
    rows = finder.query("select * from main.turns where conversation_id = ? order by number", [key])
    models = {row["role"]: row["model"] for row in rows}
    ended = f"not over: a run was stopped after turn {rows[-1]['number']}; the next one goes on"
    return Transcript("conversations", key, rows[0], models, (), _turns(finder, key), ended)


def _turns(finder: Finder, key: str) -> tuple[Turn, ...]:
    rows = finder.query("select * from main.turns where conversation_id = ? order by number", [key])
    return tuple(Turn(row["role"], row["text"] or "", row["number"], _note(row)) for row in rows)


def _note(row: Row) -> str:
    notes = [] if row["status"] == "ok" else [row["status"]]
    if row["left_out"]:
        notes.append(f"{row['left_out']} earlier turns not shown to it")
    return ", ".join(notes)


def _follow_ups(finder: Finder, talk: Row) -> list[Row]:
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
    """Return true if a reply was produced from this conversation, compared by the hash in its id."""
    if len(ask.needs) > 1:
        return any(reply.row.get("sample_id") == talk for reply in finder.sample(row).builds_on)
    upon = [talk, *finder.made_by(row["run_id"], ask)]
    name = sample_id(row["fingerprint"], row["item_id"], row["identity"] or row["model"], row["sample_number"], upon)
    return bool(name == row["sample_id"])


def _scores(finder: Finder, talk: Row, after: Sequence[Row]) -> dict[str, list[Row]]:
    """Return the scores of a conversation and of the replies after it, by the id of the reply that they are shown with.

    A score of a later reply may be stored under the conversation, if the compared model spoke only there. The id of the
    score then tells which reply it was computed from.
    """
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
    by_reply: dict[str, list[Row]] = {}
    for row in rows:
        by_reply.setdefault(by_name.get(row["score_id"]) or row["sample_id"], []).append(row)
    return {key: _current_first(finder, talk["benchmark"], mine) for key, mine in by_reply.items()}


def _current_first(finder: Finder, benchmark: str, scores: Sequence[Row]) -> list[Row]:
    """Return scores with a field `outdated`, current scores first.

    A score is outdated if the benchmark shows its reply but not the score, for example because the rubric has changed.
    Scores of replies that the benchmark does not show are all treated as current.
    """
    samples = sorted({row["sample_id"] for row in scores})
    shown = {row["sample_id"] for row in current_rows(finder.connection, benchmark, "samples", samples)}
    views = ("scores", "columns") if shown else ()
    current = {row["score_id"] for view in views for row in current_rows(finder.connection, benchmark, view, samples)}
    elements = [element_row for row in scores for element_row in element_rows(row)]
    rows = [{**row, "outdated": row["sample_id"] in shown and row["score_id"] not in current} for row in elements]
    return sorted(rows, key=lambda row: bool(row["outdated"]))


def current_rows(connection: Connection, benchmark: str, view: str, samples: Sequence[str]) -> list[Row]:
    """Return the rows of some replies that a benchmark shows in a view, each once rather than once for every arm.
    Return none if the plan of the benchmark cannot be read, which was already reported."""
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


def _reply_transcript(finder: Finder, row: Row) -> Transcript:
    reply: TracedReply = finder.sample(row)
    names = {"assistant": row["role"], "user": "user", "system": f"{row['role']} is shown"}
    names |= {TOOL: "tool", CALLED: row["role"]}
    lines = [
        Turn(names.get(str(message["role"]), str(message["role"])), format_message(message))
        for message in reply.messages
    ]
    instructions = tuple(line for line in lines if line.speaker in (names["system"], names[TOOL]))
    dialogue = [line for line in lines if line not in instructions]
    dialogue.append(Turn(row["role"], format_reply(row["reply"] or "", reply.messages)))
    problem = f": {row['error']}" if row["error"] else ""
    talk = next((traced_reply.row for traced_reply in reply.builds_on if is_conversation(traced_reply.row)), row)
    scores = _scores(finder, talk, [row]).get(row["sample_id"], [])
    models = {row["role"]: row["model"]}
    return Transcript(
        "samples",
        row["sample_id"],
        row,
        models,
        instructions,
        tuple(dialogue),
        f"{row['status']}{problem}",
        tuple(scores),
    )


def transcript_json(shown: Transcript) -> dict[str, Any]:
    """Return a transcript for JSON."""
    row = shown.row
    return {
        "table": shown.table,
        "id": shown.key,
        **{name: row[name] for name in ("benchmark", "scenario", "step", "item_id", "status", "run_id")},
        "models": dict(shown.models),
        "told": [{"speaker": instruction.speaker, "text": instruction.text} for instruction in shown.instructions],
        "said": [
            {"speaker": turn.speaker, "text": turn.text, "number": turn.number, "note": turn.note}
            for turn in shown.dialogue
        ],
        "ended": shown.ended,
        "scores": [_score(score) for score in shown.scores],
        "sittings": [
            {
                **{
                    name: follow_up.row[name]
                    for name in ("sample_id", "step", "model", "sample_number", "status", "reply")
                },
                "scores": [_score(score) for score in follow_up.scores],
            }
            for follow_up in shown.follow_ups
        ],
    }


def _score(row: Row) -> dict[str, Any]:
    names = ("metric", "element_place", "value", "status", "evaluator", "score_id", "outdated")
    return {name: row[name] for name in names}


SHOWN = 20
"""The number of replies that are listed."""
EXCERPT_CHARACTERS = 60
"""The maximum number of characters of a reply in a list on a terminal."""
LAST = "select * from main.samples order by created_at desc, sample_id limit {shown}"
LISTED = """
    select left(sample_id, 12) as key, scenario, model, status,
      coalesce(map_from_entries({counts})[sample_id], 0) as scores, {reply} as reply
    from ({last}) order by created_at desc, sample_id"""
WORDS = "trim(regexp_replace(reply, '\\s+', ' ', 'g'))"


# The last replies
def listing(connection: Connection, width: int) -> str:
    """Return the last replies of a store, newest first, in lines of `width` columns, with a line on how to find more.
    Replies are whole if the width is unbounded."""
    reply = WORDS if width >= UNBOUNDED else f"left({WORDS}, {EXCERPT_CHARACTERS})"
    last = LAST.format(shown=SHOWN)
    rows = run_query(connection, LISTED.format(counts=_counts(connection, last), reply=reply, last=last))
    [count] = run_query(connection, "select count(*) as n from samples")["n"].to_pylist()
    text = "all" if rows.num_rows == count else f"the last {rows.num_rows}"
    told = f"{text} of {count} replies, with the number of their current scores; `tripos show KEY` prints one"
    table, _, _ = render_table(rows, width).rpartition("\n\n")  # without the line that counts the rows
    others = localized("others: ") + "tripos sql \"select sample_id from samples where status <> 'ok'\""
    return f"{table}\n\n{wrapped(localized(told), width)}\n{others}"


def _counts(connection: Connection, last: str) -> str:
    """Return the numbers of current scores with a value of the last replies, as an SQL list."""
    replies = connection.execute(
        f"select benchmark, list(sample_id) from ({last}) group by all order by all"
    ).fetchall()
    counts = Counter(
        row["sample_id"]
        for benchmark, samples in replies
        for row in current_rows(connection, benchmark, "scores", samples)
        if row["value"] is not None
    )
    pairs = ", ".join(f"row({sql.text(sample)}, {count})" for sample, count in counts.items())
    return f"[{pairs}]::struct(k varchar, v bigint)[]"


INDENT = "  "
MOST_FOLLOW_UPS = 12
"""The maximum number of later replies that are listed without `--full`."""
NARROWEST = 20


# The text of a dialogue or reply
def show_main(context: Context) -> Outcome:
    """Return a conversation, or a reply with its messages; without a key, the last replies."""
    options = context.options
    if options.key is None and options.json:
        raise TriposError("R0202", f"`{JSON}` prints one reply, and none is named", f"write `tripos show KEY {JSON}`")
    with connect(context.store()) as connection:
        if options.key is None:
            return Outcome(lines=[listing(connection, max(table_width(), NARROWEST))])
        transcript = find_transcript(connection, options.key)
    width = max(terminal_width(), NARROWEST)
    return Outcome(lambda: transcript_json(transcript), transcript_lines(transcript, width, full=options.full))


def transcript_lines(shown: Transcript, width: int, *, full: bool = False) -> list[str]:
    """Return the lines of a transcript, wrapped to `width` columns."""
    return [line for part in _parts(shown, width, full) for line in part]


def _parts(shown: Transcript, width: int, full: bool) -> Iterator[list[str]]:
    row = shown.row
    kind = "conversation" if shown.table == "conversations" else "reply"
    yield _text(localized(f"{kind} {shown.key}"), width)
    where = f"{row['step']} in {row['scenario']} of {row['benchmark']}, item {row['item_id']}"
    yield _text(localized(where), width)
    for role, model in shown.models.items():
        yield _text(f"{role}: {model}", width)
    for line in (*shown.instructions, *shown.dialogue):
        yield ["", *_turn_lines(line, width)]
    label = localized("ended" if kind == "conversation" else "status") + localized(": ")
    yield ["", *_text(f"{label}{localized(shown.ended)}", width)]
    if shown.scores:
        yield _text(f"{localized('scores')}{localized(': ')}{_scores_text(shown.scores)}", width)
    if shown.follow_ups:
        count = len(shown.follow_ups)
        yield ["", localized(f"followed by {count} {'reply' if count == 1 else 'replies'}")]
    ups = shown.follow_ups if full else shown.follow_ups[:MOST_FOLLOW_UPS]
    for up in ups:
        row = up.row
        about = localized(f"{row['step']} {row['sample_number']} by {row['model']}, {row['status']}")
        text = _scores_text(up.scores) or localized("no scores")
        yield _text(f"{about}{localized(': ')}{text}", width, INDENT)
        yield _text(_short(row["reply"] or "", width), width, 2 * INDENT)
    if len(ups) < len(shown.follow_ups):
        yield _text(
            localized(f"… {len(shown.follow_ups) - len(ups):,} more; {ShowParameters.full} shows all"), width, INDENT
        )


def _turn_lines(line: Turn, width: int) -> list[str]:
    number = "" if line.number is None else f"{line.number} "
    note = f" ({localized(line.note)})" if line.note else ""
    return [*_text(f"{number}{localized(line.speaker)}{note}", width), *_text(line.text, width, INDENT)]


def _scores_text(scores: Sequence[Row]) -> str:
    texts = []
    for score in scores:
        by = f" by {score['evaluator']}" if score["evaluator"] else ""
        value = f"{score['value']:g}" if score["value"] is not None else score["given"] or score["status"]
        outdated = localized(" (outdated)") if score["outdated"] else ""
        name = score["metric"] if score["element_place"] is None else f"{score['metric']}[{score['element_place']}]"
        texts.append(localized(f"{name} {value}{by}") + outdated)
    return ", ".join(texts)


def _short(text: str, width: int) -> str:
    """Return the beginning of a text on one line."""
    words = " ".join(escape_controls(text).split())
    room = width - 2 * len(INDENT)
    lines = fold(words, room)
    return lines[0] if len(lines) == 1 else f"{fold(words, room - 2)[0]} …"


def _text(text: str, width: int, indent: str = "") -> list[str]:
    room = max(width - len(indent), NARROWEST // 2)
    lines = [each for line in escape_controls(text).expandtabs(4).split("\n") for each in fold(line, room)]
    return [f"{indent}{line}".rstrip() for line in lines]


# Messages and replies with tool calls, as people read them


def format_message(message: Row) -> str:
    """Return a message as people read it: one line for each tool call, and the parameters of a tool that is offered."""
    role, content = message.get("role"), str(message["content"])
    if role == CALLED:
        return _with_calls(content)
    if role != TOOL:
        return content
    try:
        tool = orjson.loads(content)
        parameters = tool["parameters"]
        needed = parameters.get("required", ())
        names = [name if name in needed else f"{name}?" for name in parameters["properties"]]
        return f"{tool['name']}({', '.join(names)}): {tool['description']}"
    except (orjson.JSONDecodeError, LookupError, TypeError, AttributeError):
        return content


def format_reply(reply: str, messages: Sequence[Row]) -> str:
    """Return a reply as people read it: for a step with tools, its text and one line for each call."""
    return _with_calls(reply) if any(message.get("role") == TOOL for message in messages) else reply


def _with_calls(content: str) -> str:
    text, calls = split_text_and_calls(content)
    lines = [text] if text or not calls else []
    for call in calls:
        if call.readable:
            arguments = ", ".join(
                f"{name}: {json.dumps(value, ensure_ascii=False)}" for name, value in call.arguments.items()
            )
            lines.append(f"→ {call.name}({arguments})")
        else:
            lines.append(f"→ {call.name or '?'}, {json.dumps(call.arguments, ensure_ascii=False)}")
    return "\n".join(lines)
