"""`tripos import logs`: logs of other evaluation tools, as runs of a spec that is made of them."""

from __future__ import annotations

import json
import shutil
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tripos.importing import (
    GatheredLog,
    Gathering,
    LogRecorder,
    find_logs,
    identifier,
    open_logs,
    replacing,
    source_of,
    spec_of,
)
from tripos.settings import SourceFile, check_given, chosen_settings, trust_of
from tripos.ui import GOOD, SOME_FAILED, Failure, show_json, show_message, show_text
from tripos_compiler.diagnostics import counted, localized
from tripos_warehouse.errors import StoreError
from tripos_warehouse.report import own_figure_text
from tripos_warehouse.store import IMPORT, Locks, place_of

if TYPE_CHECKING:
    from tripos.importing import LogRun, LogSpec
    from tripos_compiler.plan import Plan
    from tripos_runtime.datasets import CaseSource

TOOLS = ("Inspect", "lm-eval", "HELM", "promptfoo", "Every Eval Ever", "OpenAI evals")
FOLDER, LOCK = "imported", ".lock"
UNREADABLE, CHANGED, MENDED = "S0501", "S0505", "S0507"
SHOWN = 8
"""So many lines of a kind are shown."""


@dataclass
class _Imported:
    """The outcome of an import of logs: those that were read by benchmark, and files that could not be or are none."""

    gatherings: dict[str, Gathering] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)
    told: list[dict[str, Any]] = field(default_factory=list)
    changed: int = 0


def main(options: Namespace) -> int:
    """Import logs."""
    found = _Imported()
    with ExitStack() as held:
        try:
            check_given(trust_of(options), outside=options.allow_outside)
            for file in _files(options):
                _gather(options, file, found, held)
            if not found.gatherings:
                raise _nothing(options.paths, found)
            for gathering in found.gatherings.values():
                _record(options, gathering, found)
        except StoreError as error:
            raise Failure(error.code, error.message, error.hint) from error
        finally:
            for gathering in found.gatherings.values():
                gathering.close()
    return _end(options, found)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other imports of logs out of a folder: the samples of each stand by the order of the items that it finds
    there. Raises `Failure`: S0506 while another one is at work, S0102 where the folder cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        locks = Locks(folder, LOCK)
    except OSError as error:
        raise _unwritable(folder, error) from error
    try:
        if not locks.hold(place_of(IMPORT, "logs")):
            raise Failure("S0506", f"another import of logs into `{folder}` is under way", "wait for its end")
        yield
    finally:
        locks.close()


def _unwritable(path: Path, error: OSError) -> Failure:
    return Failure("S0102", f"cannot write `{path}`: {error.strerror}", "give another folder: `-o DIR`")


def _files(options: Namespace) -> Iterator[SourceFile]:
    for path in options.paths:
        try:
            yield from find_logs(Path(path), trust_of(options), outside=options.allow_outside)
        except OSError as error:
            raise Failure(UNREADABLE, f"cannot read `{path}`: {error.strerror}", "check the path") from error


def _gather(options: Namespace, file: SourceFile, found: _Imported, held: ExitStack) -> None:
    try:
        logs = open_logs(file)
        if logs is None:
            found.others.append(str(file.path))
        for log in logs or ():
            name = identifier(options.name or log.header.name, "log")
            if name not in found.gatherings:
                if not found.gatherings and not options.dry_run:
                    held.enter_context(_alone(Path(options.output or FOLDER)))
                folder = Path(options.output or FOLDER) / name
                plan = _compiled(options, _spec(folder, name))[0] if _spec(folder, name).is_file() else None
                found.gatherings[name] = Gathering(
                    name, folder, None if plan is None else spec_of(plan), options.model, _names(options.score)
                )
            found.gatherings[name].take(log, source_of(file))
    except (OSError, ValueError) as error:
        found.unread[str(file.path)] = str(getattr(error, "strerror", None) or error)


def _names(texts: Sequence[str]) -> dict[str, str]:
    """Return the names of scores that `--score` gives. Raises `Failure` R0202."""
    found = {}
    for text in texts:
        name, equals, here = text.partition("=")
        if not equals or not name or not here:
            raise Failure("R0202", f"`--score {text}` names no score", "write --score NAME=NAME_HERE")
        found[name] = here
    return found


def _spec(folder: Path, name: str) -> Path:
    return folder / f"{name}.tripos"


def _record(options: Namespace, gathering: Gathering, found: _Imported) -> None:
    """Write the spec of some logs, and take them into the store."""
    if not gathering.spec.tasks:
        found.unread |= {log.path: "it has no samples" for log in gathering.logs}
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
            _tell(options, gathering, log, run, found)


@contextmanager
def _written_folder(gathering: Gathering, *, dry: bool) -> Iterator[Path]:
    """The folder of the spec and the items: that of the benchmark, or for a dry run a copy that is removed."""
    if not dry:
        yield gathering.folder
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / gathering.folder.name
        if gathering.folder.is_dir():
            shutil.copytree(gathering.folder, copy)
        yield copy


def _write_spec(path: Path, gathering: Gathering) -> None:
    """Write the spec, unless a person has mended the one that is there."""
    known: LogSpec | None = gathering.known
    if known is not None and path.read_text("utf-8") != known.text:
        lacking = [
            f"`{task.name}`: {', '.join([*task.scores, f'samples {task.samples}'])}"
            for name, task in gathering.spec.tasks.items()
            if name not in known.tasks or not known.tasks[name].covers(task)
        ]
        shown = _spec(gathering.folder, gathering.spec.name)
        message = f"`{shown}` was changed, and lacks a part of the logs: {'; '.join(lacking[:SHOWN])}"
        raise Failure(MENDED, message, "add it to the spec, or import into another folder with `-o DIR`")
    try:
        with replacing(path) as file:
            file.write(gathering.whole_spec.text.encode())
    except OSError as error:
        raise _unwritable(path, error) from error


