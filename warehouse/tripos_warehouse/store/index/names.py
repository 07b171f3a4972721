"""Names as numbers of 128 bits, which sort as the names do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Halves = npt.NDArray[np.uint64]
"""Upper or lower 64 bits of names."""

SIZE = 16
"""Bytes of a packed name."""
_DIGITS = 2 * SIZE
_HEX = re.compile(r"[0-9a-f]{32}")


def pack(names: Sequence[str]) -> bytes:
    """Return the numbers of `names`, 16 bytes each, one after the other.

    >>> pack(["00112233445566778899aabbccddeeff"]).hex(), len(pack(["i0", "i1"]))
    ('00112233445566778899aabbccddeeff', 32)
    """
    if not names:
        return b""
    if set(map(len, names)) == {_DIGITS} and (packed := _unhex("".join(names), len(names))) is not None:
        return packed
    return b"".join(_pack(name) for name in names)


def pack_column(column: pa.Array[Any]) -> bytes:
    """As `pack`, of an Arrow array of strings without nulls."""
    import pyarrow.compute as pc

    lengths = pc.min_max(pc.binary_length(column)).as_py()
    if lengths["min"] == lengths["max"] == _DIGITS:
        start = _DIGITS * column.offset
        data = column.buffers()[2]
        text = bytes(memoryview(data)[start : start + _DIGITS * len(column)])
        if text.isascii() and (packed := _unhex(text.decode("ascii"), len(column))) is not None:
            return packed
    return pack(column.to_pylist())


def halves(packed: bytes) -> tuple[Halves, Halves]:
    """Packed names as two arrays, which sort as the names do."""
    pairs = np.frombuffer(packed, dtype=">u8").reshape(-1, 2)
    return pairs[:, 0].astype(np.uint64), pairs[:, 1].astype(np.uint64)


def _unhex(text: str, count: int) -> bytes | None:
    """`None` where the text is not all lower-case digits: `fromhex` also takes capitals and passes over blanks."""
    if text.lower() != text:
        return None
    try:
        packed = bytes.fromhex(text)
    except ValueError:
        return None
    return packed if len(packed) == SIZE * count else None


def _pack(name: str) -> bytes:
    if _HEX.fullmatch(name):
        return bytes.fromhex(name)
    return blake2b(name.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()
