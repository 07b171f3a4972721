"""Answers: queries that only read, files by extension, tables that line up."""

from __future__ import annotations

import csv
import datetime
import decimal
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rich.cells import cell_len

from tests.each import each
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query.results import query_rows, run_query, write_answer
from tripos_warehouse.store.store import Store
from tripos_warehouse.tables.text import render_table
from tripos_warehouse.views.connect import connect

Build = Callable[..., dict[str, list[dict[str, Any]]]]

ANSWER = pa.table(
    {
        "科目": ['数学, "代数"', None, "a\nb"],
        "n": [1, 2, None],
        "value": [7.25, None, 1e-9],
        "good": [True, False, None],
        "models": [["a", "b"], [], None],
        "context": pa.array([[("k", "v")], [], None], pa.map_(pa.string(), pa.string())),
        "sum": pa.array([decimal.Decimal(12), None, decimal.Decimal(-3)], pa.decimal128(38, 0)),
        "at": pa.array([datetime.datetime(2026, 3, 1, 8, 0), None, None], pa.timestamp("us")),
    }
)


@pytest.fixture
def opened(store: Store, run_rows: Build) -> duckdb.DuckDBPyConnection:
    """A connection to a store with a run."""
    store.append(run_rows("r1"))
    return connect(store)


def test_a_query_gives_an_arrow_table(opened: duckdb.DuckDBPyConnection) -> None:
    table = run_query(opened, "select model, count(*) as n from edubench.scores group by all order by model")
    assert table.to_pylist() == [{"model": "openai/gpt", "n": 8}, {"model": "qwen/大模型", "n": 8}]
    assert run_query(opened, " -- nothing ").num_columns == 0


@each(
    "query",
    [
        "from scores",
        "-- why\nselect 1; select 2;",
        "describe scores",
        "summarize scores",
        "show all tables",
        "explain select 1",
        "explain analyze select 1",
        "/* c */ explain (analyze, format json) select 1",
        "pivot scores on metric using avg(value) group by model",
        "/* c */ -- d\n select * from (pivot scores on metric using avg(value) group by model)",
        "with one as (select 1) from one",
    ],
)
def test_what_reads_is_allowed(opened: duckdb.DuckDBPyConnection, query: str) -> None:
    assert run_query(opened, query).num_rows > 0


@pytest.mark.parametrize(
    ("query", "message", "most"),
    [
        ("selec 1", 'Parser Error: syntax error at or near "selec"', None),
        ("select cast('x' as int)", "Could not convert string 'x' to INT32", None),
        ("select cast(repeat('long ', 2000) as int)", "Conversion Error: Could not convert string 'long long", 210),
    ],
)
def test_a_refused_query_has_its_message_on_one_line_and_not_a_whole_object_in_it(
    opened: duckdb.DuckDBPyConnection, query: str, message: str, most: int | None
) -> None:
    with pytest.raises(StoreError) as caught:
        run_query(opened, query)
    assert caught.value.code == "S0201"
    assert message in caught.value.message
    assert "\n" not in caught.value.message
    assert most is None or (len(caught.value.message) < most and caught.value.message.endswith(" …"))


def test_a_ranking_is_no_table_of_an_empty_store_either(store: Store) -> None:
    with pytest.raises(StoreError) as caught:
        run_query(connect(store), "from leaderboard")
    assert (caught.value.code, caught.value.hint) == ("S0204", "`tripos leaderboard` ranks models")


@each(
    "query, hint",
    [
        ("select valu from edubench.scores", "did you mean `value`?"),
        ("select s.valu from edubench.scores as s", "did you mean `value`?"),
        ("from edubench.scors", "did you mean `edubench.scores` or `scores`?"),
        ("from worst()", "it is `edubench.worst()`"),
        ("from leaderboard()", "`tripos leaderboard` ranks models; plain means are in `edubench.means()`"),
        ("from edubench.leaderboard()", "`tripos leaderboard` ranks models; plain means are in `edubench.means()`"),
        ("from edubench.measures", "it has the rows of all benchmarks, and no benchmark before its name: `measures`"),
        ("from edubench.worts()", "did you mean `edubench.worst()`?"),
        ("from metrics", "it is `edubench.metrics`"),
        ("select reply from edubench.scores", "it is a column of `drafts`, `edubench.judgements`, `edubench.samples`"),
    ],
)
def test_a_name_that_is_not_there_has_the_one_that_is_meant(
    opened: duckdb.DuckDBPyConnection, query: str, hint: str
) -> None:
    with pytest.raises(StoreError) as caught:
        run_query(opened, query)
    assert (caught.value.code, caught.value.hint) == ("S0204", hint)
    assert "Candidate" not in caught.value.message


