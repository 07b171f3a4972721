"""Everything that a run shows, in values that can be held against those of the same run in another store.

Left out are the circumstances: ids of runs, times, and what follows from them.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from itertools import zip_longest
from pathlib import Path
from typing import Any
from unittest.mock import patch

import duckdb
import pyarrow.parquet as pq
from openpyxl import load_workbook

from tripos.cli.main import run_command
from tripos_warehouse import sql
from tripos_warehouse.exports import training
from tripos_warehouse.exports.held_out import HeldOut, read_held_out
from tripos_warehouse.exports.replies import ReplyQuery
from tripos_warehouse.query import results
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect, connect_run
from tripos_warehouse.views.runs import RunRecord, get_plan

CIRCUMSTANCES = ("run_id", "shown_run", "created_at", "latency_s", "attempts", "release", "items_of", "source")
CIRCUMSTANCES += ("drawn_of",)  # in the other store people are handed everything
TIMED = ("evaluation_id", "evaluation_timestamp", "retrieved_timestamp", "run_id", "file_path", "checksum",
         "performance")  # fmt: skip
"""What Every Eval Ever says of times and places."""
OF_RUN = ("run_id", "sha256", "held_out", "lines")
"""What the provenance of training data says of the run, and what is compared apart."""
VIEWS = (
    *("items", "slots", "samples", "judgements", "scores", "columns", "rationales", "comparisons", "conversations"),
    *("turns", "metrics"),
)
BOARD = ("model", "value", "low", "high", "items", "coverage", "graders", "company")
TRAINING = {
    "best_sums": ("one",),
    "best_made": ("one",),
    "pairs_graded": ("one",),
    "distillation --by made.solving --per kind": ("part", "one"),
    "preferences --by good": ("part", "one"),
}
"""The exports of training data, and the subsets that they hold out."""
Held = Mapping[tuple[str, ...], frozenset[tuple[str, str]]]
"""The items that subsets hold out, by the subsets: scenario and name."""


def shown(folder: Path, store: str, *, workbook: bool, held: Held | None = None) -> dict[str, Any]:
    """Return everything that the last run of a store shows. What depends on other runs by design is under `held out`:
    the items that any run of the benchmark has marked as those of a subset, which no training data may have. With
    `held` training data has none of these. Of tables there is a `workbook`, or CSV."""
    opened = Store.open(folder / store, create=False)
    found: dict[str, Any] = {}
    with connect(opened) as latest, _all_read_from(latest, None):
        query = "select run_id from main.runs order by started_at desc, run_id desc limit 1"
        [(run,)] = latest.execute(query).fetchall()
        for view in VIEWS:
            of_run = "" if view == "metrics" else f"where shown_run = '{run}'"
            found[f"latest {view}"] = _content(latest, f"from histories.{view} {of_run}")
        boards = json.loads(_printed(folder, "leaderboard", "histories", "--json", "--store", store))
    # What two models come to that are compared side by side may stand on an earlier run too, and says so.
    found["leaderboard"] = {
        f"{board['measure']} {each['model']}": [each[key] for key in BOARD] if each["runs"] == [run] else None
        for board in boards["boards"]
        for each in board["models"]
        if run in each["runs"]
    }
    alone, of_run = connect_run(opened, run)
    with alone, _all_read_from(alone, of_run):
        for view in VIEWS:
            found[f"run {view}"] = _content(alone, f"from histories.{view}")
        found["macro means"] = [repr(row) for row in alone.execute("from histories.means()").fetchall()]
        report = json.loads(_printed(folder, "report", "--json", "--store", store))
        found["report"] = {key: value for key, value in report.items() if key != "run"}
        found |= _tables(folder, store, workbook)
        found["export eee"] = _evals(folder, store)
        found["held out"] = {each: _held_out(alone, of_run, each) for each in set(TRAINING.values())}
        found |= _training(folder, store, found["held out"] if held is None else held)
    return found


def differences(there: dict[str, Any], fresh: dict[str, Any]) -> list[str]:
    """Return what a run shows in one store and not in a fresh one, or the other way round."""
    for name, value in there["leaderboard"].items():
        if value is None:
            fresh["leaderboard"][name] = None
    held, held_fresh = there.pop("held out"), fresh.pop("held out")
    found = [f"held out of {key}: {sorted(held_fresh[key] - held[key])} only fresh" for key in held
             if held_fresh[key] - held[key]]  # fmt: skip
    return found + [
        f"{name}: {_apart(there.get(name), fresh.get(name))}"
        for name in sorted({*there, *fresh})
        if there.get(name) != fresh.get(name)
    ]


@contextmanager
def _all_read_from(connection: duckdb.DuckDBPyConnection, run: RunRecord | None) -> Iterator[None]:
    """Commands read from this connection, which is a snapshot that each would open anew, and every query once."""
    answered: dict[str, Any] = {}
    query_rows = results.query_rows

    def once(_: duckdb.DuckDBPyConnection, query: str) -> Any:
        if query not in answered:
            answered[query] = query_rows(connection, query)
        return answered[query]

    opening: Mapping[str, Callable[..., Any]] = {
        "tripos_warehouse.report.named_boards.connect": lambda store, **_: connection.cursor(),
        "tripos.cli.report.connect_run": lambda *of, **_: (connection.cursor(), run),
        "tripos.cli.exports.connect_run": lambda *of, **_: (connection.cursor(), run),
        "tripos_warehouse.measures.evaluation.query_rows": once,
        "tripos_warehouse.exports.every_eval_ever.check": lambda document, name: (
            None
        ),  # takes long, and has its own tests
    }
    with ExitStack() as stack:
        for name, function in opening.items():
            stack.enter_context(patch(name, function))
        yield


def _tables(folder: Path, store: str, workbook: bool) -> dict[str, list[str]]:
    found = {}
    _clear(folder)
    _printed(folder, "export", "parquet", "-o", "exported", "--store", store)
    other = ("xlsx", "-o", "exported/tables.xlsx") if workbook else ("csv", "--secrets", "-o", "exported")
    _printed(folder, "export", *other, "--store", store)
    for path in sorted((folder / "exported").iterdir()):
        if path.suffix == ".parquet":
            found[f"export {path.name}"] = _listed(pq.read_table(path).to_pylist())
        elif path.suffix == ".csv":
            with path.open(encoding="utf-8", newline="") as file:
                found[f"export {path.name}"] = _listed(
                    {name: _number(text) for name, text in row.items()} for row in csv.DictReader(file)
                )
        else:
            for sheet in load_workbook(path, read_only=True).worksheets:
                names, *rows = sheet.iter_rows(values_only=True)
                found[f"export {path.name} {sheet.title}"] = _listed(
                    dict(zip_longest(map(str, names), row))
                    for row in rows  # empty cells at the end are not read
                )
    return found


def _evals(folder: Path, store: str) -> dict[str, Any]:
    _clear(folder)
    if not _printed(folder, "export", "eee", "--secrets", "-o", "exported", "--store", store, check=False):
        return {}
    found: dict[str, Any] = {}
    for path in sorted((folder / "exported").rglob("*.json*")):
        if path.suffix == ".jsonl":
            lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
            found[f"{path.parent.name} lines"] = sorted(repr(_rounded(_without(line, TIMED))) for line in lines)
        else:
            found[path.parent.name] = _rounded(_without(json.loads(path.read_text("utf-8")), TIMED))
    return found


def _training(folder: Path, store: str, held: Held) -> dict[str, Any]:
    """Return the lines of training data with where they come from, and what is said of them all."""
    found: dict[str, Any] = {}
    for export, subsets in TRAINING.items():
        _clear(folder)
        kind, *more = export.split(" ")
        path = folder / "exported" / "data.jsonl"
        same = HeldOut(subsets, items=held[subsets])
        with patch.object(training, "read_held_out", lambda *of, same=same: same), patch.object(
            training, "read_held_out", lambda *of, same=same: same
        ):  # fmt: skip
            if not _printed(folder, "export", kind, *more, "-o", str(path), "--store", store, check=False):
                continue
        told = json.loads(path.with_name("data.jsonl.provenance.json").read_text("utf-8"))
        lines = zip(path.read_text("utf-8").splitlines(), told["lines"], strict=True)
        found[f"lines of {export}"] = sorted(repr((text, _rounded(of))) for text, of in lines)
        found[f"export {export}"] = _rounded(_without(told, OF_RUN))
    return found


def _held_out(
    connection: duckdb.DuckDBPyConnection, run: RunRecord, subsets: tuple[str, ...]
) -> frozenset[tuple[str, str]]:
    wanted = ReplyQuery("best", by="", rows=(), models=run.models, hold_out=subsets)
    held = read_held_out(connection, get_plan(connection, run), run, wanted)
    return held.items | held.near.keys()


def _clear(folder: Path) -> None:
    shutil.rmtree(folder / "exported", ignore_errors=True)
    (folder / "exported").mkdir()


def _content(connection: duckdb.DuckDBPyConnection, query: str) -> list[str]:
    relation = connection.sql(query)
    names = [name for name in relation.columns if name not in CIRCUMSTANCES]
    if "rejections" in relation.columns:  # the attempts at a row that is made, and not those at a call
        names.append("attempts")
    rows = connection.execute(f"select {', '.join(map(sql.name, names))} {query}").fetchall()
    return sorted(repr(_rounded(list(row))) for row in rows)


def _rounded(value: Any) -> Any:
    """Return the value without the digits that the order of a sum decides."""
    if isinstance(value, float):
        return float(f"{value:.10g}")
    if isinstance(value, dict):
        return {key: _rounded(each) for key, each in value.items()}
    return [_rounded(each) for each in value] if isinstance(value, list) else value


def _listed(rows: Any) -> list[str]:
    return sorted(repr(_rounded(_without(row, CIRCUMSTANCES))) for row in rows)


def _number(text: str) -> float | str:
    return float(text) if re.fullmatch(r"-?\d+\.\d+", text) else text


def _without(value: Any, names: tuple[str, ...]) -> Any:
    """Return the value without the fields of these names, wherever they stand in it."""
    if isinstance(value, dict):
        return {key: _without(each, names) for key, each in value.items() if key not in names}
    return [_without(each, names) for each in value] if isinstance(value, list) else value


def _printed(folder: Path, *arguments: str, check: bool = True) -> str:
    """Return what a command prints; with `check=False` nothing where it says that there is nothing to export."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run_command(arguments)
    if code not in (0, 1) or not out.getvalue():
        if not check and ("error[S0602]" in err.getvalue() or "error[S0603]" in err.getvalue()):
            return ""
        raise AssertionError(f"tripos {' '.join(arguments)}: {code}\n{err.getvalue()}")
    return out.getvalue()


def _apart(one: Any, other: Any) -> str:
    if isinstance(one, list) and isinstance(other, list):
        lost, new = [each for each in other if each not in one], [each for each in one if each not in other]
        return f"{len(one)} and {len(other)}; only here {str(new[:2])[:600]}; only fresh {str(lost[:2])[:600]}"
    if isinstance(one, dict) and isinstance(other, dict):
        return "; ".join(f"{key}: {str(one.get(key))[:400]} and {str(other.get(key))[:400]}" for key in {*one, *other}
                         if one.get(key) != other.get(key))  # fmt: skip
    return f"{str(one)[:500]} and {str(other)[:500]}"
