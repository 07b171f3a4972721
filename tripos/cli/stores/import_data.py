"""`tripos import`: scores that people or other judges gave, and replies that were produced elsewhere."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tripos.cli.inputs import open_store
from tripos.importing import FileRows, RowError, read_fixed, read_mapping, read_table, settle
from tripos.settings import check_given, trust_of
from tripos.ui import GOOD, SOME_FAILED, USAGE, Failure, show_json, show_message, show_text
from tripos_compiler.diagnostics import counted, localized
from tripos_warehouse.errors import StoreError

if TYPE_CHECKING:
    from tripos.importing import ScoreImport
    from tripos_warehouse.ledger import GivenScore
    from tripos_warehouse.store import Store

COUNTS = {
    "new": "new",
    "changed": "changed",
    "same": "in the store already",
    "repeated": "given again by other rows about the same reply, with the same value: counted once",
    "blank": "blank",
}
"""The counts of an import, in the order in which they are told, with their words."""
MOST_NAMES = 3
MOST_CHANGED = 20


def main(options: Namespace) -> int:
    """Do what was asked: `scores`, `samples`, `logs`, `tree`, `dataset` or `task`."""
    if options.action == "dataset":
        from tripos.cli.stores import datasets

        return datasets.main(options)
    if options.action == "logs":
        from tripos.cli.stores import logs as import_logs

        return import_logs.main(options)
    if options.action == "tree":
        from tripos.cli.stores import trees as import_tree

        return import_tree.main(options)
    if options.action == "task":
        from tripos.cli.stores import tasks as import_task

        return import_task.main(options)
    try:
        return _scores(options) if options.action == "scores" else _samples(options)
    except StoreError as error:
        raise Failure(error.code, error.message, error.hint) from error


def _scores(options: Namespace) -> int:
    from tripos.importing import read_scores
    from tripos_warehouse.ledger import alone
    from tripos_warehouse.views import connect_run, get_plan

    table = _table(options, {"evaluator": options.evaluator, "round": options.round})
    store = open_store(options, writes=True)
    connection, run = connect_run(store, options.run)
    with connection:
        found = read_scores(table, get_plan(connection, run), run, connection)
    with nullcontext() if options.dry_run else alone(store):
        return _bring_in(options, store, run.run_id, table, found)


def _bring_in(options: Namespace, store: Store, run_id: str, table: FileRows, found: ScoreImport) -> int:
    """Write the scores that are new, where nothing speaks against it, and say what was done."""
    from tripos.annotation import carry_to_other_runs
    from tripos_warehouse.ledger import difference, rows_of

    change = difference(store, found.scores)
    told: dict[str, Any] = {
        "run_id": run_id,
        "source": table.source,
        "rows": len(table.records),
        "scores": len(found.scores),
        "replies": len({score.sample["sample_id"] for score in found.scores}),
        "evaluators": sorted({score.evaluator for score in found.scores}),
        "blank": found.blank,
        "repeated": found.repeated,
        "unused_columns": list(found.unused),
        "new": len(change.new),
        "changed": len(change.changed),
        "same": len(change.same),
        "changes": [_change(score, was) for score, was in change.changed],
    }
    with _Telling(options, told, found.rejected):
        own = ("evaluator", "round")
        skip, rows = options.skip_rejected, len(table.records)
        settle(found.rejected, rows, options.rejected, skip=skip, what="score", options=own)
        if change.changed and not options.replace:
            _show_changed(change.changed)
            many = len(change.changed)
            raise Failure(
                "S0505",
                f"{many:,} of {len(found.scores):,} scores {'is' if many == 1 else 'are'} in the store already, and"
                f" {'another' if many == 1 else 'others'} than here",
                "use `--replace` to replace the scores, or `--round 2` to keep both",
                SOME_FAILED,
            )
        if not options.dry_run and (change.new or change.changed):
            store.append(rows_of(change, table.source, store.next_time()))
            carry_to_other_runs(store, change.fresh)
            told["imported"] = True
    if not options.json:
        by = _listed(told["evaluators"])
        show_message(f"{counted(told['scores'], 'score')} of {counted(told['replies'], 'reply')} by {by}")
        _print_counts(told, "score", options.dry_run)
    return GOOD


def _samples(options: Namespace) -> int:
    from tripos.cli.inputs import compile_given
    from tripos.importing import record, role_flags
    from tripos.releases.frozen import restore_given
    from tripos.settings import chosen_settings
    from tripos_runtime.datasets import CaseSource

    config = chosen_settings(options).config
    table = _table(options, {"model": options.model})
    compilation, folders = compile_given(options, config)
    plan = compilation.plan
    if plan is None:
        return USAGE
    source = CaseSource(plan, folders, tuple(each.path for each in compilation.sources))
    restore_given(source, options.path, compilation.releases)
    folder = Path(compilation.sources[0].path).parent
    released = compilation.release_folders
    command = _run_of(options)
    made = record(table, plan, source, config, role_flags(options.role), folder, command, released)
    told = made.told
    with _Telling(options, told, made.rejected):
        skip, rows = options.skip_rejected, len(table.records)
        settle(made.rejected, rows, options.rejected, skip=skip, what="reply", options=("model",))
        if not options.dry_run:
            told["imported"] = made.commit()
    if not options.json:
        by = _listed(told["models"])
        show_message(f"{counted(told['replies'], 'reply')} to {counted(told['items'], 'item')} by {by}")
        _print_counts(told, "reply", options.dry_run)
        for name, count in told["unmade"].items():
            show_message(f"{counted(count, 'row')} of `{name}` {'is' if count == 1 else 'are'} yet to be made")
    return GOOD


def _run_of(options: Namespace) -> list[str]:
    """Return how a run of the spec is typed, into the same store."""
    folders = [word for folder in options.data for word in ("--data", folder)]
    return ["tripos", "run", options.path, *folders, *(["--store", options.store] if options.store else [])]


def _table(options: Namespace, fixed: Mapping[str, object]) -> FileRows:
    own = {name: value for name, value in fixed.items() if value is not None}
    told = read_mapping(options.mapping, options.column, {**read_fixed(options.set), **own}, options.each)
    check_given(trust_of(options), outside=options.allow_outside)
    return read_table(options.file, told, trust_of(options), outside=options.allow_outside)


class _Telling:
    """Prints what came of an import as JSON, where that was asked for, also where it was refused."""

    def __init__(self, options: Namespace, told: dict[str, Any], rejected: Sequence[RowError]) -> None:
        self.options, self.told, self.rejected = options, told, rejected

    def __enter__(self) -> None:
        self.told["imported"] = False

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self.options.json and (kind is None or issubclass(kind, Failure)):
            rejected = [each.to_json() for each in self.rejected]
            told = {**self.told, "dry_run": self.options.dry_run, "rejected": rejected}
            show_json(json.dumps(told, ensure_ascii=False, indent=2, default=str))


def _print_counts(told: Mapping[str, Any], noun: str, dry_run: bool) -> None:
    for name, words in COUNTS.items():
        if told.get(name):
            show_text(f"{told[name]:>8,} {localized(words)}")
    if told["unused_columns"]:
        line = f"columns not used: {', '.join(told['unused_columns'])}"
        show_message(line.replace("\n", " "))
    if told["imported"]:
        show_message(f"imported, for run {told['run_id']}: `tripos report` takes them in")
    else:
        show_message("nothing was written" if dry_run else f"no {noun} is new: nothing was written")


def _change(score: GivenScore, was: float | str | None) -> dict[str, Any]:
    about = {name: score.sample[name] for name in ("sample_id", "scenario", "item_id", "model")}
    by = {"metric": score.metric, "evaluator": score.evaluator, "round": score.round}
    return {**about, **by, "was": was, "value": score.value if score.name is None else score.name}


def _show_changed(changed: Sequence[tuple[GivenScore, float | str | None]]) -> None:
    for score, was in changed[:MOST_CHANGED]:
        about = f"{score.sample['scenario']} {score.sample['item_id'][:8]}, {score.sample['model']}: {score.metric}"
        value = score.value if score.name is None else score.name
        now, before = _shown(value), _shown(was)
        if was == value:
            show_message(f"{about} is {now} as before, with another rationale", stderr=True)
        elif was is None:
            show_message(f"{about} was nothing, is {now}", stderr=True)
        else:
            show_message(f"{about} was {before}, is {now}", stderr=True)
    if len(changed) > MOST_CHANGED:
        show_message(f"and {len(changed) - MOST_CHANGED:,} more", stderr=True)


def _shown(value: float | str | None) -> str:
    return f"{value:g}" if isinstance(value, float | int) else str(value)


def _listed(names: Sequence[str]) -> str:
    """Return names in a line, the first few.

    >>> _listed(["a", "b", "c", "d", "e"]), _listed([])
    ('a, b, c and 2 more', 'nobody')
    """
    rest = len(names) - MOST_NAMES
    return ", ".join(names[:MOST_NAMES]) + (f" and {rest} more" if rest > 0 else "") if names else "nobody"
