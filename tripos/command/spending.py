"""What a run has cost so far, in words: of a budget where there is one, and what is not known."""

from __future__ import annotations

from tripos_runtime.asking.tally import Tally
from tripos_runtime.scheduling.budget import Budget


def usd(amount: float) -> str:
    """An amount with as many decimals as it is worth.

    >>> usd(0), usd(0.00123), usd(1.5), usd(1234.5)
    ('0.0000', '0.0012', '1.5000', '1,234.50')
    """
    return f"{amount:,.2f}" if amount >= 100 else f"{amount:.4f}"


def cost(tally: Tally) -> str:
    """The cost of the calls of this run.

    >>> cost(Tally(cost_usd=0.25)), cost(Tally(cost_usd=0.25, cost_unknown=2)), cost(Tally(cost_unknown=2))
    ('0.2500 USD', '0.2500 USD and more', 'unknown')
    """
    if not tally.cost_unknown:
        return f"{usd(tally.cost_usd)} USD"
    return f"{usd(tally.cost_usd)} USD and more" if tally.cost_usd else "unknown"


def of_budget(budget: Budget | None) -> str:
    """What is spent of each bound of a budget; empty where none is set.

    >>> of_budget(Budget(usd=5.0, calls=1000))
    '0.0000 of 5 USD, 0 of 1,000 calls'
    """
    if budget is None:
        return ""
    parts = []
    if budget.usd is not None:
        parts.append(f"{usd(budget.spent_usd)} of {budget.usd:,g} USD")
    if budget.tokens is not None:
        parts.append(f"{budget.spent_tokens:,} of {budget.tokens:,} tokens")
    if budget.calls is not None:
        parts.append(f"{budget.spent_calls:,} of {budget.calls:,} calls")
    return ", ".join(parts)


def budget_table(budget: Budget | None) -> dict[str, dict[str, float]] | None:
    """The bounds of a budget and what is spent of each, for machines; `None` where none is set.

    >>> budget_table(Budget(calls=10))
    {'calls': {'most': 10, 'spent': 0}}
    """
    if budget is None:
        return None
    bounds: dict[str, tuple[float | None, float]] = {
        "usd": (budget.usd, budget.spent_usd),
        "tokens": (budget.tokens, budget.spent_tokens),
        "calls": (budget.calls, budget.spent_calls),
    }
    return {unit: {"most": most, "spent": spent} for unit, (most, spent) in bounds.items() if most is not None} or None
