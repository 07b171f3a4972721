"""The files of a view, made out of a store when they are asked for.

| path | content |
| --- | --- |
| `index.json` | the runs of the store, newest first |
| `benchmarks/NAME.json` | the leaderboards of a benchmark and the history of its headline |
| `runs/RUN/report.json` | the report of a run, the names of its parts, and means for pictures |
| `runs/RUN/judges.json` | agreement, severity and preferences of the evaluators |
| `runs/RUN/spec.json` | the text of the spec, the lines of its declarations, and the figures of its measures |
| `runs/RUN/tables.json` | where the tables of the run lie, with rows and bytes |
| `runs/RUN/STATE/TABLE.parquet` | one of the tables (`tables.py`) as it was in that state of the store |
| `compare/RUN.M~RUN.M.json` | the paired comparison of two models; `M` is the place of the model in its run |
"""

from __future__ import annotations

import hashlib
import re
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson

from tripos.version import __version__
from tripos.view.about import describe
from tripos.view.pictures import axis_means, grid_means, judge_means, position_shares
from tripos.view.spec_files import spec_file
from tripos.view.tables import TABLES, RunTables
from tripos_compiler.language.changes import are_comparable
from tripos_compiler.plan import Plan
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.query import Connection, run_query
from tripos_warehouse.report import Board, Report, Side, check_comparable, compare, leaderboard, report, verdicts
from tripos_warehouse.store import Store
from tripos_warehouse.views import (
    RunRecord,
    all_runs,
    connect,
    connect_run,
    copied_scores,
    get_plan,
    get_selected,
    list_runs,
)

FORMAT = "tripos.view/1"
OF_RUN = ("report", "judges", "spec")
"""The files of a run beside those of its tables."""
KEPT_OPEN = 2
"""Runs that stay open: a comparison looks at two."""
KEPT_STATES = 3
"""States of which tables are kept: a page that began to read the tables of one can go on after the store has grown."""
_RUN = r"(?P<run>[\w.-]+)"
_TABLE = re.compile(rf"runs/{_RUN}/(?P<state>[0-9a-f]+)/(?P<table>{'|'.join(TABLES)})\.parquet")
_COMPARED = re.compile(r"compare/(?P<a>[\w.-]+)\.(?P<m>\d+)~(?P<b>[\w.-]+)\.(?P<n>\d+)\.json")


class OpenRun(NamedTuple):
    """A run, and a connection that shows it alone."""

    connection: Connection
    run: RunRecord
    plan: Plan


