"""People's grades of EduBench: the authors' table is imported in three commands, and gives the paper's rows."""

from __future__ import annotations

import csv
import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED_DATA, Command
from tripos.runs.compilation import find_spec

SPECS = Path(__file__).parent.parent / "specs/edubench"
NAME = "human_sampled_eval_scores_batch_1.csv"
TITLES = {
    "IFTC": "Instruction Following & Task Completion", "RTC": "Role & Tone Consistency",
    "CRSC": "Content Relevance & Scope Control", "SEI": "Scenario Element Integration",
    "BFA": "Basic Factual Accuracy", "DKA": "Domain Knowledge Accuracy", "RPR": "Reasoning Process Rigor",
    "EICP": "Error Identification & Correction Precision", "CSI": "Clarity, Simplicity & Inspiration",
    "MGP": "Motivation, Guidance & Positive Feedback", "PAS": "Personalization, Adaptation & Learning Support",
    "HOTS": "Higher-Order Thinking & Skill Development",
}  # fmt: skip
TASKS = {
    "回答问题": ("question_answering", "IFTC CRSC BFA RPR"),
    "纠错": ("error_correction", "IFTC SEI BFA RPR EICP CSI MGP"),
    "答疑": ("idea_provision", "IFTC CRSC SEI BFA DKA RPR CSI HOTS"),
    "根据学生画像给出建议": ("personalised_support", "IFTC SEI PAS"),
    "学生心理健康判断与建议": ("emotional_support", "IFTC RTC SEI MGP PAS"),
    "根据知识点生成问题": ("question_generation", "IFTC CRSC BFA DKA CSI HOTS"),
    "判题": ("grading", "IFTC CRSC BFA RPR EICP MGP"),
    "教学素材生成": ("teaching_material", "IFTC RTC CRSC BFA DKA CSI HOTS"),
    "根据学生画像设计学习路径": ("personalised_content", "IFTC CRSC SEI PAS HOTS"),
}
COLUMNS = ["", "question", "question_id", "gen_model", "eval_model", "response", "task", "language", *TITLES.values()]
MODELS = ("deepseek-r1", "deepseek-v3", "qwen-max", "qwen2.5-14b-instruct", "qwen2.5-7b-instruct")
ORDER = ["BFA", "CSI", "CRSC", "DKA", "EICP", "HOTS", "IFTC", "MGP", "PAS", "RPR", "RTC", "SEI"]
TABLE_1 = """
8.97 8.60 8.98 8.94 8.86 8.56 8.77 8.20 9.26 7.95 8.91 8.92 8.74
8.77 7.77 8.40 7.89 8.11 7.25 8.10 7.70 7.42 7.03 7.80 7.47 7.89
8.81 8.01 8.52 8.27 8.23 7.59 8.10 7.70 7.89 7.31 8.09 7.74 8.02
8.74 7.76 8.26 7.79 7.86 6.88 7.77 6.97 7.02 7.01 7.59 7.03 7.56
8.49 7.63 8.04 7.82 7.45 6.93 7.65 7.05 7.38 5.90 7.82 7.35 7.46
"""
"""The rows of people in the paper's Table 1; the mean of DeepSeek V3 is a slip for 7.81."""
TABLE_3 = """
7.17 9.11 8.71 8.80 8.42 8.86 9.15 8.79 9.35 8.71
7.45 8.12 8.16 8.17 7.84 7.56 8.08 8.01 7.03 7.82
7.72 7.94 8.21 8.15 7.89 7.99 7.85 8.39 8.42 8.06
7.66 7.38 7.92 7.56 7.55 7.84 7.31 7.91 7.36 7.61
6.78 7.63 7.93 7.74 6.79 7.86 7.79 7.55 7.42 7.50
"""
SCENARIOS = (
    "question_answering", "personalised_content", "error_correction", "idea_provision", "grading",
    "teaching_material", "emotional_support", "question_generation", "personalised_support",
)  # fmt: skip
"""The columns of Table 3; it has learning support and content creation under each other's name."""


def rows(text: str) -> list[list[float]]:
    return [[float(value) for value in line.split()] for line in text.strip().splitlines()]


