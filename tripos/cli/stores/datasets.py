"""`tripos import dataset`: a data set for rows from a file, the Hub or a database, proposed to be read and mended."""

from __future__ import annotations

import json
import os
import re
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tripos.cli.specs import NAME, add_to_spec, below, own_sources, texts_with
from tripos.settings import check_given, trust_of
from tripos.ui import GOOD, USAGE, Failure, show_json, show_message, show_output
from tripos_compiler.diagnostics import counted
from tripos_compiler.editing import format_text

if TYPE_CHECKING:
    from tripos.api import SpecSource
    from tripos.importing import ProposedDataset
    from tripos_compiler.compile import Compilation

UNSAVED = "spec.tripos"
"""The spec that a printed data set is for: it lies in the current folder."""


def main(options: Namespace) -> int:
    """Print a data set for the rows of a source, or add it to a spec, with the rows beside it where they are fetched or
    queried."""
    from tripos.importing import DATABASES

    database = Path(options.source).suffix.casefold() in DATABASES
    for given, shown, meant in (
        (options.query, "--query", database),
        (options.output, "--output", database),
        (options.split, "--split", options.source.startswith("hf://")),
    ):
        if given and not meant:
            kind = "data sets of the Hub" if shown == "--split" else "databases"
            raise Failure("R0202", f"`{shown}` has no meaning for `{options.source}`", f"it is for {kind}")
    name = options.name or _name_of(options.source)
    if not NAME.fullmatch(name):
        raise Failure("R0202", f"`{name}` is no name", "a name has letters, digits and `_`")
    if options.path is None:
        found = _proposed(options, name, Path.cwd() / UNSAVED)
        if options.json:
            show_json(json.dumps(found.to_json(), ensure_ascii=False, indent=2))
        else:
            show_output(format_text(found.text, name))
            _tell(found)
        return GOOD
    seen: list[ProposedDataset] = []

    def added(spec: SpecSource, before: Compilation) -> tuple[Mapping[str, str], str]:
        assert before.plan is not None
        found = _proposed(options, name, spec.path, [each.name for each in before.plan.axes])
        seen.append(found)
        return texts_with([below(own_sources(before)[0], found.text, "dataset", "axis", "role", "benchmark")]), ""

    plan = add_to_spec(options, f"dataset `{name}`", added)
    if plan is None:
        return USAGE
    _tell(seen[0])
    if options.json:
        show_json(json.dumps(seen[0].to_json(), ensure_ascii=False, indent=2))
    return GOOD


def _proposed(options: Namespace, name: str, spec: Path, axes: list[str] | None = None) -> ProposedDataset:
    from tripos.importing import propose, rows_of_files

    source = _brought(options, name, spec)
    outside = options.allow_outside
    check_given(trust_of(options), outside=outside)
    given = [Path(each).resolve() for each in options.data]
    rows, folder = rows_of_files(source, spec, given, trust_of(options), outside=outside)
    found = propose(name, source, rows, axes or (), folder)
    if all(each.left_out for each in found.fields):
        columns = ", ".join(f"`{each.column}`" for each in found.fields)
        raise Failure("R0209", f"no column of `{source}` is about an item: {columns}", "declare the data set by hand")
    return found


def _brought(options: Namespace, name: str, spec: Path) -> str:
    """Return how a spec names the files of a source, after what lies elsewhere was put beside the spec."""
    from tripos.importing import DATABASES, files_of_hub, json_lines
    from tripos.releases.fetching import DataFetcher, list_hub_files, reach_of
    from tripos_runtime.datasets import DataFolders
    from tripos_warehouse.exports import write_lines

    given: str = options.source
    if given.startswith("hf://"):
        check_given(trust_of(options), fetch=True)
        reach = replace(reach_of(options), here=False)
        place, path = _place_of(given)
        commit, names = list_hub_files(place, reach)
        head = f"{place.partition('@')[0]}@{commit}"
        source = f"{head}/{path or files_of_hub(names, options.split)}"
        fetcher = DataFetcher(reach)
        DataFolders(bring=fetcher.bring).find(source, str(spec))
        for each in fetcher.brought.values():
            show_message(f"fetched into {_shown(each)}", stderr=True)
        return source
    path_given = Path(given).expanduser()
    if path_given.suffix.casefold() in DATABASES:
        target = Path(options.output) if options.output else spec.parent / f"{name}.jsonl"
        if target.exists() and not options.replace:
            raise Failure("R0209", f"`{_shown(target)}` is there already", "use --replace, or another file: -o FILE")
        written = write_lines(target, json_lines(_rows_asked(path_given, options)))
        show_message(f"{counted(written.rows, 'row')} written to {_shown(target)}", stderr=True)
        path_given = target
    return Path(os.path.relpath(path_given, spec.parent)).as_posix()


def _rows_asked(path: Path, options: Namespace) -> Iterator[dict[str, Any]]:
    from tripos.importing import rows_of_database

    return rows_of_database(path, options.query, trust_of(options), outside=options.allow_outside)


def _place_of(given: str) -> tuple[str, str]:
    """Return a data set of the Hub, and the path in it.

    >>> _place_of("hf://lab/sums@v1/main/test.jsonl"), _place_of("hf://datasets/lab/sums")
    (('hf://lab/sums@v1', 'main/test.jsonl'), ('hf://lab/sums', ''))
    """
    owner, _, rest = given.removeprefix("hf://").strip("/").removeprefix("datasets/").partition("/")
    name, _, path = rest.partition("/")
    if not owner or not name:
        raise Failure("R0202", f"`{given}` is no place on the Hub", "write hf://OWNER/NAME, or hf://OWNER/NAME/PATH")
    return f"hf://{owner}/{name}", path


def _name_of(source: str) -> str:
    """Return the name of a data set that is called as its file, or as the data set of the Hub.

    >>> _name_of("data/Exam items-2.csv.gz"), _name_of("hf://lab/quiz@v1"), _name_of("hf://lab/quiz/main/test.jsonl")
    ('Exam_items_2', 'quiz', 'quiz')
    """
    last = _place_of(source)[0].rpartition("/")[2].partition("@")[0] if source.startswith("hf://") else ""
    stem = last or Path(source).name.partition(".")[0]
    return re.sub(r"\W+", "_", re.sub(r"[*{}]", "", stem)).strip("_-") or "item"


def _shown(path: Path) -> str:
    return Path(os.path.relpath(path)).as_posix() if path.is_absolute() else path.as_posix()


def _tell(found: ProposedDataset) -> None:
    """Say what a reader of the proposal has to look at."""
    if found.secrets:
        shown = ", ".join(f"`{each}`" for each in found.secrets)
        show_message(f"kept from the models under test: {shown}", stderr=True)
    else:
        show_message(
            "no column looks like an answer: write `secret` behind each field that the models under test must not see",
            stderr=True,
        )
    left = [f"`{' '.join(each.column.split())}`" for each in found.fields if each.left_out]
    if left:
        show_message(f"left out: {', '.join(left)}", stderr=True)
    if found.languages:
        show_message(f"languages of the rows: {', '.join(found.languages)}", stderr=True)
