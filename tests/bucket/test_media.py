"""Images on a bucket: garbage collection takes those that no row names, and none while anybody works there."""

from __future__ import annotations

import hashlib

import pytest

from tests.warehouse.keeping import PRINTS, sample
from tripos.runs.records import media_store
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.maintenance.compaction import collect
from tripos_warehouse.store.bucket.bucket import Bucket
from tripos_warehouse.store.bucket.catalog import Catalog
from tripos_warehouse.store.store import Store

NAMED, STRAY = b"in a prompt", b"nobody's"


def name(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@pytest.fixture
def store(plain: str) -> Store:
    """A store with an image that a row names, and one that none does."""
    found = Store.open(plain, create=True)
    mark = f"⟦image/png 2x1 9 bytes sha256:{name(NAMED)}⟧"
    found.append({"samples": [{**sample(1), "messages": f'[{{"role":"user","content":"{mark}"}}]'}]})
    for content in (NAMED, STRAY):
        media_store(found).keep(name(content), content)
    return found


def removed(store: Store, grace_s: float = -1, *, dry_run: bool = False) -> list[str]:
    every = collect(store, grace_s, dry_run=dry_run)
    return [each.path.partition("/")[2] for each in every if each.path.startswith("media/")]


def test_an_image_that_no_row_names_goes_once_it_is_old(store: Store) -> None:
    assert removed(store, 3600) == []
    assert removed(store, dry_run=True) == removed(store) == [name(STRAY)]
    media = media_store(Store.open(store.place, create=False))
    assert (media.load(name(NAMED)), media.load(name(STRAY))) == (NAMED, None)


def test_no_image_goes_while_a_worker_may_still_name_it(store: Store) -> None:
    ledger = open_ledger(Store.open(store.place, create=False), PRINTS)
    assert removed(store) == []
    ledger.close()
    assert removed(store) == [name(STRAY)]


def test_an_image_is_there_again_where_a_worker_began_in_between(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    real, looks = Bucket.catalog, []

    def catalog(bucket: Bucket) -> Catalog:
        found = real(bucket)
        looks.append(media_store(store).load(name(STRAY)) is None)
        return found.following() if looks[-1] else found

    monkeypatch.setattr(Bucket, "catalog", catalog)
    assert removed(store) == []
    assert any(looks), "it was not there at one look"
    assert media_store(store).load(name(STRAY)) == STRAY
