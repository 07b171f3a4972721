"""Logs of Inspect, as the tool made them: their samples, scores and figures in the store."""

from __future__ import annotations

import json
import math
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.answers import ask
from tests.compiler.compiling import plan_of
from tests.conftest import Command
from tripos.annotation.carry_over import carry_over_scores
from tripos.runs.compilation import find_spec
from tripos_warehouse.store.store import Store

LOGS = Path(__file__).parents[1] / "data" / "logs" / "inspect"


METRICS = ("match", "partly", "facets_length", "facets_odd", "facets_right")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def imported(tripos: Command, *words: str, code: int = 0) -> dict[str, Any]:
    outcome = tripos("import", "logs", *words, "--json")
    assert outcome.code == code, outcome.err
    return dict(json.loads(outcome.out))


def test_figures_of_the_report_are_those_of_the_log(folder: Path, tripos: Command) -> None:
    (log,) = imported(tripos, str(LOGS / "quiz.eval"))["logs"]
    assert (log["samples"], log["scores"], log["without_value"]) == (14, 69, 1)
    assert len(log["figures"]) == 10
    assert all(each["same"] for each in log["figures"])
    report = json.loads(tripos("report", "--json").out)
    found = {
        (measure["name"].removeprefix("quiz."), name): value
        for measure in report["measures"]
        for row in measure["rows"]
        for name, value in (("mean", row["value"]), ("stderr", row["standard_error"]))
    }
    for each in log["figures"]:
        name = "stderr" if each["figure"] == "stderr" else "mean"
        value = found[each["score"], name]
        assert (value or 0.0) == pytest.approx(each["log"], rel=1e-12), each


def test_samples_have_what_the_log_says_of_them(folder: Path, tripos: Command) -> None:
    imported(tripos, str(LOGS / "quiz.eval"))
    told = ask(tripos, "select * from quiz.samples where messages like '%2 + 2%' order by sample_number")
    assert [row["reply"] for row in told] == ["4", "4"]
    assert [(row["model"], row["tokens_in"], row["tokens_out"]) for row in told] == [("mockllm/model", 24, 3)] * 2
    assert json.loads(told[0]["messages"]) == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "What is 2 + 2?"},
    ]
    (run,) = ask(tripos, "select options ->> '$.log.settings' as settings, roles, status from main.runs")
    assert json.loads(run["settings"]) == {"max_tokens": 20, "temperature": 0.3, "seed": 7}
    (item,) = ask(tripos, "select fields from quiz.items where fields ->> '$.id' = 'talk'")
    assert json.loads(item["fields"])["target"] == '["green","绿"]'
    reasons = ask(tripos, "select distinct evaluator, reason from quiz.rationales where metric = 'partly' order by 2")
    assert reasons[0] == {"evaluator": "inspect/partly", "reason": "the reply has 1 letters"}
    (kept,) = ask(tripos, "select reply from quiz.judgements where reply like '%NaN%' and scorer = 'facets_right'")
    assert json.loads(kept["reply"])["value"]["right"] == "C"


def test_a_failed_sample_and_a_log_that_was_read_before(folder: Path, tripos: Command) -> None:
    (log,) = imported(tripos, str(LOGS / "failed.json"))["logs"]
    assert log["statuses"] == {"ok": 13, "provider_error": 1}
    assert any("without a value" in each["what"] for each in log["left_out"])
    failed = ask(tripos, "select error, reply, status from quiz.samples where status <> 'ok'")
    assert failed == [{"error": "ValueError('the server broke')", "reply": None, "status": "provider_error"}]
    lacking = ask(tripos, "select metric, count(*) as n from quiz.scores where status = 'provider_error' group by 1")
    assert {each["metric"]: each["n"] for each in lacking} == dict.fromkeys(METRICS, 1)
    report = json.loads(tripos("report", "--json").out)
    assert all(row["n"] < row["total"] == 14 for measure in report["measures"] for row in measure["rows"])
    different = [each for each in log["figures"] if not each["same"]]
    assert {each["score"] for each in different} >= {"match"}, "an item with fewer epochs weighs less here"
    before = sorted((folder / "results" / "commits").iterdir())
    (again,) = imported(tripos, str(LOGS / "failed.json"))["logs"]
    assert (again["new"], again["new_scores"], again["run_id"]) == (0, 0, None)
    assert sorted((folder / "results" / "commits").iterdir()) == before


