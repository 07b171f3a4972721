"""Frozen items of a release: a Parquet file for each scenario, public rows, and generated rows.

A data set with withheld items is released as its public rows. Generated rows keep the model that wrote each and the
time. A withheld row is represented by the digest of its content only.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from tripos.errors import first_line
from tripos.files import read_untrusted_json, read_untrusted_lines
from tripos.releases.locations import open_location
from tripos.releases.manifest import ExternalFile, Manifest, set_digest
from tripos.releases.opening import open_release
from tripos.settings.options import DATA, LIMIT, STORE
from tripos_compiler.errors import ExitCode, TriposError
from tripos_compiler.language.rows import item_id
from tripos_compiler.plan import Dataset, Plan, Scenario
from tripos_compiler.source.data_classes import dataclass
from tripos_compiler.source.inputs import DataError, ResolvedRelease
from tripos_runtime.asking.functions.plugins import NO_RELEASES
from tripos_runtime.datasets.cases import Case, CaseSource
from tripos_runtime.datasets.data_files import dataset_files
from tripos_runtime.datasets.generated_rows import GeneratedRow, Origins, RowFile
from tripos_runtime.datasets.selection import Selection
from tripos_runtime.datasets.sources import SourceRow
from tripos_runtime.forecast.generation import data_maker
from tripos_runtime.program.binding import BindingError, RoleBinding, bind
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.connect import connect

PUBLIC = "public"
"""The folder of a release for public rows."""
SUBSETS_FILE = f"{PUBLIC}/subsets.json"
_SET = "$set"


def write_public(
    source: CaseSource, folder: Path, datasets: Collection[str], held: Collection[str], canary: str
) -> dict[str, int]:
    """Write the rows of `datasets` that are not in `held` below a release's folder. Return their numbers by path.

    Raises `TriposError` S0854 for a value that would not be read back unchanged.
    """
    counts: dict[str, int] = {}
    for dataset in (each for each in source.plan.datasets if each.name in datasets):
        path = f"{PUBLIC}/{dataset.name}.jsonl"
        (folder / PUBLIC).mkdir(exist_ok=True)
        rows = [row for row in source.sources.stream(dataset) if row.item_id not in held]
        (folder / path).write_bytes(b"".join(_public_line(row, canary) for row in rows))
        counts[path] = len(rows)
    return counts


def write_subsets(source: CaseSource, folder: Path) -> None:
    """Write the members of every subset by item id, which does not reveal their content."""
    (folder / PUBLIC).mkdir(exist_ok=True)
    drawn = {name: sorted(map(list, items)) for name, items in source.drawn().items()}
    (folder / SUBSETS_FILE).write_text(json.dumps(drawn, indent=1, sort_keys=True) + "\n", "utf-8")


def load_public(source: CaseSource, folder: Path, manifest: Manifest) -> None:
    """Make the public rows of a release available to `source`, for every data set whose own files are missing, and mark
    the others as withheld.

    Raises `TriposError` R0264 if the plan evaluates all rows of such a data set, so that the missing ones would change
    a result.
    """
    plan = source.plan
    for dataset in plan.datasets:
        path = folder / PUBLIC / f"{dataset.name}.jsonl"
        if path.is_file() and not _is_available(source, dataset):
            if (place := evaluated_by(plan, dataset.name)) is not None:
                message = f"`{dataset.name}` has rows that are withheld, and {place} looks into all of them"
                raise TriposError("R0264", message, f"give the folder of the data: {DATA} DIR")
            source.sources.public[dataset.name] = tuple(_public_rows(path))
            withhold(source, manifest, dataset.name)


def withhold(source: CaseSource, manifest: Manifest, dataset: str) -> None:
    """Mark the items of a data set that a release withholds as missing."""
    over = {
        scenario.name
        for scenario in source.plan.scenarios
        if scenario.rows is not None and scenario.rows.dataset == dataset
    }
    source.withheld.update(
        {item.scenario: frozenset(item.withheld) for item in manifest.items if item.scenario in over}
    )


def load_subsets(source: CaseSource, folder: Path) -> None:
    """Make the recorded members of subsets available to `source` if items are withheld. Sampling from the other items
    would give other subsets."""
    if not source.withheld or not (folder / SUBSETS_FILE).is_file():
        return
    names = [subset.name for subset in source.plan.subsets]
    with frozen_file(folder / SUBSETS_FILE):
        drawn = read_untrusted_json(folder / SUBSETS_FILE)
        if all(name in drawn for name in names):
            source.public_drawn.update({name: frozenset((s, item) for s, item in drawn[name]) for name in names})


def withheld_note(source: CaseSource, selection: Selection) -> str | None:
    """Return the note on how many items the figures are based on, or None if none are withheld."""
    withheld = sum(source.withheld_counts(selection).values())
    if not withheld:
        return None
    items = sum(source.counts(selection).values())
    return f"on {items:,} of {items + withheld:,} items, {withheld:,} withheld by the release"


def plain(value: Any) -> Any:
    """Return a value of a row as JSON values. `whole` is the inverse.

    >>> whole(plain({"a": frozenset({"y", "x"}), "b": [1, None]})) == {"a": frozenset({"y", "x"}), "b": [1, None]}
    True
    """
    match value:
        case Mapping():
            return {name: plain(each) for name, each in value.items()}
        case frozenset() | set():
            return {_SET: sorted(map(plain, value))}
        case list() | tuple():
            return [plain(each) for each in value]
    return value


def whole(value: Any) -> Any:
    """Return the value of a row from its JSON values. `plain` is the inverse."""
    match value:
        case {"$set": list(members)} if len(value) == 1:
            return frozenset(map(whole, members))
        case dict():
            return {name: whole(each) for name, each in value.items()}
        case list():
            return [whole(each) for each in value]
    return value


def _public_line(row: SourceRow, canary: str) -> bytes:
    values = plain(row.values)
    if item_id(whole(orjson.loads(orjson.dumps(values)))) != row.item_id:
        raise TriposError(
            "S0854", f"item `{row.item_id}` has a value that cannot be frozen", "report this as a bug of Tripos"
        )
    file, number = row.origin
    said = {"file": file, "row": number, "values": values, "canary": canary}
    return orjson.dumps(said, option=orjson.OPT_APPEND_NEWLINE)


def _public_rows(path: Path) -> Iterator[SourceRow]:
    with frozen_file(path):
        for untrusted_line in read_untrusted_lines(path):
            yield SourceRow(whole(untrusted_line["values"]), (untrusted_line["file"], untrusted_line["row"]))


@contextmanager
def frozen_file(path: Path) -> Iterator[None]:
    """Raise `TriposError` S0855 for errors while a frozen file of a release is read."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError) as error:
        message = f"the release is damaged: `{path}` cannot be read: {first_line(error)}"
        raise TriposError("S0855", message, "get the release again", ExitCode.SOME_FAILED) from error


