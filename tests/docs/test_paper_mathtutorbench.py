"""The page of MathTutorBench: its table of paper and spec is held to the plan, and its commands to what they do."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, median, stdev
from typing import Any

import pytest

from tests.bench.floors import RULES, rule, solutions, words
from tests.conftest import SHARED_DATA, Command
from tests.each import each
from tripos.runs.compilation import find_spec
from tripos.training.reward_pairs import pairs_of
from tripos_compiler.language.rows import read_turns
from tripos_compiler.plan import Pairing, Plan
from tripos_runtime.datasets.cases import CaseSource

ROOT = Path(__file__).parents[2]
SPEC = ROOT / "specs" / "mathtutorbench"
PAGE = (ROOT / "docs" / "benchmarks" / "mathtutorbench.md").read_text("utf-8")
STATUS = re.compile(r"same|(differs|variant|cannot be): \S.*")
needs_data = pytest.mark.skipif(not (SHARED_DATA / "mathtutorbench").is_dir(), reason="the real data are not here")


def tables(section: str) -> Iterator[list[str]]:
    """Yield the rows of the tables of a section of the page, without their heads."""
    text = PAGE.split(f"\n## {section}\n")[1].split("\n## ")[0]
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and cells[0] != "Paper" and set(cells[0]) != {"-"}:
            yield cells


ROWS = list(tables("Paper and spec"))
COMMANDS = {cells[0]: cells for cells in tables("Reproduce")}


def compiled(path: Path, *data: Path) -> tuple[Plan, CaseSource]:
    found = find_spec(str(path), [str(each) for each in data])
    compilation = found.compile()
    assert compilation.plan is not None
    source = CaseSource(compilation.plan, found.folders, tuple(each.path for each in compilation.sources))
    return compilation.plan, source


def number(text: str) -> int:
    return int(text.replace(",", ""))


@each("cells", ROWS)
def test_every_row_says_what_is_the_same_and_what_is_not(cells: list[str]) -> None:
    assert len(cells) == 4
    assert all(cells)
    assert STATUS.fullmatch(cells[3]), cells[3]
    for option in re.findall(r"`(\w+\.tripos)`", " ".join(cells)):
        assert [*SPEC.rglob(option)], option


def test_every_table_and_figure_of_results_has_a_row_and_a_command() -> None:
    names = " ".join(cells[0] for cells in ROWS)
    assert [
        name for name in ("Table 1", "Table 2", "Table 3", "Table 4", "Table 5", "Tables 6 and 7") if name not in names
    ] == []
    assert [name for name in ("Figure 3", "Figure 4") if name not in names] == []
    told = " ".join(COMMANDS)
    assert [
        n for n in ("Table 1", "Table 2", "Table 3", "Table 4", "Table 5", "Figure 3", "Figure 4") if n not in told
    ] == []


@needs_data
def test_the_counts_of_tasks_are_those_of_the_plan() -> None:
    plan, _ = compiled(SPEC, SHARED_DATA)
    calls: Counter[tuple[str, str]] = Counter()
    for count in plan.calls:
        if count.role == "teacher":
            calls[count.scenario, ""] += count.calls
            for arm in {arms["instruction"] for arms in count.arms if "instruction" in arms}:
                calls[count.scenario, arm] += count.calls
    told = [
        (re.fullmatch(r"`(\w+)`(?:, (\w+))?: ([\d,]+)", cells[2]), cells) for cells in ROWS if cells[2].startswith("`")
    ]
    found = {(match[1], match[2] or ""): number(match[3]) for match, _ in told if match is not None}
    assert {scenario for scenario, _ in found} == {scenario.name for scenario in plan.scenarios}
    assert found == {key: calls[key] for key in found}
    for match, cells in told:  # what the paper counts is what the plan counts
        if match is not None and (numbers := re.match(r"([\d,]+)[ :]", cells[1])):
            assert number(numbers[1]) == number(match[3])


@pytest.mark.long
@needs_data
def test_the_counts_of_pairs_are_those_that_the_exports_make() -> None:
    plan, source = compiled(SPEC / "reward", SHARED_DATA)
    made = {each.name: len(pairs_of(plan, each, source)[0]) for each in plan.exports if isinstance(each, Pairing)}
    told = {
        name: number(count)
        for cells in ROWS
        for name, count in re.findall(r"`(\w+)`: ([\d,]+)", cells[2])
        if name in made
    }
    assert told == {name: made[name] for name in told}
    assert told.keys() == made.keys() - {"bridge_pairs"}
    judged, _ = compiled(SPEC / "reward", SHARED_DATA)
    assert sum(count.calls for count in judged.calls) == 4 * 482


@needs_data
def test_the_average_turns_are_those_of_the_data() -> None:
    def mean(turns: list[int]) -> str:
        return f"{sum(turns) / len(turns):.2f}"

    def read(*path: str) -> list[dict[str, object]]:
        rows: list[dict[str, object]] = json.loads(SHARED_DATA.joinpath(*path).read_text("utf-8"))
        return rows

    files = [
        ("stepverify", "dataset.json"),
        *(("mathtutorbench", f"mathdial_bridge{hard}.json") for hard in ("", "_hard")),
    ]
    found = [mean([len(list(row["dialog_history"])) for row in read(*path)]) for path in files]  # type: ignore[call-overload]
    (cells,) = (cells for cells in ROWS if cells[0] == "Average turns")
    assert cells[1] == f"{found[0]}, {found[1]} and {found[2]}"
    topics = {row["Topic"] for row in read("mrbench", "MRBench_V1.json")}
    bridge = [row for part in ("train", "validation", "test") for row in read("bridge", f"{part}.json")]
    sides = []
    for row in bridge:
        speakers = [turn["speaker"] for turn in read_turns(row["c_h"]) or ()]
        if row["lesson_topic"] not in topics:
            sides.append(sum(one != two for one, two in zip([None, *speakers], speakers, strict=False)))
    assert (len(sides), mean(sides)) == (482, "2.79")


@needs_data
def test_the_floors_are_those_of_the_page() -> None:
    told = {cells[0]: cells[1:] for cells in tables("Bags of words") if cells[0] in {*RULES, "bag of words"}}
    for place, chat in enumerate((False, True)):
        found = solutions(SHARED_DATA, chat=chat)
        halves = [[each for each in found if each.half == half] for half in (0, 1)]
        for name in ("steps", "characters"):
            both = [rule(RULES[name], *halves), rule(RULES[name], *halves[::-1])]
            assert f"{sum(both) / 2:.3f}"[1:] == told[name][place]


@needs_data
@pytest.mark.long
def test_the_floor_of_words_is_that_of_the_page() -> None:
    pytest.importorskip("sklearn")
    (told,) = (cells[1:] for cells in tables("Bags of words") if cells[0] == "bag of words")
    for place, chat in enumerate((False, True)):
        found = solutions(SHARED_DATA, chat=chat)
        halves = [[each for each in found if each.half == half] for half in (0, 1)]
        assert sum((words(*halves), words(*halves[::-1]))) / 2 == pytest.approx(float(told[place]), abs=0.003)


def prompts(folder: Path) -> Path:
    """Return a file of published prompts, made by the page's script out of a clone of our own words."""
    clone = folder / "clone"
    (clone / "configs").mkdir(parents=True)
    (clone / "reward_model").mkdir()
    said = "\n{{dialog_history}}"
    holes = {
        "problem_solving": "",
        "socratic_questioning": "",
        "student_solution_correctness": f"{said}\nStudent: {{{{student_chat_solution}}}}",
        "mistake_location": "\nStudent: {{student_solution}}",
        "mistake_correction": f"{said}\nStudent: {{{{student_chat_solution}}}}",
        "scaffolding_generation": said,
        "pedagogy_following": said,
    }
    for name, more in holes.items():
        asked = f"Ours.\n{{{{ shots }}}}\nProblem: {{{{question}}}}{more}\nA:"
        config = {"system_prompt": asked, "few_shot_samples": f"A shot of {name}."}
        (clone / "configs" / f"{name}.yaml").write_text(json.dumps(config), "utf-8")
    judge = 'SYSTEM_PROMPT = ("Judge "\n                 "in our words.")\n'
    (clone / "reward_model" / "compute_scaffolding_score.py").write_text(judge, "utf-8")
    script = re.search(r"```python fragment\n(.*?)```", PAGE, re.DOTALL)
    assert script is not None
    subprocess.run([sys.executable, "-c", script[1], str(clone), str(folder / "data")], check=True)
    return folder / "data"


