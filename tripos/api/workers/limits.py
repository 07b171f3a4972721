"""The limits of a run, divided among its workers, so that all of them together keep to what one process would."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from tripos.ui import Failure
from tripos_runtime.scheduling import Limits


def check_divisible(limits: Limits, workers: int) -> None:
    """Raise `Failure` R0202 where a limit of concurrent calls leaves nothing for some worker."""
    least, where = min(
        [(limits.max_connections, "`--max-connections`"), *((n, f"`{name}`") for name, n in limits.connections.items())]
    )
    if least < workers:
        message = f"{workers} workers cannot divide {least} connection{'' if least == 1 else 's'} of {where}"
        raise Failure("R0202", message, f"give --workers {least}, or more connections")


def divided(limits: Limits, number: int, workers: int) -> Limits:
    """Return the limits of one worker, counted from 0: its part of the connections, of the rates and of the memory.

    >>> [divided(Limits(max_connections=16), number, 3).max_connections for number in range(3)]
    [6, 5, 5]
    """

    def part(whole: int) -> int:
        return whole // workers + (number < whole % workers)

    def rates(whole: Mapping[str, float]) -> dict[str, float]:
        return {name: rate / workers for name, rate in whole.items()}

    return replace(
        limits,
        max_connections=part(limits.max_connections),
        connections={name: part(most) for name, most in limits.connections.items()},
        requests_per_minute=rates(limits.requests_per_minute),
        tokens_per_minute=rates(limits.tokens_per_minute),
        reply_memory_mb=max(1, limits.reply_memory_mb // workers),
    )
