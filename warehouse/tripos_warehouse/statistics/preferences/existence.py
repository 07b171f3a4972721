"""The existence of finite strengths with the best fit."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tripos_warehouse.statistics.ratings import Flags, Floats, Ints


def why_no_strengths(models: Sequence[str], wins: Floats, ties: Floats) -> str | None:
    """Return why no finite strengths have the highest likelihood; `None` where they do.

    `wins[i, j]` is how often i beat j, `ties` how often they tied. Without ties the condition is Ford's (1957): from
    every model a chain of wins leads to every other. A tie is a link both ways. With Davidson's parameter of ties one
    thing more can grow for ever: where strengths exist such that every win is of a model at least 1 stronger and every
    tie between models at most 1 apart, to spread them and raise ties likewise never makes any verdict less likely.

    >>> why_no_strengths(["a", "b"], np.array([[0, 3], [0, 0]]), np.zeros((2, 2)))
    '`a` never lost to or tied with any of the others: no finite strength fits best'
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    if len(models) < 2:
        return "fewer than two models were compared"
    linked = csr_array((wins + ties) > 0)
    pieces, piece_of = connected_components(linked, directed=True, connection="weak")
    if pieces > 1:
        return f"no verdict links {_named(models, piece_of == 0)} with {_named(models, piece_of != 0)}"
    parts, part_of = connected_components(linked, directed=True, connection="strong")
    if parts > 1:
        return _one_way(models, wins + ties, parts, part_of)
    if ties.any() and _follows_one_order(wins > 0, ties > 0):
        return "wins and ties follow one order without an exception: no finite strength fits best"
    return None


def _one_way(models: Sequence[str], linked: Floats, parts: int, part_of: Ints) -> str:
    """Return a group of models that nobody outside beat or tied with: there is one, since parts are in a partial
    order."""
    for part in range(parts):
        inside = part_of == part
        if not linked[np.ix_(~inside, inside)].any():
            return (
                f"{_named(models, inside)} never lost to or tied with any of the others: no finite strength fits best"
            )
    raise AssertionError("internal error: every part of an acyclic graph is beaten by another")


def _follows_one_order(wins: Flags, ties: Flags) -> bool:
    """Return true if numbers u exist with u_i ≥ u_j + 1 for each win of i over j and |u_i − u_j| ≤ 1 for each tie.

    Such differences exist unless a cycle of these bounds adds up to less than 0 (Bellman and Ford).
    """
    least = np.zeros(len(wins))
    for _ in range(len(wins) + 1):
        bounds = np.where(wins, least[:, None] - 1, np.inf)
        bounds = np.minimum(bounds, np.where(ties, least[:, None] + 1, np.inf))
        lower = np.minimum(least, bounds.min(axis=0))
        if (lower == least).all():
            return True
        least = lower
    return False


def _named(models: Sequence[str], chosen: Flags) -> str:
    names = [f"`{model}`" for model, taken in zip(models, chosen, strict=True) if taken]
    return ", ".join(names) if len(names) <= 3 else f"{', '.join(names[:3])} and {len(names) - 3} more"
