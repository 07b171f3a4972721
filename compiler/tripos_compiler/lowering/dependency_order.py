"""Order of declarations that build on each other, and their cycles."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from graphlib import CycleError, TopologicalSorter


def in_order(needs: Mapping[str, Collection[str]]) -> tuple[list[str], list[list[str]]]:
    """Return the names, each after those that it needs and otherwise as given, and the cycles.

    A cycle begins with the name that is given first, and each name needs the next. Cycles have no name in common. A
    need without an entry is ignored.

    >>> in_order({"a": ["c"], "b": [], "c": []})
    (['c', 'a', 'b'], [])
    >>> in_order({"a": ["b"], "b": ["c"], "c": ["b"]})
    (['b', 'a', 'c'], [['b', 'c']])
    """
    left = {name: [need for need in wanted if need in needs] for name, wanted in needs.items()}
    cycles: list[list[str]] = []
    while (cycle := _cycle(left)) is not None:
        start = cycle.index(min(cycle, key=list(needs).index))
        cycles.append([*cycle[start:], *cycle[:start]])
        left |= {name: [] for name in cycle}
    return _sorted(left), cycles


def _cycle(needs: Mapping[str, Collection[str]]) -> list[str] | None:
    try:
        TopologicalSorter(needs).prepare()
    except CycleError as error:
        # graphlib repeats the first name at the end, and puts each name before its user.
        cycle: list[str] = error.args[1][:0:-1]
        return cycle
    return None


def _sorted(needs: Mapping[str, Collection[str]]) -> list[str]:
    found: dict[str, None] = {}
    waiting = list(needs)[::-1]
    while waiting:
        missing = [need for need in needs[waiting[-1]] if need not in found]
        if missing:
            waiting += reversed(missing)
        else:
            found[waiting.pop()] = None
    return list(found)
