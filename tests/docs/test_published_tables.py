"""Published figures of the four benchmarks' tables are those of the papers' texts, in the order of their columns."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.conftest import SHARED_DATA, Command
from tripos.runs.compilation import find_spec
from tripos_compiler.plan import Plan, ResultTable, line_key

ROOT = Path(__file__).parents[2]
PAPERS = SHARED_DATA.parent / "papers"
ROWS = {
    ("edubench/shipped.tripos", "table_1"): 25,
    ("edubench/shipped.tripos", "table_3"): 25,
    ("teachbench", "table_1"): 1,
    ("teachbench", "table_2"): 14,
    ("teachbench", "table_3"): 8,
    ("teachbench", "table_4"): 5,
    ("mathtutorbench/published.tripos", "table_4"): 8,
    ("mathtutorbench/reward/rewarded.tripos", "table_3"): 6,
    ("cjeval", "table_2"): 16,
    ("cjeval", "table_3"): 16,
}
"""How many rows of figures the paper prints, by spec and table."""
NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?![\w.])")
LEARNING_SUPPORT, CONTENT_CREATION = "personalised_support", "personalised_content"
needs_papers = pytest.mark.skipif(not PAPERS.is_dir(), reason="the texts of the papers are not here")


@pytest.fixture(scope="module")
def wording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with texts in place of MathTutorBench's published wording."""
    dialog, solution = " {{dialog_history}}", " {{student_chat_solution}}"
    holes = {
        "problem_solving": "",
        "socratic_questioning": "",
        "solution_correctness": dialog + solution,
        "mistake_location": " {{student_solution}}",
        "mistake_correction": dialog + solution,
        "scaffolding": dialog,
        "pedagogy": dialog,
    }
    row = {"critic": "Judge.", **{task: "{{question}}" + more for task, more in holes.items()}}
    folder = tmp_path_factory.mktemp("wording")
    (folder / "published").mkdir()
    (folder / "published" / "prompts.json").write_text(json.dumps([row]), "utf-8")
    return folder


@cache
def plan_of(spec: str, data: Path) -> Plan:
    plan = find_spec(str(ROOT / "specs" / spec), [str(data)]).compile().plan
    assert plan is not None
    return plan


def table_of(plan: Plan, name: str) -> ResultTable:
    return next(table for table in plan.tables if table.name == name)


def printed_rows(paper: str) -> Iterator[tuple[str, list[float]]]:
    """Yield the lines of a paper, with the name before the first number and all numbers."""
    for line in (PAPERS / f"{paper}.txt").read_text("utf-8").splitlines():
        yield line, [float(number.replace(",", "")) for number in NUMBER.findall(line)]


def bare(name: str) -> str:
    return re.sub(r"[^a-z0-9+]", "", name.replace(r"\rowcolorgray!15", "").lower())


def lines_of(table: ResultTable) -> list[str]:
    """Return the keys of the figures in the order of the table."""
    lines: list[tuple[int, str]] = []
    for figure in table.figures:
        values = [value.name for name in figure.spread for value in table.values.get(name, ())]
        for place, value in enumerate(values or [""]):
            lines.append((place if table.group else 0, line_key(figure, [value] if figure.spread else [])))
    return [key for _, key in sorted(lines, key=lambda line: line[0])]


@needs_papers
@pytest.mark.parametrize(("spec", "name"), list(ROWS))
def test_published_figures_are_those_of_the_text_line_by_line(
    spec: str, name: str, wording: Path, tripos: Command
) -> None:
    plan = plan_of(spec, wording)
    table = table_of(plan, name)
    assert len(table.published) == ROWS[spec, name]
    lines = max((list(row.figures) for row in table.published), key=len)
    if name == "table_3" and spec.startswith("edubench"):
        # The paper has these two under each other's name; here they are under their own.
        swapped = {LEARNING_SUPPORT: CONTENT_CREATION, CONTENT_CREATION: LEARNING_SUPPORT}
        pattern = re.compile("|".join(swapped))
        assert lines_of(table) == [pattern.sub(lambda found: swapped[found[0]], line) for line in lines]
    elif name != "table_1" or spec != "teachbench":  # whose values are those of the axis
        assert lines_of(table) == lines
    done = tripos("plan", str(ROOT / "specs" / spec), "--data", str(wording), "--table", name)
    assert done.code == 0, done.err
    assert len([line for line in done.out.splitlines() if re.search(r"\d$", line)]) >= ROWS[spec, name]
    rest = iter(printed_rows(spec.partition("/")[0]))
    evaluator = ""
    for row in table.published:
        figures = [row.figures[key] for key in lines if key in row.figures]
        for text, numbers in rest:
            evaluator = text.partition("\t")[0] or evaluator
            if numbers[-len(figures) :] == figures:
                break
        else:
            pytest.fail(f"no line with {figures} after the one before")
        names = dict(zip(table.keys, row.keys, strict=True))
        told = bare(text if not text.startswith(("one ", "\t")) else "")
        model = bare(names["model"])
        assert not told or not model or model in told or text.startswith("Num"), (text, names)
        assert names.get("evaluator", evaluator) == evaluator
        assert names.get("shots", "") in text
        assert (names.get("teaching") == "lesson_with_examples") == ("-Example" in text)


@needs_papers
def test_wins_of_judges_are_those_of_the_text(wording: Path) -> None:
    text = (PAPERS / "edubench.txt").read_text("utf-8")
    plan = plan_of("edubench/bias.tripos", wording)
    wins = table_of(plan, "table_10").published
    for evaluator in ("Qwen Max", "DeepSeek V3", "DeepSeek R1"):
        own = [(row.keys[1], *row.figures.values()) for row in wins if row.keys[0] == evaluator]
        assert f"{evaluator}\t{' < '.join(f'{model}({count:.0f})' for model, count in own)}" in text
    figures = {row.keys[0]: list(row.figures.values()) for row in table_of(plan, "table_11").published}
    normal, reasoning = zip(figures["DeepSeek V3"], figures["DeepSeek R1"], strict=True)
    assert "Normal\tNormal\t{:.0f}\n\tReasoning\t{:.0f}\n".format(*normal) in text
    assert "Reasoning\tReasoning\t{1:.0f}\n\tNormal\t{0:.0f}\n".format(*reasoning) in text
    for row in table_of(plan, "table_12").published:
        counts = re.search(rf"{row.keys[0]}\tNormal\t(\d+)\t(\d+)\n\tReverse\t(\d+)\t(\d+)\n", text)
        assert counts is not None
        assert list(row.figures.values()) == [round(int(count) / 990, 2) for count in counts.groups()]
