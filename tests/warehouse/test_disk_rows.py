"""The index of many rows: on the disk it says what it says in memory."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.warehouse.keeping import PRINTS, name, sample
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.store.index import DiskRows, RowIndex, pack
from tripos_warehouse.store.store import Store

MODULE = "tripos_warehouse.store.index"
STATUSES = ("ok", "provider_error", "refused", "function_error")


def write_all(patch: pytest.MonkeyPatch) -> None:
    """Have the rows of any index written, in small pieces."""
    sizes = {"LEAST_ROWS": 1, "PIECE_ROWS": 40, "_BATCH": 16, "NAMES_AT_ONCE": 7, "BLOCK": 3}
    for each, size in sizes.items():
        patch.setattr(f"{MODULE}.{each}", size)


def told(store: Store, asked: list[str]) -> tuple[Any, ...]:
    """Return what an index says that was loaded twice, and on which runs it stands."""
    index = RowIndex("samples", None, store.root)
    index.load(store.parts("samples")[:2])
    index.load(store.parts("samples")[2:])
    found = index.find(pack(asked))
    return found.codes.tolist(), found.places.tolist(), [type(run) for run in index._runs]


@pytest.mark.parametrize("prefix", ["", "ab" * 8, "ab" * 15])
@pytest.mark.parametrize("seed", range(3))
def test_an_index_on_the_disk_is_that_in_memory(
    store: Store, monkeypatch: pytest.MonkeyPatch, seed: int, prefix: str
) -> None:
    """Of names that differ anywhere, and of those of which one upper half fills several blocks."""
    chance = random.Random(seed)
    names = [prefix + name("sample", number)[len(prefix) :] for number in range(300)]
    rows = [
        sample(number, sample_id=chance.choice(names[:250]), status=chance.choice(STATUSES)) for number in range(450)
    ]
    for start in range(0, 450, 150):
        store.append({"samples": rows[start : start + 150]})
    asked = [*chance.sample(names, 300), "no such name", names[0], names[0]]
    *in_memory, runs = told(store, asked)
    assert DiskRows not in runs
    write_all(monkeypatch)
    *on_disk, runs = told(store, asked)
    assert runs == [DiskRows] * 2
    assert on_disk == in_memory
    assert set(on_disk[0]) == {0, 1, 2, 3, 4}


def test_no_file_of_an_index_is_left_in_the_store(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.append({"samples": [sample(number) for number in range(20)]})
    write_all(monkeypatch)
    ledger = open_ledger(store, PRINTS)
    before = sorted(store.root.rglob("*"))
    assert ledger.statuses("samples", [name("sample", 3), name("sample", 99)]) == ["ok", None]
    assert ledger.rows("samples", [name("sample", 3)])[name("sample", 3)] == sample(3)
    assert sorted(store.root.rglob("*")) == before


@pytest.mark.parametrize("refused", [1, 2])
def test_an_index_that_no_disk_takes_is_in_memory(store: Store, monkeypatch: pytest.MonkeyPatch, refused: int) -> None:
    store.append({"samples": [sample(number) for number in range(200)]})
    asked = [name("sample", number) for number in range(210)]
    *wanted, _ = told(store, asked)
    write_all(monkeypatch)
    make, tried = tempfile.TemporaryFile, []

    def full(dir: Path | None = None, **options: Any) -> Any:
        tried.append(dir)
        if refused == 2 or dir is not None:
            raise OSError(28, "No space left on device")
        return make(dir=dir, **options)

    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    *found, runs = told(store, asked)
    assert found == wanted
    assert (DiskRows in runs) == (refused == 1)
    assert tried[:2] == [store.root, None]
