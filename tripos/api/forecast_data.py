"""A forecast as JSON, for programs."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from types import MappingProxyType
from typing import Any

import orjson

from tripos_runtime.forecast.estimates import Estimate, Span
from tripos_runtime.forecast.forecast import Forecast
from tripos_runtime.scheduling.budget import Budget


def to_json(found: Forecast, budget: Budget | None = None, withheld: Mapping[str, int] = MappingProxyType({})) -> str:
    """The forecast as indented JSON. A cost that is not known is null, and `unpriced` names the models; so is a bound,
    and `unbounded` says why. `withheld` are the items of a scenario that the release withholds."""
    data = {**to_data(found, budget), "items_withheld": dict(withheld)}
    return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode()


def of_budget(found: Forecast, budget: Budget | None) -> dict[str, dict[str, Any]]:
    """For each bound of a budget: how much it is, and whether it is enough: `all`, for whatever may come; `expected`,
    for what is expected and no more; `little`, for less than that; `unknown`."""
    if budget is None:
        return {}
    total = found.total
    tokens = Span(*(a + b for a, b in zip(total.tokens_in, total.tokens_out, strict=True)))
    told: dict[str, dict[str, Any]] = {}
    for unit, most, needed in (
        ("usd", budget.usd, total.cost_usd),
        ("tokens", budget.tokens, tokens),
        ("calls", budget.calls, total.calls),
    ):
        if most is None:
            continue
        if needed is None:
            enough = "unknown"
        else:
            enough = "all" if needed.high <= most else "expected" if needed.expected <= most else "little"
        told[unit] = {"most": most, "enough_for": enough}
    return told


def to_data(found: Forecast, budget: Budget | None = None) -> dict[str, Any]:
    """The forecast as JSON values: `calls` by place, `why`, `total`, and whether a `budget` is enough."""
    total = found.total
    return {
        "calls": [
            {
                **where._asdict(),
                "reused": line.reused,
                "at_least": line.certain,
                "at_most": line.most,
                "ruled_out": line.ruled_out,
                "failed_before": dict(sorted(line.failed.items())),
                **(_estimate(found.estimates[where]) if where in found.estimates else _estimate(Estimate())),
            }
            for where, line in found.lines.items()
        ],
        "why": [
            {
                "kind": reason.kind,
                "text": reason.text,
                "calls": reason.calls,
                "steps": [{"scenario": scenario, "step": step} for scenario, step in reason.places],
                "items": reason.items,
                "of_items": reason.of_items,
            }
            for reason in found.reasons
        ],
        "items": dict(found.items),
        "items_to_be_made": dict(found.unmade),
        "scores_from_kept_replies": found.scores,
        "unpriced": list(found.unpriced),
        "budget": of_budget(found, budget),
        "total": {
            "reused": found.reused,
            "at_least": found.certain,
            "at_most": found.certain + found.perhaps,
            **_estimate(total),
            "known_usd": _span(total.known_usd, 6),
        },
    }


def _estimate(part: Estimate) -> dict[str, Any]:
    return {
        "calls": _span(part.calls),
        "tokens_in": _span(part.tokens_in),
        "tokens_out": _span(part.tokens_out),
        "cost_usd": None if part.cost_usd is None else _span(part.cost_usd, 6),
        "unbounded": list(part.unbounded),
        "basis": part.rests_on,
    }


def _span(span: Span, digits: int | None = None) -> dict[str, float | None]:
    return {name: round(value, digits) if isfinite(value) else None for name, value in span._asdict().items()}
