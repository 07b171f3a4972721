"""Bits of a store that flip: what is read is what was written, or it is told, or made again.

Each file of a small store is changed bit by bit, and read by what reads it: a part, a commit, a journal and a record by
what `tripos store check` calls, the others by those who use them. Some of these changes are tried on the whole command
too, which must fail, or else every table and report be the same.
"""

from __future__ import annotations

import hashlib
import json
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import tripos
from tests.lengths import ALL, sized
from tests.warehouse.bound import bound
from tests.warehouse.keeping import PRINTS, die, name, sample, score, unit
from tests.warehouse.small_run import rows_of_run, small_plan
from tests.warehouse.test_damaged_stores import say
from tripos.runs.records import media_store
from tripos.view.files import FileCache
from tripos_compiler.language.plan_diff import are_comparable
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger.ledger import read_summary
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.maintenance.check import check_store
from tripos_warehouse.maintenance.compaction import compact
from tripos_warehouse.maintenance.media import (
    ANNOTATIONS,
    damaged_annotations,
    damaged_media,
    read_medium,
    write_document,
)
from tripos_warehouse.maintenance.merging import merge_stores
from tripos_warehouse.report import named_boards
from tripos_warehouse.report.named_boards import stored_leaderboard
from tripos_warehouse.store.bucket.bucket import read_slot, slot_content
from tripos_warehouse.store.bucket.catalog import BucketPart, Catalog, CatalogCommit, read_catalog
from tripos_warehouse.store.commits import read_commit, to_json
from tripos_warehouse.store.derived import StoredIndexes
from tripos_warehouse.store.digests import sealed
from tripos_warehouse.store.journal import read_segment, to_line
from tripos_warehouse.store.parts import verify_part
from tripos_warehouse.store.paths import MARKER, check_marker
from tripos_warehouse.store.schemas import RUN_ENDS, TABLES
from tripos_warehouse.store.store import STORE_FORMAT, Store
from tripos_warehouse.views import derived, view_cache
from tripos_warehouse.views.connect import connect

WORK = "ab" * 16
PAGE = "about.json"
TOLD, AGAIN = "told", "made again"
SHOWN = [table for table in TABLES if table != RUN_ENDS.name]
"""The view `runs` has the ends of runs."""


