"""Boards from sums of the scores of each part are those of the scores themselves, after any history of the store."""

from __future__ import annotations

import functools
import itertools
import json
import math
import os
import random
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import Phase, given, settings, strategies as st

from tests.lengths import sized
from tests.warehouse.small_run import START, measure, rows_of_run, small_plan
from tripos_compiler.language.plan_diff import are_comparable
from tripos_compiler.plan import Aggregate, Each, Loop, Plan, Ref, Score, TextType
from tripos_warehouse.errors import StoreError
from tripos_warehouse.maintenance.compaction import collect, compact
from tripos_warehouse.measures.evaluation import evaluate
from tripos_warehouse.measures.items import analysed_items
from tripos_warehouse.report.leaderboard import leaderboard
from tripos_warehouse.report.run_report import report
from tripos_warehouse.store.digests import sha256_of
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store
from tripos_warehouse.views import connect as views, derived
from tripos_warehouse.views.connect import connect, connect_run
from tripos_warehouse.views.derived import score_sums
from tripos_warehouse.views.runs import all_runs, get_plan

Build = Callable[..., dict[str, list[dict[str, Any]]]]
MODELS = ("lab/one", "lab/two", "lab/three")
FOLDER = "cache/sums"
PARTS = "ea" * 16


@pytest.fixture(autouse=True)
def _all_are_large(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(views, "LARGE_BYTES", 0)
    monkeypatch.setattr(derived, "LEAST_BYTES", 0)


def told(store: Store, *, sums: bool, reports: bool = True) -> tuple[list[Any], list[Any]]:
    """Return the boards of a store, the values of all measures, and with `reports` the report and the items of each run:
    from sums and from all else that it keeps of its parts, or from scores and from nothing that it keeps."""
    (store.root / "cache" / "views.json").unlink(missing_ok=True)
    least = views.LARGE_BYTES if sums else 2**60
    with mock.patch.object(views, "LARGE_BYTES", least), connect(store, sums=sums) as connection:
        runs = all_runs(connection)
        boards = leaderboard(connection, runs, comparable=are_comparable)
        plan = get_plan(connection, runs[0])
        rows = [asdict(row) for each in plan.measures for row in evaluate(connection, plan, each).rows]
    for run in runs if reports else ():
        (store.root / "cache" / "views.json").unlink(missing_ok=True)
        with mock.patch.object(views, "LARGE_BYTES", least), connect_run(store, run.run_id, sums=sums)[0] as connection:
            shown = report(connection, get_plan(connection, run), run).to_json()
            items = analysed_items(connection, get_plan(connection, run))
        rows += [shown, *sorted(map(asdict, items), key=_place)]
    return [asdict(board) for board in boards], rows


def _place(item: dict[str, Any]) -> str:
    """Return the place of an analysed item among others, which does not hang on how its figures are rounded."""
    return repr([item[name] for name in ("scenario", "metric", "item_id")])


def close(one: Any, other: Any) -> bool:
    """Return true if two values are alike, up to how numbers are rounded."""
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(close(one[name], other[name]) for name in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(map(close, one, other))
    return bool(one == other)


def files(store: Store) -> list[Path]:
    return sorted((store.root / FOLDER).iterdir())


def wider_plan() -> Plan:
    """Return a plan with means of cells, of other kinds of missing scores, and a share, beside a plain mean."""
    plan = small_plan()
    cells = Aggregate(
        function="mean", of=Aggregate(function="mean", values=("rubric",), by=("subject", "metric")), values=()
    )
    more = (
        measure("cells", ()).model_copy(update={"figure": cells}),
        measure("zeros", ()).model_copy(update={"missing": "zero", "low": 0}),
        measure("strict", ()).model_copy(update={"missing": "fail"}),
        measure("one", ()).model_copy(
            update={"figure": Aggregate(function="mean", values=("accuracy",), by=()), "low": 0, "high": 1}
        ),
        measure("by_judge", ("evaluator",)),
        measure("by_dimension", ("dimension",)),
        measure("middle", ()).model_copy(update={"figure": Aggregate(function="median", values=("rubric",), by=())}),
    )
    return plan.model_copy(update={"measures": (*plan.measures, *more)})


def weighted(plan: Plan) -> Plan:
    """Return a plan whose judge's metrics count differently in means over metrics."""
    return _with_steps(
        plan, lambda step: step.model_copy(update={"weights": (2.0, 0.5)}) if step.name == "rubric" else step
    )


def with_elements(plan: Plan) -> Plan:
    """Return a plan that also scores each element of a list in the replies."""
    answer = Ref(path=("answer", "text"))
    each = Each(loop=Loop(alias="part", of=answer), value=answer)
    score = Score(
        name="parts", value=each, of="answer", needs=("answer",), truth=False, element=TextType(), fingerprint=PARTS
    )
    [scenario] = plan.scenarios
    [treatment] = scenario.treatments
    treatment = treatment.model_copy(update={"steps": (*treatment.steps, score)})
    figure = Aggregate(function="mean", values=("parts",), by=(), elements=True)
    own = measure("parts", ()).model_copy(update={"figure": figure})
    return plan.model_copy(
        update={
            "scenarios": (scenario.model_copy(update={"treatments": (treatment,)}),),
            "measures": (*plan.measures, own),
        }
    )


def _with_steps(plan: Plan, change: Callable[[Any], Any]) -> Plan:
    [scenario] = plan.scenarios
    [treatment] = scenario.treatments
    treatment = treatment.model_copy(update={"steps": tuple(map(change, treatment.steps))})
    return plan.model_copy(update={"scenarios": (scenario.model_copy(update={"treatments": (treatment,)}),)})


def score_elements(rows: dict[str, list[dict[str, Any]]], chance: random.Random) -> None:
    """Add scores of the elements of each reply: none of some, and some without a value."""
    rows["runs"][0]["fingerprints"].append(PARTS)
    for sample in rows["samples"]:
        parts = [{"place": str(place), "element": f"part {place}"} for place in range(chance.randint(0, 3))]
        given = [
            {"value": None, "status": "refused", "error": "no"}
            if chance.random() < 0.2
            else {"value": float(chance.randint(1, 10)), "status": "scored"}
            for _ in parts
        ]
        key = {name: sample[name] for name in ("benchmark", "scenario", "item_id", "sample_id", "run_id", "model")}
        kept = {"elements": json.dumps(parts), "given": json.dumps(given)} if parts else {}
        status = "scored" if parts else "not_applicable"
        rows["scores"].append(
            {
                **key,
                **kept,
                "score_id": f"{sample['sample_id']}-parts",
                "scorer": "parts",
                "metric": "parts",
                "value": None,
                "status": status,
                "fingerprint": PARTS,
                "created_at": sample["created_at"],
            }
        )


def _value(high: int, binary: bool, model: int, item: int) -> float:
    given = (model * 3 + item * high) % 10
    return float(given > 4) if binary else 1.0 + given


@settings(max_examples=sized(2, 40), deadline=None, phases=(Phase.explicit, Phase.generate))  # no seed is simpler
@given(st.integers(0, 10**6))
def test_boards_from_sums_are_those_of_the_scores_after_any_history(seed: int) -> None:
    chance, ticks, base = random.Random(seed), itertools.count(), wider_plan()
    binary = chance.random() < 0.3
    if chance.random() < 0.3:
        base = weighted(base)
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(folder, create=True, clock=lambda: START + timedelta(seconds=next(ticks)))
        steps = sized(3, 4)
        for number in range(steps):
            match chance.choice(("run", "run", "again", "people", "compact")) if number else "run":
                case "compact":
                    compact(store)
                    collect(store)
                case what:
                    elements = chance.random() < 0.2
                    plan = with_elements(base) if elements else base
                    judge = f"human/{chance.choice('ab')}" if what == "people" else chance.choice(("j/one", "j/two"))
                    rows = rows_of_run(
                        plan,
                        f"r{chance.randint(0, 1) if what == 'again' else number}",
                        tuple(chance.sample(MODELS, chance.randint(1, 3))),
                        items=chance.randint(1, 9),
                        judge=judge,
                        value=functools.partial(_value, chance.randint(1, 9), binary),
                        minutes=number,
                        status=chance.choice(("ok", "ok", "provider_error")),
                    )
                    for row in rows["scores"]:
                        if chance.random() < 0.15:
                            row |= {"value": None, "status": chance.choice(("not_applicable", "undefined"))}
                    if elements:
                        score_elements(rows, chance)
                    release = chance.choice((None, None, "ab" * 32))
                    for table in ("runs", "items", "samples", "judgements", "scores"):
                        if "release" in TABLES[table].schema.names:
                            rows[table] = [{**row, "release": release} for row in rows[table]]
                    store.append(rows)
            last = number == steps - 1  # reports take several times as long as boards
            wanted = told(store, sums=False, reports=last)
            assert close(told(store, sums=True, reports=last), wanted)
            assert files(store)


@pytest.fixture
def full(store: Store) -> Store:
    store.append(rows_of_run(wider_plan(), "r1", MODELS, items=8))
    return store


def test_a_commit_costs_its_own_part_alone(full: Store) -> None:
    told(full, sums=True, reports=False)
    [first] = files(full)
    before = first.stat().st_mtime_ns
    full.append(rows_of_run(wider_plan(), "r2", ("lab/four",), items=8, minutes=1))
    assert close(told(full, sums=True), told(full, sums=False))
    assert len(files(full)) == 2
    assert first.stat().st_mtime_ns == before


def test_sums_are_what_figures_are_read_from(full: Store) -> None:
    """Sums of nobody's scores, under the name of a part's, are in the figures: no score was read for them."""
    wanted = told(full, sums=False)
    with connect(full, sums=True) as connection:
        assert score_sums(connection, "edubench") is not None
    [path] = files(full)
    import pyarrow as pa
    import pyarrow.parquet as pq

    sums = pq.read_table(path)
    place = sums.schema.get_field_index("its total")
    more = pa.array([1 + each for each in sums["its total"].to_pylist()])
    spoilt = sums.set_column(place, "its total", more)
    path.unlink()
    pq.write_table(spoilt, path)
    assert close(told(full, sums=True), wanted)  # it is not what its name says
    path.unlink()
    name = path.name.partition(".")[0]
    pq.write_table(spoilt, path)
    path.rename(path.parent / f"{name}.{sha256_of(path)}.parquet")
    assert not close(told(full, sums=True), wanted)


def test_a_connection_without_sums_has_none(full: Store) -> None:
    with connect(full) as connection:
        assert score_sums(connection, "edubench") is None
    assert not (full.root / FOLDER).exists()


def test_scores_from_outside_are_no_part_of_sums(full: Store, run_rows: Build) -> None:
    rows = rows_of_run(wider_plan(), "r1", MODELS, items=3, judge="human/anna", minutes=1)
    for row in rows["scores"]:
        row["round"] = 1
    full.append(rows)
    with connect(full, sums=True) as connection:
        assert score_sums(connection, "edubench") is None
    assert close(told(full, sums=True), told(full, sums=False))


def test_a_folder_that_cannot_be_written_costs_time_alone(full: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("no")

    wanted = told(full, sums=False)
    monkeypatch.setattr(Path, "mkdir", refuse)
    assert close(told(full, sums=True), wanted)
    assert not (full.root / FOLDER).exists()


def test_a_damaged_part_has_no_sums(full: Store) -> None:
    told(full, sums=True, reports=False)
    [part] = full.parts("scores")
    part.chmod(0o644)
    whole = part.read_bytes()
    part.write_bytes(whole[:100] + bytes(len(whole) - 1100) + whole[-1000:])
    shutil.rmtree(full.root / FOLDER)
    for _ in range(2):
        with pytest.raises(StoreError, match=r"S0103: bytes of the part .* have changed"):
            derived.read_score_sums(full, [part])


def test_housekeeping_takes_away_sums_of_parts_that_are_gone(full: Store) -> None:
    told(full, sums=True, reports=False)
    full.append(rows_of_run(wider_plan(), "r2", ("lab/four",), items=8, minutes=1))
    compact(full)
    wanted = told(full, sums=True)
    assert len(files(full)) == 2
    for path in files(full):
        os.utime(path, (0, 0))
    collect(full)
    assert len(files(full)) == 1
    assert close(told(full, sums=True), wanted)
