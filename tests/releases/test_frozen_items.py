"""Items that models wrote are frozen in a release: a run of it makes none."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tripos.releases.verifying import verify
from tripos_warehouse.store import Store
from tripos_warehouse.views import connect

SPEC = """\
benchmark written "1.0.0" {
  license "MIT"
  languages en
}
role candidate compared
role author
axis level { easy, hard }
dataset item by author {
  context level
  count   2
  prompt  "Write an exercise that is {{ level }}."
  returns { question text, solution text secret, topics set<text> }
}
scenario exercises {
  context level
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score right = contains(reply.text, item.solution)
}
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "written.tripos").write_text(SPEC, "utf-8")
    return tmp_path


def query(store: Path, text: str) -> list[tuple[Any, ...]]:
    connection = connect(Store.open(store, create=False))
    with connection:
        return connection.execute(text).fetchall()


def test_items_that_nobody_has_made_yet_cannot_be_released(folder: Path, tripos: Command) -> None:
    done = tripos("release", "written.tripos")
    assert done.code == 2
    assert "W0854" in done.err
    assert list((folder / "releases").iterdir()) == []


def test_a_run_of_a_release_makes_no_items_and_takes_those_that_were_frozen(folder: Path, tripos: Command) -> None:
    models = ("--model", "mock/careful", "--role")
    assert tripos("run", "written.tripos", *models, "author=mock/author").code == 0
    assert tripos("release", "written.tripos").code == 0
    released = folder / "releases/written-1.0.0"
    assert verify(released).wrong == ()
    rows = [json.loads(line) for line in (released / "made/item.jsonl").read_text("utf-8").splitlines()]
    assert {row["written_by"] for row in rows} == {"mock/author"}
    assert all(row["written_at"] for row in rows)
    assert tripos("run", str(released), *models, "author=mock/careless", "--store", "other").code == 0
    listed = "select item_id, written_by from main.items order by all"
    assert query(folder / "other", listed) == query(folder / "results", listed) != []
    assert query(folder / "other", "select distinct role from main.samples") == [("candidate",)]


def test_a_row_that_was_tampered_with_is_named(folder: Path, tripos: Command) -> None:
    assert tripos("run", "written.tripos", "--model", "mock/careful", "--role", "author=mock/author").code == 0
    assert tripos("release", "written.tripos").code == 0
    frozen = folder / "releases/written-1.0.0/made/item.jsonl"
    frozen.chmod(0o644)
    frozen.write_bytes(frozen.read_bytes().replace(b"mock/author", b"human/alice", 1))
    assert [each.what for each in verify(folder / "releases/written-1.0.0").wrong] == ["made/item.jsonl"]
    assert tripos("run", "releases/written-1.0.0", "--model", "mock/careful").code == 1
