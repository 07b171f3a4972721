"""Sums of the scores of a large store, of each part and item: made once, and kept in the store.

A part is never changed, so its sums hold as long as it is there, and a commit costs the sums of its own parts. A file
of sums is named by its part, by what made it, and by its own content, which is compared whenever it is read. Parts that
are small, or in which rows are replaced by others, are summed up where they are asked for.
The files are disposable.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tripos_compiler.plan import Plan
from tripos_warehouse import sql
from tripos_warehouse.query import Connection, StoreConnection, duckdb, open_box
from tripos_warehouse.store import SUMS, is_plain
from tripos_warehouse.views.dimensions import arm_columns
from tripos_warehouse.views.run_rows import ALL_SUMS, INTERNAL, SUM_SETS, sums_name

if TYPE_CHECKING:
    import pyarrow as pa

LEAST_BYTES = 1_000_000
"""A part of fewer bytes is summed up each time: to look for its file would take as long."""
FOOT_BYTES = 2**16
GROUP_ROWS = 2**16
MOST_SETS = 2_000
"""Of a part with more sets of bindings no sums are kept: to tell them apart would take longer than to read its rows."""
_APART = ("benchmark", "scenario", "item_id", "model", "scorer", "metric", "evaluator", "round", "judged_by", "status")
_TOLD = f"""{", ".join(_APART)}, fingerprint, sum(value) as "its total", count(value) as "its n",
  count(*) as "its rows", coalesce(bool_and(value in (0, 1)), true) as "all are 0 or 1",
  min(hash(sample_id)) filter (value is not null) as "its sample\""""
# Several replies of a model to an item differ in their binding, and a run has all of these or none, as a rule. So sums
# are of a set of bindings; a query over part of such a
# set is refused (`RunRows.parted_sets`).
_SETS = b"sets"
_SUMS = f"""select {_TOLD}, array_to_string(list_sort(list_distinct(list(binding))), chr(31)) as binding
from {{source}} group by all"""
OF_SUMS = frozenset(("model", "scenario", "item_id", "metric", "dimension", "scorer", "evaluator"))
"""The columns that sums have, beside those of axes and arms."""


def sums_of(connection: Connection, benchmark: str, placed: bool = False) -> str | None:
    """Return the table of sums of the scores and columns that `connection` shows of a benchmark, `placed` with its
    axes; `None` where there is none. Its rows are one or several for each item."""
    if not isinstance(connection, StoreConnection) or not connection.views.has(INTERNAL, f"sums of {benchmark}"):
        return None
    return sums_name(benchmark, placed)


def sums_with(connection: Connection, plan: Plan, columns: Collection[str]) -> str | None:
    """Return the same with these columns, which are of scores, axes or arms."""
    return sums_of(connection, plan.benchmark.name, not {*columns} <= {*OF_SUMS, *arm_columns(plan)})


class BindingSet(NamedTuple):
    """The bindings of a step that sums are of, and the name that these have there for them."""

    scenario: str
    fingerprint: str
    name: str
    bindings: tuple[str, ...]


@dataclass(frozen=True)
class PartSums:
    """The file of sums of a part, and the sets of bindings in it."""

    path: Path
    sets: tuple[BindingSet, ...]


def kept_sums(root: Path, parts: Sequence[Path]) -> dict[Path, PartSums]:
    """Return the sums of each part that has some; those that are missing are made, where the store can be written
    to."""
    folder = root / SUMS
    found: dict[Path, PartSums] = {}
    large = {part: _name_of(root, part) for part in parts if part.stat().st_size >= LEAST_BYTES}
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        there = {path.name.partition(".")[0]: path for path in folder.iterdir()}
        for part, name in large.items():
            if name in there and (kept := _read(there[name])) is not None:
                found[part] = kept
        missing = [part for part in large if part not in found]
        if missing:
            found.update(_made(folder, {part: large[part] for part in missing}))
    return found


def _name_of(root: Path, part: Path) -> str:
    """Return the name of the sums of a part, by what tells it from any other and by what makes them."""
    stat = part.stat()
    told = [part.relative_to(root).as_posix(), stat.st_size, stat.st_mtime_ns, _SUMS, duckdb.__version__]
    digest = hashlib.blake2b(repr(told).encode(), digest_size=16)
    with part.open("rb") as file:
        file.seek(max(0, stat.st_size - FOOT_BYTES))
        digest.update(file.read())
    return digest.hexdigest()


