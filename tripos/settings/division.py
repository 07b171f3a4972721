"""The limits and the budget of a run, divided among processes, so that all together keep to what one process would."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tripos.ui import Failure
from tripos_runtime.scheduling import Budget, Limits


def check_divisible(limits: Limits, parts: int, by: str = "workers") -> None:
    """Raise `Failure` R0202 where a limit of concurrent calls leaves nothing for some worker, or some shard."""
    least, where = min(
        [(limits.max_connections, "`--max-connections`"), *((n, f"`{name}`") for name, n in limits.connections.items())]
    )
    if least < parts:
        message = f"{parts} {by} cannot divide {least} connection{'' if least == 1 else 's'} of {where}"
        raise Failure("R0202", message, f"give --{by} {least}, or more connections")


def divided(limits: Limits, number: int, parts: int) -> Limits:
    """Return the limits of one part, counted from 0: its share of the connections, of the rates and of the memory.

    >>> [divided(Limits(max_connections=16), number, 3).max_connections for number in range(3)]
    [6, 5, 5]
    """

    def rates(whole: Mapping[str, float]) -> dict[str, float]:
        return {name: rate / parts for name, rate in whole.items()}

    return replace(
        limits,
        max_connections=_part(limits.max_connections, number, parts),
        connections={name: _part(most, number, parts) for name, most in limits.connections.items()},
        requests_per_minute=rates(limits.requests_per_minute),
        tokens_per_minute=rates(limits.tokens_per_minute),
        reply_memory_mb=max(1, limits.reply_memory_mb // parts),
    )


def divided_budget(texts: Sequence[str], number: int, parts: int) -> Budget | None:
    """Return the budget of one part, counted from 0; none where there is none. Raises `BudgetError` R0401 for what is
    no amount, and `Failure` R0202 where some part would have nothing.

    >>> [divided_budget(["1usd", "10calls"], number, 4).calls for number in range(4)]
    [3, 3, 2, 2]
    """
    if not texts:
        return None
    whole = Budget.parse(texts)
    for amount, unit in ((whole.tokens, "tokens"), (whole.calls, "calls")):
        if amount is not None and amount < parts:
            raise Failure(
                "R0202", f"{parts} shards cannot divide a budget of {amount} {unit}", "give a larger --budget"
            )
    return Budget(
        usd=None if whole.usd is None else whole.usd / parts,
        tokens=None if whole.tokens is None else _part(whole.tokens, number, parts),
        calls=None if whole.calls is None else _part(whole.calls, number, parts),
    )


def _part(whole: int, number: int, parts: int) -> int:
    return whole // parts + (number < whole % parts)
