"""Keys and values that a store keeps of each part say what its rows say, after any history of the store."""

from __future__ import annotations

import itertools
import os
import random
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from tests.lengths import sized
from tests.warehouse.small_run import START, rows_of_run, small_plan
from tripos_warehouse.maintenance.compaction import collect, compact
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store
from tripos_warehouse.views import connect as views, derived
from tripos_warehouse.views.connect import connect

Build = Callable[..., dict[str, list[dict[str, Any]]]]
KEYS, VALUES = "cache/keys", "cache/values"


@pytest.fixture(autouse=True)
def _all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "LARGE_BYTES", 0)
    monkeypatch.setattr(derived, "LEAST_BYTES", 0)


def shown(store: Store, *, kept: bool) -> tuple[list[Any], list[Any]]:
    """Return the rows of the tables, and the types of a benchmark's columns, from what is kept of parts or from all of
    their rows."""
    (store.root / "cache" / "views.json").unlink(missing_ok=True)
    with mock.patch.object(views, "LARGE_BYTES", 0 if kept else 2**60), connect(store) as connection:
        rows = [
            connection.sql(f"select * from {table} order by {', '.join(TABLES[table].key)}").fetchall()
            for table in ("samples", "scores", "items")
        ]
        types = [
            [str(each) for each in connection.sql(f"from edubench.{view}").types] for view in ("samples", "scores")
        ]
    return rows, types


def doubled(store: Store, table: str) -> bool:
    """Return true if several rows of a table have one key, as the files say."""
    rows = [
        tuple(row.values())
        for path in store.parts(table)
        for row in pq.read_table(path, columns=[*TABLES[table].key]).to_pylist()
    ]
    return len(set(rows)) < len(rows)


@settings(max_examples=sized(1, 60), deadline=None)
@given(st.integers(0, 10**6))
def test_keys_and_values_are_those_of_the_rows_after_any_history(seed: int) -> None:
    chance, ticks, plan = random.Random(seed), itertools.count(), small_plan()
    least = mock.patch.object(derived, "LEAST_BYTES", chance.choice((0, 8_000, 10**9)))
    with tempfile.TemporaryDirectory() as folder, least:
        store = Store.open(folder, create=True, clock=lambda: START + timedelta(seconds=next(ticks)))
        for number in range(sized(3, 5)):
            match chance.choice(("run", "run", "again", "compact", "spoil")) if number else "run":
                case "compact":
                    compact(store)
                    collect(store, 0)
                case "spoil":
                    _spoil(
                        chance.choice([*(store.root / "cache").glob("[kv]*/*"), *store.root.glob("cache/*.json")]),
                        chance,
                    )
                case what:
                    run = f"r{chance.randint(0, 1) if what == 'again' else number}"
                    status = chance.choice(("ok", "provider_error"))
                    rows = rows_of_run(plan, run, (f"m{number % 3}",), items=chance.randint(1, 9), status=status)
                    for table in ("samples", "items"):
                        for row in rows[table]:
                            row["context"] = {**row["context"], "level": f"level {chance.randint(0, 3)}"}
                    store.append(rows)
            assert shown(store, kept=True) == shown(store, kept=False)
            with connect(store) as connection:
                for table in ("samples", "scores", "items"):
                    key = TABLES[table].key
                    found = derived.may_have_duplicates(connection.database, store, table, store.parts(table), key)
                    assert found == doubled(store, table)


def _spoil(path: Path, chance: random.Random) -> None:
    """Change a bit of a file."""
    content = bytearray(path.read_bytes())
    content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    path.write_bytes(content)


@pytest.fixture
def full(store: Store) -> Store:
    store.append(rows_of_run(small_plan(), "r1", ("m1", "m2"), items=8))
    shown(store, kept=True)
    return store


