"""Contexts: the allowed combinations (cells) of axes, and counting them without listing what need not be listed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
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
    total = 1
    for tied in _components(axes):
        unguarded = all(value.guard is None for axis in tied for value in axis.values)
        total *= math.prod(len(axis.values) for axis in tied) if unguarded else sum(1 for _ in cells(tied))
    return total


def guards_of(axis: Axis) -> set[str]:
    """The axes that the guards of this one look at."""
    return {name for value in axis.values if value.guard is not None for name in names_in(value.guard)}


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
