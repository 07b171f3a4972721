"""`tripos fmt`: files, folders, standard input, and what it leaves alone."""

from __future__ import annotations

import io
import os
import shutil
import stat
import sys
from pathlib import Path

import pytest

from tests.conftest import Command
from tripos.runs.compilation import find_spec
from tripos_compiler.editing import formatter as formatting
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.store import Store

ROOT = Path(__file__).parents[2]
UNTIDY = "measure a=mean( x )\nmeasure bc=1\n"
TIDY = "measure a  = mean(x)\nmeasure bc = 1\n"
BROKEN = "measure a = (\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a file that is untidy, one that is not and one that is no spec; it is the working directory."""
    (tmp_path / "b.tripos").write_text(UNTIDY, "utf-8")
    (tmp_path / "tidy.tripos").write_text(TIDY, "utf-8")
    (tmp_path / "notes.txt").write_text(UNTIDY, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def test_files_and_folders_are_formatted_and_named(folder: Path, tripos: Command) -> None:
    (folder / "a" / "deep").mkdir(parents=True)
    (folder / "a" / "deep" / "z.tripos").write_text(UNTIDY, "utf-8")
    os.utime(folder / "tidy.tripos", (1, 1))
    done = tripos("fmt", ".", "b.tripos")
    assert (done.code, done.out, done.err) == (0, "formatted a/deep/z.tripos\nformatted b.tripos\n", "")
    assert (folder / "b.tripos").read_text("utf-8") == TIDY
    assert (folder / "notes.txt").read_text("utf-8") == UNTIDY
    assert (folder / "tidy.tripos").stat().st_mtime == 1, "a tidy file is written again"


def test_check_names_what_would_change_and_exits_1(folder: Path, tripos: Command) -> None:
    done = tripos("fmt", "--check", ".")
    assert (done.code, done.out, done.err) == (1, "would format b.tripos\n", "")
    done = tripos("fmt", "--check", "--diff", ".")
    assert (done.code, done.err) == (1, "would format b.tripos\n")
    assert done.out.startswith("--- b.tripos\n") and "would" not in done.out
    assert (folder / "b.tripos").read_text("utf-8") == UNTIDY
    done = tripos("fmt", "--check", "tidy.tripos")
    assert (done.code, done.out, done.err) == (0, "", "")


def test_diff_shows_what_would_change_and_changes_nothing(folder: Path, tripos: Command) -> None:
    (folder / "b.tripos").write_text("role a\nmeasure a=1", "utf-8")
    done = tripos("fmt", "--diff", "b.tripos")
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        "--- b.tripos\n+++ b.tripos\n@@ -1,2 +1,2 @@\n role a\n-measure a=1\n\\ No newline at end of file\n+measure a = 1\n"
    )
    assert (folder / "b.tripos").read_text("utf-8") == "role a\nmeasure a=1"


def test_a_file_with_a_mistake_is_left_alone_and_the_others_are_formatted(folder: Path, tripos: Command) -> None:
    (folder / "a.tripos").write_text(BROKEN, "utf-8")
    assert tripos("fmt", "--check", ".").code == 2, "a mistake counts for more than a change"
    done = tripos("fmt", ".")
    assert (done.code, done.out) == (2, "formatted b.tripos\n")
    assert "error[E0103]: this `(` is never closed\n --> a.tripos:1:13" in done.err
    assert done.err.endswith("\n1 error\n")
    assert (folder / "a.tripos").read_text("utf-8") == BROKEN


@pytest.mark.parametrize(
    ("content", "options", "code", "out", "err"),
    [
        (UNTIDY, (), 0, TIDY, ""),
        (TIDY, (), 0, TIDY, ""),
        (BROKEN, (), 2, "", " --> <stdin>:1:13"),
        (UNTIDY, ("--check",), 1, "would format <stdin>\n", ""),
    ],
)
def test_standard_input_goes_to_standard_output_unless_it_has_a_mistake(
    tripos: Command,
    monkeypatch: pytest.MonkeyPatch,
    content: str,
    options: tuple[str, ...],
    code: int,
    out: str,
    err: str,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content.encode())))
    done = tripos("fmt", *options, "-")
    assert (done.code, done.out, err in done.err, bool(done.err)) == (code, out, True, bool(err))


