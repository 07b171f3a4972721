"""Files that are derived from the large parts of a store: hashed keys, values of enumerations, and score sums.

All of these files are disposable: they are made again if they are missing, damaged or outdated.

A part never changes, so its derived files stay valid. The name of a derived file contains a digest of the part and of
the query, and a digest of its own content, which is compared at every reading. Before a file is made, the part is
verified. Small parts have no derived files, nor have parts without a digest, which earlier versions wrote.

- Keys: sorted hashes of the keys of the rows. Parts whose keys all differ are listed, so opening a store after a commit
  compares only its rows with the others.
- Values: the values in columns that are enumerations.
- Sums: score sums by item. Small parts, and parts with superseded rows, are summed at query time.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from tripos_compiler.source.data_classes import dataclass
from tripos_warehouse import sql
from tripos_warehouse.query.connection import Connection, StoreConnection, as_relation, duckdb, open_sandbox
from tripos_warehouse.store.derived import DerivedFiles, is_as_named, write_named
from tripos_warehouse.store.digests import sha256_of
from tripos_warehouse.store.parts import changed_part, stem_of
from tripos_warehouse.store.paths import KEYS, SUMS, VALUES
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.store import Store
from tripos_warehouse.views.dimensions import arm_columns
from tripos_warehouse.views.run_rows import ALL_SUMS, INTERNAL, SUM_SETS, analysis_name, sums_name

if TYPE_CHECKING:
    import pyarrow as pa

    from tripos_compiler.plan import Plan


# Derived files of parts
LEAST_BYTES = 1_000_000
"""Nothing is derived from a smaller part: looking for the file would take as long as reading the part."""


@dataclass(frozen=True)
class PartFiles:
    """The derived files of one kind, in one folder of the store at `root`. `digests` has the digests of the parts, and
    `made_by` is the SQL expression or query that makes a file.
    """

    root: Path
    digests: Mapping[Path, str]
    folder: str
    made_by: str
    ending: str = "parquet"

    def names(self, parts: Sequence[Path]) -> dict[Path, str]:
        """Return the names of the derived files of parts that are large and have a digest. Raises `OSError`."""
        return {part: self.name(part) for part in parts if part in self.digests and self.is_large(part)}

    def is_large(self, part: Path) -> bool:
        """Return true if a part is large enough to have a derived file. Raises `OSError`."""
        return part.stat().st_size >= LEAST_BYTES

    def name(self, part: Path) -> str:
        """Return the name of the derived file of a part that has a digest."""
        texts = [part.relative_to(self.root).as_posix(), self.digests[part], self.made_by, duckdb.__version__]
        return hashlib.blake2b(repr(texts).encode(), digest_size=16).hexdigest()

    def verify(self, part: Path) -> None:
        """Compare a part with its digest. Raises `StoreError` S0103 if it has changed, and `OSError`."""
        if sha256_of(part) != self.digests[part]:
            raise changed_part(part, stem_of(part))

    def read(self, names: Mapping[Path, str]) -> dict[Path, Path]:
        """Return the derived file of each part that has an undamaged one. Creates the folder. Raises `OSError`."""
        folder = self.root / self.folder
        folder.mkdir(parents=True, exist_ok=True)
        paths = {path.name.partition(".")[0]: path for path in folder.iterdir()}
        undamaged = {}
        for part, name in names.items():
            with suppress(OSError):
                if name in paths and is_as_named(paths[name], name, f".{self.ending}"):
                    undamaged[part] = paths[name]
        return undamaged

    def write(self, name: str, write: Callable[[Path], None]) -> Path:
        """Store the file that `write` produces, and return its path. Raises `OSError` and what `write` raises."""
        return write_named(self.root / self.folder / name, write, f".{self.ending}")


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Hashes = NDArray[np.uint64]


# Keys
ANY_STATE = ""
"""The state of a list of parts, which is valid in any state of the store, since it names derived files by digests."""


def may_have_duplicates(
    connection: duckdb.DuckDBPyConnection, store: Store, table: str, parts: Sequence[Path], key: Sequence[str]
) -> bool:
    """Return true if several rows of these parts may have one key: if several have keys with the same hash. If not,
    record that the keys of all parts differ. Raises `StoreError` S0103 if a part has changed since it was written.
    """
    import numpy as np

    keys = _Keys(connection, key_files(store, key), table, parts)
    new = [part for part in parts if keys.names.get(part) not in keys.distinct]
    if not new:
        return False
    [(rows,)] = connection.execute(f"select count(*) from {_source(new)}").fetchall()
    added, place = np.empty(rows, np.uint64), 0
    for hashes in keys.hashes(new):
        if place + len(hashes) <= rows:
            added[place : place + len(hashes)] = hashes
        place += len(hashes)
    added.sort()
    if place != rows or bool((added[1:] == added[:-1]).any()):
        return True
    for hashes in keys.hashes([part for part in parts if part not in new]):
        places = np.searchsorted(hashes, added)
        if len(hashes) and bool((hashes[np.minimum(places, len(hashes) - 1)] == added).any()):
            return True
    keys.record_distinct()
    return False


def key_files(store: Store, key: Sequence[str]) -> PartFiles:
    """Return the derived files of key hashes."""
    return PartFiles(store.root, store.digests(), KEYS, f"hash({', '.join(key)})", "keys")


def list_of(root: Path, table: str) -> Path:
    """Return the path of the list of the parts of a table whose keys all differ."""
    return root / KEYS / f"{table}.json"


class _Keys:
    """The key hashes of each part, stored or computed. `names` has the names of the derived files by part, and
    `distinct` the names of those of parts whose keys are known to differ.
    """

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, files: PartFiles, table: str, parts: Sequence[Path]
    ) -> None:
        self._connection = connection
        self._files = files
        self._list = f"keys/{table}.json"
        self.names = {part: files.name(part) for part in parts if part in files.digests}
        listed = DerivedFiles(files.root).read(self._list, ANY_STATE, lambda body: frozenset(body["parts"]))
        self.distinct: frozenset[str] = listed or frozenset()

    def hashes(self, parts: Sequence[Path]) -> Iterator[Hashes]:
        """Yield the sorted key hashes of each large part, and those of all small parts together."""
        import numpy as np

        small = [part for part in parts if not self._files.is_large(part)]
        large = [part for part in parts if part not in small]
        stored: Mapping[Path, Path] = {}
        with suppress(OSError):
            stored = self._files.read({part: self.names[part] for part in large if part in self.names})
        for group in [*([part] for part in large), *([small] if small else [])]:
            if group[0] in stored:
                yield np.fromfile(stored[group[0]], "<u8")
                continue
            may_store = group != small and group[0] in self.names
            if may_store:
                self._files.verify(group[0])
            query = f"select {self._files.made_by} as hashed from {_source(group)}"
            batches = as_relation(self._connection, query).to_arrow_reader(2**17)
            hashes = np.concatenate([np.empty(0, np.uint64), *(batch.column(0).to_numpy() for batch in batches)])
            hashes.sort()
            if may_store:
                with suppress(OSError):
                    self._files.write(self.names[group[0]], hashes.astype("<u8", copy=False).tofile)
            yield hashes

    def record_distinct(self) -> None:
        """Record that the keys of all parts differ."""
        DerivedFiles(self._files.root).write(self._list, ANY_STATE, {"parts": sorted(self.names.values())})


def _source(parts: Sequence[Path]) -> str:
    return f"read_parquet({sql.texts([str(part) for part in parts])})"


# Values of enumerations
Value = tuple[str, str, str]
"""A value in a column of a benchmark: (benchmark, column, value)."""
_OF_CONTEXT = """
  select benchmark, unnest(map_entries(context)).key as "column", unnest(map_entries(context)).value as value from found
  union all select benchmark, 'scenario', scenario from found"""
_FOUND = {
    "items": (
        "benchmark, scenario, language, context",
        f"{_OF_CONTEXT} union all select benchmark, 'language', language from found",
    ),
    "samples": ("benchmark, scenario, context", _OF_CONTEXT),
    "scores": (
        "benchmark, scenario, metric",
        "select benchmark, 'scenario' as \"column\", scenario as value from found"
        " union all select benchmark, 'metric', metric from found",
    ),
}
ENUMERATED_TABLES = tuple(_FOUND)
"""The tables with enumeration columns."""


def _query(table: str, source: str) -> str:
    """Return the query of the values of a table; some are repeated. `source` is a `from` item with its rows."""
    columns, values = _FOUND[table]
    return f"""with found as (select distinct {columns} from {source})
      select benchmark, "column", value from ({values}) where value is not null"""


def stored_values(
    connection: Connection, others: Mapping[str, tuple[str, Collection[Value]]] = {}
) -> dict[str, dict[str, list[str]]]:
    """Return the values in enumeration columns by benchmark and column: scenarios, metrics, axes. A plan lists the
    current ones; items of an earlier plan may have others.

    `others` has, for tables of which the values of some rows are known, a query of the other rows and the known values.
    """
    sources = {table: others.get(table, (f"main.{table}", ())) for table in ENUMERATED_TABLES}
    query = " union all ".join(f"({_query(table, source)})" for table, (source, _) in sources.items())
    values: set[Value] = {*connection.execute(query).fetchall()}.union(*(known for _, known in sources.values()))
    by_benchmark: dict[str, dict[str, list[str]]] = {}
    for benchmark, column, value in sorted(values):
        by_benchmark.setdefault(benchmark, {}).setdefault(column, []).append(value)
    return by_benchmark


def read_values(
    connection: duckdb.DuckDBPyConnection, store: Store, table: str, parts: Sequence[Path]
) -> dict[Path, list[Value]]:
    """Return the values of each large part from its derived file, which is made if it is missing and the store can be
    written to. Raises `StoreError` S0103 if a part has changed since it was written.
    """
    files = value_files(store, table)
    by_part: dict[Path, list[Value]] = {}
    with suppress(OSError):
        names = files.names(parts)
        paths = files.read(names)
        for part, name in names.items():
            if part in paths:
                rows = json.loads(paths[part].read_text("utf-8"))
                by_part[part] = [(benchmark, column, value) for benchmark, column, value in rows]
                continue
            files.verify(part)
            by_part[part] = sorted({*connection.execute(_query(table, _source([part]))).fetchall()})
            content = json.dumps(by_part[part], ensure_ascii=False).encode()
            files.write(name, partial(_write, content))
    return by_part


def _write(content: bytes, path: Path) -> None:
    path.write_bytes(content)


def value_files(store: Store, table: str) -> PartFiles:
    """Return the derived files of the values of a table."""
    return PartFiles(store.root, store.digests(), VALUES, _query(table, "part"), "json")


# Score sums
GROUP_ROWS = 2**16
"""The number of rows of a row group of a file of sums."""
MOST_SETS = 2_000
"""A part with more sets of bindings has no sums: to distinguish the sets would take longer than reading its rows."""
_KEYS = "benchmark, scenario, item_id, model, scorer, metric, evaluator, round, judged_by, status, fingerprint"
_SUM_COLUMNS = f"""{_KEYS}, sum(value order by value) as "its total", count(value) as "its n",
  count(*) as "its rows", coalesce(bool_and(value in (0, 1)), true) as "all are 0 or 1",
  min(hash(sample_id)) filter (value is not null) as "its sample\""""
