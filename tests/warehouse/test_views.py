"""The views: one row a key, what is current, axes as columns, and no way out."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.each import each
from tests.lengths import spread
from tripos_compiler.lowering.declarations import RESERVED_AXES
from tripos_compiler.plan import Plan
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.derived import CACHE
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store
from tripos_warehouse.views import connect as views
from tripos_warehouse.views.benchmark_views import FIXED_COLUMNS
from tripos_warehouse.views.connect import connect
from tripos_warehouse.views.view_cache import NAME

Build = Callable[..., dict[str, list[dict[str, Any]]]]

STALE = ("0d" * 16, "0e" * 16)


def ask(connection: duckdb.DuckDBPyConnection, query: str) -> list[tuple[Any, ...]]:
    return connection.execute(query).fetchall()


def test_an_empty_store_has_every_table_with_its_columns(store: Store) -> None:
    connection = connect(store)
    for name, table in TABLES.items():
        if name != "run_ends":
            assert ask(connection, f"from {name}") == []
            assert set(table.schema.names) <= set(connection.sql(f"from {name}").columns)


@pytest.mark.parametrize("table", ["runs", "samples", "scores"])
def test_a_column_has_the_same_type_with_and_without_rows(store: Store, run_rows: Build, table: str) -> None:
    empty = connect(store).sql(f"from {table}").types
    store.append(run_rows("r1"))
    assert connect(store).sql(f"from {table}").types == empty


def test_a_run_without_an_end_is_unfinished(store: Store, run_rows: Build) -> None:
    rows = run_rows("r1")
    store.append({"runs": rows["runs"]})
    assert ask(connect(store), "select status, asked from runs") == [("unfinished", None)]
    store.append({"run_ends": rows["run_ends"]})
    assert ask(connect(store), "select status, asked from runs") == [("finished", 8)]


@pytest.mark.parametrize(
    ("sizes", "large"),
    spread([*product([(1, 1, 900), (1, 900, 1), (1, 900, 900), (900, 1, 1)], [0, 10**9])], 3),
)
def test_the_last_of_equals_counts_also_where_a_short_file_is_not_read_first(
    store: Store, run_rows: Build, sizes: tuple[int, ...], large: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(views, "MANY_BYTES", 0)
    monkeypatch.setattr(views, "LARGE_BYTES", large)
    monkeypatch.setattr(views, "SHORT", 1)  # a file of few rows is half a foot
    for number, items in enumerate(sizes):
        store.append(run_rows("r1", ("m1",), items=items, value=lambda *_, given=number: 1.0 + given))
    first = views._in_reading_order(store.parts("scores"))[0]
    assert first == store.parts("scores")[next(place for place, items in enumerate(sizes) if items == 900)]
    found = ask(connect(store), "select value, count(*) from scores group by all order by all")
    assert sum(count for _, count in found) == 1800
    assert dict(found)[3.0] == 2 * sizes[-1]
    scanned = json.loads(ask(connect(store), "explain (format json) from scores")[0][1])
    assert _largest_estimate(scanned) > 900


def _largest_estimate(plan: list[dict[str, Any]]) -> int:
    """Return the most rows that a part of a query is taken to have."""
    own = [int(each["extra_info"].get("Estimated Cardinality", 0)) for each in plan]
    return max([*own, *(_largest_estimate(each["children"]) for each in plan)], default=0)


@pytest.mark.parametrize("order", [("ok", "provider_error"), ("provider_error", "ok")])
def test_a_retried_unit_counts_once_and_by_its_reply(store: Store, run_rows: Build, order: tuple[str, str]) -> None:
    for minutes, status in enumerate(order):
        store.append(run_rows("r1", status=status, minutes=minutes))
    connection = connect(store)
    assert ask(connection, "select status, count(*) from samples group by all") == [("ok", 8)]
    assert ask(connection, "select status, count(*) from scores group by all") == [("scored", 16)]
    assert ask(connection, "select count(*) from items") == [(4,)]
    assert ask(connection, "select count(*) from runs") == [(1,)]


def test_axes_are_columns_in_plan_order_and_scores_carry_what_their_metric_says(store: Store, run_rows: Build) -> None:
    store.append(run_rows("r1"))
    connection = connect(store)
    for view in ("scores", "samples", "judgements", "items", "rationales"):
        assert connection.sql(f"from edubench.{view}").columns[:4] == ["scenario", "language", "subject", "level"]
        assert ask(connection, f"select distinct language, level, subject from edubench.{view} order by 3") == [
            ("zh", "primary", "maths"),
            ("zh", "primary", "history"),
        ]
    query = "select distinct metric, dimension, low, high from edubench.scores order by 1"
    assert ask(connection, query) == [
        ("instruction_following", "scenario_adaptation", 1, 10),
        ("accuracy", "factuality", 1, 10),
    ]
    query = "select count(*), count(distinct score_id), min(reason) from edubench.rationales"
    assert ask(connection, query) == [(16, 16, "accuracy: 因为")]


def test_a_reply_that_is_no_json_has_no_rationale(store: Store, run_rows: Build) -> None:
    rows = run_rows("r1")
    for number, row in enumerate(rows["judgements"]):
        row["parsed"] = (None, "oops", "[1]", "7", '{"accuracy": 3}', '{"accuracy": {"reason": "ok"}}')[number % 6]
    store.append(rows)
    query = "select reason, count(*) from edubench.rationales group by all order by all"
    assert ask(connect(store), query) == [("ok", 1), (None, 1)]


def test_stale_results_do_not_show_and_paid_ones_do(store: Store, run_rows: Build) -> None:
    store.append(run_rows("old", ("stale",), fingerprints=STALE, minutes=0))
    store.append(run_rows("first", ("m1",), minutes=1))
    store.append(run_rows("second", ("m2",), minutes=2))
    connection = connect(store)
    for view in ("scores", "samples", "judgements"):
        assert ask(connection, f"select distinct model from edubench.{view} order by 1") == [("m1",), ("m2",)]
    assert ask(connection, "select count(distinct model) from samples") == [(3,)]


def test_a_run_asked_for_shows_itself_alone(store: Store, run_rows: Build) -> None:
    store.append(run_rows("stale", ("m0",), fingerprints=STALE, minutes=0))
    store.append(run_rows("small", ("m1",), items=2, minutes=1))
    store.append(run_rows("large", ("m1", "m2"), items=4, minutes=2))
    store.append(run_rows("judged", ("m1",), items=4, judge="openai/other", minutes=3))
    small = connect(store, "small")
    assert ask(small, "select count(*) from edubench.items") == [(2,)]
    assert ask(small, "select model, item_id from edubench.samples order by 2") == [("m1", "i0"), ("m1", "i1")]
    assert ask(small, "select distinct evaluator, model from edubench.scores") == [("openai/judge", "m1")]
    assert ask(small, "select count(*), min(evaluator) from edubench.judgements") == [(2, "openai/judge")]
    assert ask(small, "select count(*) from edubench.rationales") == [(4,)]
    assert ask(connect(store, "stale"), "select distinct model from edubench.scores") == [("m0",)]
    shown = "select model, evaluator, shown_run, count(*) from edubench.scores group by all order by all"
    assert ask(connect(store), shown) == [("m1", "openai/other", "judged", 8), ("m2", "openai/judge", "large", 8)]


def test_a_run_that_is_not_there_is_an_error(store: Store) -> None:
    with pytest.raises(StoreError, match="S0301: the store has no run `r9`"):
        connect(store, "r9")


@pytest.mark.parametrize("name", ['e"; drop view main.scores; --', "select", "基准", "tripos internal"])
def test_a_strange_benchmark_name_is_only_a_name(store: Store, run_rows: Build, plan: Plan, name: str) -> None:
    benchmark = plan.benchmark.model_copy(update={"name": name})
    rows = run_rows("r1")
    rows["runs"][0] |= {"benchmark": name, "plan": plan.model_copy(update={"benchmark": benchmark}).to_json()}
    for table in ("items", "samples", "judgements", "scores"):
        for row in rows[table]:
            row["benchmark"] = name
    store.append(rows)
    connection = connect(store)
    schema = '"' + name.replace('"', '""') + '"'
    assert ask(connection, f"select count(*) from {schema}.scores") == [(16,)]
    assert ask(connection, "select count(*) from main.scores") == [(16,)]


def test_a_condition_on_an_enumeration_meets_no_other_benchmarks_values(
    store: Store, run_rows: Build, plan: Plan
) -> None:
    benchmark = plan.benchmark.model_copy(update={"name": "other"})
    other = run_rows("r2")
    other["runs"][0] |= {"benchmark": "other", "plan": plan.model_copy(update={"benchmark": benchmark}).to_json()}
    for table in ("items", "samples", "judgements", "scores"):
        for number, row in enumerate(other[table]):
            row |= {name: f"other {row[name]}" for name in row if name.endswith("_id") and row[name] != "r2"}
            row |= {"benchmark": "other", "scenario": f"s{number}"}
            if "fingerprint" in row:  # that of a step has the benchmark in it
                row["fingerprint"] = f"other {row['fingerprint']}"
    store.append(run_rows("r1"))
    store.append(other)
    connection = connect(store)
    for view in ("items", "samples", "judgements", "scores"):
        [(scenario, count)] = ask(connection, f"select scenario, count(*) from edubench.{view} group by all")
        assert ask(connection, f"select count(*) from edubench.{view} where scenario = '{scenario}'") == [(count,)]


def test_a_benchmark_is_read_by_its_name_unless_another_has_steps_of_it(
    store: Store, run_rows: Build, plan: Plan
) -> None:
    def named() -> bool:
        connect(store).close()
        return "where kept.benchmark = 'edubench'" in (store.root / CACHE / NAME).read_text("utf-8")

    store.append(run_rows("r1"))
    assert named()
    benchmark = plan.benchmark.model_copy(update={"name": "other"})
    other = run_rows("r2")["runs"][0] | {"benchmark": "other"}
    other["plan"] = plan.model_copy(update={"benchmark": benchmark}).to_json()
    store.append({"runs": [other | {"fingerprints": ["of another step"]}]})
    assert named()
    store.append({"runs": [other | {"run_id": "r3"}]})
    assert not named()


def test_no_axis_can_be_called_like_a_column() -> None:
    assert FIXED_COLUMNS <= RESERVED_AXES


def test_an_axis_of_any_name_is_a_column(store: Store, run_rows: Build, plan: Plan) -> None:
    axes = tuple(
        axis.model_copy(update={"name": name}) for axis, name in zip(plan.axes, ("难度", "it's {x}"), strict=True)
    )
    rows = run_rows("r1")
    rows["runs"][0]["plan"] = plan.model_copy(update={"axes": axes}).to_json()
    for row in rows["items"]:
        row["context"] = {"难度": "maths", "it's {x}": "primary"}
    store.append(rows)
    query = """select distinct 难度, "it's {x}" from edubench.scores"""
    assert ask(connect(store), query) == [("maths", "primary")]


def test_an_axis_called_language_is_the_column_language(store: Store, run_rows: Build, plan: Plan) -> None:
    axes = (plan.axes[0].model_copy(update={"name": "language"}), plan.axes[1])
    rows = run_rows("r1")
    rows["runs"][0]["plan"] = plan.model_copy(update={"axes": axes}).to_json()
    for row in (*rows["items"], *rows["samples"]):
        row["context"] = {"language": "en", "level": "primary"}
    store.append(rows)
    connection = connect(store)
    for view in ("scores", "samples", "judgements", "items"):
        assert connection.sql(f"from edubench.{view}").columns[:3] == ["scenario", "language", "level"]
        assert ask(connection, f"select distinct language from edubench.{view}") == [("en",)]


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"format": "tripos.plan/99"}, "S0104: the plan of run `r1`"),
        ({"benchmark": {"name": "other"}}, "S0104: the plan of run `r1` of `edubench` is that of `other`"),
    ],
)
def test_a_plan_of_an_unknown_format_or_another_benchmark_is_refused(
    store: Store, run_rows: Build, changed: dict[str, Any], told: str
) -> None:
    rows = run_rows("r1")
    plan = json.loads(rows["runs"][0]["plan"])
    changed = {**changed, "benchmark": plan["benchmark"] | changed.get("benchmark", {})}
    rows["runs"][0]["plan"] = json.dumps(plan | changed)
    store.append(rows)
    with pytest.raises(StoreError, match=told):
        connect(store)


def test_a_store_may_lie_under_any_name(tmp_path: Path, run_rows: Build) -> None:
    store = Store.open(tmp_path / "it's [a] *b*? {c} 存储", create=True)
    store.append(run_rows("r1"))
    assert ask(connect(store), "select count(*) from edubench.scores") == [(16,)]


def test_a_part_that_is_no_parquet_is_an_error_of_the_store(store: Store, run_rows: Build) -> None:
    store.append(run_rows("r1"))
    [part] = store.parts("scores")
    part.chmod(0o644)
    part.write_bytes(b"x" * part.stat().st_size)
    with pytest.raises(StoreError, match=r"S0103: .*" + part.name):
        connect(store)


def test_a_connection_is_a_snapshot_whose_cursors_have_the_views_and_the_functions(
    store: Store, run_rows: Build
) -> None:
    store.append(run_rows("r1"))
    connection = connect(store)
    store.append(run_rows("r2", ("late",)))
    assert ask(connection, "select count(*) from scores") == [(16,)]
    assert ask(connection.cursor(), "select count(*), t_quantile(0.5, 3) from edubench.scores") == [(16, 0.0)]
    quantiles = "select t_quantile(0.975, 9), t_quantile(0.975, 0.5), t_quantile(NULL, 9)"
    assert ask(connection, quantiles) == [(pytest.approx(2.262157), None, None)]


secret = "a variable of ours"

WAYS_OUT = [
    "select * from read_csv('/etc/passwd')",
    "select * from read_text('/etc/passwd')",
    "select * from read_blob('/proc/self/environ')",
    "select * from '/etc/passwd'",
    "select * from glob('/etc/*')",
    "select * from sniff_csv('/etc/passwd')",
    "select * from read_parquet('https://example.com/x.parquet')",
    "select * from read_parquet('s3://bucket/x.parquet')",
    "select * from read_text('{store}/tripos-store.json')",
    "select * from read_parquet('{store}/parts/scores/orphan.parquet')",
    "select getenv('HOME')",
    "select * from secret",
    "copy scores to '{out}/x.csv'",
    "copy (select 1) to '{store}/parts/scores/new.parquet'",
    "copy (select 1) to '{part}'",
    "export database '{out}'",
    "attach '{out}/x.db'",
    "attach '{store}/x.db'",
    "install httpfs",
    "load httpfs",
    "create persistent secret s (type http)",
    "set enable_external_access = true",
    "set allowed_directories = ['/']",
    "reset allowed_paths",
    "set lock_configuration = false",
    "set temp_directory = '/tmp'",
    "set log_query_path = '{out}/log'",
    "pragma enable_profiling",
    "explain analyze copy scores to '{out}/x.csv'",
]


@pytest.fixture
def opened(store: Store, run_rows: Build) -> duckdb.DuckDBPyConnection:
    """A connection to a store that has a file beside its own."""
    store.append(run_rows("r1"))
    [part] = store.parts("scores")
    (part.parent / "orphan.parquet").write_bytes(part.read_bytes())
    return connect(store)


@each("way", WAYS_OUT)
def test_sql_cannot_leave_the_store(store: Store, opened: duckdb.DuckDBPyConnection, tmp_path: Path, way: str) -> None:
    [part] = store.parts("scores")
    before = sorted(tmp_path.rglob("*")), part.read_bytes()
    with pytest.raises(duckdb.Error):
        opened.execute(way.format(store=store.root, out=tmp_path, part=part)).fetchall()
    assert (sorted(tmp_path.rglob("*")), part.read_bytes()) == before
    assert ask(opened, "select count(*) from edubench.scores") == [(16,)]