def _is_available(source: CaseSource, dataset: Dataset) -> bool:
    """Return true if the released files of a data set are available."""
    try:
        return all(True for _ in dataset_files(source.reader, dataset, source.spec_files))
    except DataError:
        return False


def evaluated_by(plan: Plan, name: str) -> str | None:
    """Return the part of a plan that evaluates the rows of a data set, besides running over them, or None."""
    text = f'"dataset":"{name}"'
    for scenario in plan.scenarios:
        rest = scenario.model_copy(update={"rows": None})
        where = scenario.rows.where if scenario.rows is not None else None
        if text in rest.model_dump_json() or (where is not None and text in where.model_dump_json()):
            return f"scenario `{scenario.name}`"
    return next((f"data set `{dataset.name}`" for dataset in plan.made if text in dataset.model_dump_json()), None)


# Items of scenarios
ITEMS = "items"
CANARY = "canary"
WRITTEN_BY = "written_by"


@dataclass(frozen=True)
class FrozenItems:
    """The items of a scenario, in the order of a run."""

    scenario: str
    table: pa.Table
    digest: str
    rows: int
    withheld: tuple[str, ...] = ()
    """Ids of items that are not in the table."""


def canary_of(benchmark: str) -> str:
    """Return the canary text of a benchmark, the same in all of its releases and next to every item. It lets trainers
    filter the items, and testers detect a model that saw them.

    >>> canary_of("edubench") == canary_of("edubench"), canary_of("edubench")[:22]
    (True, 'tripos canary: do not ')
    """
    name = uuid.uuid5(uuid.NAMESPACE_URL, f"tripos:{benchmark}")
    return f"tripos canary: do not train on the items of {benchmark} {name}"


