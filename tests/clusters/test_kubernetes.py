"""`tripos run --on k8s`: an indexed Job, a pod for each shard."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from tripos.cli.main import run_command

KEY = "sk-thisisasecret0123456789"
SCHEMA = json.loads((Path(__file__).parent / "job.schema.json").read_text("utf-8"))
"""The fields of a Job in batch/v1 that its published schema has, as far as any of ours could be: no others."""
RUN = ["--model", "mock/careful", "--on", "k8s", "--image", "example.org/quiz:1"]


def job(spec: str, capsys: pytest.CaptureFixture[str], *more: str) -> Any:
    assert run_command(["run", spec, *RUN, "--store", "s3://bucket/results", *more]) == 0
    manifest = yaml.safe_load(capsys.readouterr().out)
    jsonschema.validate(manifest, SCHEMA)
    return manifest


def test_a_job_has_a_pod_for_each_shard(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = job(spec, capsys, "--shards", "5", "--time-limit", "2h")
    assert found["metadata"] == {"generateName": "tripos-kills-"}
    assert (found["spec"]["completions"], found["spec"]["parallelism"]) == (5, 5)
    assert found["spec"]["activeDeadlineSeconds"] == 7200
    [container] = found["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "example.org/quiz:1"
    script = container["command"][2]
    assert f"tripos run {spec} --model mock/careful --store s3://bucket/results --divide --shard" in script
    assert "--on" not in script


def test_a_volume_is_mounted_where_the_command_runs(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("tripos.toml").write_text('[cluster]\nclaim = "results"\nfolder = "/bench"\n')
    assert run_command(["run", spec, *RUN]) == 0
    found = yaml.safe_load(capsys.readouterr().out)
    jsonschema.validate(found, SCHEMA)
    pod = found["spec"]["template"]["spec"]
    assert pod["volumes"] == [{"name": "work", "persistentVolumeClaim": {"claimName": "results"}}]
    assert pod["containers"][0]["volumeMounts"] == [{"name": "work", "mountPath": "/bench"}]
    assert pod["containers"][0]["workingDir"] == "/bench"


def test_keys_are_in_the_secret_and_settings_in_the_job(
    spec: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "TRIPOS_KEY_PASSWORD"):
        monkeypatch.setenv(name, KEY)
    monkeypatch.setenv("TRIPOS_TIMEOUT", "77")
    found = job(spec, capsys)
    [container] = found["spec"]["template"]["spec"]["containers"]
    assert container["env"] == [{"name": "TRIPOS_TIMEOUT", "value": "77"}]
    assert container["envFrom"] == [{"secretRef": {"name": "tripos-keys", "optional": True}}]
    assert KEY not in json.dumps(found)


def test_the_schema_refuses_what_no_job_has(spec: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = job(spec, capsys)
    found["spec"]["template"]["spec"]["containers"][0]["images"] = "x"
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(found, SCHEMA)


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (RUN, "the pods have no folder in common"),
        ([*RUN[:4], "--store", "s3://bucket/results"], "needs an image"),
    ],
)
def test_what_a_pod_lacks_is_said(spec: str, capsys: pytest.CaptureFixture[str], options: list[str], told: str) -> None:
    assert run_command(["run", spec, *options]) == 2
    assert told in capsys.readouterr().err


def test_the_shell_of_a_pod_runs_its_shard_and_takes_an_expectation_for_no_failure(
    spec: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    script = job(spec, capsys)["spec"]["template"]["spec"]["containers"][0]["command"]
    for code, expected in ((0, 0), (1, 1), (100, 0), (130, 130)):
        program = tmp_path / "tripos"
        program.write_text(f'#!/bin/sh\necho "$@"\nexit {code}\n')
        program.chmod(0o755)
        environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "JOB_COMPLETION_INDEX": "2"}
        done = subprocess.run(script, env=environment, capture_output=True, text=True, check=False, timeout=20)
        assert done.returncode == expected
        assert done.stdout.endswith("--divide --shard 3/8\n")
