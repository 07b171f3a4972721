"""Logs that the tools write now, with scripted models: their figures are those that each tool has of its own.

The tools have the versions of `tests/interchange/tools.py`. The stored logs of the other tests are of the same kind;
these tests find what a new version writes otherwise, and keep what was taken out of the stored ones.
"""

from __future__ import annotations

import json
import math
import os
import shutil
import subprocess
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.interchange.tools import INSPECT, LM_EVAL, PROMPTFOO, promptfoo_program
from tests.moving.test_inspect_tasks import PROGRAM, REPLIES, TASKS as LESSONS
from tests.moving.test_lm_eval_agreement import TASKS, put

LOGS = Path(__file__).parents[1] / "data" / "logs"
OFFLINE = {"HF_DATASETS_OFFLINE": "1", "HF_HUB_OFFLINE": "1", "HF_HOME": "hf", "PATH": os.environ["PATH"]}
QUIET = ("PROMPTFOO_DISABLE_TELEMETRY", "PROMPTFOO_DISABLE_UPDATE", "PROMPTFOO_DISABLE_REMOTE_GENERATION")
FIGURES = """
import json, sys
from inspect_ai.log import list_eval_logs, read_eval_log
told = []
for info in list_eval_logs(sys.argv[1]):
    log = read_eval_log(info.name)
    scores = {score.name: {name: metric.value for name, metric in score.metrics.items()} for score in log.results.scores}
    replies = [sample.output.completion for sample in log.samples if sample.output.choices]
    told.append({"task": log.eval.task, "scores": scores, "replies": replies, "samples": len(log.samples),
                 "status": log.status})
print(json.dumps(told))
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def said_by(command: list[str], **more: Any) -> str:
    """Return what a program of a tool prints; fail with what it says of an error."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, **more)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    return done.stdout


def imported(tripos: Command, *words: str) -> list[dict[str, Any]]:
    """Import logs, none of which is left out."""
    done = tripos("import", "logs", *words, "--json")
    assert done.code == 0, done.err
    assert done.data["unread"] == []
    return list(done.data["logs"])


def measured(tripos: Command, run: str) -> dict[str, dict[str, Any]]:
    """Return the only row of every measure of a run."""
    report = tripos("report", run, "--json").data["measures"]
    return {each["name"].partition(".")[2]: each["rows"][0] for each in report}


def versions(tripos: Command, key: str) -> set[str]:
    """Return the versions of a tool that the runs of the store name."""
    rows = tripos("sql", f"select distinct options ->> '$.log.versions.{key}' as v from main.runs", "--format", "json")
    return {row["v"] for row in rows.data}


def test_inspect_has_the_same_figures_and_replies(folder: Path, tripos: Command) -> None:
    python = INSPECT.find()
    said_by([python, "-B", str(LOGS / "inspect" / "quiz_log.py"), "made"], env={**OFFLINE, "HOME": str(folder)})
    for name, replies in REPLIES.items():
        said_by([python, "-B", "-c", PROGRAM, str(LESSONS), name, json.dumps(replies), "made/raw"])
    theirs = json.loads(said_by([python, "-c", FIGURES, "made/raw"]))
    found = imported(tripos, "made/raw")
    assert versions(tripos, "inspect_ai") == {INSPECT.version}
    by_task: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for log in theirs:
        by_task[log["task"]].append(log)
    assert {name: len(logs) for name, logs in by_task.items()} == {"quiz": 3, "sums": 1, "letters": 1, "words": 1}
    held = 0
    for log in found:
        rows = measured(tripos, log["run_id"])
        same = [other for other in by_task[log["benchmark"]] if _is_of(other, log)]
        assert same, f"a log of {log['benchmark']} has other counts than any of Inspect"
        if log["statuses"].get("provider_error"):
            assert all(row["n"] < row["total"] for row in rows.values()), "a failed sample lowers every coverage"
            continue
        assert all(each["same"] for each in log["figures"])
        values = [
            value
            for other in same
            for metrics in other["scores"].values()
            for name, value in metrics.items()
            if name in ("mean", "accuracy") and not math.isnan(value)
        ]
        held += len(values)
        ours = [row["value"] for row in rows.values() if row["value"] is not None]
        assert sorted({round(value, 9) for value in ours}) == sorted({round(value, 9) for value in values})
    assert held >= 12
    query = "select benchmark, reply from main.samples where reply is not null"
    replies = tripos("sql", query, "--format", "json").data
    assert sorted(row["reply"] for row in replies) == sorted(text for log in theirs for text in log["replies"])