def _read(path: Path) -> PartSums | None:
    """Return the sums in a file; `None` where it is not the one that its name says: a sum that a disk spoilt would be a
    sum like another."""
    with suppress(OSError):
        if is_plain(path) and path.name.split(".")[1:] == [_digest(path), "parquet"]:
            import pyarrow.parquet as pq

            told = pq.read_metadata(path).metadata[_SETS]
            return PartSums(
                path, tuple(BindingSet(one, two, name, tuple(some)) for one, two, name, some in json.loads(told))
            )
    return None


def _digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=16).hexdigest()


def _made(folder: Path, names: Mapping[Path, str]) -> Iterator[tuple[Path, PartSums]]:
    """Make the sums of parts, and yield them. A part that cannot be read has none: whoever asks for its scores is
    told."""
    import pyarrow.parquet as pq

    with open_box([str(part) for part in names]) as box:
        for part, name in names.items():
            temporary = folder / f"{os.urandom(16).hex()}.part"
            try:
                read = f"read_parquet({sql.texts([str(part)])})"
                sums, sets = _with_sets(box.sql(_SUMS.format(source=read)).to_arrow_table())
                if len(sets) > MOST_SETS:
                    continue
                told = {_SETS: json.dumps(sets)}
                pq.write_table(
                    sums.replace_schema_metadata(told), temporary, compression="zstd", row_group_size=GROUP_ROWS
                )
                path = folder / f"{name}.{_digest(temporary)}.parquet"
                temporary.replace(path)
                yield part, PartSums(path, sets)
            except duckdb.Error:
                continue
            finally:
                temporary.unlink(missing_ok=True)


def _with_sets(sums: pa.Table) -> tuple[pa.Table, tuple[BindingSet, ...]]:
    """Return sums with a name in place of each set of bindings, and the sets."""
    import pyarrow as pa

    coded = sums["binding"].combine_chunks().dictionary_encode()
    bindings = coded.dictionary.to_pylist()
    names = pa.array([hashlib.blake2b(each.encode(), digest_size=16).hexdigest() for each in bindings], pa.string())
    named = pa.DictionaryArray.from_arrays(coded.indices, names)
    place = sums.schema.get_field_index("binding")
    of_name = dict(zip(names.to_pylist(), bindings, strict=True))
    sums = sums.set_column(place, "binding", named)
    rows = sums.select(["scenario", "fingerprint", "binding"]).group_by(["scenario", "fingerprint", "binding"])
    found = (
        BindingSet(**{**row, "name": name, "bindings": tuple(of_name[name].split("\x1f"))})
        for row in rows.aggregate([]).to_pylist()
        if (name := row.pop("binding"))
    )
    return sums, tuple(sorted(found))


def stale_sums(root: Path, parts: Sequence[Path]) -> Iterator[Path]:
    """Yield the files in the folder of sums that are none of these parts' of today."""
    known = {_name_of(root, part) for part in parts}
    for path in sorted((root / SUMS).glob("*")):
        name, *rest = path.name.split(".")
        if name not in known or rest[-1:] != ["parquet"]:
            yield path


def all_sums(source: str, condition: str, places: Mapping[int, PartSums]) -> list[str]:
    """Return the statements that make the table of all sums, over the rows of `source` that `condition` leaves, and the
    table of their sets of bindings; `places` are the sums of those of its files whose rows all count, by place."""
    rows = f"select * from {source} as part {condition}"
    if places:
        others = f"part.file_index not in ({', '.join(map(str, places))})"
        rows = f"{rows} {'and' if condition else 'where'} {others}"
    files = sql.texts([str(each.path) for each in places.values()])
    kept = f"from read_parquet({files}) union all by name " if places else ""
    sets = {each: None for sums in places.values() for each in sums.sets}
    told = ", ".join(
        f"({', '.join(map(sql.text, (each.scenario, each.fingerprint, each.name, binding)))}, {len(each.bindings)})"
        for each in sets
        for binding in each.bindings
    )
    columns = "scenario, fingerprint, name, binding, size"
    nothing = f"select * from (values ('', '', '', '', 0)) as own ({columns}) where false"
    return [
        f"create or replace view {ALL_SUMS} as {kept}select {_TOLD}, binding from ({rows}) group by all",
        f"create or replace table {SUM_SETS} as "
        + (f"select * from (values {told}) as own ({columns})" if told else nothing),
    ]
