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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tripos.cli.context import open_store
from tripos.cli.init import STATEMENT_NAME, add_to_spec, apply_insertions, insert_below, own_sources
from tripos.cli.tables import printed_lines
from tripos.importing.logs.opening import IMPORTERS, find_logs, open_logs
from tripos.importing.logs.runs import CollectedLog, LogCollector, LogRecorder
from tripos.importing.logs.spec_text import identifier, spec_of
from tripos.importing.rows import FileRows, RowError, parse_constants, read_mapping, read_table, report_row_errors
from tripos.importing.tasks.shapes import CODE
from tripos.importing.trees import approve, check_suffix, check_tree, format_tree, read_outline
from tripos.settings.load import chosen_settings
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
from tripos.settings.trust import refuse_if_untrusted, trust_of
from tripos.source_files import SourceFile, SourceFolder
from tripos.terminal import escape_controls, print_json, show_json, show_message, show_output, show_text
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


def main(options: Namespace) -> ExitCode:
    """Import `scores`, `samples`, `logs`, a `tree`, a `dataset` or a `task`."""
    if options.action == "dataset":
        return import_dataset(options)
    if options.action == "logs":
        return import_logs(options)
    if options.action == "tree":
        return import_tree(options)
    if options.action == "task":
        return import_task(options)
    return _scores(options) if options.action == "scores" else _samples(options)


def _scores(options: Namespace) -> ExitCode:
    from tripos.importing.scores import read_scores
    from tripos_warehouse.ledger.imported_scores import exclusive_import
    from tripos_warehouse.views.connect import connect_run
    from tripos_warehouse.views.runs import get_plan

    table = _table(options, {"evaluator": options.evaluator, "round": options.round})
    store = open_store(options, writes=True)
    connection, run = connect_run(store, options.run)
    with connection:
        found = read_scores(table, get_plan(connection, run), run, connection)
    with nullcontext() if options.dry_run else exclusive_import(store):
        return _write_scores(options, store, run.run_id, table, found)