def frozen_items(source: CaseSource, canary: str, held_back: frozenset[str] = frozenset()) -> Iterator[FrozenItems]:
    """Yield the items of every scenario of a plan. Items of an extended release keep its canary, and those in
    `held_back` stay withheld. Raises `DataError` if items are not generated yet."""
    held = withheld_of(source) | held_back
    homes = {name: extended.name for extended in source.plan.extends for name in extended.scenarios}
    for scenario in source.plan.scenarios:
        cases = list(source.of(scenario, Selection()))
        hidden = [case.item_id for case in cases if case.item_id in held]
        open_ = [case for case in cases if case.item_id not in held]
        names = [f"{case.item_id} {orjson.dumps(dict(sorted(case.context.items()))).decode()}" for case in cases]
        own = canary_of(homes[scenario.name]) if scenario.name in homes else canary
        table = _table(source.plan, scenario, open_, own)
        yield FrozenItems(scenario.name, table, set_digest(names), len(cases), tuple(sorted(set(hidden))))


def withheld_of(source: CaseSource) -> frozenset[str]:
    """Return the ids of the items of withheld subsets. If several scenarios run over a row, it has the same id in all,
    and is withheld in all."""
    names = [subset.name for subset in source.plan.subsets if subset.withheld]
    if not names:
        return frozenset()
    drawn = source.drawn()
    known = {item for name in names for _, item in drawn[name]}
    made = {dataset.name for dataset in source.plan.made}
    over = [
        scenario for scenario in source.plan.scenarios if scenario.rows is not None and scenario.rows.dataset in made
    ]
    # A generated item was sampled by the name of its place, before its content was known.
    texts = {
        case.item_id
        for scenario in over
        for case in source.of(scenario, Selection())
        if source.draw_name(case) in known
    }
    return frozenset(known | texts)


def withheld_by(extended: Sequence[ResolvedRelease]) -> frozenset[str]:
    """Return the ids of items that extended releases withhold."""
    opened = [open_release(Path(release.folder)).manifest for release in extended]
    return frozenset(item for manifest in opened for items in manifest.items for item in items.withheld)


def write_items(frozen: FrozenItems, folder: Path) -> str:
    """Write the items of a scenario below a release's folder. Return the path."""
    path = f"{ITEMS}/{frozen.scenario}.parquet"
    (folder / ITEMS).mkdir(exist_ok=True)
    pq.write_table(frozen.table, folder / path, compression="zstd", compression_level=3, use_dictionary=[CANARY])
    return path


