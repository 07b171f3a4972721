"""Letters for groups that cannot be told apart: the compact letter display."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from string import ascii_lowercase


def letters_of(order: Sequence[str], apart: Collection[tuple[str, str]]) -> dict[str, str]:
    """Letters by name, such that two names share one unless they are `apart`, and no two that are apart do.

    Insert and absorb (Piepho 2004, "An algorithm for a letter-based representation of all-pairwise comparisons"): all
    in one column; for each pair that is apart, a column with both becomes two, without the one and without the other;
    columns that lie within another go. Letters go by `order`, and after z come aa, ab.

    >>> letters_of(["x", "y", "z"], {("x", "z")})
    {'x': 'a', 'y': 'ab', 'z': 'b'}
    """
    columns = [frozenset(order)]
    for first, second in sorted(apart):
        split = []
        for column in columns:
            both = first in column and second in column
            split += [column - {first}, column - {second}] if both else [column]
        unique = list(dict.fromkeys(split))
        columns = [column for column in unique if not any(column < other for other in unique)]
    place = {name: at for at, name in enumerate(order)}
    columns.sort(key=lambda column: sorted(place[name] for name in column))
    return {name: "".join(_letter(at) for at, column in enumerate(columns) if name in column) for name in order}


def _letter(number: int) -> str:
    rest, last = divmod(number, 26)
    return (_letter(rest - 1) if rest else "") + ascii_lowercase[last]
