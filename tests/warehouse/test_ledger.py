"""The ledger: what is kept is known, found again and not asked for twice."""

from __future__ import annotations

import random

import pyarrow.parquet as pq
import pytest

from tests.warehouse.keeping import ASKED, PRINTS, SCORED, committed, draft, name, sample, score, unit
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.maintenance.compaction import collect, compact
from tripos_warehouse.store.index import RowIndex, pack
from tripos_warehouse.store.store import Store


def test_statuses_come_in_the_order_of_the_ids(store: Store) -> None:
    store.append({"samples": [sample(1), sample(2, status="refused")]})
    ledger = open_ledger(store, PRINTS)
    ledger.keep({"samples": [sample(3, status="parse_failure")]})
    wanted = [name("sample", number) for number in (3, 9, 2, 1)]
    assert ledger.statuses("samples", wanted) == ["parse_failure", None, "refused", "ok"]
    assert ledger.statuses("samples", []) == []


@pytest.mark.parametrize("flushed", [0, 1, 2])
@pytest.mark.parametrize(
    ("first", "second", "counts"),
    [
        ("ok", "provider_error", "ok"),
        ("provider_error", "ok", "ok"),
        ("refused", "ok", "ok"),
        ("provider_error", "provider_error", "provider_error"),
    ],
)
def test_of_doubles_the_last_counts_that_did_not_fail(
    store: Store, flushed: int, first: str, second: str, counts: str
) -> None:
    ledger = open_ledger(store, PRINTS)
    for place, status in enumerate((first, second)):
        ledger.keep({"samples": [sample(1, status=status, attempts=place)]})
        if place < flushed:
            ledger.flush()
    for each in (ledger, open_ledger(store, PRINTS)) if flushed == 2 else (ledger,):
        assert each.statuses("samples", [name("sample", 1)]) == [counts]
        assert each.rows("samples", [name("sample", 1)])[name("sample", 1)]["status"] == counts


def test_only_results_of_the_wanted_fingerprints_are_known(store: Store) -> None:
    store.append({"samples": [sample(1), sample(2, fingerprint="00" * 16)]})
    wanted = [name("sample", number) for number in (1, 2)]
    assert open_ledger(store, {ASKED}).statuses("samples", wanted) == ["ok", None]
    assert open_ledger(store, {SCORED}).statuses("samples", wanted) == [None, None]
    assert open_ledger(store, set()).statuses("samples", wanted) == [None, None]


def test_a_name_of_any_form_is_exact(store: Store) -> None:
    digest = name("sample", 1)
    names = ["i0", "答", "", digest, "g" * 32, "f" * 31, "a b", "ab", " " * 32, "É" * 16]
    store.append({"samples": [sample(number, sample_id=each) for number, each in enumerate(names)]})
    ledger = open_ledger(store, PRINTS)
    assert ledger.statuses("samples", names) == ["ok"] * len(names)
    assert ledger.statuses("samples", [digest.upper()]) == [None]
    others = [digest.upper(), digest[:-1], digest + "0", f" {digest[1:]}", "i1", "AB"]
    assert ledger.statuses("samples", others) == [None] * len(others)
    found = ledger.rows("samples", [*names, *others])
    assert {key: row["item_id"] for key, row in found.items()} == {each: f"i{n}" for n, each in enumerate(names)}


def test_names_with_an_equal_half_are_told_apart(store: Store) -> None:
    names = [f"{'ab' * 8}{low:016x}" for low in (7, 1, 9, 3)] + [f"{'ff' * 8}{'ff' * 8}"]
    store.append({"samples": [sample(each, sample_id=each) for each in names]})
    ledger = open_ledger(store, PRINTS)
    assert ledger.statuses("samples", names) == ["ok"] * 5
    wrong = [f"{'ab' * 8}{low:016x}" for low in (0, 2, 8, 10)] + [f"{'ff' * 8}{'ff' * 7}fe", "0" * 32]
    assert ledger.statuses("samples", wrong) == [None] * 6


def test_an_index_of_many_small_parts_says_what_a_dictionary_would(store: Store) -> None:
    chance = random.Random(7)
    truth: dict[str, str] = {}
    index = RowIndex("samples", None)
    for part in range(40):
        rows = []
        for _ in range(chance.randrange(1, 30)):
            status = chance.choice(("ok", "provider_error", "refused"))
            row = sample(chance.randrange(200), status=status)
            rows.append(row)
            if status != "provider_error" or truth.get(row["sample_id"], status) == status:
                truth[row["sample_id"]] = status
        store.append({"samples": rows})
        index.load(store.parts("samples")[part:])
    asked = [name("sample", number) for number in range(220)]
    assert index.names_of(index.find(pack(asked)).codes) == [truth.get(each) for each in asked]
    whole = RowIndex("samples", None)
    whole.load(store.parts("samples"))
    assert whole.names_of(whole.find(pack(asked)).codes) == [truth.get(each) for each in asked]
    assert len(whole) == len(truth)


def test_rows_come_whole_from_wherever_they_are(store: Store) -> None:
    store.append({"samples": [sample(number) for number in range(5)]})
    ledger = open_ledger(store, PRINTS)
    ledger.keep({"samples": [sample(5)]})
    ledger.flush()
    ledger.keep({"samples": [sample(6)]})
    wanted = [4, 0, 6, 5, 2]
    found = ledger.rows("samples", [name("sample", number) for number in [*wanted, 99]])
    assert found == {name("sample", number): sample(number) for number in wanted}


def test_rows_open_no_part_that_has_none_of_them(store: Store) -> None:
    for number in range(3):
        store.append({"samples": [sample(number)]})
    ledger = open_ledger(store, PRINTS)
    ledger.statuses("samples", [])
    first, _, last = store.parts("samples")
    first.unlink()
    last.unlink()
    assert list(ledger.rows("samples", [name("sample", 1)])) == [name("sample", 1)]