def _table(plan: Plan, scenario: Scenario, cases: list[Case], canary: str) -> pa.Table:
    """Return a table with a column for each axis and each field; a field with the name of another column is
    `field_NAME`. Values other than text, number or boolean become JSON."""
    columns: dict[str, Any] = {
        "item_id": pa.array([case.item_id for case in cases], pa.string()),
        CANARY: pa.array([canary] * len(cases), pa.string()),
        "language": pa.array([case.language for case in cases], pa.string()),
    }
    columns |= {
        axis: pa.array([case.context.get(axis) for case in cases], pa.string())
        for axis in scenario.axes
        if axis != "language"
    }
    made = any(case.origins is not None for case in cases)
    taken = {*columns, WRITTEN_BY} if made else {*columns}
    for name in dict.fromkeys(name for case in cases for name in case.fields):
        column = name
        while column in taken:  # a field may have the name of another column, such as `item_id`
            column = f"field_{column}"
        taken.add(column)
        columns[column] = _column([case.fields.get(name) for case in cases])
    if made:
        texts = [case.origins.written_by if case.origins is not None else None for case in cases]
        columns[WRITTEN_BY] = pa.array(texts, pa.string())
    return pa.table(columns)


def _column(values: list[Any]) -> pa.Array[Any]:
    kinds = {type(value) for value in values} - {type(None)}
    for kind, arrow in ((str, pa.string()), (bool, pa.bool_()), (int, pa.int64()), (float, pa.float64())):
        if kinds == {kind}:
            return pa.array(values, arrow)
    if kinds == {int, float}:
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array([None if value is None else _json(value) for value in values], pa.string())


def _json(value: Any) -> str:
    return orjson.dumps(value, default=_json_value, option=orjson.OPT_SORT_KEYS).decode()


def _json_value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return dict(value)
    return sorted(value)


# Generated rows
MADE, WITHHELD = "made", "withheld"
"""The folder of a release for generated rows."""


def restore_given(source: CaseSource, given: str, extended: Iterable[ResolvedRelease] = ()) -> None:
    """Call `restore` if the argument of a command is a release, and restore the rows of the releases that the spec
    extends."""
    folder = open_location(given)
    if folder is not None:
        restore(source, folder)
    restore_extended(source, extended)


def restore_extended(source: CaseSource, extended: Iterable[ResolvedRelease]) -> None:
    """Make the frozen rows of extended releases available to `source`, for the plan's data sets."""
    made = {extended_release.name: set(extended_release.made) for extended_release in source.plan.extends}
    for release in extended:
        restore(source, Path(release.folder), made.get(release.name, set()))


def restore(source: CaseSource, folder: Path, only: Collection[str] | None = None) -> None:
    """Make the frozen rows of a release available to `source`, so that a run generates none: for every data set, or
    those in `only`. Withheld rows are read from the data folders of `source`; if they are missing there, `source` has
    the others and counts the missing ones.

    Raises `TriposError` R0264 if a file of withheld rows is unreadable or has other rows, or if the plan evaluates rows
    that are missing.
    """
    manifest = open_release(folder).manifest
    load_public(source, folder, manifest)
    for path in sorted((folder / MADE).glob("*.jsonl")):
        if path.stem in source.sources.generated.frozen or (only is not None and path.stem not in only):
            continue
        rows = source.sources.generated.rows[path.stem] = RowFile()
        for row in _generated_rows(path, [outer / MADE / path.name for outer in source.reader.folders]):
            if isinstance(row, GeneratedRow):
                rows.add(row)
            else:
                _mark_withheld(source, path.stem, manifest)
        source.sources.generated.frozen.add(path.stem)
    load_subsets(source, folder)


def _mark_withheld(source: CaseSource, name: str, manifest: Manifest) -> None:
    """Mark the withheld rows of a data set as missing. Raises `TriposError` R0264 if the plan evaluates all of them."""
    if (place := evaluated_by(source.plan, name)) is not None:
        message = f"items of `{name}` are withheld, their text is not here, and {place} looks into all of them"
        raise TriposError("R0264", message, f"give the folder of the data: {DATA} DIR")
    withhold(source, manifest, name)


