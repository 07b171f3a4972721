"""The text of a forecast: reused replies and calls by role and model, their reasons, tokens, time and cost."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tripos.cli.progress import format_reused
from tripos.runs.forecast import budget_rows
from tripos.settings.options import JSON
from tripos.terminal import escape_controls
from tripos_compiler.diagnostics.i18n import localized, reader_language
from tripos_compiler.diagnostics.text_format import abbreviated, usd, wrap
from tripos_compiler.plan import Plan
from tripos_runtime.forecast.estimates import Estimate, EstimateSpan
from tripos_runtime.forecast.run_forecast import BatchForecast, Forecast, ForecastLine
from tripos_runtime.scheduling.budget import Budget
from tripos_warehouse.tables.model import Column, Table
from tripos_warehouse.tables.text import fold, table_lines

MOST_REASONS = 12
MOST_PLACES = 3


@dataclass
class _Group:
    """The calls of one role and model."""

    reused: int = 0
    certain: int = 0
    perhaps: int = 0
    ruled_out: int = 0
    parts: list[Estimate] = field(default_factory=list)

    def add(self, line: ForecastLine, part: Estimate | None) -> None:
        self.reused += line.reused
        self.certain += line.certain
        self.perhaps += line.perhaps
        self.ruled_out += line.ruled_out
        if part is not None:
            self.parts.append(part)


ENOUGH = {
    "all": "is enough, whatever comes",
    "expected": "is enough for what is expected, and not for the highest",
    "little": "is too little: the run would stop before its end",
    "unknown": "may or may not be enough: a price is not known",
}


def forecast_lines(
    estimate: Forecast, plan: Plan, width: int, budget: Budget | None = None, batches: BatchForecast | None = None
) -> list[str]:
    """Return the lines of a forecast, wrapped to `width` columns."""
    lines = _table(estimate, plan, width)
    if any(line.ruled_out for line in estimate.lines.values()):
        count = sum(line.ruled_out for line in estimate.lines.values())
        lines.append(localized(f"{_calls(count)} ruled out by a condition or a reply that could not be read."))
    if estimate.reuse.calls:
        lines += _wrapped(f"Of the reused calls, {format_reused(estimate.reuse)}.", width)
    if estimate.scores:
        lines.append(
            localized(f"{estimate.scores:,} {_many('score', estimate.scores)} computed again from kept replies.")
        )
    failed: Counter[str] = Counter()
    for line in estimate.lines.values():
        failed.update(line.failed)
    if failed:
        codes = ", ".join(f"{count:,} with {code}" for code, count in sorted(failed.items()))
        lines.append(localized(f"{_calls(sum(failed.values()))} failed before and tried again: {codes}."))
    if unmade := sum(estimate.unmade.values()):
        text = f"{unmade:,} {_many('item', unmade)} yet to be made: expected are calls as if none is rejected."
        lines += _wrapped(text, width)
    if estimate.reasons:
        lines += ["", localized("why"), *_why(estimate, width)]
    lines += ["", *_totals(estimate, width)]
    for unit, budget_row in budget_rows(estimate, budget).items():
        most = f"{usd(budget_row['most'])} USD" if unit == "usd" else f"{budget_row['most']:,} {unit}"
        lines += _wrapped(f"The budget of {most} {ENOUGH[budget_row['enough_for']]}.", width)
    if batches is not None:
        lines += ["", *batch_lines(batches, width)]
    if estimate.unpriced:
        lines += ["", *_prices(estimate.unpriced, width)]
    return lines


def _table(found: Forecast, plan: Plan, width: int) -> list[str]:
    groups: dict[tuple[str, str], _Group] = {}
    order = {role.name: number for number, role in enumerate(plan.roles)}
    for where, line in found.lines.items():
        groups.setdefault((where.role, where.model), _Group()).add(line, found.estimates.get(where))
    rows = sorted(groups.items(), key=lambda pair: order[pair[0][0]])
    summed = [(role, model, group, Estimate.of_all(group.parts)) for (role, model), group in rows]
    totals = [total for *_, total in summed]
    costs = [None if total.cost_usd is None else total.cost_usd.expected for total in totals]
    columns = (
        Column("role", tuple(role for role, *_ in summed), shrinks="last"),
        Column("model", tuple(model for _, model, *_ in summed)),
        Column("reused", tuple(group.reused for *_, group, _ in summed), "count"),
        Column("at least", tuple(group.certain for *_, group, _ in summed), "count"),
        Column("at most", tuple(group.certain + group.perhaps for *_, group, _ in summed), "count"),
        Column("tokens in", tuple(total.tokens_in.expected for total in totals), "tokens"),
        Column("out", tuple(total.tokens_out.expected for total in totals), "tokens"),
        Column("USD", tuple("unknown" if cost is None else cost for cost in costs), "money"),
    )
    return table_lines(Table(columns), width)


def _why(found: Forecast, width: int) -> Iterator[str]:
    reasons = found.reasons[:MOST_REASONS]
    room = max(len(f"{reason.calls:,}") for reason in reasons)
    for reason in reasons:
        places = _places(reason.places, len({(where.scenario, where.step) for where in found.lines}))
        text = f"  {reason.calls:>{room},}  {localized(reason.text)}"
        yield from _hanging_lines(text, width, room + 4)
        if places:
            yield from _hanging_lines(f"  {'':{room}}    in {places}", width, room + 6)
    more = found.reasons[MOST_REASONS:]
    if more:
        yield f"  {sum(reason.calls for reason in more):>{room},}  for {len(more)} more reasons, see {JSON}"


def _places(places: Sequence[tuple[str, str]], of: int) -> str:
    """Return the names of the steps, or nothing if they are all steps."""
    if len(places) == of:
        return ""
    steps: dict[str, list[str]] = {}
    for scenario, step in places:
        steps.setdefault(step, []).append(scenario)
    texts = [
        f"{step} of {', '.join(scenarios[:MOST_PLACES])}"
        + (f" and {len(scenarios) - MOST_PLACES} more" if scenarios[MOST_PLACES:] else "")
        for step, scenarios in steps.items()
    ]
    return "; ".join(texts)


def _totals(found: Forecast, width: int) -> Iterator[str]:
    total = found.total
    if not found.certain and not found.perhaps:
        yield localized("Nothing to call: everything is kept.")
        return
    rows = [
        (localized("calls"), *(f"{round(call):,}" for call in total.calls)),
        (localized("tokens in"), *map(abbreviated, total.tokens_in)),
        (localized("tokens out"), *map(abbreviated, total.tokens_out)),
        ("USD", *_cost(total)),
    ]
    heads = ("in all", "low", "expected", "high")
    columns = [
        Column(head, cells, right=head != "in all", shrinks="last")
        for head, cells in zip(heads, zip(*rows, strict=True), strict=True)
    ]
    yield from table_lines(Table(tuple(columns)), width)
    yield from _wrapped(f"Reply lengths estimated from: {total.rests_on}.", width)
    if total.unbounded:
        texts, more = total.unbounded[:MOST_PLACES], len(total.unbounded) - MOST_PLACES
        text = "; ".join(texts) + (f"; and {more} more, see {JSON}" if more > 0 else "")
        yield from _wrapped(f"High is unknown, because nothing bounds {text}.", width)


def _cost(total: Estimate) -> tuple[str, str, str]:
    if total.cost_usd is not None:
        return _spans(total.cost_usd)
    if not any(total.known_usd):
        return "unknown", "unknown", "unknown"
    low, expected, high = _spans(total.known_usd)
    return f"{low} + unknown", f"{expected} + unknown", high if high == "unknown" else f"{high} + unknown"


def _spans(span: EstimateSpan) -> tuple[str, str, str]:
    return usd(span.low), usd(span.expected), usd(span.high)


def _prices(models: Sequence[str], width: int) -> Iterator[str]:
    from tripos_runtime.models.catalog import similar_model

    for model in models:
        close = similar_model(model)
        if close is not None:
            yield from _wrapped(
                f"Nothing is known of {escape_controls(model)}. Did you mean {escape_controls(close)}?", width
            )
    names = ", ".join(map(escape_controls, models))
    text = f"No price is known of {names}. Write the provider's figures into tripos.toml, in USD a million tokens:"
    yield from _wrapped(text, width)
    for model in models:
        yield f"  [prices.{_quoted(model)}]"
        yield "  input = ..."  # not a number, so that it must be replaced
        yield "  output = ..."


def _quoted(model: str) -> str:
    """Return a name as a TOML key.

    >>> _quoted('a/"b"')
    '"a/\\\\"b\\\\""'
    """
    return '"' + escape_controls(model).replace("\\", "\\\\").replace('"', '\\"') + '"'


def _calls(count: int) -> str:
    return f"{count:,} {_many('call', count)}"


def _many(noun: str, count: int) -> str:
    return f"{noun} is" if count == 1 else f"{noun}s are"


def _hanging_lines(text: str, width: int, margin: int) -> list[str]:
    """Return a text as wrapped lines with a hanging indent."""
    first, *rest = fold(text, width)
    return [first, *(f"{'':{margin}}{line}" for line in fold(" ".join(rest), max(width - margin, 8)) if rest)]


def _wrapped(text: str, width: int) -> list[str]:
    return wrap(localized(text), width) if reader_language() != "en" else textwrap.wrap(text, width)


def batch_lines(found: BatchForecast, width: int) -> list[str]:
    """Return the lines about batches, wrapped to `width` columns."""
    if not found.batches:
        return wrap(localized("No call goes into a batch."), width)
    batches, unknown = found.batches, localized("unknown")
    costs = [unknown if batch.cost_usd is None else batch.cost_usd.expected for batch in batches]
    columns = (
        Column("in batches", tuple(batch.model for batch in batches), shrinks="last"),
        Column("level", tuple(batch.level for batch in batches), "count"),
        Column("at least", tuple(batch.least for batch in batches), "count"),
        Column("at most", tuple(batch.most for batch in batches), "count"),
        Column("batches", tuple(batch.batches for batch in batches), "count"),
        Column("USD", tuple(costs), "money"),
        Column("live USD", tuple(unknown if batch.live_usd is None else batch.live_usd for batch in batches), "money"),
    )
    text = (
        f"{found.levels:,} level{'' if found.levels == 1 else 's'}, one after another: {found.latest_h:,} hours at the"
        " latest, if no request fails, expires or is repaired."
    )
    lines = [*table_lines(Table(columns), width), *wrap(localized(text), width)]
    if found.live:
        lines += wrap(
            localized(f"Live, beside the batches: {found.live:,} call{'' if found.live == 1 else 's'}."), width
        )
    return lines
