"""Amounts of a budget, as people write them: `5usd`, `2Mtokens`, `1000calls`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal

PICO = 10**12
"""Money is counted in whole parts of a USD so small that no price of a token falls between them."""
AMOUNT = re.compile(r"(\$)?\s*(\d+(?:\.\d+)?|\.\d+)\s*([kM])?\s*(usd|\$|tokens?|calls?)?", re.I | re.ASCII)


class BudgetError(Exception):
    """A budget that cannot be kept to. R0401 what was given is no amount, R0404 a model's price is not known."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.hint = hint


def read_amounts(texts: Iterable[str]) -> dict[str, Decimal]:
    """The amounts of `USD`, `tokens` and `calls` that are given, each once at most. Raises `BudgetError` (R0401).

    >>> read_amounts(["$0.50", "2M tokens"])
    {'USD': Decimal('0.50'), 'tokens': Decimal('2000000')}
    """
    found: dict[str, Decimal] = {}
    for text in texts:
        unit, amount = _amount(text)
        if unit in found:
            raise BudgetError("R0401", f"the budget has two amounts of {unit}", "give each unit once")
        found[unit] = amount
    return found


def _amount(text: str) -> tuple[str, Decimal]:
    """The unit, `USD`, `tokens` or `calls`, and how many."""
    wrong = BudgetError(
        "R0401", f"`{text}` is not a budget", "write it as `5usd`, `200000tokens`, `2Mtokens` or `1000calls`"
    )
    match = AMOUNT.fullmatch(text.strip())
    if match is None:
        raise wrong
    dollar, number, thousands, unit = match[1], match[2], (match[3] or "").lower(), (match[4] or "").lower()
    if bool(dollar) == bool(unit) and not (dollar and unit == "usd"):
        raise wrong
    amount = Decimal(number) * {"": 1, "k": 1000, "m": 1_000_000}[thousands]
    if dollar or unit in {"usd", "$"}:
        kind, whole = "USD", not thousands
    else:
        kind, whole = ("tokens" if unit.startswith("token") else "calls"), amount == amount.to_integral_value()
    if not whole or amount <= 0 or amount > PICO:
        raise wrong
    return kind, amount