def _generated_rows(path: Path, private: Sequence[Path]) -> Iterator[GeneratedRow | None]:
    """Yield the rows of a file, with None for a withheld row that is not available."""
    held: Mapping[str, Any] | None = None
    with frozen_file(path):
        for line in read_untrusted_lines(path):
            said = line
            if WITHHELD in line:
                held = _held(private) if held is None else held
                said = held.get(line[WITHHELD])
                if said is None and any(each.is_file() for each in private):
                    message = f"withheld items of `{path.stem}` are not among those that are given"
                    raise TriposError("R0264", message, "give the file that was written with the release, or none")
                if said is None:
                    yield None
                    continue
            origins = Origins(said["written_by"], said["attempts"], tuple(said["rejections"]))
            yield GeneratedRow(said["place"], whole(said["values"]), origins)


def _held(private: Sequence[Path]) -> dict[str, Any]:
    """Return the rows of private files by the digest of their content, so that a file cannot substitute others."""
    found: dict[str, Any] = {}
    for path in private:
        if path.is_file():
            try:
                rows = list(read_untrusted_lines(path))
                found |= {item_id(whole(row["values"])): row for row in rows}
            except (OSError, ValueError, KeyError, TypeError) as error:
                hint = "give the file that was written with the release"
                raise TriposError("R0264", f"the withheld items in `{path}` cannot be read", hint) from error
    return found


def load_generated_from_store(
    plan: Plan, source: CaseSource, store: Path, releases: Mapping[str, str] = NO_RELEASES
) -> dict[str, dict[str, datetime]]:
    """Make the rows of all generated data sets available to `source`, as the latest run of a store that needed them
    left them. Return the time of each item, by data set. `releases` are the folders of extended releases.

    Raises `TriposError` S0854 if the store has no such run, or rows are missing.
    """
    datasets = [dataset for dataset in plan.made if dataset.name not in source.sources.generated.frozen]
    if not datasets:
        return {}
    try:
        kept = Store.open(store, create=False)
        kept.verify()
        with connect(kept) as connection:
            text = "roles, models, identities, fingerprints"
            query = f"select {text} from main.runs where benchmark = ? order by started_at desc"
            runs = connection.execute(query, [plan.benchmark.name]).fetchall()
            query = "select dataset, item_id, max(created_at) from main.slots where item_id is not null group by all"
            times: dict[str, dict[str, datetime]] = {}
            for name, item, at in connection.execute(query).fetchall():
                times.setdefault(name, {})[item] = at
    except StoreError as error:
        raise TriposError("S0854", f"the items are made by models: {error.message}", _HINT) from error
    needed = set().union(*(dataset.fingerprints for dataset in datasets))
    found = next((told for *told, prints in runs if needed <= set(prints)), None)
    if found is None:
        raise TriposError("S0854", f"the items are made by models, and no run in `{store}` made them", _HINT)
    _make(plan, source, _binding(plan, *found), kept, releases)
    return times


_HINT = f"run the benchmark first, and give its store with {STORE} DIR"


def _binding(plan: Plan, roles: str, models: list[str], identities: str | None) -> RoleBinding:
    known = {role.name for role in plan.roles}
    compared = next(role.name for role in plan.roles if role.kind == "compared")
    others = {name: tuple(load) for name, load in orjson.loads(roles).items() if name in known and name != compared}
    try:
        return replace(bind(plan, tuple(models), others), identities=orjson.loads(identities or "{}"))
    except BindingError as error:
        raise TriposError("S0854", f"the run that made the items does not fit: {error.message}", _HINT) from error


def _make(plan: Plan, source: CaseSource, binding: RoleBinding, store: Store, releases: Mapping[str, str]) -> None:
    """Replay the generation from the store, without calling any model."""
    from tripos_runtime.asking.functions.plugins import load_plugins
    from tripos_warehouse.ledger.replies import CommittedResults

    maker = data_maker(plan, source, Selection(), binding, CommittedResults(store, plan.fingerprints))
    try:
        maker.functions = load_plugins(plan, Path(source.spec_files[0]).parent, releases, source.trust, programs=None)
        maker.go_through()
    except TriposError as error:
        raise TriposError("S0854", error.message, error.hint) from error
    for name, each in maker.makers.items():
        if each.open:
            message = f"{len(each.open):,} rows of `{name}` are yet to be made"
            raise TriposError("S0854", message, f"finish the run that makes them, without {LIMIT}")


