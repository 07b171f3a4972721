"""People who grade some of what a judge grades: their scores stand apart, and count with the judge's where the spec
says so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from aiohttp.test_utils import TestServer

from tests.annotation.conftest import fill
from tests.conftest import Command, Doing
from tests.view.chromium import PROGRAM, Page, shown
from tests.view.test_view_page import check_rules
from tripos.view.files import ViewFiles
from tripos.view.server import make_app
from tripos_warehouse.store.store import Store

MODELS = "mock/careful,mock/careful:b,mock/careless"
JUDGE = "mock/careful:a"
PEOPLE = ("anna", "ben")

MORE = """
measure overall  = mean(by_metric)
measure by_judge = mean(rubric) by evaluator
measure of_each  = mean(mean(rubric) by evaluator)
measure agreed   = krippendorff_alpha(rubric) across judge by metric
measure in_pairs = krippendorff_alpha(rubric, models: together) across judge by metric, pair
measure index    = (overall - 1) / 9 - mean(long)
"""


@pytest.fixture
def spec(quiz: Path) -> Path:
    """A quiz of 16 questions, whose headline is a mean over its judge."""
    path = quiz / "quiz.tripos"
    text = path.read_text("utf-8").replace("languages en", "languages en\n  headline overall")
    path.write_text(text + MORE, "utf-8")
    lines = [json.dumps({"question": f"{number}+{number}", "answer": str(2 * number)}) for number in range(16)]
    (quiz / "items.jsonl").write_text("\n".join(lines), "utf-8")
    return path


def run(once: Command) -> None:
    """Run three models on the 16 sums, 48 replies in all."""
    done = once("run", "quiz.tripos", "--scenario", "sums", "--model", MODELS, "--role", f"judge={JUDGE}", "--json")
    assert done.code == 0, done.err


@pytest.fixture
def grade(tripos: Command, done_once: Doing) -> Callable[[], None]:
    """Let two people give the lowest grade to six replies."""

    def graded() -> None:
        for name in PEOPLE:
            done = tripos("annotate", "--name", name, "--sample", "6")
            assert done.code == 0, done.err
            fill(f"{name}.xlsx", 1)
            done = tripos("annotate", "--take", f"{name}.xlsx")
            assert done.code == 0, done.err

    return lambda: done_once(("six replies graded by two people",), graded)


def measures(tripos: Command, *more: str) -> dict[str, dict[str, Any]]:
    """Return the measures of the report, by name."""
    return {each["name"]: each for each in tripos("report", "--json", *more).data["measures"]}


def rounded(value: Any) -> Any:
    """Return JSON values without what the order of a sum leaves in the last digits."""
    if isinstance(value, float):
        return round(value, 12)
    if isinstance(value, dict):
        return {key: rounded(each) for key, each in value.items()}
    return [rounded(each) for each in value] if isinstance(value, list) else value


APART = ("by_metric", "overall", "of_each", "agreed", "index")
"""The measures in which no evaluator has a value of their own."""


def figures_of_the_page(folder: Path) -> dict[str, Any]:
    """Return all that the page shows of no evaluator alone: means for its pictures, and the score of every reply."""
    view = ViewFiles(lambda: Store.open("results", create=False), folder)
    run_id = json.loads(view.json("index.json") or b"")["runs"][0]["run_id"]
    report = json.loads(view.json(f"runs/{run_id}/report.json") or b"")
    listed = view.tables(run_id)["tables"]
    rows = {name: pq.read_table(view.table(listed[name]["path"])).to_pylist() for name in ("samples", "marks")}
    return {
        "grid": report["grid"],
        "axes": report["axes"],
        "samples": [(row["sample_id"], row["metric"], row["score"]) for row in rows["samples"]],
        "marks": [row for row in rows["marks"] if row["evaluator"] is None],
    }


def test_six_replies_graded_by_two_people_move_no_figure_of_the_judge(
    spec: Path, tripos: Command, once: Command, grade: Callable[[], None], tmp_path: Path
) -> None:
    run(once)
    page = figures_of_the_page(tmp_path / "before")
    before, board = measures(tripos), tripos("leaderboard", "--json").data["boards"]
    pair = ("compare", "--models", "mock/careful,mock/careless", "--json")
    compared = tripos(*pair).data
    means = "from quiz.means() where evaluator is null or not starts_with(evaluator, 'human/')"
    macro = tripos("sql", means, "--format", "csv").out
    worst = tripos("sql", "from quiz.worst()", "--format", "csv").out
    grade()
    after = measures(tripos)
    for name in APART:
        assert rounded(after[name]["rows"]) == rounded(before[name]["rows"]), name
    assert tripos("sql", means, "--format", "csv").out == macro
    assert tripos("sql", "from quiz.worst()", "--format", "csv").out == worst
    [first], [second] = board, tripos("leaderboard", "--json").data["boards"]
    people = second.pop("people")
    assert rounded(first) == rounded(second) and people["evaluators"] == ["human/anna", "human/ben"]
    again = tripos(*pair).data
    assert again.pop("people") == ["human/anna", "human/ben"] and compared.pop("people") == []
    assert rounded(again["rows"]) == rounded(compared["rows"])
    assert figures_of_the_page(tmp_path / "after") == page and len(page["marks"]) > 2 * 48


POINTS = """benchmark points "1.0.0" { languages en }
role candidate compared
role judge panel
dataset item from "points.jsonl" { question text, points integer }
scorer mark(reply: text, points: integer) by judge { prompt "{{ reply }} of {{ points }}", gives 0..points }
scenario exam {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score mark  = mark(reply.text, item.points)
  score share = mark(reply.text, item.points) / item.points
  measure marks  = mean(mark)
  measure shares = mean(share)
  measure long   = mean(length(reply.text))
}
"""


def test_a_report_says_which_figures_the_grades_of_people_do_not_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tripos: Command
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = ({"question": f"What is {number}?", "points": 2 + number % 3} for number in range(8))
    Path("points.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    Path("points.tripos").write_text(POINTS, "utf-8")
    assert tripos("run", "points.tripos", "--model", "mock/careful", "--role", "judge=mock/careful:j").code == 0
    before = {name: each["rows"] for name, each in measures(tripos).items()}
    assert "computed from the judge" not in tripos("report").out
    assert tripos("annotate", "--name", "anna", "--sample", "6").code == 0
    fill("anna.xlsx", 1)
    assert tripos("annotate", "--take", "anna.xlsx").code == 0
    after = measures(tripos)
    assert rounded({name: each["rows"] for name, each in after.items()}) == rounded(before)
    assert after["exam.marks"]["people"] and not after["exam.shares"].get("people")
    shown = " ".join(tripos("report").out.split())
    assert (
        "the scores of `exam.shares` are computed from the judge's" in shown and "a measure of `mark` itself" in shown
    )
    assert shown.count("computed from the judge's") == 1


def test_people_have_their_own_values_beside_those_of_the_judge(
    spec: Path, tripos: Command, once: Command, grade: Callable[[], None]
) -> None:
    run(once)
    grade()
    data = tripos("report", "--json").data
    assert data["people_apart"] == ["human/anna", "human/ben"]
    [told] = [each["text"] for each in data["remarks"] if each["kind"] == "judges"]
    assert told.startswith("people graded too, and judges alone make `")
    found = {each["name"]: each for each in data["measures"]}
    graded = {row["model"]: row["n"] for row in found["overall"]["people"]}
    assert sum(graded.values()) == 2 * 6 * 2
    assert {row["value"] for row in found["overall"]["people"]} == {1.0}
    by_judge = {row["evaluator"] for row in found["by_judge"]["rows"]}
    assert by_judge == {JUDGE, "human/anna", "human/ben"} and "people" not in found["by_judge"]
    assert {row["pair"] for row in found["in_pairs"]["rows"]} >= {f"human/anna & {JUDGE}"}
    text = tripos("report").out
    assert "human/anna (12 scores), human/ben (12 scores); shown apart" in " ".join(text.split())
    assert "overall, of people: human/anna, human/ben" in text
    told = tripos("leaderboard").out
    assert "overall of people, who are apart: human/anna, human/ben" in told
    assert "overall of people: human/anna, human/ben" in tripos("leaderboard", "--format", "markdown").out
    assert "overall, of people: human/anna, human/ben" in tripos("report", "--format", "markdown").out
    notes = " ".join(tripos("compare", "--models", "mock/careful,mock/careless").out.split())
    assert "scores by human/anna, human/ben are apart: no part of these figures" in notes


def test_a_role_with_people_counts_them_with_its_models(
    spec: Path, tripos: Command, once: Command, grade: Callable[[], None]
) -> None:
    spec.write_text(spec.read_text("utf-8").replace("judge panel", "judge panel with people"), "utf-8")
    run(once)
    before = {row["model"]: row for row in measures(tripos)["overall"]["rows"]}
    grade()
    data = tripos("report", "--json").data
    assert not [each for each in data["remarks"] if each["kind"] == "judges"]
    assert data["people_apart"] == [] and data["people"] == {"human/anna": 12, "human/ben": 12}
    found = {each["name"]: each for each in data["measures"]}
    assert all("people" not in each for each in found.values())
    after = {row["model"]: row for row in found["overall"]["rows"]}
    assert sum(row["n"] for row in after.values()) == sum(row["n"] for row in before.values()) + 24
    assert all(after[model]["value"] < before[model]["value"] for model in after)
    [board] = tripos("leaderboard", "--json").data["boards"]
    assert "people" not in board and board["models"][0]["graders"] == ["human/anna", "human/ben", JUDGE]


def test_whether_people_count_is_a_question_of_the_spec_and_needs_no_call(
    spec: Path, tripos: Command, once: Command, grade: Callable[[], None]
) -> None:
    run(once)
    grade()
    apart = {row["model"]: row["n"] for row in measures(tripos)["overall"]["rows"]}
    joined = spec.with_name("joined.tripos")
    joined.write_text(spec.read_text("utf-8").replace("judge panel", "judge panel with people"), "utf-8")
    counted = {row["model"]: row["n"] for row in measures(tripos, "--spec", "joined.tripos")["overall"]["rows"]}
    assert sum(counted.values()) == sum(apart.values()) + 24
    done = tripos("diff", "quiz.tripos", "joined.tripos")
    assert "counts people with its models" in done.out


def test_an_expectation_is_held_to_the_judge(
    spec: Path, tripos: Command, once: Command, grade: Callable[[], None]
) -> None:
    run(once)
    least = min(row["value"] for row in measures(tripos)["overall"]["rows"])
    spec.write_text(spec.read_text("utf-8") + f"\nexpect overall >= {least - 0.01:.6f}\n", "utf-8")
    run(once)
    assert tripos("report").code == 0
    grade()
    assert tripos("report").code == 0


def test_a_judgeless_run_has_figures_of_people_alone(spec: Path, tripos: Command, once: Command) -> None:
    (spec.parent / "replies.csv").write_text("question,model,reply\n0+0,a/x,0\n1+1,a/x,2\n2+2,a/x,4\n", "utf-8")
    done = once("import", "samples", "replies.csv", "--spec", "quiz.tripos", "--column", "reply=reply")
    assert done.code == 0, done.err
    assert tripos("annotate", "--name", "anna").code == 0
    fill("anna.xlsx", 4)
    assert tripos("annotate", "--take", "anna.xlsx").code == 0
    found = measures(tripos)["overall"]
    assert not [row for row in found["rows"] if row["value"] is not None]
    assert [row["value"] for row in found["people"]] == [4.0]


@pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine")
def test_the_page_shows_people_apart(
    spec: Path, tripos: Command, once: Command, grade: Callable[[], None], tmp_path: Path
) -> None:
    run(once)
    grade()
    view = ViewFiles(lambda: Store.open("results", create=False), tmp_path / "made")
    run_id = json.loads(view.json("index.json") or b"")["runs"][0]["run_id"]

    async def go(page: Page) -> None:
        async with TestServer(make_app(view, "t" * 32)) as server:
            for path in ("#/boards", f"#/run/{run_id}"):
                await page.open(f"{server.make_url('/' + 't' * 32 + '/')}?lang=en{path}")
                await page.until(
                    "document.querySelector('#content').innerText.includes('People, apart from the models')"
                )
                await page.until("!document.querySelector('.waiting')")
                await check_rules(page, path)
            told = "document.querySelector('#content').innerText.split('the models: human/anna, human/ben').length"
            await page.until(f"{told} > {len(APART) - 1}")
        assert page.problems == []

    shown(go)