def _write_scores(options: Namespace, store: Store, run_id: str, table: FileRows, scores: ScoreImport) -> ExitCode:
    """Write new scores if there is no objection, and print the counts."""
    from tripos.annotation.carry_over import carry_to_other_runs
    from tripos_warehouse.ledger.imported_scores import changed_rows, compare_with_store

    change = compare_with_store(store, scores.scores)
    outcome: dict[str, Any] = {
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
    with _JsonOutcome(options, outcome, scores.rejected):
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
        if not options.dry_run and (change.new or change.changed):
            store.append(changed_rows(change, table.source, store.next_time()))
            carry_to_other_runs(store, change.fresh)
            outcome["imported"] = True
    if not options.json:
        by = _listed(outcome["evaluators"])
        show_message(f"{counted(outcome['scores'], 'score')} of {counted(outcome['replies'], 'reply')} by {by}")
        _print_counts(outcome, "score", options.dry_run)
    return ExitCode.SUCCESS


def _samples(options: Namespace) -> ExitCode:
    from tripos.cli.context import compile_command_spec
    from tripos.importing.replies import record, role_flags
    from tripos.releases.frozen import restore_given
    from tripos.settings.load import chosen_settings
    from tripos_runtime.datasets.cases import CaseSource

    config = chosen_settings(options).config
    table = _table(options, {"model": options.model})
    compilation, folders = compile_command_spec(options, config)
    plan = compilation.plan
    if plan is None:
        return ExitCode.USAGE
    source = CaseSource(plan, folders, tuple(each.path for each in compilation.sources))
    restore_given(source, options.path, compilation.releases)
    folder = Path(compilation.sources[0].path).parent
    released = compilation.release_folders
    command = _run_command(options)
    prepared = record(table, plan, source, config, role_flags(options.role), folder, command, released)
    outcome = prepared.summary
    with _JsonOutcome(options, outcome, prepared.rejected):
        skip, rows = options.skip_rejected, len(table.records)
        report_row_errors(prepared.rejected, rows, options.rejected, skip=skip, what="reply", options=("model",))
        if not options.dry_run:
            outcome["imported"] = prepared.commit()
    if not options.json:
        by = _listed(outcome["models"])
        show_message(f"{counted(outcome['replies'], 'reply')} to {counted(outcome['items'], 'item')} by {by}")
        _print_counts(outcome, "reply", options.dry_run)
        for name, count in outcome["unmade"].items():
            show_message(f"{counted(count, 'row')} of `{name}` {'is' if count == 1 else 'are'} yet to be made")
    return ExitCode.SUCCESS


def _run_command(options: Namespace) -> list[str]:
    """Return the command that runs the spec into the same store."""
    folders = [word for folder in options.data for word in (DATA.flag, folder)]
    return ["tripos", "run", options.path, *folders, *([STORE.flag, options.store] if options.store else [])]


def _table(options: Namespace, fixed: Mapping[str, object]) -> FileRows:
    own = {name: value for name, value in fixed.items() if value is not None}
    mapping = read_mapping(options.mapping, options.column, {**parse_constants(options.set), **own}, options.each)
    refuse_if_untrusted(trust_of(options), outside=options.allow_outside)
    return read_table(options.file, mapping, trust_of(options), outside=options.allow_outside)


class _JsonOutcome:
    """Prints the outcome of an import as JSON with `--json`, also if it was refused."""

    def __init__(self, options: Namespace, outcome: dict[str, Any], rejected: Sequence[RowError]) -> None:
        self.options, self.printed, self.rejected = options, outcome, rejected

    def __enter__(self) -> None:
        self.printed["imported"] = False

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.options.json and (kind is None or issubclass(kind, TriposError)):
            rejected = [each.to_json() for each in self.rejected]
            outcome = {**self.printed, "dry_run": self.options.dry_run, "rejected": rejected}
            show_json(json.dumps(outcome, ensure_ascii=False, indent=2, default=str))


def _print_counts(outcome: Mapping[str, Any], noun: str, dry_run: bool) -> None:
    for name, words in COUNTS.items():
        if outcome.get(name):
            show_text(f"{outcome[name]:>8,} {localized(words)}")
    if outcome["unused_columns"]:
        line = f"columns not used: {', '.join(outcome['unused_columns'])}"
        show_message(line.replace("\n", " "))
    if outcome["imported"]:
        show_message(f"imported, for run {outcome['run_id']}: `tripos report` takes them in")
    else:
        show_message("nothing was written" if dry_run else f"no {noun} is new: nothing was written")


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
def import_dataset(options: Namespace) -> ExitCode:
    """Print a data set declaration for a source, or add it to a spec. Rows that were fetched or queried are written
    next to it."""
    from tripos.importing.datasets import DATABASES

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
        proposal = _proposed(options, name, Path.cwd() / UNSAVED)
        if options.json:
            show_json(json.dumps(proposal.to_json(), ensure_ascii=False, indent=2))
        else:
            show_output(format_text(proposal.text, name))
            _print_proposal(proposal)
        return ExitCode.SUCCESS
    seen: list[ProposedDataset] = []

    def added(spec: SpecSource, before: Compilation) -> tuple[Mapping[str, str], str]:
        assert before.plan is not None
        proposal = _proposed(options, name, spec.path, [each.name for each in before.plan.axes])
        seen.append(proposal)
        return apply_insertions(
            [insert_below(own_sources(before)[0], proposal.text, "dataset", "axis", "role", "benchmark")]
        ), ""

    plan = add_to_spec(options, f"dataset `{name}`", added)
    if plan is None:
        return ExitCode.USAGE
    _print_proposal(seen[0])
    if options.json:
        show_json(json.dumps(seen[0].to_json(), ensure_ascii=False, indent=2))
    return ExitCode.SUCCESS


def _proposed(options: Namespace, name: str, spec: Path, axes: list[str] | None = None) -> ProposedDataset:
    from tripos.importing.datasets import propose, rows_of_files

    source = _local_source(options, name, spec)
    outside = options.allow_outside
    refuse_if_untrusted(trust_of(options), outside=outside)
    given = [Path(each).resolve() for each in options.data]
    rows, folder = rows_of_files(source, spec, given, trust_of(options), outside=outside)
    found = propose(name, source, rows, axes or (), folder)
    if all(each.left_out for each in found.fields):
        columns = ", ".join(f"`{each.column}`" for each in found.fields)
        raise TriposError(
            "R0209", f"no column of `{source}` is about an item: {columns}", "declare the data set by hand"
        )
    return found


def _local_source(options: Namespace, name: str, spec: Path) -> str:
    """Fetch or query a remote source into the folder of the spec if necessary, and return the path of its files as
    written in the spec."""
    from tripos.importing.datasets import DATABASES, files_of_hub, json_lines
    from tripos.releases.locations import DataFetcher, list_hub_files
    from tripos.releases.network_policy import policy_of
    from tripos_runtime.datasets.data_files import DataFolders
    from tripos_warehouse.files import write_lines

    address: str = options.source
    if address.startswith("hf://"):
        refuse_if_untrusted(trust_of(options), fetch=True)
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
        written = write_lines(target, json_lines(_rows_asked(path_given, options)))
        show_message(f"{counted(written.rows, 'row')} written to {_short_path(target)}", stderr=True)
        path_given = target
    return Path(os.path.relpath(path_given, spec.parent)).as_posix()


def _rows_asked(path: Path, options: Namespace) -> Iterator[dict[str, Any]]:
    from tripos.importing.datasets import rows_of_database

    return rows_of_database(path, options.query, trust_of(options), outside=options.allow_outside)


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


def _print_proposal(proposal: ProposedDataset) -> None:
    """Print what a reader of the proposal should check."""
    if proposal.secrets:
        shown = ", ".join(f"`{each}`" for each in proposal.secrets)
        show_message(f"kept from the models under test: {shown}", stderr=True)
    else:
        show_message(
            "no column looks like an answer: write `secret` behind each field that the models under test must not see",
            stderr=True,
        )
    left = [f"`{' '.join(each.column.split())}`" for each in proposal.fields if each.left_out]
    if left:
        show_message(f"left out: {', '.join(left)}", stderr=True)
    if proposal.languages:
        show_message(f"languages of the rows: {', '.join(proposal.languages)}", stderr=True)


FOLDER, LOCK = "imported", ".lock"
UNREADABLE, CHANGED, EDITED = "S0501", "S0505", "S0507"
SHOWN = 8
"""The maximum number of lines of one kind."""


@dataclass
class _Imported:
    """The outcome of an import of logs: the logs by benchmark, and the files that could not be read or are not logs."""

    gatherings: dict[str, LogCollector] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    rejected: list[str] = field(default_factory=list)
    outcomes: list[dict[str, Any]] = field(default_factory=list)
    changed: int = 0


# Logs of other tools
def import_logs(options: Namespace) -> ExitCode:
    """Import logs of other tools as runs."""
    outcome = _Imported()
    with ExitStack() as locks:
        try:
            refuse_if_untrusted(trust_of(options), outside=options.allow_outside)
            for file in _files(options):
                _gather(options, file, outcome, locks)
            if not outcome.gatherings:
                raise _no_logs(options.paths, outcome)
            for gathering in outcome.gatherings.values():
                _record(options, gathering, outcome)
        finally:
            for gathering in outcome.gatherings.values():
                gathering.close()
    return _finish(options, outcome)


@contextmanager
def _folder_lock(folder: Path) -> Iterator[None]:
    """Lock a folder against other imports of logs, since samples are identified by the order of the items in it.

    Raises `TriposError` S0506 if another import is running, S0102 if the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        locks = Locks(folder, LOCK)
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        if not locks.hold(lock_offset(IMPORT, "logs")):
            raise TriposError("S0506", f"another import of logs into `{folder}` is under way", "wait for its end")
        yield
    finally:
        locks.close()


def _unwritable(path: Path, error: OSError) -> TriposError:
    return TriposError("S0102", f"cannot write `{path}`: {error.strerror}", "give another folder: `-o DIR`")


def _files(options: Namespace) -> Iterator[SourceFile]:
    for path in options.paths:
        try:
            yield from find_logs(Path(path), trust_of(options), outside=options.allow_outside)
        except OSError as error:
            raise TriposError(UNREADABLE, f"cannot read `{path}`: {error.strerror}", "check the path") from error


def _gather(options: Namespace, file: SourceFile, outcome: _Imported, locks: ExitStack) -> None:
    try:
        opened = open_logs(file, trust_of(options))
        if opened is None:
            outcome.rejected.append(str(file.path))
            return
        for log in opened.logs:
            name = identifier(options.name or log.header.name, "log")
            if name not in outcome.gatherings:
                if not outcome.gatherings and not options.dry_run:
                    locks.enter_context(_folder_lock(Path(options.output or FOLDER)))
                folder = Path(options.output or FOLDER) / name
                plan = _compiled(options, _spec(folder, name))[0] if _spec(folder, name).is_file() else None
                outcome.gatherings[name] = LogCollector(
                    name, folder, None if plan is None else spec_of(plan), options.model, _names(options.score)
                )
            with IMPORTERS.guarded(opened.importer, OSError, ValueError):
                outcome.gatherings[name].take(log, opened.source)
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


def _record(options: Namespace, gathering: LogCollector, outcome: _Imported) -> None:
    """Write the spec of some logs, and add the logs to the store."""
    if not gathering.spec.tasks:
        outcome.unread |= {log.path: "it has no samples" for log in gathering.logs}
        return
    with _written_folder(gathering, dry=options.dry_run) as folder:
        path = _spec(folder, gathering.spec.name)
        if not gathering.is_covered:
            _write_spec(path, gathering)
        try:
            gathering.write_items(folder)
        except OSError as error:
            raise _unwritable(folder, error) from error
        plan, source = _compiled(options, path, _spec(gathering.folder, gathering.spec.name))
        recorder = LogRecorder(gathering, plan, source, Path(chosen_settings(options).config.store))
        for log in gathering.logs:
            run = recorder.record(log, renew=options.replace, write=not options.dry_run)
            _print_log(options, gathering, log, run, outcome)


@contextmanager
def _written_folder(gathering: LogCollector, *, dry: bool) -> Iterator[Path]:
    """Provide the folder of the spec and the items: that of the benchmark, or for a dry run a temporary copy."""
    if not dry:
        yield gathering.folder
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / gathering.folder.name
        if gathering.folder.is_dir():
            shutil.copytree(gathering.folder, copy)
        yield copy


def _write_spec(path: Path, gathering: LogCollector) -> None:
    """Write the spec, unless a person has edited the existing one."""
    known: LogSpec | None = gathering.spec_text
    if known is not None and path.read_text("utf-8") != known.text:
        lacking = [
            f"`{task.name}`: {', '.join([*task.scores, f'samples {task.samples}'])}"
            for name, task in gathering.spec.tasks.items()
            if name not in known.tasks or not known.tasks[name].covers(task)
        ]
        shown = _spec(gathering.folder, gathering.spec.name)
        message = f"`{shown}` was changed, and lacks a part of the logs: {'; '.join(lacking[:SHOWN])}"
        raise TriposError(EDITED, message, "add it to the spec, or import into another folder with `-o DIR`")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, gathering.whole_spec.text.encode())
    except OSError as error:
        raise _unwritable(path, error) from error


def _compiled(options: Namespace, path: Path, shown: Path | None = None) -> tuple[Plan, CaseSource]:
    """Return the plan of a generated spec, with its items. Diagnostics name the file `shown`. Raises `TriposError` if
    the spec has errors."""
    from tripos.cli.context import show_diagnostics
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


def _print_log(options: Namespace, gathering: LogCollector, log: CollectedLog, run: LogRun, outcome: _Imported) -> None:
    figures = list(log.check.differences(log.header.figures))
    refused = [*run.refused, *([] if options.replace else run.changed)]
    summary = {
        "file": log.path,
        "format": log.header.tool,
        "benchmark": gathering.spec.name,
        "spec": str(_spec(gathering.folder, gathering.spec.name)),
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
        "left_out": log.left.to_json(),
        "in_place_of": _superseded_logs(gathering, log) if run.is_new and not refused else [],
        "figures": figures,
        "figures_without_scores": log.check.means_without_scores(log.header.figures),
        "own_figures": log.check.not_recomputable(log.header.figures),
        "status": log.header.status,
        "message": log.header.message,
    }
    outcome.outcomes.append(summary)
    outcome.changed += bool(refused)
    if not options.json:
        _show(options, summary, refused)


def _superseded_logs(gathering: LogCollector, log: CollectedLog) -> list[str]:
    """Return earlier logs in this import with a model and items in common; views show only the last of them."""
    before = gathering.logs[: gathering.logs.index(log)]
    return [
        each.path
        for each in before
        if each.samples.keys() & log.samples.keys() and each.models.keys() & log.models.keys()
    ]


def _show(options: Namespace, summary: dict[str, Any], refused: Sequence[str]) -> None:
    by = ", ".join(summary["models"][:SHOWN])
    about = f"{counted(summary['samples'], 'reply')} to {counted(summary['items'], 'item')} by {by}"
    show_message(f"{summary['file']}: {about}, {counted(summary['scores'], 'score')}")
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
            show_text(f"{count:>8,} {localized(words)}")
    for each in summary["left_out"]:
        show_message(f"left out: {each['what']} ({each['count']:,}, first in {each['first']})")
    if summary["status"] != "finished":
        show_message(f"the log did not come to its end: {' '.join(summary['message'].split())}")
    others = [each for each in summary["figures"] if not each["same"]]
    if summary["figures"]:
        alike = len(summary["figures"]) - len(others)
        show_message(f"{alike} of {counted(len(summary['figures']), 'figure')} of the log are those of its scores")
    for each in others[:SHOWN]:
        show_message(f"{each['score']} {each['figure']}: {each['log']:g} in the log, {each['scores']:g} of its scores")
    if summary["own_figures"]:
        some = ", ".join(map(own_figure_text, summary["own_figures"][:SHOWN]))
        show_message(f"kept as figures of the log, which nothing here computes: {some}")
    for line in refused[:SHOWN]:
        show_message(line, stderr=True)
    if summary["in_place_of"]:
        some = ", ".join(summary["in_place_of"][:SHOWN])
        show_message(f"of the same model and task as {some}: reports and boards show the last one alone, without a RUN")
    if summary["run_id"]:
        show_message(f"imported as run {summary['run_id']} of {summary['spec']}: `tripos report` takes it in")
    elif options.dry_run:
        show_message("nothing was written")
    elif not refused:
        show_message("nothing is new: nothing was written")


def _finish(options: Namespace, outcome: _Imported) -> ExitCode:
    data = {
        "logs": outcome.outcomes,
        "unread": [{"file": path, "reason": reason} for path, reason in outcome.unread.items()],
        "others": outcome.rejected,
    }
    if options.json:
        show_json(json.dumps(data, ensure_ascii=False, indent=2, default=str))
    for path, reason in outcome.unread.items():
        show_message(f"{path}: not imported: {reason}", stderr=True)
    if outcome.rejected and not options.json:
        show_message(f"no logs: {counted(len(outcome.rejected), 'file')}, such as {outcome.rejected[0]}")
    if outcome.changed:
        message = f"{counted(outcome.changed, 'log')} of {len(outcome.outcomes)} changed since they were imported"
        hint = (
            f"`{REPLACE}` takes changed scores; for changed replies import into another benchmark with "
            f"`{ImportLogsParameters.name}`"
        )
        raise TriposError(CHANGED, message, hint, ExitCode.SOME_FAILED)
    return ExitCode.SOME_FAILED if outcome.unread else ExitCode.SUCCESS


def _no_logs(paths: Sequence[str], found: _Imported) -> TriposError:
    """Return the failure that none of the files is a log."""
    if found.unread:
        path, reason = next(iter(found.unread.items()))
        return TriposError(UNREADABLE, f"cannot read `{path}`: {reason}", "give a log as the tool wrote it")
    hint = f"logs of these tools are read: {', '.join(importer.tool for _, importer in IMPORTERS.items())}"
    return TriposError(UNREADABLE, f"there is no log at {', '.join(f'`{path}`' for path in paths[:SHOWN])}", hint)


# Tasks of other tools
def import_task(options: Namespace) -> ExitCode:
    """Write the spec and its files. Return exit code 1 if a part was left as a hole."""
    from tripos.importing.spec_text import name_of
    from tripos.importing.tasks.promptfoo import is_promptfoo, promptfoo_spec

    path = Path(options.file)
    trust = trust_of(options)
    refuse_if_untrusted(trust, outside=options.allow_outside)
    given = tuple(Path(each) for each in options.data)
    source = SourceFolder.around(path, trust, outside=options.allow_outside, folders=given)
    if path.suffix == ".py":
        imported = _translate_inspect(path, options)
        folder, name = Path(options.output or imported.name), imported.name
    elif path.suffix in (".yaml", ".yml") and is_promptfoo(path, source):
        imported = promptfoo_spec(path, options.language, source)
        folder, name = Path(options.output or imported.name), imported.name
    else:
        if options.argument:
            raise TriposError("R0202", f"`{ImportTaskParameters.argument}` is for a task of Inspect", "leave it out")
        task, others = _task(path, options.task, source)
        folder, name = Path(options.output or name_of(task.name)), task.name
        imported = _translate(task, others, folder, options)
    _write(folder, imported, replace=options.replace)
    outcome = {
        "task": name,
        "spec": (folder / f"{imported.name}.tripos").as_posix(),
        "whole": imported.is_complete,
        "parts": [{"part": each.part, "translated": each.how, "why": each.why} for each in imported.notes],
    }
    if options.json:
        print_json(outcome)
    else:
        _print_task(imported, str(outcome["spec"]))
    return ExitCode.SUCCESS if imported.is_complete else ExitCode.SOME_FAILED


def _translate(task: TaskFile, others: Mapping[str, TaskFile], folder: Path, options: Namespace) -> ImportedTask:
    """Return a task or a group as a spec. Its Python is executed if the user allows it."""
    from tripos.importing.tasks.lm_eval import WrittenRows, group_of, spec_of, spec_of_group, write_rows

    folders = (task.path.parent, Path.cwd(), *(Path(each) for each in options.data))
    if options.run_python:
        _check_trust(options)
    if task.kind != "group":
        rows = write_rows(task, folder, options.python, options.shots) if options.run_python else WrittenRows()
        return spec_of(task, folders, rows, options.shots, options.language)
    group = group_of(task, others)
    written = {}
    if options.run_python:
        written = {each.name: write_rows(each, folder, options.python, options.shots) for each in group.leaves()}
    return spec_of_group(group, task, folders, written, options.shots, options.language)


def _translate_inspect(path: Path, options: Namespace) -> ImportedTask:
    """Return an Inspect task as a spec. Its module is executed, which the user has to allow."""
    from tripos.importing.tasks.inspect import inspect_spec, read_inspect_task

    if not options.run_python:
        hint = f"read it, then add `{ImportTaskParameters.run_python}`"
        raise TriposError(CODE, f"`{path}` is a program, and only running it tells what the task is", hint)
    if options.shots is not None:
        raise TriposError("R0202", f"`{ImportTaskParameters.shots}` is for a task of the Harness", "leave it out")
    _check_trust(options)
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


def _check_trust(options: Namespace) -> None:

    trust_of(options).check("the Python of a task", f"import it without `{ImportTaskParameters.run_python}`")


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


def _print_task(imported: ImportedTask, spec: str) -> None:
    notes = imported.notes
    told = (("part", [each.part for each in notes]), ("translated", [each.how for each in notes]))
    columns = [Column(name, tuple(cells)) for name, cells in (*told, ("remark", [each.why for each in notes]))]
    show_text(*printed_lines(*columns), sep="\n", styled=True)
    show_text("")
    show_message(
        f"{spec} is written" if imported.is_complete else f"{spec} is written, with holes: look for HOLE in it"
    )
    if "hf://" in imported.text or "https://" in imported.text:
        show_message(f"its data is fetched with: tripos fetch {spec}")
    if imported.is_complete:
        show_message(f"it is checked with: tripos check {spec}")


# Trees
def approve_main(options: Namespace) -> ExitCode:
    """Record the approval in the file of the tree."""
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
    outcome = {
        "tree": done.path.as_posix(),
        "sha256": done.sha256,
        "approved_by": done.by,
        "approved_at": done.at.isoformat(),
        "leaves": len(done.tree.leaves()),
        "levels": done.tree.depth,
    }
    if options.json:
        print_json(outcome)
    else:
        show_message(f"{outcome['tree']}: {outcome['leaves']:,} leaves, {outcome['levels']} levels, approved by {by}")
        show_message(f"its digest is {done.sha256[:12]}; once the file is changed it must be approved again")
    return ExitCode.SUCCESS


def import_tree(options: Namespace) -> ExitCode:
    """Write the tree, or print it."""
    if (options.file is None) == (options.run is None):
        hint = (
            f"`tripos import tree outline.txt`, or `tripos import tree {ImportTreeParameters.run} RUN "
            f"{ImportTreeParameters.step} NAME`"
        )
        raise TriposError("R0202", "an outline comes from a file, or from the step of a run", hint)
    if options.run is not None:
        drafted = _drafted(options)
        return _write_tree(_under_root(drafted.tree, options.top), options, comment=drafted.origin, draft=True)
    shown = "standard input" if options.file == "-" else options.file
    refuse_if_untrusted(trust_of(options), outside=options.allow_outside)
    tree = check_tree(read_outline(_text(options)), shown, "S0835")
    return _write_tree(_under_root(tree, options.top), options)


def _text(options: Namespace) -> str:
    path = options.file
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(encoding="utf-8")
    try:
        if path == "-":
            return sys.stdin.read()
        folder = SourceFolder.around(Path(path), trust_of(options), outside=options.allow_outside)
        return folder.file(Path(path)).text()
    except OSError as error:
        raise TriposError("S0835", f"cannot read `{path}`: {error.strerror}", "check the path") from error
    except UnicodeDecodeError as error:
        reason, hint = not_utf8(error.object, path)
        raise TriposError("S0835", f"cannot read `{path}`: {reason}", hint) from error


def _drafted(options: Namespace) -> DraftedTree:
    from tripos.cli.context import open_store
    from tripos.importing.trees import read_draft

    if not options.step:
        raise TriposError(
            "R0202",
            "which step of the run wrote the outlines?",
            f"add `{ImportTreeParameters.step} NAME`, such as `reviewed`",
        )
    return read_draft(open_store(options), options.run or None, options.step, options.only)


def _under_root(tree: ParsedTree, top: str | None) -> ParsedTree:
    return tree if top is None else ParsedTree({top: dict(tree.branches)})


def _write_tree(tree: ParsedTree, options: Namespace, comment: str = "", *, draft: bool = False) -> ExitCode:
    """Write a tree to the requested file. A draft is marked in its name, whatever name was given."""
    leaves = f"{len(tree.leaves()):,} leaves, {tree.depth} levels"
    if options.output is None:
        show_text(escape_controls(format_tree(tree, ".yaml", comment)), end="")
        return ExitCode.SUCCESS
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
    show_message(f"{path}: {leaves}")
    if draft:
        show_message(f"a draft: read it, fix it, then `tripos approve {path} {ApproveParameters.name} YOU`")
    return ExitCode.SUCCESS
