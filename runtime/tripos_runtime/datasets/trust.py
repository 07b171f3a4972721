"""Trust in the author of a benchmark: what it may do on this machine, and how much of it is read.

One `Trust` is created per command and passed to every place where a benchmark's content reaches this machine."""

from __future__ import annotations

from tripos_compiler.errors import TriposError
from tripos_compiler.source.data_classes import dataclass

MIB, GIB = 2**20, 2**30
CODE = "R0270"
OPTION = "--untrusted"


@dataclass(frozen=True)
class ReadLimits:
    """The limits of what is read of a benchmark."""

    text_bytes: int = 8 * MIB
    """Of a spec file or its Python."""
    data_bytes: int = 64 * GIB
    """Of a data file, decompressed."""
    whole_bytes: int = GIB
    """Of anything read as one piece: a JSON or YAML document, a line of JSON Lines, a sheet."""
    medium_bytes: int = 64 * MIB
    """Of an image, a recording or another file that a data set names."""
    rows: int = 100_000_000
    """Of a data file."""
    seconds: float | None = None
    """The time of a command that asks no model, in seconds; None means no limit."""


LOWERED = ReadLimits(
    text_bytes=MIB,
    data_bytes=256 * MIB,
    whole_bytes=32 * MIB,
    medium_bytes=8 * MIB,
    rows=1_000_000,
    seconds=120.0,
)
"""The limits for an untrusted benchmark."""


class TrustError(TriposError):
    """A benchmark needs something that `--untrusted` forbids (R0270)."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(CODE, message, hint)


@dataclass(frozen=True)
class Trust:
    """The rights of a benchmark: to execute its Python, open connections, and read files outside of its folders."""

    untrusted: bool = False
    limits: ReadLimits = ReadLimits()

    def check(self, what: str, hint: str) -> None:
        """Raise `TrustError` if the benchmark is untrusted; `what` it needs, and a hint."""
        if self.untrusted:
            raise TrustError(f"`{OPTION}` refuses {what}", hint)


TRUSTED = Trust()
UNTRUSTED = Trust(untrusted=True, limits=LOWERED)