def run(tripos: Command, name: str, *more: str) -> str:
    """Run a command of the page on our own rows, with models that stand in for real ones."""
    line, *_ = re.findall(r"`(tripos [^`]*)`", COMMANDS[name][1])
    words_ = [word.replace("specs/", f"{ROOT}/specs/", 1) for word in shlex.split(line)[1:]]
    words_ = [re.sub(r"critic=.*", "critic=mock/reward", word) for word in words_ if word not in ("--data", "DIR")]
    done = tripos(*["mock/careful" if word == "…" else word for word in words_], *more)
    assert done.code == 0, done.err
    return done.out + done.err


@pytest.mark.long
def test_the_commands_of_the_page_give_with_mocks_what_it_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    assert re.search(r"total +7 +42 ", run(tripos, "Table 1"))
    assert COMMANDS["Table 1"][5] == "42 items"
    assert run(tripos, "Table 2").startswith("104 pairs") and COMMANDS["Table 2"][5] == "104 pairs"
    assert "10 calls asked" not in run(tripos, "Figure 3")
    told = tripos("sql", "select count(distinct item_id) as n from tutor_rewarded.judgements", "-o", "n.json")
    assert told.code == 0 and json.loads(Path("n.json").read_text("utf-8"))[0]["n"] == 5
    run(tripos, "Figure 4, judges")
    tripos("sql", "select count(*) as n from tutor_reward.samples", "-o", "n.json")
    assert json.loads(Path("n.json").read_text("utf-8"))[0]["n"] == 20
    assert COMMANDS["Figure 4, judges"][5] == "20 replies a model"


