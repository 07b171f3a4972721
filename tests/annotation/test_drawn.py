"""Grades of replies that were drawn at random: the store knows of how many, also where the person had them before."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from tests.annotation.conftest import Rows, batches, fill
from tests.conftest import Command
from tripos.annotation.assignment import in_proportion

DRAWN = "select drawn_of, count(*) as n from main.judgements where evaluator = 'human/anna' group by all order by all"


def handed(tripos: Command, *more: str) -> None:
    """Hand anna replies, and take them back filled in."""
    for path in Path().glob("anna*.xlsx"):
        path.unlink()
    assert tripos("annotate", "--name", "anna", *more).code == 0
    fill("anna.xlsx")
    assert tripos("annotate", "--take", "anna.xlsx").code == 0


def test_a_grade_says_of_how_many_its_reply_was_drawn(ran: Path, tripos: Command, ask: Rows) -> None:
    handed(tripos, "--sample", "4")
    sizes = {(row["scenario"], row["model"]): row["drawn_of"] for each in batches() for row in each["rows"]}
    replies = ask("select scenario, model, count(*) as n from quiz.samples where role = 'candidate' group by all")
    of_all = {(each["scenario"], each["model"]): each["n"] for each in replies}
    assert {key: of_all[key] for key in sizes} == sizes
    assert sum(each["n"] for each in ask(DRAWN) if each["drawn_of"]) == 4


@pytest.mark.parametrize("some", [("--limit", "1"), ("--overlap", "0")], ids=["a limit", "beside what was no draw"])
def test_what_could_not_all_be_drawn_is_no_random_draw(
    ran: Path, tripos: Command, ask: Rows, some: tuple[str, str]
) -> None:
    if "--overlap" in some:
        assert tripos("annotate", "--name", "ben", "--limit", "1").code == 0
    handed(tripos, "--sample", "2", *some)
    assert ask(DRAWN) == [{"drawn_of": None, "n": 2}]


def test_a_reply_that_was_graded_before_counts_as_drawn_once_it_is(ran: Path, tripos: Command, ask: Rows) -> None:
    handed(tripos, "--limit", "1")
    before = ask(DRAWN)
    assert [each["drawn_of"] for each in before] == [None]
    handed(tripos)
    assert None not in {each["drawn_of"] for each in ask(DRAWN)}


def test_people_correct_a_later_run_of_the_same_replies(ran: Path, tripos: Command, ask: Rows) -> None:
    handed(tripos)
    spec = Path("quiz.tripos")
    text = spec.read_text("utf-8").replace('"1.0.0"', '"1.0.1"', 1)
    spec.write_text(
        text.replace("measure by_metric", "measure taught = mean(rubric) corrected by people\nmeasure by_metric")
    )
    assert tripos("run", "quiz.tripos", "--model", "mock/careful,mock/careful:b", "--role", "judge=mock/fair").code == 0
    rows = ask("select value, judged, reason from main.measures where measure = 'taught' and value is not null")
    assert rows and {row["value"] for row in rows} == {7.0}


def test_whole_items_are_the_same_of_each_model(ran: Path, tripos: Command) -> None:
    assert tripos("annotate", "--name", "anna", "--sample", "4", "--whole-items").code == 0
    [batch] = batches()
    assert batch["chosen"]["whole_items"] is True
    items: dict[tuple[str, str], set[str]] = {}
    for row in batch["rows"]:
        items.setdefault((row["scenario"], row["model"]), set()).add(row["item_id"])
    of_scenario: dict[str, list[set[str]]] = {}
    for (scenario, _), those in items.items():
        of_scenario.setdefault(scenario, []).append(those)
    assert all(those[0] == other for those in of_scenario.values() for other in those)
    assert any(len(those) > 1 for those in of_scenario.values())


@pytest.mark.parametrize("more", [(), ("--optimal",)], ids=["in turn", "by spread"])
def test_no_item_is_left_half_drawn(ran: Path, tripos: Command, more: tuple[str, ...]) -> None:
    assert tripos("annotate", "--name", "anna", "--sample", "1", "--whole-items", *more).code == 0
    [batch] = batches()
    assert len({(row["scenario"], row["item_id"]) for row in batch["rows"]}) == 1
    assert len({row["model"] for row in batch["rows"]}) == 2


def test_a_sample_goes_where_earlier_grades_varied_more(ran: Path, tripos: Command, ask: Rows) -> None:
    handed(tripos, "--sample", "4")
    assert tripos("annotate", "--name", "ben", "--sample", "4", "--optimal").code == 0
    one, two = batches()
    batch = one if one["name"] == "ben" else two
    assert batch["chosen"]["optimal"] is True
    assert all(row["drawn_of"] for row in batch["rows"])


@pytest.mark.parametrize("option", [["--whole-items"], ["--optimal"], ["--balance", "x"]], ids=" ".join)
def test_how_a_sample_is_drawn_wants_a_sample(ran: Path, tripos: Command, option: list[str]) -> None:
    done = tripos("annotate", "--name", "anna", *option)
    assert done.code == 2
    assert "needs `--sample N`" in done.err


def test_each_has_the_same_chance_where_parts_are_balanced() -> None:
    parts, rng = ["a"] * 6 + ["b"] * 3 + ["c"], random.Random(3)
    drawn: Counter[int] = Counter()
    for _ in range(4000):
        order = rng.sample(range(10), 10)
        starts = {part: rng.random() for part in "abc"}
        front = in_proportion(order, [parts[each] for each in order], order, starts)[:4]
        taken = Counter(parts[each] for each in front)
        assert taken["a"] in (2, 3) and taken["b"] in (1, 2) and taken["c"] in (0, 1)
        drawn.update(front)
    assert all(1480 < drawn[each] < 1720 for each in range(10)), drawn  # 1600, and four standard errors


def test_a_sample_has_the_values_of_a_column_in_their_proportions(ran: Path, tripos: Command) -> None:
    wrong = tripos("annotate", "--name", "anna", "--sample", "4", "--balance", "nothing")
    assert (wrong.code, "no reply has an axis, arm or column `nothing`" in wrong.err) == (2, True)
    known = wrong.err.split("there are ")[1].split(",")[0].strip()
    assert tripos("annotate", "--name", "anna", "--sample", "4", "--balance", known).code == 0
    [batch] = batches()
    assert batch["chosen"]["balance"] == [known]
    assert all(row["drawn_of"] for row in batch["rows"])
