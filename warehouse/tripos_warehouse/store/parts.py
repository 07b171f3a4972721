"""Parts: one Parquet file each, written whole and read with the schema of today."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tripos_compiler.source import dataclass
from tripos_warehouse.errors import StoreError
from tripos_warehouse.store.commits import Commit, ParquetPart, sync
from tripos_warehouse.store.digests import HashingFile, sha256_of
from tripos_warehouse.store.folders import part_path
from tripos_warehouse.store.schemas import TABLES
from tripos_warehouse.store.table_schema import COMPRESSION, COMPRESSION_LEVEL

PARTS = "parts"
GROUP_ROWS = 4096
"""Rows in a row group. Texts are long: to read one row, the texts of its whole group are unpacked."""

FORMER = {("runs", "items_of"): "run_id"}
"""The column that says the same in a part of a version that lacks the newer one."""


@dataclass(frozen=True)
class NewPart:
    """A part that is being written: its path below the root of the store, and its file."""

    table: str
    path: str
    file: HashingFile

    def written(self, rows: int) -> ParquetPart:
        """Return the part, once all of its rows are in the file."""
        version = TABLES[self.table].version
        return ParquetPart(self.table, self.path, rows, self.file.tell(), version, self.file.hexdigest())


@contextmanager
def new_part(root: Path, table: str, stem: str) -> Iterator[NewPart]:
    """A new part of `table`, whose file is open; synced at the end, or gone where that fails.

    `stem` is the name of the commit that shall list it, so that whoever finds the file knows whose it is.
    """
    path = f"{PARTS}/{table}/{stem}.{uuid.uuid4().hex[:12]}.parquet"
    full = root / path
    full.parent.mkdir(parents=True, exist_ok=True)
    try:
        with full.open("xb") as file:
            yield NewPart(table, path, HashingFile(file))
            file.flush()
            os.fsync(file.fileno())
        full.chmod(0o444)
        sync(full.parent)
    except BaseException:
        full.unlink(missing_ok=True)
        raise


def write_part(root: Path, table: str, stem: str, content: pa.Table) -> ParquetPart:
    """Write a part. Raises `OSError` where the disk refuses; nothing is left of it then."""
    with new_part(root, table, stem) as part:
        pq.write_table(content, part.file, row_group_size=GROUP_ROWS, **layout(table))
    return part.written(content.num_rows)


def layout(table: str) -> dict[str, Any]:
    """Return how a table lies on the disk, as options of `pyarrow.parquet`.

    Nullable texts without a dictionary have no statistics. Where a row group has one value and nulls, DuckDB 2.0 takes
    the column for a constant by its statistics, and `error is null` keeps every row.
    """
    bare = _without_statistics(table)
    return {
        "compression": COMPRESSION,
        "compression_level": COMPRESSION_LEVEL,
        "use_dictionary": list(TABLES[table].repeating),
        "write_page_checksum": True,
        "write_statistics": [name for name in TABLES[table].schema.names if name not in bare],
    }


def misleads(table: str, file: pq.ParquetFile) -> bool:
    """Return true if a part has statistics that `layout` leaves out, as an earlier Tripos wrote them."""
    bare = _without_statistics(table)
    groups = (file.metadata.row_group(number) for number in range(file.num_row_groups))
    columns = (group.column(place) for group in groups for place in range(group.num_columns))
    return any(column.path_in_schema in bare and column.is_stats_set for column in columns)


def _without_statistics(table: str) -> set[str]:
    schema, repeating = TABLES[table].schema, TABLES[table].repeating
    return {field.name for field in schema if field.nullable and pa.types.is_string(field.type)}.difference(repeating)


def stem_of(path: Path) -> str:
    """Return the name of the commit that a part was written for.

    >>> stem_of(Path("parts/scores/20260301T080000000000-0123456789ab.fedcba987654.parquet"))
    '20260301T080000000000-0123456789ab'
    """
    return path.name.rpartition(".")[0].rpartition(".")[0]


def discard(root: Path, parts: Sequence[ParquetPart], stem: str) -> None:
    """Remove the parts that were written for a commit of that name, which does not list them after all. Others, which a
    compaction takes over as they are, belong to earlier commits and stay."""
    for part in parts:
        if stem_of(Path(part.path)) == stem:
            (root / part.path).unlink(missing_ok=True)


def check_part(root: Path, part: ParquetPart, commit: Commit) -> Path:
    """Return the file of a committed part.

    Raises `StoreError`: S0103 where it is gone or has another size, S0104 for a schema newer than ours.
    """
    path = root / part_path(part.table, part.path)
    if part.version > (known := TABLES[part.table].version):
        raise StoreError(
            "S0104",
            f"`{part.table}` has version {part.version} in commit `{commit.name}`; this Tripos knows {known}",
            "update Tripos",
        )
    try:
        found = os.lstat(path)
    except OSError as error:
        raise broken(path, f"commit `{commit.name}` lists it: {error.strerror}") from error
    if not stat.S_ISREG(found.st_mode):
        raise broken(path, f"commit `{commit.name}` lists it, and it is no regular file")
    if found.st_size != part.size:
        raise broken(path, f"commit `{commit.name}` says {part.size} bytes, the file has {found.st_size}")
    return path


def verify_part(root: Path, part: ParquetPart, commit: Commit) -> Path:
    """Return the file of a committed part, after all of it was read and has the digest that its commit says.

    Raises what `check_part` does, and `StoreError` S0103 where the content is another one.
    """
    path = check_part(root, part, commit)
    try:
        changed = part.sha256 is not None and sha256_of(path) != part.sha256
    except OSError as error:
        raise broken(path, str(error)) from error
    if changed:
        raise altered(path, commit.name)
    return path


@contextmanager
def reading(path: Path) -> Iterator[pq.ParquetFile]:
    """The part, open. Raises `StoreError` S0103 where it is damaged, also where a page that is read has another
    checksum than it says."""
    try:
        with pq.ParquetFile(path, page_checksum_verification=True) as file:
            yield file
    except (OSError, pa.ArrowException) as error:
        raise broken(path, str(error)) from error


def conform(table: str, columns: Sequence[str], content: pa.Table) -> pa.Table:
    """`columns` of a part in this order. A column that its version of the schema had not yet is null, or what
    `FORMER` says."""
    schema = TABLES[table].schema
    fields = [schema.field(name) for name in columns]
    return pa.Table.from_arrays([_column(table, field, content) for field in fields], schema=pa.schema(fields))


def _column(table: str, field: pa.Field[Any], content: pa.Table) -> Any:
    for name in (field.name, FORMER.get((table, field.name))):
        if name in content.schema.names:
            return content[name]
    return pa.nulls(content.num_rows, field.type)


_RESTORE = "restore the file from a backup, or delete the commit that lists it: its calls are then made again"


def broken(path: Path, why: str) -> StoreError:
    """Return the error of a part that cannot be read."""
    return StoreError("S0103", f"the part `{path}` is missing or unreadable ({why})", _RESTORE)


def altered(path: Path, commit: str) -> StoreError:
    """Return the error of a part whose content is not that which the commit of that name lists."""
    return StoreError("S0103", f"bytes of the part `{path}` have changed since commit `{commit}` listed it", _RESTORE)


def count_rows(paths: Iterable[Path], column: str, text: str) -> int:
    """Return how many rows have `text` in `column`. Raises `StoreError` S0103 where a part cannot be read.

    >>> count_rows([], "run_id", "r1")
    0
    """
    import pyarrow.compute as pc

    count = 0
    for path in paths:
        with reading(path) as file:
            place = file.schema_arrow.get_field_index(column)
            for number in range(file.num_row_groups):
                known = file.metadata.row_group(number).column(place).statistics
                if known is not None and known.has_min_max and not known.min <= text <= known.max:
                    continue
                found = file.read_row_group(number, [column])[column]
                count += pc.sum(pc.equal(found, pa.scalar(text))).as_py() or 0
    return count
