"""What difference between two models a benchmark can detect, before anything is asked."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

from tripos_warehouse.statistics.power import detectable_difference, paired_variance

WORST = 0.25
"""The greatest variance on a scale of length 1, (1 / 2)²: half of the values at either end (Popoviciu, 1935)."""
CORRELATION = 0.5
"""How far the scores of two models on one item are taken to go together."""


def design_lines(items: Mapping[str, int], width: int = 80) -> list[str]:
    """What can be detected at 80 % power and a level of 5 %, with so many items of each scenario; nothing without any.

    The least difference is a share of the scale, whichever it is, for the worst variance on it: points of a share.

    >>> print("\\n".join(design_lines({"sums": 198})))
    198 items show a difference of 9.95 % of a scale between two models that answer
    all of them, and of 14.08 % between models on items of their own (80 % power, at
    worst).
    """
    total = sum(items.values())
    if total == 0:
        return []
    told = (
        f"{total:,} item{'s' if total > 1 else ''} show{'' if total > 1 else 's'} a difference of {_least(total)}"
        f" of a scale between two models that answer all of them, and of {_least(total, paired=False)} between models"
        " on items of their own (80 % power, at worst)."
    )
    counts = {name: count for name, count in items.items() if count}
    if len(counts) > 1:
        least = min(counts, key=lambda name: counts[name])
        told += f" Within `{least}`, which has {counts[least]:,}: {_least(counts[least])}."
    return textwrap.wrap(told, width)


def _least(items: int, paired: bool = True) -> str:
    variance = paired_variance(WORST, WORST, CORRELATION if paired else 0.0)
    found = detectable_difference(items, variance).value
    assert found is not None
    return "no less than all" if found >= 1 else f"{100 * found:.2f} %"
