"""The batches of a forecast as text: a line for each model and level, and when the last has ended at the latest."""

from __future__ import annotations

from tripos_compiler.diagnostics import localized, usd, wrap
from tripos_runtime.forecast import BatchForecast
from tripos_warehouse.formats import TextColumn, grid


def batch_lines(found: BatchForecast, width: int) -> list[str]:
    """Return the lines about batches, none wider than `width` columns."""
    if not found.batches:
        return wrap(localized("No call goes into a batch."), width)
    cells = [
        (
            each.model,
            f"{each.level:,}",
            f"{each.least:,}",
            f"{each.most:,}",
            f"{each.batches:,}",
            "unknown" if each.cost_usd is None else usd(each.cost_usd.expected),
            "unknown" if each.live_usd is None else usd(each.live_usd),
        )
        for each in found.batches
    ]
    heads = ("in batches", "level", "at least", "at most", "batches", "USD", "live USD")
    columns = [
        TextColumn(localized(head), tuple(row[place] for row in cells), place > 0, place == 0)
        for place, head in enumerate(heads)
    ]
    told = (
        f"{found.levels:,} level{'' if found.levels == 1 else 's'}, one after another: {found.latest_h:,} hours at the"
        " latest, if no request fails, expires or is repaired."
    )
    lines = [*grid(columns, width), *wrap(localized(told), width)]
    if found.live:
        lines += wrap(
            localized(f"Live, beside the batches: {found.live:,} call{'' if found.live == 1 else 's'}."), width
        )
    return lines