def shown(tripos: Command, name: str) -> list[dict[str, Any]]:
    """Return the rows of a declared table of the last run."""
    (table,) = tripos("report", "--table", name, "--json").data["tables"]
    rows: list[dict[str, Any]] = table["rows"]
    return rows


def test_the_tables_of_reward_models_are_those_of_the_rewards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    run(tripos, "Figure 3")
    query = 'select "order"::varchar as arm, item_id, metric, value from tutor_rewarded.scores'
    assert tripos("sql", query, "-o", "rows.json").code == 0
    scores = json.loads(Path("rows.json").read_text("utf-8"))
    rewards = {
        arm: {row["item_id"]: row["value"] for row in scores if (row["metric"], row["arm"]) == ("reward", arm)}
        for arm in ("expert_first", "novice_first")
    }
    expert, novice = rewards["expert_first"], rewards["novice_first"]
    mine, *printed = shown(tripos, "table_3")
    margins = [expert[item] - novice[item] for item in expert]
    assert mine["Accuracy"]["value"] == pytest.approx(fmean(margin > 0 for margin in margins))
    assert mine["Avg. margin"]["value"] == pytest.approx(fmean(margins))
    paper = {row["model"]: (row["Accuracy"]["value"], row["Avg. margin"]["value"]) for row in printed}
    assert len(paper) == 6
    assert paper["+ MathDial (8.1k)"] == (0.84, 5.75)
    for row, values in zip(shown(tripos, "figure_3"), (expert, novice), strict=True):
        assert row["Mean"]["value"] == pytest.approx(fmean(values.values()))
        assert row["Median"]["value"] == pytest.approx(median(values.values()))
        assert row["Spread"]["value"] == pytest.approx(stdev(values.values()))


def test_judges_stand_in_figure_4_with_both_prompts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    run(tripos, "Figure 4, judges")
    (row,) = shown(tripos, "figure_4")
    assert set(row) == {"model", "Accuracy: prompted", "Accuracy: extended prompt"}


@pytest.mark.long
def test_the_published_wording_is_sent_as_the_file_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    lacking = tripos("check", str(SPEC / "published.tripos"))
    assert (lacking.code, "E0307" in lacking.err + lacking.out) == (2, True)
    folder = prompts(tmp_path)
    run(tripos, "Table 4", "--data", str(folder))
    assert "scaffolding.win_rate by wording, instruction" in tripos("report").out
    assert tripos("sql", "select * from mathtutorbench_published.samples", "-o", "rows.json").code == 0
    rows = json.loads(Path("rows.json").read_text("utf-8"))
    sent = {row["scenario"]: row["messages"] for row in rows if row.get("wording") == "published"}
    assert set(sent) == {scenario.name for scenario in compiled(SPEC)[0].scenarios}
    for name, messages in sent.items():
        (message,) = json.loads(messages) if isinstance(messages, str) else messages
        assert message["content"].startswith("Ours.\nA shot of "), name
        assert "{{" not in message["content"]


@needs_data
def test_the_calls_of_the_page_are_those_of_the_plan(tmp_path: Path) -> None:
    published, _ = compiled(SPEC / "published.tripos", SHARED_DATA, prompts(tmp_path))
    asked = sum(count.calls for count in published.calls if count.role == "teacher")
    assert COMMANDS["Table 4"][3] == f"{asked:,} a model"
    rewarded, _ = compiled(SPEC / "reward" / "rewarded.tripos", SHARED_DATA)
    rewards = sum(count.most for count in rewarded.calls if count.role == "critic")
    assert COMMANDS["Figure 3"][3] == f"0, and {rewards:,} rewards"


def test_nothing_but_the_table_says_that_the_paper_is_followed() -> None:
    files = [*SPEC.rglob("*.tripos"), *SPEC.rglob("*.md")]
    texts = [PAGE.split("\n## Paper and spec\n")[0], *(file.read_text("utf-8") for file in files)]
    assert [
        text for text in texts if re.search(r"follows? (the paper|MathTutorBench|\[arXiv)|as published|faithful", text)
    ] == []
