"""Merging stores: every row once, in any order, again and again, and no score about a reply that does not count."""

from __future__ import annotations

import itertools
import random
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.lengths import sized
from tripos_compiler.plan import digest
from tripos_runtime.asking.ledger import judgement_id, sample_id, score_id
from tripos_warehouse.errors import StoreError
from tripos_warehouse.maintenance.check import check_store
from tripos_warehouse.maintenance.compaction import compact
from tripos_warehouse.maintenance.merging import DependentRows, Place, RowCopy, merge_stores
from tripos_warehouse.store.parts import open_part
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store

START = datetime(2026, 1, 1, tzinfo=UTC)
HINT, REPLY, JUDGE, SCORE, WORDS = (digest([name]) for name in ("hint", "reply", "judge", "score", "words"))
EMPTY: dict[str, Any] = {
    "status": "ok",
    "attempts": 1,
    "context": {},
    "benchmark": "b",
    "scenario": "S",
    "messages": "[]",
}


def row(table: str, at: int, **values: Any) -> dict[str, Any]:
    """Return a row with whatever its table needs."""
    every = {**EMPTY, "binding": "x", "run_id": f"run{at}", "created_at": START + timedelta(seconds=at), **values}
    schema = TABLES[table].schema
    blank = {"string": "", "int64": 0}
    given = {name: every.get(name) for name in schema.names if name in every}
    return {
        field.name: given.get(field.name, None if field.nullable else blank.get(str(field.type), ""))
        for field in schema
    }


def asked(rng: random.Random, item: str, model: str, at: int) -> dict[str, list[dict[str, Any]]]:
    """Return what a run of two steps, a judge and two scores keeps of an item; it may have ended early."""
    rows: dict[str, list[dict[str, Any]]] = {}
    replies = f"hint {rng.randint(1, 2)}", f"reply {rng.randint(1, 2)}", f"verdict {rng.randint(1, 2)}"
    hint = sample_id(HINT, item, "helper", 0, [])
    reply = sample_id(REPLY, item, model, 0, [hint])
    verdict = judgement_id(JUDGE, [reply], "judge")
    made = [
        ("samples", {"sample_id": hint, "fingerprint": HINT, "model": "helper", "step": "hint", "reply": replies[0]}),
        ("samples", {"sample_id": reply, "fingerprint": REPLY, "model": model, "step": "reply", "reply": "".join(replies[:2])}),
        ("judgements", {"judgement_id": verdict, "sample_id": reply, "fingerprint": JUDGE, "evaluator": "judge", "reply": "".join(replies)}),
        ("scores", {"score_id": score_id(SCORE, [reply], "m", "judge"), "sample_id": reply, "judgement_id": verdict,
                    "fingerprint": SCORE, "metric": "m", "evaluator": "judge", "model": model, "error": "".join(replies), "status": "scored"}),
        ("scores", {"score_id": score_id(WORDS, [hint, reply], "w", None), "sample_id": hint, "fingerprint": WORDS,
                    "metric": "w", "model": model, "error": "".join(replies[:2]), "status": "scored"}),
    ]  # fmt: skip
    kept = made[: rng.randint(1, len(made))]
    failed = rng.random() < 0.2
    for number, (table, values) in enumerate(kept):
        last = failed and number == len(kept) - 1 and table == "samples"
        more = {"status": "provider_error", "reply": None, "error": "R0111 x"} if last else {}
        rows.setdefault(table, []).append(row(table, at + number, item_id=item, **(values | more)))
    return rows


def write(folder: Path, name: str, seed: int) -> Store:
    """Return a store of a laptop that ran some items at some time."""
    rng = random.Random(seed)
    store = Store.open(folder / name, create=True)
    for item in ("i", "j", "k"):
        for model in ("m1", "m2"):
            if rng.random() < 0.7:
                store.append(asked(rng, item, model, rng.randint(0, 10_000) * 10))
    # The hint of an item is asked once in a store, so that its second model has the first one's.
    return one_hint_an_item(store, folder / f"{name}-whole")


def one_hint_an_item(store: Store, to: Path) -> Store:
    """Return the store as a ledger would have kept it: what has a name is not asked again."""
    kept = Store.open(to, create=True)
    seen: dict[str, str] = {}
    for commit in store.commits():
        rows = {part.table: _rows(store.root / part.path) for part in commit.parts}
        hints = [each for each in rows.get("samples", []) if each["step"] == "hint"]
        told = {each["sample_id"]: each["reply"] for each in hints if each["status"] == "ok"}
        if any(seen.get(name, text) != text for name, text in told.items()) or len(told) < len(hints):
            continue
        seen |= told
        kept.append(rows)
    return kept


