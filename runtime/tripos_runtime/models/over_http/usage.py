"""What a call took: its tokens and its cost, out of the `usage` of a reply in OpenAI's form.

This is the one account that rows, reports, forecasts and budgets stand on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tripos_runtime.models.base import Price, Reply
from tripos_runtime.models.catalog import audio_factor

TICKS_PER_USD = 10_000_000_000
"""The unit in which xAI counts costs."""
MOST_TOKENS = 10**12
MOST_USD = 10**6
"""More than this for one call is a mistake of the provider: its tokens or its cost are unknown."""


@dataclass(frozen=True, slots=True)
class CallUsage:
    """The tokens and the cost of a call; `None` is unknown. `reasoning` is the part of `tokens_out` that nobody sees,
    and `prompt_usd` the part of the cost that the prompt has."""

    tokens_in: int | None = None
    tokens_out: int | None = None
    reasoning: int | None = None
    cost_usd: float | None = None
    prompt_usd: float = 0.0

    def as_reply(self, name: str) -> Reply | None:
        """Return a reply without a text that took this; None if nothing is known."""
        if self.tokens_in is None and self.cost_usd is None:
            return None
        return Reply("", name, None, self.tokens_in, self.tokens_out, self.cost_usd, self.reasoning)

    def shares(self, texts: Sequence[str]) -> list[CallUsage]:
        """Return the usage of each of several replies to one request, given their texts. They add up to this one: the
        first has the prompt, and each a part of the tokens out in proportion to its length.

        >>> [each.tokens_out for each in CallUsage(10, 20).shares(["four", "four"])]
        [10, 10]
        """
        if len(texts) == 1:
            return [self]
        outs, hidden = _shares(self.tokens_out, texts), _shares(self.reasoning, texts)
        costs: list[float | None] = [None] * len(texts)
        if self.cost_usd is not None:
            a_token = max(self.cost_usd - self.prompt_usd, 0.0) / (self.tokens_out or 1)
            costs = [a_token * (out or 0) for out in outs]
            costs[0] = self.cost_usd - sum(cost or 0.0 for cost in costs[1:])
        tokens_in = None if self.tokens_in is None else 0
        further = [CallUsage(tokens_in, *each) for each in zip(outs[1:], hidden[1:], costs[1:], strict=True)]
        return [CallUsage(self.tokens_in, outs[0], hidden[0], costs[0]), *further]


def usage_of(body: Mapping[str, Any], name: str, price: Price | None, *, own_price: bool = False) -> CallUsage:
    """Return what a call to the model `name` took, given the body of its answer.

    Tokens in and out add up to `total_tokens` if that is larger: a provider bills hidden reasoning as output, and some
    count it nowhere else. The cost is what the provider says, unless the price is the user's (`own_price`); else what
    the price makes of the tokens.

    >>> usage = {"prompt_tokens": 20, "completion_tokens": 198, "total_tokens": 623}
    >>> found = usage_of({"usage": usage}, "openai/gemini", Price(1.0, 1.0))
    >>> found.tokens_in, found.tokens_out, found.reasoning, found.cost_usd
    (20, 603, 405, 623.0)
    """
    usage = _part(body, "usage")
    tokens_in, tokens_out, reasoning, cached = _tokens(usage)
    cost = None if own_price else _stated_cost(usage)
    prompt_usd = 0.0
    if price is not None and tokens_in is not None and tokens_out is not None:
        prompt_usd = price.cost_usd(tokens_in, 0, cached)
        if cost is None:
            cost = price.cost_usd(tokens_in, tokens_out, cached, reasoning or 0)
            sounds = _count(_part(usage, "prompt_tokens_details"), "audio_tokens")
            if sounds and not own_price:
                cost += min(sounds, tokens_in) * price.input_usd * (audio_factor(name) - 1)
    return CallUsage(tokens_in, tokens_out, reasoning, cost, prompt_usd)


def _tokens(usage: Mapping[str, Any]) -> tuple[int | None, int | None, int | None, int]:
    """Return the tokens in and out, the part of the latter that nobody sees, and the part of the former that was
    cached."""
    told_in, tokens_out = _count(usage, "prompt_tokens"), _count(usage, "completion_tokens")
    total, cached = _count(usage, "total_tokens"), _cached(usage)
    reasoning = _count(_part(usage, "completion_tokens_details"), "reasoning_tokens")
    if total is not None and tokens_out is None and told_in:
        tokens_out = max(0, total - told_in)
    elif total is not None and tokens_out is not None and not told_in:
        told_in = max(0, total - tokens_out)
    tokens_in = told_in or None  # no prompt is empty
    if tokens_in is None or tokens_out is None:
        return tokens_in, None, reasoning, 0
    if total is None:
        # Some servers count hidden tokens, or those of the cache, beside the others.
        tokens_in += cached if cached > tokens_in else 0
        tokens_out += reasoning if reasoning is not None and reasoning > tokens_out else 0
    elif (more := total - tokens_in - tokens_out) > 0:
        if more in _cache_apart(usage) and more != reasoning:
            tokens_in += more
        else:
            tokens_out += more
            reasoning = max(reasoning or 0, more)
    return tokens_in, tokens_out, None if reasoning is None else min(reasoning, tokens_out), min(cached, tokens_in)


def _cache_apart(usage: Mapping[str, Any]) -> set[int]:
    """Return the numbers of tokens that a provider with Anthropic's words may count beside those of the prompt: read
    from its cache, written to it, or both."""
    read, created = (_count(usage, f"cache_{word}_input_tokens") or 0 for word in ("read", "creation"))
    return {read, created, read + created}


def _shares(total: int | None, texts: Sequence[str]) -> list[int | None]:
    """Return the parts of a total in proportion to the lengths of the texts; they add up to it."""
    if total is None:
        return [None] * len(texts)
    lengths = [len(text) + 1 for text in texts]
    shares: list[int | None] = [total * length // sum(lengths) for length in lengths]
    shares[0] = total - sum(share or 0 for share in shares[1:])
    return shares


def _cached(usage: Mapping[str, Any]) -> int:
    return (
        _count(_part(usage, "prompt_tokens_details"), "cached_tokens")
        or _count(usage, "prompt_cache_hit_tokens")
        or _count(usage, "cache_read_input_tokens")
        or _count(usage, "cached_tokens")
        or 0
    )


def _stated_cost(usage: Mapping[str, Any]) -> float | None:
    """Return what the provider says that a call cost: OpenRouter in USD, xAI in ticks.

    With a key of one's own (`is_byok`) OpenRouter charges a fee, which may be 0, and the provider behind it the rest:
    both are paid. If it does not say what that provider charged, the cost is unknown.

    >>> _stated_cost({"cost": 0, "is_byok": True, "cost_details": {"upstream_inference_cost": 0.03}})
    0.03
    """
    cost, ticks = _usd(usage, "cost"), usage.get("cost_in_usd_ticks")
    if cost is not None:
        upstream = _usd(_part(usage, "cost_details"), "upstream_inference_cost")
        own_key = usage.get("is_byok")
        if own_key is True or (own_key is None and not cost and upstream):
            return None if upstream is None else cost + upstream
        return cost
    if isinstance(ticks, int) and not isinstance(ticks, bool) and 0 <= ticks <= MOST_USD * TICKS_PER_USD:
        return ticks / TICKS_PER_USD
    return None


def _usd(value: Mapping[str, Any], name: str) -> float | None:
    amount = value.get(name)
    known = isinstance(amount, int | float) and not isinstance(amount, bool) and 0 <= amount <= MOST_USD
    return float(amount) if known else None  # type: ignore[arg-type]


def _part(value: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = value.get(name)
    return part if isinstance(part, dict) else {}


def _count(value: Mapping[str, Any], name: str) -> int | None:
    count = value.get(name)
    return count if isinstance(count, int) and not isinstance(count, bool) and 0 <= count <= MOST_TOKENS else None