def test_rows_of_a_part_with_many_groups_come_from_their_own(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tripos_warehouse.store.parts.GROUP_ROWS", 4)
    monkeypatch.setattr("tripos_warehouse.ledger.replies.CACHED_BYTES", 1)
    store.append({"samples": [sample(number) for number in range(30)]})
    assert pq.ParquetFile(store.parts("samples")[0]).num_row_groups == 8
    ledger = open_ledger(store, PRINTS)
    for wanted in ([29, 0, 3, 4, 7, 8], [28, 1], list(range(30))):
        found = ledger.rows("samples", [name("sample", number) for number in wanted])
        assert found == {name("sample", number): sample(number) for number in wanted}


def test_a_draft_is_there_until_its_unit_is_kept(store: Store) -> None:
    ledger = open_ledger(store, PRINTS)
    ledger.keep({"drafts": [draft(1), draft(2), draft(3)]})
    ledger.flush()
    ledger.keep({"samples": [sample(1), sample(2, status="provider_error")]})
    ids = [name("sample", number) for number in (1, 2, 3, 4)]
    assert set(ledger.drafts(ids)) == {name("sample", 2), name("sample", 3)}
    ledger.flush()
    assert ledger.drafts(ids)[name("sample", 3)] == draft(3)


def test_refresh_takes_in_what_another_process_committed(store: Store) -> None:
    mine, other = open_ledger(store, PRINTS), open_ledger(Store.open(store.root, create=False), PRINTS)
    wanted = [name("sample", 1)]
    assert mine.statuses("samples", wanted) == [None]
    assert not mine.refresh()
    other.keep(unit(1))
    mine.refresh()
    assert mine.statuses("samples", wanted) == [None]
    other.flush()
    assert mine.statuses("samples", wanted) == [None]
    assert mine.refresh()
    assert mine.statuses("samples", wanted) == ["ok"]
    assert not mine.refresh()


def test_a_ledger_reads_on_where_another_process_compacts_and_cleans(store: Store) -> None:
    ledger = open_ledger(store, PRINTS)
    for number in range(4):
        ledger.keep(unit(number))
        ledger.flush()
    wanted = [name("sample", number) for number in range(4)]
    assert ledger.statuses("samples", wanted) == ["ok"] * 4
    other = Store.open(store.root, create=False)
    assert compact(other) is not None
    collect(other, -1e12)
    assert len(list((store.root / "parts/samples").iterdir())) == 1
    wanted = [name("sample", number) for number in range(4)]
    assert len(ledger.rows("samples", wanted)) == 4
    assert ledger.refresh() is False
    assert ledger.statuses("samples", wanted) == ["ok"] * 4


def test_a_row_with_a_wrong_column_is_not_taken(store: Store) -> None:
    ledger = open_ledger(store, PRINTS)
    with pytest.raises(StoreError, match="`scores` has no column `colour`"):
        ledger.keep({"samples": [sample(1)], "scores": [score(1, colour="red")]})
    with pytest.raises(StoreError, match="S0105: no table `marks`"):
        ledger.keep({"marks": [{}]})
    assert ledger.flush() is None
    assert ledger.statuses("samples", [name("sample", 1)]) == [None]


def test_a_nullable_column_may_be_left_out(store: Store) -> None:
    ledger = open_ledger(store, PRINTS)
    row = sample(1)
    del row["tokens_reasoning"]
    ledger.keep({"samples": [row]})
    assert ledger.rows("samples", [name("sample", 1)]) == {name("sample", 1): sample(1)}
    ledger.flush()
    with open_ledger(store, PRINTS) as other:
        assert other.rows("samples", [name("sample", 1)]) == {name("sample", 1): sample(1)}


def test_what_a_ledger_committed_is_in_its_index_once_others_commit(store: Store) -> None:
    with open_ledger(store, PRINTS) as ledger, open_ledger(store, PRINTS) as other:
        wanted = [name("sample", 1), name("sample", 2)]
        assert ledger.statuses("samples", wanted) == [None, None]
        ledger.keep({"samples": [sample(1)]})
        ledger.flush()
        assert not ledger.refresh()
        assert ledger.statuses("samples", wanted) == [None, None]  # nobody comes back to it while it is alone
        other.keep({"samples": [sample(2)]})
        other.flush()
        assert ledger.refresh()
        assert ledger.statuses("samples", wanted) == ["ok", "ok"]


def test_a_run_that_is_under_way_shows_to_readers_what_it_has_flushed(store: Store) -> None:
    with open_ledger(store, PRINTS) as ledger:
        ledger.keep(unit(1))
        ledger.flush()
        ledger.keep(unit(2))
        reader = Store.open(store.root, create=False)
        assert committed(reader, "scores", "score_id") == [name("score", 1)]
    assert len(committed(reader, "scores", "score_id")) == 2


def test_the_memory_of_a_ledger_holds_no_row_after_a_flush(store: Store) -> None:
    ledger = open_ledger(store, PRINTS)
    for number in range(3):
        ledger.keep(unit(number))
        ledger.flush()
    assert (ledger._uncommitted_rows, ledger._closed, ledger._batch.rows) == ({}, [], {})


def test_a_reply_that_failed_answers_no_request(store: Store) -> None:
    digest = name("request")
    rows = [
        sample("failed", request_digest=digest, status="provider_error", reply=None),
        sample("kept", request_digest=digest),
    ]
    store.append({"samples": rows})
    ledger = open_ledger(store, PRINTS)
    assert [row["sample_id"] for row, _ in ledger.replies("samples", digest)] == [name("sample", "kept")]
