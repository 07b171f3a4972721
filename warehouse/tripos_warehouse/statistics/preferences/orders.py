"""Judges that saw both orders: how often the verdict turns with them, and for which place."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import replace

from tripos_warehouse.statistics.found import StatisticResult
from tripos_warehouse.statistics.intervals import mean
from tripos_warehouse.statistics.preferences.verdicts import Preference, item_codes, share


def both_orders(verdicts: Sequence[Preference]) -> list[tuple[Preference, Preference]]:
    """Return the verdicts of a judge on the two orders of the same replies, paired by judge, item and models.

    Of repeated verdicts the first of one order goes with the first of the other. Those without an item are left out.

    >>> [len(pair) for pair in both_orders([Preference("a", "b", "a", 1), Preference("b", "a", "b", 1)])]
    [2]
    """
    seen: dict[tuple[Hashable, ...], tuple[list[Preference], list[Preference]]] = defaultdict(lambda: ([], []))
    for verdict in verdicts:
        if verdict.item is not None:
            key = (verdict.judge, verdict.item, verdict.models)
            seen[key][verdict.first != verdict.models[0]].append(verdict)
    return [pair for one, other in seen.values() for pair in zip(one, other, strict=False)]


def flip_rate(verdicts: Sequence[Preference], *, ties: bool = False, confidence: float = 0.95) -> StatisticResult:
    """The share of pairs of orders in which the judge prefers one model in the one order and the other in the other.

    With `ties`, a tie in one order only counts as turned too. `n` are the pairs, `left_out` the verdicts without their
    counterpart. Wilson's interval where every item has one pair, else Student's t over items.

    >>> flipped = [Preference("a", "b", "a", 1), Preference("b", "a", "b", 1)]
    >>> same = [Preference("a", "b", "a", 2), Preference("b", "a", "a", 2)]
    >>> flip_rate(flipped + same).value
    0.5
    """
    pairs = both_orders(verdicts)
    left_out = len(verdicts) - 2 * len(pairs)
    if not pairs:
        return StatisticResult.undefined("no item was judged in both orders", left_out=left_out)
    turned = [
        float(one.winner != other.winner and (ties or None not in {one.winner, other.winner})) for one, other in pairs
    ]
    return replace(share(turned, item_codes([one for one, _ in pairs]), confidence), left_out=left_out)


def position_bias(verdicts: Sequence[Preference], *, confidence: float = 0.95) -> StatisticResult:
    """The share of verdicts for what was shown first less that for what was shown second: −1 to 1, fair is 0.

    Only of replies judged in both orders, so that neither place has the better ones. `n` are such pairs, `left_out` the
    verdicts without their counterpart. The interval of a `bounded` mean over items, tested against 0.

    >>> position_bias([Preference("a", "b", "a", 1), Preference("b", "a", "b", 1)]).value
    1.0
    """
    pairs = both_orders(verdicts)
    left_out = len(verdicts) - 2 * len(pairs)
    if not pairs:
        return StatisticResult.undefined("no item was judged in both orders", left_out=left_out)
    leaning = [one.score_of(one.first) + other.score_of(other.first) - 1 for one, other in pairs]
    found = mean(leaning, item_codes([one for one, _ in pairs]), confidence=confidence, ends=(-1.0, 1.0))
    return replace(found, left_out=left_out)