# Several replies of a model to an item differ in their binding, and a run usually has all of them or none. So sums
# are over a set of bindings. If only part of such a set is shown, no sums are used (`RunRows.partial_sets`).
_SETS = b"sets"
_SUMS = f"""select {_SUM_COLUMNS}, array_to_string(list_sort(list_distinct(list(binding))), chr(31)) as binding
from {{source}} group by all"""
SUM_COLUMNS = frozenset(("model", "scenario", "item_id", "cluster_id", "metric", "dimension", "scorer", "evaluator"))
"""The columns of sums, without those of axes and arms."""


def score_sums(connection: Connection, benchmark: str, placed: bool = False) -> str | None:
    """Return the name of the table of sums of the scores and columns of a benchmark, with its axes if `placed`; None if
    there is none. It has one or more rows for each item.
    """
    if not isinstance(connection, StoreConnection) or not connection.views.has(INTERNAL, f"sums of {benchmark}"):
        return None
    return sums_name(benchmark, placed)


def analysis_of(connection: Connection, benchmark: str) -> str:
    """Return the item analysis of a benchmark as a `from` item: the view over sums if `connection` has them, otherwise
    the macro."""
    if score_sums(connection, benchmark) is None:
        return f"{sql.name(benchmark)}.item_analysis()"
    return analysis_name(benchmark)


