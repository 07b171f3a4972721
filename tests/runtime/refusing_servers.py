"""Rules by which servers refuse calls with status 429, and the throughput that each rule allows at most.

The tests run them in virtual time, and `tests/bench/refusals.py` behind HTTP."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Protocol


class Rule(Protocol):
    """Decides which calls a server refuses."""

    def refuses(self, now: float, under_way: int) -> bool:
        """Return whether a call is refused that comes now, while `under_way` others are answered."""
        ...

    def retry_after_s(self, now: float) -> float | None:
        """Return what a refusal says about when to ask again; None if it says nothing."""
        ...

    def ideal(self, connections: int, latency_s: float) -> float:
        """Return the replies a second that a client could get with so many connections."""
        ...


@dataclass
class AtRandom:
    """Refuses a share of the calls, whatever the load. A refused call takes the place of a reply, so the ideal is
    that share of the connections less."""

    share: float
    rng: random.Random = field(default_factory=lambda: random.Random(7))

    def refuses(self, now: float, under_way: int) -> bool:
        return self.rng.random() < self.share

    def retry_after_s(self, now: float) -> float | None:
        return None

    def ideal(self, connections: int, latency_s: float) -> float:
        return connections / latency_s * (1 - self.share)


@dataclass
class MostAtOnce:
    """Refuses calls beyond so many at a time."""

    most: int

    def refuses(self, now: float, under_way: int) -> bool:
        return under_way >= self.most

    def retry_after_s(self, now: float) -> float | None:
        return None

    def ideal(self, connections: int, latency_s: float) -> float:
        return min(self.most, connections) / latency_s


@dataclass
class TokenBucket:
    """Allows `per_s` calls a second, and `burst` at once."""

    per_s: float
    burst: float
    says_when: bool = False
    _tokens: float = -1.0
    _at: float = 0.0

    def refuses(self, now: float, under_way: int) -> bool:
        if self._tokens < 0:
            self._tokens, self._at = self.burst, now
        self._tokens = min(self.burst, self._tokens + (now - self._at) * self.per_s)
        self._at = now
        if self._tokens < 1.0 - 1e-9:
            return True
        self._tokens -= 1.0
        return False

    def retry_after_s(self, now: float) -> float | None:
        return (1.0 - self._tokens) / self.per_s if self.says_when else None

    def ideal(self, connections: int, latency_s: float) -> float:
        return min(self.per_s, connections / latency_s)


@dataclass
class Quota:
    """Allows `most` calls in each span of `seconds`."""

    most: int
    seconds: float
    says_when: bool = False
    _span: int = -1
    _used: int = 0

    def refuses(self, now: float, under_way: int) -> bool:
        span = int(now // self.seconds)
        if span != self._span:
            self._span, self._used = span, 0
        if self._used >= self.most:
            return True
        self._used += 1
        return False

    def retry_after_s(self, now: float) -> float | None:
        return self.seconds - now % self.seconds if self.says_when else None

    def ideal(self, connections: int, latency_s: float) -> float:
        return min(self.most / self.seconds, connections / latency_s)


@dataclass
class Bursts:
    """Refuses every call in the last `refused_s` of each `every_s`."""

    every_s: float
    refused_s: float
    says_when: bool = True

    def refuses(self, now: float, under_way: int) -> bool:
        return now % self.every_s >= self.every_s - self.refused_s

    def retry_after_s(self, now: float) -> float | None:
        return self.every_s - now % self.every_s if self.says_when else None

    def ideal(self, connections: int, latency_s: float) -> float:
        return connections / latency_s * (1 - self.refused_s / self.every_s)
