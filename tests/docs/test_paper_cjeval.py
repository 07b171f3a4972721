"""CJEval's page holds the paper against the spec: its counts are those of the plan, its commands run, and what can be
recomputed of the paper's figures is."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import SHARED_DATA, Command
from tests.each import each
from tripos.runs.compilation import find_spec
from tripos_compiler.plan import Plan

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "specs" / "cjeval"
PAGE = ROOT / "docs" / "benchmarks" / "cjeval.md"
PAPER = SHARED_DATA.parent / "papers" / "cjeval.txt"
COLUMNS = ["Paper", "In the paper", "In the spec", "Status"]
STATUS = re.compile(r"same|(differs|variant|cannot be): \S.*")
CLAIMS = re.compile(r"follow(s|ing)? the paper|as published|faithful|as in the paper", re.IGNORECASE)
needs_data = pytest.mark.skipif(not (SHARED_DATA / "cjeval").is_dir(), reason="the real data are not here")
needs_paper = pytest.mark.skipif(not PAPER.is_file(), reason="the text of the paper is not here")


def section(title: str) -> str:
    """Return a section of the page, its subsections included."""
    _, _, behind = PAGE.read_text("utf-8").partition(f"\n## {title}\n")
    assert behind, title
    return behind.partition("\n## ")[0]


def rows(text: str) -> Iterator[list[str]]:
    """Yield the cells of every row of the tables of a text, headings included."""
    for line in text.splitlines():
        if line.startswith("| ") and not line.startswith("| ---"):
            yield [cell.strip() for cell in line.strip().strip("|").split(" | ")]


def compared() -> dict[str, list[str]]:
    """Return the rows that hold the paper against the spec, by what they are about."""
    return {row[0]: row for row in rows(section("Paper and spec")) if row != COLUMNS}


def plan_of(spec: Path, *data: Path) -> Plan:
    plan = find_spec(str(spec), [str(each) for each in data]).compile().plan
    assert plan is not None
    return plan


def test_every_row_has_one_of_the_four_statuses() -> None:
    text = section("Paper and spec")
    assert text.count("\n### ") == sum(row == COLUMNS for row in rows(text)) + 1  # the slips have no table
    assert len(compared()) > 40
    assert {name: row for name, row in compared().items() if len(row) != 4 or not STATUS.fullmatch(row[3])} == {}


@each("about", ["Table 1", "Table 2", "Table 3", "Figure 3a", "Figure 3b", "Figure 4", "Figure 5"])
def test_every_table_and_figure_has_a_row(about: str) -> None:
    assert about in compared()


@each(
    "about",
    [
        *("KCT", "QDP", "QA", "QG", "Zero-shot", "One-shot of KCT", "One-shot of QDP", "Judge of QA", "Judge of QG"),
        *("EduScore", "QDP: TAcc", "QG: GPT-K, GPT-D", "Full parameters", "LoRA", "Warm-up and weight decay"),
    ],
)
def test_every_task_prompt_metric_and_parameter_has_a_row(about: str) -> None:
    assert about in compared()


def test_variants_are_specs_that_compile() -> None:
    named = [re.findall(r"`(specs/[^`]+)`", row[3]) for row in compared().values() if row[3].startswith("variant")]
    assert {name for names in named for name in names} == {"specs/cjeval/embedded", "specs/cjeval/released"}
    for names in named:
        plan_of(ROOT / names[0])


def test_measures_arms_and_exports_that_the_table_names_are_in_the_plan() -> None:
    plan = plan_of(SPEC)
    named = set(re.findall(r"`((?:kct|qdp|qa|qg)\.\w+|eduscore\w*)`", section("Paper and spec")))
    assert len(named) > 10
    assert named <= {measure.name for measure in plan.measures}
    assert f"{len(plan.arms[0].values)} arms" in compared()["KCT"][2]
    assert [role.name for role in plan.roles if f"role `{role.name}`" in section("Paper and spec")] == [
        "judge",
        "reviewer",
    ]
    assert {export.name for export in plan.exports} == {
        f"{task}_{kind}" for task in ("kct", "qdp", "qa", "qg") for kind in ("answers", "explained")
    }
    settings = {step.settings for scenario in plan.scenarios for step in scenario.steps if step.step == "ask"}
    assert {each.temperature for each in settings} == {0}
    assert {each.max_tokens for each in settings} >= {256, 2048}


@needs_data
def test_the_counts_of_the_tables_are_those_of_the_plan() -> None:
    plan, found = plan_of(SPEC, SHARED_DATA), compared()
    sizes = {dataset.name: sum(file.rows for file in dataset.files) for dataset in plan.datasets}
    assert f"`cjeval/test`: {sizes['question']:,}" == found["Test set"][2]
    assert f"`cjeval/valid`: {sizes['dev']:,}" == found["Valid set"][2]
    assert {len(dataset.files) for dataset in plan.datasets if dataset.name != "train"} == {10}
    most: dict[str, int] = {}
    for count in plan.calls:
        most[count.role] = most.get(count.role, 0) + count.most
    told = f"{most['candidate']:,} replies, up to {most['judge']:,} verdicts and {most['reviewer']:,} reviews"
    assert told == found["Calls a model"][2]
    assert f"{most['candidate']:,}, and up to {most['judge']:,} and {most['reviewer']:,}" in section("Reproduce")
    rows_asked = sum(each.row_count for each in plan.scenarios)
    assert f"| {rows_asked:,}, and up to {most['judge']:,}" in section("Reproduce")  # in one arm each row is asked once
    released = plan_of(SPEC / "released", SHARED_DATA)
    assert f"| {sum(count.most for count in released.calls):,} |" in section("Reproduce")


def files_that_may_not_claim() -> list[Path]:
    return sorted({*SPEC.rglob("*.tripos"), *SPEC.rglob("*.md")})


def test_nothing_else_says_that_it_is_as_in_the_paper() -> None:
    claims = {path.name: CLAIMS.findall(path.read_text("utf-8")) for path in files_that_may_not_claim()}
    assert {name: found for name, found in claims.items() if found} == {}
    assert not CLAIMS.search(PAGE.read_text("utf-8").replace(section("Paper and spec"), ""))


def commands() -> list[str]:
    """Return the commands of the table of `Reproduce`, with our own data and mock models in place of the reader's."""
    found = []
    for row in rows(section("Reproduce")):
        found += [each for cell in row[1:2] for each in re.findall(r"`(tripos [^`]+)`", cell)]
    mocks = {" --data DIR": "", "MODELS": "mock/careful", "openai/gpt-4o": "mock/fair", "openai/gpt-4": "mock/fair"}
    for was, now in mocks.items():
        found = [each.replace(was, now) for each in found]
    return found


