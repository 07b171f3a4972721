"""The user's limits on calls, and the limits of each model: slots, requests and tokens per minute."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import field
from typing import Protocol

from tripos_compiler.source.data_classes import dataclass
from tripos_runtime.models.base import Model
from tripos_runtime.models.http import USUAL_MB

ANY = "*"
"""The key of a setting for all endpoints without a key of their own."""
SMOOTH_S = 0.1
"""Only the calls of this time, in seconds, may leave together. Providers also count by the second, so a minute's calls
may not leave at once; timers are too inexact for shorter times."""


@dataclass(frozen=True)
class Limits:
    """The limits on calls.

    The keys of the mappings are a model name (`openai/gpt-4o`), a prefix of names (`openai`) or an endpoint. For each
    model the longest matching key counts, and the models of one key share its limit. The key `*` applies to each
    endpoint without another key."""

    max_connections: int = 16
    """The largest number of concurrent calls to an endpoint."""
    max_retries: int = 5
    timeout_s: float = 600.0
    """The longest time of a call's attempts and delays together, in seconds. The time that it waits for a slot does not
    count."""
    patience_s: float = 900.0
    """How long an endpoint may be silent before its calls fail, and the longest accepted Retry-After, in seconds."""
    requests_per_minute: Mapping[str, float] = field(default_factory=dict)
    tokens_per_minute: Mapping[str, float] = field(default_factory=dict)
    connections: Mapping[str, int] = field(default_factory=dict)
    """Replaces `max_connections` for some models."""
    reply_memory_mb: int = USUAL_MB
    """The memory for all large replies together, from their arrival until they are kept, in MB."""


class SharedLimit(Protocol):
    """A limit that some models share."""

    def wait_s(self, now: float) -> float:
        """Return the seconds until the next call may go; `inf` if another one must end first."""
        ...

    def enter(self, now: float, tokens: int) -> None:
        """Record a call that starts, with its estimated tokens."""
        ...

    def leave(self, tokens: int, used: int | None) -> None:
        """Record the end of such a call and the tokens that it used, if known."""
        ...


class Slots:
    """A limit on concurrent calls."""

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
    """A token bucket that fills at a steady rate. A call may go unless the level is below 0, and may take more than the
    level. So a call larger than the bucket can go too, and the next ones wait."""

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
    """At most `most` calls per minute, evenly spread.

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
        """Do nothing: a request counts, whatever its outcome."""


class TokensPerMinute(_RateBucket):
    """At most `most` tokens in a minute, and those of one call more, evenly spread. The tokens of a call are estimated
    at its start and corrected at its end.

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
    """Return the largest number of concurrent calls of these models, which share an endpoint."""
    return max(_most(model, limits) for model in models)


def shared_limits(models: Mapping[str, Model], limits: Limits) -> dict[str, tuple[SharedLimit, ...]]:
    """Return for each model the limits that apply in addition to those of its endpoint's gate. The models of one key
    have the same objects."""
    by_endpoint: dict[str, list[Model]] = {}
    for model in models.values():
        by_endpoint.setdefault(model.endpoint, []).append(model)
    shared: dict[tuple[str, str], SharedLimit] = {}

    def rate(
        setting: Mapping[str, float], make: type[RequestsPerMinute] | type[TokensPerMinute], model: Model
    ) -> list[SharedLimit]:
        key = _key(model, setting)
        if key is None:
            return []
        return [shared.setdefault((make.__name__, _limit_group(model, key)), make(setting[key]))]

    def slots(model: Model) -> list[SharedLimit]:
        most = most_at_once(by_endpoint[model.endpoint], limits)
        key = _key(model, limits.connections)
        group_limit = limits.max_connections if key is None else limits.connections[key]
        group = _limit_group(model, key)
        group_endpoints = {
            other.endpoint for other in models.values() if _limit_group(other, _key(other, limits.connections)) == group
        }
        model_limits: list[SharedLimit] = []
        if group_limit < most or len(group_endpoints) > 1:  # else the endpoint's gate enforces the same limit
            model_limits.append(shared.setdefault(("connections", group), Slots(group_limit)))
        if model.slots is not None and model.slots < most:
            model_limits.append(Slots(model.slots))
        return model_limits

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
    """Return the key of a setting that applies to a model: its name, the longest prefix of the name, its endpoint, or
    `ANY`; None if there is none."""
    if not setting:
        return None
    parts = model.name.split("/")
    names = ("/".join(parts[:count]) for count in range(len(parts), 0, -1))
    return next((name for name in (*names, model.endpoint, ANY) if name in setting), None)


def _limit_group(model: Model, key: str | None) -> str:
    """Return the name of the group that a model shares a limit with."""
    return f"{ANY} {model.endpoint}" if key is None or key == ANY else key
