"""The recorded calls of a run, and a temporary file for looking up replies, so that replay needs little memory."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from tripos_compiler.language.rendering import count_left_out, dialogue_from_side
from tripos_compiler.library.types import Turn
from tripos_compiler.replies.text import ReplyText
from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse.ledger.replies import VECTORS
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.store.index import FAILED
from tripos_warehouse.store.parts import Row
from tripos_warehouse.store.schemas import REQUEST
from tripos_warehouse.views.runs import RunRecord

if TYPE_CHECKING:
    import sqlite3

# Turns of conversations
_TURNS = """select turn.* exclude (created_at), epoch_us(turn.created_at) as made_at, talk.messages
  from main.turns as turn join main.samples as talk on talk.sample_id = turn.conversation_id
  where turn.benchmark = $benchmark and turn.status <> $failed
    and (turn.fingerprint, turn.binding) in (
      select (fingerprint, binding) from main.run_steps where run_id = $run)
  order by turn.conversation_id, turn.number"""
TOO_LONG = "R0107 the dialogue passes the context of the model"
"""The error of a turn that was sent again with fewer messages."""


def settings_key(fingerprint: str, role: str) -> str:
    """Return the lookup key for the settings of a turn: each side of a conversation has its own."""
    return f"{fingerprint} {role}"


def conversations(connection: Connection, benchmark: str) -> frozenset[str]:
    """Return the fingerprints of samples that are conversations, which were not requested as a whole."""
    query = "select distinct fingerprint from main.turns where benchmark = ?"
    return frozenset(fingerprint for (fingerprint,) in connection.execute(query, [benchmark]).fetchall())


def sent_turns(connection: Connection, wanted: Mapping[str, Any], batch: int) -> Iterator[tuple[Row, str, bool]]:
    """Yield every turn with its request as JSON, and whether that was answered. A request that had to be repeated with
    fewer turns was not.
    """
    reader = connection.cursor().sql(_TURNS, params=dict(wanted)).to_arrow_reader(batch)
    rows = (row for some in reader for row in some.to_pylist())
    for _, of_one in itertools.groupby(rows, key=lambda row: row["conversation_id"]):
        turns: list[Turn] = []
        left_out: dict[str, int] = {}
        for row in of_one:
            role = row["role"]
            begin = [load for load in orjson.loads(row["messages"]) if load["name"] == role]
            less: int | None = left_out.get(role, 0)
            while less is not None and less < row["left_out"]:
                yield row, _sent(begin, role, turns, less), False
                less = count_left_out(len(turns), less)
            left_out[role] = row["left_out"]
            yield row, _sent(begin, role, turns, row["left_out"]), True
            turns.append({"speaker": role, "text": ReplyText.parse(row["text"] or "").answer})


def _sent(begin: list[dict[str, str]], role: str, turns: list[Turn], left_out: int) -> str:
    """Return the messages of a turn as JSON; `begin` are those before the dialogue."""
    messages = [(message["role"], message["content"]) for message in begin] + dialogue_from_side(
        role, turns, None, left_out
    )
    return orjson.dumps([{"role": who, "content": text} for who, text in messages]).decode()


# Calls
BATCH = 1024
"""Rows in memory at once."""

_OF_REPLY = "reply, finish_reason, model_served, tokens_in, tokens_out, tokens_reasoning, logprobs, thinking"
_OF_CALL = f"identity, {REQUEST}, epoch_us(created_at), fingerprint, messages, status, error, {_OF_REPLY}"
_ANSWERED = """where benchmark = $benchmark and status not in ($failed, 'undefined', 'not_applicable')
  and (fingerprint, binding) in (select (fingerprint, binding) from main.run_steps where run_id = $run)"""
_SAMPLES = f"""select sample_id, scenario, item_id, model, sample_number, {_OF_CALL}
  from main.samples {_ANSWERED}"""
_JUDGEMENTS = f"""select judgement_id, sample_id, scenario, item_id, evaluator, coalesce(repeat, 0), {_OF_CALL}
  from main.judgements {_ANSWERED} and round is null"""

_VECTORS = """select model, text, epoch_us(created_at), status, error, vector, finish_reason, model_served, tokens_in,
  tokens_out, tokens_reasoning from main.vectors where status <> $failed
  and list_contains($answering, coalesce(identity, model))"""


@dataclass(frozen=True)
class RecordedUsage:
    """The tokens of a reply; `None` is unknown."""

    tokens_in: int | None
    tokens_out: int | None
    tokens_reasoning: int | None

    def without(self, other: RecordedUsage) -> RecordedUsage:
        """Return the difference of both, at least 0.

        >>> RecordedUsage(10, 6, None).without(RecordedUsage(4, 5, None))
        RecordedUsage(tokens_in=6, tokens_out=1, tokens_reasoning=None)
        """
        return RecordedUsage(
            _less(self.tokens_in, other.tokens_in),
            _less(self.tokens_out, other.tokens_out),
            _less(self.tokens_reasoning, other.tokens_reasoning),
        )


@dataclass(frozen=True)
class RecordedReply:
    """A reply in the store."""

    text: str
    finish_reason: str | None
    model_served: str | None
    usage: RecordedUsage
    logprobs: str | None = None
    thinking: str | None = None


@dataclass(frozen=True)
class RecordedCall:
    """A model call that was answered or refused. A refused call has no `reply`, and its `error` begins with the code.

    `messages` is JSON; `number` is the sample number. With a `draft` the first reply was unreadable: `reply` is the
    better of the two, and its usage is that of both.
    """

    model: str
    fingerprint: str
    number: int
    messages: str
    made_at: int
    """In microseconds."""
    status: str
    error: str | None
    reply: RecordedReply | None
    draft: RecordedReply | None
    identity: str | None = None
    """The identity of the model, if its name is not enough."""
    request: str | None = None
    """The digest of the request."""


def recorded_calls(connection: Connection, run: RunRecord) -> Iterator[RecordedCall]:
    """Yield every answered call of a run, whichever run made it first, in no particular order. Failed calls are
    omitted.

    `connection` is that of `views.connect.connect`.
    """
    [[fingerprints]] = connection.execute(
        "select fingerprints from main.runs where run_id = ?", [run.run_id]
    ).fetchall()
    wanted = {
        "benchmark": run.benchmark,
        "failed": FAILED,
        "run": run.run_id,
    }
    # Calls are matched in a SQLite file, not joined by DuckDB: a join may hold all messages in memory.
    aside = open_file()
    try:
        aside.execute("create table item (scenario, item_id, primary key (scenario, item_id)) without rowid")
        aside.execute("create table sample (sample_id primary key) without rowid")
        aside.execute("create table draft (unit_id primary key, body)")
        rows = _rows(
            connection, "select scenario, item_id from main.run_items where run_id = $run", {"run": run.run_id}
        )
        aside.executemany("insert into item values (?, ?)", rows)
        query = f"select unit_id, {_OF_REPLY} from main.drafts where list_contains($fingerprints, fingerprint)"
        drafts = _rows(connection, query, {"fingerprints": fingerprints})
        aside.executemany("insert into draft values (?, ?)", ((unit, orjson.dumps(texts)) for unit, *texts in drafts))
        talks = conversations(connection, run.benchmark)
        for unit, scenario, item, *call in _rows(connection, _SAMPLES, wanted):
            if _has(aside, "item where scenario = ? and item_id = ?", scenario, item):
                aside.execute("insert into sample values (?)", (unit,))
                if call[5] not in talks:
                    yield _call(aside, unit, *call)
        for row, sent, answered in sent_turns(connection, wanted, BATCH):
            if _has(aside, "item where scenario = ? and item_id = ?", row["scenario"], row["item_id"]):
                yield _turn(row, sent, answered)
        for unit, sample, scenario, item, *call in _rows(connection, _JUDGEMENTS, wanted):
            of_item = sample is None and _has(aside, "item where scenario = ? and item_id = ?", scenario, item)
            if of_item or (sample is not None and _has(aside, "sample where sample_id = ?", sample)):
                yield _call(aside, unit, *call)
        of_models = {"failed": FAILED, "answering": sorted(run.answering)}
        for model, text, *call in _rows(connection, _VECTORS, of_models):
            yield _vector(model, text, *call)
    finally:
        aside.close()


def open_file() -> sqlite3.Connection:
    """Return an empty SQLite database in a temporary file, which is deleted with it. It need not survive a crash."""
    import sqlite3

    database = sqlite3.connect("", isolation_level=None)
    for pragma in ("journal_mode = off", "synchronous = off", "cache_size = -16384"):
        database.execute(f"pragma {pragma}")
    database.execute("begin")  # never committed: it is deleted with the file
    return database


def _rows(connection: Connection, query: str, params: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    reader = connection.cursor().sql(query, params=dict(params)).to_arrow_reader(BATCH)
    for batch in reader:  # a cursor's `fetchmany` would hold all rows
        yield from zip(*(column.to_pylist() for column in batch.columns), strict=True)


def _has(database: sqlite3.Connection, rest: str, *values: str) -> bool:
    return database.execute(f"select 1 from {rest}", values).fetchone() is not None


def _call(
    aside: sqlite3.Connection,
    unit: str,
    model: str,
    number: int,
    identity: str | None,
    request: str | None,
    made_at: int,
    fingerprint: str,
    messages: str,
    status: str,
    error: str | None,
    *texts: Any,
) -> RecordedCall:
    row = aside.execute("select body from draft where unit_id = ?", (unit,)).fetchone()
    draft = None if row is None else _reply(*orjson.loads(row[0]))
    reply = _reply(*texts)
    return RecordedCall(model, fingerprint, number, messages, made_at, status, error, reply, draft, identity, request)


def _vector(model: str, text: str, made_at: int, status: str, error: str | None, *texts: Any) -> RecordedCall:
    sent = orjson.dumps([{"role": "user", "content": text}]).decode()
    return RecordedCall(model, VECTORS, 0, sent, made_at, status, error, _reply(*texts), None)


def _turn(row: Row, sent: str, answered: bool) -> RecordedCall:
    texts = (row["finish_reason"], row["model_served"], row["tokens_in"], row["tokens_out"], row["tokens_reasoning"])
    return RecordedCall(
        model=row["model"],
        fingerprint=settings_key(row["fingerprint"], row["role"]),
        number=row["conversation_number"],
        messages=sent,
        made_at=row["made_at"],
        status=row["status"],
        error=row["error"] if answered else TOO_LONG,
        reply=_reply(row["text"], *texts, thinking=row["thinking"]) if answered else None,
        draft=None,
        identity=row["identity"],
        request=row[REQUEST],
    )


def _reply(
    text: str | None,
    finish_reason: str | None,
    model_served: str | None,
    tokens_in: int | None,
    tokens_out: int | None,
    tokens_reasoning: int | None,
    logprobs: str | None = None,
    thinking: str | None = None,
) -> RecordedReply | None:
    if text is None:
        return None
    usage = RecordedUsage(tokens_in, tokens_out, tokens_reasoning)
    return RecordedReply(text, finish_reason, model_served, usage, logprobs, thinking)


def _less(whole: int | None, part: int | None) -> int | None:
    return None if whole is None or part is None else max(0, whole - part)


# Replies by key
class Recorded(NamedTuple):
    """A recorded reply: its key, its time, and its content in the caller's encoding."""

    key: bytes
    made_at: int
    body: bytes