def _rows(path: Path) -> list[dict[str, Any]]:
    with open_part(path) as file:
        return list(file.read().to_pylist(maps_as_pydicts="strict"))


def content(store: Store) -> dict[str, str | None]:
    """Return the digest of every table."""
    found = check_store(store)
    assert not found.damages, found.damages
    return {each.name if hasattr(each, "name") else each.table: each.digest for each in found.tables}


def table(store: Store, name: str) -> list[dict[str, Any]]:
    """Return the rows of a table."""
    return [each for path in store.parts(name) for each in _rows(path)]


def merged(folder: Path, name: str, sources: Sequence[Store]) -> Store:
    """Return a new store with the others merged into it, one after the other."""
    target = Store.open(folder / name, create=True)
    for source in sources:
        merge_stores(target, [source])
    return target


@settings(max_examples=sized(1, 60), deadline=None)
@given(seeds=st.lists(st.integers(0, 10**6), min_size=2, max_size=sized(2, 3), unique=True))
def test_any_order_gives_the_same_rows_and_merging_again_adds_none(seeds: list[int]) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        stores = [write(folder, f"laptop{seed}", seed) for seed in seeds]
        whole = Store.open(folder / "whole", create=True)
        merge_stores(whole, stores)
        expected = content(whole)
        for place, order in enumerate(itertools.permutations(stores)):
            merge_stores(at_once := Store.open(folder / f"order{place}", create=True), order)
            assert content(at_once) == expected
            # One after the other, what built on a reply that did not count at the time is gone for good.
            assert_consistent(each := merged(folder, f"apart{place}", order))
            assert hints(each) == hints(whole)
        before = {path.name for path in (whole.root / "commits").iterdir()}
        for sources in ([stores[0]], stores):
            done = merge_stores(whole, sources)
            assert (done.added, {path.name for path in (whole.root / "commits").iterdir()}) == ({}, before)
        compact(whole)
        merge_stores(whole, stores)
        assert content(whole) == expected
        assert_consistent(whole)


def hints(store: Store) -> dict[str, str]:
    """Return the replies that build on no other, by name."""
    rows = (each for each in table(store, "samples") if each["step"] == "hint" and each["status"] == "ok")
    return {each["sample_id"]: each["reply"] for each in rows}


def assert_consistent(store: Store) -> None:
    """Every row is about the replies that the store has: their texts are the beginning of its own."""
    samples = {each["sample_id"]: each for each in table(store, "samples")}
    verdicts = {each["judgement_id"]: each for each in table(store, "judgements")}
    assert len(samples) == len(table(store, "samples"))
    for each in samples.values():
        if each["step"] == "reply" and each["status"] == "ok":
            hint = samples[sample_id(HINT, each["item_id"], "helper", 0, [])]
            assert each["reply"].startswith(hint["reply"])
    for each in verdicts.values():
        assert each["reply"].startswith(samples[each["sample_id"]]["reply"])
    for each in table(store, "scores"):
        if each["metric"] == "m":
            assert each["error"] == verdicts[each["judgement_id"]]["reply"]
        else:
            reply = samples[sample_id(REPLY, each["item_id"], each["model"], 0, [each["sample_id"]])]
            assert each["error"] == reply["reply"]


def test_what_only_the_later_laptop_graded_is_left_out_with_its_reply(tmp_path: Path) -> None:
    first, later = (Store.open(tmp_path / each, create=True) for each in ("first", "later"))
    first.append(asked(random.Random(100), "i", "m1", 100))
    later.append(asked(random.Random(300), "i", "m1", 300))
    assert (len(table(first, "judgements")), len(table(later, "judgements"))) == (0, 1)
    for name, sources in (("one", [first, later]), ("two", [later, first])):
        whole = Store.open(tmp_path / name, create=True)
        done = merge_stores(whole, sources)
        assert done.left_out == {"samples": 2, "judgements": 1, "scores": 1}
        assert content(whole) == content(first)


