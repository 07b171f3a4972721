"""The costs of calls for a budget: the highest cost of a call, and what calls of its model turned out to cost."""

from __future__ import annotations

import math

from tripos_compiler.source import dataclass
from tripos_runtime.models import Price, Reply

PICO = 10**12
"""Money is counted in whole parts of a USD so small that no price of a token falls between them."""
UNKNOWN = 100
"""The factor of its highest cost that is reserved for the first call of a model."""
CAUTION = 16
CAUTIOUS = 4
"""After n calls of a model, `CAUTION / n` times the highest of their costs is reserved for each, and at least
`CAUTIOUS` times."""
Amounts = tuple[int, int, int]
"""Money in `PICO`, tokens and calls."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The highest cost of a call: money, tokens in and out, replies; how many tokens the prompt and each reply were
    taken to have at most; and the price of a token, where money counts."""

    pico_usd: int
    tokens: int
    calls: int
    sent: int = 0
    received: int = 0
    price: Price | None = None


@dataclass(eq=False, slots=True)
class Debit:
    """The part of a budget that a call in flight takes: its highest cost, and what is reserved for it."""

    cost: Cost
    name: str
    highest: Amounts
    reserved: Amounts = (0, 0, 0)
    fixed: bool = False
    """True if what is reserved stays as it is, whatever other calls turn out to cost."""


class LearntCosts:
    """The learnt cost of calls of a model. `count` is the number of these calls.

    >>> learnt = LearntCosts()
    >>> cost = learnt.highest(sent=100, received=50, samples=1, price=None)
    >>> learnt.amounts(cost)
    ((0, 150, 1), (0, 15000, 1))
    >>> reply = Reply("4", "m", "stop", 100, 950, None)
    >>> learnt.learn(cost, reply, used_by(reply, None)), learnt.amounts(cost)
    (True, ((0, 1050, 1), (0, 16800, 1)))
    """

    __slots__ = ("_dearest", "_more_in", "_more_out", "count")

    def __init__(self) -> None:
        self.count = 0
        self._more_in = self._more_out = 0
        """By how many tokens prompts and replies were longer than was thought possible."""
        self._dearest = (0, 0)
        """The highest money and tokens of a reply."""

    def highest(self, sent: int, received: int, samples: int, price: Price | None) -> Cost:
        """Return the highest cost of a call whose prompt and replies have at most so many tokens."""
        most_in, most_out = sent + self._more_in, received + self._more_out
        pico_usd = 0 if price is None else math.ceil(dearest_usd(price, most_in, most_out) * PICO)
        return Cost(pico_usd * samples, (most_in + most_out) * samples, samples, sent, received, price)

    def amounts(self, cost: Cost) -> tuple[Amounts, Amounts]:
        """Return the highest cost of a call, as far as known now, and what to reserve for it while others are in
        flight."""
        now = self.highest(cost.sent, cost.received, cost.calls, cost.price)
        highest = (now.pico_usd, now.tokens, now.calls)
        if not self.count:
            return highest, (now.pico_usd * UNKNOWN, now.tokens * UNKNOWN, now.calls)
        times = max(CAUTIOUS, CAUTION / self.count) * cost.calls
        pico_usd, tokens = (math.ceil(each * times) for each in self._dearest)
        return highest, (max(now.pico_usd, pico_usd), max(now.tokens, tokens), now.calls)

    def learn(self, cost: Cost, reply: Reply, used: tuple[int | None, int | None]) -> bool:
        """Take note of what a call used; return true if this changes what to reserve for others."""
        before = (self._more_in, self._more_out, self._dearest, max(CAUTIOUS, CAUTION / max(self.count, 1)))
        first = not self.count
        self.count += 1
        self._more_in = max(self._more_in, (reply.tokens_in or 0) - cost.sent)
        received = sum(max(0, each.tokens_out or 0) for each in (reply, *reply.others))
        replies = reply_count(cost, reply)
        self._more_out = max(self._more_out, math.ceil(received / replies) - cost.received)
        each_used = [math.ceil((amount or 0) / replies) for amount in used]
        self._dearest = (max(self._dearest[0], each_used[0]), max(self._dearest[1], each_used[1]))
        return first or before != (self._more_in, self._more_out, self._dearest, max(CAUTIOUS, CAUTION / self.count))


def reply_count(cost: Cost, reply: Reply) -> int:
    """Return how many of the replies of a call came: a server that passes over `n` sends fewer, and others more."""
    return min(cost.calls, 1 + len(reply.others))


def dearest_usd(price: Price, sent: int, received: int) -> float:
    """Return what so many tokens cost at most: from the cache or not, seen or not."""
    return max(price.cost_usd(sent, received, cached, hidden) for cached in (0, sent) for hidden in (0, received))


def used_by(reply: Reply, price: Price | None) -> tuple[int | None, int | None]:
    """Return the money and the tokens that a reply and its further ones used, as far as they say."""
    replies = (reply, *reply.others)
    tokens_in = [each.tokens_in for each in replies]
    tokens_out = [each.tokens_out for each in replies]
    tokens: int | None = None
    pico_usd: int | None = None
    if None not in tokens_in and None not in tokens_out:
        sent, received = (max(0, sum(each or 0 for each in side)) for side in (tokens_in, tokens_out))
        tokens = sent + received
        if price is not None:
            pico_usd = round(price.cost_usd(sent, received) * PICO)
    costs = [each.cost_usd for each in replies]
    if all(cost is not None and math.isfinite(cost) for cost in costs):
        pico_usd = max(0, round(sum(cost or 0.0 for cost in costs) * PICO))
    return pico_usd, tokens
