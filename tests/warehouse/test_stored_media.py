"""Images of a store: copied by a merge, held against their digests, and never read through a link."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from tests.warehouse.keeping import unit
from tripos.runs.records import media_store
from tripos_warehouse.errors import StoreError
from tripos_warehouse.maintenance.check import check_store
from tripos_warehouse.maintenance.compaction import collect
from tripos_warehouse.maintenance.merging import merge_stores
from tripos_warehouse.store.store import Store

FIRST, SECOND = b"the first", b"the second"


def name(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def store_of(folder: Path, *contents: bytes, tolerant: bool = False) -> Store:
    """Return a store that shows these contents."""
    store = Store.open(folder, create=True, tolerant=tolerant)
    store.append(unit(len(contents)))
    for content in contents:
        media_store(store).keep(name(content), content)
    return store


def test_a_merge_copies_what_models_were_shown(tmp_path: Path) -> None:
    target = store_of(tmp_path / "all", FIRST)
    others = [store_of(tmp_path / "a", SECOND), store_of(tmp_path / "b", FIRST, SECOND)]
    for _ in range(2):
        merge_stores(target, others)
        assert {path.name for path in (target.root / "media").iterdir()} == {name(FIRST), name(SECOND)}
    assert media_store(target).load(name(SECOND)) == SECOND
    assert check_store(target).damages == ()


@pytest.mark.parametrize("damage", ["another content", "a link"])
def test_a_content_that_is_another_is_named_and_read_by_nobody(tmp_path: Path, damage: str) -> None:
    source = store_of(tmp_path / "a", FIRST, SECOND, tolerant=True)
    path = source.root / "media" / name(FIRST)
    path.unlink()
    (tmp_path / "secret").write_bytes(FIRST)
    if damage == "a link":
        path.symlink_to(tmp_path / "secret")
    else:
        path.write_bytes(b"forged")
    (found,) = check_store(source).damages
    assert (found.code, name(FIRST) in found.message) == ("S0401", True)
    assert media_store(source).load(name(FIRST)) is None
    target = store_of(tmp_path / "all")
    merge_stores(target, [source])
    assert [path.name for path in (target.root / "media").iterdir()] == [name(SECOND)]
    assert [error.code for error in source.damages.values()] == ["S0401"]


def test_a_folder_of_images_that_is_a_link_is_refused(tmp_path: Path) -> None:
    store = store_of(tmp_path / "a")
    (tmp_path / "elsewhere").mkdir()
    (store.root / "media").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError, match="media` is a link"):
        Store.open(store.root, create=False)


def test_no_image_goes_while_somebody_who_keeps_images_is_at_work(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "a", create=True, clock=lambda: datetime(2300, 1, 1, tzinfo=UTC))
    media = media_store(Store.open(store.root, create=False))
    media.keep(name(FIRST), FIRST)
    assert collect(store) == []
    media.close()
    assert [each.path for each in collect(store, dry_run=True)] == [f"media/{name(FIRST)}"]
    assert [each.path for each in collect(store)] == [f"media/{name(FIRST)}"]
    assert media.load(name(FIRST)) is None
