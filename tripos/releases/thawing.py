"""The rows of data sets that models wrote, taken from a release, so that a run makes none."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import orjson

from tripos.failure import Failure
from tripos.releases.manifest import Manifest
from tripos.releases.opening import open_release
from tripos.releases.places import find_release
from tripos.releases.public_rows import looked_into_by, take_drawn, take_public, whole, withhold
from tripos_compiler.releases import FoundRelease
from tripos_compiler.semantics.rows import item_id
from tripos_runtime.datasets.cases import CaseSource
from tripos_runtime.datasets.row_store import MadeRow, Origins, RowFile

MADE, WITHHELD = "made", "withheld"
"""The folder of a release for the rows that were made."""


def thaw_given(source: CaseSource, given: str, extended: Iterable[FoundRelease] = ()) -> None:
    """As `thaw`, where what a command was given is a release; and with what was frozen in the releases that it
    extends."""
    folder = find_release(given)
    if folder is not None:
        thaw(source, folder)
    thaw_extended(source, extended)


def thaw_extended(source: CaseSource, extended: Iterable[FoundRelease]) -> None:
    """Puts the rows that releases have frozen where `source` finds them, where the plan has their data sets."""
    made = {each.name: set(each.made) for each in source.plan.extends}
    for release in extended:
        thaw(source, Path(release.folder), made.get(release.name, set()))


def thaw(source: CaseSource, folder: Path, only: Collection[str] | None = None) -> None:
    """Puts the rows that a release has frozen where `source` finds them, so that a run makes none: of every data set,
    or of those in `only`. Without a folder of such rows nothing happens. Rows that are withheld are taken from the
    folders in which `source` looks for data; where they are not there, the others are all, and `source` says so.

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
    """Has a run go without the rows of a data set that are withheld."""
    if (place := looked_into_by(source.plan, name)) is not None:
        message = f"items of `{name}` are withheld, their text is not here, and {place} looks into all of them"
        raise Failure("R0264", message, "whoever has it gives the folder: --data DIR")
    withhold(source, manifest, name)


def _rows(path: Path, private: Sequence[Path]) -> Iterator[MadeRow | None]:
    """The rows of a file; None for one that is withheld and not here."""
    held: Mapping[str, Any] | None = None
    with path.open("rb") as file:
        for line in file:
            said = orjson.loads(line)
            if WITHHELD in said:
                held = _held(private) if held is None else held
                said = held.get(said[WITHHELD])
                if said is None and any(each.is_file() for each in private):
                    message = f"withheld items of `{path.stem}` are not among those that are given"
                    raise Failure("R0264", message, "give the file that was written beside the release, or none")
                if said is None:
                    yield None
                    continue
            origins = Origins(said["written_by"], said["attempts"], tuple(said["rejections"]))
            yield MadeRow(said["place"], whole(said["values"]), origins)


def _held(private: Sequence[Path]) -> dict[str, Any]:
    """The rows that lie in private files, by the digest of what they say: no file can pass off others for them."""
    found: dict[str, Any] = {}
    for path in private:
        if path.is_file():
            try:
                rows = [orjson.loads(line) for line in path.read_bytes().splitlines()]
                found |= {item_id(whole(row["values"])): row for row in rows}
            except (OSError, ValueError, KeyError, TypeError) as error:
                hint = "give the file that was written beside the release"
                raise Failure("R0264", f"the withheld items in `{path}` cannot be read", hint) from error
    return found
