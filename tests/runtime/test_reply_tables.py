"""The search for the row of a table of replies that fits a request best."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tripos_compiler.errors import TriposError
from tripos_runtime.models import reply_table
from tripos_runtime.models.base import Message, ModelError, Request, RequestOrigin
from tripos_runtime.models.reply_table import ReplyTableModel, read_replies

TEXTS = ("a", "b", " a", "ab")
ROWS = st.fixed_dictionaries(
    {"reply": st.integers().map(str)},
    optional={
        "item": st.sampled_from("pq"),
        "item.n": st.integers(1, 2),
        "ask": st.sampled_from("pq"),
        "sample": st.integers(0, 1),
        "turn": st.integers(1, 2),
        "prompt": st.sampled_from(TEXTS),
        "prompt_sha256": st.sampled_from([hashlib.sha256(text.encode()).hexdigest() for text in TEXTS]),
        "contains": st.sampled_from("ab"),
    },
)
ORIGINS = st.builds(
    RequestOrigin,
    scenario=st.just("s"),
    role=st.just("r"),
    ask=st.sampled_from("pq"),
    number=st.integers(0, 1),
    turn=st.none() | st.integers(1, 2),
    item_names=st.sampled_from([(), ("p",), ("q", "id"), ("p", "q")]),
    values=st.sampled_from([{}, {"n": 1}, {"n": 2.0}]),
)
MESSAGES = st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3)


def holds(row: Mapping[str, Any], origin: RequestOrigin, message: str) -> bool:
    """Return true if each fact of a row holds of a request."""
    facts = {
        "item": row.get("item") in origin.item_names,
        "item.n": row.get("item.n") == origin.values.get("n"),
        "ask": row.get("ask") == origin.ask,
        "sample": row.get("sample") == origin.number,
        "turn": row.get("turn") == origin.turn,
        "prompt": str(row.get("prompt")).strip() == message.strip(),
        "prompt_sha256": row.get("prompt_sha256") == hashlib.sha256(message.encode()).hexdigest(),
        "contains": str(row.get("contains")) in message,
    }
    return all(facts[name] for name in row if name != "reply")


def wanted(rows: list[dict[str, Any]], origin: RequestOrigin, messages: list[str]) -> str | None:
    """Return the reply to a request by a search of all rows; None if no row fits, or several do equally well."""
    for message in [messages[-1], *(messages[-3:-2])]:
        fitting = [row for row in rows if holds(row, origin, message)]
        best = [row for row in fitting if len(row) == max(map(len, fitting))]
        if fitting:
            return best[0]["reply"] if len(best) == 1 else None
    return None


def request(messages: list[str], origin: RequestOrigin | None) -> Request:
    roles = ("user", "assistant", "user")[-len(messages) :]
    return Request("m", tuple(Message(role, text) for role, text in zip(roles, messages, strict=True)), origin=origin)


def model(rows: list[dict[str, Any]]) -> ReplyTableModel:
    return ReplyTableModel("mock/replies:r.jsonl", read_replies(rows, "r.jsonl"), "r.jsonl", "identity")


@given(st.lists(ROWS, min_size=1, max_size=8), ORIGINS, MESSAGES)
def test_the_row_is_that_of_a_search_of_all_rows(
    rows: list[dict[str, Any]], origin: RequestOrigin, messages: list[str]
) -> None:
    try:
        table = model(rows)
    except TriposError:  # two rows are for the same requests
        return
    try:
        reply = asyncio.run(table.ask(request(messages, origin))).text
    except ModelError:
        reply = None
    assert reply == wanted(rows, origin, messages)


def test_a_message_is_hashed_once_whatever_the_number_of_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [{"prompt_sha256": hashlib.sha256(str(n).encode()).hexdigest(), "reply": str(n)} for n in range(100)]
    table, hashed = model(rows), []

    class Hashlib:
        @staticmethod
        def sha256(raw: bytes) -> Any:
            hashed.append(raw)
            return hashlib.sha256(raw)

    monkeypatch.setattr(reply_table, "hashlib", Hashlib)
    replies = [asyncio.run(table.ask(request([str(n)], None))).text for n in range(100)]
    assert replies == [str(n) for n in range(100)]
    assert len(hashed) == 100