def folder_of(path: Path) -> Path | None:
    """Return where the authors' table lies, if it is here: in the shared data, or in the folder that a variable
    names."""
    named = os.environ.get("EDUBENCH_GRADES")
    return next((each for each in (SHARED_DATA, Path(named or path)) if (each / "edubench" / NAME).is_file()), None)


def bring_in(data: Path, tripos: Command) -> dict[str, list[dict[str, Any]]]:
    """Return the three commands of the page, and the measures of the report."""
    table, spec = str(data / "edubench" / NAME), str(SPECS / "graded.tripos")
    model = ("--column", "model=gen_model")
    done = tripos("import", "samples", table, "--spec", spec, "--data", str(data), *model)
    assert done.code == 0, done.err
    done = tripos("import", "scores", table, *model, "--evaluator", "human/expert")
    assert done.code == 0, done.err
    return {each["name"]: each["rows"] for each in tripos("report", "--json").data["measures"]}


def test_a_table_of_grades_is_items_replies_and_scores_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    """Two models and two items a scenario, in our own words; two replies to one item have one model's name."""
    (tmp_path / "edubench").mkdir()
    given: dict[tuple[str, str], list[int]] = {}
    with (tmp_path / "edubench" / NAME).open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, COLUMNS)
        table.writeheader()
        number = 0
        for task, (scenario, metrics) in TASKS.items():
            for item in range(2):
                same = scenario == "question_answering" and item == 0
                for place, model in enumerate(("lab/a", "lab/a" if same else "lab/b")):
                    values = {name: 1 + (number + place + at) % 10 for at, name in enumerate(metrics.split())}
                    for name, value in values.items():
                        given.setdefault((model, name), []).append(value)
                    told = {"question": f"{task} {item}", "question_id": item, "gen_model": model, "task": task}
                    said = {"": number, "language": "zh", "response": f"{task} {item} {place}", "eval_model": "human"}
                    table.writerow(told | said | {TITLES[name]: f"{value}.0" for name, value in values.items()})
                    number += 1
    monkeypatch.chdir(tmp_path)
    found = bring_in(tmp_path, tripos)["by_metric"]
    assert {(row["model"], row["metric"]): row["value"] for row in found} == {
        key: pytest.approx(sum(values) / len(values)) for key, values in given.items()
    }


def test_the_scores_of_the_table_are_those_that_the_scenarios_are_graded_on() -> None:
    shipped = find_spec(str(SPECS / "shipped.tripos")).compile().plan
    assert shipped is not None
    graded = {each.name: {m for step in each.steps for m in getattr(step, "metrics", ())} for each in shipped.scenarios}
    assert graded == {scenario: set(metrics.split()) for scenario, metrics in TASKS.values()}


def test_the_grades_of_people_give_the_papers_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    data = folder_of(tmp_path)
    if data is None:
        pytest.skip("the authors' table of grades is not here")
    monkeypatch.chdir(tmp_path)
    found = bring_in(data, tripos)
    metrics = {(row["model"], row["metric"]): row["value"] for row in found["by_metric"]}
    means = {row["model"]: row["value"] for row in found["mean_metric"]}
    scenarios = {(row["model"], row["scenario"]): row["value"] for row in found["by_scenario"]}
    wholes = {row["model"]: row["value"] for row in found["overall"]}
    for model, (*cells, mean) in zip(MODELS, rows(TABLE_1), strict=True):
        assert [metrics[model, name] for name in ORDER] == pytest.approx(cells, abs=0.00501)
        assert means[model] == pytest.approx(7.81 if model == "deepseek-v3" else mean, abs=0.00501)
    for model, (*cells, mean) in zip(MODELS, rows(TABLE_3), strict=True):
        assert [scenarios[model, name] for name in SCENARIOS] == pytest.approx(cells, abs=0.00501)
        assert wholes[model] == pytest.approx(mean, abs=0.00501)


def test_the_printed_means_are_those_of_the_printed_cells_but_for_one() -> None:
    wrong = [
        (model, mean)
        for model, (*cells, mean) in zip(MODELS, rows(TABLE_1), strict=True)
        if abs(sum(cells) / len(cells) - mean) > 0.011
    ]
    assert wrong == [("deepseek-v3", 7.89)]
