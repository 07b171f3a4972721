"""The released EduBench set: files by name, columns of several layouts, and learning support told from content creation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED_DATA, Command
from tripos.runs.compilation import find_spec

SPECS = Path(__file__).parent.parent / "specs/edubench"
FILES = {
    "question_answering": "Q&A",
    "error_correction": "EC",
    "idea_provision": "IP",
    "emotional_support": "ES",
    "question_generation": "QG",
    "grading": "AG",
    "teaching_material": "TMG",
}
PATH = {"en": 'Give "Learning Path Planning" for {}.', "zh": "请给{}写出学习路径规划建议。"}
CONTENT = {"en": "Generate personalized learning content for {}.", "zh": "请为{}生成个性化的学习内容。"}
KINDS = {
    "Q&A": "question_answering", "error_correct": "error_correction", "helper": "idea_provision",
    "student_profile": "PCC", "design": "PLS", "mood": "emotional_support", "question_gen": "question_generation",
    "judge": "grading", "material": "teaching_material",
}  # fmt: skip
"""Where a published row lies in the released files, which have one kind of profile under the name of the other."""


def lay(folder: Path, rows: dict[tuple[str, str], list[dict[str, Any]]]) -> Path:
    """Return files laid out as the authors released them; rows by language and scenario, or by the name of the file."""
    for (language, name), own in rows.items():
        path = folder / f"edubench/{language}_data/{FILES.get(name, name)}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in own), "utf-8")
    return folder


def small() -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return two rows a file in our own words, with the columns that either language has."""
    rows = {}
    for language, subject in (("en", "Subject"), ("zh", "学科")):
        stages = ("Level", "Education Level") if language == "en" else ("难度", "学制级别")
        for name in FILES:
            rows[language, name] = [
                {subject: "x", stage: "y", "question": f"{name} {stage} {language}", "answer": []} for stage in stages
            ]
        for file, text in (("PLS", CONTENT), ("PCC", PATH)):
            rows[language, file] = [{subject: "x", "question": text[language].format(who)} for who in ("Ann", "Bo")]
    return rows


def counts(data: Path) -> dict[str, int]:
    """Return the items of each scenario."""
    compilation = find_spec(str(SPECS / "released.tripos"), data=(str(data),)).compile()
    assert compilation.plan is not None, compilation.diagnostics
    return {scenario.name: scenario.row_count for scenario in compilation.plan.scenarios}


def test_every_file_is_a_scenario_and_profiles_are_told_apart_by_their_prompts(tmp_path: Path) -> None:
    found = counts(lay(tmp_path, small()))
    assert found == dict.fromkeys([*FILES, "personalised_support", "personalised_content"], 4)


def test_a_language_may_lack_a_file(tmp_path: Path) -> None:
    rows = small()
    del rows["zh", "emotional_support"]
    assert counts(lay(tmp_path, rows))["emotional_support"] == 2


@pytest.mark.long
def test_released_items_are_asked_and_weighed_as_they_are_distributed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    data = lay(tmp_path, small())
    monkeypatch.chdir(tmp_path)
    roles = ("--model", "mock/careful", "--role", "judge=mock/noisy", "--data", str(data))
    done = tripos("run", str(SPECS / "released.tripos"), *roles, "--json")
    assert done.code == 0, done.err
    asked = "select scenario, messages from edubench_released.samples where scenario like 'personalised%'"
    assert tripos("sql", asked, "-o", "asked.json").code == 0
    for row in json.loads(Path("asked.json").read_text("utf-8")):
        is_path = "Learning Path" in row["messages"] or "学习路径" in row["messages"]
        assert is_path == (row["scenario"] == "personalised_support")
    found = {each["name"]: each["rows"] for each in tripos("report", "--json").data["measures"]}
    by_scenario = {row["scenario"]: row["value"] for row in found["by_scenario"]}
    weights = dict(zip(WEIGHED, (2634, 1970, 2692, 827, 2418, 2696, 2004, 2671, 909), strict=True))
    assert sum(weights.values()) == 18_821
    [whole] = found["overall_by_items"]
    assert whole["value"] == pytest.approx(sum(weights[name] * by_scenario[name] for name in weights) / 18_821)


WEIGHED = (
    "question_answering", "error_correction", "idea_provision", "personalised_support", "emotional_support",
    "question_generation", "grading", "teaching_material", "personalised_content",
)  # fmt: skip


@pytest.mark.skipif(not (SHARED_DATA / "edubench").is_dir(), reason="the published items are not here")
def test_the_published_rows_fit_the_layout_of_the_released_ones(tmp_path: Path) -> None:
    rows: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for language in ("en", "zh"):
        lines = (SHARED_DATA / f"edubench/{language}_data_sampled.jsonl").read_text("utf-8").splitlines()
        for row in map(json.loads, lines):
            rows.setdefault((language, KINDS[row.pop("question_type_EN")]), []).append(row)
    assert counts(lay(tmp_path, rows)) == dict.fromkeys(WEIGHED, 22)
