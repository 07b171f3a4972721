"""Why a run cannot go on, or a call was not made."""

from __future__ import annotations


class Stopped(Exception):
    """The run cannot go on: a model cannot be had at all, or the budget is spent. What was answered is kept."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


class Halted(Exception):
    """The run is coming to its end, and this call was not made."""
