"""Scores that a log gives twice, and samples that it does not number: each is kept once, with the reply that it is of."""

from __future__ import annotations

import json
import random
from pathlib import Path
from statistics import mean
from typing import Any

import pytest

from tests.conftest import Command


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def report(tripos: Command, *words: str) -> dict[str, tuple[float, int, int]]:
    """Import, and return the value, the items and the scores of each measure."""
    done = tripos("import", "logs", *words)
    assert done.code == 0, done.err
    told = tripos("report", "--json").data
    (doubled,) = tripos(
        "sql", "select count(*) - count(distinct score_id) as n from main.scores", "--format", "json"
    ).data
    assert doubled == {"n": 0}
    return {each["name"]: (row["value"], row["items"], row["n"]) for each in told["measures"] for row in each["rows"]}


def lines(path: str, rows: list[dict[str, Any]]) -> None:
    Path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.mark.parametrize("numbered", [False, True])
def test_every_line_of_a_result_about_an_item_is_a_sample(folder: Path, tripos: Command, numbered: bool) -> None:
    """Others than Tripos write no number of a sample; scores of several results are of the same replies."""
    draw = random.Random(3)
    values = {
        (name, item, k): float(draw.random() < 0.5) for name in ("acc", "f1") for item in range(4) for k in range(3)
    }
    results = [{"evaluation_result_id": f"b/{name}", "evaluation_name": f"b/{name}", "metric_config": {"metric_name": name}}
               for name in ("acc", "f1")]  # fmt: skip
    head = {"evaluation_id": "b/m/1", "model_info": {"id": "org/m"}, "evaluation_results": results}
    Path("e.json").write_text(json.dumps(head), "utf-8")
    rows = [
        {
            "evaluation_result_id": f"b/{name}",
            "sample_id": str(item),
            "input": {"raw": f"question {item}"},
            "output": {"raw": [f"reply {k} to {item}"]},
            "evaluation": {"score": value},
            **({"metadata": {"sample_number": str(k)}} if numbered else {}),
        }
        for (name, item, k), value in values.items()
    ]
    lines("e_samples.jsonl", rows)
    found = report(tripos, "e.json")
    for name in ("acc", "f1"):
        expected = mean(value for (of, _, _), value in values.items() if of == name)
        assert found[f"b.{name}"] == (pytest.approx(expected), 4, 12)
    (counted,) = tripos("sql", "select count(*) as n from b.samples", "--format", "json").data
    assert counted == {"n": 12}


def test_two_matches_of_one_sample_are_two_scores(folder: Path, tripos: Command) -> None:
    events: list[dict[str, Any]] = [{"spec": {"completion_fns": ["m/x"], "eval_name": "q", "run_id": "r"}}]
    for item in range(4):
        asked = {"prompt": [{"role": "user", "content": f"question {item}"}], "sampled": ["a"]}
        events.append({"sample_id": str(item), "type": "sampling", "data": asked})
        for correct in (True, False)[: 1 + item % 2]:
            events.append({"sample_id": str(item), "type": "match", "data": {"correct": correct}})
    lines("q.jsonl", events)
    assert report(tripos, "q.jsonl") == {"q.match": (1.0, 4, 4), "q.match_2": (0.0, 2, 2)}


def test_two_scores_may_be_given_one_name(folder: Path, tripos: Command) -> None:
    samples = [{"id": item, "epoch": 1, "input": f"question {item}", "output": {},
                "scores": {"a": {"value": 1}, "b": {"value": item % 2}}} for item in range(4)]  # fmt: skip
    log = {"eval": {"task": "t", "model": "m/x", "eval_id": "e"}, "samples": samples}
    Path("log.json").write_text(json.dumps(log), "utf-8")
    assert report(tripos, "log.json", "--score", "a=right", "--score", "b=right") == {"t.right": (0.75, 4, 8)}


def test_a_line_that_stands_twice_is_a_further_sample_under_every_filter(folder: Path, tripos: Command) -> None:
    row = {"metrics": ["acc"], "resps": [["r"]], "target": "t"}
    rows = [
        {**row, "doc_id": item, "arguments": [[f"question {item}", {}]], "filter": name, "acc": float(item % 2)}
        for name in ("strict", "loose")
        for item in (0, 1, 2, 3)
    ]
    lines("samples_t_2026.jsonl", [*rows, rows[-1], rows[-2]])
    told = {"results": {"t": {}}, "configs": {"t": {"output_type": "generate_until"}}, "n-shot": {"t": 0}}
    Path("results_2026.json").write_text(json.dumps({**told, "model_source": "m"}), "utf-8")
    assert report(tripos, "results_2026.json") == {"t.acc_strict": (0.5, 4, 4), "t.acc_loose": (0.5, 4, 6)}
