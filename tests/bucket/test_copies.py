"""The copy of a bucket on this machine is held to the digests of the catalog, and mended out of the bucket."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from tests.lengths import sized
from tests.warehouse.keeping import committed, name, score, unit
from tripos_warehouse.errors import StoreError
from tripos_warehouse.maintenance.check import check_store
from tripos_warehouse.maintenance.compaction import compact
from tripos_warehouse.store.bucket.bucket import Bucket
from tripos_warehouse.store.commits import Commit, ParquetPart, new_name
from tripos_warehouse.store.digests import sha256_of
from tripos_warehouse.store.parts import to_arrow, write_part
from tripos_warehouse.store.store import Store


def flip(path: Path, chance: random.Random) -> None:
    """Change a bit of a file, at the time at which it was written."""
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.chmod(0o644)
    path.write_bytes(content)


def filled(address: str) -> Store:
    store = Store.open(address, create=True)
    for number in (1, 2):
        store.append(unit(number))
    return store


def test_a_copy_that_changed_is_mended_when_it_is_opened(plain: str) -> None:
    """A change of any file is mended: of a part, of a commit, or of the state of the copy."""
    root = filled(plain).root
    whole = {path: sha256_of(path) for path in root.glob("parts/*/*.parquet")}
    chance = random.Random(4)
    files = [*whole, *root.glob("commits/*.json"), root / "catalog.json"]
    for number in range(sized(8, 200)):
        flip(files[number % len(files)], chance)
        store = Store.open(plain, create=False)
        assert committed(store, "samples", "sample_id") == [name("sample", 1), name("sample", 2)]
        store.verify()
        assert {path: sha256_of(path) for path in root.glob("parts/*/*.parquet")} == whole
        assert check_store(store).damages == ()


def test_a_part_that_is_gone_from_the_copy_is_fetched_again(plain: str) -> None:
    store = filled(plain)
    for path in store.parts("scores"):
        path.unlink()
    (next((store.root / "commits").iterdir())).unlink()
    again = Store.open(plain, create=False)
    assert len(again.rows("scores", [name("score", 1), name("score", 2)])) == 2


def test_a_part_that_changed_is_not_uploaded(plain: str) -> None:
    store = filled(plain)
    bucket = store.bucket
    assert bucket is not None
    commit = new_name(store.now)
    part: ParquetPart = write_part(store.root, "scores", commit, to_arrow("scores", [score(3)]))
    flip(store.root / part.path, random.Random(1))
    with pytest.raises(StoreError, match=f"S0103: .*{Path(part.path).name}.*changed"):
        bucket.publish(Commit(commit, store.now, (part,)))
    assert Bucket.open(plain, create=False).catalog().serial == bucket.catalog().serial


def test_a_compaction_mends_what_it_reads(plain: str) -> None:
    store = filled(plain)
    flip(store.parts("samples")[0], random.Random(2))
    assert compact(Store.open(plain, create=False)) is not None
    assert check_store(Store.open(plain, create=False)).damages == ()


def test_a_part_that_is_checked_once_is_not_read_again_until_it_is_touched(
    plain: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = filled(plain)
    read: list[Path] = []
    monkeypatch.setattr(
        "tripos_warehouse.store.bucket.bucket.sha256_of", lambda path: read.append(path) or sha256_of(path)
    )
    store.append(unit(3))
    assert json.loads((store.root / "catalog.json").read_bytes())["verified"].keys() >= {
        path.relative_to(store.root).as_posix() for path in store.parts("samples")
    }
    before = set(read)
    Store.open(plain, create=False).append(unit(4))
    assert not before.intersection(read[len(before) :])
