"""Errors over what was drawn: figures of items in clusters, against numpy and against items that are whole clusters."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from tests.conftest import Command
from tests.lengths import sized
from tests.unit_errors import leaf
from tests.warehouse.test_measures import plan_with
from tripos_compiler.plan import Plan
from tripos_warehouse.measures.evaluation import NO_ERROR, _reason, evaluate
from tripos_warehouse.measures.measure_rows import MeasureRow
from tripos_warehouse.query.connection import add_functions

FIGURES = (
    *("mean(right)", "mean(long)", "share(right)", "sum(long)", "count(right)", "stdev(long)", "median(long)"),
    *("mean(right) by hint", "mean(long) by hint", "mean(rubric)", "mean(rubric) by metric"),
    *("mean(mean(long) by hint)", "mean(long) / stdev(long)", "mean(right, missing: zero)", "max(mean(long) by hint)"),
    *("sqrt(mean(long))", "mean(long) - median(long)", "quadratic_kappa(rubric) across judge by metric"),
    *("krippendorff_alpha(rubric, level: interval) across judge by metric", "min(long)"),
)
"""Figures that ask nothing of which item a score is of, but for their error."""


@dataclass(frozen=True)
class Row:
    """A score of an item, in an arm."""

    item: str
    cluster: str
    hint: str
    metric: str
    evaluator: str | None
    value: float | None
    model: str = "m"
    sample: int = 0


@cache
def plan_of_figures() -> Plan:
    return plan_with(*(f"measure f{place} = {figure}" for place, figure in enumerate(FIGURES)))


def drawn(seed: int, models: Sequence[str] = ("m",)) -> list[Row]:
    """Return scores of items in clusters of several sizes; items of a cluster are alike."""
    random = np.random.default_rng(seed)
    rows = []
    for cluster in range(int(random.integers(1, 10))):
        level = random.normal(20, 5)
        size = 1 if random.random() < 0.3 else int(random.integers(2, 6))
        for item in range(size):
            own = level + random.normal(0, 2)
            name, of = f"i{cluster}.{item}", f"c{cluster}"
            for model in models:
                for hint in ("none", "some") if random.random() < 0.8 else ("none",):
                    for sample in range(int(random.integers(1, 3))):
                        long = None if random.random() < 0.1 else round(random.normal(own, 1), 3)
                        right = None if random.random() < 0.1 else float(random.random() < (own - 10) / 20)
                        place = (model, sample)
                        rows.append(Row(name, of, hint, "right", None, right, *place))
                        rows.append(Row(name, of, hint, "long", None, long, *place))
                        for metric in ("CLAR", "FACT"):
                            for judge in ("a", "b"):
                                grade = float(np.clip(round(own / 8 + random.normal(0, 0.7)), 1, 5))
                                rows.append(Row(name, of, hint, metric, judge, grade, *place))
    return rows


def kept(rows: Sequence[Row]) -> duckdb.DuckDBPyConnection:
    """Return a connection with scores in the order in which they are given."""
    connection = duckdb.connect()
    add_functions(connection)
    connection.execute("create schema demo")
    columns = {
        "item_id": [each.item for each in rows],
        "cluster_id": [each.cluster for each in rows],
        "sample_id": [f"{each.model} {each.item} {each.hint} {each.sample}" for each in rows],
        "hint": [each.hint for each in rows],
        "value": pa.array([each.value for each in rows], pa.float64()),
        "model": [each.model for each in rows],
        "metric": [each.metric for each in rows],
        "scorer": ["rubric" if each.evaluator else each.metric for each in rows],
        "evaluator": pa.array([each.evaluator for each in rows], pa.string()),
        "status": ["parse_failure" if each.value is None else "scored" for each in rows],
    }
    connection.register("given", pa.table(columns))
    connection.execute(
        "create table demo.scores as select *, 'sums' as scenario, null::bigint as round, null::varchar as choice,"
        " null::varchar as dimension, null::varchar as element_place from given"
    )
    return connection


def figures(rows: Sequence[Row]) -> Iterator[tuple[str, MeasureRow]]:
    connection, plan = kept(rows), plan_of_figures()
    for figure, measure in zip(FIGURES, plan.measures, strict=True):
        for row in evaluate(connection, plan, measure).rows:
            yield figure, row


def numbers(row: MeasureRow) -> tuple[float | None, ...]:
    return row.value, row.standard_error, row.low, row.high, row.items, row.n, row.total


def alike(some: Sequence[float | None], others: Sequence[float | None]) -> bool:
    """Return true if numbers are those of others, but for rounding, and the same ones are missing."""
    pairs = list(zip(some, others, strict=True))
    return all(
        one is other if one is None or other is None else math.isclose(one, other, rel_tol=1e-8, abs_tol=1e-9)
        for one, other in pairs
    )


@settings(max_examples=sized(2, 100), deadline=None)
@given(st.integers(0, 10**6))
def test_a_cluster_is_one_item_to_every_figure_that_does_not_ask_which(seed: int) -> None:
    rows = drawn(seed)
    replies = dict[tuple[str, int], int]()
    # A reply keeps its own name, by which raters are paired.
    whole = [
        Row(
            r.cluster,
            r.cluster,
            r.hint,
            r.metric,
            r.evaluator,
            r.value,
            r.model,
            replies.setdefault((r.item, r.sample), len(replies)),
        )
        for r in rows
    ]
    apart = [Row(r.item, r.item, r.hint, r.metric, r.evaluator, r.value, r.model, r.sample) for r in rows]
    for (figure, one), (_, other), (_, alone) in zip(figures(rows), figures(whole), figures(apart), strict=True):
        assert alike(numbers(one), numbers(other)), (figure, seed)
        assert alike((one.value,), (alone.value,)), (figure, seed)  # no value changes by it
        assert (one.n, one.total) == (alone.n, alone.total)


def clustered_error(rows: Sequence[Row]) -> tuple[float, float, float, int]:
    """Return the mean of scores, its error and degrees of freedom by cluster (Bell and McCaffrey 2002), and the number
    of clusters."""
    there = [(row.cluster, row.value, 1.0) for row in rows if row.value is not None]
    many = len({name for name, _, _ in there})
    if many < 2:
        return float(np.mean([value for _, value, _ in there])), math.nan, math.nan, many
    found = leaf(there)
    return found.value, math.sqrt(float((found.influences**2).sum())), found.df, many


@settings(max_examples=sized(8, 400), deadline=None)
@given(st.integers(0, 10**6))
def test_the_error_of_a_mean_is_the_cluster_robust_one(seed: int) -> None:
    rows = drawn(seed)
    connection, plan = kept(rows), plan_with("measure it = mean(long)")
    [row] = evaluate(connection, plan, plan.measures[0]).rows
    value, error, df, many = clustered_error([row for row in rows if row.metric == "long"])
    assert row.value == pytest.approx(value)
    assert row.items == many
    if many > 1 and error > 1e-9:
        assert row.standard_error == pytest.approx(error)
        half = stats.t.ppf(0.975, df) * error
        assert row.low == pytest.approx(max(0.0, value - half))
        assert row.high == pytest.approx(value + half)
    else:
        assert row.low is None
        assert row.reason is not None


@settings(max_examples=sized(1, 60), deadline=None)
@given(st.integers(0, 10**6))
def test_figures_do_not_tell_in_which_order_rows_lie(seed: int) -> None:
    rows = drawn(seed, ("m", "other"))
    shuffled = list(rows)
    np.random.default_rng(seed + 1).shuffle(shuffled)  # type: ignore[arg-type]
    for (figure, one), (_, other) in zip(figures(rows), figures(shuffled), strict=True):
        assert one == other, (figure, seed)


def test_intervals_of_clusters_hold_the_truth() -> None:
    """Ten to thirty passages of ten questions, half of whose variance is the passage's."""
    random = np.random.default_rng(5)
    plan = plan_with("measure it = mean(long)")
    held = naive = 0
    many = sized(20, 400)
    for _ in range(many):
        rows = []
        for cluster in range(20):
            level = random.normal(20, 2)
            for item in range(10):
                value = level + random.normal(0, 2)
                rows.append(Row(f"i{cluster}.{item}", f"c{cluster}", "none", "long", None, float(value)))
        [row] = evaluate(kept(rows), plan, plan.measures[0]).rows
        assert row.low is not None and row.high is not None
        held += row.low <= 20 <= row.high
        alone = [Row(r.item, r.item, r.hint, r.metric, None, r.value) for r in rows]
        [row] = evaluate(kept(alone), plan, plan.measures[0]).rows
        assert row.low is not None and row.high is not None
        naive += row.low <= 20 <= row.high
    assert stats.binom.ppf(0.0005, many, 0.95) <= held <= stats.binom.ppf(0.9995, many, 0.95)
    assert naive < 0.75 * many  # without clusters they would not


