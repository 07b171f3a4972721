"""The turns of recorded conversations as calls: what each was sent is put together from what was said before it."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import duckdb
import orjson

from tripos_compiler.semantics.conversations import Turn, leave_out, seen_by
from tripos_warehouse.rows import Row

_TURNS = """select turn.* exclude (created_at), epoch_us(turn.created_at) as made_at, talk.messages
  from main.turns as turn join main.samples as talk on talk.sample_id = turn.conversation_id
  where turn.benchmark = $benchmark and turn.status <> $failed
    and (turn.fingerprint, turn.binding) in (
      select (fingerprint, binding) from main.run_steps where run_id = $run)
  order by turn.conversation_id, turn.number"""
TOO_LONG = "R0107 the dialogue passes the context of the model"
"""What a model said where turns had to be left out."""


def settings_key(fingerprint: str, role: str) -> str:
    """What the settings of a turn are looked up by: either side of a conversation has its own."""
    return f"{fingerprint} {role}"


def conversations(connection: duckdb.DuckDBPyConnection, benchmark: str) -> frozenset[str]:
    """The fingerprints of the samples that are conversations, which nobody was asked for as a whole."""
    query = "select distinct fingerprint from main.turns where benchmark = ?"
    return frozenset(fingerprint for (fingerprint,) in connection.execute(query, [benchmark]).fetchall())


def sent_turns(
    connection: duckdb.DuckDBPyConnection, wanted: Mapping[str, Any], batch: int
) -> Iterator[tuple[Row, str, bool]]:
    """Every turn with what was sent for it as JSON, and whether that was answered: what had to be sent again with fewer
    turns was not."""
    reader = connection.cursor().sql(_TURNS, params=dict(wanted)).to_arrow_reader(batch)
    rows = (row for some in reader for row in some.to_pylist())
    for _, of_one in itertools.groupby(rows, key=lambda row: row["conversation_id"]):
        said: list[Turn] = []
        left_out: dict[str, int] = {}
        for row in of_one:
            role = row["role"]
            begin = [each for each in orjson.loads(row["messages"]) if each["name"] == role]
            less: int | None = left_out.get(role, 0)
            while less is not None and less < row["left_out"]:
                yield row, _sent(begin, role, said, less), False
                less = leave_out(len(said), less)
            left_out[role] = row["left_out"]
            yield row, _sent(begin, role, said, row["left_out"]), True
            said.append({"speaker": role, "text": row["text"] or ""})


def _sent(begin: list[dict[str, str]], role: str, said: list[Turn], left_out: int) -> str:
    """The messages of a turn: `begin` are those before the dialogue."""
    messages = [(each["role"], each["content"]) for each in begin] + seen_by(role, said, None, left_out)
    return orjson.dumps([{"role": who, "content": text} for who, text in messages]).decode()