def test_a_commit_costs_its_own_part_alone(full: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    before = {path: path.stat().st_mtime_ns for folder in (KEYS, VALUES) for path in (full.root / folder).iterdir()}
    full.append(rows_of_run(small_plan(), "r2", ("m3",), items=8, minutes=1))
    read: list[Path] = []
    source = derived._source
    monkeypatch.setattr(derived, "_source", lambda parts: read.extend(parts) or source(parts))
    assert shown(full, kept=True) == shown(full, kept=False)
    assert not {part for part in read if part.stat().st_mtime_ns < min(before.values())}
    assert all(
        path.stat().st_mtime_ns == at
        for path, at in before.items()
        if path.suffix != ".json" or path.parent.name != "keys"
    )


def test_an_opening_without_a_commit_reads_no_key(full: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derived._Keys, "hashes", lambda *_: pytest.fail("keys were read"))
    shown(full, kept=True)


def test_keys_are_what_doubles_are_looked_for_in(full: Store) -> None:
    """Keys of another part, under the name of a part's, are doubles of that one: no key of the part was read for it."""
    key, (part,) = TABLES["samples"].key, full.parts("samples")
    kept = derived.key_files(full, key)
    [own] = kept.read({part: kept.name(part)}).values()
    full.append(rows_of_run(small_plan(), "r2", ("m3",), items=8, minutes=1))
    added = next(each for each in full.parts("samples") if each != part)
    kept = derived.key_files(full, key)
    kept.write(kept.name(added), np.fromfile(own, "<u8").tofile)
    with connect(full) as connection:
        assert derived.may_have_duplicates(connection.database, full, "samples", [part, added], key)
    assert not doubled(full, "samples")


def test_a_row_of_a_part_that_is_known_to_differ_is_found_again(full: Store) -> None:
    full.append({"samples": rows_of_run(small_plan(), "r1", ("m1",), items=1, minutes=1)["samples"]})
    assert doubled(full, "samples")
    assert shown(full, kept=True) == shown(full, kept=False)
    with connect(full) as connection:
        assert connection.sql("select count(*) from samples").fetchall() == [(16,)]


def test_values_of_rows_that_do_not_count_are_none(full: Store) -> None:
    rows = rows_of_run(small_plan(), "r1", ("m4",), items=1, status="provider_error")["samples"]
    rows[0]["context"] = {"subject": "alchemy", "level": "primary"}
    full.append({"samples": rows})
    assert "alchemy" in str(shown(full, kept=True))
    full.append({"samples": rows_of_run(small_plan(), "r1", ("m4",), items=1, minutes=1)["samples"]})
    found = shown(full, kept=True)
    assert "alchemy" not in str(found)
    assert found == shown(full, kept=False)


def test_a_folder_that_cannot_be_written_costs_time_alone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("no")

    store.append(rows_of_run(small_plan(), "r1", ("m1", "m2"), items=8))
    wanted = shown(store, kept=False)
    monkeypatch.setattr(Path, "mkdir", refuse)
    assert shown(store, kept=True) == wanted
    assert not (store.root / KEYS).exists()


def test_small_parts_have_no_files(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(derived, "LEAST_BYTES", 10**6)
    store.append(rows_of_run(small_plan(), "r1", ("m1", "m2"), items=8))
    assert shown(store, kept=True) == shown(store, kept=False)
    assert not [path for path in (store.root / "cache").glob("[kv]*/*") if path.suffix == ".keys"]
    monkeypatch.setattr(derived._Keys, "hashes", lambda *_: pytest.fail("keys were read"))
    assert shown(store, kept=True) == shown(store, kept=False)


def test_housekeeping_takes_away_what_is_kept_of_parts_that_are_gone(full: Store) -> None:
    full.append(rows_of_run(small_plan(), "r2", ("m3",), items=8, minutes=1))
    shown(full, kept=True)
    compact(full)
    wanted = shown(full, kept=True)
    every = [*(full.root / "cache").glob("[kv]*/*")]
    for path in every:
        os.utime(path, (0, 0))
    collect(full)
    left = [*(full.root / "cache").glob("[kv]*/*")]
    tables = {table for table in TABLES if full.parts(table)}
    assert {path.stem for path in left if path.parent.name == "keys" and path.suffix == ".json"} <= tables
    assert len([path for path in left if path.suffix == ".keys"]) == len(tables)
    assert len([path for path in left if path.parent.name == "values"]) == len(derived.ENUMERATED_TABLES)
    assert shown(full, kept=True) == wanted
