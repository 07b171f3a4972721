"""The EduBench spec: its structure is that of the paper, its items are ours, and it runs."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from tests.conftest import SHARED_DATA, Command
from tripos.project import find_spec
from tripos_compiler.plan import Grade, Plan

ROOT = Path(__file__).parent.parent
QUESTION_GENERATION = "BFA CSI CRSC DKA HOTS IFTC"
ALLOCATION = {
    "grading": "BFA CRSC EICP IFTC MGP RPR",
    "error_correction": "BFA CSI EICP IFTC MGP RPR SEI",
    "emotional_support": "IFTC MGP PAS RTC SEI",
    "idea_provision": "BFA CSI CRSC DKA HOTS IFTC RPR SEI",
    "personalised_content": "IFTC CRSC HOTS PAS SEI",
    "personalised_support": "IFTC PAS SEI",
    "question_answering": "BFA CRSC IFTC RPR",
    "question_generation": QUESTION_GENERATION,
    "teaching_material": f"{QUESTION_GENERATION} RTC",
}
FULL, PUBLISHED = ROOT / "specs/edubench", ROOT / "specs/edubench/published.tripos"
needs_data = pytest.mark.skipif(not (SHARED_DATA / "edubench").is_dir(), reason="the published items are not here")


@pytest.fixture(scope="module")
def plan() -> Plan:
    compilation = find_spec(str(FULL)).compile()
    assert compilation.diagnostics == ()
    assert compilation.plan is not None
    return compilation.plan


def allocated(plan: Plan) -> dict[str, set[str]]:
    return {
        scenario.name: {metric for step in scenario.steps if isinstance(step, Grade) for metric in step.metrics}
        for scenario in plan.scenarios
    }


def test_the_allocation_is_the_true_table(plan: Plan) -> None:
    assert allocated(plan) == {name: set(metrics.split()) for name, metrics in ALLOCATION.items()}


def test_twelve_metrics_in_three_dimensions_with_five_levels_in_both_languages(plan: Plan) -> None:
    assert len(plan.metrics) == 12
    assert len({metric.dimension for metric in plan.metrics}) == 3
    bands = [(9, 10), (7, 8), (5, 6), (3, 4), (1, 2)]
    for metric in plan.metrics:
        assert [(level.low, level.high) for level in metric.levels] == bands
        assert all(level.text["en"] != level.text["zh"] for level in metric.levels)


def test_subjects_have_two_tiers(plan: Plan) -> None:
    groups = Counter(value.group for value in plan.axis("subject").values)
    assert groups.pop("k12") == 8
    assert (len(groups), sum(groups.values())) == (10, 26)
    assert {axis.name for axis in plan.axes} >= {"stage", "subject", "difficulty", "question_type", "anxiety"}


def test_the_contexts_are_counted_exactly(plan: Plan) -> None:
    pairs = 3 * 8 + 3 * 26  # of stage and subject
    cells = {scenario.name: scenario.cells for scenario in plan.scenarios}
    for name in ("question_answering", "error_correction", "idea_provision", "question_generation", "grading"):
        assert cells[name] == 2 * 3 * 3 * pairs  # language, difficulty, question type
    assert cells["teaching_material"] == 2 * 3 * pairs
    assert cells["personalised_support"] == cells["personalised_content"] == 2 * pairs
    assert cells["emotional_support"] == 2 * 6 * 4


def test_four_items_a_scenario_and_language(plan: Plan) -> None:
    for scenario in plan.scenarios:
        rows = [json.loads(line) for line in (FULL / f"items/{scenario.name}.jsonl").read_text("utf-8").splitlines()]
        assert Counter(row["language"] for row in rows) == {"en": 4, "zh": 4}


def test_every_scenario_runs_in_both_languages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    judges = "judge=mock/careful:a,mock/careless:b"
    done = tripos("run", str(FULL), "--model", "mock/careful", "--role", judges, "--json")
    assert done.code == 0
    assert done.data["calls"] == {"planned": 216, "asked": 216, "reused": 0, "skipped": 0, "failed": 0}
    assert sum(done.data["scores"].values()) == 2 * 8 * sum(len(metrics.split()) for metrics in ALLOCATION.values())


@needs_data
def test_the_published_items_run_as_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command) -> None:
    monkeypatch.chdir(tmp_path)
    judge = ("--role", "judge=mock/careful")
    data = ("--data", str(SHARED_DATA))
    done = tripos("run", str(PUBLISHED), *data, "--model", "mock/careful", *judge, "--json")
    assert done.code == 0
    tripos("sql", "select count(*) as n from edubench_published.samples", "-o", "samples.json")
    assert json.loads(Path("samples.json").read_text()) == [{"n": 198}]
    query = "select scenario, language, metric, count(*) as n from edubench_published.scores group by all"
    tripos("sql", query, "-o", "scores.json")
    counted = {(r["scenario"], r["language"], r["metric"]): r["n"] for r in json.loads(Path("scores.json").read_text())}
    assert counted == {
        (scenario, language, metric): 11
        for scenario, metrics in ALLOCATION.items()
        for language in ("en", "zh")
        for metric in metrics.split()
    }


@needs_data
def test_the_data_says_the_same_allocation() -> None:
    """Every published item names its metrics by number; they are as many as our table gives its scenario."""
    kinds = {
        "judge": "grading", "error_correct": "error_correction", "mood": "emotional_support",
        "helper": "idea_provision", "design": "personalised_content", "student_profile": "personalised_support",
        "Q&A": "question_answering", "question_gen": "question_generation", "material": "teaching_material",
    }  # fmt: skip
    codes = {"1.1": "IFTC", "1.2": "RTC", "1.3": "CRSC", "1.4": "SEI", "2.1": "BFA", "2.2": "DKA", "2.3": "RPR",
             "2.4": "EICP", "3.1": "CSI", "3.2": "MGP", "3.3": "PAS", "3.4": "HOTS"}  # fmt: skip
    for language in ("en", "zh"):
        lines = (SHARED_DATA / f"edubench/{language}_data_sampled.jsonl").read_text("utf-8").splitlines()
        for row in map(json.loads, lines):
            said = {codes[metric.split()[0]] for metric in row["evaluation_metrics"]}
            assert said == set(ALLOCATION[kinds[row["question_type_EN"]]].split())
