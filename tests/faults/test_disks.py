"""A disk that refuses, wherever it does: the message names the place, and what was kept stays."""

from __future__ import annotations

import errno
import os
import pathlib
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.warehouse.keeping import PRINTS, committed, die, name, unit
from tripos_warehouse.errors import StoreError
from tripos_warehouse.ledger.opening import open_ledger
from tripos_warehouse.store.journal import JournalSegment, segments
from tripos_warehouse.store.store import Store

CAREFUL = ("run", "quiz.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:a", "--json")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path / "store", create=True)


def refuse(number: int, path: str | None = None) -> Callable[..., Any]:
    """Return a function that raises what a disk raises."""

    def refused(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number), path)

    return refused


@pytest.mark.parametrize(
    ("verb", "place", "number"),
    [
        (("check", "quiz.tripos"), "tripos.runs.compilation.find_spec", errno.ENOSPC),
        (("plan", "quiz.tripos"), "tripos_runtime.datasets.data_files.DataFolders.rows", errno.ENOSPC),
        (("list",), "tripos_warehouse.store.store.Store.commits", errno.EDQUOT),
    ],
)
def test_a_full_disk_anywhere_names_the_place(
    verb: tuple[str, ...], place: str, number: int, quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tripos(*CAREFUL).code == 0
    with monkeypatch.context() as patch:
        patch.setattr(place, refuse(number, "/var/tmp/piece"))
        done = tripos(*verb)
    assert done.code == 2
    assert "error[S0102]: the disk is full: `/var/tmp/piece`" in done.err
    assert "free some space" in done.err and "update Tripos" not in done.err and "internal error" not in done.err
    assert tripos(*CAREFUL, "--limit", "1").data["calls"]["asked"] == 0


@pytest.mark.parametrize("verb", [("sql", "select 1", "-o", "out.csv"), ("export", "csv", "-o", "out")])
def test_a_file_without_room_is_named_and_nothing_half_is_left(
    verb: tuple[str, ...], quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert tripos(*CAREFUL).code == 0
    with monkeypatch.context() as patch:
        patch.setattr(pathlib.Path, "replace", refuse(errno.ENOSPC))
        done = tripos(*verb)
    assert done.code == 2
    assert "the disk is full: cannot write `out" in done.err and "free some space" in done.err
    assert not [path for path in Path().rglob("*out*") if path.is_file()]


def test_check_does_without_its_cache_where_the_disk_is_full(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pathlib.Path, "write_text", refuse(errno.ENOSPC))
    monkeypatch.setattr(pathlib.Path, "write_bytes", refuse(errno.ENOSPC))
    assert tripos("check", "quiz.tripos").code == 0


@pytest.mark.parametrize(
    ("number", "words"),
    [(errno.EROFS, "write access"), (errno.EACCES, "permission denied"), (errno.EIO, "mend the disk")],
)
def test_a_store_that_cannot_be_written_says_why(
    number: int, words: str, quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(JournalSegment, "append", refuse(number))
        done = tripos(*CAREFUL)
    assert (done.code, done.data["status"]) == (1, "failed")
    assert "error[S0102]: cannot write to the store" in done.err and words in done.err
    assert tripos(*CAREFUL).code == 0


def test_a_file_that_cannot_take_the_place_of_the_old_one_leaves_it(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("answer.csv").write_text("old", "utf-8")
    assert tripos(*CAREFUL).code == 0
    with monkeypatch.context() as patch:
        patch.setattr(pathlib.Path, "replace", refuse(errno.EIO))
        done = tripos("sql", "select 1", "-o", "answer.csv")
    assert (done.code, "cannot write `answer.csv`" in done.err) == (2, True)
    assert Path("answer.csv").read_text("utf-8") == "old"
    assert not list(Path().glob(".answer*"))


def test_a_journal_that_cannot_be_synced_is_an_error_and_nothing_is_lost(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = open_ledger(store, PRINTS)
    ledger.keep(unit(1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", refuse(errno.EIO))
        with pytest.raises(StoreError, match="S0102"):
            ledger.flush()
    ledger.close()
    assert committed(store, "samples", "sample_id") == [name("sample", 1)]


def test_a_journal_that_is_cut_anywhere_gives_the_lines_that_are_whole(store: Store) -> None:
    """At every byte of its last line, and at each hundredth of the others."""
    ledger = open_ledger(store, PRINTS)
    for number in (1, 2, 3):
        ledger.keep(unit(number))
    [segment] = segments(store.root)
    path = store.root / "journal" / f"{segment}.jsonl"
    whole = path.read_bytes()
    die(ledger)
    last = whole.rstrip(b"\n").rfind(b"\n") + 1
    cuts = {*range(last, len(whole), 97), last, last + 1, len(whole) - 1, len(whole), *range(0, last, 211)}
    for number, cut in enumerate(sorted(cuts)):
        other = Store.open(store.root.parent / f"cut-{number}", create=True)
        (other.root / "journal").mkdir(exist_ok=True)
        (other.root / "journal" / path.name).write_bytes(whole[:cut])
        other.recover()
        # The first line is the header. A line that lacks its line feed alone is whole.
        lines = max(0, whole[: cut + 1].count(b"\n") - 1)
        assert committed(other, "samples", "sample_id") == [name("sample", each) for each in range(1, lines + 1)]
        breaks_off = cut <= whole.index(b"\n") or b"\n" not in (whole[cut - 1 : cut], whole[cut : cut + 1])
        assert [damage.code for damage in other.damages.values()] == ["S0404"] * breaks_off


def test_a_run_makes_no_hard_link(quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "link", refuse(errno.EPERM))
    assert tripos(*CAREFUL).code == 0


def test_names_of_files_differ_in_more_than_case(quiz: Path, tripos: Command) -> None:
    assert tripos(*CAREFUL).code == 0
    paths = [str(path.relative_to("results")) for path in Path("results").rglob("*") if path.is_file()]
    assert len({path.casefold() for path in paths}) == len(paths)


def test_an_interrupt_while_the_report_is_made_is_told_as_one(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    """DuckDB says it in an error of its own. The run is whole: nothing is asked again."""

    def interrupted(*_: object) -> None:
        raise RuntimeError("Query interrupted")

    with monkeypatch.context() as patch:
        patch.setattr("tripos.api.run.Run.keep_report", interrupted)
        done = tripos(*CAREFUL)
    assert (done.code, "interrupted" in done.err, "internal error" in done.err) == (130, True, False)
    again = tripos(*CAREFUL)
    assert (again.code, again.data["calls"]["asked"]) == (0, 0)


def test_ctrl_c_ends_a_query(quiz: Path, tripos: Command) -> None:
    assert tripos(*CAREFUL, "--limit", "1").code == 0
    alarm = threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT))
    alarm.start()
    done = tripos("sql", "select sum(a.range * b.range) from range(10000000) a, range(10000000) b")
    alarm.join()
    assert (done.code, done.err.strip().splitlines()[-1]) == (130, "interrupted")


def test_a_value_that_python_does_not_have_is_printed(quiz: Path, tripos: Command) -> None:
    assert tripos(*CAREFUL, "--limit", "1").code == 0
    query = "select * exclude (interval) from test_all_types()"
    done = tripos("sql", query)
    assert (done.code, "internal error" in done.err) == (0, False), done.err
    for path in (Path("a.csv"), Path("a.json"), Path("a.jsonl")):
        assert tripos("sql", query, "-o", str(path)).code == 0
        assert "value out of range: 2147483646" in path.read_text("utf-8")
    done = tripos("sql", "from test_all_types()", "-o", "all.parquet")
    assert (done.code, "S0202" in done.err) == (2, True)


def test_an_error_of_another_file_is_not_put_down_to_the_spec(
    quiz: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tripos_runtime.datasets.data_files.DataFolders.rows", refuse(errno.EIO, "items.jsonl"))
    done = tripos("check", "quiz.tripos")
    assert "cannot read items.jsonl" in done.err and "cannot read quiz.tripos" not in done.err
