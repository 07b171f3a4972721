"""`mock/replies:FILE`: a model that replies what a table says, for tests of a benchmark and for first runs.

A row of the table is a reply and the requests that it is for. Each column but `reply`, `calls` and `finish_reason`
names a fact about a request; an empty cell says nothing about it. Of the rows that fit a request, the one with the most
facts replies. A row without facts replies to every request that no other row fits.

| column | the fact |
| --- | --- |
| `item` | the item's id, or the value of its data set's `key` |
| `item.NAME` | the value of a field of the item, or of an axis |
| `scenario`, `role` | their names |
| `ask` | the name of the ask or the conversation |
| `scorer` | the name of the scorer that judges |
| `sample` | the number of the sample or of the judge's repetition, from 0 |
| `turn` | the number of the turn of a conversation, from 1 |
| `element` | the position of the element that a judge is asked about, from 0 |
| `prompt` | the last message, white space at its ends apart |
| `prompt_sha256` | the SHA-256 of the last message, in hexadecimal digits |
| `contains` | a part of the last message |

A request to correct an unreadable reply gets the reply to the message that came before it."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from functools import cache, cached_property
from itertools import product
from pathlib import Path
from typing import Any

from tripos_compiler.errors import TriposError
from tripos_compiler.language.rows import row_number
from tripos_compiler.plan import ToolCall, write_calls
from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.base import FREE, Model, ModelError, Reply, Request, RequestOrigin
from tripos_runtime.models.kinds import REPLIES
from tripos_runtime.models.mocks import word_tokens

REPLY, CALLS, FINISH = "reply", "calls", "finish_reason"
PART = "contains"
ITEM = "item."
"""The beginning of a column about a field of the item."""
FACTS = (
    "item", "scenario", "role", "ask", "scorer", "sample", "turn", "element", "prompt", "prompt_sha256", PART,
)  # fmt: skip
NUMBERS = ("sample", "turn")
SHOWN = 16
"""The number of digits of a file's digest in the identity of a model."""
LISTED_ROWS, LISTED_ERRORS = 10, 3
"""The largest numbers of rows and of errors that the notes of a run list."""


def file_of(name: str) -> Path:
    """Return the file of a model `mock/replies:FILE`, relative to the working directory.

    >>> file_of("mock/replies:replies.csv").name
    'replies.csv'
    """
    return Path(os.path.expanduser(name.removeprefix(REPLIES.prefix)))  # noqa: PTH111 - it leaves an unknown ~NAME


def table_identity(path: Path) -> str:
    """Return the identity of the model that replies from a file: the digest of its content."""
    with path.open("rb") as file:
        return f"mock/replies @ sha256:{hashlib.file_digest(file, 'sha256').hexdigest()[:SHOWN]}"


@dataclass(frozen=True)
class TableReply:
    """A row of the table: the number of the row in messages, the facts that it gives about requests, and the reply."""

    number: int
    facts: Mapping[str, str]
    text: str
    calls: tuple[ToolCall, ...] | None = None
    finish_reason: str = "stop"


def read_replies(rows: Iterable[Mapping[str, Any]], shown: str) -> list[TableReply]:
    """Return the replies of a table. `shown` is the name of the file in messages. Raises `TriposError` R0114 for a row
    that cannot be one, for two rows about the same requests, and for a table without rows.

    >>> read_replies([{"ask": "reply", "reply": "42"}], "r.jsonl")[0].facts
    {'ask': 'reply'}
    >>> read_replies([{"aks": "reply", "reply": "42"}], "r.jsonl")
    Traceback (most recent call last):
    tripos_compiler.errors.TriposError: R0114: row 1 of r.jsonl: there is no column `aks`
      help: did you mean `ask`?
    """
    replies: list[TableReply] = []
    earlier: dict[tuple[tuple[str, str], ...], int] = {}
    for count, row in enumerate(rows, 1):
        number = row_number(row, count)
        reply = _read_row(number, row, f"row {number} of {shown}")
        same = tuple(sorted(reply.facts.items()))
        if same in earlier:
            message = f"row {number} of {shown} is for the same requests as row {earlier[same]}"
            raise TriposError("R0114", message, "remove one, or add a column that tells them apart, such as `sample`")
        earlier[same] = number
        replies.append(reply)
    if not replies:
        raise TriposError("R0114", f"{shown} has no row", "write a row for each reply, with a column `reply`")
    return replies


