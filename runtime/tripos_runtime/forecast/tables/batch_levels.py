"""The batches of a forecast: which calls form a level, how many batches a level takes, and when the last can end."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any

from tripos_compiler.plan import Converse, Plan
from tripos_runtime.drivers import MOST_UNITS
from tripos_runtime.forecast.estimates import Estimate, EstimateSpan
from tripos_runtime.forecast.lines import Forecast
from tripos_runtime.program import speaker_of

WINDOW_H = 24
"""Providers answer a batch, or let it expire, within so many hours."""
BYTES = 2
"""Bytes of a token at the most, as the bound of a prompt counts tokens: one for 2 characters of an alphabet."""
LINE = 700
"""Bytes of a request beside its messages: its name, and its settings."""

Limits = tuple[int, int]
"""The most requests of a batch, and the most bytes."""


@dataclass(frozen=True)
class LevelBatches:
    """The batches of one model at one level, with the calls in them, from the least to the most, and their cost."""

    level: int
    model: str
    least: int
    most: int
    batches: int
    cost_usd: EstimateSpan | None
    live_usd: float | None
    """The expected cost of the same calls, made live."""

    @property
    def provider(self) -> str:
        """Return who answers."""
        return self.model.partition("/")[0]


@dataclass(frozen=True)
class BatchForecast:
    """The batches of a run, provider by provider, and then by level. `live` counts the calls that are made beside them,
    at the most; `rounds` says how often the levels are gone through, as a run holds only so many units at once."""

    batches: tuple[LevelBatches, ...]
    live: int
    rounds: int

    @property
    def levels(self) -> int:
        """Return how many batches follow each other, if no request is asked again."""
        return max((each.level for each in self.batches), default=0) * self.rounds

    def to_json(self) -> dict[str, Any]:
        """Return JSON values: the batches of each `level` and model, by provider, and `latest_hours` until the last has
        ended, if no request is asked again."""
        return {
            "batches": [
                {
                    "provider": each.provider,
                    "level": each.level,
                    "model": each.model,
                    "at_least": each.least,
                    "at_most": each.most,
                    "batches": each.batches,
                    "cost_usd": None if each.cost_usd is None else each.cost_usd.to_json(6),
                    "live_usd": None if each.live_usd is None else round(each.live_usd, 6),
                }
                for each in self.batches
            ],
            "levels": self.levels,
            "latest_hours": self.latest_h,
            "live_calls": self.live,
        }

    @property
    def latest_h(self) -> int:
        """Return after how many hours the last batch has ended at the latest, if no request is asked again."""
        return self.levels * WINDOW_H


def batch_forecast(
    found: Forecast,
    plan: Plan,
    limits: Callable[[str], Limits | None],
    factor: Callable[[str, float, float], float | None],
) -> BatchForecast:
    """Return the batches of a forecast. `limits` are those of a batch of a model, `None` where it is asked live.
    `factor` is how many times as much a call of a model costs live, by its tokens in and out, if that is known."""
    asked = {where: line for where, line in found.lines.items() if line.most}
    batched = {where.role for where in asked if limits(where.model) is not None}
    keys = dict.fromkeys((where.scenario, where.step) for where in asked if where.role in batched)
    places = dict(_levels(plan, keys, batched))
    parts: dict[tuple[int, str], list[tuple[int, int, Estimate]]] = {}
    live = 0
    for where, line in asked.items():
        if limits(where.model) is None:
            live += line.most
            continue
        levels = places.get((where.scenario, where.step, where.role)) or places[where.scenario, where.step, ""]
        estimate = found.estimates.get(where, Estimate())
        for share, level in enumerate(levels):
            least, most = (_share(count, share, len(levels)) for count in (line.certain, line.most))
            parts.setdefault((level, where.model), []).append((least, most, _part(estimate, len(levels))))
    first = sum(most for (level, _), own in parts.items() if level == 1 for _, most, _ in own)
    rounds = max(1, math.ceil(first / MOST_UNITS))
    rows = []
    for (level, model), own in parts.items():
        total = Estimate.of_all([estimate for _, _, estimate in own])
        least, most = sum(each[0] for each in own), sum(each[1] for each in own)
        cost, live_usd = total.cost_usd, None
        if cost is not None and (calls := total.calls.expected):
            times = factor(model, total.tokens_in.expected / calls, total.tokens_out.expected / calls)
            live_usd = None if times is None else cost.expected * times
        room = limits(model)
        assert room is not None
        batches = max(rounds, _batches(most, total, room))
        rows.append(LevelBatches(level, model, least, most, batches, cost, live_usd))
    rows.sort(key=lambda each: (each.provider, each.level, each.model))
    return BatchForecast(tuple(rows), live, rounds)


def _levels(
    plan: Plan, asked: Collection[tuple[str, str]], batched: Collection[str]
) -> Iterator[tuple[tuple[str, str, str], tuple[int, ...]]]:
    """Yield the levels of each step that is asked, by its place, its name, and the role where it is a conversation. A
    step whose replies are kept, or that is asked live, takes no level. Those that make data sets come first, one after
    another."""
    steps = {(each.name, step.name) for each in plan.scenarios for way in each.treatments for step in way.steps}
    made = [key for key in asked if key not in steps]
    yield from (((*key, ""), (level,)) for level, key in enumerate(made, 1))
    for scenario in plan.scenarios:
        found: dict[tuple[str, str], tuple[int, ...]] = {}
        for treatment in scenario.treatments:
            depths: dict[str, int] = {}
            for step in treatment.steps:
                depth = max((depths.get(name, 0) for name in getattr(step, "needs", ())), default=0) or len(made)
                if (scenario.name, step.name) in asked:
                    for role, levels in _of_step(step, depth, batched):
                        found[step.name, role] = max(found.get((step.name, role), ()), levels)
                        depth = max(depth, *levels)
                depths[step.name] = depth
        yield from (((scenario.name, *key), levels) for key, levels in found.items())


def _of_step(step: Any, depth: int, batched: Collection[str]) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yield the levels of a step after so many others; of a conversation those of each role that speaks in batches."""
    if not isinstance(step, Converse):
        yield "", (depth + 1,)
        return
    turns: dict[str, list[int]] = {}
    for turn in range(1, step.limit + 1):
        role = speaker_of(step, turn)
        if role in batched:
            depth += 1
            turns.setdefault(role, []).append(depth)
    yield from ((role, tuple(levels)) for role, levels in turns.items())


def _share(count: int, part: int, of: int) -> int:
    return count // of + (part < count % of)


def _part(estimate: Estimate, of: int) -> Estimate:
    if of == 1:
        return estimate
    cost = None if estimate.cost_usd is None else estimate.cost_usd.times(1 / of)
    calls, tokens_in, tokens_out = (
        span.times(1 / of) for span in (estimate.calls, estimate.tokens_in, estimate.tokens_out)
    )
    return Estimate(calls, tokens_in, tokens_out, cost)


def _batches(calls: int, total: Estimate, limits: Limits) -> int:
    """Return how many batches so many calls take: by their number, and by the bytes of their prompts."""
    most_lines, most_bytes = limits
    tokens = total.tokens_in.high if math.isfinite(total.tokens_in.high) else total.tokens_in.expected
    return max(1, math.ceil(calls / most_lines), math.ceil((BYTES * tokens + LINE * calls) / most_bytes))