def test_a_reason_is_never_guessed() -> None:
    """A figure of several items, an error that is unknown and no reason of its rows has not one item in a cell."""
    assert _reason(1.0, None, 8, {"is known": False}) == NO_ERROR
    assert _reason(1.0, None, 1, {"is known": False}) == "one item says nothing about the error"


QUESTIONS = [{"id": f"q{n}", "question": f"Question {n}?", "answer": "B" if n % 3 == 1 else "A"} for n in range(1, 11)]
"""Seven of which the answer is A, and three."""
QUIZ = """\
  over item as q
  ask reply by candidate { prompt "{{ style }}: {{ q.question }} A or B?", returns choice(A, B) }
  score right = reply == q.answer
  measure accuracy = mean(right)
  measure spread   = stdev(right)
}
"""
FIELDS = "id text, question text, answer choice(A, B) secret"
ARMS = f"""\
benchmark quiz "1.0.0" {{ languages en }}
role candidate compared
arm style {{ s1, s2, s3 }}
dataset item from "q.jsonl" {{ {FIELDS} }}
scenario quiz {{
  arms style
{QUIZ}"""
CROSSED = f"""\
benchmark quiz "1.0.0" {{ languages en }}
role candidate compared
axis style {{ s1, s2, s3 }}
dataset asked from "q.jsonl" {{ {FIELDS} KEY }}
dataset item from asked {{ context style }}
scenario quiz {{
  context style
{QUIZ}"""
FORMS = {"arms": ARMS, "row": CROSSED.replace("KEY", ""), "key": CROSSED.replace("KEY", ", key id")}


