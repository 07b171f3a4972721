"""Prices of designs: of both models' replies to an item, of each judge, and of labels by people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tripos.ui import Failure
from tripos_warehouse.statistics.design import Prices

if TYPE_CHECKING:
    from tripos.api.planning.run_plan import RunPlan
    from tripos.settings import Config


@dataclass(frozen=True)
class Places:
    """Where the calls of a measure are made: scenarios, the roles of judges, and the judges; `units` are all samples of
    all items, and `costs` what kept calls cost."""

    scenarios: tuple[str, ...]
    roles: tuple[str, ...]
    panel: tuple[str, ...]
    units: int
    costs: Mapping[str, float]
    rows: float = 1.0
    """How many items there are for each that is independent: more than one where a cluster has several."""


def design_prices(
    found: RunPlan, config: Config, wanted: str, must: bool, label_price: float | None, places: Places
) -> tuple[str, Prices]:
    """Return what costs are counted in, and the prices of both models' replies to an item, of each judge, and of a
    person who grades these replies.

    Raises `Failure` R0404 where a price is not known, and USD `must` be what costs are counted in.
    """
    if wanted == "USD":
        by_usd = _usd(found, places)
        label = None if label_price is None else 2 * label_price
        if by_usd is not None and (by_usd.replies or sum(by_usd.judgements) or label):
            return "USD", replace(by_usd, batch=_batch_share(found, config), labels=label)
        if label is not None:
            who = ", ".join(found.unpriced) or "these models"
            told = f"a label costs money, and no price is known of {who}"
            raise Failure("R0404", told, "write its price into tripos.toml, or leave out `--label-price`")
        if must:
            who = ", ".join(found.unpriced) or "these models"
            hint = "write its price into tripos.toml, or give a number of calls: --spend 1000calls"
            raise Failure("R0404", f"no price is known of {who}", hint)
    return "calls", _calls(found, places)


def _usd(found: RunPlan, places: Places) -> Prices | None:
    """Return prices from the forecast: the cost of a call at each place, times its calls, by item and sample. Of calls
    that are all kept it is what they cost."""
    forecast = found.forecast
    if forecast is None or found.prepared is None:
        return None
    models = max(1, len(found.prepared.binding.models[found.prepared.binding.compared]))
    replies, judged = 0.0, dict.fromkeys(places.panel, 0.0)
    for where, line in forecast.lines.items():
        calls = line.reused + line.most
        if where.scenario not in places.scenarios or not calls:
            continue
        estimate = forecast.estimates.get(where)
        each = places.costs.get(where.model)
        if estimate is not None and estimate.calls.expected:
            each = None if estimate.cost_usd is None else estimate.cost_usd.expected / estimate.calls.expected
        if each is None:
            return None
        if where.role in places.roles and where.model in judged:
            judged[where.model] += each * calls
        else:
            replies += each * calls
    share = 2 / models / places.units
    return Prices(replies * share, tuple(judged[name] * share for name in places.panel))


def _calls(found: RunPlan, places: Places) -> Prices:
    """Return prices in calls: of a reply the steps that ask for it, and one of a judge; for each item of a cluster."""
    asked = {(each.place, each.step) for each in found.steps if each.place in places.scenarios}
    judged = {(each.place, each.step) for each in found.steps if each.role in places.roles}
    each = 2.0 * places.rows
    return Prices(each * max(1, len({step for _, step in asked - judged})), tuple(each for _ in places.panel))


def _batch_share(found: RunPlan, config: Config) -> float | None:
    """Return what models cost in a batch, as a share; `None` where one takes none, or the run is asked in batches."""
    from tripos.api.forecast import known_prices
    from tripos_runtime.models.batches import takes_batches

    if found.prepared is None or found.prepared.wiring.batch:
        return None
    live, batched = (known_prices(found.prepared.binding, config, batch=batch) for batch in (False, True))
    paid = [name for name, price in live.items() if price is not None and (price.input_usd or price.output_usd)]
    if not paid or not all(map(takes_batches, paid)):
        return None
    shares = []
    for name in paid:
        whole, less = live[name], batched[name]
        if whole is None or less is None:
            return None
        shares.append((less.input_usd + less.output_usd) / (whole.input_usd + whole.output_usd))
    return max(shares)