@pytest.mark.long
@each("command", commands)
def test_a_command_of_reproduce_runs_with_mocks(command: str, tripos: Command, tmp_path: Path) -> None:
    words = command.replace("specs/", f"{ROOT}/specs/").split()[1:]
    at = {"run": ("--store", str(tmp_path / "results"), "--json"), "export": ()}.get(words[0], ())
    if "-o" in words:
        words[words.index("-o") + 1] = str(tmp_path / "out.jsonl")
    done = tripos(*words, *at)
    assert done.code == 0, done.err
    if words[0] == "export":
        assert "35 examples" in done.out


def grouped() -> list[str]:
    """Return the options of the command of Table 1."""
    block = section("Reproduce").partition("```sh\n")[2].partition("```")[0]
    return block.replace("\\\n", " ").replace("--data DIR", "").split()[3:]


def test_the_types_of_table_1_are_those_of_the_spec(tripos: Command) -> None:
    groups = dict(text.split("=") for text in grouped() if "=" in text and "distinct" not in text)
    types = (SPEC / "types.tripos").read_text("utf-8")
    named = dict(re.findall(r"let is_(\w+)\(type: text\)\s+= type (?:in|==) (.+)", types))
    of = {name: re.findall(r'"([^"]+)"', text) for name, text in named.items()}
    expected = {
        "SCQs": of["single"],
        "MRQs": of["multiple"] + of["reading"],
        "TFQs": of["statement"],
        "FBQs": of["blank"],
        "AQs": of["analysis"],
    }
    assert {name: values.split(",") for name, values in groups.items()} == expected


def test_the_command_of_table_1_prints_its_rows_as_columns(tripos: Command) -> None:
    done = tripos("describe", str(SPEC), *grouped())
    assert done.code == 0, done.err
    titles = [cell.strip() for cell in re.split(r"\s{2,}", done.out.splitlines()[2])]
    assert titles == ["type", "rows", "share", "distinct subject", "stem", "answer.text", "explanation", "concepts"]
    assert max(map(len, done.out.splitlines())) <= 80


