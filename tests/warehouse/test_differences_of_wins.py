"""The difference of two models in a measure of comparisons is taken again without each item."""

from __future__ import annotations

import math
import random
from pathlib import Path
from statistics import fmean

import duckdb
import pyarrow as pa
import pytest

from tests.compiler.compiling import compile_files, plan_of
from tests.warehouse.test_margins import SPEC
from tripos_warehouse.measures.differences import measure_differences, model_differences
from tripos_warehouse.measures.sides import Side
from tripos_warehouse.query.connection import add_functions

ITEMS = [f"i{number:02}" for number in range(12)]


def test_the_error_of_a_difference_of_wins_is_that_of_leaving_out_items(tmp_path: Path) -> None:
    dice = random.Random(11)
    plan = plan_of(compile_files(tmp_path, {"spec.tripos": SPEC, "items.jsonl": '{"question": "?"}\n'}))
    levels = {"A>B": 1.0, "A=B": 0.5, "B>A": 0.0}
    rows = []
    for item in [*ITEMS, "one more that is not asked for"]:
        for first, second in ("ab", "ba"):
            choice = dice.choice([*levels])
            sides = {"first_model": first, "second_model": second}
            samples = {"first_sample_id": f"{item}{first}", "second_sample_id": f"{item}{second}"}
            told = {"item_id": item, "choice": choice, "value": levels[choice], "evaluator": "j", "status": "scored"}
            rows.append({**sides, **samples, **told, "scenario": "essay", "step": "duel"})

    def wins(model: str, items: list[str]) -> float:
        some = [row for row in rows if row["item_id"] in items]
        return fmean(row["value"] if row["first_model"] == model else 1 - row["value"] for row in some)

    def difference(items: list[str]) -> float:
        return wins("a", items) - wins("b", items)

    left = [difference([each for each in ITEMS if each != item]) for item in ITEMS]
    error = math.sqrt(11 / 12 * sum((each - fmean(left)) ** 2 for each in left))
    with duckdb.connect() as connection:
        add_functions(connection)
        connection.register("given", pa.Table.from_pylist(rows))
        connection.execute("create schema arena")
        connection.execute("create table kept as select *, item_id as cluster_id, null::bigint as round from given")
        connection.execute("create view arena.comparisons as select * from kept")
        won = next(each for each in plan.measures if each.name == "won")
        found = model_differences(Side(connection, plan, ("a", "b")), won, items=ITEMS)[(), "a", "b"]
        [cell] = measure_differences(*(Side(connection, plan, (model,)) for model in "ba"), won, items=ITEMS)
    assert error > 0.05
    for each in (found, cell.difference):
        assert (each.value, each.standard_error) == (pytest.approx(difference(ITEMS)), pytest.approx(error))
