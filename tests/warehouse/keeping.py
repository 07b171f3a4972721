"""Rows of results, and a process that keeps them until it is killed: what the tests of the ledger share."""

from __future__ import annotations

import hashlib
import itertools
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tripos_warehouse.ledger.ledger import RunLedger
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.store.store import Store

AT = datetime(2026, 3, 1, 8, 0, tzinfo=UTC)
ASKED, SCORED = "fa" * 16, "f5" * 16
PRINTS = {ASKED, SCORED}


def name(*parts: object) -> str:
    """Return a name such as results have."""
    return hashlib.blake2b(repr(parts).encode(), digest_size=16).hexdigest()


def sample(number: object, **changes: Any) -> dict[str, Any]:
    """Return a reply."""
    row = {
        "sample_id": name("sample", number),
        "run_id": "r1",
        "benchmark": "edubench",
        "scenario": "QA",
        "step": "answer",
        "fingerprint": ASKED,
        "binding": "gpt",
        "item_id": f"i{number}",
        "context": {"subject": "maths"},
        "role": "candidate",
        "model": "openai/gpt",
        "identity": None,
        "model_served": "gpt-1",
        "sample_number": 0,
        "messages": "[]",
        "reply": f"答 {number}",
        "parsed": None,
        "logprobs": None,
        "thinking": None,
        "status": "ok",
        "error": None,
        "finish_reason": "stop",
        "attempts": 1,
        "tokens_in": 10,
        "tokens_out": 5,
        "tokens_reasoning": None,
        "cost_usd": 0.001,
        "latency_s": 0.5,
        "request_digest": None,
        "adopted_from": None,
        "reused_from": None,
        "batch_id": None,
        "release": None,
        "created_at": AT,
    }
    return row | changes


def score(number: object, **changes: Any) -> dict[str, Any]:
    """Return a score of that reply."""
    row = {
        "score_id": name("score", number),
        "sample_id": name("sample", number),
        "judgement_id": None,
        "run_id": "r1",
        "benchmark": "edubench",
        "scenario": "QA",
        "item_id": f"i{number}",
        "model": "openai/gpt",
        "scorer": "exact",
        "metric": "exact",
        "evaluator": None,
        "value": 1.0,
        "status": "scored",
        "fingerprint": SCORED,
        "binding": "gpt",
        "release": None,
        "created_at": AT,
    }
    return row | changes


def draft(number: object, **changes: Any) -> dict[str, Any]:
    """Return an unreadable first reply of that unit."""
    row = {
        "unit_id": name("sample", number),
        "run_id": "r1",
        "fingerprint": ASKED,
        "messages": "[]",
        "reply": "{",
        "logprobs": None,
        "thinking": None,
        "error": "not JSON",
        "finish_reason": "stop",
        "model_served": "gpt-1",
        "attempts": 1,
        "tokens_in": 10,
        "tokens_out": 1,
        "tokens_reasoning": None,
        "cost_usd": None,
        "latency_s": 0.5,
        "created_at": AT,
    }
    return row | changes


def unit(number: object) -> dict[str, list[dict[str, Any]]]:
    """Return a reply with its score: what is kept together."""
    return {"samples": [sample(number)], "scores": [score(number)]}


def die(ledger: RunLedger) -> None:
    """What the system does for a process that is killed: closes its files, which frees its locks."""
    for batch in (ledger._batch, *ledger._closed):
        if batch.segment is not None:
            batch.segment.close()
    ledger._locks.close()


def committed(store: Store, table: str, key: str) -> list[str]:
    """Return the ids of a table as they are committed, doubles included."""
    return [value for path in store.parts(table) for value in pq.read_table(path, columns=[key])[key].to_pylist()]


def keep_until_killed(root: Path, first: int, told: Connection) -> None:
    """Keep unit after unit, tell each number once it is kept, and flushes now and then."""
    ledger = open_ledger(Store.open(root, create=False), PRINTS)
    for number in itertools.count(first):
        ledger.keep(unit(number))
        told.send_bytes(str(number).encode())
        if number % 7 == 0:
            ledger.flush()


def claim_and_keep(root: Path, keys: int, told: Connection) -> None:
    """Works through keys as a run does: claims, looks, keeps what is not there yet, and tells what it kept."""
    ledger = open_ledger(Store.open(root, create=False), PRINTS)
    left = [str(number) for number in range(keys)]
    told.send_bytes(b"ready")
    told.recv_bytes()
    while left:
        later = []
        for key in left:
            if not ledger.claim(key):
                later.append(key)
                continue
            ledger.refresh()
            if ledger.statuses("samples", [name("sample", key)]) == [None]:
                ledger.keep(unit(key))
                told.send_bytes(key.encode())
            ledger.release(key)
            if int(key) % 5 == 0:
                ledger.flush()
        ledger.flush()
        left = later
    ledger.close()
    told.close()
