"""The three commands at the end of a run: each can be copied, and does something for this run."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from tests.conftest import Command

JUDGE = ("--role", "judge=mock/careful:j")


def commands(out: str) -> list[str]:
    """The commands at the end of what a run prints."""
    return [f"tripos {line.partition('  tripos ')[2]}" for line in out.splitlines() if "  tripos " in line]


@pytest.mark.parametrize(
    ("models", "third", "store"),
    [
        ("mock/careful", "sql", "my results"),
        ("mock/careful,mock/careless", "compare", "my results"),
        ("mock/careful,mock/refuses,mock/slow", "sql", None),
    ],
)
def test_each_can_be_typed_and_is_of_this_run(
    quiz: Path, tripos: Command, models: str, third: str, store: str | None
) -> None:
    where = ("--store", store) if store else ()
    done = tripos("run", "quiz.tripos", "--model", models, *JUDGE, *where, "--limit", "1")
    said = [shlex.split(each) for each in commands(done.out)]
    assert [each[1] for each in said] == ["report", "view", third]
    assert (said[0][2] in done.err) and said[0][2] == said[1][2]
    for words in said:
        to = ("--to", "page") if words[1] == "view" else ()
        assert tripos(*words[1:], *to).code == 0, words
    asked = "status <>" in " ".join(said[2])
    assert asked is ("refuses" in models)


def test_of_three_models_the_first_two_are_compared(quiz: Path, tripos: Command) -> None:
    done = tripos("run", "quiz.tripos", "--model", "mock/careful,mock/careless,mock/slow", *JUDGE, "--limit", "1")
    [_, _, compare] = commands(done.out)
    assert " --models mock/careful,mock/careless" in compare
    assert tripos(*shlex.split(compare)[1:]).code == 0


def test_the_sql_of_the_headline_is_shown_on_demand(quiz: Path, tripos: Command) -> None:
    plain = tripos("run", "quiz.tripos", "--model", "mock/careful", *JUDGE).out
    shown = tripos("run", "quiz.tripos", "--model", "mock/careful", *JUDGE, "--sql").out
    assert "SQL of" not in plain and shown.count("SQL of length:") == 1
    assert len(plain.splitlines()) <= 24


def test_the_offered_query_has_one_metric_and_one_evaluator_a_row(quiz: Path, tripos: Command) -> None:
    judges = ("--role", "judge=mock/careful:a,mock/careful:b")
    done = tripos("run", "quiz.tripos", "--model", "mock/careful", *judges)
    [query] = [shlex.split(each)[2] for each in commands(done.out) if each.startswith("tripos sql ")]
    assert max(map(len, done.out.splitlines())) <= 80
    assert tripos("sql", query, "-o", "rows.json").code == 0
    rows = json.loads(Path("rows.json").read_text("utf-8"))
    assert len({(row["metric"], row["evaluator"]) for row in rows}) == len(rows)
    found = {(row["metric"], row["evaluator"]) for row in rows}
    by_judge = {(metric, judge) for metric in ("CLEAR", "RIGHT") for judge in ("mock/careful:a", "mock/careful:b")}
    assert found == by_judge | {("long", None), ("sure", None)}
