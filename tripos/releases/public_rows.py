"""The rows of data files that anybody may see, where others of the same files are withheld.

A file with rows that are withheld is in no release. Its other rows are, one a line with its place, so that a run of the
release has the items that are public; and what the subsets hold, which was drawn with all of them at hand.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from tripos.failure import Failure
from tripos.releases.manifest import Manifest
from tripos_compiler.data import DataError
from tripos_compiler.plan import Dataset, Plan
from tripos_compiler.semantics.rows import item_id
from tripos_runtime.datasets.cases import CaseSource, Selection
from tripos_runtime.datasets.data_folders import files_of
from tripos_runtime.datasets.sources import SourceRow

PUBLIC = "public"
"""The folder of a release for such rows."""
DRAWN = f"{PUBLIC}/subsets.json"
_SET = "$set"


def write_public(
    source: CaseSource, folder: Path, datasets: Collection[str], held: Collection[str], canary: str
) -> dict[str, int]:
    """Writes those rows of `datasets` below a release's folder that are not `held` back, and gives how many by path.

    Raises `Failure` W0854 for a value that cannot be written so that it is read back as it is.
    """
    counts: dict[str, int] = {}
    for dataset in (each for each in source.plan.datasets if each.name in datasets):
        path = f"{PUBLIC}/{dataset.name}.jsonl"
        (folder / PUBLIC).mkdir(exist_ok=True)
        rows = [row for row in source.sources.stream(dataset) if row.item_id not in held]
        (folder / path).write_bytes(b"".join(_line(row, canary) for row in rows))
        counts[path] = len(rows)
    return counts


def write_drawn(source: CaseSource, folder: Path) -> None:
    """Writes what every subset holds, by the names of items, which tell nobody what these say."""
    (folder / PUBLIC).mkdir(exist_ok=True)
    drawn = {name: sorted(map(list, items)) for name, items in source.drawn().items()}
    (folder / DRAWN).write_text(json.dumps(drawn, indent=1, sort_keys=True) + "\n", "utf-8")


def take_public(source: CaseSource, folder: Path, manifest: Manifest) -> None:
    """Puts the public rows of a release where `source` finds them, of every data set whose own files are not here, and
    says which items are withheld.

    Raises `Failure` R0264 where something looks into all rows of such a data set, so that the others would be missed.
    """
    plan = source.plan
    for dataset in plan.datasets:
        path = folder / PUBLIC / f"{dataset.name}.jsonl"
        if path.is_file() and not _is_here(source, dataset):
            if (place := looked_into_by(plan, dataset.name)) is not None:
                message = f"`{dataset.name}` has rows that are withheld, and {place} looks into all of them"
                raise Failure("R0264", message, "whoever has them gives the folder: --data DIR")
            source.sources.public[dataset.name] = tuple(_rows(path))
            withhold(source, manifest, dataset.name)


def withhold(source: CaseSource, manifest: Manifest, dataset: str) -> None:
    """Says that the items of a data set that a release withholds are not here."""
    over = {each.name for each in source.plan.scenarios if each.rows is not None and each.rows.dataset == dataset}
    source.withheld.update(
        {each.scenario: frozenset(each.withheld) for each in manifest.items if each.scenario in over}
    )


def take_drawn(source: CaseSource, folder: Path) -> None:
    """Puts what the subsets hold where `source` finds it, where items are withheld: of the others alone they would be
    drawn otherwise."""
    if not source.withheld or not (folder / DRAWN).is_file():
        return
    drawn = json.loads((folder / DRAWN).read_bytes())
    names = [subset.name for subset in source.plan.subsets]
    if all(name in drawn for name in names):
        source.public_drawn.update({name: frozenset((s, item) for s, item in drawn[name]) for name in names})


def standing(source: CaseSource, selection: Selection) -> str | None:
    """On how many of how many items figures stand, where a release withholds some."""
    withheld = sum(source.withheld_counts(selection).values())
    if not withheld:
        return None
    items = sum(source.counts(selection).values())
    return f"on {items:,} of {items + withheld:,} items, {withheld:,} withheld by the release"


def plain(value: Any) -> Any:
    """A value of a row as JSON, from which `whole` makes the value again.

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
    """The value of a row that `plain` made JSON of."""
    match value:
        case {"$set": list(members)} if len(value) == 1:
            return frozenset(map(whole, members))
        case dict():
            return {name: whole(each) for name, each in value.items()}
        case list():
            return [whole(each) for each in value]
    return value


def _line(row: SourceRow, canary: str) -> bytes:
    values = plain(row.values)
    if item_id(whole(orjson.loads(orjson.dumps(values)))) != row.item_id:
        raise Failure(
            "W0854", f"item `{row.item_id}` has a value that cannot be frozen", "report this as a bug of Tripos"
        )
    file, number = row.origin
    said = {"file": file, "row": number, "values": values, "canary": canary}
    return orjson.dumps(said, option=orjson.OPT_APPEND_NEWLINE)


def _rows(path: Path) -> Iterator[SourceRow]:
    with path.open("rb") as file:
        for line in file:
            said = orjson.loads(line)
            yield SourceRow(whole(said["values"]), (said["file"], said["row"]))


def _is_here(source: CaseSource, dataset: Dataset) -> bool:
    """Whether the files of a data set are at hand, as they were released."""
    wanted = {file.path: file.sha256 for file in dataset.files}
    try:
        return all(True for _ in files_of(source.reader, dataset.source, source.spec_files, wanted))
    except DataError:
        return False


def looked_into_by(plan: Plan, name: str) -> str | None:
    """What looks into the rows of a data set beside the scenarios that run over it; None where nothing does."""
    told = f'"dataset":"{name}"'
    for scenario in plan.scenarios:
        rest = scenario.model_copy(update={"rows": None})
        where = scenario.rows.where if scenario.rows is not None else None
        if told in rest.model_dump_json() or (where is not None and told in where.model_dump_json()):
            return f"scenario `{scenario.name}`"
    return next((f"data set `{each.name}`" for each in plan.made if told in each.model_dump_json()), None)
