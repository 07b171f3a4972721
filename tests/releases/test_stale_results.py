"""Results in a store that a change makes stale, and their cost."""

from __future__ import annotations

from pathlib import Path

from tests.warehouse.keeping import ASKED, sample, score
from tripos.cli.releases.diff import stale_in
from tripos_warehouse.store.store import Store


def test_the_cost_of_an_adopted_reply_counts_once(tmp_path: Path) -> None:
    asked = sample(1, cost_usd=0.5)
    adopted = sample(2, cost_usd=0.5, adopted_from=asked["sample_id"])
    other = sample(3, cost_usd=4.0, fingerprint="0b" * 16)
    Store.open(tmp_path, create=True).append({"samples": [asked, adopted, other], "scores": [score(1)]})
    stale = stale_in(tmp_path, {ASKED})
    assert (stale.samples, stale.scores, stale.cost_usd) == (2, 0, 0.5)
