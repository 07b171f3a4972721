"""Data sets that models write, frozen: their rows as a run made them, with who wrote each and when."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import orjson

from tripos.releases.fetching import find_release
from tripos.releases.frozen.items import frozen_file, looked_into_by, plain, take_drawn, take_public, whole, withhold
from tripos.releases.manifest import ExternalFile, Manifest
from tripos.releases.opening import open_release
from tripos.settings import read_untrusted_lines
from tripos.ui import Failure
from tripos_compiler.language import item_id
from tripos_compiler.plan import Plan
from tripos_compiler.source import FoundRelease, dataclass
from tripos_runtime.asking.functions import NO_RELEASES
from tripos_runtime.datasets import CaseSource, MadeRow, Origins, RowFile, Selection
from tripos_runtime.forecast import data_maker
from tripos_runtime.roles import BindingError, RoleBinding, bind
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store import Store
from tripos_warehouse.views import connect

MADE, WITHHELD = "made", "withheld"
"""The folder of a release for the rows that were made."""


def restore_given(source: CaseSource, given: str, extended: Iterable[FoundRelease] = ()) -> None:
    """As `restore`, where what a command was given is a release; and with what was frozen in the releases that it
    extends."""
    folder = find_release(given)
    if folder is not None:
        restore(source, folder)
    restore_extended(source, extended)


def restore_extended(source: CaseSource, extended: Iterable[FoundRelease]) -> None:
    """Put the rows that releases have frozen where `source` finds them, where the plan has their data sets."""
    made = {each.name: set(each.made) for each in source.plan.extends}
    for release in extended:
        restore(source, Path(release.folder), made.get(release.name, set()))


def restore(source: CaseSource, folder: Path, only: Collection[str] | None = None) -> None:
    """Put the rows that a release has frozen where `source` finds them, so that a run makes none: of every data set, or
    of those in `only`. Without a folder of such rows nothing happens. Rows that are withheld are taken from the folders
    in which `source` looks for data; where they are not there, the others are all, and `source` says so.

    Raises `Failure` R0264 where files with such rows cannot be read or have others, or something looks into rows that
    are not there.
    """
    manifest = open_release(folder).manifest
    take_public(source, folder, manifest)
    for path in sorted((folder / MADE).glob("*.jsonl")):
        if path.stem in source.sources.made.frozen or (only is not None and path.stem not in only):
            continue
        rows = source.sources.made.rows[path.stem] = RowFile()
        for row in _rows(path, [outer / MADE / path.name for outer in source.reader.folders]):
            if isinstance(row, MadeRow):
                rows.add(row)
            else:
                _without(source, path.stem, manifest)
        source.sources.made.frozen.add(path.stem)
    take_drawn(source, folder)


def _without(source: CaseSource, name: str, manifest: Manifest) -> None:
    """Have a run go without the rows of a data set that are withheld."""
    if (place := looked_into_by(source.plan, name)) is not None:
        message = f"items of `{name}` are withheld, their text is not here, and {place} looks into all of them"
        raise Failure("R0264", message, "give the folder of the data: --data DIR")
    withhold(source, manifest, name)


def _rows(path: Path, private: Sequence[Path]) -> Iterator[MadeRow | None]:
    """Yield the rows of a file; None for one that is withheld and not here."""
    held: Mapping[str, Any] | None = None
    with frozen_file(path):
        for line in read_untrusted_lines(path):
            said = line
            if WITHHELD in line:
                held = _held(private) if held is None else held
                said = held.get(line[WITHHELD])
                if said is None and any(each.is_file() for each in private):
                    message = f"withheld items of `{path.stem}` are not among those that are given"
                    raise Failure("R0264", message, "give the file that was written with the release, or none")
                if said is None:
                    yield None
                    continue
            origins = Origins(said["written_by"], said["attempts"], tuple(said["rejections"]))
            yield MadeRow(said["place"], whole(said["values"]), origins)


def _held(private: Sequence[Path]) -> dict[str, Any]:
    """Return the rows that lie in private files, by the digest of what they say: no file can pass off others for
    them."""
    found: dict[str, Any] = {}
    for path in private:
        if path.is_file():
            try:
                rows = list(read_untrusted_lines(path))
                found |= {item_id(whole(row["values"])): row for row in rows}
            except (OSError, ValueError, KeyError, TypeError) as error:
                hint = "give the file that was written with the release"
                raise Failure("R0264", f"the withheld items in `{path}` cannot be read", hint) from error
    return found


def gather_rows(
    plan: Plan, source: CaseSource, store: Path, releases: Mapping[str, str] = NO_RELEASES
) -> dict[str, dict[str, datetime]]:
    """Put the rows of all data sets that are made where `source` finds them, as the last run of a store that asked for
    them left them; by data set, when each item was made. `releases` are the folders of those that are extended.

    Raises `Failure` S0854 where the store has no such run, or some rows are yet to be made.
    """
    made = [each for each in plan.made if each.name not in source.sources.made.frozen]
    if not made:
        return {}
    try:
        kept = Store.open(store, create=False)
        kept.verify()
        with connect(kept) as connection:
            told = "roles, models, identities, fingerprints"
            query = f"select {told} from main.runs where benchmark = ? order by started_at desc"
            runs = connection.execute(query, [plan.benchmark.name]).fetchall()
            query = "select dataset, item_id, max(created_at) from main.slots where item_id is not null group by all"
            times: dict[str, dict[str, datetime]] = {}
            for name, item, at in connection.execute(query).fetchall():
                times.setdefault(name, {})[item] = at
    except StoreError as error:
        raise Failure("S0854", f"the items are made by models: {error.message}", _HINT) from error
    needed = set().union(*(each.fingerprints for each in made))
    found = next((told for *told, prints in runs if needed <= set(prints)), None)
    if found is None:
        raise Failure("S0854", f"the items are made by models, and no run in `{store}` made them", _HINT)
    _make(plan, source, _binding(plan, *found), kept, releases)
    return times


_HINT = "run the benchmark first, and give its store with --store DIR"


def _binding(plan: Plan, roles: str, models: list[str], identities: str | None) -> RoleBinding:
    known = {role.name for role in plan.roles}
    compared = next(role.name for role in plan.roles if role.kind == "compared")
    others = {name: tuple(each) for name, each in orjson.loads(roles).items() if name in known and name != compared}
    try:
        return replace(bind(plan, tuple(models), others), identities=orjson.loads(identities or "{}"))
    except BindingError as error:
        raise Failure("S0854", f"the run that made the items does not fit: {error.message}", _HINT) from error


def _make(plan: Plan, source: CaseSource, binding: RoleBinding, store: Store, releases: Mapping[str, str]) -> None:
    """Go through what a store has, without asking anybody."""
    from tripos_runtime.asking.functions import PluginError, load_plugins
    from tripos_warehouse.ledger import Committed

    maker = data_maker(plan, source, Selection(), binding, Committed(store, plan.fingerprints))
    try:
        maker.functions = load_plugins(plan, Path(source.spec_files[0]).parent, releases, source.trust, programs=None)
        maker.go_through()
    except (PluginError, StoreError) as error:
        raise Failure("S0854", error.message, error.hint) from error
    for name, each in maker.makers.items():
        if each.open:
            message = f"{len(each.open):,} rows of `{name}` are yet to be made"
            raise Failure("S0854", message, "finish the run that makes them, without --limit")


def snapshot_rows(
    source: CaseSource,
    folder: Path,
    times: Mapping[str, Mapping[str, datetime]],
    canary: str,
    held: Collection[str] = (),
    private: Path | None = None,
) -> FrozenRows:
    """Write the rows that were made below a release's folder. Of items that are `held` back only the name stands there,
    and what they say in a file of the same path below `private`.

    Raises `Failure` S0854 for a value that cannot be written so that it is read back as it is.
    """
    counts: dict[str, int] = {}
    outer: list[ExternalFile] = []
    for name, rows in sorted(source.sources.made.rows.items()):
        if name in source.sources.made.frozen:
            continue
        path = f"{MADE}/{name}.jsonl"
        (folder / MADE).mkdir(exist_ok=True)
        kept_back = bytearray()
        with (folder / path).open("wb") as file:
            for row in rows:
                item = item_id(row.values)
                line = _line(row, item, times.get(name, {}).get(item), canary)
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
    """How many rows were written, by path in the release, and the files with those that are withheld."""

    rows: Mapping[str, int]
    withheld: tuple[ExternalFile, ...]


def copy_frozen_rows(plan: Plan, extended: Sequence[FoundRelease], folder: Path) -> FrozenRows:
    """Copy the rows that releases which are extended have frozen below a release's folder, as they stand there, with
    when they were made. What they withhold of them is withheld here."""
    counts: dict[str, int] = {}
    outer: list[ExternalFile] = []
    made = {each.name: each.made for each in plan.extends}
    for release in extended:
        paths = {f"{MADE}/{name}.jsonl" for name in made.get(release.name, ())}
        for path in sorted(paths):
            if not (Path(release.folder) / path).is_file():
                continue
            (folder / MADE).mkdir(exist_ok=True)
            shutil.copyfile(Path(release.folder) / path, folder / path)
            counts[path] = (folder / path).read_bytes().count(b"\n")
        outer += [each for each in open_release(Path(release.folder)).manifest.external if each.path in paths]
    return FrozenRows(counts, tuple(outer))


def _line(row: MadeRow, item: str, at: datetime | None, canary: str) -> bytes:
    values = plain(row.values)
    if item_id(whole(orjson.loads(orjson.dumps(values)))) != item:
        raise Failure("S0854", f"item `{item}` has a value that cannot be frozen", "report this as a bug of Tripos")
    said = {
        "place": row.place,
        "values": values,
        "written_by": row.origins.written_by,
        "written_at": None if at is None else at.isoformat(),
        "attempts": row.origins.attempts,
        "rejections": [dict(each) for each in row.origins.rejections],
        "canary": canary,
    }
    return _dumped(said)


def _dumped(said: Mapping[str, object]) -> bytes:
    """Return a line of JSON. Fields stay in the order that the row has them in, which a model is shown."""
    return orjson.dumps(said, option=orjson.OPT_APPEND_NEWLINE)
