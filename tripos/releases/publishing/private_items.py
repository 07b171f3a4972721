"""The parts of a benchmark that stay out of its release, because a subset of it is withheld."""

from __future__ import annotations

import csv
import io
import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence, Set as AbstractSet
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tripos.releases.extended import ReleaseFolders
from tripos.releases.frozen import held_back_in, restore, withheld_of
from tripos.releases.opening import open_release
from tripos.ui import Failure
from tripos_compiler.plan import Data, Made, Plan
from tripos_compiler.source import DataError, FoundRelease
from tripos_runtime.datasets import CaseSource, Selection, looked_into

LEAST_BYTES = 20
"""A text of fewer bytes is no item's own: words, numbers and names of topics are found everywhere."""


def check_leaks(folder: Path, source: CaseSource, extended: Sequence[FoundRelease] = ()) -> None:
    """Raise `Failure` S0853 where a text of a withheld item is in a file of the release in `folder`: in another data
    file, in a scenario over other rows, in a prompt. Withheld are those of its plan, and of the releases that it
    extends, where their text is at hand. Texts that published items of their data set share do not count, and neither
    does how they are broken into lines."""
    try:
        hidden = _hidden(source, withheld_of(source))
        for release in extended:
            hidden |= _hidden_in(release, extended, source)
    except DataError as error:
        raise Failure("S0853", error.message, error.help) from error
    if not hidden:
        return
    for path in sorted(each for each in folder.rglob("*") if each.is_file()):
        said = "\n".join(map(_single_spaced, _texts(path)))
        found = next((text for text in sorted(hidden) if text in said), None)
        if found is not None:
            name = path.relative_to(folder).as_posix()
            quoted = found if len(found) <= 40 else found[:39] + "…"
            message = f"`{name}` would publish the text of an item that is withheld: “{quoted}”"
            raise Failure("S0853", message, "take it out of that file, or withhold the item no longer")


def _hidden(source: CaseSource, held: AbstractSet[str]) -> set[str]:
    """Return the texts that of a data set only the items that are `held` back have."""
    hidden: dict[str, set[str]] = {}
    shown: dict[str, set[str]] = {}
    for scenario in source.plan.scenarios if held else ():
        if scenario.rows is not None:
            for case in source.of(scenario, Selection()):
                texts = (hidden if case.item_id in held else shown).setdefault(scenario.rows.dataset, set())
                texts.update(map(_single_spaced, _strings(case.fields)))
    own = set().union(*(texts - shown.get(name, set()) for name, texts in hidden.items()))
    return {text for text in own if len(text.encode(errors="replace")) >= LEAST_BYTES}


def _hidden_in(release: FoundRelease, extended: Sequence[FoundRelease], source: CaseSource) -> set[str]:
    """Return the texts that a release which is extended holds back, as its own scenarios have them: what is taken of it
    may be less. None where nobody gave the data that they are in: then they cannot be told here."""
    held = held_back_in([release])
    if not held:
        return set()
    opened = open_release(Path(release.folder))
    known = ReleaseFolders(tuple(Path(each.folder) for each in extended))
    try:
        whole = opened.compilation(known)
        assert whole.plan is not None
        paths = tuple(each.path for each in whole.sources)
        theirs = CaseSource(whole.plan, opened.data_folders(source.reader.folders), paths)
        restore(theirs, opened.folder)
        return _hidden(theirs, held)
    except (DataError, Failure):
        return set()


def _single_spaced(text: str) -> str:
    return " ".join(text.split())


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for each in value.values():
                yield from _strings(each)
        case list() | tuple() | AbstractSet():
            for each in value:
                yield from _strings(each)


def _texts(path: Path) -> Iterator[str]:
    """Yield all texts of a file, as they are meant and not as its format writes them; of a file of no format that is
    known here, its content."""
    if path.suffix == ".parquet":
        yield from _strings(pq.read_table(path).to_pylist())
        return
    raw = path.read_bytes().decode(errors="replace")
    yield raw
    try:
        match path.suffix:
            case ".json":
                yield from _strings(json.loads(raw))
            case ".jsonl":
                yield from _strings([json.loads(line) for line in raw.splitlines() if line.strip()])
            case ".csv" | ".tsv":
                delimiter = "\t" if path.suffix == ".tsv" else ","
                yield from _strings(list(csv.reader(io.StringIO(raw, newline=""), delimiter=delimiter)))
    except (ValueError, RecursionError, csv.Error):
        return


def held_files(plan: Plan, source: CaseSource, held_back: frozenset[str] = frozenset()) -> set[str]:
    """Return the data files, by SHA-256, that have items which are withheld, here or in a release that is extended:
    those in `held_back`. Raises `Failure` S0853 where what was made from such items would tell them."""
    if not held_back and not any(subset.withheld for subset in plan.subsets):
        return set()
    held = held_sets(source, held_back)
    for made in plan.made:
        of = next(iter(sorted(_made_from(made, plan) & held)), None)
        if of is not None:
            message = f"`{made.name}` is made from `{of}`, of which items are withheld"
            raise Failure("S0853", message, "rows made from them would reveal them: withhold these rows too")
    return {file.sha256 for dataset in plan.datasets if dataset.name in held for file in dataset.every_file}


def _made_from(made: Made, plan: Plan) -> set[str]:
    """Return the data sets that one is made from, at first or second hand."""
    own = {made.source.dataset} if isinstance(made.source, Data) else set()
    near = (own | looked_into(made)) - {made.name}
    return near.union(*(_made_from(each, plan) for each in plan.made if each.name in near))


def held_sets(source: CaseSource, held_back: frozenset[str] = frozenset()) -> set[str]:
    """Return the data sets that have items which are withheld, here or in a release that is extended."""
    try:
        held = withheld_of(source) | held_back
        return {
            scenario.rows.dataset
            for scenario in source.plan.scenarios
            if scenario.rows is not None and any(case.item_id in held for case in source.of(scenario, Selection()))
        }
    except DataError as error:
        raise Failure("S0853", error.message, error.help) from error


def put_aside(private: Path, release: Path) -> Path:
    """Return the folder with what is withheld its name, beside the release that it belongs to."""
    target = release.with_name(f"{release.name}.withheld")
    shutil.rmtree(target, ignore_errors=True)
    private.chmod(0o700)
    os.rename(private, target)  # noqa: PTH104 - to a name that is free now
    return target
