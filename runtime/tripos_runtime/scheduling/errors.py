"""Errors that end a run, or the calls of one that ends."""

from __future__ import annotations

from tripos_runtime.models import CodedError


class Stopped(CodedError):
    """The run cannot go on: a model cannot be had at all, or the budget is spent. What was answered is kept."""


class Halted(Exception):
    """The run is coming to its end, and this call was not made."""