def _read_row(number: int, row: Mapping[str, Any], where: str) -> TableReply:
    facts: dict[str, str] = {}
    for column, value in row.items():
        if column in (REPLY, CALLS, FINISH):
            continue
        if column not in FACTS and not (column.startswith(ITEM) and len(column) > len(ITEM)):
            close = difflib.get_close_matches(column, (*FACTS, REPLY, CALLS, FINISH), n=1)
            listed = ", ".join(f"`{name}`" for name in (REPLY, *FACTS, f"{ITEM}NAME", CALLS, FINISH))
            hint = f"did you mean `{close[0]}`?" if close else f"the columns are {listed}"
            raise TriposError("R0114", f"{where}: there is no column `{column}`", hint)
        text = fact_text(value)
        if text is None:
            continue
        if column in NUMBERS and not text.isdecimal():
            raise TriposError("R0114", f"{where}: `{column}` is `{text}`", "write a whole number, such as 0")
        if column == "prompt_sha256" and not re.fullmatch(r"[0-9a-fA-F]{64}", text):
            raise TriposError("R0114", f"{where}: `{column}` is no SHA-256", "write its 64 hexadecimal digits")
        facts[column] = str(int(text)) if column in NUMBERS else text.lower() if column == "prompt_sha256" else text
    reply, calls = row.get(REPLY), row.get(CALLS)
    if reply is None and fact_text(calls) is None:
        raise TriposError("R0114", f"{where} has no `reply`", 'write it; a model that says nothing replies ""')
    text = reply if isinstance(reply, str) else "" if reply is None else json.dumps(reply, ensure_ascii=False)
    reason = fact_text(row.get(FINISH)) or "stop"
    return TableReply(number, facts, text, None if fact_text(calls) is None else _calls(calls, where), reason)


def _calls(value: Any, where: str) -> tuple[ToolCall, ...]:
    """Return the calls of functions that a cell has, as JSON or as JSON text."""
    try:
        read = json.loads(value) if isinstance(value, str) else value
        return tuple(ToolCall(str(call["name"]), call.get("arguments", {})) for call in read)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        hint = "write a JSON list of objects, each with the `name` and the `arguments` of a call"
        raise TriposError("R0114", f"{where}: `{CALLS}` is no list of calls", hint) from error


def fact_text(value: Any) -> str | None:
    """Return a value as facts are compared: a text as it is, any other as JSON; None for an empty cell.

    >>> fact_text("q1"), fact_text(3), fact_text(3.0), fact_text(True), fact_text(None), fact_text("")
    ('q1', '3', '3', 'true', None, None)
    """
    if value is None or value == "":
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


