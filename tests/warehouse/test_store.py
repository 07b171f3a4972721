"""The store: what is committed is whole, what is not is invisible."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import obstore.exceptions
import pyarrow.parquet as pq
import pytest

from tests.warehouse.bound import bound
from tests.warehouse.keeping import sample
from tests.warehouse.rewriting import change_parts
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store import commits, store as store_module
from tripos_warehouse.store.paths import MARKER
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

Build = Callable[..., dict[str, list[dict[str, Any]]]]

EMPTY = {
    "batches",
    "promotions",
    "notes",
    "conditions",
    "drafts",
    "comparisons",
    "measures",
    "run_slots",
    "slots",
    "turns",
    "vectors",
}
"""Tables that the planted rows leave empty."""


@pytest.fixture
def run_rows(run_rows: Build) -> Build:
    """The rows of a run, each of which listed its own items."""

    def build(run_id: str, *args: Any, **options: Any) -> dict[str, list[dict[str, Any]]]:
        rows = run_rows(run_id, *args, **options)
        return {**rows, "runs": [{"items_of": run_id, **row} for row in rows["runs"]]}

    return build


def test_rows_come_back_as_they_were_written(store: Store, run_rows: Build) -> None:
    rows = run_rows("r1")
    store.append(rows)
    nothing = dict.fromkeys(TABLES["samples"].schema.names)
    wanted = {row["sample_id"]: {**nothing, **row} for row in bound(rows)["samples"]}
    assert Store.open(store.root, create=False).rows("samples", wanted) == wanted


def test_only_the_named_columns_and_the_known_ids_come_back(store: Store, run_rows: Build) -> None:
    rows = run_rows("r1")
    store.append(rows)
    first = rows["judgements"][0]
    found = store.rows("judgements", [first["judgement_id"], "nobody"], columns=["reply"])
    assert found == {first["judgement_id"]: {"reply": "{}"}}


def test_one_commit_makes_all_tables_visible(store: Store, run_rows: Build) -> None:
    commit = store.append(run_rows("r1"))
    assert {part.table for part in commit.parts} == set(TABLES) - EMPTY
    assert [path.name for path in (store.root / "commits").iterdir()] == [f"{commit.name}.json"]
    assert all(len(store.parts(table)) == 1 for table in set(TABLES) - EMPTY)


def test_parts_without_a_commit_and_rubbish_are_invisible(store: Store, run_rows: Build) -> None:
    store.append(run_rows("r1"))
    [part] = store.parts("scores")
    (part.parent / "orphan.parquet").write_bytes(part.read_bytes())
    (part.parent / ".half.parquet.tmp").write_bytes(b"half")
    (store.root / "commits" / "half.json#1").write_bytes(b"{")
    again = Store.open(store.root, create=False)
    assert again.parts("scores") == [part]


def test_a_name_commits_once(store: Store, run_rows: Build) -> None:
    first = store.append({"scores": run_rows("r1")["scores"]}, name="unit-7")
    second = store.append({"scores": run_rows("r1")["scores"]}, name="unit-7")
    assert not first.repeated
    assert second.repeated
    assert second.parts == first.parts
    assert len(list((store.root / "parts/scores").iterdir())) == 1


def test_who_loses_the_race_for_a_name_leaves_nothing_behind(
    store: Store, run_rows: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = {"scores": run_rows("r1")["scores"]}
    write = store_module.write_part

    def other_is_faster(*args: Any) -> Any:
        monkeypatch.setattr(store_module, "write_part", write)
        Store.open(store.root, create=False).append(rows, name="unit-7")
        return write(*args)

    monkeypatch.setattr(store_module, "write_part", other_is_faster)
    assert store.append(rows, name="unit-7").repeated
    assert list((store.root / "parts/scores").iterdir()) == store.parts("scores")


def test_a_name_that_is_no_file_name_is_a_bug(store: Store) -> None:
    with pytest.raises(ValueError, match="not a commit name"):
        store.append({}, name="../evil")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"item_id": "i", "colour": "red"}, "`run_items` has no column `colour` (value `'red'`)"),
        ({"item_id": 7}, "`run_items.item_id` takes string, not `7`"),
        ({"item_id": None}, "`run_items.item_id` must have a value, not `None`"),
        ({}, "a row of `run_items` lacks the column `item_id`"),
    ],
)
def test_a_wrong_row_is_named(store: Store, row: dict[str, Any], message: str) -> None:
    with pytest.raises(StoreError) as caught:
        store.append({"run_items": [{"run_id": "r", "scenario": "QA"} | row]})
    assert (caught.value.code, caught.value.message) == ("S0105", message)
    assert store.commits() == []


@pytest.mark.parametrize(
    ("column", "value"),
    [("created_at", datetime(2026, 1, 1)), ("value", True), ("value", "7"), ("created_at", 5)],
)
def test_a_value_of_a_wrong_kind_is_refused(store: Store, run_rows: Build, column: str, value: Any) -> None:
    rows = run_rows("r1")["scores"]
    rows[3][column] = value
    with pytest.raises(StoreError, match=rf"`scores\.{column}` takes"):
        store.append({"scores": rows})


def test_a_lone_surrogate_in_a_reply_does_not_stop_a_run(store: Store, run_rows: Build) -> None:
    rows = run_rows("r1")["samples"][:1]
    rows[0]["reply"] = "a\ud800b"
    store.append({"samples": rows})
    [row] = store.rows("samples", [rows[0]["sample_id"]]).values()
    assert row["reply"] == "a\ufffdb"


def test_no_store_at_a_path_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(StoreError) as caught:
        Store.open(tmp_path / "nowhere", create=False)
    assert caught.value.code == "S0101"
    assert not (tmp_path / "nowhere").exists()


def test_creating_a_store_twice_changes_nothing(store: Store, run_rows: Build) -> None:
    store.append(run_rows("r1"))
    assert len(Store.open(store.root, create=True).commits()) == 1


@pytest.mark.parametrize(
    ("number", "words"), [(errno.ENOSPC, "the disk is full"), (errno.EACCES, "permission denied"), (errno.EIO, "Input")]
)
def test_a_disk_that_refuses_a_part_keeps_earlier_commits(
    store: Store, run_rows: Build, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    store.append(run_rows("r1"))
    before = sorted(store.root.rglob("*"))

    def refuse(table: Any, file: Any, **_: Any) -> None:
        file.write(b"half a part")
        raise OSError(number, "Input/output error")

    monkeypatch.setattr(pq, "write_table", refuse)
    with pytest.raises(StoreError, match=words) as caught:
        store.append(run_rows("r2"))
    assert caught.value.code == "S0102"
    assert "everything committed so far is kept" in caught.value.hint
    assert sorted(store.root.rglob("*")) == before
    assert sum(pq.read_metadata(path).num_rows for path in store.parts("samples")) == 8


def test_a_disk_that_refuses_the_commit_leaves_no_part(
    store: Store, run_rows: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise obstore.exceptions.GenericError("No space left on device\n\nDebug source: …")

    monkeypatch.setattr(commits.obstore, "put", refuse)
    with pytest.raises(StoreError, match=r"S0102: .*the disk is full"):
        store.append(run_rows("r1"))
    assert list((store.root / "parts/scores").iterdir()) == []


def test_a_part_that_is_gone_or_cut_short_is_named(store: Store, run_rows: Build) -> None:
    store.append(run_rows("r1"))
    [part] = store.parts("scores")
    part.chmod(0o644)
    part.write_bytes(part.read_bytes()[:-7])
    with pytest.raises(StoreError, match=f"S0103: .*{part.name}.*bytes, the file has"):
        store.parts("scores")
    part.unlink()
    with pytest.raises(StoreError, match=f"S0103: .*{part.name}.*No such file"):
        store.parts("scores")


def test_a_part_of_rubbish_is_named(store: Store, run_rows: Build) -> None:
    store.append(run_rows("r1"))
    [part] = store.parts("samples")
    part.chmod(0o644)
    part.write_bytes(b"x" * part.stat().st_size)
    with pytest.raises(StoreError, match=f"S0103: .*{part.name}"):
        store.rows("samples", ["any"])


def test_a_damaged_commit_is_named(store: Store) -> None:
    (store.root / "commits" / "broken.json").write_text("{")
    with pytest.raises(StoreError, match=r"S0402: .*broken.json"):
        store.commits()


def test_a_newer_store_commit_or_table_is_refused(store: Store, run_rows: Build) -> None:
    commit = store.append(run_rows("r1"))
    path = store.root / "commits" / f"{commit.name}.json"
    change_parts(path, lambda part: part.update(version=part["version"] + 1))
    with pytest.raises(StoreError, match=f"S0104: `scores` has version {TABLES['scores'].version + 1}"):
        Store.open(store.root, create=False).parts("scores")
    path.write_text(json.dumps({"format": "tripos.commit/9"}))
    with pytest.raises(StoreError, match=r"S0104: .*tripos.commit/9"):
        Store.open(store.root, create=False).commits()
    (store.root / MARKER).write_text('{"format":"tripos.store/2"}')
    with pytest.raises(StoreError, match=r"S0104: .*tripos.store/2"):
        Store.open(store.root, create=False)


def test_parts_are_plain_parquet_with_dictionaries_where_values_repeat(store: Store, run_rows: Build) -> None:
    store.append(run_rows("r1"))
    [part] = store.parts("samples")
    group = pq.ParquetFile(part).metadata.row_group(0)
    columns = [group.column(index) for index in range(group.num_columns)]
    encoded = {column.path_in_schema for column in columns if column.has_dictionary_page}
    assert encoded == set(TABLES["samples"].repeating)
    assert {column.compression for column in columns} == {"ZSTD"}


def test_a_condition_sees_which_texts_are_missing_where_all_others_are_one_text(store: Store) -> None:
    texts = [field.name for field in TABLES["samples"].schema if field.nullable and field.type == "string"]
    assert {"adopted_from", "error", "reply"} <= {*texts}
    store.append(
        {"samples": [sample(number, **dict.fromkeys(texts, "one" if number < 2 else None)) for number in range(4)]}
    )
    with connect(store) as connection:
        for column in texts:
            for condition in ("{} is null", "{} is not null", "coalesce({}, '') = ''", "{} = 'one'"):
                query = f"select count(*) from main.samples where {condition.format(column)}"
                assert connection.execute(query).fetchall() == [(2,)], query
