"""`tripos import` and `tripos approve`: scores, replies, data sets, logs, tasks and trees from elsewhere.

Logs of other tools become runs of a generated spec, tasks of lm-eval, Inspect and promptfoo become specs, and outlines
become trees. Parts that could not be read or translated are reported.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tripos.cli.context import Context, Outcome, Output, Remark, show_diagnostics
from tripos.cli.init import STATEMENT_NAME, added_text, apply_insertions, extend_spec, insert_below, own_sources
from tripos.cli.tables import printed_lines
from tripos.files import writing
from tripos.importing.logs.opening import IMPORTERS, find_logs, open_logs
from tripos.importing.logs.runs import CollectedLog, LogCollector, LogRecorder
from tripos.importing.logs.spec_text import identifier, spec_of
from tripos.importing.rows import FileRows, RowError, parse_constants, read_mapping, read_table, report_row_errors
from tripos.importing.tasks.shapes import CODE
from tripos.importing.trees import approve, check_suffix, check_tree, format_tree, read_outline
from tripos.settings.options import (
    DATA,
    OUTPUT,
    REPLACE,
    STORE,
    ApproveParameters,
    ImportDatasetParameters,
    ImportLogsParameters,
    ImportScoresParameters,
    ImportTaskParameters,
    ImportTreeParameters,
)
from tripos.settings.trust import refuse_if_untrusted
from tripos.source_files import SourceFile, SourceFolder
from tripos.terminal import message, show_message
from tripos_compiler.diagnostics.i18n import localized
from tripos_compiler.diagnostics.text_format import counted, not_utf8
from tripos_compiler.editing.formatter import format_text
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.files import write_atomically
from tripos_compiler.library.functions.trees import ParsedTree
from tripos_compiler.lowering.declarations import DRAFT
from tripos_warehouse.report.remarks import own_figure_text
from tripos_warehouse.store.locks import IMPORT, Locks, lock_offset
from tripos_warehouse.tables.model import Column

if TYPE_CHECKING:
    from tripos.importing.datasets import ProposedDataset
    from tripos.importing.logs.runs import LogRun
    from tripos.importing.logs.spec_text import LogSpec
    from tripos.importing.scores import ScoreImport
    from tripos.importing.spec_text import ImportedTask
    from tripos.importing.tasks.lm_eval import TaskFile
    from tripos.importing.trees import DraftedTree
    from tripos.runs.compilation import SpecSource
    from tripos_compiler.compile import Compilation
    from tripos_compiler.plan import Plan
    from tripos_runtime.datasets.cases import CaseSource
    from tripos_warehouse.ledger.imported_scores import ImportedScore
    from tripos_warehouse.store.store import Store


COUNTS = {
    "new": "new",
    "changed": "changed",
    "same": "in the store already",
    "repeated": "given again by other rows about the same reply, with the same value: counted once",
    "blank": "blank",
}
"""The counts of an import with their descriptions, in printed order."""
MOST_NAMES = 3
MOST_CHANGED = 20


def main(context: Context) -> Outcome:
    """Import `scores`, `samples`, `logs`, a `tree`, a `dataset` or a `task`."""
    importers = {
        "scores": _import_scores,
        "samples": _import_samples,
        "logs": import_logs,
        "tree": import_tree,
        "dataset": import_dataset,
        "task": import_task,
    }
    return importers[context.options.action](context)


# Scores and replies
def _import_scores(context: Context) -> Outcome:
    from tripos.importing.scores import read_scores
    from tripos_warehouse.ledger.imported_scores import exclusive_import
    from tripos_warehouse.views.connect import connect_run
    from tripos_warehouse.views.runs import get_plan

    options = context.options
    table = _table(context, {"evaluator": options.evaluator, "round": options.round})
    store = context.store(writes=True)
    connection, run = connect_run(store, options.run)
    with connection:
        scores = read_scores(table, get_plan(connection, run), run, connection)
    with nullcontext() if options.dry_run else exclusive_import(store):
        return _write_scores(options, store, run.run_id, table, scores)


def _write_scores(options: Namespace, store: Store, run_id: str, table: FileRows, scores: ScoreImport) -> Outcome:
    """Write new scores if there is no objection, and return the counts."""
    from tripos.annotation.carry_over import carry_to_other_runs
    from tripos_warehouse.ledger.imported_scores import changed_rows, compare_with_store

    change = compare_with_store(store, scores.scores)
    summary: dict[str, Any] = {
        "run_id": run_id,
        "source": table.source,
        "rows": len(table.records),
        "scores": len(scores.scores),
        "replies": len({score.sample["sample_id"] for score in scores.scores}),
        "evaluators": sorted({score.evaluator for score in scores.scores}),
        "blank": scores.blank,
        "repeated": scores.repeated,
        "unused_columns": list(scores.unused),
        "new": len(change.new),
        "changed": len(change.changed),
        "same": len(change.same),
        "changes": [_change(score, was) for score, was in change.changed],
    }

    def write() -> bool:
        own = ("evaluator", "round")
        skip, rows = options.skip_rejected, len(table.records)
        report_row_errors(scores.rejected, rows, options.rejected, skip=skip, what="score", options=own)
        if change.changed and not options.replace:
            _show_changed(change.changed)
            many = len(change.changed)
            raise TriposError(
                "S0505",
                f"{many:,} of {len(scores.scores):,} scores {'is' if many == 1 else 'are'} in the store already, and"
                f" {'another' if many == 1 else 'others'} than here",
                f"use `{REPLACE}` to replace the scores, or `{ImportScoresParameters.round} 2` to keep both",
                ExitCode.SOME_FAILED,
            )
        if options.dry_run or not (change.new or change.changed):
            return False
        store.append(changed_rows(change, table.source, store.next_time()))
        carry_to_other_runs(store, change.fresh)
        return True

    return _outcome(options, summary, scores.rejected, write, _score_lines(summary))


def _import_samples(context: Context) -> Outcome:
    from tripos.importing.replies import record, role_flags
    from tripos.releases.frozen import restore_given
    from tripos_runtime.datasets.cases import CaseSource

    options = context.options
    table = _table(context, {"model": options.model})
    spec = context.compiled(options.path)
    source = CaseSource(spec.plan, spec.folders, tuple(source.path for source in spec.compilation.sources))
    restore_given(source, options.path, spec.compilation.releases)
    command, released = _run_command(options), spec.compilation.release_folders
    roles = role_flags(options.role)
    prepared = record(table, spec.plan, source, context.config, roles, spec.main.parent, command, released)

    def write() -> bool:
        skip, rows = options.skip_rejected, len(table.records)
        report_row_errors(prepared.rejected, rows, options.rejected, skip=skip, what="reply", options=("model",))
        return not options.dry_run and prepared.commit()

    return _outcome(options, prepared.summary, prepared.rejected, write, _reply_lines(prepared.summary))


def _run_command(options: Namespace) -> list[str]:
    """Return the command that runs the spec into the same store."""
    folders = [word for folder in options.data for word in (DATA.flag, folder)]
    return ["tripos", "run", options.path, *folders, *([STORE.flag, options.store] if options.store else [])]


def _table(context: Context, constants: Mapping[str, object]) -> FileRows:
    options = context.options
    own = {name: value for name, value in constants.items() if value is not None}
    mapping = read_mapping(options.mapping, options.column, {**parse_constants(options.set), **own}, options.each)
    refuse_if_untrusted(context.trust, outside=options.allow_outside)
    return read_table(options.file, mapping, context.trust, outside=options.allow_outside)


def _outcome(
    options: Namespace,
    summary: dict[str, Any],
    rejected: Sequence[RowError],
    write: Callable[[], bool],
    lines: Iterable[str],
) -> Outcome:
    """Write the rows of an import, and return the outcome: the summary, also if they are refused."""
    failure = None
    summary["imported"] = False
    try:
        summary["imported"] = write()
    except TriposError as error:
        failure = error
    summary |= {"dry_run": options.dry_run, "rejected": [error.to_json() for error in rejected]}
    return Outcome(lambda: summary, () if failure else lines, failure=failure)


def _score_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    by = _listed(summary["evaluators"])
    yield message(f"{counted(summary['scores'], 'score')} of {counted(summary['replies'], 'reply')} by {by}")
    yield from _count_lines(summary, "score")


def _reply_lines(summary: Mapping[str, Any]) -> Iterator[str]:
    by = _listed(summary["models"])
    yield message(f"{counted(summary['replies'], 'reply')} to {counted(summary['items'], 'item')} by {by}")
    yield from _count_lines(summary, "reply")
    for name, count in summary["unmade"].items():
        yield message(f"{counted(count, 'row')} of `{name}` {'is' if count == 1 else 'are'} yet to be made")


def _count_lines(summary: Mapping[str, Any], noun: str) -> Iterator[str]:
    for name, words in COUNTS.items():
        if summary.get(name):
            yield f"{summary[name]:>8,} {localized(words)}"
    if summary["unused_columns"]:
        line = f"columns not used: {', '.join(summary['unused_columns'])}"
        yield message(line.replace("\n", " "))
    if summary["imported"]:
        yield message(f"imported, for run {summary['run_id']}: `tripos report` takes them in")
    else:
        yield message("nothing was written" if summary["dry_run"] else f"no {noun} is new: nothing was written")


def _change(score: ImportedScore, was: float | str | None) -> dict[str, Any]:
    about = {name: score.sample[name] for name in ("sample_id", "scenario", "item_id", "model")}
    by = {"metric": score.metric, "evaluator": score.evaluator, "round": score.round}
    return {**about, **by, "was": was, "value": score.value if score.name is None else score.name}


def _show_changed(changed: Sequence[tuple[ImportedScore, float | str | None]]) -> None:
    for score, was in changed[:MOST_CHANGED]:
        about = f"{score.sample['scenario']} {score.sample['item_id'][:8]}, {score.sample['model']}: {score.metric}"
        value = score.value if score.name is None else score.name
        now, before = _format_value(value), _format_value(was)
        if was == value:
            show_message(f"{about} is {now} as before, with another rationale", stderr=True)
        elif was is None:
            show_message(f"{about} was nothing, is {now}", stderr=True)
        else:
            show_message(f"{about} was {before}, is {now}", stderr=True)
    if len(changed) > MOST_CHANGED:
        show_message(f"and {len(changed) - MOST_CHANGED:,} more", stderr=True)


def _format_value(value: float | str | None) -> str:
    return f"{value:g}" if isinstance(value, float | int) else str(value)


def _listed(names: Sequence[str]) -> str:
    """Return the first few names in one line.

    >>> _listed(["a", "b", "c", "d", "e"]), _listed([])
    ('a, b, c and 2 more', 'nobody')
    """
    rest = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "") if names else "nobody"


UNSAVED = "spec.tripos"
"""The file name assumed for the spec of a printed data set, in the current folder."""


# Data sets
def import_dataset(context: Context) -> Outcome:
    """Return a data set declaration for a source, or add it to a spec. Rows that were fetched or queried are written
    next to it."""
    from tripos.importing.datasets import DATABASES

    options = context.options
    database = Path(options.source).suffix.casefold() in DATABASES
    for given, shown, meant in (
        (options.query, ImportDatasetParameters.query.flag, database),
        (options.output, OUTPUT.flag, database),
        (options.split, ImportDatasetParameters.split.flag, options.source.startswith("hf://")),
    ):
        if given and not meant:
            kind = "data sets of the Hub" if shown == ImportDatasetParameters.split.flag else "databases"
            raise TriposError("R0202", f"`{shown}` has no meaning for `{options.source}`", f"it is for {kind}")
    name = options.name or _name_of(options.source)
    if not STATEMENT_NAME.fullmatch(name):
        raise TriposError("R0202", f"`{name}` is no name", "a name has letters, digits and `_`")
    if options.path is None:
        proposal = _proposed(context, name, Path.cwd() / UNSAVED)
        return Outcome(proposal.to_json, [Output(format_text(proposal.text, name)), *_proposal_remarks(proposal)])
    proposals: list[ProposedDataset] = []

    def added(spec: SpecSource, before: Compilation) -> tuple[Mapping[str, str], str]:
        assert before.plan is not None
        proposal = _proposed(context, name, spec.path, [axis.name for axis in before.plan.axes])
        proposals.append(proposal)
        return apply_insertions(
            [insert_below(own_sources(before)[0], proposal.text, "dataset", "axis", "role", "benchmark")]
        ), ""

    named = f"dataset `{name}`"
    _, files, where = extend_spec(context, named, added)
    [proposal] = proposals
    return Outcome(proposal.to_json, [message(added_text(named, files, where)), *_proposal_remarks(proposal)])


def _proposed(context: Context, name: str, spec: Path, axes: list[str] | None = None) -> ProposedDataset:
    from tripos.importing.datasets import propose, rows_of_files

    source = _local_source(context, name, spec)
    outside = context.options.allow_outside
    refuse_if_untrusted(context.trust, outside=outside)
    folders = [Path(folder).resolve() for folder in context.options.data]
    rows, folder = rows_of_files(source, spec, folders, context.trust, outside=outside)
    found = propose(name, source, rows, axes or (), folder)
    if all(each.left_out for each in found.fields):
        columns = ", ".join(f"`{each.column}`" for each in found.fields)
        raise TriposError(
            "R0209", f"no column of `{source}` is about an item: {columns}", "declare the data set by hand"
        )
    return found


def _local_source(context: Context, name: str, spec: Path) -> str:
    """Fetch or query a remote source into the folder of the spec if necessary, and return the path of its files as
    written in the spec."""
    from tripos.importing.datasets import DATABASES, files_of_hub, json_lines, rows_of_database
    from tripos.releases.locations import DataFetcher, list_hub_files
    from tripos.releases.network_policy import policy_of
    from tripos_runtime.datasets.data_files import DataFolders
    from tripos_warehouse.files import write_lines

    options = context.options
    address: str = options.source
    if address.startswith("hf://"):
        refuse_if_untrusted(context.trust, fetch=True)
        reach = replace(policy_of(options), local_files=False)
        place, path = _split_hub_address(address)
        commit, names = list_hub_files(place, reach)
        head = f"{place.partition('@')[0]}@{commit}"
        source = f"{head}/{path or files_of_hub(names, options.split)}"
        fetcher = DataFetcher(reach)
        DataFolders(bring=fetcher.bring).find(source, str(spec))
        for each in fetcher.brought.values():
            show_message(f"fetched into {_short_path(each)}", stderr=True)
        return source
    path_given = Path(address).expanduser()
    if path_given.suffix.casefold() in DATABASES:
        target = Path(options.output) if options.output else spec.parent / f"{name}.jsonl"
        if target.exists() and not options.replace:
            raise TriposError(
                "R0209", f"`{_short_path(target)}` is there already", f"use {REPLACE}, or another file: -o FILE"
            )
        rows = rows_of_database(path_given, options.query, context.trust, outside=options.allow_outside)
        written = write_lines(target, json_lines(rows))
        show_message(f"{counted(written.rows, 'row')} written to {_short_path(target)}", stderr=True)
        path_given = target
    return Path(os.path.relpath(path_given, spec.parent)).as_posix()


def _split_hub_address(address: str) -> tuple[str, str]:
    """Return the name of a data set on the Hub, and the path in it.

    >>> _split_hub_address("hf://lab/sums@v1/main/test.jsonl"), _split_hub_address("hf://datasets/lab/sums")
    (('hf://lab/sums@v1', 'main/test.jsonl'), ('hf://lab/sums', ''))
    """
    owner, _, rest = address.removeprefix("hf://").strip("/").removeprefix("datasets/").partition("/")
    name, _, path = rest.partition("/")
    if not owner or not name:
        raise TriposError(
            "R0202", f"`{address}` is no place on the Hub", "write hf://OWNER/NAME, or hf://OWNER/NAME/PATH"
        )
    return f"hf://{owner}/{name}", path


def _name_of(source: str) -> str:
    """Return a name for a data set, from its file or from its name on the Hub.

    >>> _name_of("data/Exam items-2.csv.gz"), _name_of("hf://lab/quiz@v1"), _name_of("hf://lab/quiz/main/test.jsonl")
    ('Exam_items_2', 'quiz', 'quiz')
    """
    last = _split_hub_address(source)[0].rpartition("/")[2].partition("@")[0] if source.startswith("hf://") else ""
    stem = last or Path(source).name.partition(".")[0]
    return re.sub(r"\W+", "_", re.sub(r"[*{}]", "", stem)).strip("_-") or "item"


def _short_path(path: Path) -> str:
    return Path(os.path.relpath(path)).as_posix() if path.is_absolute() else path.as_posix()


def _proposal_remarks(proposal: ProposedDataset) -> Iterator[Remark]:
    """Yield what a reader of the proposal should check."""
    text = "no column looks like an answer: write `secret` behind each field that the models under test must not see"
    if proposal.secrets:
        text = f"kept from the models under test: {', '.join(f'`{field}`' for field in proposal.secrets)}"
    yield Remark(message(text, sys.stderr))
    left = [f"`{' '.join(each.column.split())}`" for each in proposal.fields if each.left_out]
    if left:
        yield Remark(message(f"left out: {', '.join(left)}", sys.stderr))
    if proposal.languages:
        yield Remark(message(f"languages of the rows: {', '.join(proposal.languages)}", sys.stderr))


FOLDER, LOCK = "imported", ".lock"
UNREADABLE, CHANGED, EDITED = "S0501", "S0505", "S0507"
SHOWN = 8
"""The maximum number of lines of one kind."""


@dataclass
class _Imported:
    """The outcome of an import of logs: the logs by benchmark, and the files that could not be read or are not logs."""

    collectors: dict[str, LogCollector] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    rejected: list[str] = field(default_factory=list)
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    changed: int = 0


# Logs of other tools
def import_logs(context: Context) -> Outcome:
    """Import logs of other tools as runs."""
    options = context.options
    outcome = _Imported()
    with ExitStack() as locks:
        try:
            refuse_if_untrusted(context.trust, outside=options.allow_outside)
            for file in _files(context):
                _collect(context, file, outcome, locks)
            if not outcome.collectors:
                raise _no_logs(options.paths, outcome)
            for collector in outcome.collectors.values():
                _record(context, collector, outcome)
        finally:
            for collector in outcome.collectors.values():
                collector.close()
    return _logs_outcome(outcome)


@contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    """Lock a folder against other imports of logs, since samples are identified by the order of the items in it.

    Raises `TriposError` S0506 if another import is running, S0102 if the folder cannot be written.
    """
    with writing(folder, OTHER_FOLDER):
        folder.mkdir(parents=True, exist_ok=True)
        locks = Locks(folder, LOCK)
    try:
        if not locks.hold(lock_offset(IMPORT, "logs")):
            raise TriposError("S0506", f"another import of logs into `{folder}` is under way", "wait for its end")
        yield
    finally:
        locks.close()


OTHER_FOLDER = "give another folder: `-o DIR`"


def _files(context: Context) -> Iterator[SourceFile]:
    for path in context.options.paths:
        try:
            yield from find_logs(Path(path), context.trust, outside=context.options.allow_outside)
        except OSError as error:
            raise TriposError(UNREADABLE, f"cannot read `{path}`: {error.strerror}", "check the path") from error


def _collect(context: Context, file: SourceFile, outcome: _Imported, locks: ExitStack) -> None:
    options = context.options
    try:
        opened = open_logs(file, context.trust)
        if opened is None:
            outcome.rejected.append(str(file.path))
            return
        for log in opened.logs:
            name = identifier(options.name or log.header.name, "log")
            if name not in outcome.collectors:
                if not outcome.collectors and not options.dry_run:
                    locks.enter_context(_folder_lock(Path(options.output or FOLDER)))
                folder = Path(options.output or FOLDER) / name
                plan = _compiled(_spec(folder, name))[0] if _spec(folder, name).is_file() else None
                outcome.collectors[name] = LogCollector(
                    name, folder, None if plan is None else spec_of(plan), options.model, _names(options.score)
                )
            with IMPORTERS.guarded(opened.importer, OSError, ValueError):
                outcome.collectors[name].take(log, opened.source)
    except (OSError, ValueError) as error:
        outcome.unread[str(file.path)] = str(getattr(error, "strerror", None) or error)


def _names(texts: Sequence[str]) -> dict[str, str]:
    """Return the names of scores from `--score`. Raises `TriposError` R0202 if one is malformed."""
    found = {}
    for text in texts:
        name, equals, here = text.partition("=")
        if not equals or not name or not here:
            raise TriposError(
                "R0202",
                f"`{ImportLogsParameters.score} {text}` names no score",
                f"write {ImportLogsParameters.score} NAME=NAME_HERE",
            )
        found[name] = here
    return found


def _spec(folder: Path, name: str) -> Path:
    return folder / f"{name}.tripos"


def _record(context: Context, collector: LogCollector, outcome: _Imported) -> None:
    """Write the spec of some logs, and add the logs to the store."""
    options = context.options
    if not collector.spec.tasks:
        outcome.unread |= {log.path: "it has no samples" for log in collector.logs}
        return
    with _written_folder(collector, dry=options.dry_run) as folder:
        path = _spec(folder, collector.spec.name)
        if not collector.is_covered:
            _write_spec(path, collector)
        with writing(folder, OTHER_FOLDER):
            collector.write_items(folder)
        plan, source = _compiled(path, _spec(collector.folder, collector.spec.name))
        recorder = LogRecorder(collector, plan, source, Path(context.config.store))
        for log in collector.logs:
            run = recorder.record(log, renew=options.replace, write=not options.dry_run)
            _add_log(context, collector, log, run, outcome)


@contextmanager
def _written_folder(collector: LogCollector, *, dry: bool) -> Iterator[Path]:
    """Provide the folder of the spec and the items: that of the benchmark, or for a dry run a temporary copy."""
    if not dry:
        yield collector.folder
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / collector.folder.name
        if collector.folder.is_dir():
            shutil.copytree(collector.folder, copy)
        yield copy


def _write_spec(path: Path, collector: LogCollector) -> None:
    """Write the spec, unless a person has edited the existing one."""
    known: LogSpec | None = collector.spec_text
    if known is not None and path.read_text("utf-8") != known.text:
        lacking = [
            f"`{task.name}`: {', '.join([*task.scores, f'samples {task.samples}'])}"
            for name, task in collector.spec.tasks.items()
            if name not in known.tasks or not known.tasks[name].covers(task)
        ]
        shown = _spec(collector.folder, collector.spec.name)
        fault = f"`{shown}` was changed, and lacks a part of the logs: {'; '.join(lacking[:SHOWN])}"
        raise TriposError(EDITED, fault, "add it to the spec, or import into another folder with `-o DIR`")
    with writing(path, OTHER_FOLDER):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, collector.whole_spec.text.encode())


def _compiled(path: Path, shown: Path | None = None) -> tuple[Plan, CaseSource]:
    """Return the plan of a generated spec, with its items. Diagnostics name the file `shown`. Raises `TriposError` if
    the spec has errors."""
    from tripos.runs.compilation import find_spec
    from tripos_runtime.datasets.cases import CaseSource

    spec = find_spec(str(path))
    compilation = spec.compile({})
    if compilation.plan is None:
        show_diagnostics(compilation.diagnostics)
        raise TriposError(
            EDITED, f"`{shown or path}` is not well formed", "fix it, or import into another folder with `-o DIR`"
        )
    return compilation.plan, CaseSource(compilation.plan, spec.folders, tuple(s.path for s in compilation.sources))


def _add_log(context: Context, collector: LogCollector, log: CollectedLog, run: LogRun, outcome: _Imported) -> None:
    """Add a log to the outcome, and show its lines at once, since the next ones may take long."""
    options = context.options
    figures = list(log.check.differences(log.header.figures))
    refused = [*run.refused, *([] if options.replace else run.changed)]
    summary = {
        "file": log.path,
        "format": log.header.tool,
        "benchmark": collector.spec.name,
        "spec": str(_spec(collector.folder, collector.spec.name)),
        "run_id": run.run_id if run.is_new and not refused and not options.dry_run else None,
        "models": list(run.models),
        "items": run.items,
        "samples": log.count,
        "new": run.new,
        "same": run.same,
        "statuses": dict(run.statuses),
        "scores": log.scores,
        "new_scores": run.new_scores,
        "same_scores": run.same_scores,
        "without_value": log.unscored,
        "repeated": log.repeated,
        "changed": [*run.refused, *run.changed],
        "left_out": log.skipped.to_json(),
        "in_place_of": _superseded_logs(collector, log) if run.is_new and not refused else [],
        "figures": figures,
        "figures_without_scores": log.check.means_without_scores(log.header.figures),
        "own_figures": log.check.not_recomputable(log.header.figures),
        "status": log.header.status,
        "message": log.header.message,
    }
    outcome.outcomes.append(summary)
    outcome.changed += bool(refused)
    Outcome(lines=_log_lines(options, summary, refused)).show(context.form)


def _superseded_logs(collector: LogCollector, log: CollectedLog) -> list[str]:
    """Return earlier logs in this import with a model and items in common; views show only the last of them."""
    before = collector.logs[: collector.logs.index(log)]
    return [
        each.path
        for each in before
        if each.samples.keys() & log.samples.keys() and each.models.keys() & log.models.keys()
    ]


def _log_lines(options: Namespace, summary: Mapping[str, Any], refused: Sequence[str]) -> Iterator[str]:
    by = ", ".join(summary["models"][:SHOWN])
    about = f"{counted(summary['samples'], 'reply')} to {counted(summary['items'], 'item')} by {by}"
    yield message(f"{summary['file']}: {about}, {counted(summary['scores'], 'score')}")
    new, same = summary["new"] + summary["new_scores"], summary["same"] + summary["same_scores"]
    failed = summary["statuses"].get("provider_error", 0)
    lines = {
        "new": 0 if refused else new,
        "in the store already": same,
        "replies without a text": failed,
        "scores without a value": summary["without_value"],
        "repeated samples, kept as further ones": summary["repeated"],
        "changed": len(summary["changed"]),
    }
    for words, count in lines.items():
        if count:
            yield f"{count:>8,} {localized(words)}"
    for each in summary["left_out"]:
        yield message(f"left out: {each['what']} ({each['count']:,}, first in {each['first']})")
    if summary["status"] != "finished":
        yield message(f"the log did not come to its end: {' '.join(summary['message'].split())}")
    others = [each for each in summary["figures"] if not each["same"]]
    if summary["figures"]:
        alike = len(summary["figures"]) - len(others)
        yield message(f"{alike} of {counted(len(summary['figures']), 'figure')} of the log are those of its scores")
    for each in others[:SHOWN]:
        yield message(f"{each['score']} {each['figure']}: {each['log']:g} in the log, {each['scores']:g} of its scores")
    if summary["own_figures"]:
        some = ", ".join(map(own_figure_text, summary["own_figures"][:SHOWN]))
        yield message(f"kept as figures of the log, which nothing here computes: {some}")
    for line in refused[:SHOWN]:
        yield Remark(message(line, sys.stderr))
    if summary["in_place_of"]:
        some = ", ".join(summary["in_place_of"][:SHOWN])
        yield message(
            f"of the same model and task as {some}: reports and boards show the last one alone, without a RUN"
        )
    if summary["run_id"]:
        yield message(f"imported as run {summary['run_id']} of {summary['spec']}: `tripos report` takes it in")
    elif options.dry_run:
        yield message("nothing was written")
    elif not refused:
        yield message("nothing is new: nothing was written")


def _logs_outcome(outcome: _Imported) -> Outcome:
    for path, reason in outcome.unread.items():
        show_message(f"{path}: not imported: {reason}", stderr=True)
    failure = None
    if outcome.changed:
        fault = f"{counted(outcome.changed, 'log')} of {len(outcome.outcomes)} changed since they were imported"
        hint = (
            f"`{REPLACE}` takes changed scores; for changed replies import into another benchmark with "
            f"`{ImportLogsParameters.name}`"
        )
        failure = TriposError(CHANGED, fault, hint, ExitCode.SOME_FAILED)
    others = outcome.rejected
    return Outcome(
        lambda: {
            "logs": outcome.outcomes,
            "unread": [{"file": path, "reason": reason} for path, reason in outcome.unread.items()],
            "others": others,
        },
        [message(f"no logs: {counted(len(others), 'file')}, such as {others[0]}")] if others else [],
        exit_code=ExitCode.SOME_FAILED if outcome.unread else ExitCode.SUCCESS,
        failure=failure,
    )


def _no_logs(paths: Sequence[str], found: _Imported) -> TriposError:
    """Return the failure that none of the files is a log."""
    if found.unread:
        path, reason = next(iter(found.unread.items()))
        return TriposError(UNREADABLE, f"cannot read `{path}`: {reason}", "give a log as the tool wrote it")
    hint = f"logs of these tools are read: {', '.join(importer.tool for _, importer in IMPORTERS.items())}"
    return TriposError(UNREADABLE, f"there is no log at {', '.join(f'`{path}`' for path in paths[:SHOWN])}", hint)


# Tasks of other tools
def import_task(context: Context) -> Outcome:
    """Write the spec and its files. The exit code is 1 if a part was left as a hole."""
    from tripos.importing.spec_text import name_of
    from tripos.importing.tasks.promptfoo import is_promptfoo, promptfoo_spec

    options = context.options
    path = Path(options.file)
    refuse_if_untrusted(context.trust, outside=options.allow_outside)
    folders = tuple(Path(folder) for folder in options.data)
    source = SourceFolder.around(path, context.trust, outside=options.allow_outside, folders=folders)
    if path.suffix == ".py":
        imported = _translate_inspect(path, context)
        folder, name = Path(options.output or imported.name), imported.name
    elif path.suffix in (".yaml", ".yml") and is_promptfoo(path, source):
        imported = promptfoo_spec(path, options.language, source)
        folder, name = Path(options.output or imported.name), imported.name
    else:
        if options.argument:
            raise TriposError("R0202", f"`{ImportTaskParameters.argument}` is for a task of Inspect", "leave it out")
        task, others = _task(path, options.task, source)
        folder, name = Path(options.output or name_of(task.name)), task.name
        imported = _translate(task, others, folder, context)
    _write(folder, imported, replace=options.replace)
    spec = (folder / f"{imported.name}.tripos").as_posix()
    return Outcome(
        lambda: {
            "task": name,
            "spec": spec,
            "whole": imported.is_complete,
            "parts": [{"part": note.part, "translated": note.how, "why": note.why} for note in imported.notes],
        },
        _task_lines(imported, spec),
        exit_code=ExitCode.SUCCESS if imported.is_complete else ExitCode.SOME_FAILED,
    )


def _translate(task: TaskFile, others: Mapping[str, TaskFile], folder: Path, context: Context) -> ImportedTask:
    """Return a task or a group as a spec. Its Python is executed if the user allows it."""
    from tripos.importing.tasks.lm_eval import WrittenRows, group_of, spec_of, spec_of_group, write_rows

    options = context.options
    folders = (task.path.parent, Path.cwd(), *(Path(folder) for folder in options.data))
    if options.run_python:
        _check_python_trust(context)
    if task.kind != "group":
        rows = write_rows(task, folder, options.python, options.shots) if options.run_python else WrittenRows()
        return spec_of(task, folders, rows, options.shots, options.language)
    group = group_of(task, others)
    written = {}
    if options.run_python:
        written = {each.name: write_rows(each, folder, options.python, options.shots) for each in group.leaves()}
    return spec_of_group(group, task, folders, written, options.shots, options.language)


def _translate_inspect(path: Path, context: Context) -> ImportedTask:
    """Return an Inspect task as a spec. Its module is executed, which the user has to allow."""
    from tripos.importing.tasks.inspect import inspect_spec, read_inspect_task

    options = context.options
    if not options.run_python:
        hint = f"read it, then add `{ImportTaskParameters.run_python}`"
        raise TriposError(CODE, f"`{path}` is a program, and only running it tells what the task is", hint)
    if options.shots is not None:
        raise TriposError("R0202", f"`{ImportTaskParameters.shots}` is for a task of the Harness", "leave it out")
    _check_python_trust(context)
    arguments = {}
    for each in options.argument:
        name, equals, value = each.partition("=")
        if not equals:
            raise TriposError(
                "R0202", f"`{ImportTaskParameters.argument} {each}` has no value", "write it as NAME=VALUE"
            )
        try:
            arguments[name] = json.loads(value)
        except ValueError:
            arguments[name] = value
    told = read_inspect_task(path, options.task, Path(options.python or sys.executable), arguments)
    return inspect_spec(told, path.name, options.language)


def _check_python_trust(context: Context) -> None:
    context.trust.check("the Python of a task", f"import it without `{ImportTaskParameters.run_python}`")


def _task(path: Path, name: str | None, source: SourceFolder) -> tuple[TaskFile, Mapping[str, TaskFile]]:
    """Return the requested task, and the tasks among which members of a group are looked up."""
    from tripos.importing.tasks.lm_eval import read_folder, read_task, tasks_with_tag

    if not path.is_dir():
        if name is not None:
            raise TriposError(
                "R0202",
                f"`{ImportTaskParameters.task}` chooses a task of a folder, and a file is given",
                "leave one of them out",
            )
        task = read_task(path, source)
        return task, read_folder(path.parent, source) if task.kind == "group" else {}
    if name is None:
        raise TriposError("R0202", f"`{path}` is a folder", f"name the task: `{ImportTaskParameters.task} NAME`")
    found = read_folder(path, source)
    if name in found:
        return found[name], found
    some = tasks_with_tag(found, name)
    if some:
        config = {"group": name, "task": [each.name for each in some]}
        return replace(some[0], name=name, kind="group", config=config), found
    from tripos_compiler.diagnostics.diagnostic import suggest

    hint = suggest(name, found, "give the folder that has it")
    raise TriposError(CODE, f"no task `{name}` in `{path}`", hint)


def _write(folder: Path, imported: ImportedTask, *, replace: bool) -> None:
    from tripos_compiler.editing.formatter import Unparsable, format_text

    try:
        text = format_text(imported.text, f"{imported.name}.tripos")
    except Unparsable:
        text = imported.text
    files = {f"{imported.name}.tripos": text, **imported.files}
    try:
        there = sorted(name for name in (*files, *imported.copies) if (folder / name).exists())
        if there and not replace:
            raise TriposError(
                "R0208", f"`{folder}` has {', '.join(there)} already", f"use `{REPLACE}`, or another `-o DIR`"
            )
        for name, content in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(content, "utf-8")
        for name, file in imported.copies.items():
            file.copy(folder / name)
    except OSError as error:
        raise TriposError("R0208", f"cannot write in `{folder}`: {error.strerror}", "give another `-o DIR`") from error


def _task_lines(imported: ImportedTask, spec: str) -> Iterator[str]:
    notes = imported.notes
    yield from printed_lines(
        Column("part", tuple(note.part for note in notes)),
        Column("translated", tuple(note.how for note in notes)),
        Column("remark", tuple(note.why for note in notes)),
    )
    yield ""
    yield message(
        f"{spec} is written" if imported.is_complete else f"{spec} is written, with holes: look for HOLE in it"
    )
    if "hf://" in imported.text or "https://" in imported.text:
        yield message(f"its data is fetched with: tripos fetch {spec}")
    if imported.is_complete:
        yield message(f"it is checked with: tripos check {spec}")


# Trees
def approve_main(context: Context) -> Outcome:
    """Record the approval in the file of the tree."""
    options = context.options
    by = " ".join((options.name or "").split())
    if not by:
        raise TriposError(
            "R0202", "the name of the reviewer is missing", f"say who read it: `{ApproveParameters.name} YOU`"
        )
    try:
        done = approve(Path(options.file), by, datetime.now(UTC).replace(microsecond=0), replace=options.replace)
    except OSError as error:
        raise TriposError(
            "S0836", f"cannot write beside `{options.file}`: {error.strerror}", "check the folder"
        ) from error
    path, leaves, levels = done.path.as_posix(), len(done.tree.leaves()), done.tree.depth
    return Outcome(
        lambda: {
            "tree": path,
            "sha256": done.sha256,
            "approved_by": done.by,
            "approved_at": done.at.isoformat(),
            "leaves": leaves,
            "levels": levels,
        },
        [
            message(f"{path}: {leaves:,} leaves, {levels} levels, approved by {by}"),
            message(f"its digest is {done.sha256[:12]}; once the file is changed it must be approved again"),
        ],
    )


def import_tree(context: Context) -> Outcome:
    """Write the tree, or return it."""
    options = context.options
    if (options.file is None) == (options.run is None):
        hint = (
            f"`tripos import tree outline.txt`, or `tripos import tree {ImportTreeParameters.run} RUN "
            f"{ImportTreeParameters.step} NAME`"
        )
        raise TriposError("R0202", "an outline comes from a file, or from the step of a run", hint)
    if options.run is not None:
        drafted = _drafted(context)
        return _write_tree(_under_root(drafted.tree, options.top), options, comment=drafted.origin, draft=True)
    shown = "standard input" if options.file == "-" else options.file
    refuse_if_untrusted(context.trust, outside=options.allow_outside)
    tree = check_tree(read_outline(_text(context)), shown, "S0835")
    return _write_tree(_under_root(tree, options.top), options)


def _text(context: Context) -> str:
    path = context.options.file
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8")
    try:
        if path == "-":
            return sys.stdin.read()
        folder = SourceFolder.around(Path(path), context.trust, outside=context.options.allow_outside)
        return folder.file(Path(path)).text()
    except OSError as error:
        raise TriposError("S0835", f"cannot read `{path}`: {error.strerror}", "check the path") from error
    except UnicodeDecodeError as error:
        reason, hint = not_utf8(error.object, path)
        raise TriposError("S0835", f"cannot read `{path}`: {reason}", hint) from error


def _drafted(context: Context) -> DraftedTree:
    from tripos.importing.trees import read_draft

    options = context.options
    if not options.step:
        raise TriposError(
            "R0202",
            "which step of the run wrote the outlines?",
            f"add `{ImportTreeParameters.step} NAME`, such as `reviewed`",
        )
    return read_draft(context.store(), options.run or None, options.step, options.only)


def _under_root(tree: ParsedTree, top: str | None) -> ParsedTree:
    return tree if top is None else ParsedTree({top: dict(tree.branches)})


def _write_tree(tree: ParsedTree, options: Namespace, comment: str = "", *, draft: bool = False) -> Outcome:
    """Write a tree to the requested file. A draft is marked in its name, whatever name was given."""
    leaves = f"{len(tree.leaves()):,} leaves, {tree.depth} levels"
    if options.output is None:
        return Outcome(lines=[format_tree(tree, ".yaml", comment).removesuffix("\n")])
    path = Path(options.output)
    suffix = check_suffix(path)
    if draft and not path.stem.endswith(DRAFT):
        path = path.with_name(f"{path.stem}{DRAFT}{path.suffix}")
    if path.exists() and not options.replace:
        raise TriposError("S0837", f"`{path}` is there already", f"give another name, or `{REPLACE}` it")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(format_tree(tree, suffix, comment), "utf-8")
    except OSError as error:
        raise TriposError("S0836", f"cannot write `{path}`: {error.strerror}", "check the folder") from error
    lines = [message(f"{path}: {leaves}")]
    if draft:
        lines.append(message(f"a draft: read it, fix it, then `tripos approve {path} {ApproveParameters.name} YOU`"))
    return Outcome(lines=lines)