@dataclass
class ReplyTableModel(Model):
    """A model that replies what a table says. `shown` is the name of its file in messages, `identity` the identity of
    the content from which `replies` were read."""

    name: str
    replies: Sequence[TableReply]
    shown: str
    identity: str
    used: set[int] = field(default_factory=set)
    """The numbers of the rows that replied."""
    errors: dict[str, None] = field(default_factory=dict)
    """The distinct messages of the requests without a reply."""
    structured = True
    price = FREE

    async def ask(self, request: Request) -> Reply:
        """Return the reply of the row that fits best. Raises `ModelError` R0114 if no row fits, or several do equally
        well."""
        try:
            row = self._find(request)
            text = self._text(row, request)
        except ModelError as error:
            self.errors[error.message] = None
            raise
        self.used.add(row.number)
        tokens_in = sum(word_tokens(message.content) for message in request.messages)
        return Reply(text, self.name, row.finish_reason, tokens_in, word_tokens(text), 0.0)

    def _text(self, row: TableReply, request: Request) -> str:
        """Return the reply of a row, with its calls if the request offers tools."""
        if request.tools:
            return write_calls(row.text, list(row.calls or ()))
        if row.calls is not None:
            message = f"row {row.number} of {self.shown} calls functions, and {_place_of(request.origin)} offers none"
            raise ModelError("R0114", message, "take `calls` out of the row")
        return row.text

    def _find(self, request: Request) -> TableReply:
        for text in _readings(request):
            fitting = list(self._fitting(request.origin, text))
            if not fitting:
                continue
            most = max(len(row.facts) for row in fitting)
            best = [row for row in fitting if len(row.facts) == most]
            if len(best) > 1:
                rows = " and ".join(map(str, sorted(row.number for row in best)[:2]))
                message = f"rows {rows} of {self.shown} fit {_place_of(request.origin)} equally well"
                raise ModelError("R0114", message, "give one of them a further column, such as `scenario`")
            return best[0]
        hint = "add a row for it, or one with nothing but `reply`, which replies to whatever has no other"
        raise ModelError("R0114", f"no row of {self.shown} is for {_place_of(request.origin)}", hint)

    def _fitting(self, origin: RequestOrigin | None, message: str) -> Iterable[TableReply]:
        """Yield the rows whose facts all hold of a request from `origin` with this message."""
        values = cache(lambda column: _fact_values(column, origin, message))
        for columns, rows_by_values in self._index.items():
            for key in set(product(*map(values, columns))):
                yield from (row for row in rows_by_values.get(key, ()) if row.facts.get(PART, "") in message)

    @cached_property
    def _index(self) -> Mapping[tuple[str, ...], Mapping[tuple[str, ...], Sequence[TableReply]]]:
        """The rows by the columns of their exact facts, which are all but `contains`, and by the values of these."""
        index: dict[tuple[str, ...], dict[tuple[str, ...], list[TableReply]]] = {}
        for row in self.replies:
            exact = {name: _as_compared(name, value) for name, value in sorted(row.facts.items()) if name != PART}
            index.setdefault(tuple(exact), {}).setdefault(tuple(exact.values()), []).append(row)
        return index

    def end_notes(self, *, partial: bool) -> list[str]:
        """Return the first errors of requests without a row, and a note on the rows that replied to nothing,
        unless the model was asked for a part of the replies only."""
        errors = list(self.errors)
        notes = errors[:LISTED_ERRORS]
        notes += [f"{len(errors) - LISTED_ERRORS:,} more like it"] if len(errors) > LISTED_ERRORS else []
        rows = [] if partial else [row.number for row in self.replies if row.number not in self.used]
        if rows:
            listed = ", ".join(map(str, rows[:LISTED_ROWS]))
            listed += f" and {len(rows) - LISTED_ROWS:,} more" if len(rows) > LISTED_ROWS else ""
            notes.append(f"no request was for {'row' if len(rows) == 1 else 'rows'} {listed} of {self.shown}")
        return notes


def _readings(request: Request) -> list[str]:
    """Return the messages that a row may be about: the last one, and the one before an unreadable reply."""
    contents = [message.content for message in request.messages]
    corrected = len(contents) > 2 and request.messages[-2].role == "assistant"
    return [*contents[-1:], *(contents[-3:-2] if corrected else ())] or [""]


def _as_compared(column: str, value: str) -> str:
    return value.strip() if column == "prompt" else value


def _fact_values(column: str, origin: RequestOrigin | None, message: str) -> Sequence[str]:
    """Return the values that a column has for a request from `origin` with this message: one, or none if the request
    has no such fact; an item may have several names."""
    match column:
        case "prompt":
            return [_as_compared(column, message)]
        case "prompt_sha256":
            return [hashlib.sha256(message.encode("utf-8", "replace")).hexdigest()]
    if origin is None:
        return []
    value: Any
    match column:
        case "item":
            return origin.item_names
        case "sample":
            value = origin.number
        case _ if column.startswith(ITEM):
            value = origin.values.get(column.removeprefix(ITEM))
        case _:
            value = getattr(origin, column)
    text = fact_text(value)
    return [] if text is None else [text]


def _place_of(origin: RequestOrigin | None) -> str:
    """Return a request in words, for messages."""
    if origin is None:
        return "this request"
    who = f"ask `{origin.ask}`" if origin.ask is not None else f"scorer `{origin.scorer}`"
    item = f", item `{origin.item_names[0]}`" if origin.item_names else ""
    places = [
        f", {name} {value}"
        for name, value in (("sample", origin.number or None), ("turn", origin.turn), ("element", origin.element))
        if value is not None
    ]
    return f"{who} of `{origin.scenario}`{item}{''.join(places)}"
