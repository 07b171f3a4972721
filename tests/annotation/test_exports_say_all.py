"""Every export of a report and of a board says what its text says: people, limits, stops, and coverage."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.annotation.conftest import fill
from tests.annotation.test_people_apart import JUDGE, MORE
from tests.conftest import Command
from tripos_warehouse.tables.values import share_range

FORMATS = ("md", "latex", "csv", "json", "html")
LIMIT = "on 7 of 16 items: --limit 7"
PIPELINE = "These figures show that the pipeline works."


@pytest.fixture
def spec(quiz: Path) -> None:
    """A quiz of 16 questions, whose headline is a mean over its judge."""
    path = quiz / "quiz.tripos"
    path.write_text(path.read_text("utf-8").replace("languages en", "languages en\n  headline overall") + MORE, "utf-8")
    lines = [json.dumps({"question": f"{number}+{number}", "answer": str(2 * number)}) for number in range(16)]
    (quiz / "items.jsonl").write_text("\n".join(lines), "utf-8")


def limited(once: Command, tripos: Command) -> None:
    """Run a model and a baseline on seven of sixteen items; a person grades five replies."""
    assert once("run", "quiz.tripos", "--scenario", "sums", "--limit", "7", "--model",
                "mock/careful,baseline/constant:nothing", "--role", f"judge={JUDGE}").code in (0, 1)  # fmt: skip
    done = tripos("annotate", "--name", "anna", "--sample", "5")
    assert done.code == 0, done.err
    fill("anna.xlsx", 1)
    done = tripos("annotate", "--take", "anna.xlsx")
    assert done.code == 0, done.err


def plain(text: str) -> str:
    """Return a text without the marks of its format."""
    return " ".join(text.replace("\\", "").replace("{}", "").replace("&#x27;", "'").split())


def test_every_format_says_what_the_text_says(spec: None, once: Command, tripos: Command) -> None:
    limited(once, tripos)
    for verb in ("report", "leaderboard"):
        text = plain(tripos(verb).out)
        assert LIMIT in text and PIPELINE in text and "human/anna" in text
        for form in FORMATS:
            out = plain(tripos(verb, "--format", form).out)
            assert "7 of 16 items" in out, (verb, form)
            assert "human/anna" in out, (verb, form)
            if (verb, form) != ("report", "json"):
                assert PIPELINE in out, (verb, form)
    assert tripos("report", "--json").data["only_proves_the_pipeline"] is True


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_rows_of_people_stand_apart_in_csv(spec: None, once: Command, tripos: Command) -> None:
    limited(once, tripos)
    report = tripos("report", "--json").data
    [overall] = [each for each in report["measures"] if each["name"] == "overall"]
    found = [row for row in rows(tripos("report", "--format", "csv").out) if row["measure"] == "overall"]
    for of, expected in (("models", overall["rows"]), ("people: human/anna", overall["people"])):
        own = [row for row in found if row["of"] == of]
        assert [(row["model"], row["value"]) for row in own] == [
            (each["model"], "" if each["value"] is None else str(each["value"])) for each in expected
        ]
    board = rows(tripos("leaderboard", "--format", "csv").out)
    assert {row["of"] for row in board} == {"models", "people: human/anna"}
    assert {row["rank"] for row in board if row["of"] != "models"} == {""}
    reached = {(row["measure"], row["model"]) for row in rows(tripos("report", "--format", "csv").out)
               if row["no_better_than"]}  # fmt: skip
    told = {(each["measure"], each["model"]) for each in report["no_better_than_a_baseline"]}
    assert reached == told


def test_the_list_counts_the_scores_of_people_apart(spec: None, once: Command, tripos: Command) -> None:
    once("run", "quiz.tripos", "--scenario", "sums", "--limit", "7", "--model", "mock/careful", "--role",
         f"judge={JUDGE}")  # fmt: skip
    [before] = tripos("list", "--json").data
    assert before["people_scores"] == 0 and "by people" not in tripos("list").out
    tripos("annotate", "--name", "anna", "--sample", "5")
    fill("anna.xlsx", 1)
    assert tripos("annotate", "--take", "anna.xlsx").code == 0
    [after] = tripos("list", "--json").data
    counted = "select count(*) as n from quiz.scores where starts_with(evaluator, 'human/')"
    people = json.loads(tripos("sql", counted, "--format", "json").out)[0]["n"]
    assert after.pop("people_scores") == people > 0
    assert after == {key: value for key, value in before.items() if key != "people_scores"}
    assert "by people" in tripos("list").out


@pytest.mark.parametrize(
    "shares, told",
    [((1 / 6,), "16.7%"), ((1 / 6, 1.0), "16.7–100%"), ((0.99999, 1.0), "99.9–100%"), ((None,), "—"), ((0.0,), "0%")],
)
def test_a_coverage_of_several_values_has_both_ends(shares: Sequence[float | None], told: str) -> None:
    assert share_range(shares) == told
