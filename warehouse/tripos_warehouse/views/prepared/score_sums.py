"""Sums of the scores of a large store, of each part and item: made once, and kept in the store.

A commit costs the sums of its own parts (`part_files.py`). Parts that are small, or in which rows are replaced by
others, are summed up where they are asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tripos_compiler.plan import Plan
from tripos_compiler.source import dataclass
from tripos_warehouse import sql
from tripos_warehouse.query import Connection, StoreConnection, as_relation, duckdb, open_box
from tripos_warehouse.store import SUMS, Store
from tripos_warehouse.views.dimensions import arm_columns
from tripos_warehouse.views.prepared.part_files import PartFiles
from tripos_warehouse.views.run_rows import ALL_SUMS, INTERNAL, SUM_SETS, analysis_name, sums_name

if TYPE_CHECKING:
    import pyarrow as pa

GROUP_ROWS = 2**16
MOST_SETS = 2_000
"""Of a part with more sets of bindings no sums are kept: to tell them apart would take longer than to read its rows."""
_APART = ("benchmark", "scenario", "item_id", "model", "scorer", "metric", "evaluator", "round", "judged_by", "status")
_TOLD = f"""{", ".join(_APART)}, fingerprint, sum(value order by value) as "its total", count(value) as "its n",
  count(*) as "its rows", coalesce(bool_and(value in (0, 1)), true) as "all are 0 or 1",
  min(hash(sample_id)) filter (value is not null) as "its sample\""""
# Several replies of a model to an item differ in their binding, and a run has all of these or none, as a rule. So sums
# are of a set of bindings; a query over part of such a
# set is refused (`RunRows.parted_sets`).
_SETS = b"sets"
_SUMS = f"""select {_TOLD}, array_to_string(list_sort(list_distinct(list(binding))), chr(31)) as binding
from {{source}} group by all"""
OF_SUMS = frozenset(("model", "scenario", "item_id", "cluster_id", "metric", "dimension", "scorer", "evaluator"))
"""The columns that sums have, beside those of axes and arms."""


def sums_of(connection: Connection, benchmark: str, placed: bool = False) -> str | None:
    """Return the table of sums of the scores and columns that `connection` shows of a benchmark, `placed` with its
    axes; `None` where there is none. Its rows are one or several for each item."""
    if not isinstance(connection, StoreConnection) or not connection.views.has(INTERNAL, f"sums of {benchmark}"):
        return None
    return sums_name(benchmark, placed)


def analysis_of(connection: Connection, benchmark: str) -> str:
    """Return the item analysis of a benchmark, as it is behind `from`: from sums, where `connection` has some."""
    if sums_of(connection, benchmark) is None:
        return f"{sql.name(benchmark)}.item_analysis()"
    return analysis_name(benchmark)


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


def kept_sums(store: Store, parts: Sequence[Path]) -> dict[Path, PartSums]:
    """Return the sums of each part that has some; those that are missing are made, where the store can be written to.
    Raises `StoreError` S0103 where a part has changed since it was written."""
    files = sum_files(store)
    found: dict[Path, PartSums] = {}
    with suppress(OSError):
        names = files.names(parts)
        for part, path in files.read(names).items():
            found[part] = _told(path)
        missing = {part: name for part, name in names.items() if part not in found}
        if missing:
            found.update(_made(files, missing))
    return found


def sum_files(store: Store) -> PartFiles:
    """Return the files of sums of scores."""
    return PartFiles(store.root, store.digests(), SUMS, _SUMS)


def _told(path: Path) -> PartSums:
    import pyarrow.parquet as pq

    told = json.loads(pq.read_metadata(path).metadata[_SETS])
    return PartSums(path, tuple(BindingSet(one, two, name, tuple(some)) for one, two, name, some in told))


def _made(files: PartFiles, names: Mapping[Path, str]) -> Iterator[tuple[Path, PartSums]]:
    """Make the sums of parts, and yield them. A part that cannot be read has none: whoever asks for its scores is
    told."""
    import pyarrow.parquet as pq

    with open_box([str(part) for part in names]) as box:
        for part, name in names.items():
            files.verify(part)
            with suppress(duckdb.Error):
                read = f"read_parquet({sql.texts([str(part)])})"
                sums, sets = _with_sets(as_relation(box, _SUMS.format(source=read)).to_arrow_table())
                if len(sets) <= MOST_SETS:
                    whole = sums.replace_schema_metadata({_SETS: json.dumps(sets)})
                    write = partial(pq.write_table, whole, compression="zstd", row_group_size=GROUP_ROWS)
                    yield part, PartSums(files.write(name, write), sets)


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


def all_sums(rows: str, kept: Sequence[PartSums]) -> list[str]:
    """Return the statements that make the table of all sums, of `rows` and of what the kept ones are of, and the table
    of their sets of bindings."""
    files = sql.texts([str(each.path) for each in kept])
    read = f"from read_parquet({files}) union all by name " if kept else ""
    sets = {each: None for sums in kept for each in sums.sets}
    told = ", ".join(
        f"({', '.join(map(sql.text, (each.scenario, each.fingerprint, each.name, binding)))}, {len(each.bindings)})"
        for each in sets
        for binding in each.bindings
    )
    columns = "scenario, fingerprint, name, binding, size"
    nothing = f"select * from (values ('', '', '', '', 0)) as own ({columns}) where false"
    return [
        f"create or replace view {ALL_SUMS} as {read}select {_TOLD}, binding from ({rows}) group by all",
        f"create or replace table {SUM_SETS} as "
        + (f"select * from (values {told}) as own ({columns})" if told else nothing),
    ]
