"""A benchmark reads its own folder, its project and the data folders that were given, and nothing else without leave."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import tripos as api
from tests.conftest import Command
from tripos.api.errors import SpecError

HEAD = 'benchmark mine "1.0.0" { languages en }\nrole candidate compared\n'
ASKS = """
scenario own {
  ask reply by candidate { prompt "What is 6 * 7?" }
  score right = contains(reply.text, "42")
}
"""
OVER = 'dataset item from "SOURCE" { question text }\n' + ASKS.replace("{\n", "{\n  over item\n", 1)
SECRET = "root:x:0:0"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a benchmark, in a home with other things in it."""
    home = tmp_path / "home"
    (home / "deep" / "er" / "mine").mkdir(parents=True)
    (home / "passwd").write_text(SECRET)
    (home / "rows.jsonl").write_text(json.dumps({"question": SECRET}) + "\n")
    monkeypatch.chdir(home / "deep" / "er" / "mine")
    return Path.cwd()


def uses(folder: Path, path: str) -> None:
    (folder / "mine.tripos").write_text(f'{HEAD}use "{path}"\n{ASKS}', "utf-8")


def reads(folder: Path, source: str) -> None:
    (folder / "mine.tripos").write_text(HEAD + OVER.replace("SOURCE", source), "utf-8")


@pytest.mark.parametrize("path", ["../../../passwd", "{home}/passwd", "link", "deep/link"])
def test_a_file_elsewhere_is_not_used(folder: Path, tripos: Command, path: str) -> None:
    home = folder.parents[2]
    (folder / "deep").mkdir()
    (folder / "link").symlink_to(home / "passwd")
    (folder / "deep" / "link").symlink_to(home / "passwd")
    uses(folder, path.format(home=home))
    done = tripos("check", "mine.tripos")
    assert done.code == 2 and "E0108" in done.err and "lies outside of the benchmark" in done.err
    assert SECRET not in done.out + done.err


@pytest.mark.parametrize(
    "source",
    [
        *("../../../rows.jsonl", "{home}/rows.jsonl", "{home}/*.jsonl", "../../../*.jsonl", "/*/*/*/*.jsonl"),
        *("link.jsonl", "linked/rows.jsonl", "linked/*.jsonl", "*.jsonl"),
    ],
)
def test_data_elsewhere_are_not_read(folder: Path, tripos: Command, source: str) -> None:
    home = folder.parents[2]
    (folder / "link.jsonl").symlink_to(home / "rows.jsonl")
    (folder / "linked").symlink_to(home)
    reads(folder, source.format(home=home))
    done = tripos("check", "mine.tripos")
    assert done.code == 2 and "E0307" in done.err and "lies outside of the benchmark" in done.err
    assert SECRET not in done.out + done.err


def test_a_file_of_functions_elsewhere_is_not_read(folder: Path, tripos: Command) -> None:
    (folder.parents[2] / "marks.py").write_text("def mark(text: str) -> float:\n    return 1.0\n")
    text = HEAD + 'scorer mark(text: text) -> number from "../../../marks.py:mark"\n' + ASKS
    (folder / "mine.tripos").write_text(text, "utf-8")
    done = tripos("check", "mine.tripos")
    assert done.code == 2 and "E0310" in done.err and "lies outside of the benchmark" in done.err


@pytest.mark.parametrize("name", [".env", ".git/config", ".env.local"])
def test_keys_and_the_repository_are_not_read(folder: Path, tripos: Command, name: str) -> None:
    (folder / ".git").mkdir()
    (folder / name).write_text("OPENAI_API_KEY=sk-123")
    uses(folder, name)
    done = tripos("check", "mine.tripos")
    assert done.code == 2 and "sk-123" not in done.err and "lies outside" in done.err


def test_leave_is_given_by_an_option_and_listed_by_plan(folder: Path, tripos: Command) -> None:
    reads(folder, "../../../rows.jsonl")
    assert tripos("check", "mine.tripos", "--allow-outside").code == 0
    shown = tripos("plan", "mine.tripos", "--allow-outside")
    assert f"reads a file outside of the benchmark: {folder.parents[2]}/rows.jsonl" in shown.out
    assert tripos("run", "mine.tripos", "--model", "mock/careful").code == 2
    assert tripos("run", "mine.tripos", "--model", "mock/careful", "--allow-outside").code == 0
    with pytest.raises(SpecError, match="lies outside"):
        api.compile("mine.tripos")
    assert api.compile("mine.tripos", allow_outside=True).plan is not None