needs_train = pytest.mark.skipif(not (SHARED_DATA / "cjeval" / "train").is_dir(), reason="the train set is not here")


@needs_data
@needs_train
def test_the_figures_beside_table_1_are_those_of_the_data(tripos: Command) -> None:
    done = tripos("describe", str(SPEC), "--data", str(SHARED_DATA), *grouped(), "--format", "json")
    assert done.code == 0, done.err
    (found,) = done.data["datasets"]
    table = {row[0]: row[1:] for row in rows(section("Reproduce")) if len(row) == 6}
    for at, group in enumerate(found["groups"]):
        fields = group["fields"]
        told = {
            "questions": f"{group['rows']:,}",
            "subjects": f"{fields['subject']['distinct']}",
            "concepts a question": f"{fields['concepts']['mean']:.2f}",
            "stem, in characters (tokens)": f"{fields['stem']['mean']:.1f}",
            "answer, in characters (tokens)": f"{fields['answer.text']['mean']:.2f}",
            "explanation, in characters (tokens)": f"{fields['explanation']['mean']:.1f}",
        }
        assert {name: cells[at].partition(" (")[0] for name, cells in table.items() if name in told} == told


@needs_data
def test_of_876_questions_valid_has_no_example_of_the_difficulty() -> None:
    read = {
        split: [
            json.loads(line)
            for path in sorted((SHARED_DATA / "cjeval" / split).glob("*.json"))
            for line in path.read_text("utf-8").splitlines()
        ]
        for split in ("test", "valid", "train")
    }
    kinds = {
        split: {(row["subject"], row["ques_type"]) for row in rows if row["ques_difficulty"] == "一般"}
        for split, rows in read.items()
    }
    lacking = [row for row in read["test"] if (row["subject"], row["ques_type"]) not in kinds["valid"]]
    assert len(lacking) == 876
    assert "For 876 real questions" in PAGE.read_text("utf-8")
    if read["train"]:
        assert sum((row["subject"], row["ques_type"]) not in kinds["train"] for row in lacking) == 86


@needs_data
def test_a_constant_gets_the_tolerant_accuracy_that_the_page_tells() -> None:
    levels = ["容易", "较易", "一般", "较难", "困难"]
    by_subject: dict[str, list[int]] = {}
    for path in sorted((SHARED_DATA / "cjeval" / "test").glob("*.json")):
        for line in path.read_text("utf-8").splitlines():
            row = json.loads(line)
            by_subject.setdefault(row["subject"], []).append(levels.index(row["ques_difficulty"]))
    right = {subject: [abs(level - 1) <= 1 for level in found] for subject, found in by_subject.items()}
    macro = sum(sum(each) / len(each) for each in right.values()) / len(right)
    assert f"{100 * macro:.2f}" == "90.97"
    assert "a constant is 90.97" in PAGE.read_text("utf-8")


@needs_paper
def test_the_eduscores_of_the_paper_are_recomputed_and_its_slips_are_named() -> None:
    text = PAPER.read_text("utf-8").partition("Table 2: The overall results")[2].partition("4.2.2")[0]
    found = {}
    for line in text.splitlines():
        cells = re.search(r"^(\S+).*?((?: \d\d\.\d\d){8})$", line)
        if cells is not None:
            found[cells[1]] = [float(each) for each in cells[2].split()]
    assert len(found) == 16
    off = {}
    for model, (printed, _, _, f1, tolerant, qa, concepts, difficulty) in found.items():
        score = round(0.4 * qa + 0.2 * (f1 + tolerant + (concepts + difficulty) / 2), 2)
        if score != printed:
            off[model] = round(score - printed, 2)
    assert off == {"Hunyuan-pro": 0.01, "GLM4-9B": 0.01, "Qwen1.5-110B": 0.18}
    slips = section("Paper and spec").partition("### Slips of the paper")[2]
    assert "of 16 EduScores 13 are right to the digit" in slips
    assert "is 73.10 where its parts give 73.28" in slips.replace("\n  ", " ")
    third = PAPER.read_text("utf-8").partition("Model shot KCT QDP")[2].partition("Table 3:")[0]
    assert "Doubao-pro zero 63.38 77.68 64.86 79.27" in third
    assert found["Doubao-pro"][4] == 81.27