def test_enumerations_leave_as_texts(opened: duckdb.DuckDBPyConnection, tmp_path: Path) -> None:
    table = run_query(opened, "select distinct scenario, metric, subject from edubench.scores order by all")
    assert set(map(str, table.schema.types)) == {"string"}
    write_answer(table, tmp_path / "a.parquet")
    assert set(map(str, pq.read_schema(tmp_path / "a.parquet").types)) == {"string"}
    write_answer(table, tmp_path / "a.json")
    first = {"scenario": "QA", "metric": "instruction_following", "subject": "maths"}
    assert json.loads((tmp_path / "a.json").read_text())[0] == first


def test_an_answer_is_written_as_its_extension_says(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"S0202: cannot write `\.xlsx` files"):
        write_answer(ANSWER, tmp_path / "a.xlsx")
    assert list(tmp_path.iterdir()) == []
    write_answer(ANSWER, tmp_path / "a.PARQUET")
    assert pq.read_table(tmp_path / "a.PARQUET").equals(ANSWER)
    write_answer(ANSWER, tmp_path / "a.csv")
    rows = list(csv.reader((tmp_path / "a.csv").open(encoding="utf-8", newline="")))
    assert rows[0] == ANSWER.column_names
    assert rows[1] == ['数学, "代数"', "1", "7.25", "true", '["a","b"]', '[["k","v"]]', "12", "2026-03-01 08:00:00"]
    assert rows[3][:4] == ["a\nb", "", "1e-09", ""]


def test_json_is_one_array_and_jsonl_a_row_a_line(tmp_path: Path) -> None:
    write_answer(ANSWER, str(tmp_path / "a.json"))
    write_answer(ANSWER, tmp_path / "a.jsonl")
    rows = json.loads((tmp_path / "a.json").read_text(encoding="utf-8"))
    assert rows == [json.loads(line) for line in (tmp_path / "a.jsonl").read_text(encoding="utf-8").splitlines()]
    assert rows[0] == {
        "科目": '数学, "代数"',
        "n": 1,
        "value": 7.25,
        "good": True,
        "models": ["a", "b"],
        "context": {"k": "v"},
        "sum": 12,
        "at": "2026-03-01T08:00:00",
    }
    write_answer(ANSWER.slice(0, 0), tmp_path / "a.json")
    assert json.loads((tmp_path / "a.json").read_text()) == []


def test_an_answer_that_cannot_be_written_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "a.csv"
    target.write_text("old")

    def refuse(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(StoreError, match=r"S0102: .*No space left"):
        write_answer(ANSWER, target)
    assert [path.read_text() for path in tmp_path.iterdir()] == ["old"]
    with pytest.raises(StoreError, match=r"S0102: .*No such file"):
        write_answer(ANSWER, tmp_path / "no" / "a.csv")


def test_columns_line_up_with_chinese() -> None:
    text = render_table(pa.table({"科目": ["数学", "abc", None], "n": [1, 20, None], "说明": ["好", "x", "很好"]}), 80)
    assert text == ("科目   n  说明\n────  ──  ────\n数学   1  好\nabc   20  x\n—      —  很好\n\n3 rows")


@pytest.mark.parametrize("width", [20, 37, 80, 200])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    table = pa.table({f"列{number}": ["很长的一段文字" * number, "short"] for number in range(1, 12)})
    lines = render_table(table, width).splitlines()
    assert max(cell_len(line) for line in lines) <= width


def test_what_has_no_room_is_cut_counted_and_named() -> None:
    cells = {"reply": ["很长的一段文字" * 20], "n": [1], "other": ["x" * 50], "last": ["y" * 50]}
    text = render_table(pa.table(cells), 30)
    assert "…" in text
    assert text.splitlines()[-1] == "no room for last"
    lines = render_table(pa.table({"n": range(1234)}), 80, max_rows=2).splitlines()
    assert lines[-1] == "1,234 rows, the first 2 shown; `limit`, or `-o FILE` for all of them"
    assert len(lines) == 6
    assert render_table(pa.table({}), 80) == "\n0 rows"


def test_control_characters_do_not_reach_the_terminal() -> None:
    text = render_table(pa.table({"reply": ["a\x1b[31mred\x07\nb\u202e"]}), 80)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "a [31mred  b" in text


def test_rows_are_those_of_the_table_without_arrow() -> None:
    query = """select sum(n) as sum, sum(n)::uhugeint as unsigned, count(*) as n, avg(n) as mean, 'nan'::double as none,
      'a' as text, 'x'::enum('x', 'y') as one, [1, null] as list, {'a': 1} as record, true as good, 1.50 as exact,
      null::hugeint as missing, 7::hugeint as huge from range(3) r(n)"""
    columns, rows = query_rows(duckdb.connect(), query)
    table = run_query(duckdb.connect(), query)
    assert columns == table.column_names
    assert repr(rows) == repr(table.to_pylist())
    assert query_rows(duckdb.connect(), "select 1 as a where false") == (["a"], [])
    with pytest.raises(StoreError, match="S0204"):
        query_rows(duckdb.connect(), "from nowhere")
