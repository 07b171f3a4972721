"""`tripos leaderboard`: what stands for a benchmark, who is ahead, and who cannot be told apart."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from tests.conftest import Command
from tripos.runs.compilation import find_spec
from tripos_warehouse.report.leaderboard import Board, BoardEntry, mean_win_rates

ITEMS = 12
NUMBERS = """\
benchmark numbers "VERSION" {
  languages en
  headline  both
}
role candidate compared
dataset item from "numbers.jsonl" { number integer, even bool secret }
scenario parity {
  over item
  ask reply by candidate { prompt "{{ item.number }}" }
  score right = contains(reply.text, "e")
  score short = words(reply.text) < 3
  measure accuracy = mean(right)
}
measure shortness = mean(parity.short)
measure both      = (parity.accuracy + shortness) / 2
measure doubled   = 2 * parity.accuracy
measure wrong     = 1 - parity.accuracy lower is better
"""
SILENT = NUMBERS.replace("  headline  both\n", "")
"""The same benchmark where it does not say what stands for it."""


def replies(model: str, right: int) -> str:
    """Return replies of a model of which the first are right."""
    return "".join(
        json.dumps({"number": n, "model": model, "reply": "e" if n < right else "o"}) + "\n" for n in range(ITEMS)
    )


@pytest.fixture
def numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a benchmark of thirty items."""
    rows = (json.dumps({"number": n, "even": n % 2 == 0}) for n in range(ITEMS))
    (tmp_path / "numbers.jsonl").write_text("\n".join(rows), "utf-8")
    (tmp_path / "numbers.tripos").write_text(NUMBERS.replace("VERSION", "1.0.0"), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return tmp_path


def bring(tripos: Command, **right: int) -> None:
    """Put replies of models into the store, so many of each right."""
    for model, count in right.items():
        Path("replies.jsonl").write_text(replies(f"lab/{model}", count), "utf-8")
        done = tripos("import", "samples", "replies.jsonl", "--spec", "numbers.tripos", "--model", f"lab/{model}")
        assert done.code == 0, done.err


def board(tripos: Command, *more: str) -> dict[str, Any]:
    done = tripos("leaderboard", "--json", *more)
    assert done.code == 0, done.err
    [found] = done.data["boards"]
    return dict(found)


def ranks(found: dict[str, Any]) -> list[tuple[str, int, str]]:
    return [(each["model"], each["rank"], each["letters"]) for each in found["models"]]


def test_models_that_the_items_do_not_tell_apart_share_a_rank(numbers: Path, tripos: Command, once: Command) -> None:
    bring(once, good=11, fair=10, poor=1)
    found = board(tripos, "--measure", "numbers=parity.accuracy")
    shared = [("lab/good", 1, "a"), ("lab/fair", 1, "a"), ("lab/poor", 3, "b")]
    assert ranks(found) == shared
    assert [each["tied"] for each in found["models"]] == [True, True, False]
    assert found["models"][0]["value"] == pytest.approx(11 / 12)
    assert found["models"][0]["low"] < 11 / 12 < found["models"][0]["high"]
    found = board(tripos, "--measure", "numbers=wrong")
    assert found["lower_is_better"]
    assert ranks(found) == shared


def test_a_formula_is_ranked_by_its_own_difference_in_every_format(
    numbers: Path, tripos: Command, once: Command
) -> None:
    bring(once, good=11, poor=1)
    found = board(tripos)
    assert found["measure"] == "both"
    assert ranks(found) == [("lab/good", 1, "a"), ("lab/poor", 2, "b")]
    rows = list(csv.DictReader(io.StringIO(tripos("leaderboard", "--format", "csv").out)))
    assert [(row["model"], row["rank"], row["tied"]) for row in rows] == [
        ("lab/good", "1", "false"),
        ("lab/poor", "2", "false"),
    ]
    lines = tripos("leaderboard", "--format", "markdown").out.splitlines()
    assert lines[0] == "### numbers 1.0.0: both"
    assert lines[4].startswith("| 1 | lab/good | ")


def test_every_format_says_that_lower_is_better(numbers: Path, tripos: Command, once: Command) -> None:
    bring(once, good=11, poor=1)
    wrong = ("leaderboard", "--measure", "numbers=wrong")
    assert tripos(*wrong).out.splitlines()[0] == "numbers 1.0.0: wrong (lower is better)"
    assert tripos(*wrong, "--format", "markdown").out.splitlines()[0] == "### numbers 1.0.0: wrong (lower is better)"
    rows = list(csv.DictReader(io.StringIO(tripos(*wrong, "--format", "csv").out)))
    assert [(row["model"], row["rank"], row["lower_is_better"]) for row in rows] == [
        ("lab/good", "1", "true"),
        ("lab/poor", "2", "true"),
    ]
    report = tripos("report").out
    assert "wrong (lower is better)" in report and "headline   both" in report
    runs = [each["run_id"] for each in tripos("list", "--json").data]
    done = tripos("compare", *reversed(runs), "--models", "good,poor", "--json")
    told = {row["name"]: row["verdict"] for row in done.data["rows"] if row["section"] == "measure"}
    assert told["wrong"].startswith("A is better by")
    assert told["both"].startswith("A is better by")
    assert told["doubled"].startswith("A is better by")


def test_one_that_is_right_on_every_item_is_ahead_of_one_that_is_wrong_on_all(
    numbers: Path, tripos: Command, once: Command
) -> None:
    bring(once, all=ITEMS, none=0)
    assert ranks(board(tripos)) == [("lab/all", 1, "a"), ("lab/none", 2, "b")]


def test_a_model_is_not_ranked_beside_those_of_another_major_version(
    numbers: Path, tripos: Command, once: Command
) -> None:
    bring(once, old=11)
    (numbers / "numbers.tripos").write_text(NUMBERS.replace("VERSION", "2.0.0"), "utf-8")
    bring(once, new=1)
    found = board(tripos)
    assert (found["version"], found["left_out"]) == ("2.0.0", {"lab/old": ["1.0.0"]})
    assert [model for model, *_ in ranks(found)] == ["lab/new"]
    assert "left out: lab/old, which ran under version 1.0.0 only" in tripos("leaderboard").out
    found = board(tripos, "--anyway")
    assert (found["left_out"], found["mixed"]) == ({}, {"lab/old": ["1.0.0"]})
    assert [model for model, *_ in ranks(found)] == ["lab/old", "lab/new"]
    assert "! lab/old ran under version 1.0.0 only" in tripos("leaderboard", "--anyway").out


@pytest.mark.parametrize(
    ("old", "new", "models"),
    [("0.2.0", "0.3.0", ["lab/new"]), pytest.param("1.0.0", "1.1.0", ["lab/old", "lab/new"], marks=pytest.mark.long)],
)
def test_minor_versions_are_ranked_together_but_below_1_0_0(
    numbers: Path, tripos: Command, once: Command, old: str, new: str, models: list[str]
) -> None:
    for version, right in ((old, {"old": 11}), (new, {"new": 10})):
        (numbers / "numbers.tripos").write_text(NUMBERS.replace("VERSION", version), "utf-8")
        bring(once, **right)
    found = board(tripos)
    assert [model for model, *_ in ranks(found)] == models
    assert found["left_out"] == ({} if "lab/old" in models else {"lab/old": [old]})


@pytest.mark.parametrize(
    ("spec", "measures"),
    [
        (SILENT + "measure overall = mean(parity.short)\n", ["overall"]),
        (SILENT.partition("measure shortness")[0], ["parity.accuracy"]),
        (SILENT, ["shortness"]),
        (
            NUMBERS.replace("headline  both", "headline  wrong, parity.accuracy, both"),
            ["wrong", "parity.accuracy", "both"],
        ),
    ],
    ids=["a measure called overall", "none of the whole", "the first of the whole", "headlines in their order"],
)
def test_the_boards_are_of_what_stands_for_the_benchmark(
    numbers: Path, tripos: Command, once: Command, spec: str, measures: list[str]
) -> None:
    (numbers / "numbers.tripos").write_text(spec.replace("VERSION", "1.0.0"), "utf-8")
    bring(once, good=11)
    assert [each["measure"] for each in tripos("leaderboard", "--json").data["boards"]] == measures


def test_a_measure_that_goes_by_something_or_is_not_there_is_refused(
    numbers: Path, tripos: Command, once: Command
) -> None:
    spec = NUMBERS.replace("VERSION", "1.0.0") + "measure split = mean(parity.right) by item.even\n"
    (numbers / "numbers.tripos").write_text(spec, "utf-8")
    bring(once, good=11)
    for arguments, told in (
        (("--measure", "numbers=split"), "does not come to one value for each model"),
        (("nambers",), "did you mean `numbers`?"),
        (("--measure", "numbers=bot"), "did you mean `both`?"),
        (("--measure", "both"), "write --measure BENCHMARK=MEASURE"),
    ):
        done = tripos("leaderboard", *arguments)
        assert (done.code, told in done.err) == (2, True), done.err


@pytest.mark.long
def test_a_board_has_room_in_80_columns(numbers: Path, tripos: Command, once: Command) -> None:
    bring(once, **{"a-model-with-a-name-that-is-longer-than-anybody-would-give-to-it": 11, "good": 10})
    both = ("--measure", "numbers=both", *(each for _ in range(3) for each in ("--measure", "numbers=doubled")))
    done = tripos("leaderboard", *both)
    assert done.code == 0
    assert "all boards, with ranks" in done.out
    assert max(map(len, done.out.splitlines())) <= 80


def test_columns_line_up_beside_a_model_whose_name_is_chinese(numbers: Path, tripos: Command, once: Command) -> None:
    bring(once, 实验室的小模型=8, small=5)
    lines = tripos("leaderboard").out.splitlines()
    ends = [cell_len(line.rstrip()[:-1].rstrip()) for line in lines if re.match(r"\d+=? +lab/", line)]
    assert len(ends) == 2
    assert len(set(ends)) == 1


def test_too_few_items_tell_nobody_apart(numbers: Path, tripos: Command) -> None:
    rows = (json.dumps({"number": n, "even": n % 2 == 0}) for n in range(5))
    (numbers / "numbers.jsonl").write_text("\n".join(rows), "utf-8")
    for model, right in (("lab/all", 5), ("lab/none", 0)):
        Path("replies.jsonl").write_text("".join(replies(model, right).splitlines(keepends=True)[:5]), "utf-8")
        done = tripos("import", "samples", "replies.jsonl", "--spec", "numbers.tripos", "--model", model)
        assert done.code == 0, done.err
    assert [rank for _, rank, _ in ranks(board(tripos))] == [1, 1]


def test_models_that_others_graded_are_not_told_apart(quiz: Path, tripos: Command) -> None:
    for model, judge in (("mock/careful", "a"), ("mock/careless", "b")):
        done = tripos("run", "quiz.tripos", "--model", model, "--role", f"judge=mock/careful:{judge}", "--json")
        assert done.code == 0, done.err
    found = tripos("leaderboard", "--json").data["boards"]
    assert all(each["rank"] == 1 for board in found for each in board["models"])
    assert "not all were graded by the same" in tripos("leaderboard").out


def test_mean_win_rates_take_shared_ranks_as_half_and_benchmarks_as_one(numbers: Path) -> None:
    plan = find_spec(str(numbers / "numbers.tripos")).compile().plan
    assert plan is not None

    def board(name: str, **ranks: int) -> Board:
        standings = tuple(
            BoardEntry(0.0, "one item", model=model, rank=rank, tied=False, letters="a", graders=())
            for model, rank in ranks.items()
        )
        return Board(name, "1.0.0", plan.measures[0], standings, False)

    boards = [board("a", x=1, y=1, z=3), board("a", x=3, y=1, z=1), board("b", x=1, y=2), board("c", z=1)]
    rates = mean_win_rates(boards)
    # x: a is (0.75 + 0) / 2, b is 1. y: a is 0.75 twice, b is 0. z is on one benchmark with others.
    assert rates == {"x": pytest.approx(0.6875), "y": pytest.approx(0.375)}
    assert list(rates) == ["x", "y"]
    assert mean_win_rates(boards[:2]) == {}


def test_a_run_of_several_benchmarks_ends_with_all_their_boards(
    numbers: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (numbers / "numbers.tripos").read_text("utf-8")
    (numbers / "others.tripos").write_text(text.replace("benchmark numbers", "benchmark others"), "utf-8")
    done = tripos("run", "numbers.tripos", "others.tripos", "--model", "mock/careful,mock/careless")
    *_, table = done.out.partition("all boards, with ranks (= is shared):")
    assert ("numbers 1.0.0: both" in table, "others 1.0.0: both" in table) == (True, True)
    assert "mean win rate" in table
    assert table.rstrip().endswith("tripos leaderboard")
    one = tripos("run", "numbers.tripos", "--model", "mock/careful,mock/careless")
    assert "all boards" not in one.out
