"""`--reuse STORE` as it is typed: `plan`, `run` and `why` say what came from there, and a file names no bucket."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tripos.cli.main import run_command

SPEC = """\
benchmark q "1.0.0" { languages en }
role candidate compared
dataset item from "items.jsonl" { question text }
scenario sums {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score said = words(reply.text) > 0
}
measure m = mean(said)
"""
RUN = ["q.tripos", "--model", "mock/careful", "--store", "mine"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a spec, and a store beside it that has the replies to two of its three items."""
    (tmp_path / "q.tripos").write_text(SPEC, "utf-8")
    (tmp_path / "items.jsonl").write_text("".join(f'{{"question": "{n}?"}}\n' for n in "abc"), "utf-8")
    monkeypatch.chdir(tmp_path)
    assert run_command(["run", "q.tripos", "--model", "mock/careful", "--store", "class", "--limit", "2"]) == 0
    return tmp_path


def test_plan_run_and_why_say_what_came_from_another_store(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = "2 from class, where they had cost 0.00 USD"
    capsys.readouterr()
    assert run_command(["plan", *RUN, "--reuse", "class"]) == 0
    assert f"Of the reused calls, {said}." in capsys.readouterr().out
    assert run_command(["run", *RUN, "--reuse", "class"]) == 0
    told = capsys.readouterr()
    assert f"  reused   {said}\n" in told.err and "1 call asked, 2 reused" in told.err
    run_command(
        ["sql", "select sample_id from samples where reused_from is not null", "--store", "mine", "--format", "json"]
    )
    first, _ = json.loads(capsys.readouterr().out)
    assert run_command(["why", first["sample_id"], "--store", "mine"]) == 0
    (commit,) = (path.stem for path in (folder / "class/commits").iterdir() if holds_samples(path))
    assert f"from the store class, commit {commit}" in capsys.readouterr().out


def holds_samples(commit: Path) -> bool:
    return any(part["table"] == "samples" for part in json.loads(commit.read_text("utf-8"))["parts"])


@pytest.mark.parametrize(("value", "code"), [('"class"', 0), ('["class", "s3://bucket/lab"]', 2), ('"nowhere"', 2)])
def test_a_file_may_name_folders_to_reuse_and_no_bucket(
    value: str, code: int, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "tripos.toml").write_text(f"reuse = {value}\n", "utf-8")
    capsys.readouterr()
    assert run_command(["plan", *RUN]) == code
    told = capsys.readouterr()
    if code == 0:
        assert "2 from class" in told.out
    else:
        assert ("give it with --reuse or TRIPOS_REUSE" in told.err) == ("s3" in value)
        assert ("S0101" in told.err) == ("nowhere" in value)
