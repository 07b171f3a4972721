"""The statuses of `tripos_compiler.plan`, for this leg."""

from __future__ import annotations

from tripos_compiler.plan import (
    NOT_APPLICABLE,
    NOT_ASKED,
    OK,
    PARSE_FAILURE,
    PENDING,
    PROVIDER_ERROR as FAILED,
    REFUSED,
    RETRIED_NEXT_RUN as AGAIN,
    SCORED,
    TRUNCATED,
    UNDEFINED,
)

__all__ = [
    "AGAIN",
    "FAILED",
    "NOT_APPLICABLE",
    "NOT_ASKED",
    "OK",
    "PARSE_FAILURE",
    "PENDING",
    "REFUSED",
    "SCORED",
    "TRUNCATED",
    "UNDEFINED",
]
