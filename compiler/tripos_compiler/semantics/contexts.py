"""Contexts: the allowed combinations (cells) of axes, and counting them without listing what need not be listed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import product

from tripos_compiler.plan import Axis, AxisValue
from tripos_compiler.semantics.evaluate import evaluate
from tripos_compiler.semantics.names import names_in


def broken_guard(cell: Mapping[str, str], axes: Sequence[Axis]) -> Axis | None:
    """The first axis whose value is not allowed in the cell, or None."""
    return next((axis for axis in axes if not _guard_holds(_value(axis, cell[axis.name]), cell)), None)


def cells(axes: Sequence[Axis]) -> Iterator[dict[str, str]]:
    """Every allowed cell, the last axis varying fastest."""
    names = [axis.name for axis in axes]
    for values in product(*(axis.values for axis in axes)):
        cell = {name: value.name for name, value in zip(names, values, strict=True)}
        if all(_guard_holds(value, cell) for value in values):
            yield cell


def count_cells(axes: Sequence[Axis]) -> int:
    """How many cells are allowed. Axes that no guard ties together are multiplied, not listed."""
    return _counted(_Same(axes))


def guards_of(axis: Axis) -> frozenset[str]:
    """The axes that the guards of this one look at."""
    return _looked_at(_Same([axis]))


class _Same(tuple[Axis, ...]):
    """Axes as a key: two are equal where they have the same objects, which are frozen, and slow to compare by all that
    they hold. Most scenarios of a benchmark have contexts in common."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and [*map(id, self)] == [*map(id, other)]

    def __hash__(self) -> int:
        return hash(tuple(map(id, self)))


@lru_cache(maxsize=256)
def _counted(axes: _Same) -> int:
    return math.prod(_count(tied) for tied in _components(axes))


@lru_cache(maxsize=256)
def _looked_at(axes: _Same) -> frozenset[str]:
    guards = {id(value.guard): value.guard for axis in axes for value in axis.values if value.guard is not None}
    return frozenset(name for guard in guards.values() for name in names_in(guard))


def _count(axes: Sequence[Axis]) -> int:
    """How many cells of axes are allowed. Of values that no guard tells apart one is tried for all."""
    told_apart = {name for axis in axes for name in guards_of(axis)}
    count = 0
    for picked in product(*(_alike(axis, axis.name in told_apart) for axis in axes)):
        cell = {axis.name: value.name for axis, (value, _) in zip(axes, picked, strict=True)}
        if all(_guard_holds(value, cell) for value, _ in picked):
            count += math.prod(number for _, number in picked)
    return count


def _alike(axis: Axis, told_apart: bool) -> list[tuple[AxisValue, int]]:
    """The values of an axis, or one for all that have the same guard, with how many they are."""
    if told_apart:
        return [(value, 1) for value in axis.values]
    numbers = Counter(id(value.guard) for value in axis.values)
    firsts = {id(value.guard): value for value in reversed(axis.values)}
    return [(value, numbers[guard]) for guard, value in firsts.items()]


def _guard_holds(value: AxisValue, cell: Mapping[str, str]) -> bool:
    return value.guard is None or bool(evaluate(value.guard, cell))


def _value(axis: Axis, name: str) -> AxisValue:
    return next(value for value in axis.values if value.name == name)


def _components(axes: Sequence[Axis]) -> list[list[Axis]]:
    groups: list[list[Axis]] = []
    for axis in axes:
        mine = {axis.name} | guards_of(axis)
        tied = [group for group in groups if any(a.name in mine or axis.name in guards_of(a) for a in group)]
        merged = [member for group in tied for member in group] + [axis]
        groups = [group for group in groups if group not in tied] + [merged]
    order = {axis.name: index for index, axis in enumerate(axes)}
    return [sorted(group, key=lambda axis: order[axis.name]) for group in groups]
