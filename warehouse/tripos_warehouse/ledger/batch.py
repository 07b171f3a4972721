"""Batches: rows that were kept and are on their way to one commit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from tripos_compiler.source import dataclass
from tripos_warehouse.store import JournalSegment, Row

FLUSH_ROWS = 5000
FLUSH_BYTES = 32 * 2**20
"""With so much waiting, a batch is committed unasked."""


@dataclass
class RowBatch:
    """Rows on their way to one commit. `tried`: its commit may be there already; `unwritten` lines of them are in no
    journal, since the disk refused them."""

    segment: JournalSegment | None = None
    rows: dict[str, list[Row]] = field(default_factory=dict)
    count: int = 0
    size: int = 0
    tried: bool = False
    unwritten: int = 0

    def add(self, rows: Mapping[str, Sequence[Row]], size: int) -> None:
        """Take rows, by table, of so many bytes in all."""
        for table, some in rows.items():
            self.rows.setdefault(table, []).extend(some)
            self.count += len(some)
        self.size += size

    @property
    def is_full(self) -> bool:
        """Return true if the batch is to be committed now."""
        return self.count >= FLUSH_ROWS or self.size >= FLUSH_BYTES