def _compiled(options: Namespace, path: Path, shown: Path | None = None) -> tuple[Plan, CaseSource]:
    """Return the plan of a spec of logs, with its items; a copy is called by what is `shown`. Raises `Failure` where
    it is not well formed."""
    from tripos.api import find_spec
    from tripos.cli.inputs import show_diagnostics
    from tripos_runtime.datasets import CaseSource

    spec = find_spec(str(path))
    compilation = spec.compile({})
    if compilation.plan is None:
        show_diagnostics(compilation.diagnostics)
        raise Failure(
            MENDED, f"`{shown or path}` is not well formed", "mend it, or import into another folder with `-o DIR`"
        )
    return compilation.plan, CaseSource(compilation.plan, spec.folders, tuple(s.path for s in compilation.sources))


def _tell(options: Namespace, gathering: Gathering, log: GatheredLog, run: LogRun, found: _Imported) -> None:
    figures = list(log.check.differences(log.header.figures))
    refused = [*run.refused, *([] if options.replace else run.changed)]
    told = {
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
        "in_place_of": _hidden(gathering, log) if run.is_new and not refused else [],
        "figures": figures,
        "figures_without_scores": log.check.unheld(log.header.figures),
        "own_figures": log.check.own(log.header.figures),
        "status": log.header.status,
        "message": log.header.message,
    }
    found.told.append(told)
    found.changed += bool(refused)
    if not options.json:
        _show(options, told, refused)


def _hidden(gathering: Gathering, log: GatheredLog) -> list[str]:
    """Return the earlier logs of these that had a model do the same task: views show the log that came last."""
    before = gathering.logs[: gathering.logs.index(log)]
    return [
        each.path
        for each in before
        if each.samples.keys() & log.samples.keys() and each.models.keys() & log.models.keys()
    ]


def _show(options: Namespace, told: dict[str, Any], refused: Sequence[str]) -> None:
    by = ", ".join(told["models"][:SHOWN])
    about = f"{counted(told['samples'], 'reply')} to {counted(told['items'], 'item')} by {by}"
    show_message(f"{told['file']}: {about}, {counted(told['scores'], 'score')}")
    new, same = told["new"] + told["new_scores"], told["same"] + told["same_scores"]
    failed = told["statuses"].get("provider_error", 0)
    lines = {
        "new": 0 if refused else new,
        "in the store already": same,
        "replies without a text": failed,
        "scores without a value": told["without_value"],
        "repeated samples, kept as further ones": told["repeated"],
        "changed": len(told["changed"]),
    }
    for words, count in lines.items():
        if count:
            show_text(f"{count:>8,} {localized(words)}")
    for each in told["left_out"]:
        show_message(f"left out: {each['what']} ({each['count']:,}, first in {each['first']})")
    if told["status"] != "finished":
        show_message(f"the log did not come to its end: {' '.join(told['message'].split())}")
    others = [each for each in told["figures"] if not each["same"]]
    if told["figures"]:
        alike = len(told["figures"]) - len(others)
        show_message(f"{alike} of {counted(len(told['figures']), 'figure')} of the log are those of its scores")
    for each in others[:SHOWN]:
        show_message(f"{each['score']} {each['figure']}: {each['log']:g} in the log, {each['scores']:g} of its scores")
    if told["own_figures"]:
        some = ", ".join(map(own_figure_text, told["own_figures"][:SHOWN]))
        show_message(f"kept as figures of the log, which nothing here computes: {some}")
    for line in refused[:SHOWN]:
        show_message(line, stderr=True)
    if told["in_place_of"]:
        some = ", ".join(told["in_place_of"][:SHOWN])
        show_message(f"of the same model and task as {some}: reports and boards show the last one alone, without a RUN")
    if told["run_id"]:
        show_message(f"imported as run {told['run_id']} of {told['spec']}: `tripos report` takes it in")
    elif options.dry_run:
        show_message("nothing was written")
    elif not refused:
        show_message("nothing is new: nothing was written")


def _end(options: Namespace, found: _Imported) -> int:
    told = {
        "logs": found.told,
        "unread": [{"file": path, "reason": reason} for path, reason in found.unread.items()],
        "others": found.others,
    }
    if options.json:
        show_json(json.dumps(told, ensure_ascii=False, indent=2, default=str))
    for path, reason in found.unread.items():
        show_message(f"{path}: not imported: {reason}", stderr=True)
    if found.others and not options.json:
        show_message(f"no logs: {counted(len(found.others), 'file')}, such as {found.others[0]}")
    if found.changed:
        message = f"{counted(found.changed, 'log')} of {len(found.told)} changed since they were imported"
        hint = "`--replace` takes changed scores; for changed replies import into another benchmark with `--name`"
        raise Failure(CHANGED, message, hint, SOME_FAILED)
    return SOME_FAILED if found.unread else GOOD


def _nothing(paths: Sequence[str], found: _Imported) -> Failure:
    """That none of the files is a log."""
    if found.unread:
        path, reason = next(iter(found.unread.items()))
        return Failure(UNREADABLE, f"cannot read `{path}`: {reason}", "give a log as the tool wrote it")
    hint = f"logs of these tools are read: {', '.join(TOOLS)}"
    return Failure(UNREADABLE, f"there is no log at {', '.join(f'`{path}`' for path in paths[:SHOWN])}", hint)