class RecordingFile:
    """Recorded replies by key, in a temporary file that is deleted when it is closed.

    A key may have several replies, if two rows sent the same request. They are returned in turn, in the order of their
    times, and from the first again after the last.

    >>> file = RecordingFile([Recorded(b"k", 2, b"second"), Recorded(b"k", 1, b"first"), Recorded(b"l", 3, b"only")])
    >>> file.find(b"k"), file.find(b"k"), file.find(b"k"), file.find(b"l"), file.find(b"l"), file.find(b"m")
    (b'first', b'second', b'first', b'only', b'only', None)
    >>> file.close()
    """

    def __init__(self, recorded: Iterable[Recorded]) -> None:
        self._database = open_file()
        self._database.execute("create table reply (key blob, made_at integer, body blob)")
        self._database.executemany("insert into reply values (?, ?, ?)", recorded)
        self._database.execute(
            "create table place (key blob, turn integer, of integer, at integer, primary key (key, turn)) without rowid"
        )
        self._database.execute(
            """insert into place
            select key, row_number() over (partition by key order by made_at, rowid) - 1,
              count(*) over (partition by key), rowid from reply order by key"""
        )
        self._turns: dict[bytes, int] = {}

    def find(self, key: bytes) -> bytes | None:
        """Return the next reply of a key; `None` if there is none."""
        turn = self._turns.get(key, 0)
        query = "select body, of from place join reply on reply.rowid = at where place.key = ? and turn = ?"
        row = self._database.execute(query, (key, turn)).fetchone()
        if row is None:
            return None
        body, of = row
        if of > 1:
            self._turns[key] = (turn + 1) % of
        return bytes(body)

    def __len__(self) -> int:
        """Return the number of replies."""
        [count] = self._database.execute("select count(*) from reply").fetchone()
        return int(count)

    def close(self) -> None:
        """Delete the file."""
        self._database.close()
