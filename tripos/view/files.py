"""The files of a view, made from a store on request and cached by the state of the store.

| path | content |
| --- | --- |
| `index.json` | the runs of the store, newest first |
| `benchmarks/NAME.json` | the leaderboards of a benchmark and the histories of their measures |
| `runs/RUN/about.json` | the names of the parts of a run, its evaluators and metrics |
| `runs/RUN/report.json` | the report of a run, and means for charts |
| `runs/RUN/boards.json` | its models by its headline, with ranks |
| `runs/RUN/judges.json` | agreement, severity and preferences of the evaluators |
| `runs/RUN/items.json` | the items of each metric, suspicious ones first |
| `runs/RUN/result_tables.json` | the tables that its benchmark declares, as texts and in LaTeX, CSV, Markdown |
| `runs/RUN/confusion.json` | the tables behind figures: of classes, and of probabilities |
| `runs/RUN/spec.json` | the text of the spec, the lines of its declarations, and the figures of its measures |
| `runs/RUN/notes.json` | the notes of people on its replies, and whether new ones can be written |
| `runs/RUN/first.json` | the first replies of its list, and the values to filter by |
| `runs/RUN/tables.json` | the paths of its tables, with rows and bytes |
| `runs/RUN/STATE/TABLE.parquet` | one of the tables (`tables.py`) in that state of the store |
| `compare/RUN.M~RUN.M.json` | the paired comparison of two models; `M` is the index of the model in its run |

Sentences in the files are translated to every language, since a page may be read in another language than that of the
terminal that serves it.

Notes are read anew for every request: a note changes no figure, so it changes no state of the store either.

The cache has a folder for each state. It may be inside a store, and a store may come from a stranger. So a cached file
is used only if it is a regular file without links above it. The name of a state depends on this installation and the
place of the store, so the author of a store cannot know it. A file's name has the SHA-256 of its content, which is
checked.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

import orjson
import pyarrow.parquet as pq

from tripos.runs.records import media_store
from tripos.version import __version__
from tripos.view.tables import TABLES, RunTables, axis_means, grid_means, judge_means, metric_ranks, position_shares
from tripos_compiler.diagnostics.diagnostic import Diagnostics
from tripos_compiler.diagnostics.i18n import LANGUAGES, localized, reader_language, reading_in
from tripos_compiler.language.aggregates import AGGREGATES
from tripos_compiler.language.figures import aggregates_of, measures_of
from tripos_compiler.language.plan_diff import are_comparable
from tripos_compiler.library.media import media_in
from tripos_compiler.plan import ArmValue, Ask, AxisValue, Plan
from tripos_compiler.source.text import Source
from tripos_compiler.source.tree import Block, Entry, Name
from tripos_compiler.syntax.parser import parse
from tripos_warehouse import sql
from tripos_warehouse.errors import StoreError
from tripos_warehouse.files import code_version
from tripos_warehouse.measures.confusion import figure_tables, tables_json
from tripos_warehouse.measures.directions import is_lower_better
from tripos_warehouse.measures.items import KEPT, analysed_items, items_json
from tripos_warehouse.measures.measure_rows import SEQUENCE
from tripos_warehouse.query.connection import Connection
from tripos_warehouse.query.results import run_query
from tripos_warehouse.report.comparison import RunSide, Section, changes_between, compare, verdicts
from tripos_warehouse.report.history import histories_of
from tripos_warehouse.report.leaderboard import Board, board_notes, board_verdict, boards_of_run, leaderboard
from tripos_warehouse.report.result_tables import filled_in_languages
from tripos_warehouse.report.run_report import Report, evaluators_of, report
from tripos_warehouse.report.text import opening_sentences
from tripos_warehouse.store.derived import is_as_named, write_named
from tripos_warehouse.store.paths import is_plain, lies_in
from tripos_warehouse.store.schemas import HUMAN, MOST_NAME_BYTES, MOST_NAME_CHARACTERS, NAME_SIGNS, NOTES
from tripos_warehouse.store.store import Store
from tripos_warehouse.tables.data import page_json
from tripos_warehouse.tables.model import Table
from tripos_warehouse.tables.render import RENDERERS, RenderOptions
from tripos_warehouse.views.connect import connect, connect_run, copied_scores
from tripos_warehouse.views.notes import FLAGS, LONGEST_TEXT, standing
from tripos_warehouse.views.runs import RunRecord, all_runs, get_plan, get_selected, list_runs


def section_json(section: Section, tests: int) -> dict[str, Any]:
    """Return the rows of a section of a comparison with their verdicts. `tests` is the number of tests of the whole
    comparison."""
    return {
        "kind": section.kind,
        "rows": [
            {
                "name": row.name,
                "of": row.of,
                "names": dict(row.names),
                "labels": dict(row.labels),
                "a": row.a,
                "b": row.b,
                "difference": row.difference.value,
                "low": row.difference.low,
                "high": row.difference.high,
                "p": row.p,
                "q": row.q,
                "method": SEQUENCE if row.by_sequence else None,
                "lower_is_better": row.lower_is_better,
                "verdict": verdict,
            }
            for row, verdict in zip(section.rows, verdicts(section, tests), strict=True)
        ],
    }


def time_json(value: datetime | None) -> str | None:
    """Return a time of the store in ISO 8601."""
    return None if value is None else value.isoformat() + "Z"


def board_json(board: Board) -> dict[str, Any]:
    """Return a board with its verdict and its notes."""
    return {
        **board.to_json(),
        "verdict": board_verdict(board),
        "notes": [board_note.text for board_note in board_notes(board)],
    }


def headline_figures(connection: Connection) -> dict[str, list[dict[str, Any]]]:
    """Return the figures by model that runs stored at their end, by run."""
    found: dict[str, list[dict[str, Any]]] = {}
    query = """select run_id, measure, model, value, low, high, n, total from main.measures where dims = '{}'
      order by measure, value desc, model"""
    for run, measure, model, value, low, high, n, total in connection.execute(query).fetchall():
        figure = {"measure": measure, "model": model, "value": value, "low": low, "high": high, "n": n, "total": total}
        found.setdefault(run, []).append(figure)
    return found


def readable_plans(connection: Connection, runs: Iterable[RunRecord]) -> dict[str, Plan]:
    """Return the plans of runs by digest, without those of unknown formats."""
    plans: dict[str, Plan] = {}
    for run in runs:
        if run.plan_digest not in plans:
            with suppress(StoreError):
                plans[run.plan_digest] = get_plan(connection, run)
    return plans


def uses_own_aggregates(plans: Iterable[Plan]) -> bool:
    """Return true if measures use the user's own functions, so that their values depend on more than the store."""
    return any(plugin.aggregate for plan in plans for plugin in plan.plugins)