def test_a_failed_score_keeps_its_status_under_a_changed_plan(folder: Path, tripos: Command) -> None:
    told = json.loads((LOGS / "failed.json").read_text("utf-8"))
    told["samples"][0]["scores"]["match"] = {"value": math.nan, "reason": "grader_failed", "explanation": "no verdict"}
    (folder / "log.json").write_text(json.dumps(told), "utf-8")
    (log,) = imported(tripos, "log.json")["logs"]
    failed = ask(tripos, "select status, error from quiz.scores where metric = 'match' and value is null order by 1")
    assert failed[0] == {"status": "parse_failure", "error": "no verdict"}
    spec = folder / "imported" / "quiz" / "quiz.tripos"
    scored = "score match = match(response: reply.text)"
    changed = spec.read_text("utf-8").replace(scored, f'{scored} when item.id != "-"')
    spec.write_text(changed, "utf-8")
    plan = plan_of(find_spec(str(spec)).compile({}))
    store = Store.open(folder / "results", create=False)
    assert carry_over_scores(store, plan, log["run_id"]) == 13
    (step,) = (each for each in plan.scenarios[0].steps if each.name == "match")
    query = f"select status, count(*) as n from main.scores where fingerprint = '{step.fingerprint}' group by all"
    assert {each["status"]: each["n"] for each in ask(tripos, query)} == {"scored": 12, "parse_failure": 1}


def test_two_logs_are_two_runs_over_the_same_items(folder: Path, tripos: Command) -> None:
    shutil.copytree(LOGS, folder / "logs")
    found = imported(tripos, "logs")
    assert len(found["logs"]) == 2
    assert found["others"] == []
    assert len(ask(tripos, "select distinct item_id from main.items")) == 7
    first, second = (each["run_id"] for each in found["logs"])
    outcome = tripos("compare", first, second)
    assert outcome.code == 0, outcome.err
    assert "quiz.match" in outcome.out


def test_a_changed_log_is_named(folder: Path, tripos: Command) -> None:
    log = json.loads((LOGS / "failed.json").read_text("utf-8"))
    (folder / "a.json").write_text(json.dumps(log), "utf-8")
    imported(tripos, "a.json")
    log["samples"][0]["scores"]["match"]["value"] = "I"
    (folder / "a.json").write_text(json.dumps(log), "utf-8")
    outcome = tripos("import", "logs", "a.json")
    assert outcome.code == 1
    assert "sample 1: match was 1, is 0" in outcome.err
    assert "S0505" in outcome.err
    assert ask(tripos, "select sum(value) as s from quiz.scores where metric = 'match'")[0]["s"] == 10
    assert tripos("import", "logs", "a.json", "--replace").code == 0
    assert ask(tripos, "select sum(value) as s from quiz.scores where metric = 'match'")[0]["s"] == 9
    log["samples"][1]["output"]["choices"][0]["message"]["content"] = "another"
    (folder / "a.json").write_text(json.dumps(log), "utf-8")
    outcome = tripos("import", "logs", "a.json", "--replace")
    assert outcome.code == 1
    assert "the store has another reply" in outcome.err


def test_a_dry_run_writes_no_results(folder: Path, tripos: Command) -> None:
    (log,) = imported(tripos, str(LOGS / "quiz.eval"), "--dry-run")["logs"]
    assert log["new"] == 14
    assert log["run_id"] is None
    assert not (folder / "results").exists()


