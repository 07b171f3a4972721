"""A folder of somebody else that is opened in an editor: nothing outside of it is read, fetched or executed."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tripos.lsp.documents import MOST_TEXT_BYTES, Documents
from tripos.lsp.session import EditorSession, OpenBenchmark

SPEC = """benchmark mine "1.0.0" { languages en }
role candidate compared
LINE
scenario own {
  ask reply by candidate { prompt "What is 6 * 7?" }
  score right = contains(reply.text, "42")
}
"""
SECRET = "root:x:0:0"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A stranger's folder, deep in a home with other things in it."""
    (tmp_path / "a/b/c/mine").mkdir(parents=True)
    (tmp_path / "passwd").write_text(SECRET)
    (tmp_path / "rows.jsonl").write_text(json.dumps({SECRET: "x"}) + "\n")
    return tmp_path / "a/b/c/mine"


def messages(folder: Path, line: str, log: Any = pytest.fail, *, trusted: bool = False) -> list[str]:
    main = folder / "mine.tripos"
    main.write_text(SPEC.replace("LINE", line), "utf-8")
    opened = OpenBenchmark(Documents(), main.as_posix(), log, trusted=trusted)
    return [f"{each.code} {each.message}" for each in opened.compilation().diagnostics]


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ('use "{home}/passwd"', "E0108"),
        ('use "../../../../passwd"', "E0108"),
        ('use "link"', "E0108"),
        ('use "pipe.tripos"', "E0108"),
        ('use "large.tripos"', "E0108"),
        ('dataset item from "{home}/rows.jsonl" {{ question text }}', "E0307"),
        ('dataset item from "../../../../*.jsonl" {{ question text }}', "E0307"),
        ('scorer mark(text: text) -> number from "../../../../marks.py:mark"', "E0310"),
        ('use release "lessons@1" from "https://127.0.0.1:9/lessons"', "E0912"),
    ],
)
def test_nothing_outside_is_read(folder: Path, line: str, code: str) -> None:
    home = folder.parents[3]
    (home / "marks.py").write_text("def mark(text: str) -> float:\n    return 1.0\n")
    (folder / "link").symlink_to(home / "passwd")
    os.mkfifo(folder / "pipe.tripos")
    (folder / "large.tripos").write_bytes(b"/" * (MOST_TEXT_BYTES + 1))
    found = messages(folder, line.format(home=home))
    assert any(each.startswith(code) for each in found), found
    assert SECRET not in "".join(found)


def test_python_is_read_and_not_executed(folder: Path) -> None:
    code = "def mark(text: str) -> float:\n    return 1.0\n"
    (folder / "marks.py").write_text(f"open({str(folder / 'trace')!r}, 'w')\n{code}")
    found = messages(folder, 'scorer mark(text: text) -> number from "marks.py:mark"')
    assert not any(each.startswith("E") for each in found), found
    assert not (folder / "trace").exists()


def test_the_settings_of_a_folder_open_no_other_folder(folder: Path) -> None:
    home = folder.parents[3]
    (folder / "tripos.toml").write_text(f'data = ["{home}", "own"]\n', "utf-8")
    (folder / "own").mkdir()
    (folder / "own/more.jsonl").write_text('{"question": "a"}\n')
    logged: list[str] = []
    line = 'dataset item from "rows.jsonl" { question text }'
    assert any(each.startswith("E0307") for each in messages(folder, line, logged.append))
    assert "lies outside of the project" in logged[0]
    own = 'dataset item from "more.jsonl" { question text }'
    assert not any(each.startswith("E03") for each in messages(folder, own, logged.append))
    trusted = messages(folder, line, trusted=True)
    assert not any(each.startswith("E0307") for each in trusted) and any("question" in each for each in trusted)


def test_a_pipe_in_the_workspace_does_not_hang_the_server(folder: Path) -> None:
    os.mkfifo(folder / "pipe.tripos")
    (folder / "mine.tripos").write_text(SPEC.replace("LINE", ""), "utf-8")
    session = EditorSession("utf-16", (folder.as_posix(),), pytest.fail)
    assert [each.benchmark.main for each in session.checked((folder / "mine.tripos").as_posix())]
