"""`tripos run --on slurm`: an array of shards, whose tasks are killed at the end of their time and go on."""

from __future__ import annotations

import re
import sys
import time
from pathlib import Path

import pytest

from tests.clusters.slurm import ENDS_WHEN_TOLD, Slurm
from tests.kills.contents import contents, differences
from tests.kills.counting_server import serving
from tests.kills.work import MODELS, ROLES, Work, place
from tripos.cli.main import run_command
from tripos.runs.clusters import Sharding, array_script
from tripos.settings.config import Config

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs bash and signals")
KEY = "sk-thisisasecret0123456789"
ROLE_OPTIONS = [word for role in ROLES for word in ("--role", role)]


def written(spec: str, capsys: pytest.CaptureFixture[str], *more: str) -> str:
    assert run_command(["run", spec, "--model", "openai/a", *ROLE_OPTIONS, "--on", "slurm", *more]) == 0
    return capsys.readouterr().out


def test_a_script_has_the_shards_the_resources_and_the_command(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tripos.toml").write_text('[cluster]\ncpus = 3\nmemory_mb = 900\nsbatch = ["--partition=cpu"]\nshards = 5\n')
    script = written(spec, capsys, "--time-limit", "2h", "--budget", "9calls", "--dry-run")
    lines = re.findall(r"^#SBATCH (.+)$", script, re.M)
    assert {"--array=1-5", "--time=120", "--cpus-per-task=3", "--mem=900M", "--partition=cpu"} <= set(lines)
    assert f"run {spec} --model openai/a" in script
    assert '--budget 9calls --divide --shard "$shard/5" &' in script
    assert "--on " not in script
    assert "--time-limit" not in script


def test_no_key_is_in_a_script(spec: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("TUTOR_PASSWORD", "correct horse battery")
    script = written(spec, capsys)
    assert KEY not in script
    assert "correct horse" not in script
    for word in (KEY, "correct horse battery"):
        command = ["run", spec, "--model", "openai/a", *ROLE_OPTIONS, "--only", f"tone={word}", "--on", "slurm"]
        assert run_command([*command, "--write", "out.sbatch"]) == 2
        told = capsys.readouterr()
        assert "holds what looks like a key" in told.err
        assert word not in told.err + told.out
        assert not Path("out.sbatch").exists()


@pytest.mark.parametrize(
    ("more", "told"),
    [
        (("--shards", "20"), "20 shards cannot divide 16 connections"),
        (("--budget", "3calls"), "8 shards cannot divide a budget of 3 calls"),
        (("--shard", "1/2"), "`--shard` is not shared by shards"),
        (("--junit", "x.xml"), "`--junit` is not shared by shards"),
        (("--role", "nobody=mock/a"), "nobody"),
        (("--time-limit", "3"), "must be at least 60 s"),
    ],
)
def test_what_no_shard_could_do_is_said_before_anything_is_written(
    spec: str, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], told: str
) -> None:
    command = ["run", spec, "--model", "openai/a", *ROLE_OPTIONS, "--on", "slurm", "--write", "out.sbatch", *more]
    assert run_command(command) == 2
    assert told in capsys.readouterr().err
    assert not Path("out.sbatch").exists()


def test_options_of_clusters_do_nothing_alone(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run_command(["run", spec, "--model", "mock/a", "--submit"]) == 2
    assert "`--submit` needs `--on" in capsys.readouterr().err


def test_a_cluster_that_is_not_there_or_refuses_is_r0412(
    spec: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    command = ["run", spec, "--model", "openai/a", *ROLE_OPTIONS, "--on", "slurm", "--submit"]
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert run_command(command) == 1
    assert "error[R0412]: `sbatch` cannot be started" in capsys.readouterr().err
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sbatch").write_text("#!/bin/sh\necho 'no such partition' >&2; exit 1\n")
    (tmp_path / "bin" / "sbatch").chmod(0o755)
    assert run_command(command) == 1
    assert "`sbatch` refused the run: no such partition" in capsys.readouterr().err


def test_a_task_whose_time_ends_stops_and_goes_back_into_the_queue(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "program"
    program.write_text(ENDS_WHEN_TOLD, "utf-8")
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    slurm = Slurm(tmp_path / "slurm")
    script = array_script(
        Sharding("quiz", ("run", "quiz"), Config.model_validate({"cluster": {"shards": 2}})), tmp_path
    )
    (slurm.queue / "0.sh").write_text(script, "utf-8")
    for restarts, again in ((0, [2]), (50, [])):
        slurm.restarts[2] = restarts
        (tmp_path / "started").unlink(missing_ok=True)
        task = slurm.start(2)
        latest_s = time.monotonic() + 20
        while not (tmp_path / "started").exists() and time.monotonic() < latest_s:
            time.sleep(0.01)
        time.sleep(0.05)
        task.warn()
        assert task.end() == 130, slurm.told()
        assert slurm.requeued() == again
    assert (tmp_path / "started").read_text() == "-m tripos run quiz --divide --shard 2/2"


@pytest.mark.long
def test_shards_that_are_killed_leave_the_tables_of_one_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    work = Work(tmp_path / "work", rows=24)
    work.write()
    slurm = Slurm(tmp_path / "slurm")
    monkeypatch.setenv("PATH", slurm.environment["PATH"])
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with serving() as server:
        command = ["run", str(work.folder / "kills.tripos"), "--model", ",".join(MODELS), *ROLE_OPTIONS, "--json"]
        command += ["--max-connections", "6", "--store", "store"]
        monkeypatch.chdir(place(tmp_path / "calm", server.address("calm", "one")))
        assert run_command(command) == 0
        expected = contents(tmp_path / "calm" / "store")
        wanted = sum(each.replies for each in server.of("calm") if each.status == 200)

        server.latency_s = 0.4
        monkeypatch.chdir(place(tmp_path / "array", server.address("array", "tasks")))
        capsys.readouterr()
        assert run_command([*command, "--on", "slurm", "--shards", "3", "--submit"]) == 0
        assert "Submitted batch job 0" in capsys.readouterr().out
        assert KEY not in slurm.script()
        first, second, third = (slurm.start(number) for number in slurm.tasks())
        assert server.wait_for(lambda: server.answered["array"] > wanted // 6, 60), slurm.told()
        first.warn()  # the end of its time is near
        second.kill()  # its node is lost, or its time is over at once
        assert first.end() == 130, slurm.told()
        assert slurm.requeued() == [1]
        again = [slurm.start(1), slurm.start(2)]
        assert [each.end() for each in (third, *again)] == [0, 0, 0], slurm.told()
        assert run_command([*command, "--budget", "1calls"]) == 0  # all shards are there, so nothing is asked
    assert not differences(contents(tmp_path / "array" / "store"), expected)
    asked = sum(each.replies for each in server.of("array") if each.status == 200)
    assert wanted <= asked <= wanted + 2 * 2  # what two connections of the killed task had under way
