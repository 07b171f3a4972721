"""Many commits on a bucket are listed together: in a manifest beside the catalog, which stays small."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bucket.test_store import elsewhere, names, wanted
from tests.warehouse.keeping import sample
from tripos_warehouse.errors import StoreError
from tripos_warehouse.maintenance.check import check_store
from tripos_warehouse.maintenance.compaction import collect, compact
from tripos_warehouse.store.bucket import catalog
from tripos_warehouse.store.bucket.bucket import Bucket
from tripos_warehouse.store.bucket.catalog import CATALOG, Catalog, Objects
from tripos_warehouse.store.store import Store

MANY = 6


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few commits count as many."""
    for place in ("store.commits", "store.bucket.catalog"):
        monkeypatch.setattr(f"tripos_warehouse.{place}.CHECKPOINT", MANY)
    monkeypatch.setattr(catalog, "MOST_LISTED", 3)


def listed(address: str) -> Catalog:
    return Bucket.open(address, create=False).catalog()


def of_many(address: str, first: int = 0) -> Store:
    store = Store.open(address, create=True)
    for number in range(first, first + MANY):
        store.append({"samples": [sample(number)]})
    return store


def test_who_opens_a_store_of_many_commits_lists_their_parts_together(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    of_many(address)
    assert len(listed(address).commits) == MANY
    first = Store.open(address, create=False)
    [commit] = listed(address).commits
    assert (commit.name, commit.parts, commit.manifest is None) == ("compaction-000001", (), False)
    assert listed(address).format == "tripos.catalog/2"
    others = [elsewhere(address, monkeypatch, tmp_path, name) for name in ("other", "third")]
    others[0].append({"samples": [sample(MANY)]})
    for store in (first, *others, Store.open(address, create=False)):
        store.bucket is None or store.bucket.sync()
        assert names(store) == wanted(*range(MANY + 1))
        assert check_store(store).damages == ()


def test_a_manifest_is_compacted_and_collected_with_its_parts(plain: str) -> None:
    of_many(plain)
    Store.open(plain, create=False)
    [before] = listed(plain).commits
    assert before.manifest is not None
    store = of_many(plain, MANY)
    assert collect(store, -1) is not None
    assert names(Store.open(plain, create=False)) == wanted(*range(2 * MANY)), "what a manifest lists stays"
    assert [commit.name for commit in listed(plain).commits] == ["compaction-000001", "compaction-000002"]
    assert compact(Store.open(plain, create=False)) is not None
    [after] = listed(plain).commits
    assert (len(after.parts), after.manifest, listed(plain).format) == (1, None, "tripos.catalog/1")
    gone = {each.path for each in collect(Store.open(plain, create=False), -1)}
    assert before.manifest.name in gone
    assert len({each for each in gone if each.startswith("parts/samples/0")}) == 2 * MANY
    assert names(Store.open(plain, create=False)) == wanted(*range(2 * MANY))


def test_of_two_machines_that_list_together_one_counts(
    plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = of_many(plain)
    second = elsewhere(plain, monkeypatch, tmp_path, "other")  # it has listed them
    first.append({"samples": [sample(MANY)]})
    first.recover()
    assert listed(plain).commits[0].name == "compaction-000001"
    assert len(listed(plain).commits) == 2
    second.recover()
    assert names(Store.open(plain, create=False)) == wanted(*range(MANY + 1))


def test_a_manifest_that_was_changed_is_named(plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    of_many(plain)
    Store.open(plain, create=False)
    [commit] = listed(plain).commits
    assert commit.manifest is not None
    objects = Objects.at(plain)
    held = objects.get(CATALOG)
    assert held is not None and len(held.content) < 1000
    objects.put(commit.manifest.name, b"forged")
    with pytest.raises(StoreError, match="was changed") as raised:
        elsewhere(plain, monkeypatch, tmp_path, "other")
    assert raised.value.code == "S0103"
