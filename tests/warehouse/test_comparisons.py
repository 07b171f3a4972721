"""Measures of comparisons recover what was planted: drawn 200 times, and once through a run and a store."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scipy import stats

from tests.compiler.compiling import compile_text, plan_of
from tests.lengths import sized, spread
from tests.warehouse import planted
from tripos.runs.compilation import find_spec
from tripos.runs.job import Job, RunObserver
from tripos_compiler.plan import Plan
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.models.base import FREE, Model, Reply, Request
from tripos_runtime.program.binding import bind
from tripos_runtime.scheduling.limits import Limits
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.query.connection import add_functions
from tripos_warehouse.statistics.estimate import Estimate
from tripos_warehouse.statistics.preferences import (
    Preference,
    bradley_terry,
    flip_rate,
    position_bias,
    self_preference,
    win_rate,
)
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run

REPETITIONS, ITEMS = sized(40, 200), 30
LEAST, MOST = (int(stats.binom.ppf(p, REPETITIONS, 0.95)) for p in (0.0005, 0.9995))
"""Of 200 an interval that keeps its promise holds the truth so often, but for 1 case in 1,000."""
SPEC = """\
benchmark demo "1.0.0" {{ languages en }}
role candidate compared
role judge panel
axis draw {{ {draws} }}
axis topic {{ {topics} }}
scorer better(one: text, two: text) by judge {{
  prompt "Which?\\n{{{{ one }}}}\\n{{{{ two }}}}"
  gives choice(one, two, tie)
}}
scenario essay {{
  context {context}
  ask reply by candidate {{ prompt "Explain {{{{ {last} }}}}." }}
  compare preferred using better(first.reply.text, second.reply.text)
}}
measure won      = win_rate(preferred) {by}
measure former   = win_rate(preferred, place: first) {by}
measure latter   = win_rate(preferred, place: second) {by}
measure bias     = position_bias(preferred) by {also}evaluator
measure flips    = flip_rate(preferred) by {also}evaluator
measure strength = bradley_terry(preferred) by {also}evaluator
measure own      = self_preference(preferred) {by}
measure fond     = self_preference(preferred) by {also}evaluator
measure times    = count(preferred) {by}
"""


def spec(draws: int, topics: int) -> str:
    """Return a spec of so many draws, each of whose measures goes by draw, or of topics alone."""
    several = draws > 1
    return SPEC.format(
        draws=", ".join(f"d{n}" for n in range(max(draws, 2))),
        topics=", ".join(f"t{n}" for n in range(max(topics, 2))),
        context="draw" if several else "topic",
        last="draw" if several else "topic",
        by="by draw" if several else "",
        also="draw, " if several else "",
    )


def compared(draws: int, seed: int) -> pa.Table:
    """Return a row a comparison: in each draw every judge sees every two models on every item, in both orders."""
    random = np.random.default_rng(seed)
    rows: dict[str, list[Any]] = {name: [] for name in ("draw", "item_id", "evaluator", "first", "second", "value")}
    for draw in range(draws):
        for item in range(ITEMS):
            for judge in planted.JUDGES:
                places: dict[tuple[str, ...], tuple[float, float, float]] = {}
                for first, second in planted.ORDERED:
                    u = places.setdefault(tuple(sorted((first, second))), tuple(random.random(3)))
                    found = (f"d{draw}", f"i{item}", judge, first, second, planted.verdict(judge, first, second, u))
                    for column, value in zip(rows.values(), found, strict=True):
                        column.append(value)
    return pa.table(rows)


def view_of(table: pa.Table) -> duckdb.DuckDBPyConnection:
    """Return a database whose view of comparisons has these rows."""
    connection = duckdb.connect()
    add_functions(connection)
    connection.register("given", table)
    connection.execute("create schema demo")
    connection.execute(
        """create table demo.comparisons as select draw, 'essay' as scenario, item_id, item_id as cluster_id, evaluator,
        'preferred' as step, first as first_model, second as second_model, item_id || first || evaluator as first_sample_id,
        item_id || second || evaluator as second_sample_id, null::bigint as round, value, 'scored' as status from given"""
    )
    return connection


@pytest.fixture(scope="module")
def drawn() -> dict[str, tuple[MeasureRow, ...]]:
    """The rows of every measure over 200 draws; `by` begins with the draw."""
    plan = plan_of(compile_text(spec(REPETITIONS, 0)))
    with view_of(compared(REPETITIONS, 17)) as connection:
        found = {m.name: evaluate(connection, plan, m).rows for m in plan.measures if m.name != "strength"}
        connection.execute("delete from demo.comparisons where evaluator <> $fair", {"fair": planted.FAIR})
        return found | {m.name: evaluate(connection, plan, m).rows for m in plan.measures if m.name == "strength"}


def held(rows: Iterator[MeasureRow], truth: float) -> int:
    """Return how often the interval holds the truth."""
    return sum(row.low is not None and row.high is not None and row.low <= truth <= row.high for row in rows)


@pytest.mark.parametrize("model", spread(planted.STRENGTHS, 2))
def test_win_rates_are_covered(drawn: dict[str, tuple[MeasureRow, ...]], model: str) -> None:
    rows = (row for row in drawn["won"] if row.model == model)
    assert LEAST <= held(rows, planted.win_rate(model)) <= MOST


@pytest.mark.parametrize("judge", [planted.FAIR, planted.LEANING])
def test_position_bias_is_covered(drawn: dict[str, tuple[MeasureRow, ...]], judge: str) -> None:
    for model in planted.STRENGTHS:
        rows = (row for row in drawn["bias"] if row.model == model and row.by[1] == judge)
        assert LEAST <= held(rows, planted.position_bias(model, judge)) <= MOST


def test_flips_of_a_leaning_judge_are_covered(drawn: dict[str, tuple[MeasureRow, ...]]) -> None:
    for model in planted.STRENGTHS:
        rows = (row for row in drawn["flips"] if row.model == model and row.by[1] == planted.LEANING)
        assert LEAST <= held(rows, planted.flip_rate(model, planted.LEANING)) <= MOST


def test_strengths_are_covered(drawn: dict[str, tuple[MeasureRow, ...]]) -> None:
    for model, strength in planted.STRENGTHS.items():
        rows = (row for row in drawn["strength"] if row.model == model and row.by[1] == planted.FAIR)
        assert LEAST <= held(rows, strength) <= MOST


@pytest.mark.parametrize("measure", ["own", "fond"])
def test_self_preference_is_covered(drawn: dict[str, tuple[MeasureRow, ...]], measure: str) -> None:
    rows = (row for row in drawn[measure] if row.model == planted.FAMILY and row.by[1:] in ((), (planted.FOND,)))
    assert LEAST <= held(rows, planted.self_preference()) <= MOST


def test_who_has_no_family_among_the_judges_has_no_self_preference(drawn: dict[str, tuple[MeasureRow, ...]]) -> None:
    rest = [row for row in drawn["own"] if row.model != planted.FAMILY]
    assert {(row.value, row.reason) for row in rest} == {(None, "no judge is of a compared model's family")}
    others = [row for row in drawn["fond"] if row.by[1] != planted.FOND]
    assert {(row.value, row.reason) for row in others} == {(None, "the judge is not of the model's family")}


# --- against the functions that they stand for ---


@pytest.fixture(scope="module")
def once() -> tuple[dict[str, tuple[MeasureRow, ...]], list[Preference]]:
    """One draw, with some comparisons without a value, and the same as verdicts."""
    table = compared(1, 5)
    rows = [row for number, row in enumerate(table.to_pylist()) if number % 11]
    plan = plan_of(compile_text(spec(2, 0)))
    with view_of(pa.Table.from_pylist(rows)) as connection:
        found = {measure.name: evaluate(connection, plan, measure).rows for measure in plan.measures}
    verdicts = [
        Preference(
            row["first"],
            row["second"],
            None if row["value"] == 0.5 else row["first"] if row["value"] else row["second"],
            row["item_id"],
            row["evaluator"],
        )
        for row in rows
    ]
    return found, verdicts


def same(row: MeasureRow, found: Estimate) -> None:
    """Value, error and interval are those of the statistic."""
    mine = (row.value, row.standard_error, row.low, row.high)
    theirs = (found.value, found.standard_error, found.low, found.high)
    assert mine == pytest.approx(theirs)


def test_every_measure_is_the_statistic_of_its_name(
    once: tuple[dict[str, tuple[MeasureRow, ...]], list[Preference]],
) -> None:
    measures, verdicts = once
    for row in measures["won"]:
        same(row, win_rate(verdicts, row.model))
    for name, place in (("former", 0), ("latter", 1)):
        for row in measures[name]:
            same(row, win_rate([v for v in verdicts if (v.first, v.second)[place] == row.model], row.model))
    for row in measures["bias"]:
        same(row, position_bias([v for v in verdicts if row.model in v.models and v.judge == row.by[1]]))
    for row in measures["flips"]:
        same(row, flip_rate([v for v in verdicts if row.model in v.models and v.judge == row.by[1]]))
    for judge in planted.JUDGES:
        strengths = bradley_terry([v for v in verdicts if v.judge == judge], errors="items")
        for row in measures["strength"]:
            if row.by[1] == judge:
                same(row, strengths.by_model[row.model])
    [own] = [row for row in measures["own"] if row.model == planted.FAMILY]
    same(own, self_preference(verdicts, {planted.FOND: planted.FAMILY})[planted.FOND])


def test_a_count_is_of_comparisons_that_a_model_takes_part_in(
    once: tuple[dict[str, tuple[MeasureRow, ...]], list[Preference]],
) -> None:
    measures, verdicts = once
    assert {row.model: row.value for row in measures["times"]} == {
        model: sum(model in verdict.models for verdict in verdicts) for model in planted.STRENGTHS
    }


# --- through a run and a store ---


@dataclass
class Scripted(Model):
    """A candidate that says who it is and on what, or a judge that leans as it was planted."""

    name: str
    endpoint = "script"
    price = FREE

    async def ask(self, request: Request) -> Reply:
        """Return a verdict where two are shown."""
        said = request.messages[-1].content.splitlines()
        if said[0] != "Which?":
            return Reply(f"{self.name} {said[0]}", self.name, "stop", 10, 5, 0.0)
        (first, topic), (second, _) = (line.split(" ", 1) for line in said[1:3])
        hashed = hashlib.blake2b(repr((self.name, topic, sorted((first, second)))).encode(), digest_size=24).digest()
        steady, here, there = (int.from_bytes(hashed[at : at + 8], "big") / 2**64 for at in (0, 8, 16))
        value = {1.0: "one", 0.0: "two", 0.5: "tie"}[planted.verdict(self.name, first, second, (steady, here, there))]
        return Reply(json.dumps({"value": value}), self.name, "stop", 10, 5, 0.0)

    async def close(self) -> None:
        """Nothing to close."""


def run_once(folder: Path, models: tuple[str, ...], run_id: str) -> tuple[Job, Plan]:
    """Return a run into the store in `folder`."""
    path = folder / "s.tripos"
    path.write_text(spec(1, 120), "utf-8")
    found = find_spec(str(path))
    plan = found.compile().plan
    assert plan is not None
    binding = bind(plan, models, {"judge": planted.JUDGES})
    source = CaseSource(plan, found.folders, (str(path),))
    store = Store.open(folder / "results", create=True)
    job = Job(plan, binding, Selection(), source, {}, store, run_id, Limits(), None)

    ending = asyncio.run(job.run({name: Scripted(name) for name in binding.all_models}, RunObserver()))
    assert ending.status == "finished", ending
    return job, plan


def test_a_run_recovers_what_was_planted(tmp_path: Path) -> None:
    job, plan = run_once(tmp_path, tuple(planted.STRENGTHS), "r1")
    assert job.tally.asked.total() == 120 * (3 + 6 * 3)
    connection, _ = connect_run(job.store, "r1")
    with connection:
        found = {
            measure.name: {(row.model, *row.by): row for row in evaluate(connection, plan, measure).rows}
            for measure in plan.measures
        }
    checks = [(found["own"][planted.FAMILY,], planted.self_preference())]
    for model, strength in planted.STRENGTHS.items():
        checks += [
            (found["won"][model,], planted.win_rate(model)),
            (found["strength"][model, planted.FAIR], strength),
            (found["bias"][model, planted.FAIR], 0.0),
            (found["bias"][model, planted.LEANING], planted.position_bias(model, planted.LEANING)),
            (found["flips"][model, planted.LEANING], planted.flip_rate(model, planted.LEANING)),
        ]
    missed = [(row, truth) for row, truth in checks if not held(iter([row]), truth)]
    assert len(missed) <= 1, missed  # of 16 intervals of 95 % one may miss
    assert found["bias"]["x/weak", planted.LEANING].low > 0.1  # type: ignore[operator]


def test_a_run_with_a_further_model_asks_for_new_pairs_and_shows_all(tmp_path: Path) -> None:
    two, three = tuple(planted.STRENGTHS)[:2], tuple(planted.STRENGTHS)
    first, _ = run_once(tmp_path, two, "r1")
    again, _ = run_once(tmp_path, two, "r2")
    more, _ = run_once(tmp_path, three, "r3")
    assert (first.tally.asked.total(), again.tally.asked.total()) == (120 * (2 + 2 * 3), 0)
    assert more.tally.asked.total() == 120 * (1 + 4 * 3)
    for run, models in (("r1", two), ("r3", three)):
        connection, _ = connect_run(more.store, run)
        with connection:
            counted = connection.sql("select distinct first_model from demo.comparisons order by 1").fetchall()
            [[rows]] = connection.sql("select count(*) from demo.comparisons").fetchall()
        assert [name for (name,) in counted] == sorted(models)
        assert rows == 120 * 3 * len(models) * (len(models) - 1)
