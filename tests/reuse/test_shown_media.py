"""Images in a store: replies that are reused or imported bring them along, and garbage collection takes no other."""

from __future__ import annotations

import json
import os
import shutil
from base64 import b64decode
from itertools import count
from pathlib import Path

import pytest

from tests.conftest import Command

CASE = Path(__file__).parents[1] / "cases/media/valid"
MODELS = ("--model", "mock/careful", "--role", "judge=mock/fair")


@pytest.fixture
def ran(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, once: Command) -> set[str]:
    """A run over items that name their images as files; the names of the contents that it kept."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(CASE / "images.tripos", "images.tripos")
    Path("pictures").mkdir()

    numbers = count()

    def as_file(cell: str) -> str:
        path = Path("pictures", f"{next(numbers)}.png")
        path.write_bytes(b64decode(cell.partition(",")[2]))
        return str(path)

    rows = [json.loads(line) for line in (CASE / "items.jsonl").read_text("utf-8").splitlines()]
    for row in rows:
        row |= {name: as_file(row[name]) for name in ("picture", "solution")}
        row["more"] = [as_file(each) for each in row["more"]]
    Path("items.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    assert once("run", "images.tripos", *MODELS).code == 0
    return kept("results")


def kept(store: str) -> set[str]:
    return {path.name for path in Path(store, "media").glob("*")}


def shown(tripos: Command, store: str) -> set[str]:
    """Return the SHA-256 of every image that the prompts of a store show."""
    query = "select messages from main.samples union all select messages from main.judgements"
    assert tripos("sql", query, "--store", store, "-o", "all.json").code == 0
    return {each[:64] for each in Path("all.json").read_text("utf-8").split("sha256:")[1:]}


def test_reused_replies_bring_the_images_that_were_shown(ran: set[str], tripos: Command) -> None:
    done = tripos("run", "images.tripos", *MODELS, "--store", "mine", "--reuse", "results", "--json")
    assert (done.code, done.data["calls"]["asked"]) == (0, 0), done.data
    assert kept("mine") == shown(tripos, "mine") == ran


@pytest.mark.parametrize("cells", ["files", "contents"])
def test_imported_replies_bring_the_images_that_were_shown(cells: str, ran: set[str], tripos: Command) -> None:
    if cells == "contents":
        shutil.copy(CASE / "items.jsonl", "items.jsonl")
    rows = [{"scenario": "colours", "position": number, "reply": "red"} for number in (1, 3)]
    Path("replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    command = (
        "import",
        "samples",
        "replies.jsonl",
        "--spec",
        "images.tripos",
        "--model",
        "elsewhere",
        "--store",
        "mine",
    )
    assert tripos(*command, "--dry-run").code == 0
    assert not Path("mine").exists()
    assert tripos(*command).code == 0
    wanted = shown(tripos, "mine")
    assert len(wanted) > 2
    assert wanted <= kept("mine") if cells == "contents" else wanted == kept("mine")


def test_images_that_no_row_names_go_and_those_of_rows_stay(ran: set[str], tripos: Command) -> None:
    stray = "0" * 64
    Path("results/media", stray).write_bytes(b"nobody's")
    Path("results/media", f"{stray}.0123456789ab.tmp").write_bytes(b"half")
    assert tripos("store", "gc", "--json").data["removed"] == []
    for path in Path("results/media").iterdir():
        os.utime(path, (1, 1))
    removed = tripos("store", "gc", "--json").data["removed"]
    assert {(each["path"].partition("/")[2][:64], each["why"]) for each in removed} == {
        (stray, "no row names it"),
        (stray, "half written"),
    }
    assert kept("results") == shown(tripos, "results") == ran
