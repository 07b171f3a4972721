"""The user's limits of calls, and the limits of each model: slots, requests and tokens a minute."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Protocol

from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.base import Model
from tripos_runtime.models.http import USUAL_MB

ANY = "*"
SMOOTH_S = 0.1
"""Calls of so long a time may leave together, no more: timers are not exact, and providers look at seconds too."""


@dataclass(frozen=True)
class Limits:
    """The limits within which calls are let out. The mappings are by name of a model (`openai/gpt-4o`), the beginning
    of names (`openai`) or an endpoint; for each model the longest that fits counts, and the models that it names have
    the limit together. `*` is for each endpoint that nothing else names."""

    max_connections: int = 16
    """At most so many calls at a time at an endpoint."""
    max_retries: int = 5
    timeout_s: float = 600.0
    """Longest time that the attempts of a call and the pauses between them take; waiting for a turn is not in it."""
    patience_s: float = 900.0
    """How long an endpoint may be silent before its calls fail, and the longest Retry-After that is waited for."""
    requests_per_minute: Mapping[str, float] = field(default_factory=dict)
    tokens_per_minute: Mapping[str, float] = field(default_factory=dict)
    connections: Mapping[str, int] = field(default_factory=dict)
    """In place of `max_connections`."""
    reply_memory_mb: int = USUAL_MB
    """The bytes that large replies may take together, from the network until they are kept."""


class LimitShare(Protocol):
    """A limit that some models have together."""

    def wait_s(self, now: float) -> float:
        """In how many seconds the next call may go; `inf` where another one must end first."""
        ...

    def enter(self, now: float, tokens: int) -> None:
        """Take note of a call that goes out, and of how many tokens it is thought to take."""
        ...

    def leave(self, tokens: int, used: int | None) -> None:
        """Take note of the end of such a call and of the tokens that it used, where they are known."""
        ...


class Slots:
    """A limit of concurrent calls."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.in_flight = 0

    def wait_s(self, now: float) -> float:
        return 0.0 if self.in_flight < self.most else math.inf

    def enter(self, now: float, tokens: int) -> None:
        self.in_flight += 1

    def leave(self, tokens: int, used: int | None) -> None:
        self.in_flight -= 1


class _RateBucket:
    """Fills at a steady rate up to a level. A call may go unless the level is below 0, and what it takes may bring it
    there: so a call that takes more than there ever is can go too, and those after it wait."""

    def __init__(self, per_s: float, highest: float) -> None:
        self._per_s = per_s
        self._highest = self._level = highest
        self._at: float | None = None

    def wait_s(self, now: float) -> float:
        if self._at is not None:
            self._level = min(self._level + (now - self._at) * self._per_s, self._highest)
        self._at = now
        return 0.0 if self._level > -1e-6 else -self._level / self._per_s

    def _take(self, amount: float) -> None:
        self._level -= amount


class RequestsPerMinute(_RateBucket):
    """In no minute go out more than `most` calls, evenly spread.

    >>> rate = RequestsPerMinute(60)
    >>> rate.enter(0.0, 0)
    >>> rate.wait_s(0.25)
    0.75
    """

    def __init__(self, most: float) -> None:
        together = max(1.0, most / 60 * SMOOTH_S)
        super().__init__((most + 1 - together) / 60, together - 1)

    def enter(self, now: float, tokens: int) -> None:
        self.wait_s(now)
        self._take(1)

    def leave(self, tokens: int, used: int | None) -> None:
        """A request counts however it ends."""


class TokensPerMinute(_RateBucket):
    """In no minute go out more than `most` tokens and one call, evenly spread. Tokens are taken by estimate and put
    right by usage.

    >>> rate = TokensPerMinute(6000)
    >>> rate.enter(0.0, 510)
    >>> rate.wait_s(0.0)
    5.0
    >>> rate.leave(510, used=110)
    >>> rate.wait_s(0.0)
    1.0
    """

    def __init__(self, most: float) -> None:
        super().__init__(most / 60, most / 60 * SMOOTH_S)

    def enter(self, now: float, tokens: int) -> None:
        self.wait_s(now)
        self._take(tokens)

    def leave(self, tokens: int, used: int | None) -> None:
        if used is not None:
            self._take(used - tokens)


def most_at_once(models: Iterable[Model], limits: Limits) -> int:
    """Return the most calls at a time that these models, all of one endpoint, can have."""
    return max(_most(model, limits) for model in models)


def shares_of(models: Mapping[str, Model], limits: Limits) -> dict[str, tuple[LimitShare, ...]]:
    """For each model, by name, the limits that it is under beside those of its endpoint as a whole. Models that a
    setting names together have the same objects."""
    at: dict[str, list[Model]] = {}
    for model in models.values():
        at.setdefault(model.endpoint, []).append(model)
    made: dict[tuple[str, str], LimitShare] = {}

    def rate(
        setting: Mapping[str, float], make: type[RequestsPerMinute] | type[TokensPerMinute], model: Model
    ) -> list[LimitShare]:
        key = _key(model, setting)
        if key is None:
            return []
        return [made.setdefault((make.__name__, _together(model, key)), make(setting[key]))]

    def slots(model: Model) -> list[LimitShare]:
        most = most_at_once(at[model.endpoint], limits)
        key = _key(model, limits.connections)
        cap = limits.max_connections if key is None else limits.connections[key]
        together = _together(model, key)
        endpoints = {m.endpoint for m in models.values() if _together(m, _key(m, limits.connections)) == together}
        found: list[LimitShare] = []
        if cap < most or len(endpoints) > 1:  # else the gate of the endpoint says the same
            found.append(made.setdefault(("connections", together), Slots(cap)))
        if model.slots is not None and model.slots < most:
            found.append(Slots(model.slots))
        return found

    return {
        name: (
            *rate(limits.requests_per_minute, RequestsPerMinute, model),
            *rate(limits.tokens_per_minute, TokensPerMinute, model),
            *slots(model),
        )
        for name, model in models.items()
    }


def _most(model: Model, limits: Limits) -> int:
    key = _key(model, limits.connections)
    most = limits.max_connections if key is None else limits.connections[key]
    return most if model.slots is None else min(most, model.slots)


def _key(model: Model, setting: Mapping[str, object]) -> str | None:
    """Return what a setting calls a model: its name, the longest beginning of it, or its endpoint."""
    if not setting:
        return None
    parts = model.name.split("/")
    names = ("/".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((name for name in (*names, model.endpoint, ANY) if name in setting), None)


def _together(model: Model, key: str | None) -> str:
    """Return the name of what a model has a limit together with."""
    return f"{ANY} {model.endpoint}" if key is None or key == ANY else key