class ViewFiles:
    """Makes the files of a view of `store`; tables lie in `folder` once they are made. May be used by several threads.

    `reports` are those that somebody made already, by run. Every method that makes a file raises `StoreError`: S0301
    for a run that the store lacks, others as the warehouse does.
    """

    def __init__(
        self, store: Callable[[], Store], folder: Path, reports: Mapping[str, Report] = MappingProxyType({})
    ) -> None:
        self._store = store
        self._folder = folder
        self._reports = reports
        self._lock = threading.Lock()
        self._made: dict[str, tuple[str, bytes]] = {}
        self._states: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._open: OrderedDict[tuple[str, str], tuple[ExitStack, OpenRun]] = OrderedDict()

    def close(self) -> None:
        """Let go of the store. What is asked afterwards opens it again."""
        with self._lock:
            while self._open:
                self._open.popitem()[1][0].close()

    def state(self) -> str:
        """Return a name of the state of the store: it changes with every commit."""
        names = sorted(path for paths in self._store().files().values() for path in map(str, paths))
        return hashlib.sha256("\n".join(names).encode()).hexdigest()[:16]

    def json(self, path: str) -> bytes | None:
        """Return a JSON file, or None where the view has none of that path."""
        state = self.state()
        with self._lock:
            if (kept := self._made.get(path)) is not None and kept[0] == state:
                return kept[1]
            made = self._json(path, state)
            if made is None:
                return None
            data = orjson.dumps(made, option=orjson.OPT_NON_STR_KEYS)
            self._made[path] = state, data
            return data

    def table(self, path: str) -> Path | None:
        """Return where a table lies, or None where the view has none of that path."""
        match = _TABLE.fullmatch(path)
        found = self._folder / path if match else None
        return found if found is not None and found.is_file() else None

    def _json(self, path: str, state: str) -> Any:
        if path == "index.json":
            return self._index(state)
        if found := re.fullmatch(r"benchmarks/(\w+)\.json", path):
            return self._benchmark(found[1])
        if found := re.fullmatch(rf"runs/{_RUN}/(?P<what>{'|'.join(OF_RUN)}|tables)\.json", path):
            make = {"report": self._report, "judges": self._judges, "spec": self._spec, "tables": self._tables}
            return make[found["what"]](found["run"], state)
        if found := _COMPARED.fullmatch(path):
            return self._comparison(found["a"], int(found["m"]), found["b"], int(found["n"]), state)
        return None

    def _index(self, state: str) -> dict[str, Any]:
        with connect(self._store()) as connection:
            runs = list_runs(connection)
            plans: dict[str, Plan] = {}
            for listed in runs:
                if listed.run.benchmark not in plans:
                    plans[listed.run.benchmark] = get_plan(connection, listed.run)
            figures = _headline_figures(connection)
        return {
            "format": FORMAT,
            "tool": __version__,
            "state": state,
            "benchmarks": sorted(plans),
            "runs": [
                {
                    **listed.to_row(),
                    "title": plans[listed.run.benchmark].benchmark.title,
                    "titles": plans[listed.run.benchmark].titles.get("benchmark", {}).get(listed.run.benchmark, {}),
                    "roles": {role: list(models) for role, models in listed.run.roles.items()},
                    "finished_at": _time(listed.run.finished_at),
                    "headline": [
                        figure
                        for figure in figures.get(listed.run.run_id, [])
                        if figure["measure"] in plans[listed.run.benchmark].benchmark.headline
                    ],
                }
                for listed in runs
            ],
        }

    def _benchmark(self, name: str) -> dict[str, Any] | None:
        with connect(self._store()) as connection:
            runs = all_runs(connection)
            mine = [run for run in runs if run.benchmark == name]
            if not mine:
                return None
            boards = leaderboard(connection, runs, benchmarks=[name], comparable=are_comparable)
            figures = _headline_figures(connection)
        measures = list(dict.fromkeys(board.measure.name for board in boards))
        return {
            "boards": [_board(board) for board in boards],
            "history": [{"measure": each, "points": _points(each, mine, figures)} for each in measures],
        }

    def _opened(self, run: str, state: str) -> OpenRun:
        """Return a connection that shows a run, which stays open for what is asked next of it."""
        key = run, state
        if key not in self._open:
            for old in [each for each in self._open if each[1] != state] or list(self._open)[: 1 - KEPT_OPEN]:
                self._open.pop(old)[0].close()
            with ExitStack() as closed:
                connection, found = connect_run(self._store(), run)
                closed.enter_context(closing(connection))
                plan = get_selected(connection, found)
                self._open[key] = closed.pop_all(), OpenRun(connection, found, plan)
        self._open.move_to_end(key)
        return self._open[key][1]

    def _report(self, run: str, state: str) -> dict[str, Any]:
        connection, found, plan = self._opened(run, state)
        with copied_scores(connection, found.benchmark):
            made = self._reports.get(run) or report(connection, plan, found)
            boards: list[Board] = []
            if made.scores or made.comparisons:
                boards = leaderboard(connection, [found], benchmarks=[found.benchmark], comparable=are_comparable)
            return {
                **made.to_json(),
                "state": state,
                "about": describe(plan),
                "evaluators": _evaluators(connection, plan),
                "boards": [_board(board) for board in boards],
                "grid": grid_means(connection, plan),
                "axes": axis_means(connection, plan),
            }

    def _judges(self, run: str, state: str) -> dict[str, Any]:
        connection, found, plan = self._opened(run, state)
        schema = sql.name(found.benchmark)
        agreement = run_query(connection, f"from {schema}.agreement(per := 'metric')").to_pylist()
        return {
            "state": state,
            "agreement": agreement,
            "severity": judge_means(connection, plan, "metric"),
            "preference": judge_means(connection, plan, "metric, model"),
            "position": position_shares(connection, plan),
        }

    def _spec(self, run: str, state: str) -> dict[str, Any]:
        connection, found, plan = self._opened(run, state)
        query = "select spec from main.runs where run_id = ?"
        [(kept,)] = connection.execute(query, [found.run_id]).fetchall()
        return {"state": state, **spec_file(plan, kept)}

    def _tables(self, run: str, state: str) -> dict[str, Any]:
        connection, found, plan = self._opened(run, state)
        folder = self._folder / "runs" / found.run_id / state
        folder.mkdir(parents=True, exist_ok=True)
        with closing(RunTables(connection, plan, found.compared_role)) as tables:
            rows = {name: tables.write(name, folder / f"{name}.parquet") for name in TABLES}
        self._keep(found.run_id, state)
        return {
            "state": state,
            "dimensions": tables.dimensions,
            "tables": {
                name: {
                    "path": f"runs/{found.run_id}/{state}/{name}.parquet",
                    "rows": rows[name],
                    "bytes": (folder / f"{name}.parquet").stat().st_size,
                }
                for name in TABLES
            },
        }

    def _keep(self, run: str, state: str) -> None:
        self._states[run, state] = None
        self._states.move_to_end((run, state))
        for old in [each for each in self._states if each[0] == run][:-KEPT_STATES]:
            del self._states[old]
            shutil.rmtree(self._folder / "runs" / old[0] / old[1], ignore_errors=True)

    def _comparison(self, a: str, m: int, b: str, n: int, state: str) -> dict[str, Any] | None:
        one, run_a, plan_a = self._opened(a, state)
        two, run_b, plan_b = self._opened(b, state)
        if m >= len(run_a.models) or n >= len(run_b.models):
            return None
        sides = (
            Side(one, plan_a, run_a, (run_a.models[m],)),
            Side(two, plan_b, run_b, (run_b.models[n],)),
        )
        about = {
            "a": {"run_id": run_a.run_id, "models": [run_a.models[m]]},
            "b": {"run_id": run_b.run_id, "models": [run_b.models[n]]},
        }
        try:
            check_comparable(*sides)
            made = compare(*sides)
        except StoreError as error:
            told = {"code": error.code, "message": error.message, "hint": error.hint}
            return {**about, "error": told}
        return {
            **about,
            "pairs": made.pairs,
            "items": made.items,
            "only_a": made.only_a,
            "only_b": made.only_b,
            "unpaired": [{"name": name, "reason": reason} for name, reason in made.unpaired],
            "sections": [
                {
                    "kind": section.kind,
                    "rows": [
                        {
                            "name": row.name,
                            "of": row.of,
                            "a": row.a,
                            "b": row.b,
                            "difference": row.difference.value,
                            "low": row.difference.low,
                            "high": row.difference.high,
                            "p": row.p,
                            "lower_is_better": row.lower_is_better,
                            "verdict": said,
                        }
                        for row, said in zip(section.rows, verdicts(section), strict=True)
                    ],
                }
                for section in made.sections
            ],
        }


