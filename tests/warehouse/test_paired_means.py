"""A leaderboard and a comparison of two models say the same of a mean of scores."""

from __future__ import annotations

import dataclasses
import json
from itertools import combinations
from pathlib import Path

import pytest

from tests.conftest import Command
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.differences import model_differences
from tripos_warehouse.measures.paired_scores import paired_figure
from tripos_warehouse.measures.sides import Side
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.report.comparison import HEADLINE_SHARE, RunSide, compare
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.intervals import mean_of_cells
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect
from tripos_warehouse.views.runs import all_runs, get_selected

SPEC = """\
benchmark pairs "1.0.0" {
  languages en
  headline  right, long
}
role candidate compared
dataset item from "items.jsonl" { number integer, subject text }
arm hint { none, some }
scenario parity {
  over item
  arms hint
  ask reply by candidate { prompt "{{ item.number }}{{ hint }}", samples 2 }
  score even = contains(reply.text, "e")
  score long = words(reply.text)
}
measure hinted = mean(parity.even) by hint
measure right  = mean(parity.even)
measure long   = mean(parity.long)
measure level  = mean(hinted)
measure zero   = mean(parity.even, missing: zero)
measure taught = mean(parity.even) by item.subject
measure macro  = mean(taught)
measure same   = (taught[item.subject: a] + taught[item.subject: b] + taught[item.subject: c]) / 3
measure turned = 1 - (-taught[item.subject: c] - taught[item.subject: a] - taught[item.subject: b]) * (1 / 3)
measure back   = 1 - (3 - 2 * macro + macro - 2)
measure again  = 1 - (1 - right)
measure pooled = sum(parity.even) / count(parity.even)
measure helped = hinted[hint: some] - hinted[hint: none]
measure bent   = taught[item.subject: a] * taught[item.subject: b]
"""
SUBJECTS = "aabbbcccc"
MODELS = ("mock/careful", "mock/careless", "baseline/constant:e", "baseline/constant:o")


