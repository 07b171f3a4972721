"""Prices of calls, from litellm's map of models."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tripos_compiler.source import dataclass
from tripos_runtime.models.base import Price
from tripos_runtime.models.catalog.catalog import entry_of

ABOVE = re.compile(r"^(?:in|out)put_cost_per_token_above_(\d+)(k?)_tokens$")
FROM_THE_THRESHOLD_ON = ("xai",)
"""Providers whose dearer rates hold for a prompt as long as the threshold; elsewhere it must be longer."""

CACHED_AT_HALF = ("fireworks_ai",)
"""Providers that take half for a token of a prompt in their cache where the map says nothing of it."""


@dataclass(frozen=True)
class Rates:
    """USD a token for prompts with more than `above` tokens, up to the next rates."""

    above: int
    input_usd: float
    output_usd: float
    cached_usd: float
    reasoning_usd: float


@dataclass(frozen=True)
class Tariff(Price):
    """A price that may depend on how long the prompt is. All tokens of a call are paid at the rates of its prompt.

    >>> dearer = Rates(200_000, 2e-6, 8e-6, 2e-6, 8e-6)
    >>> price = Tariff(1e-6, 4e-6, steps=(dearer,))
    >>> price.cost_usd(1000, 1000), price.cost_usd(300_000, 1000)
    (0.005, 0.608)
    """

    reasoning_usd: float | None = None
    """A token that nobody sees; `None`: as any other of the reply."""
    request_usd: float = 0.0
    steps: tuple[Rates, ...] = ()
    """Rates of long prompts, the longest first."""

    def cost_usd(self, tokens_in: int, tokens_out: int, cached: int = 0, reasoning: int = 0) -> float:
        """Return the cost of a call in USD, as `Price.cost_usd` says."""
        rates = next((step for step in self.steps if tokens_in > step.above), None)
        if rates is None:
            cached_usd = self.input_usd if self.cached_usd is None else self.cached_usd
            hidden_usd = self.output_usd if self.reasoning_usd is None else self.reasoning_usd
            rates = Rates(0, self.input_usd, self.output_usd, cached_usd, hidden_usd)
        read = (tokens_in - cached) * rates.input_usd + cached * rates.cached_usd
        written = (tokens_out - reasoning) * rates.output_usd + reasoning * rates.reasoning_usd
        return read + written + self.request_usd


def price_of(provider: str, model: str) -> Price | None:
    """Return the price of a provider's model; `None` where the map has none.

    Rates of hours when it is cheaper, of batches and of service tiers are left out: what is paid is the usual rate.

    >>> price_of("openai", "gpt-4o").cost_usd(1_000_000, 100_000)
    3.5
    >>> price_of("openai", "no-such-model") is None
    True
    """
    entry = entry_of(provider, model)
    return None if entry is None else tariff(entry, provider)


def batch_price(provider: str, model: str, price: Price | None, *, own: bool = False) -> Price | None:
    """Return the price of a request in a batch, given that of a call: what the map says of batches, or else half. A
    price that is the user's (`own`) is halved.

    >>> call = price_of("openai", "gpt-4o")
    >>> batch_price("openai", "gpt-4o", call).cost_usd(1_000_000, 100_000)
    1.75
    """
    if price is None:
        return None
    entry = None if own else entry_of(provider, model)
    told_in, told_out = (
        None if entry is None else _number(entry, f"{side}put_cost_per_token_batches") for side in ("in", "out")
    )
    half = _halved(price)
    if told_in is None or told_out is None or half.input_usd == told_in:
        return half
    return replace(half, input_usd=told_in, output_usd=told_out, cached_usd=None)


def _halved(price: Price) -> Price:
    cached = None if price.cached_usd is None else price.cached_usd / 2
    half = replace(price, input_usd=price.input_usd / 2, output_usd=price.output_usd / 2, cached_usd=cached)
    if not isinstance(half, Tariff):
        return half
    steps = tuple(
        Rates(each.above, each.input_usd / 2, each.output_usd / 2, each.cached_usd / 2, each.reasoning_usd / 2)
        for each in half.steps
    )
    hidden = None if half.reasoning_usd is None else half.reasoning_usd / 2
    return replace(half, reasoning_usd=hidden, request_usd=half.request_usd / 2, steps=steps)


def tariff(entry: Mapping[str, Any], provider: str) -> Price | None:
    """Return the price that an entry of the map says; `None` where it says none for tokens."""
    most_out = entry.get("max_output_tokens")
    steps = _tiers(entry) or _thresholds(entry, 1 if provider in FROM_THE_THRESHOLD_ON else 0)
    base = steps[-1] if steps and steps[-1].above < 0 else _rates(entry, "", -1, None)
    if base is None:
        return None
    hidden = _number(entry, "output_cost_per_reasoning_token")
    half = provider in CACHED_AT_HALF and "cache_read_input_token_cost" not in entry
    return Tariff(
        base.input_usd,
        base.output_usd,
        base.input_usd / 2 if half else base.cached_usd,
        most_out if isinstance(most_out, int) else None,
        base.reasoning_usd if base.above < 0 and entry.get("tiered_pricing") else hidden,
        _number(entry, "input_cost_per_request") or 0.0,
        tuple(step for step in steps if step.above >= 0),
    )


def _thresholds(entry: Mapping[str, Any], inclusive: int) -> tuple[Rates, ...]:
    found = {match[1] + match[2] for match in map(ABOVE.match, entry) if match is not None}
    steps: list[Rates] = []
    before = _rates(entry, "", -1, None)
    for words in sorted(found, key=_tokens):
        before = _rates(entry, f"_above_{words}_tokens", _tokens(words) - inclusive, before)
        if before is not None:
            steps.insert(0, before)
    return tuple(steps)


def _rates(entry: Mapping[str, Any], suffix: str, above: int, before: Rates | None) -> Rates | None:
    """Return the rates with that suffix; those of shorter prompts stand in where one is not told."""
    told_in = _number(entry, f"input_cost_per_token{suffix}")
    told_out = _number(entry, f"output_cost_per_token{suffix}")
    cached = _number(entry, f"cache_read_input_token_cost{suffix}")
    if before is None:
        if told_in is None and told_out is None:
            return None
        paid_in, paid_out = told_in or 0.0, told_out or 0.0
        kept = paid_in if cached is None else cached
    else:
        paid_in = before.input_usd if told_in is None else told_in
        paid_out = before.output_usd if told_out is None else told_out
        own = "cache_read_input_token_cost" in entry
        kept = cached if cached is not None else before.cached_usd if own else paid_in
    hidden = _number(entry, "output_cost_per_reasoning_token")
    return Rates(above, paid_in, paid_out, kept, paid_out if hidden is None else hidden)


def _tiers(entry: Mapping[str, Any]) -> tuple[Rates, ...]:
    """Return the steps of a table of tiers, the longest prompts first; the first tier has `above` -1."""
    told = entry.get("tiered_pricing")
    steps: list[Rates] = []
    for tier in told if isinstance(told, list) else ():
        paid_in = _number(tier, "input_cost_per_token")
        low = tier.get("range", (0,))[0]
        if paid_in is None:
            return ()
        paid_out = _number(tier, "output_cost_per_token")
        if paid_out is None:
            paid_out = _number(entry, "output_cost_per_token") or 0.0
        cached = _number(tier, "cache_read_input_token_cost")
        hidden = _number(tier, "output_cost_per_reasoning_token")
        above = int(low) if low else -1
        kept = paid_in if cached is None else cached
        steps.insert(0, Rates(above, paid_in, paid_out, kept, paid_out if hidden is None else hidden))
    return tuple(steps)


def _tokens(words: str) -> int:
    return int(words[:-1]) * 1000 if words.endswith("k") else int(words)


def _number(entry: Mapping[str, Any], field: str) -> float | None:
    value = entry.get(field)
    try:
        return None if value is None or isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None
