"""Out and in again: no score of a drawn store is lost or changed in a form that can hold it."""

from __future__ import annotations

import io
import json
import math
import tempfile
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from hypothesis import Phase, given, settings

import tripos
from tests.conftest import Command
from tests.interchange.drawn_stores import MODELS, REPLIES, DrawnReply, DrawnScore, plan, write_store
from tests.interchange.logged import run_exam
from tripos.cli.main import run_command
from tripos_warehouse.errors import StoreError
from tripos_warehouse.exports.every_eval_ever import write_eee
from tripos_warehouse.exports.inspect_ai import write_inspect
from tripos_warehouse.exports.lm_eval import write_lm_eval
from tripos_warehouse.exports.tables import sources, write_parquet
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect_run
from tripos_warehouse.views.runs import RunRecord

Found = Counter[tuple[Any, ...]]
KEPT = ("item_id", "metric", "evaluator", "round", "status", "error", "sample_id", "value")


@contextmanager
def opened(replies: Iterable[DrawnReply]) -> Iterator[tuple[Connection, RunRecord, Path]]:
    """Write a store and show its run, with a folder for files."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store.open(Path(folder) / "results", create=True)
        write_store(store, replies)
        connection, run = connect_run(store)
        with connection:
            yield connection, run, Path(folder) / "out"


def held(connection: Connection) -> Found:
    """Return every score that the store shows, as model and `KEPT`."""
    rows = connection.execute(f"select model, {', '.join(KEPT)} from drawn.scores").fetchall()
    return Counter(tuple(row) for row in rows)


def of_inspect(folder: Path) -> Found:
    found: Found = Counter()
    for path in folder.glob("*.eval"):
        with zipfile.ZipFile(path) as archive:
            model = json.loads(archive.read("header.json"))["eval"]["model"]
            names = [name for name in archive.namelist() if name.startswith("samples/")]
            assert len(names) == len(set(names))
            for name in names:
                sample = json.loads(archive.read(name))
                for score in sample["scores"].values():
                    about = score["metadata"]
                    value = None if math.isnan(score["value"]) else score["value"]
                    told = [about.get(each) for each in KEPT[1:-1]]
                    found[model, sample["metadata"]["item_id"], *told, value] += 1
    return found


def of_lm_eval(folder: Path) -> Found:
    found: Found = Counter()
    for path in folder.glob("*/samples_*.jsonl"):
        [results] = path.parent.glob("results_*.json")
        model = json.loads(results.read_text("utf-8"))["model_name"]
        for line in map(json.loads, path.read_bytes().splitlines()):
            for score in line["scores"]:
                assert line[score["name"]] == score["value"]
                found[model, line["doc"]["item_id"], *(score[each] for each in KEPT[1:])] += 1
    return found


def of_eee(folder: Path) -> Counter[tuple[Any, ...]]:
    found: Counter[tuple[Any, ...]] = Counter()
    for path in folder.rglob("*_samples.jsonl"):
        for line in map(json.loads, path.read_bytes().splitlines()):
            found[line["metadata"]["sample_id"], line["evaluation_name"], line["evaluation"]["score"]] += 1
    return found


@settings(max_examples=6, deadline=None, phases=(Phase.generate,))
@given(REPLIES)
def test_logs_and_tables_hold_every_score_of_a_drawn_store(replies: list[DrawnReply]) -> None:
    with opened(replies) as (connection, run, folder):
        expected = held(connection)
        # The view also has what raters of a round were to give and did not.
        assert expected.total() >= sum(len(reply.scores) for reply in replies)
        write_inspect(connection, plan(), run, folder / "inspect", secrets=True)
        write_lm_eval(connection, plan(), run, folder / "lm", secrets=True)
        assert of_inspect(folder / "inspect") == expected
        assert of_lm_eval(folder / "lm") == expected
        [table] = sources(connection, plan(), run, ["scores"], secrets=True)
        rows = pq.read_table(write_parquet(table, folder / "scores.parquet").path).to_pylist()
        assert Counter(tuple(row[name] for name in ("model", *KEPT)) for row in rows) == expected


@settings(max_examples=6, deadline=None, phases=(Phase.generate,))
@given(REPLIES)
def test_every_eval_ever_holds_the_mean_over_judges_of_every_score_with_a_value(replies: list[DrawnReply]) -> None:
    with opened(replies) as (connection, run, folder):
        query = """select sample_id, 'drawn/says/' || metric, avg(value) from drawn.scores
        where value is not null and not coalesce(starts_with(evaluator, 'human/'), false) group by all"""
        expected = Counter(tuple(row) for row in connection.execute(query).fetchall())
        try:
            write_eee(connection, plan(), run, folder, "us", secrets=False)
        except StoreError as error:
            assert error.code == "S0603" and not expected
        assert of_eee(folder) == expected


def test_a_log_that_comes_back_has_the_same_values_and_figures(quiz: Path, tripos: Command, once: Command) -> None:
    """`tripos import logs` reads what `tripos export` wrote: the values of every score, by item and model."""
    run_exam(once)
    query = "select model, metric, coalesce(evaluator, '') as rater, value from exam.scores where value is not null"
    assert tripos("sql", query, "-o", "scores.json").code == 0
    rows = json.loads(Path("scores.json").read_text("utf-8"))
    expected = Counter((row["model"], row["value"]) for row in rows)
    for kind in ("inspect", "lm-eval"):
        assert tripos("export", kind, "-o", f"out-{kind}", "--secrets").code == 0
        done = tripos("import", "logs", f"out-{kind}", "--store", f"back-{kind}", "-o", f"specs-{kind}")
        assert done.code == 0, done.err
        found = "select model, value from main.scores where value is not null"
        assert tripos("sql", found, "--store", f"back-{kind}", "-o", "back.json").code == 0
        back = json.loads(Path("back.json").read_text("utf-8"))
        assert Counter((row["model"], row["value"]) for row in back) == expected
    again = tripos("import", "logs", "out-inspect", "--store", "back-inspect", "-o", "specs-inspect")
    assert again.code == 0 and "nothing is new" in again.out


@settings(max_examples=6, deadline=None, phases=(Phase.generate,))
@given(REPLIES)
def test_a_drawn_store_that_comes_back_has_every_status(replies: list[DrawnReply]) -> None:
    """`tripos import logs` keeps the status and the error of each reply and score of exported logs."""
    with opened(replies) as (connection, run, folder):
        sent = connection.execute("select model, reply, status, error from drawn.samples").fetchall()
        query = "select sample.model, reply, {}, value, score.status, score.error from {} as score"
        query += " join {} as sample using (sample_id)"
        asked = query.format("metric, evaluator, round", "drawn.scores", "drawn.samples")
        scored = connection.execute(asked).fetchall()
        write_inspect(connection, plan(), run, folder / "inspect", secrets=True)
        write_lm_eval(connection, plan(), run, folder / "lm-eval", secrets=True)
        for tool in ("inspect", "lm-eval"):
            back = folder / f"back-{tool}"
            with redirect_stdout(io.StringIO()):
                words = ["--store", str(back), "-o", str(folder / f"specs-{tool}")]
                assert run_command(["import", "logs", str(folder / tool), *words]) == 0
            with tripos.open(back) as results:
                found = results.sql("select model, reply, status, error from main.samples").fetchall()
                asked = query.format("score.evaluator", "main.scores", "main.samples")
                of_scores = results.sql(f"{asked} where score.evaluator is not null").fetchall()
            assert Counter(found) == Counter(sent)
            assert Counter(of_scores) == Counter((*row[:2], _rater(tool, *row[2:5]), *row[5:]) for row in scored)


def _rater(tool: str, metric: str, evaluator: str | None, number: int | None) -> str:
    by = "" if evaluator is None else f" by {evaluator}"
    return f"{tool}/{metric}{by}" + ("" if number is None else f" (round {number})")


def test_figures_that_come_back_have_the_same_coverage(quiz: Path, tripos: Command, once: Command) -> None:
    """Scores that an item is not to have count nowhere, and those that failed count as such, in and out."""
    run_exam(once)
    counts = "count(*) filter (status <> 'not_applicable') as n, count(value) as given, round(avg(value), 9) as mean"
    query = f"select model, scenario, hint, metric, evaluator, {counts} from exam.scores group by all having n > 0"
    expected = {}
    for row in rows_of(tripos, query):
        task = row["scenario"] + (f"_hint_{row['hint']}" if row["hint"] is not None else "")
        rater = _rater("", row["metric"], row["evaluator"], None)[1:]
        expected[row["model"], task, rater] = row["n"], row["given"], row["mean"]
    assert len({given < n for n, given, _ in expected.values()}) == 2, "some have gaps, and some have none"
    for tool, before in (("inspect", ""), ("lm-eval", "exam_")):
        assert tripos("export", tool, "-o", f"out-{tool}", "--secrets").code == 0
        done = tripos("import", "logs", f"out-{tool}", "--store", f"back-{tool}", "-o", f"specs-{tool}", "--json")
        assert done.code == 0, done.err
        figures = [each for log in done.data["logs"] for each in log["figures"]]
        assert figures and all(each["same"] for each in figures)
        query = f"select model, scenario, evaluator, {counts} from exam.scores group by all having n > 0"
        found = {}
        for run in done.data["logs"]:
            for row in rows_of(tripos, query, "--store", f"back-{tool}", "--run", run["run_id"]):
                place = row["model"], row["scenario"].removeprefix(before), row["evaluator"].removeprefix(f"{tool}/")
                found[place] = row["n"], row["given"], row["mean"]
        assert found == expected


def rows_of(tripos: Command, query: str, *words: str) -> list[dict[str, Any]]:
    done = tripos("sql", query, "--format", "json", *words)
    assert done.code == 0, done.err
    return list(done.data)


def test_none_of_a_hundred_thousand_scores_is_lost() -> None:
    def scored(number: int) -> tuple[DrawnScore, ...]:
        raters = [
            ("long", None),
            *((metric, rater) for metric in ("CLEAR", "TRUE") for rater in ("mock/j", "mock/k:é")),
        ]
        return tuple(
            DrawnScore(metric, rater, None, None, "parse_failure", "no")
            if (number + place) % 17 == 0
            else DrawnScore(metric, rater, None, (number * 7 + place) % 10 + 1.0, "scored", None)
            for place, (metric, rater) in enumerate(raters)
        )

    replies = (
        DrawnReply(MODELS[number % 2], number // 6, number // 2 % 3, f"答 {number}", "ok", scored(number))
        for number in range(20_000)
    )
    with opened(replies) as (connection, run, folder):
        expected = held(connection)
        assert expected.total() == 100_000
        write_inspect(connection, plan(), run, folder / "inspect", secrets=True)
        assert of_inspect(folder / "inspect") == expected
        write_lm_eval(connection, plan(), run, folder / "lm", secrets=True)
        assert of_lm_eval(folder / "lm") == expected
