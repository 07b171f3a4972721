"""No query of the pages mixes metrics, which have scales of their own, or graders, who differ in severity.

A row of an answer that mixes two of them moves with either. So every query is asked over four stores in which the scores
of a part are a little higher: those of one metric, of all others, of one judge, of a person.
"""

from __future__ import annotations

import csv
import re
import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.docs.test_docs import PAGES, Block, blocks, queries, run_into
from tests.each import each
from tripos_warehouse.query.connection import add_functions
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect, snippet

METRIC, JUDGE, PERSON = "IFTC", "mock/careful:a", "human/anna"
PARTS = {
    "one metric": f"kept.metric = '{METRIC}'",
    "all other metrics": f"kept.metric <> '{METRIC}'",
    "one judge": f"kept.evaluator = '{JUDGE}'",
    "people": f"kept.evaluator = '{PERSON}'",
}
STEP = 0.001
ABOUT_GRADERS = re.compile(
    r"agreement\(|as agreement|over \(partition by sample_id, metric\)|as apart|from \w+\.comparisons as a join"
)
"""A query that compares graders has figures of several: what they are apart."""
AVERAGED = re.compile(r"\b(avg|mean|median|sum|corr|quantile_cont|stddev_samp)\([^)]*\bvalue\b")
SHELL = re.compile(r'tripos sql "((?:[^"\\]|\\.)*)"', re.DOTALL)
PYTHON = re.compile(r'\.sql\(\s*"((?:[^"\\]|\\.)*)"', re.DOTALL)
JOINED = re.compile(r'"\s*\n\s*"')
Row = tuple[Any, ...]


@pytest.fixture(scope="session")
def moved(store_of_several: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, duckdb.DuckDBPyConnection]:
    """The store with the grades of a person, as it is (``), and with the scores of a part that are higher."""
    root = tmp_path_factory.mktemp("graded") / "results"
    shutil.copytree(store_of_several, root)
    grades = root.parent / "grades.csv"
    with connect(Store.open(root, create=False)) as connection, grades.open("w", encoding="utf-8", newline="") as file:
        found = connection.execute(
            """pivot (select sample_id, metric, value from edubench_shipped.scores)
            on metric using min(value) group by sample_id"""
        )
        writer = csv.writer(file)
        writer.writerow([column[0] for column in found.description or ()])
        writer.writerows(found.fetchall())
        [[run]] = connection.execute("select run_id from main.runs where benchmark = 'edubench_shipped'").fetchall()
    run_into(root, f"import scores {grades} --run {run} --evaluator {PERSON} --store {{store}}")
    statements = snippet(Store.open(root, create=False))
    made = {}
    for name, condition in {"": "false", **PARTS}.items():
        database = duckdb.connect()
        add_functions(database)
        for statement in statements:
            database.execute(_higher(statement, condition))
        made[name] = database
    return made


def _higher(statement: str, condition: str) -> str:
    """Return a statement; that of the table of scores makes one of higher scores where the condition holds. Columns are
    named with their table, since the parameter of a macro would hide them."""
    head = "create or replace view main.scores as "
    if not statement.startswith(head):
        return statement
    return f"""{head} select kept.* replace (kept.value + if(coalesce({condition}, false), {STEP}, 0) as value)
        from ({statement.removeprefix(head)}) as kept"""


def _rows(database: duckdb.DuckDBPyConnection, query: str) -> dict[Row, Row]:
    """Return the rows of an answer by their texts and counts: what else they have are figures. What is there several
    times is no aggregate and mixes nothing."""
    found = [
        (tuple(each for each in row if _is_label(each)), tuple(each for each in row if not _is_label(each)))
        for row in database.execute(query).fetchall()
    ]
    often = Counter(key for key, _ in found)
    return {key: figures for key, figures in found if often[key] == 1}


def _is_label(value: object) -> bool:
    return value is None or isinstance(value, str | int)


def _differ(one: Sequence[Any], other: Sequence[Any]) -> bool:
    """Return true if figures differ by more than the order of a sum does, and by less than another score would."""
    return any(
        _differ(a, b) if isinstance(a, list | tuple) else 1e-8 < abs(a - b) < 10 * STEP
        for a, b in zip(one, other, strict=True)
        if isinstance(a, float | list | tuple) and b is not None
    )


def mixed(moved: Mapping[str, duckdb.DuckDBPyConnection], query: str, parts: Sequence[str]) -> list[Row]:
    """Return the rows of a query's answer that move with each of the parts."""
    before = _rows(moved[""], query)
    changed = []
    for part in parts:
        after = _rows(moved[part], query)
        changed.append({key for key, figures in before.items() if key in after and _differ(after[key], figures)})
    return sorted(set.intersection(*changed), key=str)


@each("block", queries)
def test_no_row_of_an_answer_mixes_metrics_or_graders(
    block: Block, moved: Mapping[str, duckdb.DuckDBPyConnection]
) -> None:
    assert mixed(moved, block.text, ("one metric", "all other metrics")) == [], f"{block.place} mixes metrics"
    if not ABOUT_GRADERS.search(block.text):
        assert mixed(moved, block.text, ("one judge", "people")) == [], f"{block.place} mixes graders"


@pytest.mark.parametrize(
    "query, parts",
    [
        ("select model, avg(value) from edubench_shipped.scores group by all", ("one metric", "all other metrics")),
        ("select model, metric, avg(value) from edubench_shipped.scores group by all", ("one judge", "people")),
        ("select avg(value) from edubench_shipped.scores where metric = 'IFTC'", ("one judge", "people")),
    ],
)
def test_a_query_that_mixes_is_found(
    moved: Mapping[str, duckdb.DuckDBPyConnection], query: str, parts: Sequence[str]
) -> None:
    """This file would say nothing if its stores did not move."""
    assert mixed(moved, query, parts)


def others() -> list[tuple[str, str]]:
    """Return the queries in commands and in Python that average values of scores, with the page."""
    return [
        (block.place, " ".join(query.replace("\\\n", " ").split()))
        for page in PAGES
        for block in blocks(page)
        if block.language in ("console", "python", "")
        for query in (*SHELL.findall(block.text), *PYTHON.findall(JOINED.sub("", block.text)))
        if ".scores" in query and AVERAGED.search(query)
    ]


def test_queries_in_commands_and_in_python_name_the_metric_and_the_grader_too() -> None:
    """Their stores are those of their pages, so their words are looked at."""
    assert others()
    for place, query in others():
        assert "metric" in query and ("evaluator" in query or "metric = '" in query), f"{place}: {query}"
