"""SQL of figures: the warehouse writes it for all that the compiler accepts, and no plan has any."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import duckdb
import pytest

from tests.compiler.compiling import ROOT, compile_file, compile_text, plan_of
from tests.each import each
from tripos_compiler.language.aggregates import AGGREGATES, AggregateFunction
from tripos_compiler.plan import Measure, Plan
from tripos_warehouse.measures.expectations import expectation_measure
from tripos_warehouse.measures.figure_sql import sql_of
from tripos_warehouse.measures.query import FigureTables, Parts, Query

BENCHMARKS = ("cjeval", "edubench", "mathtutorbench", "teachbench")
EXAMPLES = [ROOT / "docs" / "examples" / f"{name}.tripos" for name in BENCHMARKS]
MEASURING = [
    path
    for construct in ("compare", "expect", "export", "measure", "metric", "subset")
    for path in sorted((ROOT / "tests" / "cases" / construct / "valid").glob("*.tripos"))
]
HEAD = """\
benchmark demo "1.0.0" { languages en }
role candidate compared
role judge panel
axis level { easy, hard }
arm hint { none, some }
scorer better(a: text, b: text) by judge { prompt "{{ a }} {{ b }}", gives choice(one, two, tie) }
scorer marks(reply: text) by judge { prompt "{{ reply }}", gives 1..10 }
scenario sums {
  context level
  arms hint
  ask answer by candidate {
    prompt "{{ level }}"
    system "Think." when hint == some
    samples 4
  }
  compare duel using better(a: first.answer.text, b: second.answer.text)
  score right = contains(answer.text, "42")
  score quality = marks(answer.text)
}
"""
WORDS = {
    "scores": "sums.quality",
    "values": "sums.quality",
    "compare": "sums.duel",
    "count": "2",
    "texts": "answer.text",
    "chances": "sums.right",
    "truths": "sums.right",
    "weights": "sums.right",
    "rate": "0.9",
}


@cache
def plan_at(path: Path) -> Plan:
    return plan_of(compile_file(path))


def figures(plan: Plan) -> Iterator[Measure]:
    yield from plan.measures
    yield from map(expectation_measure, plan.expectations)


def is_query(text: str) -> bool:
    return [each.type.name for each in duckdb.extract_statements(text)] == ["SELECT"]


def called(function: AggregateFunction) -> str:
    """Return a call of an aggregate with all that it needs."""
    scored = WORDS | ({"scores": "sums.right"} if function.truth_only else {})
    arguments = [scored[each.kind] for each in function.parameters if each.required]
    return f"{function.name}({', '.join(arguments)})"


@each("path", [*EXAMPLES, *MEASURING])
def test_whatever_the_compiler_accepts_as_a_figure_has_a_query(path: Path) -> None:
    plan = plan_at(path)
    assert all(is_query(sql_of(plan, each)) for each in figures(plan))


@each("function", AGGREGATES.values())
@each("by", ["", " by level, hint"])
def test_every_aggregate_that_the_language_has_has_a_query(function: AggregateFunction, by: str) -> None:
    across = " across judge" if function.across != "forbidden" else ""
    text = f"{HEAD}measure it = {called(function)}{across}{by}"
    if function.takes == "texts":  # of expressions, which stand inside a scenario
        text = f"{HEAD.rstrip().removesuffix('}')}measure it = {called(function)}{by}\n}}"
    plan = plan_of(compile_text(text))
    assert is_query(sql_of(plan, plan.measures[-1]))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_a_plan_has_figures_and_no_sql(path: Path) -> None:
    plan = plan_at(path)
    said = plan.to_json()
    written = {line.strip() for each in figures(plan) for line in sql_of(plan, each).splitlines()}
    assert len(written) > 10
    assert not [line for line in written if re.search(r"\b(select|from|where|group by)\b", line) and line in said]
    assert not {name for each in figures(plan) for name in each.model_dump() if "sql" in name}


def test_a_keyword_in_other_letters_changes_the_query_and_not_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    def other_case(parts: Parts, node: FigureTables) -> Query:
        return Query({}, "SELECT 1")

    before = plan_at(EXAMPLES[0])
    query = sql_of(before, before.measures[0])
    monkeypatch.setattr("tripos_warehouse.measures.figure_sql.figure_query", other_case)
    after = plan_of(compile_file(EXAMPLES[0]))
    assert sql_of(after, after.measures[0]) == "SELECT 1" != query
    assert (after.digest, after.to_json()) == (before.digest, before.to_json())