def shown(tripos: Command, folder: Path, spec: str) -> dict[str, Any]:
    """Return the figures of a run, and what is said of its clusters."""
    folder.mkdir()
    os.chdir(folder)
    Path("quiz.tripos").write_text(spec, "utf-8")
    Path("q.jsonl").write_text("\n".join(map(json.dumps, QUESTIONS)), "utf-8")
    checked = tripos("check", "quiz.tripos")
    assert tripos("run", "quiz.tripos", "--model", "baseline/constant:A,baseline/constant:B").code == 0
    report, board = (json.loads(tripos(*verb, "--json").out) for verb in (("report",), ("leaderboard", "quiz")))
    compared = tripos("compare").out
    means = tripos("sql", "select model, mean, standard_error, items, scores from quiz.means()").out
    return {
        "figures": [row for table in report["measures"] for row in table["rows"]],
        "boards": [[{k: v for k, v in m.items() if k != "runs"} for m in b["models"]] for b in board["boards"]],
        "differences": [line for line in compared.splitlines() if "quiz." in line],
        "means": means,
        "said": [line.partition(": ")[2] for line in (checked.out + checked.err).splitlines() if "cluster" in line],
        "clusters": report.get("clusters"),
        "noted": [remark["text"] for remark in report["remarks"] if remark["kind"] == "clusters"],
        "compared": [line for line in compared.splitlines() if "cluster" in line],
    }


def test_ten_questions_in_three_styles_are_ten_by_an_arm_by_an_axis_and_by_their_key(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    found = {name: shown(tripos, tmp_path / name, spec) for name, spec in FORMS.items()}
    for name in ("row", "key"):
        for part in ("figures", "boards", "differences", "means"):
            assert found[name][part] == found["arms"][part], (name, part)
    assert {row["items"] for row in found["key"]["figures"]} == {10}
    for name, by in (("row", "the row of `asked`"), ("key", "`id`")):
        told = f"intervals cluster by {by}: 10 clusters of 30 items"
        assert found[name]["said"] == found[name]["noted"] == [told]
        assert found[name]["compared"] == [told]
        [clusters] = found[name]["clusters"]
        assert (clusters["clusters"], clusters["items"], clusters["scenarios"]) == (10, 30, ["quiz"])
    assert found["arms"]["clusters"] is None and not found["arms"]["noted"]


def test_one_cluster_has_no_interval_and_says_why(
    tmp_path: Path, tripos: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    one = CROSSED.replace("KEY", ', key choose(answer == "A" or answer == "B", "all", "none")')
    found = shown(tripos, tmp_path / "one", one)
    assert {row["low"] for row in found["figures"]} == {None}
    assert {row["reason"] for row in found["figures"]} == {"only one cluster: the spread between clusters is unknown"}
    assert found["compared"][-1] == "intervals cluster by the key of `asked`: 1 cluster of 30 items"
