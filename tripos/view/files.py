"""The files of a view, made out of a store when they are asked for.

| path | content |
| --- | --- |
| `index.json` | the runs of the store, newest first |
| `benchmarks/NAME.json` | the leaderboards of a benchmark and the histories of their measures |
| `runs/RUN/about.json` | the names of the parts of a run, who graded, and on which metrics |
| `runs/RUN/report.json` | the report of a run, and means for pictures |
| `runs/RUN/boards.json` | its models by its headline, with ranks |
| `runs/RUN/judges.json` | agreement, severity and preferences of the evaluators |
| `runs/RUN/items.json` | the items of each metric, those first that something is wrong with |
| `runs/RUN/confusion.json` | the tables behind figures: of classes, and of probabilities |
| `runs/RUN/spec.json` | the text of the spec, the lines of its declarations, and the figures of its measures |
| `runs/RUN/first.json` | the replies that its list shows first, and the values that can be chosen |
| `runs/RUN/tables.json` | where the tables of the run lie, with rows and bytes |
| `runs/RUN/STATE/TABLE.parquet` | one of the tables (`tables.py`) as it was in that state of the store |
| `compare/RUN.M~RUN.M.json` | the paired comparison of two models; `M` is the place of the model in its run |
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import ExitStack, closing
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import orjson
import pyarrow.parquet as pq

from tripos.runs import stored_media
from tripos.ui import __version__
from tripos.view.figures import (
    board_json,
    headline_figures,
    headline_of,
    readable_plans,
    section_json,
    takes_python,
    time_json,
)
from tripos.view.file_cache import KeptFiles, state_of
from tripos.view.pictures import axis_means, grid_means, judge_means, metric_places, position_shares
from tripos.view.sentences import translated
from tripos.view.spec_files import spec_file
from tripos.view.spec_names import describe, names_of_run
from tripos.view.tables import TABLES, RunTables
from tripos_compiler.language.changes import are_comparable
from tripos_compiler.language.library import media_in
from tripos_compiler.plan import Plan
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.measures import KEPT, analysed_items, figure_tables, items_json, tables_json
from tripos_warehouse.query import Connection, run_query
from tripos_warehouse.report import (
    Board,
    Report,
    Side,
    changes_between,
    compare,
    histories_of,
    leaderboard,
    report,
)
from tripos_warehouse.store import Store
from tripos_warehouse.views import (
    RunRecord,
    all_runs,
    connect,
    connect_run,
    copied_scores,
    get_selected,
    list_runs,
)

FORMAT = "tripos.view/1"
OF_RUN = ("about", "first", "report", "boards", "judges", "items", "confusion", "spec")
"""The files of a run beside those of its tables."""
KEPT_OPEN = 2
"""Runs that stay open: a comparison looks at two."""
_RUN = r"(?P<run>[\w.-]+)"
_TABLE = re.compile(rf"runs/{_RUN}/(?P<state>[0-9a-f]+)/(?P<table>{'|'.join(TABLES)})\.parquet")
_AHEAD = ("marks", "scores", "judgements")
"""Tables that nobody waits for at first."""
_SLOW = re.compile(r"benchmarks/.*|compare/.*|runs/[^/]*/(report|boards|items|confusion)\.json")
"""Files that take long over many scores, which are also those with sentences of ours."""
_COMPARED = re.compile(r"compare/(?P<a>[\w.-]+)\.(?P<m>\d+)~(?P<b>[\w.-]+)\.(?P<n>\d+)\.json")


class OpenRun(NamedTuple):
    """A run, and a connection that shows it alone."""

    connection: Connection
    run: RunRecord
    plan: Plan
    tables: list[RunTables]
    """What its tables are made from, once one was."""


class _Lane:
    """What is asked one after another, with the runs that stay open for it: a report over a million scores takes long,
    and keeps nobody from their samples."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.open: OrderedDict[tuple[str, str], tuple[ExitStack, OpenRun]] = OrderedDict()

    def close(self) -> None:
        with self.lock:
            while self.open:
                self.open.popitem()[1][0].close()


