"""Each figure of the page is of one metric and one kind of evaluator, and is that of the warehouse: over generated
benchmarks, of which `tests/oracle.py` knows every score."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.lengths import sized
from tests.oracle import Benchmark, Measure, Score, generate, run_in
from tripos.view.files import ViewFiles
from tripos_warehouse.report.run_report import report
from tripos_warehouse.report.text import render_report
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import get_plan

GRADES = (1, 5)
Cells = dict[tuple[str, ...], tuple[float, int]]


def scale_of(score: Score) -> tuple[int, int] | None:
    return (0, 1) if score.truth else GRADES if score.judged else None


def dimensions(made: Benchmark) -> list[str]:
    return ["level", *(["style"] if len(made.styles) > 1 else [])]


def means_of_report(made: Benchmark, report: dict[str, Any], by: str) -> Cells:
    """Return the means of the report by metric, value of `by` and model, on the scale from 0 to 1; of metrics without a
    scale there are none."""
    measures = {each["name"]: each for each in report["measures"]}
    found: Cells = {}
    for score in made.scores:
        scale = scale_of(score)
        for row in measures[f"s.of_{score.name}_{by}"]["rows"] if scale else ():
            if row["value"] is not None:
                low, high = scale or (0, 1)
                key = score.name, str(row.get(by, "s")), row["model"]
                found[key] = (row["value"] - low) / (high - low), row["n"]
    return found


def means_by_hand(made: Benchmark, *by: str) -> Cells:
    """Return the means of what each judge gave, worked out from what it said."""
    held: dict[tuple[str, ...], list[float]] = defaultdict(list)
    for score in made.scores:
        for cell in made.cells(score) if score.judged else ():
            if cell.value is not None:
                under = {**cell.under, "model": cell.model}
                held[(score.name, *(under[each] for each in by))].append((cell.value - 1) / 4)
    return {key: (fmean(values), len(values)) for key, values in held.items()}


def shown(cells: list[dict[str, Any]], *keys: str) -> Cells:
    return {
        tuple(str(each[key]) for key in keys): (each["score"], each["n"]) for each in cells if each["score"] is not None
    }


def same(one: Cells, other: Cells) -> bool:
    counts = {key: n for key, (_, n) in one.items()} == {key: n for key, (_, n) in other.items()}
    return counts and {key: value for key, (value, _) in one.items()} == pytest.approx(
        {key: value for key, (value, _) in other.items()}
    )


@pytest.mark.parametrize("seed", sized((8,), tuple(range(40))))
def test_every_mean_of_the_page_is_of_one_metric_as_in_the_report(seed: int, tmp_path: Path) -> None:
    made = generate(seed)
    made.measures = [
        Measure(f"of_{score.name}_{by}", f"mean({score.name})" + (f" by {by}" if by != "all" else ""), (), lambda _: {})
        for score in made.scores
        for by in ("all", *dimensions(made))
    ]
    _, store = run_in(tmp_path, made)
    view = ViewFiles(lambda: store, tmp_path / "made")

    def read(name: str) -> Any:
        return json.loads(view.json(f"runs/20260101-000000-0000/{name}.json") or b"")

    report = read("report")
    assert same(shown(report["grid"], "metric", "scenario", "model"), means_of_report(made, report, "all"))
    for by in dimensions(made):
        cells = [each for each in report["axes"] if each["axis"] == by]
        assert same(shown(cells, "metric", "value", "model"), means_of_report(made, report, by))
    assert {each["axis"] for each in report["axes"]} <= {*dimensions(made), "language"}
    judges = read("judges")
    assert same(shown(judges["severity"], "metric", "evaluator"), means_by_hand(made, "evaluator"))
    by_model = means_by_hand(made, "evaluator", "model")
    assert same(shown(judges["preference"], "metric", "evaluator", "model"), by_model)
    check_replies(view, made, read("about")["metrics"])


def test_the_text_json_and_page_say_that_a_part_of_a_figure_has_one_item(tmp_path: Path) -> None:
    made = generate(1)
    made.rows = [{**made.rows[0], "id": n, "level": "hard" if n else "easy"} for n in range(4)]
    score = next(each for each in made.scores if not each.judged)
    made.measures = [
        Measure("by_level", f"mean({score.name}, missing: zero) by level", (), lambda _: {}),
        Measure("it", "mean(by_level)", (), lambda _: {}),
    ]
    _, store = run_in(tmp_path, made)
    told = "a part of it has one item, which says nothing about the error"
    page = json.loads(ViewFiles(lambda: store, tmp_path / "made").json("runs/20260101-000000-0000/report.json") or b"")
    connection, run = connect_run(store)
    with connection:
        found = report(connection, get_plan(connection, run), run)
    for each in (found.to_json(), page):
        [measure] = [one for one in each["measures"] if one["name"] == "s.it"]
        assert {row["reason"] for row in measure["rows"]} == {told}
    assert f"no interval: {told}" in render_report(found, 200).plain


def check_replies(view: ViewFiles, made: Benchmark, order: list[str]) -> None:
    """Hold the score of every reply to the mean of its scores in the metric that is named with it: the first of those
    that have a scale."""
    tables = {
        name: pq.read_table(view.table(each["path"])).to_pylist()
        for name, each in view.tables("20260101-000000-0000")["tables"].items()
    }
    scales = {score.name: scale_of(score) for score in made.scores}
    given: dict[int, dict[str, list[float | None]]] = defaultdict(lambda: defaultdict(list))
    for row in tables["scores"]:
        scale = scales[row["metric"]]
        if scale is not None:
            place = None if row["value"] is None else (row["value"] - scale[0]) / (scale[1] - scale[0])
            given[row["n"]][row["metric"]].append(place)
    for n, sample in enumerate(tables["samples"]):
        metric = min(given[n], key=order.index, default=None)
        values = [each for each in given[n].get(metric or "", []) if each is not None]
        assert sample["metric"] == metric
        assert sample["score"] == (pytest.approx(fmean(values), abs=1e-6) if values else None)
    marks = {(row["metric"], row["evaluator"], row["n"]): row["score"] for row in tables["marks"]}
    for n, metrics in given.items():
        for metric, values in metrics.items():
            known = [each for each in values if each is not None]
            assert marks[metric, None, n] == (pytest.approx(fmean(known), abs=1e-6) if known else None)
    assert all(metric is not None for metric, _, _ in marks)
