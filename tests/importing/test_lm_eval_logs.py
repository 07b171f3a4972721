"""Logs of lm-eval, as the tool made them, and beside one of Inspect about the same items."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command

LOGS = Path(__file__).parents[1] / "data" / "logs" / "lm-eval" / "run"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def rows(tripos: Command, query: str) -> list[dict[str, Any]]:
    outcome = tripos("sql", query, "--format", "json")
    assert outcome.code == 0, outcome.err
    return list(outcome.data)


def test_figures_of_the_reports_are_those_of_the_log(folder: Path, tripos: Command) -> None:
    told = tripos("import", "logs", str(LOGS), "--json").data
    assert told["others"] == told["unread"] == []
    letters, sums = told["logs"]
    assert [each["same"] for log in (letters, sums) for each in log["figures"]] == [True] * 8
    assert (letters["samples"], letters["scores"], sums["samples"], sums["scores"]) == (4, 8, 12, 12)
    results = json.loads(next(LOGS.glob("results_*.json")).read_text("utf-8"))["results"]
    for log, names in ((letters, {"acc": "acc,none", "acc_norm": "acc_norm,none"}),
                       (sums, {"exact_match_strict": "exact_match,strict", "exact_match_loose": "exact_match,loose"})):  # fmt: skip
        report = tripos("report", log["run_id"], "--json").data
        found = {each["name"].partition(".")[2]: each["rows"][0] for each in report["measures"]}
        for name, there in names.items():
            metric, _, filter_ = there.partition(",")
            assert found[name]["value"] == results[log["benchmark"]][there]
            error = results[log["benchmark"]][f"{metric}_stderr,{filter_}"]
            assert found[name]["standard_error"] == pytest.approx(error, rel=1e-12)


def test_replies_filters_and_likelihoods(folder: Path, tripos: Command) -> None:
    assert tripos("import", "logs", str(LOGS)).code == 0
    told = rows(tripos, "select sample_number, reply from sums.samples where messages like '%3 + 5%' order by 1")
    assert [row["reply"] for row in told] == ["It is 8", "8"]
    query = """select metric, value, evaluator from sums.scores join sums.samples using (sample_id)
      where messages like '%3 + 5%' and value is not null order by 1"""
    assert rows(tripos, query) == [
        {"metric": "exact_match_loose", "value": 1.0, "evaluator": "lm-eval/exact_match,loose"},
        {"metric": "exact_match_strict", "value": 0.0, "evaluator": "lm-eval/exact_match,strict"},
    ]
    (chosen,) = rows(tripos, "select reply from letters.samples where messages like '%首都%'")
    assert chosen["reply"] == " 北京"
    (kept,) = rows(tripos, "select reply from main.judgements where evaluator = 'lm-eval/acc' and reply like '%北京%'")
    assert json.loads(kept["reply"])["likelihoods"] == [
        {"text": " 北京", "log_likelihood": -0.5, "is_greedy": True},
        {"text": " 上海", "log_likelihood": -4.0, "is_greedy": False},
    ]


def test_importing_again_changes_nothing_and_a_bad_line_is_named(folder: Path, tripos: Command) -> None:
    shutil.copytree(LOGS, folder / "logs")
    (samples,) = (folder / "logs").glob("samples_sums*")
    lines = samples.read_text("utf-8").splitlines()
    samples.write_text("\n".join([lines[0], "{", *lines[1:], "[1]"]), "utf-8")
    told = tripos("import", "logs", "logs", "--json").data["logs"][1]
    assert told["scores"] == 12
    assert [each["first"] for each in told["left_out"] if "no sample" in each["what"]] == [
        f"{samples.name}, line 2",
        f"{samples.name}, line 14",
    ]
    again = tripos("import", "logs", "logs", "--json").data["logs"]
    assert [(each["new"], each["new_scores"], each["run_id"]) for each in again] == [(0, 0, None)] * 2
    samples.unlink()
    outcome = tripos("import", "logs", "logs", "--json")
    assert outcome.code == 1
    assert "no samples" in outcome.data["unread"][0]["reason"]


def test_logs_of_two_tools_are_compared_item_by_item(folder: Path, tripos: Command) -> None:
    results = json.loads(next(LOGS.glob("results_*.json")).read_text("utf-8"))
    lines = [json.loads(line) for line in next(LOGS.glob("samples_sums*")).read_text("utf-8").splitlines()]
    strict = [row for row in lines if row["filter"] == "strict"]
    samples = [
        {
            "id": f"other-{row['doc_id']}",
            "epoch": 1,
            "input": row["arguments"]["gen_args_0"]["arg_0"],
            "target": row["target"],
            "output": {
                "choices": [{"message": {"role": "assistant", "content": row["target"]}, "stop_reason": "stop"}]
            },
            "scores": {"match": {"value": "C"}},
        }
        for row in reversed(strict)
    ]
    log = {"version": 2, "status": "success", "eval": {"task": "sums", "model": "x/y", "eval_id": "e"}}
    (folder / "inspect.json").write_text(json.dumps({**log, "samples": samples}), "utf-8")
    assert results["results"]["sums"]["exact_match,strict"] < 1
    told = tripos("import", "logs", str(LOGS), "inspect.json", "--model", "x/y", "--score", "match=exact_match_strict",
                  "--json").data  # fmt: skip
    first, second = (each for each in told["logs"] if each["benchmark"] == "sums")
    assert second["items"] == 6
    assert len(rows(tripos, "select distinct item_id from main.items where benchmark = 'sums'")) == 6
    outcome = tripos("compare", first["run_id"], second["run_id"], "--anyway", "--json")
    assert outcome.code == 0, outcome.err
    row = next(each for each in outcome.data["rows"] if each["name"] == "sums.exact_match_strict")
    assert row["pairs"] == 6
    assert row["difference"] == pytest.approx(4 / 6)
    refused = tripos("compare", first["run_id"], second["run_id"])
    assert (refused.code, "S0615" in refused.err) == (2, True)


def test_lower_is_better_with_every_filter_and_in_its_own_task(folder: Path, tripos: Command) -> None:
    """`higher_is_better` names metrics of tasks, and a score is a metric by a filter."""
    shutil.copytree(LOGS, folder / "logs")
    (results,) = (folder / "logs").glob("results_*.json")
    told = json.loads(results.read_text("utf-8"))
    told["higher_is_better"] = {"sums": {"exact_match": False}, "letters": {"acc": True, "acc_norm": False}}
    results.write_text(json.dumps(told), "utf-8")
    runs = tripos("import", "logs", "logs", "--name", "both", "--json").data["logs"]
    found = {}
    for run in runs:
        measures = tripos("report", run["run_id"], "--json").data["measures"]
        found |= {each["name"]: each["lower_is_better"] for each in measures if each["rows"]}
    assert found == {
        "letters.acc": False,
        "letters.acc_norm": True,
        "sums.exact_match_strict": True,
        "sums.exact_match_loose": True,
    }


EARLY_NAMES = {"0.4.1": "pretrained__a__b", "0.4.2": "pretrained=a__b"}
"""How early versions of lm-eval begin the names of files of samples, by version."""


def without_new_keys(folder: Path, version: str) -> None:
    """Write the logs as old versions of lm-eval wrote them: samples without the names of their filter and metrics,
    those of one filter after those of another, as the figures of the results are."""
    time = next(LOGS.glob("results_*.json")).stem.removeprefix("results")
    for path in LOGS.iterdir():
        if path.suffix != ".jsonl":
            head = json.loads(path.read_text("utf-8"))
            head["config"]["model_args"] = "pretrained=a/b"
            name = "results.json" if version in EARLY_NAMES else path.name
            (folder / name).write_text(json.dumps(head), "utf-8")
            continue
        lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
        lines.sort(key=lambda line: line["filter"] != "strict")  # the results name this filter first
        kept = [{name: value for name, value in line.items() if name not in ("filter", "metrics")} for line in lines]
        task = path.stem.removeprefix("samples_").removesuffix(time)
        match version:
            case "0.4.1" | "0.4.2":
                (folder / f"{EARLY_NAMES[version]}_{task}.jsonl").write_text(json.dumps(kept, indent=2), "utf-8")
            case "0.4.3":
                (folder / f"{path.stem}.json").write_text(json.dumps(kept, indent=2), "utf-8")
            case _:
                (folder / path.name).write_text("".join(json.dumps(line) + "\n" for line in kept), "utf-8")


@pytest.mark.parametrize("version", [*EARLY_NAMES, "0.4.3", "0.4.4"])
def test_logs_of_old_versions_have_their_metrics_and_filters(version: str, folder: Path, tripos: Command) -> None:
    (folder / "old").mkdir()
    without_new_keys(folder / "old", version)
    told = tripos("import", "logs", "old", "-o", "old-specs", "--store", "old-results", "--json").data
    assert told["others"] == told["unread"] == []
    new = tripos("import", "logs", str(LOGS), "--json").data["logs"]
    names = ("samples", "scores", "figures", "not_recomputable")
    assert [[log.get(name) for name in names] for log in told["logs"]] == [
        [log.get(name) for name in names] for log in new
    ]