@pytest.fixture
def store(tmp_path: Path, once: Command, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.chdir(tmp_path)
    Path("pairs.tripos").write_text(SPEC, "utf-8")
    Path("items.jsonl").write_text(
        "\n".join(json.dumps({"number": n, "subject": SUBJECTS[n]}) for n in range(9)), "utf-8"
    )
    outcome = once("run", "pairs.tripos", "--model", ",".join(MODELS))
    assert outcome.code == 0, outcome.err
    return Store.open(tmp_path / "results", create=False)


def board_differences(connection: Connection, plan: Plan) -> dict[str, dict[tuple[str, str], Estimate]]:
    """Return the differences of every two models in each measure with one value."""
    return {
        measure.name: {
            (first, second): each
            for (_, first, second), each in model_differences(Side(connection, plan, MODELS), measure).items()
        }
        for measure in plan.measures
        if not measure.by
    }


def test_a_board_and_a_comparison_have_the_same_differences(store: Store) -> None:
    connection = connect(store)
    with connection:
        [run] = all_runs(connection)
        plan: Plan = get_selected(connection, run)
        boards = board_differences(connection, plan)
        zero = next(each for each in plan.measures if each.name == "zero")
        assert paired_figure(plan, zero) is None, "a missing score counts there"
        compared = 0
        for first, second in combinations(MODELS, 2):
            sides = [RunSide(connection, plan, (model,), run) for model in (second, first)]
            found = compare(*sides)
            rows = {row.name: row for row in found.sections[0].rows}
            assert found.first == ("right", "long")
            alone = sequence([rows[name].difference.p for name in found.first])
            for p, told in zip(alone, (rows[name].p for name in found.first), strict=True):
                assert (p, told) == (None, None) or (p and told and p <= told <= min(1.0, p / HEADLINE_SHARE) + 1e-12)
            for name in ("right", "long", "macro", "same", "helped"):
                told, wanted = (
                    dataclasses.asdict(each) for each in (boards[name][first, second], rows[name].difference)
                )
                near = {
                    key: pytest.approx(value, rel=1e-9) for key, value in wanted.items() if isinstance(value, float)
                }
                assert told == {**wanted, **near}
                compared += 1
        assert compared == 30
        right = boards["right"]
        # All of the one are right, and none of the other: a chance of 2 in 2⁹ that nine items agree so.
        assert right[MODELS[2], MODELS[3]].value == 1
        assert right[MODELS[2], MODELS[3]].p == 2**-8


def test_a_mean_over_a_field_of_rows_is_that_over_its_cells(store: Store) -> None:
    """Subjects of two, three and four items count alike, and so does each item of a subject."""
    with connect(store) as connection:
        [run] = all_runs(connection)
        plan: Plan = get_selected(connection, run)
        found = board_differences(connection, plan)["macro"]
        rows = connection.execute(
            """select item_id, avg(value) filter (model = $1) - avg(value) filter (model = $2)
            from pairs.scores where metric = 'even' and model in ($1, $2) group by item_id, hint""",
            MODELS[:2],
        ).fetchall()
        subjects = dict(connection.execute("select item_id, fields ->> '$.subject' from pairs.items").fetchall())
    items = [item for item, _ in rows]
    wanted = mean_of_cells([value for _, value in rows], items, [subjects[item] for item in items], ends=(-1, 1))
    told = found[MODELS[0], MODELS[1]]
    for name in ("value", "standard_error", "df", "low", "high", "p"):
        assert getattr(told, name) == pytest.approx(getattr(wanted, name)), name


def test_a_difference_is_one_however_the_figure_is_written(store: Store) -> None:
    with connect(store) as connection:
        [run] = all_runs(connection)
        plan: Plan = get_selected(connection, run)
        measures = {each.name: each for each in plan.measures}
        boards = board_differences(connection, plan)
        assert paired_figure(plan, measures["bent"]) is None
        for first, second in combinations(MODELS, 2):
            sides = [RunSide(connection, plan, (model,), run) for model in (second, first)]
            rows = {row.name: row for row in compare(*sides).sections[0].rows}
            assert rows["turned"].a == pytest.approx(1 + rows["macro"].a)
            for name, plain in (
                ("same", "macro"),
                ("turned", "macro"),
                ("back", "macro"),
                ("again", "right"),
                ("pooled", "right"),
            ):
                for found in (boards[name][first, second], rows[name].difference):
                    for field in ("value", "standard_error", "df", "low", "high", "p"):
                        wanted = getattr(rows[plain].difference, field)
                        assert getattr(found, field) == (None if wanted is None else pytest.approx(wanted)), (
                            name,
                            field,
                        )


def test_each_cell_of_a_mean_over_a_field_is_paired(store: Store) -> None:
    """A cell of two items has one degree of freedom, and more than 12 items in others change nothing of that."""
    with connect(store) as connection:
        [run] = all_runs(connection)
        plan: Plan = get_selected(connection, run)
        sides = [RunSide(connection, plan, (model,), run) for model in MODELS[:2]]
        rows = {row.of: row for row in compare(*sides).sections[0].rows if row.name == "taught"}
        values = connection.execute(
            """select fields ->> '$.subject', item_id, hint, avg(value) filter (model = $2) - avg(value) filter (model = $1)
            from pairs.scores join pairs.items using (scenario, item_id)
            where metric = 'even' and model in ($1, $2) group by all order by all""",
            MODELS[:2],
        ).fetchall()
    assert list(rows) == ["a", "b", "c"]
    for subject, row in rows.items():
        own = [(item, value) for each, item, _, value in values if each == subject]
        wanted = mean_of_cells([value for _, value in own], [item for item, _ in own], ends=(-1, 1))
        for field in ("value", "standard_error", "df", "low", "high", "p", "clusters"):
            near = getattr(wanted, field)
            assert getattr(row.difference, field) == (None if near is None else pytest.approx(near)), field


def sequence(given: list[float | None]) -> list[float | None]:
    """Return p-values of two tests, of which the second is made after the first."""
    first, second = given
    return [first, second if first is None or second is None else max(first, second)]
