"""Work on a bucket in the background: whoever keeps results never waits for a bucket that does not answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.bucket.test_store import elsewhere, names, wanted
from tests.warehouse.keeping import PRINTS, name, sample
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.store.bucket import session
from tripos_warehouse.store.bucket.catalog import Objects
from tripos_warehouse.store.bucket.leases import Background, shard_of
from tripos_warehouse.store.store import Store


@contextmanager
def hanging(monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Let no request to the bucket through until the event is set; within, nothing takes half a second."""
    answers, started_s = threading.Event(), time.monotonic()
    for call in ("get", "changed", "create", "swap", "put"):
        real = getattr(Objects, call)

        def waiting(*given: object, real: object = real, **named: object) -> object:
            answers.wait(30)
            return real(*given, **named)  # type: ignore[operator]

        monkeypatch.setattr(Objects, call, waiting)
    yield answers
    took_s = time.monotonic() - started_s
    answers.set()
    assert took_s < 0.5


def test_a_bucket_that_hangs_holds_up_no_row_no_flush_and_no_claim(
    plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "COMMIT_S", 0.0)
    monkeypatch.setattr(session, "LOAD_S", 0.0)
    ledger = open_ledger(Store.open(plain, create=True), PRINTS)
    assert ledger.claim("case 1")
    for number in range(3):
        ledger.keep({"samples": [sample(number)]})
    del ledger._claims._keys[shard_of("case 2")]  # type: ignore[union-attr] - somebody gave it back
    with hanging(monkeypatch) as answers:
        assert ledger.flush() is None
        ledger.refresh()
        assert not ledger.claim("case 2", later=True)
        ledger.keep({"samples": [sample(4)]})
        assert ledger.statuses("samples", [name("sample", 2), name("sample", 4)]) == ["ok", "ok"]
        ledger.flush()
        ledger.refresh()
        answers.set()
    ends_s = time.monotonic() + 20
    while not ledger.claim("case 2", later=True):
        assert time.monotonic() < ends_s, "the shard never came"
        time.sleep(0.02)
    ledger.close()
    assert names(elsewhere(plain, monkeypatch, tmp_path, "other")) == wanted(0, 1, 2, 4)


def test_an_error_in_the_background_is_raised_once_and_what_was_kept_is_committed_all_the_same(
    plain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "COMMIT_S", 0.0)
    ledger = open_ledger(Store.open(plain, create=True), PRINTS)
    assert ledger.claim("case 1")
    ledger.keep({"samples": [sample(1)]})
    with monkeypatch.context() as patched:

        def refused(*_: object) -> object:
            raise StoreError("S0109", "refused", "give your keys")

        patched.setattr(ledger._session.bucket, "commit_tables", refused)  # type: ignore[attr-defined]
        ledger.flush()
        with pytest.raises(StoreError, match="S0109"):
            ledger._settle_commit(wait=True)  # type: ignore[attr-defined]
    ledger.close()
    assert names(Store.open(plain, create=False)) == wanted(1)


def test_calls_are_made_in_their_order_and_after_the_end_at_once() -> None:
    background, made = Background(), []
    for number in range(5):
        background.submit(lambda number=number: made.append(number))  # type: ignore[misc]
    background.close()
    background.submit(lambda: made.append(5))
    assert made == [0, 1, 2, 3, 4, 5]
    with pytest.raises(ZeroDivisionError):
        background.submit(lambda: 1 / 0).result()
    with pytest.raises(ZeroDivisionError):
        background.check()
    background.check()