def score_sums_by(connection: Connection, plan: Plan, columns: Collection[str]) -> str | None:
    """Return the name of the table of sums with these columns, which are of scores, axes or arms; None if there is
    none."""
    return score_sums(connection, plan.benchmark.name, not {*columns} <= {*SUM_COLUMNS, *arm_columns(plan)})


class BindingSet(NamedTuple):
    """A set of bindings of a step whose scores are summed together, and the name of the set."""

    scenario: str
    fingerprint: str
    name: str
    bindings: tuple[str, ...]


@dataclass(frozen=True)
class PartSums:
    """The file with the sums of a part, and its sets of bindings."""

    path: Path
    sets: tuple[BindingSet, ...]


def read_score_sums(store: Store, parts: Sequence[Path]) -> dict[Path, PartSums]:
    """Return the sums of each large part; missing ones are made if the store can be written to. Raises `StoreError`
    S0103 if a part has changed since it was written.
    """
    files = sum_files(store)
    by_part: dict[Path, PartSums] = {}
    with suppress(OSError):
        names = files.names(parts)
        for part, path in files.read(names).items():
            by_part[part] = _read_sums(path)
        missing = {part: name for part, name in names.items() if part not in by_part}
        if missing:
            by_part.update(_compute_sums(files, missing))
    return by_part


