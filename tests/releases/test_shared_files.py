"""A spec that takes files from beside its own folder is released whole, and nothing of others' with it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.conftest import Command
from tests.releases.test_releases import contents

MAIN = """\
benchmark sums "1.0.0" {
  license "MIT"
  languages en
}
use "../common/scoring.tripos"
role candidate compared
dataset item from "items.jsonl" { question text, answer text secret }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score near = close(reply.text, item.answer)
}
"""
SHARED = "scorer close(reply: text, answer: text) = contains(reply, answer)\n"
ITEMS = '{"question": "1 + 1?", "answer": "2"}\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for path, text in {
        "specs/sums/sums.tripos": MAIN,
        "specs/common/scoring.tripos": SHARED,
        "specs/other/notes.txt": "mine",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, "utf-8")
    return tmp_path


def test_files_beside_the_folder_of_a_spec_are_released_and_compile_there(folder: Path, tripos: Command) -> None:
    (folder / "specs/sums/items.jsonl").write_text(ITEMS)
    done = tripos("release", "specs/sums")
    assert done.code == 0, done.err
    (folder / "specs").rename(folder / "gone")
    released = {name for name in contents(folder / "releases/sums-1.0.0") if name.startswith("spec/")}
    assert released == {"spec/sums/sums.tripos", "spec/sums/items.jsonl", "spec/common/scoring.tripos"}
    done = tripos("verify", "releases/sums-1.0.0", "--json")
    assert done.code == 0, done.out
    assert {"what": "plan", "outcome": "good", "told": "the sources compile to it"} in done.data["checks"]
    assert tripos("run", "releases/sums-1.0.0", "--model", "mock/careful").code == 0


@pytest.mark.parametrize("data", ["specs/data", "specs/common"])
def test_a_data_folder_beside_the_folder_of_a_spec_is_not_copied(folder: Path, tripos: Command, data: str) -> None:
    (folder / data).mkdir(exist_ok=True)
    (folder / data / "items.jsonl").write_text(ITEMS)
    done = tripos("release", "specs/sums", "--data", data)
    assert done.code == 0, done.err
    release = folder / "releases/sums-1.0.0"
    assert not [name for name in contents(release) if "items.jsonl" in name]
    assert [each["path"] for each in json.loads((release / "manifest.json").read_bytes())["external"]] == [
        "items.jsonl"
    ]
    assert tripos("verify", "releases/sums-1.0.0", "--data", data).code == 0
