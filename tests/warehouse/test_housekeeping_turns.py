"""Checking: conversations that lost some of their turns."""

from __future__ import annotations

import json
from typing import Any

from tests.warehouse.keeping import sample
from tripos_warehouse.maintenance.check import check_store
from tripos_warehouse.store.store import Store

OF_TURN = (
    "run_id", "benchmark", "scenario", "step", "fingerprint", "item_id", "model", "status", "attempts", "created_at",
)  # fmt: skip


def talk(number: int, turns: int, **changes: Any) -> dict[str, Any]:
    """Return a conversation that is over."""
    said = [{"speaker": "ab"[turn % 2], "text": f"turn {turn}"} for turn in range(turns)]
    told = {"ended": "said", "ended_by": "a", "models": {"a": "m", "b": "n"}, "turns": said}
    return sample(number, parsed=json.dumps(told, separators=(",", ":"), sort_keys=True), **changes)


def turn(of: dict[str, Any], number: int, **changes: Any) -> dict[str, Any]:
    """One turn of it, counted from 1."""
    own = {name: of[name] for name in OF_TURN}
    names = {"turn_id": f"{of['sample_id']}-{number}", "conversation_id": of["sample_id"]}
    told = {"conversation_number": 0, "number": number, "role": "ab"[number % 2], "text": "…", "left_out": 0}
    return {**own, **names, **told, **changes}


def told(store: Store) -> list[tuple[str, str]]:
    return [(damage.code, damage.message) for damage in check_store(store).damages]


def test_conversations_with_all_their_turns_are_whole(store: Store) -> None:
    whole, empty = talk(1, 2), talk(2, 0, status="provider_error")
    store.append({"samples": [whole, empty], "turns": [turn(whole, 1), turn(whole, 2)]})
    store.append({"turns": [turn(talk(3, 0), 1)]})  # one that is not over yet
    assert told(store) == []


def test_a_turn_that_was_asked_for_again_counts_once(store: Store) -> None:
    whole = talk(1, 2)
    store.append({"turns": [turn(whole, 1), turn(whole, 2, text=None, status="provider_error")]})
    store.append({"samples": [whole], "turns": [turn(whole, 2)]})
    assert told(store) == []


def test_a_conversation_that_lacks_turns_is_told(store: Store) -> None:
    one, other = talk(1, 3), talk(2, 1)
    store.append({"samples": [one, other], "turns": [turn(one, 1), turn(one, 2)]})
    first = min(one["sample_id"], other["sample_id"])
    assert told(store) == [("S0403", f"2 conversations lacking turns, such as `{first}`")]


def test_a_gap_among_turns_is_told(store: Store) -> None:
    begun = talk(1, 0)
    store.append({"turns": [turn(begun, 1), turn(begun, 3)]})
    name = begun["sample_id"]
    assert told(store) == [("S0403", f"1 conversation with a gap among the turns, such as `{name}`")]


def test_a_reply_whose_record_looks_like_a_conversation_is_none(store: Store) -> None:
    store.append({"samples": [sample(1, parsed='{"ended":"yes","why":"?"}')]})
    assert told(store) == []
