"""`tripos store`: maintenance of a store, its integrity, and its batches at providers."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tripos.cli.context import Context, Outcome
from tripos.cli.tables import printed_lines
from tripos.runs.records import BatchesUnderWay, BatchUnderWay
from tripos.settings.options import StoreMergeParameters
from tripos.terminal import message, show_diagnostic, show_text
from tripos_compiler.diagnostics.text_format import counted, file_size
from tripos_compiler.errors import ExitCode, TriposError
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.store import Store
from tripos_warehouse.tables.model import Column

if TYPE_CHECKING:
    from tripos_warehouse.maintenance.check import StoreCheck
    from tripos_warehouse.maintenance.merging import Merged


def main(context: Context) -> Outcome:
    """Run `gc`, `compact`, `check`, `batches`, `merge` or `mirror`."""
    options = context.options
    if options.action == "merge":
        return _merge(options)
    store = context.store(writes=True, on_bucket=options.action != "mirror")
    match options.action:
        case "gc":
            return _collect(store, options)
        case "compact":
            return _compact(store)
        case "batches":
            return _batches(store) if options.give_up is None else _give_up(store, options.give_up)
        case "mirror":
            return _mirror(store, options)
        case _:
            return _check(store)


def _collect(store: Store, options: Namespace) -> Outcome:
    from tripos_warehouse.maintenance.compaction import collect

    removed = collect(store, options.grace, dry_run=options.dry_run)
    size = sum(each.size for each in removed)

    def lines() -> Iterator[str]:
        groups: dict[tuple[str, str], list[int]] = {}
        for each in removed:
            groups.setdefault((each.path.partition("/")[0], each.why), []).append(each.size)
        for (folder, why), sizes in groups.items():
            yield message(f"{counted(len(sizes), 'file')} in {folder}/: {why}, {file_size(sum(sizes))}")
        done = "would be removed" if options.dry_run else "removed"
        some = f"{counted(len(removed), 'file')} {done}, {file_size(size)}"
        yield message(some if removed else "nothing to remove")

    return Outcome(
        lambda: {"removed": [asdict(each) for each in removed], "bytes": size, "dry_run": options.dry_run}, lines()
    )


def _compact(store: Store) -> Outcome:
    from tripos_warehouse.maintenance.compaction import compact

    done = compact(store)
    if done is None:
        return Outcome(lambda: {"compacted": False}, [message("nothing to compact")])
    texts = (
        f"commits: {done.commits_before:,} became 1",
        f"parts: {done.parts_before:,} became {done.parts_after:,}",
        f"{counted(done.doubles, 'double')} dropped",
        "`tripos store gc` removes the old files when nobody can have them open: after an hour",
    )
    return Outcome(lambda: {"compacted": True, **asdict(done)}, map(message, texts))


def _merge(options: Namespace) -> Outcome:
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
    code = ExitCode.SOME_FAILED if damages else ExitCode.SUCCESS
    return Outcome(lambda: {**asdict(done), "damages": damages}, _merged_lines(done), exit_code=code)


def _merged_lines(done: Merged) -> Iterator[str]:
    for table, count in done.added.items():
        yield f"{counted(count, 'row')} of {table} added"
    if not done.added:
        yield "nothing to add"
    if done.conflicts:
        yield f"{counted(done.conflicts, 'reply')} had another one under the same name: the earliest counts"
    for table, count in done.left_out.items():
        yield f"{counted(count, 'row')} of {table} left out: the reply that they are about does not count"
    if done.given:
        yield f"{counted(done.given, 'row')} of these came from people or files"


def _mirror(store: Store, options: Namespace) -> Outcome:
    from tripos_warehouse.maintenance.mirroring import mirror_delta, mirror_iceberg

    publish, folder = (mirror_iceberg, options.iceberg) if options.iceberg else (mirror_delta, options.delta)
    done = publish(store, Path(folder).expanduser().resolve())
    texts = [
        f"{table.table}: {table.added:,} {'part' if table.added == 1 else 'parts'} added, {table.removed:,} removed"
        for table in done
        if table.added or table.removed
    ]
    return Outcome(
        lambda: {"tables": [asdict(table) for table in done]},
        map(message, texts or ["the mirror is up to date"]),
    )


def _check(store: Store) -> Outcome:
    from tripos_warehouse.maintenance.check import check_store

    checked = check_store(store)
    code = ExitCode.SOME_FAILED if checked.damages else ExitCode.SUCCESS
    return Outcome(lambda: {**asdict(checked), "whole": not checked.damages}, _check_lines(checked), exit_code=code)


def _check_lines(checked: StoreCheck) -> Iterator[str]:
    tables = checked.tables
    yield from printed_lines(
        Column("table", tuple(table.table for table in tables)),
        Column("parts", tuple(table.parts for table in tables), "count"),
        Column("rows", tuple(table.rows for table in tables), "count"),
        Column("doubles", tuple(table.doubles for table in tables), "count"),
        Column("content", tuple(None if table.digest is None else table.digest[:32] for table in tables)),
    )
    replaced = f", and {checked.replaced:,} that were compacted" if checked.replaced else ""
    yield message(f"\n{counted(checked.commits, 'commit')}{replaced}")
    if checked.live:
        yield message(
            f"{counted(checked.live, 'process')} at work: what it keeps is in the journal until it is committed"
        )
    if checked.without_digest:
        parts = counted(checked.without_digest, "part")
        yield message(f"{parts} of an earlier Tripos without a digest: `tripos store compact` gives them one")
    for damage in checked.damages:
        show_diagnostic("error", damage.code, damage.message, damage.hint)
    yield message(f"{counted(len(checked.damages), 'damage')} found" if checked.damages else "the store is whole")


# Batches
def _batches(store: Store) -> Outcome:
    """Return the batches that were not collected. Raises `StoreError`."""
    batches = list(BatchesUnderWay(store))
    return Outcome(lambda: {"batches": [_row(batch) for batch in batches]}, _batch_lines(batches))


def _batch_lines(batches: Sequence[BatchUnderWay]) -> Iterator[str]:
    if not batches:
        yield message("no batch is under way")
        return
    yield from printed_lines(
        Column("batch", tuple(batch.batch for batch in batches)),
        Column("model", tuple(batch.model for batch in batches)),
        Column("requests", tuple(batch.requests for batch in batches), "count"),
        Column("made_at", tuple(f"{batch.made_at:%Y-%m-%d %H:%M}" for batch in batches), heading="made (UTC)"),
        Column("expires", tuple(_left(batch.expires_at) for batch in batches)),
    )


def _give_up(store: Store, name: str) -> Outcome:
    """Give up a batch. Raises `StoreError`, and `TriposError` R0202 for an unknown batch."""
    batches = BatchesUnderWay(store)
    batch = next((each for each in batches if each.batch == name), None)
    if batch is None:
        known = ", ".join(each.batch for each in batches)
        hint = f"name one of these: {known}" if known else "no batch is under way"
        raise TriposError("R0202", f"no batch under way is called `{name}`", hint)
    batches.give_up(batch)
    texts = (
        f"batch {batch.batch} of {batch.model} is given up: {counted(batch.requests, 'request')} will be asked again",
        "what the provider answered is billed all the same, and may then be paid for twice",
    )
    return Outcome(lambda: {"given_up": _row(batch)}, map(message, texts))


def _row(batch: BatchUnderWay) -> dict[str, Any]:
    times = {"made_at": batch.made_at.isoformat(), "expires_at": batch.expires_at.isoformat()}
    return {**asdict(batch), **times}


def _left(until: datetime) -> str:
    hours = (until - datetime.now(UTC)).total_seconds() / 3600
    return f"in {hours:.0f} h" if hours >= 1 else "within the hour" if hours > 0 else "has expired"
