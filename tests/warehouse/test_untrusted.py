"""Stores of somebody else: no path in one of their files leads out of the folder, whatever reads it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tripos.cli.main import run_command
from tripos_warehouse.errors import StoreError
from tripos_warehouse.maintenance.check import check_store
from tripos_warehouse.maintenance.compaction import collect, compact
from tripos_warehouse.store.paths import open_plain, part_path, read_plain
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

Build = Callable[..., dict[str, list[dict[str, Any]]]]
LONG_AGO = time.time() - 10 * 24 * 3600

OUTSIDE = ["../thesis.docx", "parts/../../thesis.docx", "parts/scores/../../../thesis.docx", "{folder}/thesis.docx"]
SHAPED = [
    *OUTSIDE,
    "parts/scores/..",
    "parts/scores/thesis.docx",
    "parts/samples/a.parquet",
    "parts/scores/*.parquet",
    "parts/scores/a/b.parquet",
    "parts//scores/a.parquet",
    "parts/scores/a.parquet\n",
    "parts/scores/a\0.parquet",
    "parts\\scores\\a.parquet",
    "commits/a.parquet",
    "",
]


@pytest.fixture
def thesis(tmp_path: Path) -> Path:
    path = tmp_path / "thesis.docx"
    path.write_bytes(b"five years")
    os.utime(path, (LONG_AGO, LONG_AGO))
    return path


def old(path: Path) -> Path:
    os.utime(path, (LONG_AGO, LONG_AGO), follow_symlinks=False)
    return path


def commit(store: Store, name: str, paths: list[str], **more: object) -> None:
    """A commit file as somebody else may write it."""
    parts = [{"table": "scores", "path": path, "rows": 1, "bytes": 10, "version": 5} for path in paths]
    body = {"format": "tripos.commit/2", "name": name, "written_at": "2026-03-01T08:00:00+00:00", "parts": parts}
    old_path = store.root / "commits" / f"{name}.json"
    old_path.write_text(json.dumps({**body, **more}))
    old(old_path)


def bait(store: Store, path: str) -> None:
    """A compaction that replaced a commit, which lists `path`: what `gc` takes away."""
    commit(store, "20260301T080000000000-0123456789ab", [path])
    commit(store, "compaction-000001", [], replaces=["20260301T080000000000-0123456789ab"])


@pytest.mark.parametrize("path", OUTSIDE)
def test_gc_removes_nothing_outside_of_the_store(store: Store, thesis: Path, path: str) -> None:
    bait(store, path.format(folder=thesis.parent))
    with pytest.raises(StoreError, match=r"S0402: .*is not parts/scores/NAME.parquet"):
        collect(Store.open(store.root, create=False), 0.0)
    assert thesis.read_bytes() == b"five years"


@pytest.mark.parametrize("path", SHAPED)
def test_no_verb_takes_a_path_that_is_not_one_of_a_part(store: Store, thesis: Path, path: str) -> None:
    bait(store, path.format(folder=thesis.parent))
    again = Store.open(store.root, create=False)
    assert [damage.code for damage in check_store(again).damages] == ["S0402"]
    for verb in (compact, collect):
        with pytest.raises(StoreError, match="S0402"):
            verb(again)
    # Who reads only what counts does not read a commit that was replaced.
    assert [each.name for each in again.commits()] == ["compaction-000001"]
    assert not any(again.files().values())
    (store.root / "commits" / "compaction-000001.json").unlink()
    again = Store.open(store.root, create=False)
    for verb in (compact, collect, connect, Store.files, Store.commits):
        with pytest.raises(StoreError, match="S0402"):
            verb(again)
    assert thesis.read_bytes() == b"five years"


def test_a_part_that_is_a_link_is_not_read(store: Store, tmp_path: Path, run_rows: Build) -> None:
    store.append(run_rows("r1"))
    [part] = store.parts("scores")
    elsewhere = tmp_path / "elsewhere.parquet"
    part.rename(elsewhere)
    part.symlink_to(elsewhere)
    again = Store.open(store.root, create=False)
    assert [damage.code for damage in check_store(again).damages] == ["S0401"]
    for verb in (compact, connect, Store.files):
        with pytest.raises(StoreError, match=r"S0103: .*no regular file"):
            verb(again)


def test_a_part_that_is_a_pipe_is_not_waited_for(store: Store, run_rows: Build) -> None:
    store.append(run_rows("r1"))
    [part] = store.parts("scores")
    part.unlink()
    os.mkfifo(part)
    with pytest.raises(StoreError, match="S0103"):
        connect(Store.open(store.root, create=False))


@pytest.mark.parametrize(
    "name", ["parts", "parts/scores", "parts/mine", "commits", "journal", "works", "indexes", "cache"]
)
def test_a_folder_that_is_a_link_closes_the_store(store: Store, tmp_path: Path, name: str) -> None:
    home = tmp_path / "home"
    (home / "below").mkdir(parents=True)
    for kept in (home / "letter.txt", home / "data.parquet", home / "below" / "letter.txt"):
        kept.write_text("dear")
        old(kept)
    folder = store.root / name
    if folder.is_dir():
        folder.rename(tmp_path / "moved")
    folder.symlink_to(home)
    with pytest.raises(StoreError, match="S0107"):
        Store.open(store.root, create=False)
    with suppress(StoreError):  # it was opened before the link was there
        collect(store, 0.0)
    assert sorted(path.name for path in home.rglob("*.*")) == ["data.parquet", "letter.txt", "letter.txt"]


@pytest.mark.parametrize("name", ["ticks", "claims", "tripos-store.json"])
def test_a_file_that_is_a_link_is_not_written(store: Store, tmp_path: Path, name: str) -> None:
    mine = tmp_path / "mine"
    mine.write_text("keep")
    (store.root / name).unlink(missing_ok=True)
    (store.root / name).symlink_to(mine)
    with pytest.raises(StoreError, match="S0107"):
        Store.open(store.root, create=False)
    assert mine.read_text() == "keep"


def test_the_folder_of_a_store_itself_may_lie_behind_a_link(store: Store, tmp_path: Path, run_rows: Build) -> None:
    (tmp_path / "link").symlink_to(store.root)
    again = Store.open(tmp_path / "link", create=False)
    again.append(run_rows("r1"))
    assert len(store.parts("scores")) == 1


@pytest.mark.parametrize("verb", [["gc"], ["compact"], ["check"]])
def test_the_verbs_of_the_store_end_with_a_code(
    store: Store, thesis: Path, verb: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    bait(store, str(thesis))
    assert run_command(["store", *verb, "--store", str(store.root)]) in (1, 2)
    assert "error[S0402]" in capsys.readouterr().err
    assert thesis.exists()


def test_a_compaction_that_replaces_itself_hides_nothing(store: Store) -> None:
    commit(store, "compaction-000001", [], replaces=["compaction-000001"])
    assert [damage.code for damage in check_store(store).damages] == ["S0402"]


def test_a_path_of_a_part_is_that_of_its_table() -> None:
    assert part_path("scores", "parts/scores/20260301T08-0a.0f.parquet") == "parts/scores/20260301T08-0a.0f.parquet"
    with pytest.raises(ValueError, match="is not parts/samples/NAME"):
        part_path("samples", "parts/scores/a.parquet")


def test_only_a_regular_file_is_opened(tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(b"abc")
    assert read_plain(plain, 3) == b"abc"
    with pytest.raises(OSError, match="more than 2 bytes"):
        read_plain(plain, 2)
    (tmp_path / "link").symlink_to(plain)
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "link", tmp_path / "pipe", Path("/dev/zero"), tmp_path):
        with pytest.raises(OSError), open_plain(path):
            pass