class ViewFiles:
    """Makes the files of a view of `store`, and keeps them in `folder`, or in `lasting` for other processes.
    May be used by several threads.

    `reports` are those that somebody made already, by run. Every method that makes a file raises `StoreError`: S0301
    for a run that the store lacks, others as the warehouse does.
    """

    def __init__(
        self,
        store: Callable[[], Store],
        folder: Path,
        reports: Mapping[str, Report] = MappingProxyType({}),
        lasting: Path | None = None,
    ) -> None:
        self._store = store
        self._kept = KeptFiles(folder, lasting)
        self._reports = reports
        self._whole = True
        self._quick, self._slow, self._ahead = _Lane(), _Lane(), _Lane()

    def close(self) -> None:
        """Let go of the store. What is asked afterwards opens it again."""
        for lane in (self._quick, self._slow, self._ahead):
            lane.close()

    def state(self) -> str:
        """Return a name of the state of the store: it changes with every commit."""
        return state_of(self._store())

    def json(self, path: str) -> bytes | None:
        """Return a JSON file, or None where the view has none of that path."""
        state = self.state()
        if ".." in path:
            return None
        with (self._slow if _SLOW.fullmatch(path) else self._quick).lock:
            if (kept := self._kept.read(state, path)) is not None:
                return kept
            if (made := self._json(path, state)) is None:
                return None
            if _SLOW.fullmatch(path):
                made["said"] = translated(made)
            data = orjson.dumps(made, option=orjson.OPT_NON_STR_KEYS)
            self._kept.write(state, path, lambda place: place.write_bytes(data), lasts=self._whole)
            return data

    def medium(self, sha256: str) -> bytes | None:
        """Return the content of what a model was shown; None where the store has it not."""
        return stored_media(self._store()).read(sha256)

    def shown(self, run_id: str) -> set[str]:
        """Return the digests of the images and other files that the models of a run were shown."""
        found: set[str] = set()
        for about in self.tables(run_id)["tables"].values():
            place = self.table(about["path"])
            if place is not None and "messages" in pq.read_schema(place).names:
                for text in pq.read_table(place, columns=["messages"])["messages"].to_pylist():
                    found.update(each.sha256 for each in media_in(text or ""))
        return found

    def table(self, path: str) -> Path | None:
        """Return where a table lies, made now if it was not yet, or None where the view has none of that path."""
        match = _TABLE.fullmatch(path)
        if match is None or ".." in path:
            return None
        run, state, table = match["run"], match["state"], match["table"]
        if (found := self._kept.find(state, path)) is not None or state != self.state():
            return found
        lane = self._ahead if table in _AHEAD else self._quick
        with lane.lock:
            try:
                return self._kept.find(state, path) or self._write(run, state, table, lane)
            except StoreError as error:
                if error.code == "S0301":
                    return None
                raise

    def tables(self, run: str) -> dict[str, Any]:
        """Return what is in `tables.json`, once all tables of the run are made: for those who copy them."""
        told: dict[str, Any] = orjson.loads(self.json(f"runs/{run}/tables.json") or b"{}")
        for each in told["tables"].values():
            path = self.table(each["path"])
            assert path is not None
            each.update(rows=pq.read_metadata(path).num_rows, bytes=path.stat().st_size)
        return told

    def _json(self, path: str, state: str) -> Any:
        if path == "index.json":
            return self._index(state)
        if found := re.fullmatch(r"benchmarks/(\w+)\.json", path):
            return self._benchmark(found[1])
        if found := re.fullmatch(rf"runs/{_RUN}/(?P<what>{'|'.join(OF_RUN)}|tables)\.json", path):
            make = {
                "about": self._about,
                "first": self._first,
                "report": self._report,
                "boards": self._boards,
                "judges": self._judges,
                "items": self._items,
                "confusion": self._confusion,
                "spec": self._spec,
                "tables": self._tables,
            }
            return make[found["what"]](found["run"], state)
        if found := _COMPARED.fullmatch(path):
            return self._comparison(found["a"], int(found["m"]), found["b"], int(found["n"]), state)
        return None

    def _index(self, state: str) -> dict[str, Any]:
        with connect(self._store()) as connection:
            runs = list_runs(connection)
            plans = readable_plans(connection, [listed.run for listed in runs])
            figures = headline_figures(connection)
        return {
            "format": FORMAT,
            "tool": __version__,
            "state": state,
            "benchmarks": sorted({listed.run.benchmark for listed in runs}),
            "runs": [
                {
                    **listed.to_row(),
                    **names_of_run(plans.get(listed.run.plan_digest), listed.run),
                    "roles": {role: list(models) for role, models in listed.run.roles.items()},
                    "finished_at": time_json(listed.run.finished_at),
                    "headline": headline_of(plans.get(listed.run.plan_digest), figures.get(listed.run.run_id, [])),
                }
                for listed in runs
            ],
        }

    def _benchmark(self, name: str) -> dict[str, Any] | None:
        with connect(store := self._store()) as connection:
            runs = all_runs(connection)
            mine = [run for run in runs if run.benchmark == name]
            if not mine:
                return None
            self._whole = self._whole and not takes_python(readable_plans(connection, mine).values())
            boards = leaderboard(connection, runs, benchmarks=[name], comparable=are_comparable)
            measures = list(dict.fromkeys(board.measure.name for board in boards))
            history = [each.to_json() for each in histories_of(store, connection, name, measures)]
        return {"boards": [board_json(board) for board in boards], "history": history}

    def _opened(self, run: str, state: str, lane: _Lane | None = None) -> OpenRun:
        """Return a connection that shows a run, which stays open for what is asked next of it."""
        opened = (lane or self._quick).open
        key = run, state
        if key not in opened:
            for old in [each for each in opened if each[1] != state] or list(opened)[: 1 - KEPT_OPEN]:
                opened.pop(old)[0].close()
            with ExitStack() as closed:
                store = self._store()
                connection, found = connect_run(store, run)
                # What was left out of a damaged store is told when it is opened, and a file that lasts would not tell.
                self._whole = self._whole and not store.damages
                closed.enter_context(closing(connection))
                plan = get_selected(connection, found)
                self._whole = self._whole and not takes_python([plan])
                opened[key] = closed.pop_all(), OpenRun(connection, found, plan, [])
        opened.move_to_end(key)
        return opened[key][1]

    def _about(self, run: str, state: str) -> dict[str, Any]:
        connection, found, plan, _ = self._opened(run, state)
        query = f"select distinct metric::varchar, evaluator from {sql.name(found.benchmark)}.scores order by all"
        pairs = connection.execute(query).fetchall()
        places, metrics = metric_places(plan), {metric for metric, _ in pairs}
        return {
            "run": {"run_id": found.run_id, "models": found.models, "roles": found.roles},
            "state": state,
            "about": describe(plan),
            "metrics": sorted(metrics, key=lambda metric: (places.get(metric, len(places)), metric)),
            "evaluators": sorted({evaluator for _, evaluator in pairs if evaluator is not None}),
        }

    def _report(self, run: str, state: str) -> dict[str, Any]:
        connection, found, plan, _ = self._opened(run, state, self._slow)
        with copied_scores(connection, found.benchmark):
            made = self._reports.get(run) or report(connection, plan, found)
            return {
                **made.to_json(),
                "state": state,
                "grid": grid_means(connection, plan),
                "axes": axis_means(connection, plan),
            }

    def _boards(self, run: str, state: str) -> dict[str, Any]:
        connection, found, _, _ = self._opened(run, state, self._slow)
        schema = sql.name(found.benchmark)
        there = " or ".join(f"exists (from {schema}.{table})" for table in ("scores", "columns", "comparisons"))
        boards: list[Board] = []
        if connection.execute(f"select {there}").fetchall() == [(True,)]:
            boards = leaderboard(connection, [found], benchmarks=[found.benchmark], comparable=are_comparable)
        return {"state": state, "boards": [board_json(board) for board in boards]}

    def _judges(self, run: str, state: str) -> dict[str, Any]:
        connection, found, plan, _ = self._opened(run, state)
        schema = sql.name(found.benchmark)
        agreement = run_query(connection, f"from {schema}.agreement(per := 'metric')").to_pylist()
        return {
            "state": state,
            "agreement": agreement,
            "severity": judge_means(connection, plan),
            "preference": judge_means(connection, plan, "model"),
            "position": position_shares(connection, plan),
        }

    def _items(self, run: str, state: str) -> dict[str, Any]:
        connection, found, _, _ = self._opened(run, state, self._slow)
        return {"state": state, **items_json(analysed_items(connection, found.benchmark), KEPT)}

    def _confusion(self, run: str, state: str) -> dict[str, Any]:
        opened = self._opened(run, state, self._slow)
        return {"state": state, **tables_json(figure_tables(opened.connection, opened.plan))}

    def _spec(self, run: str, state: str) -> dict[str, Any]:
        connection, found, plan, _ = self._opened(run, state)
        query = "select spec from main.runs where run_id = ?"
        [(kept,)] = connection.execute(query, [found.run_id]).fetchall()
        return {"state": state, **spec_file(plan, kept)}

    def _first(self, run: str, state: str) -> dict[str, Any]:
        tables = self._tables_of(run, state, self._quick)
        return {"state": state, "dimensions": tables.dimensions, **tables.first()}

    def _tables(self, run: str, state: str) -> dict[str, Any]:
        """Return where the tables are: that of samples, which every page begins with, is made; others when they are
        asked for, and what they hold is not known before."""
        tables = self._tables_of(run, state, self._quick)
        run = self._opened(run, state).run.run_id
        path = self._write(run, state, "samples", self._quick)
        known = {"samples": {"rows": pq.read_metadata(path).num_rows, "bytes": path.stat().st_size}}
        nothing = {"rows": None, "bytes": None}
        return {
            "state": state,
            "dimensions": tables.dimensions,
            "tables": {
                name: {"path": f"runs/{run}/{state}/{name}.parquet", **known.get(name, nothing)} for name in TABLES
            },
        }

    def _tables_of(self, run: str, state: str, lane: _Lane) -> RunTables:
        connection, found, plan, tables = self._opened(run, state, lane)
        if not tables:
            tables.append(RunTables(connection, plan, found.compared_role))
        return tables[0]

    def _write(self, run: str, state: str, table: str, lane: _Lane) -> Path:
        """Write a table, and return where it lies. Raises `StoreError` S0301 for what is no whole id of a run."""
        tables = self._tables_of(run, state, lane)
        if run != (whole := self._opened(run, state, lane).run.run_id):
            raise StoreError("S0301", f"there is no run `{run}`", f"name `{whole}`")
        path = f"runs/{run}/{state}/{table}.parquet"
        return self._kept.write(state, path, lambda place: tables.write(table, place), lasts=self._whole)

    def _comparison(self, a: str, m: int, b: str, n: int, state: str) -> dict[str, Any] | None:
        one, run_a, plan_a, _ = self._opened(a, state, self._slow)
        two, run_b, plan_b, _ = self._opened(b, state, self._slow)
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
            changes, by_judge = changes_between(*sides)
            made = compare(*sides, by_judge=by_judge)
        except StoreError as error:
            told = {"code": error.code, "message": error.message, "hint": error.hint}
            return {**about, "error": told}
        return {
            **about,
            "changes": [str(change) for change in changes],
            "pairs": made.pairs,
            "items": made.items,
            "only_a": made.only_a,
            "only_b": made.only_b,
            "unpaired": [{"name": name, "reason": reason} for name, reason in made.unpaired],
            "cautions": list(made.cautions),
            "sections": [section_json(section, made.tests) for section in made.sections],
        }
