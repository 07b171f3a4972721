"""Which fields have the values of a secret field in rows that belong together, so often that it is no accident."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tripos_compiler.secrecy.columns import Column
from tripos_compiler.secrecy.holding import Place, Said, places, said
from tripos_compiler.secrecy.rows_together import Pair, Together

FIRST = 12
"""So many of them tell whether it is worth to look at the others."""
TURNED = 50
"""So many tell how often rows agree that do not belong together."""
SHARE = 0.9
"""The share of the rows in which a value must be that of the secret field."""
ENOUGH = 5.5
"""So many decimal digits of surprise are no accident: a chance of one in 300,000."""
SAME_NAME = 3.0
"""A field or column that is called as the secret's own is worth so many digits."""
RANKS = {"all": 0, "end": 1, "start": 2, "number": 3, "most": 4}
"""Which of several places is named."""
OTHER_NAMES = 20
"""From so many rows on, values that stand for each other one to one are looked for."""


@dataclass(frozen=True)
class Held:
    """A field that holds what a secret field says, in words: what it does, and in which rows."""

    does: str
    rows: str


def held_in(secret: Column, other: Column, together: Together) -> Held | None:
    """How a field of rows that belong together with those of a secret field holds what this says; None where it does
    not."""
    pairs = together.pairs
    if len(pairs) < 2 and not together.whole:
        return None
    same = {*secret.field.columns, secret.field.name} & {*other.field.columns, other.field.name}
    wanted = ENOUGH - (SAME_NAME if same and secret.part is None else 0)
    found = _place(secret, other, pairs, wanted, _anywhere)
    if found is not None:
        place, count = found
        return Held(said(place), _rows(count, pairs, together))
    if secret.loaded is not other.loaded:
        # The end of a solution is the solution.
        found = _place(other, secret, together.turned, ENOUGH, _ends)
        if found is not None:
            return Held("has what ends the value of", _rows(found[1], pairs, together))
    return _renamed(secret, other, pairs, together)


def _anywhere(one: Said, two: Said) -> set[Place]:
    return places(two, one)


def _ends(one: Said, two: Said) -> set[Place]:
    return {place for place in places(two, one) if place[1] == "end"}


def _rows(count: int, pairs: Sequence[object], together: Together) -> str:
    return f"in {count:,} of {len(pairs):,} rows {together.why}"


def _place(
    held: Column,
    holder: Column,
    pairs: Sequence[Pair],
    wanted: float,
    looked: Callable[[Said, Said], set[Place]],
) -> tuple[Place, int] | None:
    """The place at which one column has the values of another in nearly all pairs of rows, and in how many."""
    first = pairs[:: max(1, len(pairs) // FIRST)][:FIRST]
    best = _most(held, holder, first, looked)
    if best is None or best[1] < 0.75 * sum(1 for one, _ in first if held.plain(one)):
        return None
    pairs = [pair for pair in pairs if held.plain(pair[0])]
    best = _most(held, holder, pairs, looked)
    if best is None or best[1] < SHARE * len(pairs):
        return None
    place, count = best
    # The rows are shuffled by turning one side; what is then found is an accident.
    first = pairs[:: max(1, len(pairs) // TURNED)][:TURNED]
    turn = len(first) // 2
    turned = [(one[0], two[1]) for one, two in zip(first, (*first[turn:], *first[:turn]), strict=True)] if turn else []
    differ = [(one, two) for one, two in turned if held.plain(one) != held.plain(two)]
    accident = sum(place in looked(held.said(one), holder.said(two)) for one, two in turned)
    by_chance = accident / len(turned) if differ and len(turned) >= 10 else 0.0
    chances = [held.chance(one) for one, _ in pairs]
    mean = max(sum(chances) / len(chances) * (1 if place[1] == "all" or len(turned) >= 10 else 3), by_chance)
    return best if _surprise(count, len(pairs), mean) >= wanted else None


def _most(
    held: Column,
    holder: Column,
    pairs: Sequence[Pair],
    looked: Callable[[Said, Said], set[Place]],
) -> tuple[Place, int] | None:
    counts = Counter(place for one, two in pairs for place in looked(held.said(one), holder.said(two)))
    return min(counts.items(), key=lambda found: (-found[1], RANKS.get(found[0][1], len(RANKS)), found), default=None)


def _surprise(count: int, rows: int, chance: float) -> float:
    """How many decimal digits the chance has that so many of the rows agree by accident (Chernoff's bound)."""
    share = count / rows
    if chance >= share:
        return 0.0
    agreeing = share * math.log10(share / chance)
    return rows * (agreeing + ((1 - share) * math.log10((1 - share) / (1 - chance)) if share < 1 else 0.0))


def _renamed(secret: Column, other: Column, pairs: Sequence[Pair], together: Together) -> Held | None:
    """Whether two columns say the same under other names: 1 where the other says A, in all rows."""
    if len(pairs) < OTHER_NAMES or not _one_to_one(secret, other, pairs[:: max(1, len(pairs) // TURNED)][:TURNED]):
        return None
    both = Counter((secret.plain(one), other.plain(two)) for one, two in pairs)
    ones, twos = Counter(one for one, _ in both.elements()), Counter(two for _, two in both.elements())
    if len(ones) > len(pairs) // 4 or "" in twos or not len(both) == len(ones) == len(twos) > 1:
        return None
    rows = len(pairs)
    repeated = sum((count / rows) ** 2 for count in ones.values())
    names = math.lgamma(len(ones) + 1) / math.log(10)
    if -(rows - len(ones)) * math.log10(repeated) - names < ENOUGH:
        return None
    return Held("says under other names what is said by", _rows(rows, pairs, together))


def _one_to_one(secret: Column, other: Column, pairs: Sequence[Pair]) -> bool:
    both = {(secret.plain(one), other.plain(two)) for one, two in pairs}
    return len(both) == len({one for one, _ in both}) == len({two for _, two in both}) <= len(pairs) // 2
