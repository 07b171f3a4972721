"""Logs of strangers: pipes, bombs, damage and depth are named, and the rest is imported."""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path

import pytest

from tests.conftest import Command
from tripos import source_files
from tripos_warehouse.store.locks import IMPORT, Locks, lock_offset

LOG = Path(__file__).parents[1] / "data" / "logs" / "inspect" / "quiz.eval"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_pipe_is_not_waited_for(folder: Path, tripos: Command) -> None:
    os.mkfifo(folder / "pipe.eval")
    outcome = tripos("import", "logs", "pipe.eval")
    assert (outcome.code, "no regular file" in outcome.err) == (2, True)
    (folder / "logs").mkdir()
    os.mkfifo(folder / "logs" / "pipe.json")
    assert "there is no log" in tripos("import", "logs", "logs").err


def test_members_that_are_too_large_or_damaged_are_left_out(
    folder: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    sample = {"id": 1, "epoch": 1, "input": "a", "output": {}, "scores": {"m": {"value": 1}}}
    with zipfile.ZipFile("odd.eval", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("header.json", json.dumps({"eval": {"task": "t", "model": "m/x", "eval_id": "e"}}))
        file.writestr("samples/good.json", json.dumps(sample))
        file.writestr("samples/bomb.json", json.dumps({**sample, "id": 2, "input": " " * 100_000}))
        file.writestr("samples/deep.json", "[" * 50_000)
        file.writestr("samples/wrong.json", "{")
        file.writestr("../../escaped.json", "{}")
    monkeypatch.setattr(source_files, "MOST_MEMBER", 60_000)
    (log,) = tripos("import", "logs", "odd.eval", "--json").data["logs"]
    assert log["samples"] == 1
    assert sorted(each["first"] for each in log["left_out"]) == [f"samples/{n}.json" for n in ("bomb", "deep", "wrong")]
    assert not (folder.parent / "escaped.json").exists()


def test_a_member_with_another_checksum_is_damaged(folder: Path, tripos: Command) -> None:
    with zipfile.ZipFile(LOG) as file:
        member = file.getinfo("samples/2_epoch_1.json")
    raw = bytearray(LOG.read_bytes())
    at = member.header_offset + 30 + len(member.filename) + member.compress_size // 2
    raw[at] ^= 0xFF
    (folder / "odd.eval").write_bytes(raw)
    (log,) = tripos("import", "logs", "odd.eval", "--json").data["logs"]
    assert log["samples"] == 13
    assert [each["first"] for each in log["left_out"] if "damaged" in each["what"]] == ["samples/2_epoch_1.json"]


def test_names_of_tasks_and_scores_are_names_and_no_paths(folder: Path, tripos: Command) -> None:
    sample = {"id": "../x", "epoch": 1, "input": '{{ 1 }} " }', "output": {}, "scores": {'"} x': {"value": 1}}}
    log = {"eval": {"task": '../../etc/pass wd"', "model": "m/x", "eval_id": "e"}, "samples": [sample]}
    (folder / "a.json").write_text(json.dumps(log), "utf-8")
    (told,) = tripos("import", "logs", "a.json", "--json").data["logs"]
    assert (told["benchmark"], told["scores"]) == ("pass_wd", 1)
    assert [path.name for path in (folder / "imported").iterdir() if path.is_dir()] == ["pass_wd"]


def test_of_two_imports_into_a_folder_one_is_refused(folder: Path, tripos: Command) -> None:
    (folder / "imported").mkdir()
    other = Locks(folder / "imported", ".lock")
    assert other.hold(lock_offset(IMPORT, "logs"))
    outcome = tripos("import", "logs", str(LOG))
    assert (outcome.code, outcome.err.startswith("error[S0506]")) == (2, True)
    assert [path.name for path in folder.rglob("*")] == ["imported", ".lock"]
    assert tripos("import", "logs", str(LOG), "--dry-run").code == 0, "what writes nothing is in nobody's way"
    assert tripos("import", "logs", str(LOG), "-o", "elsewhere").code == 0
    other.close()
    assert tripos("import", "logs", str(LOG)).code == 0


@pytest.mark.parametrize("before", [False, True], ids=["first", "later"])
@pytest.mark.parametrize("log", sorted(each.name for each in LOG.parents[1].iterdir() if each.is_dir()))
def test_a_dry_run_writes_nothing(folder: Path, tripos: Command, log: str, before: bool) -> None:
    if before:
        assert tripos("import", "logs", str(LOG), "--name", "all").code == 0
    held = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    outcome = tripos("import", "logs", str(LOG.parents[1] / log), "--name", "all", "--dry-run", "--json")
    assert (outcome.code, all(each["run_id"] is None for each in outcome.data["logs"])) == (0, True), outcome.err
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == held


def test_names_in_any_script_are_kept(folder: Path, tripos: Command) -> None:
    reply = {"message": {"role": "assistant", "content": "四"}, "stop_reason": "stop"}
    for task, score in (("数学题", "正确"), ("Größe", "Übereinstimmung"), ("ｆｕｌｌ１", "²")):
        sample = {"id": 1, "epoch": 1, "input": "2 + 2?", "target": "4", "output": {"model": "m", "choices": [reply]}}
        log = {"version": 2, "status": "success", "eval": {"task": task, "model": "mock/m"}}
        Path("a.json").write_text(
            json.dumps({**log, "samples": [{**sample, "scores": {score: {"value": 1}}}]}), "utf-8"
        )
        [told] = tripos("import", "logs", "a.json", "--json").data["logs"]
        [measure] = tripos("report", told["run_id"], "--json").data["measures"]
        expected = {"数学题": "数学题.正确", "Größe": "größe.übereinstimmung", "ｆｕｌｌ１": "full1.score_2"}[task]
        assert (told["benchmark"], measure["name"]) == (expected.partition(".")[0], expected)
        assert [row["value"] for row in measure["rows"]] == [1.0]
