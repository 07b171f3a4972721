"""A run by batches that stops when it is settled: a round of items a batch, and the same end as a live one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.batches.batch_server import batch_serving
from tests.batches.runs import MODELS, make_place
from tripos_runtime.drivers.sequential_stopping import BATCHES, LIVE
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

SPEC = """\
benchmark kills "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text, answer text secret }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score long = words(reply.text) > 9
}
measure length = mean(long) until settled within 0.35
"""
ROWS = 100


def settled(store: Path) -> Any:
    with connect(Store.open(store, create=False)) as connection:
        [(told,)] = connection.execute("select settled from runs order by run_id desc limit 1").fetchall()
    return json.loads(told)


def test_a_round_of_items_goes_out_as_a_batch_and_the_next_ones_are_never_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    with batch_serving(0.05) as server:
        place = make_place(tmp_path, server, ROWS, spec=SPEC, roles=())
        live, batch = place.run("live"), place.run("batch", "--batch")
    assert (live.code, batch.code) == (0, 0), batch.told
    told = settled(tmp_path / "live")
    assert settled(tmp_path / "batch") == told
    assert told["items"] < BATCHES.least < ROWS, "one round settles it"
    assert batch.summary["calls"]["asked"] == len(server.submitted) == BATCHES.least * len(MODELS)
    assert told["items"] * len(MODELS) <= live.summary["calls"]["asked"]
    assert live.summary["calls"]["asked"] <= (LIVE.limit(told["items"], 0) + 1) * len(MODELS)
