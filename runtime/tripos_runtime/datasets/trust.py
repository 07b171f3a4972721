"""Trust in the author of a benchmark: what it may do on this machine, and how much of it is read.

One object is made for a command and handed to every place where a benchmark crosses into this machine.
"""

from __future__ import annotations

from tripos_compiler.source.data_classes import dataclass

MIB, GIB = 2**20, 2**30
CODE = "R0270"
OPTION = "--untrusted"


@dataclass(frozen=True)
class ReadLimits:
    """The most that is read of a benchmark."""

    text_bytes: int = 8 * MIB
    """Of a file of the spec, or of its Python."""
    data_bytes: int = 64 * GIB
    """Of a data file, decompressed."""
    whole_bytes: int = GIB
    """Of what is read as one piece: a document in JSON or YAML, a line of JSON Lines, a sheet."""
    medium_bytes: int = 64 * MIB
    """Of an image, a recording or a file that a data set names."""
    rows: int = 100_000_000
    """Of a data file."""
    seconds: float | None = None
    """For a command that asks no model; None: no limit."""


LOWERED = ReadLimits(
    text_bytes=MIB,
    data_bytes=256 * MIB,
    whole_bytes=32 * MIB,
    medium_bytes=8 * MIB,
    rows=1_000_000,
    seconds=120.0,
)
"""The limits for a benchmark that is not trusted."""


class TrustError(Exception):
    """A benchmark needs what `--untrusted` turns off."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = CODE
        self.message = message
        self.hint = hint


@dataclass(frozen=True)
class Trust:
    """The rights of a benchmark: to execute its Python, open a connection, and read files outside of its folders."""

    untrusted: bool = False
    limits: ReadLimits = ReadLimits()

    def check(self, what: str, hint: str) -> None:
        """Raise `TrustError` where a benchmark is not trusted: `what` it needs then, and how it is had."""
        if self.untrusted:
            raise TrustError(f"`{OPTION}` refuses {what}", hint)


TRUSTED = Trust()
UNTRUSTED = Trust(untrusted=True, limits=LOWERED)