def test_line_endings_become_line_feeds_and_a_byte_order_mark_goes(folder: Path, tripos: Command) -> None:
    (folder / "b.tripos").write_bytes(b"\xef\xbb\xbfrole a  # \xe9\x9a\xbe\r\n")
    assert tripos("fmt", "b.tripos").out == "formatted b.tripos\n"
    assert (folder / "b.tripos").read_bytes() == b"role a  # \xe9\x9a\xbe\n"


def test_a_file_keeps_its_mode_and_a_link_still_leads_to_it(folder: Path, tripos: Command) -> None:
    (folder / "b.tripos").chmod(0o640)
    (folder / "link.tripos").symlink_to("b.tripos")
    assert tripos("fmt", "link.tripos").out == "formatted link.tripos\n"
    assert (folder / "link.tripos").is_symlink()
    assert (folder / "b.tripos").read_text("utf-8") == TIDY
    assert stat.S_IMODE((folder / "b.tripos").stat().st_mode) == 0o640


def test_a_write_that_fails_leaves_the_file_as_it_was(
    folder: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    done = tripos("fmt", "b.tripos")
    assert done.code == 2 and "cannot write b.tripos: No space left on device" in done.err
    assert (folder / "b.tripos").read_text("utf-8") == UNTIDY
    assert sorted(path.name for path in folder.iterdir()) == ["b.tripos", "notes.txt", "tidy.tripos"]


@pytest.mark.parametrize(
    ("paths", "said"),
    [
        (["none.tripos"], "there is no file at `none.tripos`"),
        (["empty"], "there is no .tripos file below `empty`"),
        (["bytes.tripos"], "cannot read bytes.tripos: it is not UTF-8 text"),
        (["-", "b.tripos"], "`-` stands alone"),
    ],
)
def test_a_path_without_specs_is_told(folder: Path, tripos: Command, paths: list[str], said: str) -> None:
    (folder / "empty").mkdir()
    (folder / "bytes.tripos").write_bytes(b"\xff\xfe")
    done = tripos("fmt", *paths)
    assert done.code == 2 and said in done.err


def test_a_formatter_that_would_change_a_meaning_writes_nothing(
    folder: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(formatting.Layout, "file", lambda self, tree: "measure a = 2\n")
    done = tripos("fmt", "b.tripos")
    assert done.code == 70 and "internal error: Unfaithful: the syntax tree of b.tripos would change" in done.err
    assert (folder / "b.tripos").read_text("utf-8") == UNTIDY


def test_a_damaged_store_that_was_open_before_is_no_reason_for_a_failure(
    folder: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store.open(folder / "store", create=True)
    monkeypatch.setattr(store, "first_damage", lambda: StoreError("S0103", "a part of another command"))
    monkeypatch.setattr(formatting.Layout, "file", lambda self, tree: "measure a = 2\n")
    assert tripos("fmt", "b.tripos").code == 70


def test_formatting_changes_no_plan(tmp_path: Path, tripos: Command) -> None:
    spec = shutil.copytree(ROOT / "specs" / "edubench", tmp_path / "edubench")
    shutil.copytree(ROOT / "specs" / "common", tmp_path / "common")
    for path in spec.glob("*.tripos"):
        path.write_text(path.read_text("utf-8").replace("  ", "   ").replace("\n\n", "\n\n\n# why\n"), "utf-8")
    before = find_spec(str(spec)).compile().plan
    done = tripos("fmt", str(spec))
    assert done.code == 0 and done.out.count("formatted ") == len(list(spec.glob("*.tripos")))
    after = find_spec(str(spec)).compile().plan
    assert before is not None and after is not None and before.digest == after.digest