def _time(value: Any) -> str | None:
    return None if value is None else value.isoformat() + "Z"


def _board(board: Board) -> dict[str, Any]:
    notes = [
        *(f"{model}: {told}" for model, told in board.partial.items()),
        *(f"left out: {model}, which ran under version {', '.join(old)} only" for model, old in board.left_out.items()),
    ]
    if board.graded_by_others:
        notes.append("not all models were graded by the same judges, and those are not told apart")
    if board.in_other_company:
        notes.append("not all models had the same models in the other roles, and those are not told apart")
    if not board.same_items:
        notes.append("not all models have the same items; two are compared over those that both have")
    return {**board.to_json(), "notes": notes}


def _evaluators(connection: Connection, plan: Plan) -> list[str]:
    """Return who graded replies, by name."""
    query = f"""select distinct evaluator from {sql.name(plan.benchmark.name)}.scores where evaluator is not null
      order by all"""
    return [name for (name,) in connection.execute(query).fetchall()]


def _headline_figures(connection: Connection) -> dict[str, list[dict[str, Any]]]:
    """Return the figures that are one for each model, as runs kept them at their end, by run."""
    found: dict[str, list[dict[str, Any]]] = {}
    query = """select run_id, measure, model, value, low, high, n, total from main.measures where dims = '{}'
      order by measure, value desc, model"""
    for run, measure, model, value, low, high, n, total in connection.execute(query).fetchall():
        figure = {"measure": measure, "model": model, "value": value, "low": low, "high": high, "n": n, "total": total}
        found.setdefault(run, []).append(figure)
    return found


def _points(measure: str, runs: list[RunRecord], figures: dict[str, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Return a measure over the runs, oldest first; `broken` where a figure means something else than before."""
    points: list[dict[str, Any]] = []
    version: str | None = None
    for run in reversed(runs):
        mine = [each for each in figures.get(run.run_id, []) if each["measure"] == measure]
        broken = version is not None and not are_comparable(version, run.version)
        for each in mine:
            points.append(
                {
                    **each,
                    "run_id": run.run_id,
                    "started_at": _time(run.started_at),
                    "version": run.version,
                    "broken": broken,
                }
            )
        if mine:
            version = run.version
    return points