def _is_of(other: dict[str, Any], log: dict[str, Any]) -> bool:
    replied = log["samples"] - log["statuses"].get("provider_error", 0)
    return bool(other["samples"] == log["samples"] and len(other["replies"]) == replied)


def test_lm_eval_has_the_same_figures(folder: Path, tripos: Command) -> None:
    python = LM_EVAL.find()
    script = str(LOGS / "lm-eval" / "scripted_logs.py")
    said_by([python, "-B", script, "scripted"], env={**OFFLINE, "HOME": str(folder)})
    names = ("described", "endings", "listed", "filtered")  # of others lm-eval draws 100,000 samples for an error
    (folder / "tasks").mkdir()
    for name in names:
        place = put(folder / "tasks", name, TASKS[name].replace("{test: ", f"{{test: {folder}/tasks/{name}/"))
        text = (place / "task.yaml").read_text("utf-8").replace("train: train.jsonl", f"train: {place}/train.jsonl")
        (place / "task.yaml").write_text(text, "utf-8")
    command = [python, "-m", "lm_eval", "run", "--model", "dummy", "--tasks", *names, "--include_path", "tasks"]
    said_by([*command, "--log_samples", "--output_path", "dummy"], env={**OFFLINE, "HOME": str(folder)})
    held = 0
    for file in sorted(folder.rglob("results_*.json")):
        results = json.loads(file.read_text("utf-8"))
        assert results["lm_eval_version"] == LM_EVAL.version
        # An import takes the first target of an item, and the tasks of both folders ask different things.
        for log in imported(tripos, str(file), "-o", f"specs-{file.parent.name}-{file.stem}", "--store", file.stem):
            assert all(each["same"] for each in log["figures"]), log["figures"]
            report = tripos("report", log["run_id"], "--store", file.stem, "--json").data["measures"]
            rows = {each["name"].partition(".")[2]: each["rows"][0] for each in report}
            for key, value in results["results"][log["benchmark"]].items():
                metric, _, filter_ = key.partition(",")
                name = metric if filter_ == "none" else f"{metric}_{filter_}"
                if name in rows and isinstance(value, float):
                    held += 1
                    assert rows[name]["value"] == pytest.approx(value, abs=1e-9), (log["benchmark"], key)
    assert held >= 10


def test_promptfoo_has_the_same_figures(folder: Path, tripos: Command) -> None:
    program = promptfoo_program()
    for name in ("promptfooconfig.yaml", "provider.js"):
        shutil.copy(LOGS / "promptfoo" / name, folder)
    quiet = {**os.environ, **dict.fromkeys(QUIET, "1"), "PROMPTFOO_CONFIG_DIR": str(folder / "state")}
    command = [*program, "eval", "-c", "promptfooconfig.yaml", "-o", "out.json", "--no-cache", "--no-table"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=quiet)
    assert done.returncode in (0, 100), done.stdout + done.stderr
    told = json.loads(Path("out.json").read_text("utf-8"))
    assert told["metadata"]["promptfooVersion"] == PROMPTFOO.version
    theirs = {each["provider"]: each["metrics"] for each in told["results"]["prompts"]}
    found = imported(tripos, "out.json", "--name", "quiz")
    assert {name for log in found for name in log["models"]} == set(theirs) == {"scripted/careful", "scripted/careless"}
    for log in found:
        assert len(log["figures"]) == 2 and all(each["same"] for each in log["figures"])
        metrics = theirs[log["models"][0]]
        counted = sum(metrics[name] for name in ("testPassCount", "testFailCount", "testErrorCount"))
        rows = measured(tripos, log["run_id"])
        assert (rows["pass"]["n"], counted) == (4, 4)
        assert rows["pass"]["value"] == pytest.approx(metrics["testPassCount"] / counted)
        assert rows["score"]["value"] == pytest.approx(metrics["score"] / counted)
