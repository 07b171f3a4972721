"""A score for each element of a list: what measures, views and comparisons make of them, held against sums over the
elements that are worked out apart, where replies and verdicts are missing and lists are empty."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest

from tests.field.running import Figures, figures_of, lines
from tests.unit_errors import figure
from tripos.cli.trace import trace_lines
from tripos.runs.provenance import find_trace
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.run_rows import element_rows

SPEC = """\
benchmark health "1.0.0" { languages en }
role candidate compared
role judge
dataset item from "items.jsonl" {
  question text
  theme    text
  rubric   list<{ criterion text, points integer, axis choice(accuracy, context, tone) }> secret
}
scorer met(reply: text, criterion: text) by judge { prompt "Judge | {{ reply }} | {{ criterion }}", gives bool }
scenario health {
  over item
  ask reply by candidate { prompt "{{ item.question }}" }
  score meets = met(reply.text, c.criterion) each c in item.rubric
  score wins  = met(reply.text, c.criterion) each c in item.rubric where c.points > 0
  measure weighed = weighted_mean(wins, abs(c.points))
  measure on_axis = weighted_mean(wins, max(c.points, 0)) by c.axis
  measure won     = mean(c.points + choose(met(reply.text, c.criterion), 100, 0), where: c.points > 0)
}
measure every    = mean(meets)
measure by_axis  = mean(meets) by c.axis
measure by_theme = mean(meets) by item.theme
measure strict   = mean(meets, missing: zero) by c.axis
measure sums     = sum(meets) by c.axis
measure macro    = mean(mean(meets) by c.axis)
measure won      = mean(wins)
measure of       = count(wins)
"""
AXES = ("accuracy", "context", "tone")


def drawn_items(count: int) -> list[dict[str, Any]]:
    """Return items with up to seven criteria; some have none, and some none with positive points."""
    draw = random.Random(3)
    return [
        {
            "question": f"question {number}",
            "theme": draw.choice(["pain", "drugs", "sleep"]),
            "rubric": [
                {
                    "criterion": f"criterion {number}.{place}",
                    "points": draw.choice([-10, -5, 1, 5, 7, 10]),
                    "axis": draw.choice(AXES),
                }
                for place in range(draw.randint(0, 7))
            ],
        }
        for number in range(count)
    ]


def verdict(criterion: str) -> bool | None:
    """Return the scripted verdict; None where the judge refuses, or its reply cannot be read, or nobody replied."""
    number = int(re.findall(r"\d+", criterion)[0])
    dice = random.Random(criterion)
    return None if number % 9 == 4 or dice.random() < 0.1 else dice.random() < 0.6


def says(text: str) -> str | None:
    """The candidate refuses some questions, and the judge some criteria; some it answers with nothing to read."""
    if text.startswith("That reply could not be used"):
        return "I still cannot say."
    if not text.startswith("Judge"):
        return None if int(re.findall(r"\d+", text)[0]) % 9 == 4 else "a reply"
    told = verdict(text.split(" | ")[2].splitlines()[0])
    if told is None:
        return None if len(text) % 2 else "I cannot say."
    return json.dumps({"value": told})


ITEMS = drawn_items(120)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("health")


@pytest.fixture(scope="module")
def figures(folder: Path) -> Figures:
    return figures_of(folder, SPEC, {"items.jsonl": lines(ITEMS)}, says)


def mean(values: list[float]) -> float:
    return sum(values) / len(values)


def told(**wanted: object) -> list[float | None]:
    """Return the verdicts on all criteria that are like this, or of items that are."""
    found = [
        verdict(c["criterion"])
        for item in ITEMS
        for c in item["rubric"]
        if all((item | c)[name] == value for name, value in wanted.items())
    ]
    return [None if each is None else float(each) for each in found]


def known(**wanted: object) -> list[float]:
    return [each for each in told(**wanted) if each is not None]


def test_figures_are_those_of_the_elements(figures: Figures) -> None:
    row = figures["every"]
    assert row.value == pytest.approx(mean(known()))
    assert (row.n, row.total) == (len(known()), len(told()))
    assert row.n < row.total, "some are missing, and the coverage says so"
    assert figures.by("by_axis") == {axis: pytest.approx(mean(known(axis=axis))) for axis in AXES}
    assert figures.by("sums") == {axis: pytest.approx(sum(known(axis=axis))) for axis in AXES}
    themes = {item["theme"] for item in ITEMS}
    assert figures.by("by_theme") == {theme: pytest.approx(mean(known(theme=theme))) for theme in themes}
    with_zeros = {axis: mean([each or 0.0 for each in told(axis=axis)]) for axis in AXES}
    assert figures.by("strict") == {axis: pytest.approx(value) for axis, value in with_zeros.items()}
    assert figures["macro"].value == pytest.approx(mean([mean(known(axis=axis)) for axis in AXES]))
    positive = [verdict(c["criterion"]) for item in ITEMS for c in item["rubric"] if c["points"] > 0]
    assert figures["won"].value == pytest.approx(mean([float(each) for each in positive if each is not None]))
    assert figures["of"].value == sum(each is not None for each in positive)


def test_elements_have_weights_and_values_of_their_own(figures: Figures) -> None:
    every = [(c, verdict(c["criterion"])) for item in ITEMS for c in item["rubric"]]
    wins = [(c, met) for c, met in every if c["points"] > 0 and met is not None]
    weights = sum(c["points"] for c, _ in wins)
    weighed = figures["health.weighed"]
    assert weighed.value == pytest.approx(sum(c["points"] * met for c, met in wins) / weights)
    assert weighed.n == len(wins)
    for axis, value in figures.by("health.on_axis").items():
        own = [(c["points"], met) for c, met in wins if c["axis"] == axis]
        assert value == pytest.approx(sum(p * met for p, met in own) / sum(p for p, _ in own))
    assert figures["health.won"].value == pytest.approx(mean([c["points"] + 100 * met for c, met in wins]))


def test_errors_are_clustered_by_item(figures: Figures) -> None:
    for axis in (None, "tone"):
        (row,) = [each for each in figures.rows["by_axis" if axis else "every"] if not axis or each.by == (axis,)]
        values = []
        for item in ITEMS:
            for c in item["rubric"]:
                value = verdict(c["criterion"])
                if value is not None and axis in (None, c["axis"]):
                    values.append((item["question"], float(value), 1.0))
        assert row.items == len({item for item, _, _ in values})
        assert row.standard_error == pytest.approx(figure([values], [1.0]).error)


def test_views_have_a_row_for_each_element(figures: Figures, folder: Path) -> None:
    connection, _ = connect_run(Store.open(folder / "results", create=False))
    with connection:
        found = connection.sql(
            """select element_value ->> '$.criterion', element_place, status, value, score_id
            from health.scores where metric = 'meets' and element_place is not null"""
        ).fetchall()
        empty = connection.sql(
            "select status, error from health.scores where metric = 'meets' and element_place is null"
        ).fetchall()
    criteria = {c["criterion"]: (place, c) for item in ITEMS for place, c in enumerate(item["rubric"])}
    assert len(found) == len(criteria) == len({row[4] for row in found})
    for criterion, place, status, value, _ in found:
        wanted = verdict(criterion)
        assert place == str(criteria[criterion][0])
        assert value == (None if wanted is None else float(wanted))
        assert (status == "scored") is (wanted is not None)
    lists = sum(not item["rubric"] for item in ITEMS)
    assert lists > 5
    assert empty == [("not_applicable", "the list has no element")] * lists


def test_why_follows_an_element_to_its_own_verdict(figures: Figures, folder: Path) -> None:
    connection, _ = connect_run(Store.open(folder / "results", create=False))
    with connection:
        [(score, place, criterion)] = connection.sql(
            """select score_id, element_place, element_value ->> '$.criterion' from health.scores
            where metric = 'meets' and element_place = '2' and value = 1 limit 1"""
        ).fetchall()
        told = find_trace(connection, score)
        whole = find_trace(connection, score.removesuffix(f".{place}"))
        with pytest.raises(StoreError, match="has no element `99`"):
            find_trace(connection, f"{score.removesuffix(place)}99")
    assert told.score is not None
    assert (told.key, told.score["value"], told.score["element_place"]) == (score, 1.0, place)
    (verdict_,) = [each for each in told.other_replies if each.table == "judgements"]
    assert criterion in verdict_.messages[-1]["content"]
    judged = [each for each in whole.other_replies if each.table == "judgements"]
    assert len(judged) > 1
    shown = [line for line in trace_lines(whole, 80, full=True) if line.startswith("value ")]
    assert len(shown) == len(element_rows(whole.score or {})) == len(judged)
    alone = [line for line in trace_lines(told, 80, full=True) if line.startswith("element ")]
    assert len(alone) == 1 and alone[0].startswith(f"element {place} ")
