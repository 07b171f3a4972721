"""TeachBench held against its paper: the tables of its page against the plan, the commands of `Reproduce` with mocks,
and the paper's own arithmetic, from its text where that is at hand."""

from __future__ import annotations

import csv
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import Command
from tripos.runs.compilation import find_spec
from tripos_compiler.plan import Ask, Converse, Plan, Walk

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/benchmarks/teachbench.md"
SPEC = ROOT / "specs/teachbench/test_split.tripos"
SHARED = ROOT.parent / "shared"
PAPER, TEST = SHARED / "papers/teachbench.txt", SHARED / "data/ceval/test"
STATUS = re.compile(r"same|differs: .+|variant: .+|cannot be: .+")
MOCKS = "--model mock/teacher --role student=mock/student-40-30 --role tagger=mock/teacher --role author=mock/author"
SUBJECTS = ("mathematics", "physics", "chemistry", "biology", "history", "geography", "politics")


def rows_of(title: str) -> list[list[str]]:
    """Return the rows of the tables of a section, without their heads."""
    section = PAGE.read_text("utf-8").split(f"\n## {title}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return [row for row in cells if not set(row[0]) <= {"-"}]


def compared() -> dict[str, list[str]]:
    """Return the rows that hold the paper against the spec, by what they are about."""
    return {row[0]: row[1:] for row in rows_of("Paper and spec") if len(row) == 4 and row[0] != "Paper"}


@cache
def plan_of(path: Path, *data: Path) -> Plan:
    compilation = find_spec(str(path), [str(each) for each in data]).compile()
    assert compilation.plan is not None, compilation.diagnostics
    return compilation.plan


def numbers(text: str) -> list[int]:
    return [int(each.replace(",", "")) for each in re.findall(r"\d[\d,]*", text)]


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test split of C-Eval with a column of answers. They are made up, so it is good for counts alone."""
    if not TEST.is_dir():
        pytest.skip("the data are not here")
    folder = tmp_path_factory.mktemp("data")
    (folder / "ceval/test").mkdir(parents=True)
    for path in TEST.glob("*.csv"):
        head, *rows = csv.reader(path.read_text("utf-8-sig").splitlines())
        with (folder / "ceval/test" / path.name).open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows([[*head, "answer"], *([*row, "A"] for row in rows)])
    return folder


def test_every_status_is_one_of_four() -> None:
    found = compared()
    assert len(found) > 40
    assert [name for name, row in found.items() if not STATUS.fullmatch(row[2])] == []


def test_what_stands_in_the_table_is_in_the_plan() -> None:
    plan, told = plan_of(SPEC), compared()
    [scenario] = plan.scenarios
    made = {each.name: each for each in plan.made}
    talks = {talk.name: talk for talk in scenario.conversations}
    untaught, _, taught, _ = (treatment.ask("sitting") for treatment in scenario.treatments)
    walk = next(step for step in made["question"].steps if isinstance(step, Walk))
    talk: Converse = talks["talk"]
    [levels] = [axis for axis in plan.axes if axis.name == "level"]
    slots = made["example"].rows
    in_plan = {
        "§4.1, attempts at tagging": made["question"].retries + 1,
        "§3.1, syllabus tree": slots // len(levels.values),
        "§3.3, examples of a point": len(levels.values),
        "§3.3, repair": made["example"].retries + 1,
        "§4.2, sessions": 3 if talk.samples == 3 else talk.samples,
        "§4.2, sittings": taught.samples // talk.samples,
        "§4.2, turns": talk.limit,
    }
    for about, count in in_plan.items():
        [spec] = [row[1] for name, row in told.items() if name.startswith(about)]
        assert numbers(spec)[0] == count, about
    assert untaught.samples == 64
    assert walk.ask.returns is not None
    assert walk.ask.returns.kind == "record"
    assert set(walk.ask.returns.fields) == {"knowledge", "reason"}
    lengths = {speaker.role: speaker.settings.max_tokens for speaker in talk.speakers}
    assert numbers(told["lengths of turns"][1]) == [lengths["teacher"], lengths["student"]]
    assert numbers(told["sampling"][1]) == [taught.settings.temperature, taught.settings.max_tokens]
    assert "{{ numbered(nearest(point, passage.text, 3)) }}" in (SPEC.parent / "examples.tripos").read_text("utf-8")
    assert numbers(told["§3.3, retrieval"][1])[0] == 3
    measures = {measure.name.partition(".")[2] for measure in plan.measures}
    named = {name for about in told if about.startswith(("Pass@", "Δ")) for name in code_in(told[about][1])}
    assert named == {*(f"pass_at_{k}" for k in (1, 4, 16, 64)), "pass_at_first_4", "pass_at_first_16"} | {
        "gain", "gain_at_4", "gain_at_16", "gain_at_64",
    }  # fmt: skip
    assert named <= measures


def code_in(text: str) -> list[str]:
    return re.findall(r"`([^`]+)`", text)


def test_the_counts_of_questions_are_those_of_the_data(answered: Path) -> None:
    told = compared()
    files = {subject: answered / f"ceval/test/high_school_{subject}_test.csv" for subject in SUBJECTS}
    for subject, path in files.items():
        told_apart = {tuple(row.values())[1:] for row in csv.DictReader(path.read_text("utf-8").splitlines())}
        count = len(told_apart)
        paper, spec, _ = told[f"Table 1, {subject}"]
        assert numbers(spec)[0] == count
        assert numbers(paper)[0] <= count
    every = plan_of(SPEC, answered).scenarios[0].row_count
    assert numbers(told["Table 1, total"][1]) == [every]
    assert sum(numbers(told[f"Table 1, {subject}"][0])[0] for subject in SUBJECTS) == 1089
    assert numbers(told["Table 1, total"][0]) == [1089]
    if (SHARED / "data/ceval/val").is_dir():
        count = plan_of(SPEC.with_name("teachbench.tripos"), SHARED / "data").scenarios[0].row_count
        assert numbers(told["§4.1, split"][1]) == [count]


def test_without_answers_the_spec_says_what_is_missing() -> None:
    if not TEST.is_dir():
        pytest.skip("the data are not here")
    found = find_spec(str(SPEC), [str(SHARED / "data")]).compile().diagnostics
    [error] = [each for each in found if each.code.startswith("E")]
    assert error.code == "E0304"
    assert "have no column `answer`" in error.message


def reproduced() -> Iterator[tuple[str, str, str, str]]:
    """Yield the table, the command, its calls, and what comes out with mocks."""
    for table, command, _, calls, _, mocks in (row for row in rows_of("Reproduce") if row[0] != "Table"):
        yield table, code_in(command)[0].removeprefix("tripos "), calls, mocks


def test_the_calls_are_those_that_the_plan_counts(answered: Path, tripos: Command) -> None:
    for table, command, calls, _ in reproduced():
        if calls == "none":
            continue
        words = ["plan", *shlex.split(command)[1:]]
        words[1] = str(ROOT / words[1])
        shown = tripos(*words, "--data", str(answered))
        assert shown.code == 0, shown.err
        spans = set(re.findall(r"\d[\d,]*\.\.\d[\d,]*", shown.out))
        assert set(re.findall(r"\d[\d,]*\.\.\d[\d,]*", calls)) <= spans, table


@pytest.mark.parametrize("number", ["1", *(pytest.param(number, marks=pytest.mark.long) for number in "234")])
def test_the_command_of_a_table_runs_with_mocks_and_gives_what_the_page_says(
    number: str, tripos: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    [(command, mocks)] = [(command, mocks) for table, command, _, mocks in reproduced() if table.startswith(number)]
    words = shlex.split(command)
    words[1] = str(ROOT / words[1])
    if words[0] == "describe":
        assert f": {mocks} of 7 files" in tripos(*words).out
    else:
        assert_run(tripos, words, mocks)


def assert_run(tripos: Command, words: list[str], mocks: str) -> None:
    done = tripos(*words, *shlex.split(MOCKS), "--role", "verifier=mock/author")
    assert done.code == 0, done.err
    report = json.loads(tripos("report", "--json").out)
    measure, arm = code_in(mocks)
    [rows] = [each["rows"] for each in report["measures"] if each["name"] == f"learning_gain.{measure}"]
    [row] = [row for row in rows if row["teaching"] == arm]
    value, items = re.findall(r"\d[\d.]*", mocks.rpartition("`")[2])
    assert (f"{row['value']:.3f}", row["items"]) == (value, int(items))


def test_the_sittings_of_twelve_teachers_are_counted_right() -> None:
    text = " ".join(PAGE.read_text("utf-8").split())
    assert f"twelve in Table 2 have {12 * 166 * 3 * 64:,} sittings after a lesson and {2 * 166 * 64:,} without" in text


# The paper's own figures


@dataclass(frozen=True)
class Row:
    """A row of a table: accuracies in per cent, and what is printed as their differences."""

    table: int
    name: str
    values: list[float]
    differences: list[float]


def printed() -> list[Row]:
    """Return the rows of Tables 2, 3 and 4."""
    if not PAPER.is_file():
        pytest.skip("the paper is not here")
    rows: list[tuple[str, list[float]]] = []
    found: list[Row] = []
    for line in PAPER.read_text("utf-8").splitlines():
        match = re.fullmatch(r"(?:\\rowcolorgray!15 )?([A-Z].*?)((?: (?:-?\d+\.\d\d|-)){8,12})", line.strip())
        if match is not None:
            rows.append((match[1], [0.0 if each == "-" else float(each) for each in match[2].split()]))
        elif caption := re.match(r"Table (\d):", line):
            found += [Row(int(caption[1]), name, values[::2], values[1::2]) for name, values in rows]
            rows = []
    return found


def denominators(row: Row, *known: int) -> list[int]:
    """Of which of some denominators Pass@4, Pass@16 and Pass@64 are multiples, to the digits that are printed."""

    def fits(value: float, denominator: int) -> bool:
        return abs(round(100 * round(value * denominator / 100) / denominator, 2) - value) < 0.006

    return [each for each in known if all(fits(value, each) for value in row.values[1:])]


def test_the_denominators_are_those_that_the_page_names() -> None:
    rows = [row for row in printed() if row.table == 2]
    assert len(rows) == 14
    alike = {row.name: denominators(row, 166, 498) for row in rows[2:]}
    assert (denominators(rows[0], 166, 498), denominators(rows[1], 166, 498)) == ([166, 498], [498])
    assert [name for name, each in alike.items() if each != [498]] == ["Qwen3-235B-A22B-Instruct", "Claude-4-Opus"]
    qwen = next(row for row in rows if row.name == "Qwen3-235B-A22B-Instruct")
    assert qwen.values[1:] == rows[0].values[1:]
    others = {"Claude-4-Opus": 151, "Claude-4-Opus-Example": 151, "GPT-5-Example": 154, "Gemini-2.5-Pro-Example": 164}
    for name, questions in others.items():
        row = next(row for row in printed() if row.table == 3 and row.name == name)
        assert denominators(row, *(3 * n for n in range(100, 167))) == [3 * questions]
        assert f"1/{3 * questions}" in PAGE.read_text("utf-8")


def test_three_differences_are_not_those_of_the_figures() -> None:
    base = {row.table: row for row in reversed(printed())}
    wrong = {
        (row.table, row.name, place): told
        for row in printed()
        for place, told in enumerate(row.differences)
        if abs(row.values[place] - base[row.table].values[place] - told) > 0.011
    }
    twice = {
        (table, name, 2): told
        for table in (2, 3)
        for name, told in (("Gemini-2.5-Pro", -0.20), ("Claude-4-Opus", 0.76))
    }
    assert wrong == {**twice, (4, "Qwen3-235B", 5): -2.59}


def test_the_page_and_the_specs_claim_nothing_outside_the_table() -> None:
    texts = [PAGE, *SPEC.parent.glob("*.tripos"), SPEC.parent / "README.md"]
    claims = re.compile(r"follows the paper|faithful|as published|as in the paper", re.IGNORECASE)
    assert [path.name for path in texts if claims.search(path.read_text("utf-8"))] == []
    assert isinstance(plan_of(SPEC).scenarios[0].ask("sitting"), Ask)