def headline_of(plan: Plan | None, figures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the figures of a plan's headline, in its order."""
    order = [] if plan is None else list(plan.benchmark.headline)
    found = [figure for figure in figures if figure["measure"] in order]
    return sorted(found, key=lambda each: order.index(each["measure"]))


# Translations
LONGEST = 400
"""Maximum characters of a sentence to translate. A longer one comes from a spec or a model, and would be slow to look
up."""
SENTENCES = frozenset({"opening", "notes", "text", "reason", "verdict", "changes", "message", "hint", "of", "remark"})
"""The keys of a JSON file whose texts are Tripos's own."""


def translations(made: Any) -> dict[str, dict[str, str]]:
    """Return the translations of all sentences in a JSON value by language, if they differ.

    >>> translations({"status": "stopped", "notes": ["run r1 is stopped, so some is missing"]})
    {'zh': {'run r1 is stopped, so some is missing': '运行 r1 已停止，因此缺少一部分'}}
    """
    sentences = dict.fromkeys(_sentences(made))
    found = {
        language: {text: told for text in sentences if (told := localized(text, language)) != text}
        for language in LANGUAGES
    }
    return {language: texts for language, texts in found.items() if texts}


def _sentences(value: Any, ours: bool = False) -> Iterator[str]:
    if isinstance(value, str):
        if ours and len(value) <= LONGEST and "\n" not in value:
            yield value
    elif isinstance(value, dict):
        for key, each in value.items():
            yield from _sentences(each, key in SENTENCES)
    elif isinstance(value, list | tuple):
        for each in value:
            yield from _sentences(each, ours)


# The text of the spec
DECLARING = frozenset(
    ("measure", "metric", "scenario", "axis", "arm", "role", "scorer", "dataset", "dimension", "allocate", "export")
)
"""The statements that a page links to."""


def spec_file(plan: Plan, kept: str | None) -> dict[str, Any]:
    """Return the file of a spec: `files`, `places` (the kind, name, file and lines of each declaration), `measures` and
    the `labels` of their aggregates by language. The first two are empty for an older run without text."""
    files = [load for load in orjson.loads(kept or "[]") if load["text"] is not None]
    missing = [load["path"] for load in orjson.loads(kept or "[]") if load["text"] is None]
    return {
        "files": files,
        "missing": missing,
        "places": [place for file in files for place in _places(file["path"], file["text"])],
        "measures": [measure.model_dump(mode="json") for measure in plan.measures],
        "labels": _labels(plan),
    }


def _labels(plan: Plan) -> dict[str, dict[str, str]]:
    """Return what the aggregates of a plan are called, by their name and the language. Functions of the user have their
    name alone."""
    measures = measures_of(plan)
    names = {aggregate.function for measure in plan.measures for aggregate in aggregates_of(measure.figure, measures)}
    declared = [AGGREGATES[name] for name in sorted(names & set(AGGREGATES))]
    return {aggregate.name: {"en": aggregate.label, "zh": aggregate.chinese} for aggregate in declared}


def _places(path: str, text: str) -> Iterator[dict[str, Any]]:
    """Yield the declarations of a file. Parts that the parser does not know are skipped."""
    source = Source(path, text)
    for entry, within in _entries(parse(source, Diagnostics()), ""):
        match entry.elements:
            case (Name(text=kind), Name(text=name), *_) if kind in DECLARING:
                first, _ = source.position(entry.span.start)
                last, _ = source.position(max(entry.span.start, entry.span.end - 1))
                yield {"kind": kind, "name": f"{within}{name}", "path": path, "from": first, "to": last}


def _entries(block: Block, within: str) -> Iterator[tuple[Entry, str]]:
    """Yield every statement with the prefix of the names that it declares."""
    for entry in block.entries():
        yield entry, within
        if entry.block is not None:
            match entry.elements:
                case (Name(text="scenario"), Name(text=name), *_):
                    yield from _entries(entry.block, f"{name}.")
                case (Name(text="dimension"), *_):
                    yield from _entries(entry.block, within)


def _titles(plan: Plan | None) -> dict[str, Any]:
    """Return the titles of the parts of a benchmark in every language as JSON values, and its languages."""
    if plan is None:
        return {"titles": {}, "languages": []}
    titles = {kind: dict(names) for kind, names in plan.titles.items()}
    return {"titles": titles, "languages": list(plan.benchmark.languages)}


def describe(plan: Plan) -> dict[str, Any]:
    """Return the names in a plan as JSON values, with each title in every language."""
    benchmark = plan.benchmark
    return {
        "name": benchmark.name,
        "version": benchmark.version,
        "title": benchmark.title,
        **_titles(plan),
        "license": benchmark.license,
        "cites": list(benchmark.cites),
        "headline": list(benchmark.headline),
        "lower_is_better": [measure.name for measure in plan.measures if is_lower_better(plan, measure)],
        "roles": [{"name": role.name, "kind": role.kind} for role in plan.roles],
        "axes": [_dimension(axis.name, axis.values) for axis in plan.axes],
        "arms": [_dimension(arm.name, arm.values) for arm in plan.arms],
        "metrics": [
            {
                "name": metric.name,
                "title": dict(metric.title),
                "dimension": metric.dimension,
                "low": metric.low,
                "high": metric.high,
                "asks": dict(metric.asks),
                "levels": [{"low": level.low, "high": level.high, "text": dict(level.text)} for level in metric.levels],
            }
            for metric in plan.metrics
        ],
        "scenarios": [
            {
                "name": scenario.name,
                "title": scenario.title,
                "axes": list(scenario.axes),
                "arms": list(scenario.arms),
                "rows": scenario.row_count,
                "steps": [
                    {"name": step.name, "kind": step.step, "role": step.role if isinstance(step, Ask) else None}
                    for step in scenario.steps
                ],
            }
            for scenario in plan.scenarios
        ],
        "tables": [table.name for table in plan.tables],
        "scorers": [{"name": scorer.name, "role": scorer.role, "blind": scorer.blind} for scorer in plan.scorers],
    }


def names_of_run(plan: Plan | None, run: RunRecord) -> dict[str, Any]:
    """Return the title of a run's benchmark, or its name if the plan cannot be read."""
    if plan is None:
        return {"title": run.benchmark, "titles": {}, "languages": []}
    titles = plan.titles.get("benchmark", {}).get(run.benchmark, {})
    return {"title": plan.benchmark.title, "titles": titles, "languages": list(plan.benchmark.languages)}


def _dimension(name: str, values: Sequence[AxisValue | ArmValue]) -> dict[str, Any]:
    return {"name": name, "values": [{"name": value.name, "labels": dict(value.labels)} for value in values]}


# Tables of results
def _shown_tables(language: str, tables: Sequence[Table]) -> list[dict[str, Any]]:
    """Return tables as a page in a language shows them."""
    with reading_in(language):
        return [{**page_json(table.in_chosen_language()), **_copies(table)} for table in tables]


def _copies(table: Table) -> dict[str, Any]:
    """Return what a page lets readers copy: the table in other formats."""
    return {"copies": {form: RENDERERS[form]([table], RenderOptions()) for form in ("latex", "csv", "md")}}


# The cache
MOST_STATES = 3
"""Number of cached states: a page that reads the tables of one can continue after the store has grown."""


def state_of(store: Store) -> str:
    """Return the name of a store's state for this installation. It changes with every commit, except those of notes."""
    digest = hashlib.blake2b(
        f"{store.root}\n{code_version('tripos.view')}\n{reader_language()}".encode(), digest_size=8
    )
    names = sorted(str(path) for table, paths in store.files().items() if table != NOTES.name for path in paths)
    digest.update("\n".join(names).encode())
    return digest.hexdigest()


class FileCache:
    """A cache of files by state and path: in `lasting` if that folder is writable, and else in `folder`, which is
    deleted with the process."""

    def __init__(self, folder: Path, lasting: Path | None = None) -> None:
        self._folders = [path.parent.resolve() / path.name for path in (lasting, folder) if path is not None]
        self._states: set[str] = set()
        self._verified: dict[Path, int] = {}
        """The modification time of each file whose content was checked against its name."""

    def find(self, state: str, path: str) -> Path | None:
        """Return the path of a valid cached file, or None."""
        for folder in self._folders:
            place, candidates = folder / state / path, list[Path]()
            with suppress(OSError):  # a name that is too long for a file
                candidates = sorted(place.parent.glob(f"{glob.escape(place.name)}.*"))
            for found in candidates:
                with suppress(OSError):
                    if is_plain(found) and lies_in(folder, found) and self._is_whole(found, place.name):
                        return found
        return None

    def _is_whole(self, path: Path, name: str) -> bool:
        written_at = path.stat().st_mtime_ns
        if self._verified.get(path) != written_at:
            if not is_as_named(path, name):
                return False
            self._verified[path] = written_at
        return True

    def read(self, state: str, path: str) -> bytes | None:
        """Return the content of a cached file, or None."""
        found = self.find(state, path)
        with suppress(OSError):
            return None if found is None else found.read_bytes()
        return None

    def write(self, state: str, path: str, make: Callable[[Path], object], *, lasts: bool = True) -> Path:
        """Write a file atomically with `make`, which gets its path, and return the final path. `lasts` allows other
        processes to use it. Raises `OSError`, and what `make` raises."""
        *lasting, temporary = self._folders
        if lasts and lasting:
            with suppress(OSError):
                return self._write(lasting[0], state, path, make)
        return self._write(temporary, state, path, make)

    def _write(self, folder: Path, state: str, path: str, make: Callable[[Path], object]) -> Path:
        place = folder / state / path
        place.parent.mkdir(parents=True, exist_ok=True)
        if not lies_in(folder, place):
            raise OSError(f"`{place.parent}` leads out of `{folder}`")
        self._forget(folder, state)
        return write_named(place, make)

    def _forget(self, folder: Path, state: str) -> None:
        """Delete the oldest states, once for each new state."""
        if state in self._states:
            return
        self._states.add(state)
        with suppress(OSError):
            os.utime(folder / state)
            ages = {path: path.lstat().st_mtime_ns for path in folder.iterdir() if not path.is_symlink()}
            for old in sorted(ages, key=lambda path: ages[path])[:-MOST_STATES]:
                shutil.rmtree(old, ignore_errors=True)


# The files
FORMAT = "tripos.view/1"
RUN_FILES = ("about", "first", "report", "boards", "judges", "items", "confusion", "result_tables", "spec")
"""The JSON files of a run besides `tables.json`."""
MOST_OPEN = 2
"""Number of runs that stay open: a comparison needs two."""
_RUN = r"(?P<run>[\w.-]+)"
_TABLE = re.compile(rf"runs/{_RUN}/(?P<state>[0-9a-f]+)/(?P<table>{'|'.join(TABLES)})\.parquet")
_PREFETCHED = ("marks", "scores", "judgements")
"""Tables that are not needed at first."""
_SLOW = re.compile(r"benchmarks/.*|compare/.*|runs/[^/]*/(report|boards|items|confusion|result_tables)\.json")
"""Files that are slow for many scores; the same ones contain translated sentences."""
_COMPARED = re.compile(r"compare/(?P<a>[\w.-]+)\.(?P<m>\d+)~(?P<b>[\w.-]+)\.(?P<n>\d+)\.json")


_NOTES = re.compile(rf"runs/{_RUN}/notes\.json")


class NotesAccess(NamedTuple):
    """The way of new notes of a page: they go to the `store` through its server, stay in the `browser`, or cannot be
    written. With a `name`, they are all of this person. Without `shows_stored`, the page has none of the store."""

    kept: Literal["store", "browser"] | None = None
    name: str | None = None
    shows_stored: bool = True


class OpenRun(NamedTuple):
    """A run, and a connection that shows only this run."""

    connection: Connection
    run: RunRecord
    plan: Plan
    tables: list[RunTables]
    """The maker of its tables, once it is needed."""
    reports: list[Report]
    """Its report, once it is needed."""


class WorkLane:
    """A queue of requests with its own open runs. A report over a million scores is slow, and must not delay the
    samples."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.open: OrderedDict[tuple[str, str], tuple[ExitStack, OpenRun]] = OrderedDict()

    def close(self) -> None:
        with self.lock:
            while self.open:
                self.open.popitem()[1][0].close()


class ViewFiles:
    """The files of a view of `store`, cached in `folder`, or in `lasting` for other processes. Thread-safe.

    `reports` are existing reports by run. Without `notes`, the page shows no notes of people. Every method that makes a
    file raises `StoreError`: S0301 for an unknown run, and others as the warehouse does.
    """

    def __init__(
        self,
        store: Callable[[], Store],
        folder: Path,
        reports: Mapping[str, Report] = MappingProxyType({}),
        lasting: Path | None = None,
        notes: NotesAccess | None = None,
    ) -> None:
        self._notes_access = notes
        self._store = store
        self._files = FileCache(folder, lasting)
        self._reports = reports
        self._complete = True
        self._quick, self._slow, self._ahead = WorkLane(), WorkLane(), WorkLane()

    def close(self) -> None:
        """Close all connections. A later request opens the store again."""
        for lane in (self._quick, self._slow, self._ahead):
            lane.close()

    def state(self) -> str:
        """Return the name of the store's state (`state_of`)."""
        return state_of(self._store())

    def json(self, path: str) -> bytes | None:
        """Return a JSON file, or None for an unknown path."""
        state = self.state()
        if ".." in path:
            return None
        if (noted := _NOTES.fullmatch(path)) is not None:
            with self._quick.lock:
                found = self._notes(noted["run"], state)
                return None if found is None else orjson.dumps(found)
        with (self._slow if _SLOW.fullmatch(path) else self._quick).lock:
            if (kept := self._files.read(state, path)) is not None:
                return kept
            if (made := self._json(path, state)) is None:
                return None
            if _SLOW.fullmatch(path):
                made["said"] = translations(made)
            data = orjson.dumps(made, option=orjson.OPT_NON_STR_KEYS)
            self._files.write(state, path, lambda place: place.write_bytes(data), lasts=self._complete)
            return data

    def medium(self, sha256: str) -> bytes | None:
        """Return the content of a file that a model was shown, or None."""
        return media_store(self._store()).load(sha256)

    def shown(self, run_id: str) -> set[str]:
        """Return the digests of the images and other files that the models of a run were shown."""
        found: set[str] = set()
        for about in self.tables(run_id)["tables"].values():
            place = self.table(about["path"])
            if place is not None and "messages" in pq.read_schema(place).names:
                for text in pq.read_table(place, columns=["messages"])["messages"].to_pylist():
                    found.update(medium.sha256 for medium in media_in(text or ""))
        return found

    def table(self, path: str) -> Path | None:
        """Return the path of a table, which is made if needed, or None for an unknown path."""
        match = _TABLE.fullmatch(path)
        if match is None or ".." in path:
            return None
        run, state, table = match["run"], match["state"], match["table"]
        if (found := self._files.find(state, path)) is not None or state != self.state():
            return found
        lane = self._ahead if table in _PREFETCHED else self._quick
        with lane.lock:
            try:
                return self._files.find(state, path) or self._write(run, state, table, lane)
            except StoreError as error:
                if error.code == "S0301":
                    return None
                raise

    def tables(self, run: str) -> dict[str, Any]:
        """Return the content of `tables.json` after making all tables of the run, for an export."""
        told: dict[str, Any] = orjson.loads(self.json(f"runs/{run}/tables.json") or b"{}")
        for each in told["tables"].values():
            path = self.table(each["path"])
            assert path is not None
            each.update(rows=pq.read_metadata(path).num_rows, bytes=path.stat().st_size)
        return told

    def _json(self, path: str, state: str) -> Any:
        if path == "index.json":
            return self._index(state)
        if match := re.fullmatch(r"benchmarks/(\w+)\.json", path):
            return self._benchmark(match[1])
        if match := re.fullmatch(rf"runs/{_RUN}/(?P<what>{'|'.join(RUN_FILES)}|tables)\.json", path):
            make = {
                "about": self._about,
                "first": self._first,
                "report": self._report,
                "boards": self._boards,
                "judges": self._judges,
                "items": self._items,
                "confusion": self._confusion,
                "result_tables": self._result_tables,
                "spec": self._spec,
                "tables": self._tables,
            }
            return make[match["what"]](match["run"], state)
        if match := _COMPARED.fullmatch(path):
            return self._comparison(match["a"], int(match["m"]), match["b"], int(match["n"]), state)
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
            "notes": self._notes_access is not None,
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
            plans = readable_plans(connection, mine)
            self._complete = self._complete and not uses_own_aggregates(plans.values())
            boards = leaderboard(connection, runs, benchmarks=[name], comparable=are_comparable)
            measures = list(dict.fromkeys(board.measure.name for board in boards))
            history = [measure_history.to_json() for measure_history in histories_of(store, connection, name, measures)]
        latest = next((plans[run.plan_digest] for run in mine if run.plan_digest in plans), None)
        return {"boards": [board_json(board) for board in boards], "history": history, **_titles(latest)}

    def _opened(self, run: str, state: str, lane: WorkLane | None = None) -> OpenRun:
        """Return a connection that shows a run, and keep it open for further requests."""
        opened = (lane or self._quick).open
        key = run, state
        if key not in opened:
            for old in [each for each in opened if each[1] != state] or list(opened)[: 1 - MOST_OPEN]:
                opened.pop(old)[0].close()
            with ExitStack() as closed:
                store = self._store()
                connection, record = connect_run(store, run)
                # A damaged store reports its skipped parts when it is opened; a lasting file would hide them.
                self._complete = self._complete and not store.damages
                closed.enter_context(closing(connection))
                plan = get_selected(connection, record)
                self._complete = self._complete and not uses_own_aggregates([plan])
                opened[key] = closed.pop_all(), OpenRun(connection, record, plan, [], [])
        opened.move_to_end(key)
        return opened[key][1]

    def _about(self, run: str, state: str) -> dict[str, Any]:
        connection, record, plan, *_ = self._opened(run, state)
        query = f"select distinct metric::varchar, evaluator from {sql.name(record.benchmark)}.scores order by all"
        pairs = connection.execute(query).fetchall()
        places, metrics = metric_ranks(plan), {metric for metric, _ in pairs}
        opening = opening_sentences(record, plan, evaluators_of(connection, record.benchmark))
        return {
            "run": {"run_id": record.run_id, "models": record.models, "roles": record.roles},
            "state": state,
            "about": describe(plan),
            "opening": opening,
            "said": translations({"opening": opening}),
            "metrics": sorted(metrics, key=lambda metric: (places.get(metric, len(places)), metric)),
            "evaluators": sorted({evaluator for _, evaluator in pairs if evaluator is not None}),
        }

    def _report(self, run: str, state: str) -> dict[str, Any]:
        opened = self._opened(run, state, self._slow)
        with copied_scores(opened.connection, opened.run.benchmark):
            return {
                **self._reported(run, opened).to_json(),
                "state": state,
                "grid": grid_means(opened.connection, opened.plan),
                "axes": axis_means(opened.connection, opened.plan),
            }

    def _reported(self, run: str, opened: OpenRun) -> Report:
        """Return the report of an open run, which its page and its tables share."""
        if run in self._reports:
            return self._reports[run]
        if not opened.reports:
            opened.reports.append(report(opened.connection, opened.plan, opened.run))
        return opened.reports[0]

    def _result_tables(self, run: str, state: str) -> dict[str, Any]:
        """Return the tables that the benchmark declares: in its first language, and `titled` in every language that a
        reader may choose."""
        opened = self._opened(run, state, self._slow)
        declared, plan = opened.plan.tables, opened.plan
        languages = list(dict.fromkeys((*plan.title_languages, *LANGUAGES))) if declared else []
        tables: list[list[Table]] = []
        if declared:
            with copied_scores(opened.connection, opened.run.benchmark):
                report_ = self._reported(run, opened)
                tables = filled_in_languages(opened.connection, report_, declared, languages)
        titled = dict(zip(languages, map(_shown_tables, languages, tables), strict=True))
        return {"state": state, "tables": titled[languages[0]] if languages else [], "titled": titled}

    def _boards(self, run: str, state: str) -> dict[str, Any]:
        connection, record, *_ = self._opened(run, state, self._slow)
        boards = boards_of_run(connection, record, are_comparable)
        return {"state": state, "boards": [board_json(board) for board in boards]}

    def _judges(self, run: str, state: str) -> dict[str, Any]:
        connection, record, plan, *_ = self._opened(run, state)
        schema = sql.name(record.benchmark)
        agreement = run_query(connection, f"from {schema}.agreement(per := 'metric')").to_pylist()
        return {
            "state": state,
            "agreement": agreement,
            "severity": judge_means(connection, plan),
            "preference": judge_means(connection, plan, "model"),
            "position": position_shares(connection, plan),
        }

    def _items(self, run: str, state: str) -> dict[str, Any]:
        opened = self._opened(run, state, self._slow)
        return {"state": state, **items_json(analysed_items(opened.connection, opened.plan), KEPT)}

    def _confusion(self, run: str, state: str) -> dict[str, Any]:
        opened = self._opened(run, state, self._slow)
        return {"state": state, **tables_json(figure_tables(opened.connection, opened.plan))}

    def _spec(self, run: str, state: str) -> dict[str, Any]:
        connection, record, plan, *_ = self._opened(run, state)
        query = "select spec from main.runs where run_id = ?"
        [(kept,)] = connection.execute(query, [record.run_id]).fetchall()
        return {"state": state, **spec_file(plan, kept)}

    def _first(self, run: str, state: str) -> dict[str, Any]:
        tables = self._tables_of(run, state, self._quick)
        return {"state": state, "dimensions": tables.dimensions, **tables.first()}

    def _notes(self, run: str, state: str) -> dict[str, Any] | None:
        """Return the standing notes on the replies of a run, each with the places of its reply in the run's tables;
        None if the page shows no notes."""
        access = self._notes_access
        if access is None:
            return None
        notes = standing(self._store()) if access.shows_stored else []
        places = self._tables_of(run, state, self._quick).noted(notes) if notes else []
        return {
            "state": state,
            "rules": {
                "flags": FLAGS,
                "text": LONGEST_TEXT,
                "name": {"signs": NAME_SIGNS, "characters": MOST_NAME_CHARACTERS, "bytes": MOST_NAME_BYTES},
            },
            "kept": access.kept,
            "name": access.name,
            "notes": [
                {
                    "rows": rows,
                    "outdated": outdated,
                    "note_id": note["note_id"],
                    "sample_id": note["sample_id"],
                    "name": note["noted_by"].removeprefix(HUMAN),
                    "flag": note["note_flag"],
                    "text": note["note_text"],
                    "at": time_json(note["created_at"]),
                }
                for note, (rows, outdated) in zip(notes, places, strict=True)
                if rows
            ],
        }

    def _tables(self, run: str, state: str) -> dict[str, Any]:
        """Return the paths of the tables. Only `samples`, which every page needs, is made at once; the sizes of the
        others are unknown until they are requested."""
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

    def _tables_of(self, run: str, state: str, lane: WorkLane) -> RunTables:
        connection, record, plan, tables, _ = self._opened(run, state, lane)
        if not tables:
            tables.append(RunTables(connection, plan, record.compared_role))
        return tables[0]

    def _write(self, run: str, state: str, table: str, lane: WorkLane) -> Path:
        """Write a table, and return its path. Raises `StoreError` S0301 unless `run` is the full id of a run."""
        tables = self._tables_of(run, state, lane)
        if run != (whole := self._opened(run, state, lane).run.run_id):
            raise StoreError("S0301", f"there is no run `{run}`", f"name `{whole}`")
        path = f"runs/{run}/{state}/{table}.parquet"
        return self._files.write(state, path, lambda place: tables.write(table, place), lasts=self._complete)

    def _comparison(self, a: str, m: int, b: str, n: int, state: str) -> dict[str, Any] | None:
        one, run_a, plan_a, *_ = self._opened(a, state, self._slow)
        two, run_b, plan_b, *_ = self._opened(b, state, self._slow)
        if m >= len(run_a.models) or n >= len(run_b.models):
            return None
        sides = (
            RunSide(one, plan_a, (run_a.models[m],), run_a),
            RunSide(two, plan_b, (run_b.models[n],), run_b),
        )
        about = {
            "a": {"run_id": run_a.run_id, "models": [run_a.models[m]]},
            "b": {"run_id": run_b.run_id, "models": [run_b.models[n]]},
        }
        try:
            changes, by_judge = changes_between(*sides)
            comparison = compare(*sides, by_judge=by_judge)
        except StoreError as error:
            told = {"code": error.code, "message": error.message, "hint": error.hint}
            return {**about, "error": told}
        return {
            **about,
            "changes": [str(change) for change in changes],
            "pairs": comparison.pairs,
            "items": comparison.items,
            "only_a": comparison.only_a,
            "only_b": comparison.only_b,
            "unpaired": [{"name": name, "reason": reason} for name, reason in comparison.unpaired],
            "cautions": list(comparison.cautions),
            "sections": [section_json(section, comparison.tests) for section in comparison.sections],
        }
