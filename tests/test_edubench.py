"""The EduBench specs: their structure is that of the paper, their items are ours or written, and they run."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import SHARED_DATA, Command
from tripos.runs.compilation import find_spec
from tripos_compiler.plan import Ask, Grade, Plan

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
HIGHER = """
    mathematical_sciences physical_sciences chemical_sciences biological_sciences astronomy computer_science automation
    aerospace aquaculture crop_science applied_economics theoretical_economics general_pedagogy physical_education
    business_administration public_administration basic_medicine clinical_medicine sociology psychology
    historical_studies law management linguistics journalism music_theory military_science
"""
FULL = ROOT / "specs/edubench"
SHIPPED, PUBLISHED = FULL / "shipped.tripos", FULL / "published.tripos"
QUESTIONS = ("question_answering", "error_correction", "idea_provision", "question_generation", "grading")
PANEL = "judge=mock/fair,mock/severe,mock/noisy"
needs_data = pytest.mark.skipif(not (SHARED_DATA / "edubench").is_dir(), reason="the published items are not here")


@pytest.fixture(scope="module")
def plan() -> Plan:
    compilation = find_spec(str(FULL)).compile()
    assert compilation.diagnostics == ()
    assert compilation.plan is not None
    return compilation.plan


def asked(query: str, tripos: Command) -> list[dict[str, Any]]:
    """Return the rows of a query."""
    done = tripos("sql", f"{query} order by all", "-o", "answer.json")
    assert done.code == 0, done.err
    rows: list[dict[str, Any]] = json.loads(Path("answer.json").read_text("utf-8"))
    return rows


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
    assert (len(groups), sum(groups.values())) == (10, 27)
    assert {axis.name for axis in plan.axes} >= {"stage", "subject", "difficulty", "question_type", "anxiety"}


def test_the_subjects_of_higher_education_are_those_of_the_papers_appendix(plan: Plan) -> None:
    subjects = plan.axis("subject").values
    assert {each.name for each in subjects if each.group != "k12"} == set(HIGHER.split())


def test_conversations_are_about_every_subject_of_every_stage(plan: Plan) -> None:
    rows = (FULL / "studies.csv").read_text("utf-8").split()[1:]
    school, higher = ("primary", "middle", "high"), ("bachelor", "master", "doctor")
    pairs = {
        f"{stage},{each.name}"
        for each in plan.axis("subject").values
        for stage in (school if each.group == "k12" else higher)
    }
    assert len(rows) == 105
    assert set(rows) == pairs


def test_the_contexts_are_counted_exactly(plan: Plan) -> None:
    pairs = 3 * 8 + 3 * 27  # of stage and subject
    cells = {scenario.name: scenario.cells for scenario in plan.scenarios}
    for name in (*QUESTIONS, "teaching_material"):
        assert cells[name] == 2 * 3 * pairs  # language, difficulty
    assert cells["personalised_support"] == cells["personalised_content"] == 2 * pairs
    assert cells["emotional_support"] == 2 * 6 * 4
    assert sum(cells.values()) == 4248


def test_the_author_writes_two_items_in_every_context_and_of_every_type_of_question(plan: Plan) -> None:
    rows = {made.name: made.rows for made in plan.made}
    for scenario in plan.scenarios:
        assert scenario.rows is not None
        types = 3 if scenario.name in (*QUESTIONS, "teaching_material") else 1
        cells = 2 * 105 * 4 if scenario.name == "emotional_support" else scenario.cells
        assert rows[scenario.rows.dataset] == 2 * types * cells
    assert sum(rows.values()) == 25_200


def test_shipped_and_written_items_are_asked_the_same() -> None:
    """Questions and grades are those of the same files, so only the rows tell one benchmark from the other."""
    written, shipped = (find_spec(str(path)).compile().plan for path in (FULL, SHIPPED))
    assert written is not None and shipped is not None
    assert written.scorers == shipped.scorers
    assert written.metrics == shipped.metrics
    for one, other in zip(written.scenarios, shipped.scenarios, strict=True):
        asks = [step for scenario in (one, other) for step in scenario.steps if isinstance(step, Ask)]
        assert asks[0].prompt == asks[1].prompt
        assert asks[0].system == asks[1].system


def test_what_answers_a_written_item_is_as_secret_as_in_the_shipped_ones() -> None:
    written, shipped = (find_spec(str(path)).compile().plan for path in (FULL, SHIPPED))
    assert written is not None and shipped is not None
    open_fields = {
        each.name: {f.name for f in each.fields if not f.secret} for each in (*written.made, *shipped.datasets)
    }
    for made in written.made:
        own = {each.name for each in next(d for d in shipped.datasets if d.name == made.name).fields if not each.secret}
        assert open_fields[made.name] == own


def test_four_items_a_scenario_and_language() -> None:
    for name in ALLOCATION:
        rows = [json.loads(line) for line in (FULL / f"items/{name}.jsonl").read_text("utf-8").splitlines()]
        assert Counter(row["language"] for row in rows) == {"en": 4, "zh": 4}


@pytest.mark.long
def test_every_scenario_runs_in_both_languages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    judges = "judge=mock/careful:a,mock/careless:b"
    done = tripos("run", str(SHIPPED), "--model", "mock/careful", "--role", judges, "--json")
    assert done.code == 0
    assert done.data["calls"] == {"planned": 216, "asked": 216, "reused": 0, "skipped": 0, "failed": 0, "left": 0}
    assert sum(done.data["scores"].values()) == 2 * 8 * sum(len(metrics.split()) for metrics in ALLOCATION.values())


@pytest.mark.long
def test_the_whole_runs_over_items_that_a_model_writes_in_both_languages(
    plan: Plan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    roles = ("--role", "author=mock/author", "--role", "judge=mock/fair")
    done = tripos("run", str(FULL), "--limit", "6", "--seed", "1", "--model", "mock/careful", *roles, "--json")
    assert done.code == 0
    assert asked(
        "select scenario, count(*) as n, count(distinct language) as languages from edubench.items group by all", tripos
    ) == [{"scenario": scenario.name, "n": 6, "languages": 2} for scenario in plan.scenarios]
    unfit = "select count(*) as n from edubench.items where fields ->> '$.question_type' like '%choice'"
    unfit += " and scenario = 'question_answering' and fields ->> '$.question' not like '%D.%'"
    assert asked(unfit, tripos) == [{"n": 0}]


@pytest.mark.long
def test_the_subset_for_people_is_eleven_of_each_scenario_and_language_in_eleven_contexts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    roles = ("--role", "author=mock/author", "--role", "judge=mock/fair")
    done = tripos("run", str(FULL), "--subset", "human_eval", "--model", "mock/careful", *roles, "--json")
    assert done.code == 0
    counted = asked(
        "select scenario, language, count(*) as n, count(distinct stage) as stages,"
        " count(distinct coalesce(subject, fields ->> '$.subject')) as subjects"
        " from edubench.items group by all",
        tripos,
    )
    assert len(counted) == 18
    for row in counted:
        assert (row["n"], row["stages"]) == (11, 6)
        assert row["subjects"] == 11


def test_the_plan_of_the_subset_counts_its_items_before_there_are_any(tmp_path: Path, tripos: Command) -> None:
    done = tripos("plan", str(FULL), "--subset", "human_eval", "--store", str(tmp_path / "none"))
    assert done.code == 0, done.err
    counts = {line.split()[0]: line.split()[2] for line in done.out.splitlines() if line.split()[0] in ALLOCATION}
    assert counts == dict.fromkeys(ALLOCATION, "22")
    assert "total                    4,248    198     0..198  0..198  198..792" in done.out


@pytest.mark.long
def test_a_panel_of_known_bias_comes_out_as_planted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    """`severe` orders replies as `fair` does, two points lower; `noisy` orders them otherwise, and is right on average."""
    monkeypatch.chdir(tmp_path)
    models = ",".join(f"mock/careful:{name}" for name in "abcde")
    done = tripos("run", str(SHIPPED), "--model", models, "--role", PANEL, "--json")
    assert done.code == 0
    report = tripos("report", "--json").data
    found = {each["name"]: each["rows"] for each in report["measures"]}
    fair, noisy, severe = (
        [row["value"] for row in found["overall_by_evaluator"] if row["evaluator"] == f"mock/{judge}"]
        for judge in ("fair", "noisy", "severe")
    )
    assert fair == pytest.approx([value + 2 for value in severe])
    assert fair == pytest.approx(noisy, abs=0.25)
    for name in ("mean_concordance", "mean_order_agreement"):
        pairs = {row["pair"]: row["value"] for row in found[name]}
        assert pairs["mock/fair & mock/severe"] == pytest.approx(1)
        assert 0.7 < pairs["mock/fair & mock/noisy"] < 0.95
        assert pairs["mock/fair & mock/noisy"] == pytest.approx(pairs["mock/noisy & mock/severe"])


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


TABLE_6 = ALLOCATION | {
    "emotional_support": "IFTC SEI MGP PAS",
    "question_generation": "IFTC SEI BFA CSI PAS",
    "teaching_material": "IFTC RTC CRSC BFA DKA CSI PAS",
    "personalised_content": "IFTC SEI PAS",
}


def test_the_table_that_the_paper_prints_is_a_variant_that_differs_in_ten_cells(plan: Plan) -> None:
    printed = find_spec(str(FULL / "shipped_table6.tripos")).compile().plan
    assert printed is not None
    ours, theirs = allocated(plan), allocated(printed)
    assert theirs == {name: set(metrics.split()) for name, metrics in TABLE_6.items()}
    assert sum(len(ours[name] ^ theirs[name]) for name in ours) == 10
    assert len(ours) * len(printed.metrics) == 108


def test_the_variant_of_table_6_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command) -> None:
    monkeypatch.chdir(tmp_path)
    roles = ("--model", "mock/careful", "--role", "judge=mock/fair")
    done = tripos("run", str(FULL / "shipped_table6.tripos"), "--limit", "1", *roles, "--json")
    assert done.code == 0
    assert sum(done.data["scores"].values()) == sum(len(metrics.split()) for metrics in TABLE_6.values())


@needs_data
def test_the_published_items_are_graded_on_the_printed_table_too() -> None:
    compiled = find_spec(str(FULL / "published_table6.tripos"), data=(str(SHARED_DATA),)).compile()
    assert compiled.plan is not None
    assert allocated(compiled.plan) == {name: set(metrics.split()) for name, metrics in TABLE_6.items()}
