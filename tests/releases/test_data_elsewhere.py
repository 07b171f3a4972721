"""Data that a spec names on the Hub or the web is brought by `fetch`, and by nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import huggingface_hub.constants
import pytest

from tests.conftest import Command
from tests.releases.file_server import FileServer, address_of, running
from tests.releases.hub_server import Hub, Repo, serving

SPEC = """
benchmark sums "1.0.0" {{ languages en }}
role candidate compared
dataset item from "{source}" {{
  question  text
  answer    text secret
{more}}}
scenario sums {{
  over item
  ask reply by candidate {{ prompt "{{{{ item.question }}}}" }}
  score right = contains(reply.text, item.answer)
}}
"""
EASY = b'{"question": "3 + 4?", "answer": "7"}\n'
HARD = b'{"question": "30 * 40?", "answer": "1200"}\n'


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with serving() as hub:
        monkeypatch.setenv("HF_ENDPOINT", hub.address)
        monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_DISABLE_XET", True)
        repo = Repo()
        first = repo.commit({"main/easy.jsonl": EASY, "README.md": b""})
        repo.tags["v1"] = first
        repo.commit({"main/easy.jsonl": EASY, "main/hard.jsonl": HARD, "README.md": b""})
        hub.repos["lab/sums"] = repo
        yield hub


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(here: Path, source: str, more: str = "") -> None:
    (here / "sums.tripos").write_text(SPEC.format(source=source, more=more), "utf-8")


def test_files_of_the_hub_are_fetched_at_a_revision_and_by_pattern(hub: Hub, here: Path, tripos: Command) -> None:
    write(here, "hf://lab/sums@v1/main/easy.jsonl")
    refused = tripos("check", "sums.tripos")
    assert refused.code == 2 and "fetch it: `tripos fetch sums.tripos`" in refused.err
    assert hub.asked == []
    done = tripos("fetch", "sums.tripos")
    assert done.code == 0, done.err
    assert (here / "hf/lab/sums@v1/main/easy.jsonl").read_bytes() == EASY
    assert "2 items" not in tripos("check", "sums.tripos").out
    asked = len(hub.asked)
    assert tripos("fetch", "sums.tripos").out == "nothing to fetch\n"
    assert len(hub.asked) == asked
    write(here, "hf://lab/sums/main/{level}.jsonl", "  level     text\n")
    assert tripos("fetch", "sums.tripos").code == 0
    assert "2 items" in tripos("check", "sums.tripos").out
    assert sorted(each.name for each in (here / "hf/lab/sums/main").iterdir()) == ["easy.jsonl", "hard.jsonl"]


def test_a_source_of_the_hub_without_a_commit_is_warned_of(hub: Hub, here: Path, tripos: Command) -> None:
    for revision, commit in (("", False), ("@v1", False), (f"@{hub.repos['lab/sums'].tags['v1']}", True)):
        write(here, f"hf://lab/sums{revision}/main/easy.jsonl")
        done = tripos("fetch", "sums.tripos")
        assert done.code == 0, done.err
        assert ("names no commit, so its rows may change" in " ".join(done.err.split())) is not commit
        shutil.rmtree(here / "hf")
        told = tripos("fetch", "sums.tripos", "--json").data
        assert ("unpinned" in told) is not commit


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("hf://lab/sums@v9/main/easy.jsonl", "`lab/sums` has no version `v9` on the Hub"),
        ("hf://lab/other/main/easy.jsonl", "the Hub has no data set `lab/other` that you may read"),
        ("hf://lab/sums/main/none.jsonl", "the data set `lab/sums` has no file `main/none.jsonl`"),
    ],
)
def test_what_the_hub_lacks_is_told(hub: Hub, here: Path, tripos: Command, source: str, told: str) -> None:
    write(here, source)
    done = tripos("fetch", "sums.tripos")
    assert done.code == 2 and told in done.err
    assert [each.name for each in here.rglob("*.jsonl*")] == []


def test_a_file_of_the_web_is_fetched_and_one_of_this_machine_only_on_request(here: Path, tripos: Command) -> None:
    (here / "served").mkdir()
    (here / "served/rows.jsonl").write_bytes(EASY)
    with running(FileServer(here / "served")) as server:
        write(here, f"{address_of(server)}/rows.jsonl")
        refused = tripos("fetch", "sums.tripos")
        assert refused.code != 0 and "of this machine or its network" in refused.err
        done = tripos("fetch", "sums.tripos", "--allow-private", "--json")
        assert done.code == 0, done.err
        (kept,) = done.data["data"].values()
        assert Path(kept).read_bytes() == EASY
    assert tripos("check", "sums.tripos").code == 0
    assert tripos("fetch", "sums.tripos", "--untrusted").code == 2


def test_a_file_of_the_hub_that_is_joined_is_fetched_with_the_other(hub: Hub, here: Path, tripos: Command) -> None:
    hub.repos["lab/sums"].commit({"main/easy.jsonl": b'{"question": "3 + 4?", "id": 1}\n', "README.md": b""})
    keys = Repo()
    keys.commit({"keys.csv": b"number,answer\n1,7\n", "README.md": b""})
    hub.repos["lab/keys"] = keys
    write(here, "hf://lab/sums/main/easy.jsonl", '  join "hf://lab/keys/keys.csv" on "id" to "number"\n')
    refused = tripos("check", "sums.tripos")
    assert refused.code == 2 and refused.err.count("fetch it: `tripos fetch sums.tripos`") == 2
    fetched = tripos("fetch", "sums.tripos")
    assert fetched.code == 0, fetched.err
    assert "hf://lab/keys/keys.csv is in" in fetched.out + fetched.err
    asked = len(hub.asked)
    assert tripos("check", "sums.tripos").code == 0
    assert len(hub.asked) == asked