def test_a_data_folder_that_is_given_is_read(folder: Path, tripos: Command) -> None:
    reads(folder, "rows.jsonl")
    assert tripos("check", "mine.tripos", "--data", "../../..").code == 0
    reads(folder, f"{folder.parents[2]}/rows.jsonl")
    assert tripos("check", "mine.tripos", "--data", "../../..").code == 0


@pytest.mark.parametrize("place", ["..", "../data", "snapshot"])
def test_a_link_in_a_data_folder_that_is_named_is_followed(folder: Path, tripos: Command, place: str) -> None:
    """As in a snapshot of the Hugging Face Hub, which has links to files of another folder."""
    data = folder / place
    data.mkdir(exist_ok=True)
    (data / "linked.jsonl").symlink_to(folder.parents[2] / "rows.jsonl")
    reads(folder, "linked.jsonl")
    done = tripos("check", "mine.tripos", "--data", place)
    assert done.code == 0, done.err
    assert tripos("run", "mine.tripos", "--data", place, "--model", "mock/careful").code == 0
    refused = tripos("check", "mine.tripos", "--data", place, "--untrusted")
    assert refused.code == 2 and "lies outside of the benchmark" in refused.err
    for name in ("sub/../linked.jsonl", "keys.jsonl"):
        reads(folder, name)
        (data / "sub").mkdir(exist_ok=True)
        (folder.parents[2] / ".env").write_text(SECRET)
        if not (data / "keys.jsonl").is_symlink():
            (data / "keys.jsonl").symlink_to(folder.parents[2] / ".env")
        closed = tripos("check", "mine.tripos", "--data", place)
        assert closed.code == 2 and "lies outside of the benchmark" in closed.err and SECRET not in closed.err


def test_a_link_in_a_folder_that_settings_name_is_followed_if_the_folder_is_not_of_the_project(
    folder: Path, tripos: Command
) -> None:
    away = folder.parents[2] / "away"
    reads(folder, "linked.jsonl")
    for data in (folder / "inside", away):
        data.mkdir()
        (data / "linked.jsonl").symlink_to(folder.parents[2] / "rows.jsonl")
    (folder / "tripos.toml").write_text('data = ["inside"]\n')
    assert tripos("check", "mine.tripos").code == 2
    (folder / "tripos.toml").write_text(f'data = ["{away.as_posix()}"]\n')
    assert tripos("check", "mine.tripos").code == 0


@pytest.mark.parametrize("marker", ["tripos.toml", ".git"])
def test_a_project_is_read(folder: Path, tripos: Command, marker: str) -> None:
    home = folder.parents[2]
    (home / marker).mkdir() if marker == ".git" else (home / marker).write_text("")
    reads(folder, "../../../rows.jsonl")
    assert tripos("check", "mine.tripos").code == 0


def test_spec_files_near_by_are_shared_without_a_project(folder: Path, tripos: Command) -> None:
    for place in (folder.parent, folder.parents[1]):
        (place / "common.tripos").write_text('axis level { easy "Easy" }\n')
    uses(folder, "../common.tripos")
    assert tripos("check", "mine.tripos").code == 0
    (folder.parents[2] / "far.tripos").write_text('axis level { easy "Easy" }\n')
    uses(folder, "../../../far.tripos")
    assert tripos("check", "mine.tripos").code == 2


def test_only_regular_files_are_read(folder: Path, tripos: Command) -> None:
    os.mkfifo(folder / "pipe.tripos")
    uses(folder, "pipe.tripos")
    done = tripos("check", "mine.tripos")
    assert done.code == 2 and "no regular file" in done.err
    uses(folder, "/dev/zero")
    done = tripos("check", "mine.tripos", "--allow-outside")
    assert done.code == 2 and "no regular file" in done.err
    os.mkfifo(folder / "pipe.jsonl")
    reads(folder, "pipe.jsonl")
    assert tripos("check", "mine.tripos").code == 2
