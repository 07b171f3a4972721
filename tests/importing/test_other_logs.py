"""Logs of promptfoo, HELM, Every Eval Ever and OpenAI evals: figures, replies, scores, and what is left out."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command

LOGS = Path(__file__).parents[1] / "data" / "logs"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def imported(tripos: Command, *words: str) -> list[dict[str, Any]]:
    outcome = tripos("import", "logs", *words, "--json")
    assert outcome.code == 0, outcome.err
    assert outcome.data["unread"] == []
    return list(outcome.data["logs"])


def rows(tripos: Command, query: str) -> list[dict[str, Any]]:
    outcome = tripos("sql", query, "--format", "json")
    assert outcome.code == 0, outcome.err
    return list(outcome.data)


def test_promptfoo_has_a_run_for_each_provider(folder: Path, tripos: Command) -> None:
    careful, careless = imported(tripos, str(LOGS / "promptfoo"))
    assert (careful["models"], careless["models"]) == (["scripted/careful"], ["scripted/careless"])
    assert [each["same"] for log in (careful, careless) for each in log["figures"]] == [True] * 4
    assert (careful["samples"], careful["scores"], careful["statuses"]) == (4, 13, {"ok": 3, "provider_error": 1})
    told = rows(tripos, """select model, metric, evaluator, value from quiz.scores join quiz.samples using (sample_id, model)
      where messages like '%Rhine%' and model like '%careful' and value is not null order by metric, evaluator""")  # fmt: skip
    assert [(row["metric"], row["evaluator"], row["value"]) for row in told] == [
        ("contains", "promptfoo/contains", 0.0),
        ("mentions", "promptfoo/icontains", 1.0),
        ("pass", "promptfoo/pass", 0.0),
        ("score", "promptfoo/score", 0.75),
    ]
    assert rows(tripos, "select distinct error from quiz.samples where reply is null") == [
        {"error": "the server broke"}
    ]
    costs = rows(tripos, "select sum(cost_usd) as cost, sum(tokens_in) as sent from main.samples")
    assert costs == [{"cost": pytest.approx(0.006), "sent": 60}]
    outcome = tripos("compare", careful["run_id"], careless["run_id"], "--json")
    assert outcome.code == 0, outcome.err
    assert next(each for each in outcome.data["rows"] if each["name"] == "quiz.pass")["difference"] == -0.25


def test_openai_evals(folder: Path, tripos: Command) -> None:
    (log,) = imported(tripos, str(LOGS / "openai-evals" / "quiz.jsonl"))
    assert (log["samples"], log["scores"], log["statuses"]) == (4, 4, {"ok": 3, "provider_error": 1})
    assert [(each["log"], each["same"]) for each in log["figures"]] == [(2 / 3, True)]
    assert [each["what"] for each in log["left_out"]] == ["metric `choice` that is no number"]
    (told,) = rows(tripos, "select reply, messages, tokens_in, model_served from quiz.samples where reply = 'Rhine'")
    assert json.loads(told["messages"])[1] == {"role": "user", "content": "Name a river in 科隆."}
    assert (told["tokens_in"], told["model_served"]) == (22, "gpt-4o-mini-2024-07-18")
    assert rows(tripos, "select error from quiz.samples where reply is null") == [{"error": "too many requests"}]


@pytest.mark.parametrize("named_by", ["evaluation_result_id", "evaluation_name"])
def test_the_accuracies_of_subjects_in_every_eval_ever_are_apart(named_by: str, folder: Path, tripos: Command) -> None:
    shares = {"anatomy": [1.0, 0.0], "law": [1.0, 1.0]}
    results = [
        {
            "evaluation_result_id": f"r-{subject}",
            "evaluation_name": subject,
            "metric_config": {"metric_name": "accuracy"},
            "score_details": {"score": sum(scores) / 2},
        }
        for subject, scores in shares.items()
    ]
    rows = [
        {
            named_by: subject if named_by == "evaluation_name" else f"r-{subject}",
            "sample_id": str(number),
            "input": {"raw": f"{subject} {number}?"},
            "output": {"raw": ["A"]},
            "evaluation": {"score": score},
        }
        for subject, scores in shares.items()
        for number, score in enumerate(scores)
    ]
    head = {"evaluation_id": "mmlu/x/1", "model_info": {"id": "openai/x"}, "evaluation_results": results}
    Path("log.json").write_text(json.dumps(head), "utf-8")
    Path("log_samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    [log] = tripos("import", "logs", "log.json", "--json").data["logs"]
    assert [(each["task"], each["log"], each["same"]) for each in log["figures"]] == [
        ("anatomy", 0.5, True),
        ("law", 1.0, True),
    ]


def test_conversations_and_unknown_levels_of_every_eval_ever(folder: Path, tripos: Command) -> None:
    result = {"evaluation_name": "help", "metric_config": {"metric_name": "level", "has_unknown_level": True}}
    head = {"evaluation_id": "chat/x/1", "model_info": {"id": "openai/x"}, "evaluation_results": [result]}
    said = [
        ("user", "Hi", None),
        ("assistant", None, [{"id": "c", "name": "look"}]),
        ("tool", "3", None),
        ("assistant", "Three.", None),
    ]
    messages = [
        {"turn_idx": at, "role": role, "content": content, "tool_calls": calls}
        for at, (role, content, calls) in enumerate(said)
    ]
    rows = [
        {
            "evaluation_name": "help",
            "sample_id": str(number),
            "interaction_type": "agentic",
            "input": {"raw": f"task {number}"},
            "output": output,
            "messages": messages,
            "evaluation": {"score": score},
        }
        for number, (score, output) in enumerate(((2, None), (-1, {"raw": ["Three."]})))
    ]
    Path("log.json").write_text(json.dumps(head), "utf-8")
    Path("log_samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    [log] = tripos("import", "logs", "log.json", "--json").data["logs"]
    assert (log["scores"], log["left_out"][0]["what"]) == (1, "score of `level` without a value")
    samples = tripos("sql", "select status, reply, messages from main.samples", "--format", "json").data
    assert [(row["status"], row["reply"]) for row in samples] == [("ok", "Three.")] * 2
    for row in samples:  # the reply is no message before itself, also if the line has it twice
        assert [turn["role"] for turn in json.loads(row["messages"])] == ["user", "assistant", "tool"]


def test_every_eval_ever_goes_out_and_comes_in_again(folder: Path, tripos: Command) -> None:
    imported(tripos, str(LOGS / "inspect" / "failed.json"))
    assert tripos("export", "eee", "-o", "out", "--secrets").code == 0
    shutil.move("results", "before")
    (log,) = imported(tripos, "out", "--name", "again")
    assert (log["samples"], log["scores"], log["without_value"]) == (13, 64, 0)
    assert [each for each in log["figures"] if not each["same"]] == []
    query = """select metric, value, count(*) as n from {}.scores where value is not null group by all order by all"""
    came = rows(tripos, query.format("again"))
    outcome = tripos("sql", query.format("quiz"), "--format", "json", "--store", "before")
    assert came == outcome.data
    assert len(rows(tripos, "select distinct item_id from main.items")) == 7
    target = rows(
        tripos, "select fields ->> '$.target' as target from again.items where fields ->> '$.question' like '%2 + 2%'"
    )
    assert target == [{"target": "4"}]


def test_helm(folder: Path, tripos: Command) -> None:
    (log,) = imported(tripos, str(LOGS / "helm"))
    assert (log["benchmark"], log["models"], log["items"], log["samples"]) == (
        "quiz_subject_sums",
        ["simple/model1"],
        3,
        6,
    )
    assert {each["score"]: (each["log"], each["same"]) for each in log["figures"]} == {
        "exact_match": (pytest.approx(4 / 6), True),
        "quasi_exact_match": (pytest.approx(5 / 6), True),
    }
    left = {each["what"]: each["count"] for each in log["left_out"]}
    assert left == {"`num_references`, which says nothing of how good a reply is": 6}
    told = rows(tripos, "select reply, sample_number, latency_s, finish_reason from main.samples order by 2, 1")
    assert [row["reply"] for row in told] == ["10", "4", "6", "10.", "4", "six"]
    assert {key: told[0][key] for key in ("latency_s", "finish_reason")} == {"latency_s": 0.5, "finish_reason": "stop"}
    (item,) = rows(tripos, "select fields from main.items where fields ->> '$.id' = 'id1'")
    assert json.loads(item["fields"])["target"] == "6"
    assert imported(tripos, str(LOGS / "helm"))[0]["run_id"] is None


def test_a_file_of_another_kind_is_no_log(folder: Path, tripos: Command) -> None:
    (folder / "logs").mkdir()
    for name, text in (("a.json", '{"results": []}'), ("b.jsonl", '{"a": 1}\n'), ("c.json", "[]"), ("d.txt", "x")):
        (folder / "logs" / name).write_text(text, "utf-8")
    outcome = tripos("import", "logs", "logs")
    assert outcome.code == 2
    assert "there is no log at `logs`" in outcome.err


@pytest.mark.parametrize("kind", ("inspect", "lm-eval"))
def test_exports_of_other_forms_come_in_again(folder: Path, tripos: Command, kind: str) -> None:
    imported(tripos, str(LOGS / "inspect" / "quiz.eval"))
    assert tripos("export", kind, "-o", "out", "--secrets").code == 0
    shutil.move("results", "before")
    (log,) = imported(tripos, "out", "--name", "again")
    assert (log["samples"], log["scores"], log["without_value"]) == (14, 69, 1)
    assert [each for each in log["figures"] if not each["same"]] == []
    query = "select value, count(*) as n from main.scores where value is not null group by all order by all"
    assert rows(tripos, query) == tripos("sql", query, "--format", "json", "--store", "before").data
