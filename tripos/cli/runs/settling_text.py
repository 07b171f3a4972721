"""The saving of a run that stops when it is settled, as text."""

from __future__ import annotations

from collections.abc import Iterator

from tripos.api import SettlingForecast
from tripos_compiler.diagnostics import localized, usd, wrap


def settling_lines(found: SettlingForecast, width: int) -> list[str]:
    """Return the lines of what a run saves that stops when it is settled, none wider than `width` columns.

    >>> print("\\n".join(settling_lines(SettlingForecast(400, unknown="there is no store yet"), 80)))
    Until settled: nothing is known of what it saves: there is no store yet.
    """
    return [line for told in _told(found) for line in wrap(localized(told), width)]


def _told(found: SettlingForecast) -> Iterator[str]:
    if found.unknown is not None:
        yield f"Until settled: nothing is known of what it saves: {localized(found.unknown)}."
        return
    low, high, mean = round(found.items[0]), round(found.items[-1]), round(found.share * found.of)
    many = len(found.items)
    yield f"Until settled: a model is asked for {mean:,} of {found.of:,} items ({low:,} to {high:,} in {many} orders)."
    if found.calls is not None and found.calls.expected:
        every, some = round(found.calls.expected), round(found.calls.expected * found.share)
        if found.cost_usd is not None and found.cost_usd.expected:
            paid = usd(found.cost_usd.expected * found.share)
            yield f"That is about {some:,} of {every:,} calls, for {paid} of {usd(found.cost_usd.expected)} USD."
        else:
            yield f"That is about {some:,} of {every:,} calls."
    yield f"It is what scores in the store show, of {', '.join(found.models)}."
    if found.others:
        yield f"The store has no scores of {', '.join(found.others)}."
    if found.scored < found.of:
        yield f"Of {found.scored:,} items there are scores: the others are drawn from them."
    if found.unsettled:
        yield f"In {found.unsettled:,} of {many} orders something is not settled before the last item."
