"""Stores merged into one on a bucket: the rows of a merge into a folder, also where others compact meanwhile."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.bucket.test_store import elsewhere
from tests.conftest import Command
from tests.warehouse.test_merging import asked, content
from tripos_warehouse.errors import StoreError
from tripos_warehouse.maintenance.compaction import compact
from tripos_warehouse.maintenance.merging import merge_stores
from tripos_warehouse.store.bucket.bucket import Bucket, exclusive
from tripos_warehouse.store.store import Store

TIMES = (200, 100, 300)
"""When each laptop asked the same; the second was the first."""


def laptop(folder: Path, at: int) -> Store:
    """Return a store of one item, whose replies differ by when it was asked."""
    store = Store.open(folder / f"laptop{at}", create=True)
    store.append(asked(random.Random(at), "i", "m1", at))
    return store


def rows_of(folder: Path, address: str) -> tuple[list[Store], Store, dict[str, str | None]]:
    """Return stores of laptops, an empty store on a bucket, and what they leave when they are merged into a folder."""
    sources = [laptop(folder, at) for at in TIMES]
    merge_stores(into := Store.open(folder / "merged", create=True), sources)
    return sources, Store.open(address, create=True), content(into)


def test_what_is_merged_into_a_bucket_is_what_is_merged_into_a_folder(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources, target, expected = rows_of(tmp_path, address)
    done = [merge_stores(target, [source]) for source in sources]
    assert any(each.conflicts for each in done)
    assert content(elsewhere(address, monkeypatch, tmp_path, "other")) == expected
    assert not merge_stores(target, sources).added
    assert content(target) == expected


def test_a_merge_begins_anew_where_another_machine_compacted_meanwhile(
    plain: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources, target, _ = rows_of(tmp_path, plain)
    for number in range(3):
        target.append({"run_items": [{"run_id": "r", "scenario": "S", "item_id": str(number)}]})
    merge_stores(Store.open(tmp_path / "merged", create=False), [target])
    merge_stores(target, sources[::2])
    other, publish, tried = elsewhere(plain, monkeypatch, tmp_path, "other"), Bucket.publish, []

    def overtaken(self: Bucket, *given: object) -> object:
        if self is target.bucket:
            tried.append(given)
            if len(tried) == 1:
                assert compact(other) is not None
        return publish(self, *given)  # type: ignore[arg-type]

    monkeypatch.setattr(Bucket, "publish", overtaken)
    merge_stores(target, sources[1:2])
    assert len(tried) == 2, "this merge replaces what is there, since an earlier reply counts"
    found = content(elsewhere(plain, monkeypatch, tmp_path, "third"))
    assert found == content(Store.open(tmp_path / "merged", create=False))


def test_of_two_merges_at_once_one_is_refused(plain: str, tmp_path: Path) -> None:
    sources, target, _ = rows_of(tmp_path, plain)
    assert target.bucket is not None
    with exclusive(target.bucket, "merge"), pytest.raises(StoreError, match="S0406"):
        merge_stores(target, sources)


SPEC = """\
benchmark q "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score said = words(reply.text) > 0
}
measure m = mean(said)
"""


def test_replies_of_a_store_on_a_bucket_are_reused_and_a_laptop_is_merged_into_it(
    plain: str, tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.tripos").write_text(SPEC, "utf-8")
    Path("items.jsonl").write_text("".join(f'{{"question": "{n}?"}}\n' for n in "abc"), "utf-8")
    run = ("run", "q.tripos", "--model", "mock/careful")
    assert tripos(*run, "--store", plain, "--limit", "2").code == 0
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "student"))
    done = tripos(*run, "--store", "mine", "--reuse", plain)
    assert (done.code, "1 call asked, 2 reused" in done.err) == (0, True), done.err
    told = tripos("store", "merge", "mine", "--into", plain)
    assert (told.code, "1 row of samples added" in told.out) == (0, True), told
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "third"))
    assert "0 calls asked" in tripos(*run, "--store", plain).err
