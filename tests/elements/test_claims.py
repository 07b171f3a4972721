"""Scores of what a reply lists, as FActScore (Min et al., 2023) has them: a row for each fact, none where a reply lists
none, and the calls of a forecast."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.field.running import Figures, figures_of, lines
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run

SPEC = """\
benchmark lives "1.0.0" { languages en }
role candidate compared
role judge
dataset person from "people.jsonl" { name text, source text secret }
scorer supported(fact: text, source: text) by judge { prompt "Judge | {{ source }} | {{ fact }}", gives bool }
scenario life {
  over person as p
  ask reply by candidate {
    prompt "Tell me about {{ p.name }}."
    returns { facts list<{ text text, sure choice(high, low) }> }
  }
  score true = supported(f.text, p.source) each f in reply.facts at most 6
  # allow W0320: no facts, no precision
  score precision = sum(choose(supported(f.text, p.source), 1, 0) each f in reply.facts at most 6) / length(reply.facts)
}
measure facts     = mean(true)
measure strict    = mean(true, missing: zero)
measure by_sure   = mean(true) by f.sure
measure factscore = mean(precision)
measure count     = count(true)
"""
PEOPLE = 60


def facts_of(number: int) -> list[dict[str, str]] | None:
    """Return what the candidate lists; None where it declines. Some list nothing, and some more than is judged."""
    if number % 13 == 5:
        return None
    count = 9 if number % 17 == 2 else number % 5
    return [{"text": f"fact {number}.{each}", "sure": "high" if each % 3 else "low"} for each in range(count)]


def holds(fact: str) -> bool:
    return sum(map(int, re.findall(r"\d+", fact))) % 3 != 0


def says(text: str) -> str | None:
    if text.startswith("Judge"):
        return json.dumps({"value": holds(text.split(" | ")[2].splitlines()[0])})
    found = re.search(r"person (\d+)", text)
    assert found is not None
    facts = facts_of(int(found[1]))
    return None if facts is None else json.dumps({"facts": facts})


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lives")


@pytest.fixture(scope="module")
def figures(folder: Path) -> Figures:
    people = [{"name": f"person {number}", "source": f"source {number}"} for number in range(PEOPLE)]
    return figures_of(folder, SPEC, {"people.jsonl": lines(people)}, says)


def judged() -> list[list[dict[str, str]]]:
    """Return the facts of every reply whose facts are judged."""
    every = [facts_of(number) for number in range(PEOPLE)]
    return [facts for facts in every if facts is not None and 0 < len(facts) <= 6]


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def test_figures_are_those_of_the_facts(figures: Figures) -> None:
    every = [fact for facts in judged() for fact in facts]
    lacking = PEOPLE - len(judged())
    assert lacking > 10
    row = figures["facts"]
    assert row.value == pytest.approx(mean([float(holds(each["text"])) for each in every]))
    assert (row.n, row.total, row.items) == (len(every), len(every) + lacking, len(judged()))
    strict = sum(holds(each["text"]) for each in every) / (len(every) + lacking)
    assert figures["strict"].value == pytest.approx(strict)
    assert figures["count"].value == len(every)
    of_each = {sure: mean([holds(f["text"]) for f in every if f["sure"] == sure]) for sure in ("high", "low")}
    assert figures.by("by_sure") == {name: pytest.approx(value) for name, value in of_each.items()}
    assert figures["factscore"].value == pytest.approx(
        mean([mean([holds(f["text"]) for f in each]) for each in judged()])
    )


def test_every_reply_without_rows_says_why(figures: Figures, folder: Path) -> None:
    connection, _ = connect_run(Store.open(folder / "results", create=False))
    with connection:
        found = connection.sql(
            "select status, error, count(*) from lives.scores where metric = 'true' and element_place is null group by all"
        ).fetchall()
    every = [facts_of(number) for number in range(PEOPLE)]
    wanted = {
        "the list has no element": every.count([]),
        "the list has 9 elements, more than 6": sum(each is not None and len(each) == 9 for each in every),
    }
    assert {error: count for status, error, count in found if status == "undefined"} == wanted
    assert [count for status, _, count in found if status == "refused"] == [every.count(None)]


def test_a_plan_bounds_the_calls(figures: Figures) -> None:
    (count,) = [each for each in figures.plan.calls if each.step.startswith("supported")]
    assert (count.least, count.most) == (0, 6 * PEOPLE)