def test_a_spec_that_was_mended_stays(folder: Path, tripos: Command) -> None:
    imported(tripos, str(LOGS / "quiz.eval"))
    spec = folder / "imported" / "quiz" / "quiz.tripos"
    mended = spec.read_text("utf-8").replace(
        "measure match = mean(match)", "measure match = mean(match, missing: zero)"
    )
    spec.write_text(mended, "utf-8")
    imported(tripos, str(LOGS / "failed.json"))
    assert spec.read_text("utf-8") == mended
    log = json.loads((LOGS / "failed.json").read_text("utf-8"))
    log["eval"]["eval_id"] = "another"
    for sample in log["samples"]:
        sample["scores"]["new"] = {"value": 1}
    (folder / "new.json").write_text(json.dumps(log), "utf-8")
    outcome = tripos("import", "logs", "new.json")
    assert outcome.code == 2
    assert "S0507" in outcome.err


def test_a_bad_log_does_not_stop_the_others(folder: Path, tripos: Command) -> None:
    (folder / "logs").mkdir()
    (folder / "logs" / "bad.eval").write_bytes((LOGS / "quiz.eval").read_bytes()[:5000])
    (folder / "logs" / "other.json").write_text("{}", "utf-8")
    (folder / "logs" / "deep.json").write_bytes(b"[" * 100_000)
    shutil.copy(LOGS / "quiz.eval", folder / "logs" / "good.eval")
    found = imported(tripos, "logs", code=1)
    assert [each["samples"] for each in found["logs"]] == [14]
    assert found["others"] == ["logs/other.json"]
    assert [each["file"] for each in found["unread"]] == ["logs/bad.eval", "logs/deep.json"]
    outcome = tripos("import", "logs", "logs/other.json")
    assert outcome.code == 2
    assert "S0501" in outcome.err


def test_an_import_says_which_logs_a_report_hides(folder: Path, tripos: Command) -> None:
    """A task with other arguments has the same name, and views show the last log of a model alone."""
    for name, model, subject in (("a", "m/x", "art"), ("b", "m/y", "art"), ("c", "m/x", "law")):
        sample = {"id": subject, "epoch": 1, "input": subject, "output": {}, "scores": {"m": {"value": "C"}}}
        told = {"task": "t", "model": model, "eval_id": name, "task_args_passed": {"subject": subject}}
        Path(f"{name}.json").write_text(json.dumps({"eval": told, "samples": [sample]}), "utf-8")
    logs = tripos("import", "logs", "a.json", "b.json", "c.json", "--json").data["logs"]
    assert [each["in_place_of"] for each in logs] == [[], [], ["a.json"]]
    again = tripos("import", "logs", "a.json", "c.json", "--json").data["logs"]
    assert [each["in_place_of"] for each in again] == [[], []], "nothing is new"


def test_the_only_score_of_the_first_versions_of_inspect_has_its_name(folder: Path, tripos: Command) -> None:
    samples = [
        {
            "id": number,
            "epoch": 1,
            "input": f"question {number}?",
            "target": "yes",
            "messages": [],
            "output": {"choices": [{"message": {"role": "assistant", "content": "yes"}}]},
            "score": {"value": value, "answer": "yes"},
        }
        for number, value in enumerate("CI")
    ]
    results = {"scorer": {"name": "match", "params": {}}, "metrics": {"accuracy": {"name": "accuracy", "value": 0.5}}}
    head = {"version": 1, "status": "success", "eval": {"task": "quiz", "model": "openai/x"}, "results": results}
    Path("old.json").write_text(json.dumps({**head, "samples": samples}), "utf-8")
    (log,) = imported(tripos, "old.json")["logs"]
    assert (log["samples"], log["scores"]) == (2, 2)
    assert [(each["score"], each["log"], each["same"]) for each in log["figures"]] == [("match", 0.5, True)]
