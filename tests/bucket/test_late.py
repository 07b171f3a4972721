"""Replies of a worker that lost its lease: of use to who claims their case later, unless others have asked meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.bucket.test_store import elsewhere, taken_over, until
from tests.warehouse.keeping import ASKED, PRINTS, SCORED, name, sample
from tripos_compiler.plan import digest
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger.ledger import RunLedger
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.maintenance.check import check_store
from tripos_warehouse.store.bucket.bucket import Bucket
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store

KEY = digest([ASKED, "i2"])
ITEM = {
    "item_id": "i2", "benchmark": "edubench", "scenario": "QA", "dataset": None, "language": None, "context": {},
    "fields": "{}", "written_by": None, "attempts": None, "rejections": None,
}  # fmt: skip
LATE = "of the late worker"


def judgement() -> dict[str, Any]:
    """Return the judgement of the reply."""
    row = dict.fromkeys(TABLES["judgements"].schema.names) | sample(2)
    own = {"judgement_id": name("judgement", 2), "scorer": "rubric", "evaluator": "openai/judge", "fingerprint": SCORED}
    return {key: value for key, value in (row | own).items() if key in TABLES["judgements"].schema.names}


def lost(address: str, folder: Path, monkeypatch: pytest.MonkeyPatch, *, uploaded: bool = False) -> RunLedger:
    """Return a worker on another machine that has taken over from one here, which kept more than it had uploaded."""
    Bucket.open(address, create=True, root=folder / "made", lease_s=2.0)
    first = open_ledger(Store.open(address, create=False), PRINTS)
    assert first.claim(KEY)
    first.refresh()
    first.keep({"items": [ITEM], **({"samples": [sample(2, reply=LATE)]} if uploaded else {})})
    first._session.drain()  # type: ignore[attr-defined]
    first._session.stop()  # type: ignore[attr-defined] - as a machine that is cut off: no sign of life any more
    if not uploaded:
        first.keep({"samples": [sample(2, reply=LATE)]})
    first.keep({"judgements": [judgement()]})
    second = open_ledger(elsewhere(address, monkeypatch, folder, "other"), PRINTS)
    until(lambda: taken_over(second, KEY))
    second.refresh()
    with pytest.raises(StoreError, match="S0112"):
        first.close()
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    return second


def again(address: str) -> tuple[str | None, list[str | None], str]:
    """Return the reply that a worker here finds once it has claimed the case, the statuses of it and of the judgement,
    and what it was told."""
    told: list[StoreError] = []
    with open_ledger(Store.open(address, create=False, on_damage=told.append), PRINTS) as ledger:
        assert ledger.statuses("judgements", [name("judgement", 2)]) == [None], "nothing without a claim"
        assert ledger.claim(KEY)
        ledger.refresh()
        statuses = [
            *ledger.statuses("samples", [name("sample", 2)]),
            *ledger.statuses("judgements", [name("judgement", 2)]),
        ]
    store = Store.open(address, create=False)
    tables = {table.table: table.doubles for table in check_store(store).tables}
    assert (tables["samples"], tables["judgements"]) == (0, 0)
    row = store.rows("samples", [name("sample", 2)]).get(name("sample", 2), {})
    return row.get("reply"), statuses, " ".join(each.code for each in told)


def test_what_nobody_asked_for_since_is_taken_in(plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lost(plain, tmp_path, monkeypatch).close()
    assert again(plain) == (LATE, ["ok", "ok"], "S0112")
    assert check_store(Store.open(plain, create=False)).damages == ()


def test_of_what_was_asked_again_only_the_new_reply_counts(
    plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    second = lost(plain, tmp_path, monkeypatch)
    second.keep({"items": [ITEM], "samples": [sample(2, reply="of the second")]})
    second.close()
    assert again(plain) == ("of the second", ["ok", None], "S0112"), "its judgement is about another reply"


def test_a_judgement_of_a_reply_that_was_uploaded_is_taken_in(
    plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lost(plain, tmp_path, monkeypatch, uploaded=True).close()
    assert again(plain) == (LATE, ["ok", "ok"], "S0112")