def snapshot_rows(
    source: CaseSource,
    folder: Path,
    times: Mapping[str, Mapping[str, datetime]],
    canary: str,
    held: Collection[str] = (),
    private: Path | None = None,
) -> FrozenRows:
    """Write the generated rows below a release's folder. For an item in `held`, that file has only the id, and a file
    at the same path below `private` has the content.

    Raises `TriposError` S0854 for a value that would not be read back unchanged.
    """
    counts: dict[str, int] = {}
    outer: list[ExternalFile] = []
    for name, rows in sorted(source.sources.generated.rows.items()):
        if name in source.sources.generated.frozen:
            continue
        path = f"{MADE}/{name}.jsonl"
        (folder / MADE).mkdir(exist_ok=True)
        kept_back = bytearray()
        with (folder / path).open("wb") as file:
            for row in rows:
                item = item_id(row.values)
                line = _generated_line(row, item, times.get(name, {}).get(item), canary)
                if item in held:
                    kept_back += line
                    line = _dumped({"place": row.place, WITHHELD: item, "canary": canary})
                file.write(line)
        counts[path] = len(rows)
        if kept_back and private is not None:
            (private / MADE).mkdir(parents=True, exist_ok=True)
            (private / path).write_bytes(kept_back)
            digest, count = hashlib.sha256(kept_back).hexdigest(), kept_back.count(b"\n")
            outer.append(ExternalFile(path=path, source=WITHHELD, sha256=digest, rows=count))
    return FrozenRows(counts, tuple(outer))


@dataclass(frozen=True)
class FrozenRows:
    """The numbers of written rows, by path in the release, and the files with the withheld ones."""

    rows: Mapping[str, int]
    withheld: tuple[ExternalFile, ...]


def copy_frozen_rows(plan: Plan, extended: Sequence[ResolvedRelease], folder: Path) -> FrozenRows:
    """Copy the frozen rows of extended releases below a release's folder, unchanged. What they withhold stays
    withheld.
    """
    counts: dict[str, int] = {}
    outer: list[ExternalFile] = []
    made = {extended_release.name: extended_release.made for extended_release in plan.extends}
    for release in extended:
        paths = {f"{MADE}/{name}.jsonl" for name in made.get(release.name, ())}
        for path in sorted(paths):
            if not (Path(release.folder) / path).is_file():
                continue
            (folder / MADE).mkdir(exist_ok=True)
            shutil.copyfile(Path(release.folder) / path, folder / path)
            counts[path] = (folder / path).read_bytes().count(b"\n")
        outer += [file for file in open_release(Path(release.folder)).manifest.external if file.path in paths]
    return FrozenRows(counts, tuple(outer))


def _generated_line(row: GeneratedRow, item: str, at: datetime | None, canary: str) -> bytes:
    values = plain(row.values)
    if item_id(whole(orjson.loads(orjson.dumps(values)))) != item:
        raise TriposError("S0854", f"item `{item}` has a value that cannot be frozen", "report this as a bug of Tripos")
    said = {
        "place": row.place,
        "values": values,
        "written_by": row.origins.written_by,
        "written_at": None if at is None else at.isoformat(),
        "attempts": row.origins.attempts,
        "rejections": [dict(rejection) for rejection in row.origins.rejections],
        "canary": canary,
    }
    return _dumped(said)


def _dumped(said: Mapping[str, object]) -> bytes:
    """Return a line of JSON. The order of fields is kept, since models see it."""
    return orjson.dumps(said, option=orjson.OPT_APPEND_NEWLINE)