def test_of_equal_replies_and_grades_the_time_that_decides_is_kept_for_a_third_store(tmp_path: Path) -> None:
    def store(at: int, reply: str, value: float) -> Store:
        made = Store.open(tmp_path / f"laptop{at}", create=True)
        sample = sample_id(HINT, "i", "helper", 0, [])
        hint = {"sample_id": sample, "item_id": "i", "fingerprint": HINT, "model": "helper", "step": "hint"}
        person = {"score_id": score_id(SCORE, [sample], "m", "human/anna"), "sample_id": sample, "metric": "m"}
        person |= {
            "evaluator": "human/anna",
            "fingerprint": SCORE,
            "model": "helper",
            "status": "scored",
            "item_id": "i",
        }
        rows = {
            "samples": [row("samples", 1000 - at, **hint, reply=reply)],
            "scores": [row("scores", at, **person, value=value)],
        }
        made.append(rows)
        return made

    stores = [store(100, "same", 7.0), store(300, "same", 7.0), store(200, "other", 4.0)]
    for number, order in enumerate(itertools.permutations(stores)):
        whole = merged(tmp_path, f"order{number}", order)
        assert [each["reply"] for each in table(whole, "samples")] == ["same"]
        assert [each["value"] for each in table(whole, "scores")] == [7.0]


def test_two_stores_of_which_each_outdoes_what_the_other_may_build_on_are_merged_all_the_same() -> None:
    """Of results whose origin nobody knows: each store lost a reply to the other, so nothing of them counts."""
    held = [
        RowCopy(Place(store, Path(f"{store}/{name}"), 0), "samples", name, f"{store}", False, False, (False, at, f"{store}"),
             {"item_id": "i", "fingerprint": "f", "model": "m", "sample_number": 0})
        for store, name, at in ((0, "x", 2), (1, "x", 1), (0, "z", 1), (1, "z", 2))
    ]  # fmt: skip
    losses = DependentRows(held)
    losses._origins = {row.place: None for row in held}
    assert losses.find() == held


def test_a_reply_replaces_a_failure_and_the_earliest_reply_counts(tmp_path: Path) -> None:
    name = sample_id(HINT, "i", "helper", 0, [])
    told = {"sample_id": name, "item_id": "i", "fingerprint": HINT, "model": "helper", "step": "hint"}
    stores = []
    for place, (at, status, reply) in enumerate(((1, "provider_error", None), (9, "ok", "late"), (5, "ok", "early"))):
        stores.append(Store.open(tmp_path / str(place), create=True))
        stores[-1].append({"samples": [row("samples", at, **told, status=status, reply=reply)]})
    done = merge_stores(stores[0], stores[1:])
    assert [each["reply"] for each in table(stores[0], "samples")] == ["early"]
    assert done.conflicts == 1
    assert [each["reply"] for each in table(stores[1], "samples")] == ["late"]  # it stays as it is


def test_a_store_that_is_named_twice_is_merged_once(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "store", create=True)
    store.append(asked(random.Random(1), "i", "m1", 1))
    once, twice = (Store.open(tmp_path / name, create=True) for name in ("once", "twice"))
    assert merge_stores(twice, [store, store]) == merge_stores(once, [store])
    assert len(table(twice, "samples")) == len(table(store, "samples"))


def test_of_what_a_person_says_the_latest_counts(tmp_path: Path) -> None:
    stores = []
    for place, (at, value) in enumerate(((3, 1.0), (1, 5.0))):
        stores.append(Store.open(tmp_path / str(place), create=True))
        given_ = {
            "score_id": "s",
            "sample_id": "x",
            "item_id": "i",
            "evaluator": "human/anna",
            "metric": "m",
            "model": "m1",
        }
        stores[-1].append({"scores": [row("scores", at, **given_, value=value, status="scored", fingerprint=SCORE)]})
    merge_stores(stores[1], stores[:1])
    assert [each["value"] for each in table(stores[1], "scores")] == [1.0]


def test_runs_of_one_name_that_differ_are_refused_and_nothing_is_written(tmp_path: Path) -> None:
    stores = []
    for place, version in enumerate(("1.0.0", "2.0.0")):
        listed = {"plan": "{}", "roles": "{}", "options": "{}", "fingerprints": [], "models": [], "scenarios": []}
        values = {**listed, "run_id": "r", "items_of": "r", "version": version, "started_at": START}
        stores.append(Store.open(tmp_path / str(place), create=True))
        stores[-1].append({"runs": [row("runs", 1, **values)]})
    before = content(stores[0])
    with pytest.raises(StoreError, match="different runs of the name `r`"):
        merge_stores(stores[0], stores[1:])
    assert content(stores[0]) == before
