"""`tripos store`: maintenance of a store, its integrity, and its batches at providers."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tripos.cli.context import open_store
from tripos.cli.tables import printed_lines
from tripos.runs.records import BatchesUnderWay, BatchUnderWay
from tripos.settings.options import StoreMergeParameters
from tripos.terminal import print_json, show_diagnostic, show_message, show_text
from tripos_compiler.diagnostics.text_format import counted, file_size
from tripos_compiler.errors import ExitCode, TriposError
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.store import Store
from tripos_warehouse.tables.model import Column

if TYPE_CHECKING:
    from tripos_warehouse.maintenance.merging import Merged


def main(options: Namespace) -> ExitCode:
    """Run `gc`, `compact`, `check`, `batches`, `merge` or `mirror`."""
    if options.action == "merge":
        return _merge(options)
    store = open_store(options, writes=True, on_bucket=options.action != "mirror")
    match options.action:
        case "gc":
            return _collect(store, options)
        case "compact":
            return _compact(store, options)
        case "batches":
            return show_batches(store, options)
        case "mirror":
            return _mirror(store, options)
        case _:
            return _check(store, options)


def _collect(store: Store, options: Namespace) -> ExitCode:
    from tripos_warehouse.maintenance.compaction import collect

    removed = collect(store, options.grace, dry_run=options.dry_run)
    size = sum(each.size for each in removed)
    if options.json:
        print_json({"removed": [asdict(each) for each in removed], "bytes": size, "dry_run": options.dry_run})
        return ExitCode.SUCCESS
    groups: dict[tuple[str, str], list[int]] = {}
    for each in removed:
        groups.setdefault((each.path.partition("/")[0], each.why), []).append(each.size)
    for (folder, why), sizes in groups.items():
        show_message(f"{counted(len(sizes), 'file')} in {folder}/: {why}, {file_size(sum(sizes))}")
    if not removed:
        show_message("nothing to remove")
    else:
        done = "would be removed" if options.dry_run else "removed"
        show_message(f"{counted(len(removed), 'file')} {done}, {file_size(size)}")
    return ExitCode.SUCCESS


def _compact(store: Store, options: Namespace) -> ExitCode:
    from tripos_warehouse.maintenance.compaction import compact

    done = compact(store)
    if options.json:
        print_json({"compacted": done is not None, **({} if done is None else asdict(done))})
    elif done is None:
        show_message("nothing to compact")
    else:
        show_message(f"commits: {done.commits_before:,} became 1")
        show_message(f"parts: {done.parts_before:,} became {done.parts_after:,}")
        show_message(f"{counted(done.doubles, 'double')} dropped")
        show_message("`tripos store gc` removes the old files when nobody can have them open: after an hour")
    return ExitCode.SUCCESS


def _merge(options: Namespace) -> ExitCode:
    """Add the rows of other stores to one. Their damaged parts are reported and skipped. Raises `TriposError`."""
    from tripos.annotation.batch import copy_batches
    from tripos_warehouse.maintenance.merging import merge_stores

    def tell(damage: StoreError) -> None:
        show_text(f"warning[{damage.code}]: {damage.message}", stderr=True)

    sources = [Store.open(path, create=False, on_damage=tell, tolerant=True) for path in options.stores]
    target = Store.open(options.into, create=True)
    if any(source.root == target.root for source in sources):
        raise TriposError(
            "R0202", f"`{options.into}` is merged into itself", f"name another folder: {StoreMergeParameters.into} DIR"
        )
    for source in sources:
        source.sweep()
    done = merge_stores(target, sources)
    for source in sources:
        copy_batches(source, target)
    damages = sum(len(source.damages) for source in sources)
    if options.json:
        print_json({**asdict(done), "damages": damages})
    else:
        _tell_merged(done)
    return ExitCode.SOME_FAILED if damages else ExitCode.SUCCESS


def _tell_merged(done: Merged) -> None:
    for table, count in done.added.items():
        show_text(f"{counted(count, 'row')} of {table} added")
    if not done.added:
        show_text("nothing to add")
    if done.conflicts:
        text = f"{counted(done.conflicts, 'reply')} had another one under the same name: the earliest counts"
        show_text(text)
    for table, count in done.left_out.items():
        show_text(f"{counted(count, 'row')} of {table} left out: the reply that they are about does not count")
    if done.given:
        show_text(f"{counted(done.given, 'row')} of these came from people or files")


def _mirror(store: Store, options: Namespace) -> ExitCode:
    from tripos_warehouse.maintenance.mirroring import mirror_delta, mirror_iceberg

    publish, folder = (mirror_iceberg, options.iceberg) if options.iceberg else (mirror_delta, options.delta)
    done = publish(store, Path(folder).expanduser().resolve())
    changed = [mirrored_table for mirrored_table in done if mirrored_table.added or mirrored_table.removed]
    if options.json:
        print_json({"tables": [asdict(mirrored_table) for mirrored_table in done]})
        return ExitCode.SUCCESS
    for table in changed:
        parts = "part" if table.added == 1 else "parts"
        show_message(f"{table.table}: {table.added:,} {parts} added, {table.removed:,} removed")
    if not changed:
        show_message("the mirror is up to date")
    return ExitCode.SUCCESS


def _check(store: Store, options: Namespace) -> ExitCode:
    from tripos_warehouse.maintenance.check import check_store

    damaged_parts = check_store(store)
    if options.json:
        print_json({**asdict(damaged_parts), "whole": not damaged_parts.damages})
        return ExitCode.SOME_FAILED if damaged_parts.damages else ExitCode.SUCCESS
    tables = damaged_parts.tables
    columns = (
        Column("table", tuple(table.table for table in tables)),
        Column("parts", tuple(table.parts for table in tables), "count"),
        Column("rows", tuple(table.rows for table in tables), "count"),
        Column("doubles", tuple(table.doubles for table in tables), "count"),
        Column("content", tuple(None if table.digest is None else table.digest[:32] for table in tables)),
    )
    show_text(*printed_lines(*columns), sep="\n", styled=True)
    replaced = f", and {damaged_parts.replaced:,} that were compacted" if damaged_parts.replaced else ""
    show_message(f"\n{counted(damaged_parts.commits, 'commit')}{replaced}")
    if damaged_parts.live:
        show_message(
            f"{counted(damaged_parts.live, 'process')} at work: what it keeps is in the journal until it is committed"
        )
    if damaged_parts.without_digest:
        parts = counted(damaged_parts.without_digest, "part")
        show_message(f"{parts} of an earlier Tripos without a digest: `tripos store compact` gives them one")
    for damage in damaged_parts.damages:
        show_diagnostic("error", damage.code, damage.message, damage.hint)
    show_message(
        f"{counted(len(damaged_parts.damages), 'damage')} found" if damaged_parts.damages else "the store is whole"
    )
    return ExitCode.SOME_FAILED if damaged_parts.damages else ExitCode.SUCCESS


# Batches
def show_batches(store: Store, options: Namespace) -> ExitCode:
    """List the batches that were not collected, or give one up. Raises `StoreError`, and `TriposError` R0202 for an
    unknown batch."""
    batches = BatchesUnderWay(store)
    uncollected = list(batches)
    if options.give_up is None:
        if options.json:
            print_json({"batches": [_row(way) for way in uncollected]})
            return ExitCode.SUCCESS
        if not uncollected:
            show_message("no batch is under way")
            return ExitCode.SUCCESS
        columns = (
            Column("batch", tuple(way.batch for way in uncollected)),
            Column("model", tuple(way.model for way in uncollected)),
            Column("requests", tuple(way.requests for way in uncollected), "count"),
            Column("made_at", tuple(f"{way.made_at:%Y-%m-%d %H:%M}" for way in uncollected), heading="made (UTC)"),
            Column("expires", tuple(_left(way.expires_at) for way in uncollected)),
        )
        show_text(*printed_lines(*columns), sep="\n", styled=True)
        return ExitCode.SUCCESS
    given_up = next((way for way in uncollected if way.batch == options.give_up), None)
    if given_up is None:
        known = ", ".join(way.batch for way in uncollected)
        hint = f"name one of these: {known}" if known else "no batch is under way"
        raise TriposError("R0202", f"no batch under way is called `{options.give_up}`", hint)
    batches.give_up(given_up)
    if options.json:
        print_json({"given_up": _row(given_up)})
    else:
        show_message(
            f"batch {given_up.batch} of {given_up.model} is given up: "
            f"{counted(given_up.requests, 'request')} will be asked again"
        )
        show_message("what the provider answered is billed all the same, and may then be paid for twice")
    return ExitCode.SUCCESS


def _row(batch: BatchUnderWay) -> dict[str, Any]:
    times = {"made_at": batch.made_at.isoformat(), "expires_at": batch.expires_at.isoformat()}
    return {**asdict(batch), **times}


def _left(until: datetime) -> str:
    hours = (until - datetime.now(UTC)).total_seconds() / 3600
    return f"in {hours:.0f} h" if hours >= 1 else "within the hour" if hours > 0 else "has expired"
