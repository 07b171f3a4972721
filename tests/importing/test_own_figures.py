"""Figures of logs that are no plain means of scores: computed by a measure, or kept and named as the log's own."""

from __future__ import annotations

import json
import random
import statistics
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Command
from tests.lengths import sized

COMPUTED = ("mean", "max", "median", "pass_at_1", "pass_at_2", "pass_k_2", "at_least_1", "at_least_3")
NOT_HELD = ("mode", "at_least_2", "our_own")
EPOCHS = 3
HALVES = {"C": 1.0, "I": 0.0, "P": 0.5}
IN_NUMBERS = ("mean", "max", "median")
"""The reducers that a measure has of scores other than true and false."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    return tmp_path


def naive(reducer: str, values: Sequence[float]) -> float:
    """Return what a reducer makes of the scores of an item, from its definition."""
    name, _, count = reducer.rpartition("_")
    drawn = list(combinations(values, int(count))) if name in ("pass_at", "pass_k") else []
    if name == "pass_at":
        return statistics.fmean(float(max(each) == 1) for each in drawn)
    if name == "pass_k":
        return statistics.fmean(float(min(each) == 1) for each in drawn)
    if name == "at_least":
        return float(sum(value >= 1 for value in values) >= int(count))
    if reducer == "our_own":
        return 0.125
    return {"mean": statistics.fmean, "max": max, "median": statistics.median, "mode": statistics.mode}[reducer](values)


def inspect_log(reducers: Sequence[str], scores: dict[str, list[str]]) -> dict[str, Any]:
    """Return a log with such scores of items in their epochs, and its own accuracy by each reducer."""
    figures = {
        reducer: statistics.fmean(naive(reducer, [HALVES[each] for each in some]) for some in scores.values())
        for reducer in reducers
    }
    config = {"epochs": EPOCHS, "epochs_reducer": list(reducers)}
    return {
        "version": 2,
        "status": "success",
        "eval": {"eval_id": "e", "task": "sums", "task_id": "sums", "model": "mock/m", "config": config},
        "plan": {"steps": []},
        "results": {
            "scores": [
                {"name": "match", "scorer": "match", "reducer": name, "metrics": {"accuracy": {"value": value}}}
                for name, value in figures.items()
            ]
        },
        "samples": [
            {
                "id": item,
                "epoch": epoch,
                "input": f"What is {item}?",
                "target": "1",
                "messages": [],
                "output": {"choices": [{"message": {"role": "assistant", "content": score}}]},
                "scores": {"match": {"value": score}},
            }
            for item, some in scores.items()
            for epoch, score in enumerate(some, 1)
        ],
    }


def figures_of(tripos: Command) -> tuple[dict[str, float], list[str]]:
    """Return the measures of the report, and its remarks on figures of the log."""
    report = json.loads(tripos("report", "--json").out)
    values = {each["name"].partition(".")[2]: each["rows"][0]["value"] for each in report["measures"]}
    return values, [each["text"] for each in report["remarks"] if each["kind"] == "own_figures"]


@pytest.mark.parametrize("seed", range(sized(3, 30)))
def test_a_reducer_is_a_measure_or_its_figure_is_named_as_the_logs_own(
    folder: Path, tripos: Command, seed: int
) -> None:
    dice = random.Random(seed)
    reducers = dice.sample([*COMPUTED, *NOT_HELD], dice.randint(1, 5))
    letters = dice.choice(("CI", "CIP"))
    scores = {f"q{n}": [dice.choice(letters) for _ in range(EPOCHS)] for n in range(dice.randint(2, 6))}
    log = inspect_log(reducers, scores)
    Path("log.json").write_text(json.dumps(log), "utf-8")
    [told] = json.loads(tripos("import", "logs", "log.json", "--json").out)["logs"]
    own = {each["reducer"]: each["value"] for each in told["own_figures"]}
    values, remarks = figures_of(tripos)
    truth = not any("P" in some for some in scores.values())
    for each in log["results"]["scores"]:
        name, there = each["reducer"], each["metrics"]["accuracy"]["value"]
        if name in (COMPUTED if truth else IN_NUMBERS):
            alone = reducers == ["mean"]
            assert values["match" if alone else f"match_{name}"] == pytest.approx(there), name
            assert name not in own
        else:
            assert own[name] == there
            assert f"match_{name}" not in values
            assert f"match accuracy by {name} {there:.6g} (sums)" in remarks[0]
    assert all(each["same"] for each in told["figures"])
    again = tripos("import", "logs", "log.json")
    assert (again.code, "nothing is new" in again.out) == (0, True)


LM_EVAL = {
    "results": {
        "wiki": {"word_perplexity,none": 12.5, "bits_per_byte,none": 0.9, "alias": "wiki"},
        "translate": {"bleu,none": 27.25, "bleu_stderr,none": 1.5, "exact_match,none": 0.5, "alias": "translate"},
    },
    "configs": {
        "wiki": {
            "output_type": "loglikelihood_rolling",
            "metric_list": [{"metric": "word_perplexity"}, {"metric": "bits_per_byte"}],
        },
        "translate": {
            "output_type": "generate_until",
            "metric_list": [{"metric": "bleu", "aggregation": "bleu"}, {"metric": "exact_match"}],
        },
    },
    "n-shot": {"wiki": 0, "translate": 0},
    "higher_is_better": {"wiki": {"word_perplexity": False, "bits_per_byte": False}},
    "config": {"model": "hf", "model_args": "pretrained=small"},
    "date": 1.0,
}


def lm_eval_lines(task: str) -> list[dict[str, Any]]:
    if task == "wiki":
        told = {"metrics": ["word_perplexity", "bits_per_byte"], "word_perplexity": [-30.0, 9], "bits_per_byte": -2.0}
        return [{"doc_id": n, "arguments": [["text", ""]], "resps": [["-30.0"]], **told} for n in range(2)]
    told = {"metrics": ["bleu", "exact_match"], "bleu": ["a b", "a b"]}
    return [
        {
            "doc_id": n,
            "arguments": [[f"Say {n}", {}]],
            "resps": [["a b"]],
            "target": "a b",
            **told,
            "exact_match": n % 2,
        }
        for n in range(2)
    ]


def test_a_figure_of_the_whole_set_is_kept_as_the_logs_own_and_no_mean_has_its_name(
    folder: Path, tripos: Command
) -> None:
    Path("results_1.json").write_text(json.dumps(LM_EVAL), "utf-8")
    for task in ("wiki", "translate"):
        Path(f"samples_{task}_1.jsonl").write_text("\n".join(map(json.dumps, lm_eval_lines(task))), "utf-8")
    logs = json.loads(tripos("import", "logs", "results_1.json", "--json").out)["logs"]
    own = {each["score"]: each["value"] for log in logs for each in log["own_figures"] if each["figure"] != "stderr"}
    assert own == {"word_perplexity": 12.5, "bits_per_byte": 0.9, "bleu": 27.25}
    seen = {}
    for log in logs:
        report = json.loads(tripos("report", log["run_id"], "--json").out)
        measures = {each["name"]: each["rows"][0]["value"] for each in report["measures"]}
        [remark] = [each["text"] for each in report["remarks"] if each["kind"] == "own_figures"]
        seen[log["benchmark"]] = (measures, remark)
        assert f"note: {remark}"[:40] in tripos("report", log["run_id"]).out
    assert seen["translate"][0] == {"translate.exact_match": 0.5}
    assert "bleu 27.25 (translate)" in seen["translate"][1]
    assert seen["wiki"][0] == {}
    assert "word_perplexity 12.5 (wiki)" in seen["wiki"][1]