def large(patch: pytest.MonkeyPatch) -> None:
    """Have a store keep what it keeps of large parts."""
    patch.setattr(derived, "LEAST_BYTES", 0)
    patch.setattr(named_boards, "MANY_BYTES", 0)
    patch.setattr("tripos_warehouse.views.connect.MANY_BYTES", 0)
    patch.setattr("tripos_warehouse.views.connect.LARGE_BYTES", 0)


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A store with one file of each kind, and what is kept of parts that are not large."""
    root = tmp_path_factory.mktemp("bytes") / "results"
    with pytest.MonkeyPatch.context() as patch:
        large(patch)
        fill(root)
        yield root


def fill(root: Path) -> None:
    store = Store.open(root, create=True)
    store.append(bound(rows_of_run(small_plan(), "r1", ("m1",), items=2)), "first")
    store.append(bound(rows_of_run(small_plan(), "r2", ("m2",), items=2, minutes=9)), "second")
    media_store(store).keep(medium_name(), b"an image")
    write_document(store, ANNOTATIONS, "b1.json", sealed({"format": "tripos.annotation/1", "rows": [1, 2.5, "答"]}))
    StoredIndexes(root).put("bm25-0a", bytes(range(200)))
    FileCache(root.parent / "made", root / "cache/view").write("state", PAGE, lambda path: path.write_bytes(b"[0.5]"))
    with open_ledger(store, PRINTS) as ledger:
        work = ledger.work(WORK)
        work.add([name("sample", 1), name("score", 1)])
        work.finish({"asked": 7, "run_id": "r1"})
    tripos.open(root).close()
    stored_leaderboard(store, comparable=are_comparable)
    with connect(store, sums=True):
        pass
    ledger = open_ledger(store, PRINTS)
    for number in (1, 2):
        ledger.keep(unit(number))
    die(ledger)


def medium_name() -> str:
    return hashlib.sha256(b"an image").hexdigest()


def of_parts(files: Any, parts: list[Path], path: Path) -> object:
    """Return the bytes of a file that is kept of a part, if it is taken for one."""
    found = files.read(files.names(parts))
    return {part: kept.read_bytes() for part, kept in found.items()} if path in found.values() else AGAIN


def reader(root: Path, path: Path) -> Callable[[], object]:
    """Return what reads a file: it gives the content, or `AGAIN` where that is made anew, or raises where it tells."""
    below = path.relative_to(root).as_posix()
    store = Store.open(root, create=False, writes=False)
    match below.split("/"):
        case ["parts", *_]:
            part, commit = next(
                (part, commit) for commit in store.commits() for part in commit.parts if part.path == below
            )
            return lambda: verify_part(root, part, commit)
        case ["commits", _]:
            return lambda: to_json(read_commit(path))
        case ["journal", _]:
            return lambda: journal(path)
        case ["media", medium]:
            return lambda: raise_first(damaged_media(store)) or read_medium(store, medium)
        case ["annotations", _]:
            return lambda: raise_first(damaged_annotations(store)) or json.loads(path.read_bytes())["rows"]
        case ["works", _]:
            return lambda: read_summary(path, lambda packed: True) or AGAIN
        case ["indexes", _]:
            return lambda: StoredIndexes(root).get("bm25-0a") or AGAIN
        case ["cache", "view", *_]:
            return lambda: FileCache(root.parent / "made", root / "cache/view").read("state", PAGE) or AGAIN
        case ["cache", "views.json"]:
            return lambda: view_cache.read(root) or AGAIN
        case ["cache", "boards.json"]:
            state = named_boards._state_of(store)
            assert state is not None
            return lambda: named_boards._read(root, state) or AGAIN
        case ["cache", "sums", _]:
            return lambda: of_parts(derived.sum_files(store), store.parts("scores"), path)
        case ["cache", "values", _]:
            return lambda: [
                of_parts(derived.value_files(store, table), store.parts(table), path)
                for table in derived.ENUMERATED_TABLES
            ]
        case ["cache", "keys", kept] if kept.endswith(".json"):
            table = kept.removesuffix(".json")
            files = derived.key_files(store, TABLES[table].key)
            with connect(store) as connection:
                database = connection.database
            return lambda: derived._Keys(database, files, table, []).distinct or AGAIN
        case ["cache", "keys", _]:
            return lambda: [
                of_parts(derived.key_files(store, schema.key), store.parts(table), path)
                for table, schema in TABLES.items()
            ]
        case [only] if only == MARKER:
            return lambda: check_marker(root, MARKER, STORE_FORMAT)
        case ["ticks" | "claims"]:
            return lambda: path.stat().st_size
        case _:
            raise AssertionError(f"nothing reads `{below}`")


def journal(path: Path) -> object:
    kept = read_segment(path)
    if kept.damaged or kept.newer or kept.breaks_off:
        raise StoreError("S0404", "told")
    return kept.lines


def raise_first(errors: Iterator[StoreError]) -> None:
    for error in errors:
        raise error


def flips(content: bytes, chance: random.Random, most: int | None) -> Iterator[tuple[int, bytes]]:
    """Yield contents with one bit changed, and its place: every bit, or `most` of them."""
    places = [*range(8 * len(content))]
    if most is not None and len(places) > most:
        places = chance.sample(places, most)
    for place in places:
        changed = bytearray(content)
        changed[place // 8] ^= 1 << place % 8
        yield place, bytes(changed)


def outcome(read: Callable[[], object], whole: object) -> str:
    """Return whether a change was told, has no effect, or has something made again. Raises `AssertionError`."""
    try:
        found = read()
    except (StoreError, ValueError):
        return TOLD
    if found == whole:
        return "equal"
    without = [each for each in found if each != AGAIN] if isinstance(found, list) else []
    assert found == AGAIN or (isinstance(found, list) and not without), (found, whole)
    return AGAIN


def test_every_bit_of_every_file_that_flips_is_told_or_has_no_effect(template: Path) -> None:
    chance, counts = random.Random(7), Counter[tuple[str, str]]()
    files = sorted(path for path in template.rglob("*") if path.is_file() and path.stat().st_size)
    folders = {path.relative_to(template).parts[0] for path in files}
    assert folders >= {"parts", "commits", "journal", "works", "indexes", "media", "annotations", "cache", MARKER}
    for path in files:
        content = path.read_bytes()
        path.chmod(0o644)
        read = reader(template, path)
        whole = read()
        kind = path.relative_to(template).parts[0]
        slow = path.name == view_cache.NAME  # its reader takes 5 ms: as many bits as there are bytes
        for _, changed in flips(content, chance, sized(8, len(content) if slow else None)):
            path.write_bytes(changed)
            counts[kind, outcome(read, whole)] += 1
        path.write_bytes(content)
    print({f"{kind}: {what}": count for (kind, what), count in sorted(counts.items())})
    assert not counts["parts", "equal"] and not counts["parts", AGAIN]


def contents(root: Path) -> list[object]:
    """Return every table of a store, and what verbs say of it."""
    with connect(Store.open(root, create=False)) as connection:
        tables = [connection.execute(f"from main.{table} order by all").fetchall() for table in SHOWN]
    verbs = (["list", "--json"], ["report", "--json"], ["leaderboard", "--json"])
    return [*tables, *(say(*words, "--store", str(root)).out for words in verbs)]


def test_check_fails_or_all_contents_are_the_same(template: Path, tmp_path: Path) -> None:
    chance, found = random.Random(3), Counter[str]()
    shutil.copytree(template, tmp_path / "results")
    wanted = contents(tmp_path / "results")
    files = sorted(path for path in template.rglob("*") if path.is_file() and path.stat().st_size)
    for number in range(sized(4, 200)):
        shutil.rmtree(tmp_path / "results")
        root = Path(shutil.copytree(template, tmp_path / "results"))
        path = root / chance.choice(files).relative_to(template) if number % 2 else part_of(root, chance)
        path.chmod(0o644)
        [(place, changed)] = flips(path.read_bytes(), chance, 1)
        path.write_bytes(changed)
        if say("store", "check", "--store", str(root)).code != 0:
            found[TOLD] += 1
        else:
            assert contents(root) == wanted, (path.relative_to(root), place)
            found["the same"] += 1
    print(dict(found))
    assert len(found) == 2


def part_of(root: Path, chance: random.Random) -> Path:
    return chance.choice(sorted((root / "parts").glob("*/*.parquet")))


def flip_a_score(root: Path) -> Path:
    """Change a bit of a part of scores, of a row that decodes: the figure is another."""
    part = next(path for path in sorted((root / "parts/scores").iterdir()) if path.name.startswith("first"))
    content = part.read_bytes()
    part.chmod(0o644)
    [(_, changed)] = flips(content[: len(content) // 2], random.Random(1), 1)
    part.write_bytes(changed + content[len(content) // 2 :])
    return part


def test_the_message_says_which_part_it_is_and_what_to_do(template: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(template, tmp_path / "results"))
    part = flip_a_score(root)
    checked = say("store", "check", "--store", str(root))
    assert checked.code == 1
    assert f"error[S0401]: bytes of the part `{part}` have changed since commit `first` listed it" in checked.err
    assert "restore the file from a backup, or delete the commit that lists it" in checked.err
    shown = say("report", "--store", str(root))
    assert "error[S0103]" in shown.err and part.name in shown.err and "left out" in shown.err


@pytest.mark.parametrize("verb", ["compact", "merge into", "merge from", "export"])
def test_what_writes_rows_once_more_refuses_a_part_that_changed(template: Path, tmp_path: Path, verb: str) -> None:
    root = Path(shutil.copytree(template, tmp_path / "results"))
    part = flip_a_score(root)
    other = Store.open(tmp_path / "other", create=True)
    other.append({"scores": [score(9)]})
    match verb:
        case "compact":
            with pytest.raises(StoreError, match=f"S0103: .*{part.name}"):
                compact(Store.open(root, create=False))
        case "merge into":
            with pytest.raises(StoreError, match=f"S0103: .*{part.name}"):
                merge_stores(Store.open(root, create=False), [other])
        case "merge from":
            with pytest.raises(StoreError, match=f"S0103: .*{part.name}"):
                merge_stores(other, [Store.open(root, create=False)])
            said = say("store", "merge", str(root), "--into", str(tmp_path / "all"))
            assert said.code == 1 and part.name in said.err
            scores = Store.open(tmp_path / "all", create=False).rows("scores", [name("score", 1)])
            assert scores == {} or check_store(Store.open(tmp_path / "all", create=False)).damages == ()
        case _:
            said = say("export", "scores", "-o", str(tmp_path / "scores.csv"), "--store", str(root))
            assert part.name in said.err


def test_a_part_without_a_digest_gets_one_when_it_is_compacted(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "results", create=True)
    commit = store.append({"samples": [sample(1)]})
    path = store.root / "commits" / f"{commit.name}.json"
    body = json.loads(path.read_text())
    del body["sha256"], body["parts"][0]["sha256"]
    path.write_text(json.dumps(body))
    old = Store.open(store.root, create=False)
    checked = check_store(old)
    assert old.digests() == {} and (checked.damages, checked.without_digest) == ((), 1)
    assert compact(old) is not None
    assert [*Store.open(store.root, create=False).digests()] == old.parts("samples")


def test_every_bit_of_an_object_that_flips_is_told_or_has_no_effect() -> None:
    """Of the catalog of a bucket, and of a slot of a log. Parts and manifests have their digests in the catalog."""
    part = BucketPart(
        table="runs", path="parts/runs/a.0f.parquet", rows=1, bytes=9, version=1, base=7, sha256="0f" * 32
    )
    commit = CatalogCommit(name="first", written_at=score(1)["created_at"], parts=(part,))
    catalog = Catalog(commits=(commit,), sessions={"a": 3}).following()
    slot = slot_content([to_line(unit(number)) for number in (1, 2)])
    kept = read_slot(7, slot, "logs/a/7").content
    assert kept is not None

    def same_slot(content: bytes) -> None:
        found = read_slot(7, content, "logs/a/7").content
        assert found is not None and found.lines == kept.lines

    def same_catalog(content: bytes) -> None:
        assert read_catalog(content, "s3://b") == catalog

    counts = Counter[str]()
    for content, check in ((catalog.content(), same_catalog), (slot, same_slot)):
        for _, changed in flips(content, random.Random(5), sized(200, None)):
            try:
                check(changed)
                counts["equal"] += 1
            except StoreError:
                counts[TOLD] += 1
        for end in range(len(content)) if ALL else range(0, len(content), 41):
            with pytest.raises(StoreError):
                check(content[:end])
    print(dict(counts))


def test_a_journal_that_is_cut_at_any_byte_keeps_its_whole_lines_and_says_so(tmp_path: Path) -> None:
    store = Store.open(tmp_path / "results", create=True)
    ledger = open_ledger(store, PRINTS)
    for number in (1, 2):
        ledger.keep(unit(number))
    [path] = (store.root / "journal").glob("*.jsonl")
    content = path.read_bytes()
    die(ledger)
    ends = [place + 1 for place, byte in enumerate(content) if byte == 10]
    for end in range(0, len(content), sized(29, 1)):
        path.write_bytes(content[:end])
        kept = read_segment(path)
        # Without its line feed, a line with its checksum is whole.
        lines = sum(each - 1 <= end for each in ends[1:])
        assert len(kept.lines) == lines and not kept.damaged and not kept.newer
        assert kept.breaks_off == (end < ends[0] or (end not in ends and end + 1 not in ends))