def sum_files(store: Store) -> PartFiles:
    """Return the derived files of score sums."""
    return PartFiles(store.root, store.digests(), SUMS, _SUMS)


def _read_sums(path: Path) -> PartSums:
    """Return the sums in a file, with the sets of bindings from its metadata."""
    import pyarrow.parquet as pq

    rows = json.loads(pq.read_metadata(path).metadata[_SETS])
    sets = (BindingSet(scenario, fingerprint, name, tuple(bindings)) for scenario, fingerprint, name, bindings in rows)
    return PartSums(path, tuple(sets))


def _compute_sums(files: PartFiles, names: Mapping[Path, str]) -> Iterator[tuple[Path, PartSums]]:
    """Compute the sums of parts and yield them. An unreadable part is skipped here; queries of its scores will fail."""
    import pyarrow.parquet as pq

    with open_sandbox([str(part) for part in names]) as box:
        for part, name in names.items():
            files.verify(part)
            with suppress(duckdb.Error):
                sums, sets = _with_sets(as_relation(box, _SUMS.format(source=_source([part]))).to_arrow_table())
                if len(sets) <= MOST_SETS:
                    table = sums.replace_schema_metadata({_SETS: json.dumps(sets)})
                    write = partial(pq.write_table, table, compression="zstd", row_group_size=GROUP_ROWS)
                    yield part, PartSums(files.write(name, write), sets)


def _with_sets(sums: pa.Table) -> tuple[pa.Table, tuple[BindingSet, ...]]:
    """Return sums with a name in place of each set of bindings, and the sets."""
    import pyarrow as pa

    coded = sums["binding"].combine_chunks().dictionary_encode()
    bindings = coded.dictionary.to_pylist()
    names = pa.array(
        [hashlib.blake2b(binding.encode(), digest_size=16).hexdigest() for binding in bindings], pa.string()
    )
    named = pa.DictionaryArray.from_arrays(coded.indices, names)
    place = sums.schema.get_field_index("binding")
    of_name = dict(zip(names.to_pylist(), bindings, strict=True))
    sums = sums.set_column(place, "binding", named)
    rows = sums.select(["scenario", "fingerprint", "binding"]).group_by(["scenario", "fingerprint", "binding"])
    binding_sets = (
        BindingSet(**{**row, "name": name, "bindings": tuple(of_name[name].split("\x1f"))})
        for row in rows.aggregate([]).to_pylist()
        if (name := row.pop("binding"))
    )
    return sums, tuple(sorted(binding_sets))


def all_sums(rows: str, stored: Sequence[PartSums]) -> list[str]:
    """Return the statements that create the view of all sums, from the stored sums and the query `rows` of other
    scores, and the table of the binding sets of the stored sums.
    """
    files = sql.texts([str(sums.path) for sums in stored])
    read = f"from read_parquet({files}) union all by name " if stored else ""
    sets = {set_: None for sums in stored for set_ in sums.sets}
    text = ", ".join(
        f"({', '.join(map(sql.text, (set_.scenario, set_.fingerprint, set_.name, binding)))}, {len(set_.bindings)})"
        for set_ in sets
        for binding in set_.bindings
    )
    columns = "scenario, fingerprint, name, binding, size"
    nothing = f"select * from (values ('', '', '', '', 0)) as own ({columns}) where false"
    return [
        f"create or replace view {ALL_SUMS} as {read}select {_SUM_COLUMNS}, binding from ({rows}) group by all",
        f"create or replace table {SUM_SETS} as "
        + (f"select * from (values {text}) as own ({columns})" if text else nothing),
    ]


# Removal
def stale_files(store: Store) -> Iterator[Path]:
    """Yield derived files that belong to no current part, or are incomplete. Raises what `Store.files` raises."""
    parts = store.files()
    known = {SUMS: {*sum_files(store).names(parts["scores"]).values()}, KEYS: set[str](), VALUES: set[str]()}
    lists = {list_of(store.root, table) for table in TABLES}
    for table, schema in TABLES.items():
        known[KEYS] |= {*key_files(store, schema.key).names(parts[table]).values()}
        if table in ENUMERATED_TABLES:
            known[VALUES] |= {*value_files(store, table).names(parts[table]).values()}
    for folder, names in known.items():
        for path in sorted((store.root / folder).glob("*")):
            name, *rest = path.name.split(".")
            if (name not in names or rest[-1:] == ["tmp"]) and path not in lists:
                yield path
