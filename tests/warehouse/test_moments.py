"""Means of a large store come from sums that are kept: they are those of the scores, and never out of date."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings, strategies as st

from tests.lengths import sized
from tripos_warehouse.maintenance.compaction import compact
from tripos_warehouse.store.store import Store
from tripos_warehouse.views import connect, view_cache
from tripos_warehouse.views.dimensions import Enumerations
from tripos_warehouse.views.macros import MOMENT_COLUMNS, benchmark_macros

Build = Callable[..., dict[str, list[dict[str, Any]]]]
MEANS = "from edubench.means()"
COLUMNS = "scenario, metric, dimension, evaluator, scorer, model, low, high, item_id, cluster_id, language, value"
ASKED = (
    *("", *(f"per := '{name}'" for name in (*MOMENT_COLUMNS, "language"))),
    *(
        "metric := 'm1'",
        "scenario := 's1'",
        "evaluator := 'e1'",
        "per := 'scenario', metric := 'm2', evaluator := 'e1'",
    ),
)


def rows_of(seed: int) -> list[tuple[Any, ...]]:
    """Draw scores of items that lie in several scenarios, have several scorers, several scores or none with a value."""
    chance = random.Random(seed)
    models = ("one", "two", *(("baseline/blind",) if seed % 2 else ()))
    return [
        (
            *(f"s{chance.randint(1, 2)}", metric := f"m{chance.randint(1, 3)}", None if metric == "m3" else "d"),
            *(chance.choice(["e1", "e2", None]), chance.choice(["r1", "r1", "r2", None]), chance.choice(models)),
            *((None, None) if metric == "m2" else (1, 5)),
            *(item := f"i{chance.randint(1, 6)}", "c1" if seed % 3 and item < "i4" else item),
            *(chance.choice("xy"), chance.choice([None, 1.0, 2.5, 4.0])),
        )
        for _ in range(chance.randint(0, 80))
    ]


@settings(max_examples=sized(10, 100), deadline=None)
@given(st.integers(0, 10**6))
def test_means_from_sums_are_those_of_the_scores(seed: int) -> None:
    types = Enumerations((), {"metric": "q.metric"})
    found = []
    with duckdb.connect() as database:
        database.execute("create schema q; create type q.metric as enum ('m3', 'm1', 'm2')")
        database.execute("create table main.runs as select ['one', 'baseline/blind'] as models")
        database.execute(
            "create table q.scores (scenario text, metric q.metric, dimension text, evaluator text, scorer text,"
            " model text, low bigint, high bigint, item_id text, cluster_id text, language text, value double,"
            " status text generated always as (case when value is null then 'refused' else 'scored' end))"
        )
        if given := rows_of(seed):
            database.executemany(f"insert into q.scores ({COLUMNS}) values ({', '.join('?' * 12)})", given)
        for moments in (None, "main.moments"):
            made = benchmark_macros("q", ["language"], types, False, moments=moments)
            for statement in made[: 1 if moments is None else 2]:
                database.execute(statement)
            found.append({asked: database.execute(f"from q.means({asked})").fetchall() for asked in ASKED})
    for asked, wanted in found[0].items():
        assert len(found[1][asked]) == len(wanted), asked
        for row, other in zip(found[1][asked], wanted, strict=True):
            error, other_error = row[5] or 0, other[5] or 0  # the root of a difference that rounding leaves
            assert error == pytest.approx(other_error, abs=1e-7)
            assert row[4] == pytest.approx(other[4], abs=1e-12)
            assert (row[:4], row[6:]) == (other[:4], other[6:])


@pytest.fixture
def large(store: Store, run_rows: Build, monkeypatch: pytest.MonkeyPatch) -> Store:
    """A store that counts as large."""
    store.append(run_rows("r1", ("m1", "m2")))
    monkeypatch.setattr(connect, "MANY_BYTES", 0)
    return store


def plain(store: Store) -> list[Any]:
    """The means from the scores themselves: a connection that shows one run has no sums."""
    with connect.connect(store, "r1") as connection:
        return connection.execute(MEANS).fetchall()


def are_kept(root: Path) -> bool:
    kept = view_cache.read(root)
    return kept is not None and any("moments of" in each and "from_json" in each for each in kept.benchmarks)


def test_sums_are_kept_once_somebody_asks_for_means(large: Store) -> None:
    with connect.connect(large) as connection:
        connection.execute("from edubench.scores").fetchall()
        assert not are_kept(large.root)
        wanted = connection.execute(MEANS).fetchall()
    assert are_kept(large.root)
    assert wanted == plain(large) != []
    kept = view_cache.connect_cached(large.root)
    assert kept is not None
    assert kept.execute(MEANS).fetchall() == wanted
    assert connect.connect(large).execute(MEANS).fetchall() == wanted


def test_a_commit_and_a_compaction_make_them_out_of_date(large: Store, run_rows: Build) -> None:
    connect.connect(large).execute(MEANS)
    large.append(run_rows("r1", ("m1", "m2"), judge="human/anna", minutes=1))
    assert not are_kept(large.root)
    later = connect.connect(large).execute(MEANS).fetchall()
    assert any(row[2] == "human/anna" for row in later)
    assert later == plain(large)
    compact(large)
    assert not are_kept(large.root)
    assert connect.connect(large).execute(MEANS).fetchall() == later


def test_a_figure_that_a_disk_spoilt_is_made_anew(large: Store) -> None:
    wanted = connect.connect(large).execute(MEANS).fetchall()
    path = large.root / "cache/views.json"
    text = path.read_text("utf-8")
    spoilt = text.replace('\\"total\\": ', '\\"total\\": 1', 1)
    assert spoilt != text
    path.write_text(spoilt, "utf-8")
    assert view_cache.read(large.root) is None
    assert connect.connect(large).execute(MEANS).fetchall() == wanted
    assert are_kept(large.root)
